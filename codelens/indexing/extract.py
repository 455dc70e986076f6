"""Extracts units, references and imports from the decoded text of code, documents, notebooks and notes.

If a grammar fails, its file loses its symbols but not its text: chunks take their place. Offsets count UTF-8 bytes, as parsers
do, until `to_original` maps them to the file's own bytes. A note is one unit, since one thought is one answer."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from contextlib import suppress

from codelens.indexing.chunk import SECTION_SIZE, build_sections, chunk_text, cut_text
from codelens.indexing.markup import Heading
from codelens.indexing.prose import add_quoted, find_mentions, move_to_text
from codelens.lang.captures import READERS, extract_symbols
from codelens.lang.comments import find_todos
from codelens.lang.parser import GrammarMissing
from codelens.lang.registry import PLAIN_TEXT, Language, languages, map_accepted_names
from codelens.model.code import CHUNK_KINDS, PARTLY, TODO, Span
from codelens.model.extraction import Binding, DecodedText, Extraction, Import, Reference, Unit
from codelens.model.fast_dataclass import dataclass, field, replace
from codelens.notes.note import classify_path, read_note
from codelens.text.lines import Excerpt, TextMap
from codelens.text.notebook import NOTEBOOK, as_written, read_notebook

MARKDOWN = "markdown"

_MAGIC = re.compile(rb"^([ \t]*)[%!?]", re.MULTILINE)


@dataclass(slots=True)
class _NotebookContent:
    """The results of the cells so far; offsets count the file's UTF-8."""

    text: TextMap
    name: str  # The file's name, for text above the first heading
    above: list[Heading] = field(default_factory=list)  # The headings around the next cell
    units: list[Unit] = field(default_factory=list)
    references: list[Reference] = field(default_factory=list)
    imports: list[Import] = field(default_factory=list)
    bindings: list[Binding] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)

    def add(self, cell: Extraction, source: Excerpt) -> None:
        """Add the results of one cell, with offsets of the file."""
        here: dict[int | None, int | None] = {i: len(self.units) + i for i in range(len(cell.units))} | {None: None}
        for unit in cell.units:
            self.units.append(replace(move_to_text(unit, source, self.text), parent=here[unit.parent]))
        for r in cell.references:
            start = source.place(r.start)
            self.references.append(
                r._replace(unit=here[r.unit], start=start, line=self.text.find_line_column(start)[0])
            )
        for i in cell.imports:
            start = source.place(i.start)
            self.imports.append(i._replace(start=start, line=self.text.find_line_column(start)[0]))
        for b in cell.bindings:
            self.bindings.append(b._replace(unit=here[b.unit], start=source.place(b.start)))
        self.faults += [cell.fault] if cell.fault else []


def read_cells(text: TextMap, path: str, grammar_fault: str) -> Extraction | None:
    """Extract all units of a notebook; None if the file holds no cells. With a `grammar_fault` no cell is parsed."""
    notebook = read_notebook(text.utf8)
    language = map_accepted_names().get(notebook.language, PLAIN_TEXT)
    pages = _NotebookContent(text, path.rpartition("/")[2])
    for cell in notebook.cells:
        if cell.kind == "code":
            # IPython's own lines, like `%matplotlib` or `!pip`, become comments for the parser.
            plain = _MAGIC.sub(rb"\1#", cell.source.utf8) if language == "python" else cell.source.utf8
            code = extract(_build_utf8_map(plain), path, language, grammar_fault)
            title = ".".join(heading.name for heading in pages.above)
            units = tuple(replace(u, container=title) if u.kind in CHUNK_KINDS else u for u in code.units)
            pages.add(replace(code, units=units), cell.source)
            continue
        cell_text = _build_utf8_map(cell.source.utf8)
        units = tuple(build_sections(cell_text, pages.name, MARKDOWN, pages.above))
        sections = Extraction("", units, find_mentions(cell_text, MARKDOWN, units), ())
        pages.add(add_quoted(sections, cell_text, MARKDOWN), cell.source)
    if not notebook.cells:
        return None
    contents = (tuple(pages.units), tuple(pages.references), tuple(pages.imports))
    return Extraction("", *contents, min(pages.faults, default=""), tuple(pages.bindings))


def _build_utf8_map(utf8: bytes) -> TextMap:
    return TextMap(DecodedText(utf8.decode("utf-8", "replace"), "utf-8", 1.0, 0))


NOT_READ = "front matter"  # Prefix of the fault of a note with invalid fields


def extract_note(text: TextMap, path: str) -> Extraction:
    """Extract the units and references of a note; offsets count UTF-8 bytes."""
    whole = text.utf8.decode("utf-8", "replace")
    note = read_note(whole, path)
    body = len(whole[: note.body].encode("utf-8"))
    pieces = cut_text(text.utf8, 0, len(text.utf8), SECTION_SIZE)
    signature = " ".join((note.status, *(f"#{tag}" for tag in note.tags), *note.triggers))
    units = []
    for start, end in pieces:
        first, body_start = start == 0, min(max(body, start), end)
        line = text.find_line_column(start)[0]
        unit = Unit(
            kind=note.kind,
            name=note.title,
            container="",
            parent=None,
            span=Span(start, end),
            name_span=Span(start, start),
            body_start=body_start,
            start_line=line,
            end_line=text.find_line_column(end - 1)[0],
            name_line=text.find_line_column(body_start)[0] if first and body_start < end else line,
            name_column=1,
            signature=signature if first else "",
            doc=note.description if first else "",
        )
        units.append(unit)
    links_start = 0
    for _ in range(note.links_line - 1):
        links_start = text.utf8.find(b"\n", links_start) + 1
    line, links = note.links_line, note.links if units else ()
    places = [Reference("place", link.path, link.symbol, 0, links_start, line) for link in links]
    outside = [reference for reference in find_mentions(text, MARKDOWN, units) if reference.start >= body]
    fault = f"{NOT_READ}: {'; '.join(note.faults)}" if note.faults else ""
    return Extraction("", tuple(units), (*places, *outside), (), fault)


NOTHING = Extraction("", (), (), ())


def extract(text: TextMap, path: str, language: str, grammar_fault: str = "") -> Extraction:
    """Extract symbols and chunks in order, parents before children. With a `grammar_fault` the grammar is not used."""
    if language == "markdown" and classify_path(path):
        return extract_note(text, path)
    row = languages().get(language) or Language(language, chunks="lines")
    if row.chunks == "cells" and (cells := read_cells(text, path, grammar_fault)) is not None:
        return cells
    is_read = not grammar_fault and (row.grammar or language in READERS)
    symbols = _try_symbols(text, language) if is_read else replace(NOTHING, fault=grammar_fault)
    chunks = chunk_text(text, path.rpartition("/")[2], language, row.chunks, symbols.units)
    todos: Sequence[Unit] = ()
    if symbols.fault in ("", PARTLY):
        with suppress(GrammarMissing):
            todos = find_todos(text, language, symbols.units)
    merged = _merge_chunks(symbols, [*chunks, *todos])
    if row.chunks != "headings":
        return merged
    merged = replace(merged, references=find_mentions(text, language, merged.units))
    return merged if grammar_fault else add_quoted(merged, text, language)


def extract_definitions(text: TextMap, language: str) -> tuple[Unit, ...]:
    """Extract only the symbols; none if the grammar fails."""
    return _try_symbols(text, language, definitions_only=True).units


def _try_symbols(text: TextMap, language: str, definitions_only: bool = False) -> Extraction:
    """Extract symbols; if that fails, return an empty extraction with the fault."""
    try:
        return extract_symbols(text.utf8, language, definitions_only)
    except GrammarMissing as missing:
        return replace(NOTHING, fault=str(missing))
    except Exception as error:  # a fault costs this file its symbols, never the run
        return replace(NOTHING, fault=f"{type(error).__name__}: {error}")


def _merge_chunks(symbols: Extraction, chunks: Sequence[Unit]) -> Extraction:
    """Sort chunks among the symbols, and renumber parents and references."""
    if not chunks:
        return symbols
    numbered = [*enumerate(symbols.units), *((None, chunk) for chunk in chunks)]
    numbered.sort(key=lambda entry: (entry[1].span.start, -entry[1].span.end))
    moved = {old: new for new, (old, _) in enumerate(numbered) if old is not None}
    if all(old == new for old, new in moved.items()):
        return replace(symbols, units=tuple(u for _, u in numbered))
    units = [u if u.parent is None else replace(u, parent=moved[u.parent]) for _, u in numbered]
    references = [
        r if r.unit is None else Reference(r.kind, r.name, r.receiver, moved[r.unit], r.start, r.line)
        for r in symbols.references
    ]
    bindings = [b if b.unit is None else b._replace(unit=moved[b.unit]) for b in symbols.bindings]
    return replace(symbols, units=tuple(units), references=tuple(references), bindings=tuple(bindings))


def find_quoted_units(units: Sequence[Unit]) -> frozenset[int]:
    """Find the positions of definitions quoted in sections. Their text belongs to the section, so only their names are indexed."""
    quoted: set[int] = set()
    for i, unit in enumerate(units):
        if unit.local and unit.parent is not None and (unit.parent in quoted or units[unit.parent].kind in CHUNK_KINDS):
            quoted.add(i)
    return frozenset(quoted)


def list_searched_texts(text: TextMap, language: str, units: Sequence[Unit]) -> list[str]:
    """List for each unit the text by which searches find it, as its author wrote it."""
    texts = list_own_texts(text, units)
    return list(map(as_written, texts)) if language == NOTEBOOK else texts


def list_own_texts(text: TextMap, units: Sequence[Unit]) -> list[str]:
    """List each unit's body, or all of its text if it has no body. Units inside are cut out, except local ones."""
    holes: list[list[Span]] = [[] for _ in units]
    over = 0  # The last chunk before this unit, which may span it
    quoted = find_quoted_units(units)
    for i, unit in enumerate(units):
        if i in quoted or unit.kind == TODO:
            continue  # a TODO comment's words also belong to the code around it
        if unit.parent is not None and not unit.local:
            holes[unit.parent].append(unit.span)
        elif unit.kind in CHUNK_KINDS:
            over = i
        elif unit.span.end <= units[over].span.end and units[over].kind in CHUNK_KINDS:
            holes[over].append(unit.span)
    texts: list[str] = []
    for unit, inner in zip(units, holes, strict=True):
        start, parts = unit.body_start if unit.body_start < unit.span.end else unit.span.start, list[bytes]()
        for hole in inner:
            parts.append(text.utf8[start : max(start, hole.start)])
            start = max(start, hole.end)
        parts.append(text.utf8[start : unit.span.end])
        texts.append(b"\n".join(parts).decode("utf-8", "replace"))
    return texts


def to_original(extraction: Extraction, text: TextMap, decoded: DecodedText) -> Extraction:
    """Convert offsets in UTF-8 to offsets in the file's own bytes."""
    if decoded.encoding == "utf-8" and not decoded.bom:
        return extraction
    return _map_offsets(extraction, text.to_original)


def from_original(extraction: Extraction, decoded: DecodedText) -> Extraction | None:
    """Convert offsets in the file's own bytes to UTF-8; None if the file must be extracted again."""
    if decoded.encoding != "utf-8":
        return None
    return _map_offsets(extraction, lambda offset: offset - decoded.bom) if decoded.bom else extraction


def _map_offsets(extraction: Extraction, there: Callable[[int], int]) -> Extraction:
    units = map_units(extraction.units, there)
    references = tuple(r._replace(start=there(r.start)) for r in extraction.references)
    imports = tuple(i._replace(start=there(i.start)) for i in extraction.imports)
    bindings = tuple(b._replace(start=there(b.start)) for b in extraction.bindings)
    return replace(extraction, units=units, references=references, imports=imports, bindings=bindings)


def map_units(units: Sequence[Unit], there: Callable[[int], int]) -> tuple[Unit, ...]:
    return tuple(
        replace(
            u,
            span=Span(there(u.span.start), there(u.span.end)),
            name_span=Span(there(u.name_span.start), there(u.name_span.end)),
            body_start=there(u.body_start),
        )
        for u in units
    )
