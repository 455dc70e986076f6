"""A notebook → its units: sections for the text of Markdown cells, the code of code cells in the language of the kernel.

Each cell is read by itself, so that no unit reaches over outputs and JSON; a section may lie in several cells, each a piece
under the same heading. What code lies under is the container of its chunks. Lines and offsets are the file's.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from codelens.derived import Binding, DecodedText, Extraction, Import, Reference, Unit
from codelens.indexing.chunk import section_units
from codelens.indexing.headings import Heading
from codelens.indexing.mentions import mentions
from codelens.indexing.quoted import in_whole, with_quoted
from codelens.lang.registry import PLAIN_TEXT, accepted_names
from codelens.model import CHUNK_KINDS
from codelens.text.excerpt import Excerpt
from codelens.text.lines import TextMap
from codelens.text.notebook import read_notebook

MARKDOWN = "markdown"

_MAGIC = re.compile(rb"^([ \t]*)[%!?]", re.MULTILINE)

ExtractCode = Callable[[TextMap, str, str], Extraction]
"""(text, path, language) → what the text holds: `extract` itself, which knows notebooks by this module."""


@dataclass(slots=True)
class _Pages:
    """What was found in the cells so far; offsets count the file's UTF-8."""

    text: TextMap
    name: str
    """Of the file: what no heading is above is named so."""
    above: list[Heading] = field(default_factory=list)
    """The headings around the next cell."""
    units: list[Unit] = field(default_factory=list)
    references: list[Reference] = field(default_factory=list)
    imports: list[Import] = field(default_factory=list)
    bindings: list[Binding] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)

    def add(self, found: Extraction, source: Excerpt) -> None:
        """Take in what was found in one cell, by its place in the file."""
        first = len(self.units)

        def here(place: int | None) -> int | None:
            return None if place is None else first + place

        def line(start: int) -> int:
            return self.text.line_column(start)[0]

        for unit in found.units:
            self.units.append(replace(in_whole(unit, source, self.text), parent=here(unit.parent)))
        for r in found.references:
            start = source.place(r.start)
            self.references.append(r._replace(unit=here(r.unit), start=start, line=line(start)))
        for i in found.imports:
            start = source.place(i.start)
            self.imports.append(i._replace(start=start, line=line(start)))
        for b in found.bindings:
            self.bindings.append(b._replace(unit=here(b.unit), start=source.place(b.start)))
        self.faults += [found.fault] if found.fault else []


def read_cells(text: TextMap, path: str, extract_code: ExtractCode) -> Extraction | None:
    """All units of a notebook; None where the file holds no cells."""
    notebook = read_notebook(text.utf8)
    language = accepted_names().get(notebook.language, PLAIN_TEXT)
    pages = _Pages(text, path.rpartition("/")[2])
    for cell in notebook.cells:
        if cell.kind == "code":
            pages.add(_code(cell.source, path, language, pages.above, extract_code), cell.source)
        else:
            pages.add(_prose(cell.source, pages), cell.source)
    found = Extraction("", tuple(pages.units), tuple(pages.references), tuple(pages.imports), "", tuple(pages.bindings))
    return replace(found, fault=min(pages.faults, default="")) if notebook.cells else None


def _map(utf8: bytes) -> TextMap:
    return TextMap(DecodedText(utf8.decode("utf-8", "replace"), "utf-8", 1.0, 0))


def _prose(source: Excerpt, pages: _Pages) -> Extraction:
    text = _map(source.utf8)
    units = tuple(section_units(text, pages.name, MARKDOWN, pages.above))
    found = Extraction("", units, mentions(text, MARKDOWN, units), ())
    return with_quoted(found, text, MARKDOWN)


def _code(source: Excerpt, path: str, language: str, above: list[Heading], extract_code: ExtractCode) -> Extraction:
    """The code of one cell. A line of IPython's own, `%matplotlib` or `!pip`, is a comment to the parser."""
    plain = _MAGIC.sub(rb"\1#", source.utf8) if language == "python" else source.utf8
    found = extract_code(_map(plain), path, language)
    title = ".".join(heading.name for heading in above)
    units = tuple(replace(u, container=title) if u.kind in CHUNK_KINDS else u for u in found.units)
    return replace(found, units=units)
