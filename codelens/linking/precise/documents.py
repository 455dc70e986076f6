"""The content of a SCIP index: who defines a symbol, who uses it, and where.

Lines and columns count from 1, as everywhere in codelens. A column counts the code units of its document's `encoding`. Only with
the document's text can `in_utf8` turn it into bytes.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Sequence
from enum import StrEnum
from typing import NamedTuple

from codelens.model.fast_dataclass import dataclass, replace


class CodeUnits(StrEnum):
    """The unit of a column."""

    UTF8 = "utf-8"
    UTF16 = "utf-16"
    UTF32 = "utf-32"


class Range(NamedTuple):
    """A half-open piece of text, lines and columns from 1."""

    start_line: int
    start_column: int
    end_line: int
    end_column: int


class Occurrence(NamedTuple):
    """A symbol at a place of its document. A tuple, because there are hundreds of thousands."""

    range: Range  # The range of the name, not of the definition
    symbol: str  # Equal for equal symbols of one index; a local symbol includes its document's path
    is_definition: bool


class Relationship(NamedTuple):
    """A relation of `symbol` to `other`; `kind` is implementation or definition."""

    symbol: str
    other: str
    kind: str


@dataclass(frozen=True, slots=True)
class PreciseDocument:
    """The content of an index about one document."""

    path: str  # Relative to the index's project root, POSIX separators
    encoding: CodeUnits
    occurrences: tuple[Occurrence, ...]
    relationships: tuple[Relationship, ...] = ()


@dataclass(frozen=True, slots=True)
class RefusedDocument:
    """A document of the index that does not match the tree, and the reason."""

    path: str  # The path in the index
    reason: str


_ABSOLUTE = re.compile(r"/|\\|[A-Za-z]:|[a-z][a-z0-9+.-]*://")


def checked_path(written: str) -> str | RefusedDocument:
    """A document's path without '.', '..' and empty parts; refused if it is not below the root."""
    if _ABSOLUTE.match(written):
        return RefusedDocument(written, "the path is absolute")
    path = posixpath.normpath(written)
    if path == ".." or path.startswith("../"):
        return RefusedDocument(written, "the path leaves the project's root")
    if path == "." or "\0" in path:
        return RefusedDocument(written, "the path names no file")
    return path


_LEAST_FIT = 0.95
"""Share of an index's names that must be words of the text. Measured: 1 in Django by scip-python and in zod by scip-typescript; at
most .8 in each of 528 files of Django after one line is inserted at the top."""
_ENOUGH = 400  # Names checked in one document, spread over it
_CODECS = {CodeUnits.UTF8: ("utf-8", 1), CodeUnits.UTF16: ("utf-16-le", 2), CodeUnits.UTF32: ("utf-32-le", 4)}


def in_utf8(document: PreciseDocument, text: str) -> PreciseDocument | RefusedDocument:
    """Convert columns to UTF-8 bytes of the decoded line, from 1. `text` is the document's, without BOM.

    An index is made from one state of the tree, and files change afterwards. A document that does not match its text is refused
    as a whole: an edge from a place that has moved is worse than the edge found by syntax.
    """
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
    return found._replace(range=_range(found.range, lines, unit))


def _range(old: Range, lines: Sequence[str], unit: CodeUnits) -> Range:
    start = _column(old.start_line, old.start_column, lines, unit)
    return Range(old.start_line, start, old.end_line, _column(old.end_line, old.end_column, lines, unit))


def _column(number: int, column: int, lines: Sequence[str], unit: CodeUnits) -> int:
    if number > len(lines) or lines[number - 1].isascii():
        return column
    line = lines[number - 1]
    return len(line[: _character(line, column, unit)].encode("utf-8")) + 1


def _character(line: str, column: int, unit: CodeUnits) -> int:
    """Index of a column in a line, in characters from 0; one past the end if the column lies beyond it."""
    if line.isascii():
        return min(column - 1, len(line) + 1)
    codec, width = _CODECS[unit]
    encoded = line.encode(codec)
    length = (column - 1) * width
    return len(encoded[:length].decode(codec, "ignore")) if length <= len(encoded) else len(line) + 1


_INSIDE_WORD = re.compile(r"\w\w")


def _is_word(place: Range, lines: Sequence[str], unit: CodeUnits) -> bool:
    """True if a range lies in the text, starts with a letter or sign, and splits no word. An empty range is a file."""
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
