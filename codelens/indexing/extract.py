"""Extracts units, references and imports from the decoded text of code, documents, notebooks and notes.

If a grammar fails, its file loses its symbols but not its text: chunks take their place. Offsets count UTF-8 bytes, as parsers
do, until `derive` maps them to the file's own bytes. A note is one unit, since one thought is one answer."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from contextlib import suppress

from codelens.indexing.chunk import SECTION_SIZE, build_chunk, build_sections, chunk_text, cut_text
from codelens.indexing.markup import Heading
from codelens.indexing.prose import add_quoted, find_mentions, move_to_text
from codelens.lang.captures import READERS, extract_symbols
from codelens.lang.comments import find_todos
from codelens.lang.parser import GrammarMissing
from codelens.lang.registry import PLAIN_TEXT, Language, languages, map_accepted_names
from codelens.model.code import CHUNK_KINDS, PARTLY, TODO, Span
from codelens.model.extraction import Extraction, Reference, Unit
from codelens.model.fast_dataclass import replace
from codelens.notes.note import classify_path, read_note
from codelens.text.lines import Excerpt, TextMap, map_text
from codelens.text.notebook import NOTEBOOK, decode_source, read_notebook

MARKDOWN = "markdown"

_MAGIC = re.compile(rb"^([ \t]*)[%!?]", re.MULTILINE)


def read_cells(text: TextMap, path: str, grammar_fault: str) -> Extraction | None:
    """Extract all units of a notebook; None if the file holds no cells. With a `grammar_fault` no cell is parsed."""
    notebook = read_notebook(text.utf8)
    language = map_accepted_names().get(notebook.language, PLAIN_TEXT)
    name = path.rpartition("/")[2]  # for text above the first heading
    above: list[Heading] = []  # The headings around the next cell
    parts: list[Extraction] = []
    number = 0  # of units in earlier cells
    for cell in notebook.cells:
        if cell.kind == "code":
            # IPython's own lines, like `%matplotlib` or `!pip`, become comments for the parser.
            plain = _MAGIC.sub(rb"\1#", cell.source.utf8) if language == "python" else cell.source.utf8
            extraction = extract(map_text(plain.decode("utf-8", "replace")), path, language, grammar_fault)
            title = ".".join(heading.name for heading in above)
            units = tuple(replace(u, container=title) if u.kind in CHUNK_KINDS else u for u in extraction.units)
            extraction = replace(extraction, units=units)
        else:
            cell_text = map_text(cell.source.utf8.decode("utf-8", "replace"))
            units = tuple(build_sections(cell_text, name, MARKDOWN, above))
            sections = Extraction(units=units, references=find_mentions(cell_text, MARKDOWN, units))
            extraction = add_quoted(sections, cell_text, MARKDOWN)
        parts.append(_move_cell(extraction, cell.source, text, number))
        number += len(extraction.units)
    if not parts:
        return None
    return Extraction(
        units=tuple(unit for part in parts for unit in part.units),
        references=tuple(reference for part in parts for reference in part.references),
        imports=tuple(import_ for part in parts for import_ in part.imports),
        fault=min((part.fault for part in parts if part.fault), default=""),
        bindings=tuple(binding for part in parts for binding in part.bindings),
    )


def _move_cell(cell: Extraction, source: Excerpt, text: TextMap, number: int) -> Extraction:
    """Convert a cell's offsets and lines to those of the file, and the numbers of its units, which follow `number` others."""

    def shift(unit: int | None) -> int | None:
        return None if unit is None else number + unit

    def find_line(offset: int) -> int:
        return text.find_line_column(place(offset))[0]

    place = source.map_offset
    units = [replace(move_to_text(u, source, text), parent=shift(u.parent)) for u in cell.units]
    references = [
        r._replace(unit=shift(r.unit), start=place(r.start), line=find_line(r.start)) for r in cell.references
    ]
    imports = tuple(i._replace(start=place(i.start), line=find_line(i.start)) for i in cell.imports)
    bindings = tuple(b._replace(unit=shift(b.unit), start=place(b.start)) for b in cell.bindings)
    return replace(cell, units=tuple(units), references=tuple(references), imports=imports, bindings=bindings)


NOT_READ = "front matter"  # Prefix of the fault of a note with invalid fields


def extract_note(text: TextMap, path: str) -> Extraction:
    """Extract the units and references of a note; offsets count UTF-8 bytes."""
    whole = text.utf8.decode("utf-8", "replace")
    note = read_note(whole, path)
    body = len(whole[: note.body].encode("utf-8"))
    pieces = cut_text(text.utf8, 0, len(text.utf8), SECTION_SIZE)
    units = [build_chunk(note.kind, note.title, piece, text) for piece in pieces]
    units = [replace(u, body_start=min(max(body, u.span.start), u.span.end), name_column=1) for u in units]
    if units:
        signature = " ".join((note.status, *(f"#{tag}" for tag in note.tags), *note.triggers))
        at = units[0].body_start if units[0].body_start < units[0].span.end else 0
        name_line = text.find_line_column(at)[0]
        units[0] = replace(units[0], name_line=name_line, signature=signature, doc=note.description)
    line, links = note.links_line, note.links if units else ()
    links_start = text.line_starts[line - 1]
    places = [Reference("place", link.path, link.symbol, 0, links_start, line) for link in links]
    outside = [reference for reference in find_mentions(text, MARKDOWN, units) if reference.start >= body]
    fault = f"{NOT_READ}: {'; '.join(note.faults)}" if note.faults else ""
    return Extraction(units=tuple(units), references=(*places, *outside), fault=fault)


def extract(text: TextMap, path: str, language: str, grammar_fault: str = "") -> Extraction:
    """Extract symbols and chunks in order, parents before children. With a `grammar_fault` the grammar is not used."""
    if language == "markdown" and classify_path(path):
        return extract_note(text, path)
    row = languages().get(language) or Language(language, chunks="lines")
    if row.chunks == "cells" and (cells := read_cells(text, path, grammar_fault)) is not None:
        return cells
    is_read = not grammar_fault and (row.grammar or language in READERS)
    symbols = _try_symbols(text, language) if is_read else Extraction(fault=grammar_fault)
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
        return Extraction(fault=str(missing))
    except Exception as error:  # a fault costs this file its symbols, never the run
        return Extraction(fault=f"{type(error).__name__}: {error}")


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
    references = [r if r.unit is None else r._replace(unit=moved[r.unit]) for r in symbols.references]
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
    return list(map(decode_source, texts)) if language == NOTEBOOK else texts


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
