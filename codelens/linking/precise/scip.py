"""Read SCIP indexes (github.com/scip-code/scip, `scip.proto`): where each document defines and uses symbols.

Lines and columns count from 1, as everywhere in codelens. A column counts the code units of its document's `encoding`;
`convert_to_utf8` turns it into bytes, for which it needs the document's text.

The reader is our own, with a decoder of Protobuf's wire format (protobuf.dev/programming-guides/encoding) that needs no schema
and makes no copies. The protobuf package is three times as fast (1.7 against 5.2 CPU seconds for the 537,126 occurrences of
Django), but it holds a whole index in memory (211 against 71 MB) and pins a version that every other program of the environment
must share. Here every length is checked against the enclosing message before anything is sliced, so a hostile index costs no
memory.

An index may not state what its columns count. The schema advises tools to count the units of strings in their own language, so
the tool's name decides (`_COUNT_BYTES`), with UTF-16 as the default: scip-typescript 0.4.0 and scip-python 0.6.6 state
nothing and count UTF-16.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterator, Sequence
from enum import StrEnum
from typing import NamedTuple

from codelens.errors import PreciseIndexError
from codelens.model.fast_dataclass import frozen_dataclass, replace


class CodeUnits(StrEnum):
    """The unit in which columns count."""

    UTF8 = "utf-8"
    UTF16 = "utf-16"
    UTF32 = "utf-32"


class Range(NamedTuple):
    """A half-open range of text; lines and columns count from 1."""

    start_line: int
    start_column: int
    end_line: int
    end_column: int


class Occurrence(NamedTuple):
    """A symbol at a place in its document. It is a tuple because there are hundreds of thousands."""

    range: Range  # The range of the name, not of the definition
    symbol: str  # Equal for equal symbols of one index; a local symbol includes its document's path
    is_definition: bool


class Relationship(NamedTuple):
    """A relation from `symbol` to `other`; `kind` is implementation or definition."""

    symbol: str
    other: str
    kind: str


@frozen_dataclass
class PreciseDocument:
    """The part of an index about one document."""

    path: str  # Relative to the index's project root, POSIX separators
    encoding: CodeUnits
    occurrences: tuple[Occurrence, ...]
    relationships: tuple[Relationship, ...] = ()


@frozen_dataclass
class RefusedDocument:
    """A document of an index that does not match the tree, with the reason."""

    path: str  # The path in the index
    reason: str


VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5
_COUNTED = frozenset({VARINT, BYTES})
_WIDTH = {FIXED64: 8, FIXED32: 4}


class WireFault(Exception):
    """The bytes are not a valid message; `offset` counts from the start of the buffer."""

    def __init__(self, what: str, offset: int) -> None:
        super().__init__(what)
        self.offset = offset


def make_tag(field: int, wire_type: int) -> int:
    """Make a field's tag on the wire from its number and wire type."""
    return field << 3 | wire_type


def read_varint(buffer: bytes, at: int, end: int) -> tuple[int, int]:
    """Read the unsigned number at `at`; returns (number, offset of the next byte). Raises WireFault beyond 64 bits or `end`."""
    value = shift = 0
    for position in range(at, min(end, at + 10)):
        byte = buffer[position]
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & 0xFFFF_FFFF_FFFF_FFFF, position + 1
        shift += 7
    raise WireFault("a number does not end", at)


def read_fields(buffer: bytes, at: int, end: int) -> Iterator[tuple[int, int, int]]:
    """Read the fields in buffer[at:end]: (tag, start, end) of each length-delimited field, (tag, value, offset) of each number.

    Raises WireFault for truncated fields, for groups (which proto3 does not have) and for unknown wire types.
    """
    while at < end:
        start = at
        # Most tags and lengths are one byte, and a call costs more than the rest of such a field.
        key = buffer[at]
        at += 1
        if key >= 0x80:
            key, at = read_varint(buffer, start, end)
        kind = key & 7
        if kind in _COUNTED:
            if at < end and buffer[at] < 0x80:
                value = buffer[at]
                at += 1
            else:
                value, at = read_varint(buffer, at, end)
            if kind == VARINT:
                yield key, value, start
                continue
            stop = at + value
            if stop > end:
                raise WireFault(f"a field of {value} bytes has only {end - at}", start)
            yield key, at, stop
            at = stop
        elif kind in _WIDTH:
            at += _WIDTH[kind]
            if at > end:
                raise WireFault("a number is cut off", start)
        else:
            raise WireFault(f"unknown wire type {kind}", start)


def read_packed(buffer: bytes, at: int, end: int) -> list[int]:
    """Read the numbers of a packed field. Raises WireFault."""
    raw, numbers = buffer[at:end], list[int]()
    if raw.isascii():
        return [*raw]  # each number is one byte
    while at < end:
        number, at = read_varint(buffer, at, end)
        numbers.append(number)
    return numbers


def read_text(buffer: bytes, at: int, end: int) -> str:
    """Read a string field. Raises WireFault if it is not UTF-8."""
    try:
        return buffer[at:end].decode("utf-8")
    except UnicodeDecodeError:
        raise WireFault("a string is not UTF-8", at) from None


_COUNT_BYTES = frozenset({"scip-go", "scip-clang", "scip-ruby", "rust-analyzer"})
"""Tools that are written in Go, C++ or Rust, whose strings are bytes."""
_ENCODINGS = {1: CodeUnits.UTF8, 2: CodeUnits.UTF16, 3: CodeUnits.UTF32}
_DEFINITION = 0x1
"""The role bit of a definition. A forward definition (0x40) is not one and counts as a use."""
_KINDS = {3: "implementation", 5: "definition"}
_LONGEST_RANGE = 40  # Bytes of the longest range: four numbers of maximal length
_FAR = (1 << 31) - 2  # Lines and columns are int32; a negative one appears as a number beyond this

_METADATA, _DOCUMENTS = make_tag(1, BYTES), make_tag(2, BYTES)
_TOOL, _TOOL_NAME = make_tag(2, BYTES), make_tag(1, BYTES)
_PATH, _OCCURRENCES, _SYMBOLS = (make_tag(field, BYTES) for field in (1, 2, 3))
_POSITION_ENCODING = make_tag(6, VARINT)
_RANGE, _SYMBOL = make_tag(1, BYTES), make_tag(2, BYTES)
_RANGE_UNPACKED, _ROLES = make_tag(1, VARINT), make_tag(3, VARINT)
_TYPED = {make_tag(8, BYTES): 3, make_tag(9, BYTES): 4}
"""Tag of the newer form of a range → how many numbers its message has: three (within one line) or four."""
_SYMBOL_NAME, _RELATIONSHIPS, _OTHER = (make_tag(field, BYTES) for field in (1, 4, 1))
SymbolReader = Callable[[int, int], str]  # From (start, end) of a symbol's bytes


def read_scip(buffer: bytes, name: str) -> Iterator[PreciseDocument | RefusedDocument]:
    """Read an index's documents lazily, in order. Raises PreciseIndexError with the file's `name` if it is not an index."""
    try:
        encoding = CodeUnits.UTF16
        has_content = False
        for key, start, end in read_fields(buffer, 0, len(buffer)):
            if key == _METADATA:
                tools = (place for inner, *place in read_fields(buffer, start, end) if inner == _TOOL)
                parts = (part for tool in tools for part in read_fields(buffer, *tool))
                tool_name = next((read_text(buffer, *place) for inner, *place in parts if inner == _TOOL_NAME), "")
                encoding = CodeUnits.UTF8 if tool_name in _COUNT_BYTES else CodeUnits.UTF16
            elif key == _DOCUMENTS:
                yield _read_document(buffer, start, end, encoding)
            has_content = has_content or key in (_METADATA, _DOCUMENTS)
        if not has_content:
            raise WireFault("neither metadata nor documents", 0)
    except WireFault as fault:
        raise PreciseIndexError(name, fault.offset, f"not a SCIP index: {fault}") from None


def _read_document(buffer: bytes, start: int, end: int, encoding: CodeUnits) -> PreciseDocument | RefusedDocument:
    """Read a document in two passes: fields come in any order, and local symbols need the path first.

    Keeping the fields of the first pass would save a twentieth of the time, but a hostile document of empty fields would take
    40 times its size in memory.
    """
    path: str | RefusedDocument = RefusedDocument("", "the document has no path")
    for key, at, stop in read_fields(buffer, start, end):
        if key == _PATH:
            path = check_path(read_text(buffer, at, stop))
        elif key == _POSITION_ENCODING:
            encoding = _ENCODINGS.get(at, encoding)
    if isinstance(path, RefusedDocument):
        return path
    occurrences, relationships, known = list[Occurrence](), list[Relationship](), dict[bytes, str]()

    def read_symbol(at: int, stop: int) -> str:
        """Read a symbol, once if it is repeated; the document's path is added to a local one. Raises WireFault."""
        if (symbol := known.get(raw := buffer[at:stop])) is None:
            text = read_text(buffer, at, stop)
            symbol = known[raw] = f"{text} {path}" if text.startswith("local ") else text
        return symbol

    for key, at, stop in read_fields(buffer, start, end):
        if key == _OCCURRENCES:
            occurrence = _read_occurrence(buffer, at, stop, read_symbol)
            if occurrence is not None and occurrence.symbol:  # without a symbol it only highlights the text
                occurrences.append(occurrence)
        elif key == _SYMBOLS:
            relationships += _read_relationships(buffer, at, stop, read_symbol)
    return PreciseDocument(path, encoding, tuple(occurrences), tuple(relationships))


def _read_occurrence(buffer: bytes, start: int, end: int, read_symbol: SymbolReader) -> Occurrence | None:
    """Read an occurrence and make its range count from 1; None if the range is invalid."""
    numbers: list[int] = []  # [line, start, end] or [line, start, last line, end], from 0
    symbol = ""
    roles = 0
    for key, at, stop in read_fields(buffer, start, end):
        if key == _RANGE and stop - at <= _LONGEST_RANGE:
            numbers += read_packed(buffer, at, stop)
        elif key == _SYMBOL:
            symbol = read_symbol(at, stop)
        elif key == _ROLES:
            roles = at
        elif key in _TYPED:
            numbers = [0] * _TYPED[key]  # zeros are not on the wire
            for inner, value, _ in read_fields(buffer, at, stop):
                if inner & 7 == VARINT and 1 <= inner >> 3 <= len(numbers):
                    numbers[(inner >> 3) - 1] = value
        elif key == _RANGE_UNPACKED:
            numbers.append(at)
    if len(numbers) == 3:
        numbers.insert(2, numbers[0])
    if len(numbers) != 4 or max(numbers) >= _FAR or numbers[2:] < numbers[:2]:
        return None
    line, column, last_line, last_column = numbers
    return Occurrence(Range(line + 1, column + 1, last_line + 1, last_column + 1), symbol, roles & _DEFINITION != 0)


def _read_relationships(buffer: bytes, start: int, end: int, read_symbol: SymbolReader) -> list[Relationship]:
    symbol, related = "", list[tuple[str, str]]()
    for key, at, stop in read_fields(buffer, start, end):
        if key == _SYMBOL_NAME:
            symbol = read_symbol(at, stop)
        elif key == _RELATIONSHIPS:
            other, kinds = "", []
            for inner, first, last in read_fields(buffer, at, stop):
                if inner == _OTHER:
                    other = read_symbol(first, last)
                elif inner & 7 == VARINT and inner >> 3 in _KINDS and first:
                    kinds.append(_KINDS[inner >> 3])
            related += [(other, kind) for kind in kinds]
    return [Relationship(symbol, other, kind) for other, kind in related]


_ABSOLUTE = re.compile(r"/|\\|[A-Za-z]:|[a-z][a-z0-9+.-]*://")


def check_path(written: str) -> str | RefusedDocument:
    """Normalize a document's path, without '.', '..' and empty parts; refuse it if it is not below the root."""
    if _ABSOLUTE.match(written):
        return RefusedDocument(written, "the path is absolute")
    path = posixpath.normpath(written)
    if path == ".." or path.startswith("../"):
        return RefusedDocument(written, "the path leaves the project's root")
    if path == "." or "\0" in path:
        return RefusedDocument(written, "the path names no file")
    return path


_LEAST_FIT = 0.95
"""Least share of an index's names that must be words of the text. Measured: 1 in Django (scip-python) and in zod (scip-typescript);
at most .8 in each of 528 files of Django after one line was inserted at the top."""
_ENOUGH = 400  # Names checked in one document, evenly spread
_CODECS = {CodeUnits.UTF8: ("utf-8", 1), CodeUnits.UTF16: ("utf-16-le", 2), CodeUnits.UTF32: ("utf-32-le", 4)}


def convert_to_utf8(document: PreciseDocument, text: str) -> PreciseDocument | RefusedDocument:
    """Convert a document's columns to UTF-8 bytes of the decoded line, from 1. `text` is the document's text, without BOM.

    Files may change after an index is made. A document that does not match its text is refused as a whole: an edge at a place that
    has moved is worse than the edge found by syntax.
    """
    lines, encoding = text.split("\n"), document.encoding
    sample = document.occurrences[:: max(1, len(document.occurrences) // _ENOUGH)]
    fitting = sum(_is_word(occurrence.range, lines, encoding) for occurrence in sample)
    if fitting < _LEAST_FIT * len(sample):
        return RefusedDocument(document.path, "the index was made of another text of this file")
    occurrences = list(document.occurrences)
    if encoding != CodeUnits.UTF8 and not text.isascii():
        for i, (place, symbol, is_definition) in enumerate(occurrences):
            start = _count_bytes(lines, place.start_line, place.start_column, encoding)
            end = _count_bytes(lines, place.end_line, place.end_column, encoding)
            occurrences[i] = Occurrence(Range(place.start_line, start, place.end_line, end), symbol, is_definition)
    return replace(document, encoding=CodeUnits.UTF8, occurrences=tuple(occurrences))


def _count_bytes(lines: Sequence[str], number: int, column: int, encoding: CodeUnits) -> int:
    """Convert a column of a line to UTF-8 bytes."""
    if number > len(lines) or lines[number - 1].isascii():
        return column
    line = lines[number - 1]
    return len(line[: _count_characters(line, column, encoding)].encode("utf-8")) + 1


def _count_characters(line: str, column: int, encoding: CodeUnits) -> int:
    """Convert a column to an index in the line, in characters from 0; one past the end if the column lies beyond it."""
    if line.isascii():
        return min(column - 1, len(line) + 1)
    codec, width = _CODECS[encoding]
    encoded, length = line.encode(codec), (column - 1) * width
    return len(encoded[:length].decode(codec, "ignore")) if length <= len(encoded) else len(line) + 1


_INSIDE_WORD = re.compile(r"\w\w")


def _is_word(place: Range, lines: Sequence[str], encoding: CodeUnits) -> bool:
    """True if a range lies in the text, does not start with a space, and splits no word. An empty range stands for a file."""
    if place.end_line > len(lines):
        return False
    first, last = lines[place.start_line - 1], lines[place.end_line - 1]
    start = _count_characters(first, place.start_column, encoding)
    end = _count_characters(last, place.end_column, encoding)
    if start > len(first) or end > len(last):
        return False
    if place[:2] == place[2:]:
        return True
    broken = (start and _INSIDE_WORD.match(first, start - 1)) or (end and _INSIDE_WORD.match(last, end - 1))
    return not broken and not first[start : start + 1].isspace()
