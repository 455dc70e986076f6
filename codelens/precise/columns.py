"""Facts whose columns count an index's own units, with the text they speak of → the same facts in UTF-8 bytes.

An index is made of one state of the tree, and the tree goes on. Facts that do not fit a document's text are refused, all of
them: an edge from a place that has moved is worse than the edge that syntax found.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from codelens.precise.facts import CodeUnits, Occurrence, PreciseDocument, Range, RefusedDocument

_LEAST_FIT = 0.95
"""Share of an index's names that must be words of the text. All are in Django's tree by scip-python and in zod's by
scip-typescript; with one line put above, at most .8 are in 528 files of Django."""
_ENOUGH = 400
"""Names looked at in one document, spread over it: chosen, not measured."""
_CODECS = {CodeUnits.UTF8: ("utf-8", 1), CodeUnits.UTF16: ("utf-16-le", 2), CodeUnits.UTF32: ("utf-32-le", 4)}


def in_utf8(document: PreciseDocument, text: str) -> PreciseDocument | RefusedDocument:
    """The facts with columns in UTF-8 bytes of the decoded line, from 1. `text` is the document's, without BOM."""
    lines = text.split("\n")
    seen = document.occurrences[:: max(1, len(document.occurrences) // _ENOUGH)]
    fitting = sum(_is_word(found.range, lines, document.encoding) for found in seen)
    if fitting < _LEAST_FIT * len(seen):
        return RefusedDocument(document.path, "the index was made of another text of this file")
    if document.encoding == CodeUnits.UTF8 or text.isascii():
        return replace(document, encoding=CodeUnits.UTF8)
    occurrences = tuple(_converted(found, lines, document.encoding) for found in document.occurrences)
    return replace(document, encoding=CodeUnits.UTF8, occurrences=occurrences)


def _converted(found: Occurrence, lines: Sequence[str], unit: CodeUnits) -> Occurrence:
    around = found.enclosing and _range(found.enclosing, lines, unit)
    return found._replace(range=_range(found.range, lines, unit), enclosing=around)


def _range(old: Range, lines: Sequence[str], unit: CodeUnits) -> Range:
    start = _column(old.start_line, old.start_column, lines, unit)
    return Range(old.start_line, start, old.end_line, _column(old.end_line, old.end_column, lines, unit))


def _column(number: int, column: int, lines: Sequence[str], unit: CodeUnits) -> int:
    if number > len(lines) or lines[number - 1].isascii():
        return column
    line = lines[number - 1]
    return len(line[: _character(line, column, unit)].encode("utf-8")) + 1


def _character(line: str, column: int, unit: CodeUnits) -> int:
    """Where in a line a column is, in characters from 0; behind its end by one where the column is beyond it."""
    if line.isascii():
        return min(column - 1, len(line) + 1)
    codec, width = _CODECS[unit]
    encoded = line.encode(codec)
    length = (column - 1) * width
    return len(encoded[:length].decode(codec, "ignore")) if length <= len(encoded) else len(line) + 1


_INSIDE_WORD = re.compile(r"\w\w")


def _is_word(place: Range, lines: Sequence[str], unit: CodeUnits) -> bool:
    """Whether a place is in the text, begins with a letter or sign, and neither end is inside a word. An empty one is a file."""
    if place.end_line > len(lines):
        return False
    first, last = lines[place.start_line - 1], lines[place.end_line - 1]
    start, end = _character(first, place.start_column, unit), _character(last, place.end_column, unit)
    if start > len(first) or end > len(last):
        return False
    if place[:2] == place[2:]:
        return True
    broken = (start and _INSIDE_WORD.match(first, start - 1)) or (end and _INSIDE_WORD.match(last, end - 1))
    return not broken and not first[start : start + 1].isspace()
