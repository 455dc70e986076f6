"""A decoded text and its language → units, references and imports, with chunks for what no symbol covers.

Whatever the grammar does short of ending the process, the text comes out whole: a fault leaves chunks where symbols
would have been. Everything here counts UTF-8 bytes, as parsers do, until `in_original` maps it to the file's own bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from codelens.derived import DecodedText, Extraction, Reference, Unit
from codelens.indexing.chunk import chunk_text
from codelens.indexing.mentions import mentions
from codelens.indexing.notebook import read_cells
from codelens.indexing.notes import extract_note
from codelens.indexing.quoted import with_quoted
from codelens.lang.parser import GrammarMissing
from codelens.lang.readers import READERS, extract_symbols
from codelens.lang.registry import Language, languages
from codelens.lang.todos import find_todos
from codelens.model import CHUNK_KINDS, PARTLY, TODO, Span
from codelens.notes.note import kind_of_path
from codelens.text.lines import TextMap
from codelens.text.notebook import NOTEBOOK, as_written

NOTHING = Extraction("", (), (), ())


def extract(text: TextMap, path: str, language: str, grammar_fault: str = "") -> Extraction:
    """Symbols and chunks in order of place, parents before children. With a `grammar_fault` the grammar is not used."""
    if language == "markdown" and kind_of_path(path):
        return extract_note(text, path)
    row = languages().get(language) or Language(language, chunks="lines")
    if row.chunks == "cells" and (cells := read_cells(text, path, _of_cell(grammar_fault))) is not None:
        return cells
    is_read = not grammar_fault and (row.grammar or language in READERS)
    found = _symbols(text, language) if is_read else replace(NOTHING, fault=grammar_fault)
    chunks = chunk_text(text, path.rpartition("/")[2], language, row.chunks, found.units)
    merged = _merged(found, [*chunks, *_todos(text, language, found)])
    if row.chunks != "headings":
        return merged
    merged = replace(merged, references=mentions(text, language, merged.units))
    return merged if grammar_fault else with_quoted(merged, text, language)


def _of_cell(grammar_fault: str) -> Callable[[TextMap, str, str], Extraction]:
    """`extract` for the cells of a notebook, whose grammars a fault keeps from all of them."""
    return lambda text, path, language: extract(text, path, language, grammar_fault)


def definitions(text: TextMap, language: str) -> tuple[Unit, ...]:
    """The symbols alone, as `extract` finds them; none where the grammar fails."""
    return _symbols(text, language, definitions_only=True).units


def _symbols(text: TextMap, language: str, definitions_only: bool = False) -> Extraction:
    try:
        return extract_symbols(text.utf8, language, definitions_only)
    except GrammarMissing as missing:
        return replace(NOTHING, fault=str(missing))
    except Exception as error:  # the per-file border: a query or a grammar that fails costs this file its symbols
        return replace(NOTHING, fault=f"{type(error).__name__}: {error}")


def _todos(text: TextMap, language: str, found: Extraction) -> Sequence[Unit]:
    """Comments that say what is to be done; none where the grammar failed."""
    if found.fault not in ("", PARTLY):
        return ()
    try:
        return find_todos(text, language, found.units)
    except GrammarMissing:
        return ()


def _merged(found: Extraction, chunks: Sequence[Unit]) -> Extraction:
    """Chunks among the symbols, with parents and references renumbered."""
    if not chunks:
        return found
    numbered = [*enumerate(found.units), *((None, chunk) for chunk in chunks)]
    numbered.sort(key=lambda entry: (entry[1].span.start, -entry[1].span.end))
    moved = {old: new for new, (old, _) in enumerate(numbered) if old is not None}
    if all(old == new for old, new in moved.items()):
        return replace(found, units=tuple(u for _, u in numbered))
    units = tuple([u if u.parent is None else replace(u, parent=moved[u.parent]) for _, u in numbered])
    references = tuple(
        [
            r if r.unit is None else Reference(r.kind, r.name, r.receiver, moved[r.unit], r.start, r.line)
            for r in found.references
        ]
    )
    bindings = tuple([b if b.unit is None else b._replace(unit=moved[b.unit]) for b in found.bindings])
    return replace(found, units=units, references=references, bindings=bindings)


def quoted_units(units: Sequence[Unit]) -> frozenset[int]:
    """Places of the definitions that a section quotes: their text is of the section, so they are found by their names alone."""
    found: set[int] = set()
    for i, unit in enumerate(units):
        if unit.local and unit.parent is not None and (unit.parent in found or units[unit.parent].kind in CHUNK_KINDS):
            found.add(i)
    return frozenset(found)


def searched_texts(text: TextMap, language: str, units: Sequence[Unit]) -> list[str]:
    """For each unit the text by which it is found, as its author wrote it."""
    own = own_texts(text, units)
    return [as_written(one) for one in own] if language == NOTEBOOK else own


def own_texts(text: TextMap, units: Sequence[Unit]) -> list[str]:
    """For each unit its body without the units inside it, except local ones, which belong to it; all of it without a body."""
    holes: list[list[Span]] = [[] for _ in units]
    over = 0
    """The last chunk before this unit, which may reach over it."""
    quoted = quoted_units(units)
    for i, unit in enumerate(units):
        if i in quoted or unit.kind == TODO:
            continue  # the words of a marked comment stay those of the code around it
        if unit.parent is not None and not unit.local:
            holes[unit.parent].append(unit.span)
        elif unit.kind in CHUNK_KINDS:
            over = i
        elif unit.span.end <= units[over].span.end and units[over].kind in CHUNK_KINDS:
            holes[over].append(unit.span)
    bodies = [Span(u.body_start, u.span.end) if u.body_start < u.span.end else u.span for u in units]
    return [_without(text.utf8, body, h) for body, h in zip(bodies, holes, strict=True)]


def _without(utf8: bytes, span: Span, holes: Sequence[Span]) -> str:
    if not holes:
        return utf8[span.start : span.end].decode("utf-8", "replace")
    parts: list[bytes] = []
    start = span.start
    for hole in holes:
        parts.append(utf8[start : max(start, hole.start)])
        start = max(start, hole.end)
    parts.append(utf8[start : span.end])
    return b"\n".join(parts).decode("utf-8", "replace")


def in_original(found: Extraction, text: TextMap, decoded: DecodedText) -> Extraction:
    """The same with every offset counting the file's own bytes."""
    if decoded.encoding == "utf-8" and not decoded.bom:
        return found
    return _mapped(found, text.to_original)


def from_original(found: Extraction, decoded: DecodedText) -> Extraction | None:
    """The way back from `in_original`; None where only extracting again gives it."""
    if decoded.encoding != "utf-8":
        return None
    return _mapped(found, lambda offset: offset - decoded.bom) if decoded.bom else found


def units_in_text(units: Sequence[Unit], text: TextMap) -> tuple[Unit, ...]:
    """Units whose offsets count the file's own bytes → the same in the text's UTF-8."""
    return units_mapped(units, text.to_utf8)


def units_mapped(units: Sequence[Unit], there: Callable[[int], int]) -> tuple[Unit, ...]:
    """The same units with other offsets."""
    return tuple(
        replace(
            u,
            span=Span(there(u.span.start), there(u.span.end)),
            name_span=Span(there(u.name_span.start), there(u.name_span.end)),
            body_start=there(u.body_start),
        )
        for u in units
    )


def _mapped(found: Extraction, there: Callable[[int], int]) -> Extraction:
    units = units_mapped(found.units, there)
    references = tuple(r._replace(start=there(r.start)) for r in found.references)
    imports = tuple(i._replace(start=there(i.start)) for i in found.imports)
    bindings = tuple(b._replace(start=there(b.start)) for b in found.bindings)
    return replace(found, units=units, references=references, imports=imports, bindings=bindings)
