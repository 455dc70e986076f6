"""Reader of SCIP indexes (github.com/scip-code/scip, `scip.proto`), one document at a time.

The reader is our own, with a decoder of Protobuf's wire format (protobuf.dev/programming-guides/encoding) that needs no schema
and makes no copies. The protobuf package is three times as fast (1.7 against 5.2 CPU seconds for the 537,126 occurrences of
Django), but it holds a whole index in memory (211 against 71 MB) and pins a version that every other program of the environment
must share. Here every length is checked against the enclosing message before anything is sliced, so a hostile index costs no
memory.

An index may leave open what its columns count. Tools that do so count what strings of their own language consist of, as the
schema advises. So the tool's name decides (`_COUNT_BYTES`), and UTF-16 is the default: scip-typescript 0.4.0 and scip-python
0.6.6 state nothing and count UTF-16.
"""

from __future__ import annotations

from collections.abc import Iterator

from codelens.errors import PreciseIndexError
from codelens.linking.precise.documents import (
    CodeUnits,
    Occurrence,
    PreciseDocument,
    Range,
    RefusedDocument,
    Relationship,
    checked_path,
)

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5
_COUNTED = frozenset({VARINT, BYTES})
_WIDTH = {FIXED64: 8, FIXED32: 4}


class WireFault(Exception):
    """The bytes are not a valid message; `offset` counts from the start of the buffer."""

    def __init__(self, what: str, offset: int) -> None:
        super().__init__(what)
        self.offset = offset


def tag(field: int, wire_type: int) -> int:
    """The key of a field on the wire: its number and its wire type."""
    return field << 3 | wire_type


def varint(buffer: bytes, at: int, end: int) -> tuple[int, int]:
    """(the unsigned number at `at`, the offset of the next byte). Raises WireFault beyond 64 bits or `end`."""
    value = shift = 0
    for position in range(at, min(end, at + 10)):
        byte = buffer[position]
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & 0xFFFF_FFFF_FFFF_FFFF, position + 1
        shift += 7
    raise WireFault("a number does not end", at)


def fields(buffer: bytes, at: int, end: int) -> Iterator[tuple[int, int, int]]:
    """(tag, start, end) of each length-delimited field in buffer[at:end], (tag, value, offset) of each number.

    Raises WireFault for truncated fields, for groups (which proto3 does not have) and for unknown wire types.
    """
    while at < end:
        start = at
        # Most tags and lengths are one byte, and a call costs more than the rest of such a field.
        key = buffer[at]
        at += 1
        if key >= 0x80:
            key, at = varint(buffer, start, end)
        kind = key & 7
        if kind in _COUNTED:
            if at < end and buffer[at] < 0x80:
                value = buffer[at]
                at += 1
            else:
                value, at = varint(buffer, at, end)
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


def packed(buffer: bytes, at: int, end: int) -> list[int]:
    """The numbers of a packed field. Raises WireFault."""
    numbers = []
    while at < end:
        value = buffer[at]
        at += 1
        if value >= 0x80:
            value, at = varint(buffer, at - 1, end)
        numbers.append(value)
    return numbers


def text(buffer: bytes, at: int, end: int) -> str:
    """A string field. Raises WireFault if it is not UTF-8."""
    try:
        return buffer[at:end].decode("utf-8")
    except UnicodeDecodeError:
        raise WireFault("a string is not UTF-8", at) from None


_COUNT_BYTES = frozenset({"scip-go", "scip-clang", "scip-ruby", "rust-analyzer"})
"""Written in Go, C++ and Rust, whose strings are bytes."""
_ENCODINGS = {1: CodeUnits.UTF8, 2: CodeUnits.UTF16, 3: CodeUnits.UTF32}
_DEFINITION = 0x1
"""The role bit of a definition. A forward definition (0x40) leads to the definition, so it counts as a use."""
_KINDS = {3: "implementation", 5: "definition"}
_LONGEST_RANGE = 40  # Bytes of four numbers of maximal length
_FAR = (1 << 31) - 2  # Lines and columns are int32; a negative one appears as a number beyond this

_METADATA, _DOCUMENTS = tag(1, BYTES), tag(2, BYTES)
_TOOL, _TOOL_NAME = tag(2, BYTES), tag(1, BYTES)
_PATH, _OCCURRENCES, _SYMBOLS, _POSITION_ENCODING = tag(1, BYTES), tag(2, BYTES), tag(3, BYTES), tag(6, VARINT)
_RANGE, _RANGE_UNPACKED, _SYMBOL, _ROLES = tag(1, BYTES), tag(1, VARINT), tag(2, BYTES), tag(3, VARINT)
_TYPED = {tag(8, BYTES): 3, tag(9, BYTES): 4}
"""The newer form of a range: a message of three numbers (within one line) or four."""
_SYMBOL_NAME, _RELATIONSHIPS, _OTHER = tag(1, BYTES), tag(4, BYTES), tag(1, BYTES)


def read_scip(buffer: bytes, name: str) -> Iterator[PreciseDocument | RefusedDocument]:
    """The documents of an index in order, read lazily. `name` is the file's name for error messages.

    Raises PreciseIndexError if the bytes are not a SCIP index; documents yielded before remain valid.
    """
    try:
        encoding = CodeUnits.UTF16
        seen = False
        for key, start, end in fields(buffer, 0, len(buffer)):
            if key == _METADATA:
                seen = True
                encoding = CodeUnits.UTF8 if _tool(buffer, start, end) in _COUNT_BYTES else CodeUnits.UTF16
            elif key == _DOCUMENTS:
                seen = True
                yield _document(buffer, start, end, encoding)
        if not seen:
            raise WireFault("neither metadata nor documents", 0)
    except WireFault as fault:
        raise PreciseIndexError(name, fault.offset, f"not a SCIP index: {fault}") from None


def _tool(buffer: bytes, start: int, end: int) -> str:
    for key, at, stop in fields(buffer, start, end):
        if key == _TOOL:
            for inner, first, last in fields(buffer, at, stop):
                if inner == _TOOL_NAME:
                    return text(buffer, first, last)
    return ""


def _document(buffer: bytes, start: int, end: int, encoding: CodeUnits) -> PreciseDocument | RefusedDocument:
    """Read a document in two passes: fields come in any order, and the path is needed first to scope the local symbols.

    Keeping the fields of the first pass would save a twentieth of the time, and let a hostile document of empty fields take 40
    times its size in memory.
    """
    path: str | RefusedDocument = RefusedDocument("", "the document has no path")
    for key, at, stop in fields(buffer, start, end):
        if key == _PATH:
            path = checked_path(text(buffer, at, stop))
        elif key == _POSITION_ENCODING:
            encoding = _ENCODINGS.get(at, encoding)
    if isinstance(path, RefusedDocument):
        return path
    names = _Symbols(buffer, path)
    occurrences: list[Occurrence] = []
    relationships: list[Relationship] = []
    for key, at, stop in fields(buffer, start, end):
        if key == _OCCURRENCES:
            found = _occurrence(buffer, at, stop, names)
            if found is not None and found.symbol:  # without a symbol it only highlights the text
                occurrences.append(found)
        elif key == _SYMBOLS:
            relationships += _relationships(buffer, at, stop, names)
    return PreciseDocument(path, encoding, tuple(occurrences), tuple(relationships))


class _Symbols:
    """The symbols of one document by their bytes: each is decoded once, and a local one gets its document's path."""

    def __init__(self, buffer: bytes, path: str) -> None:
        self._buffer = buffer
        self._path = path
        self._known: dict[bytes, str] = {}

    def read(self, start: int, end: int) -> str:
        """The symbol at this place. Raises WireFault."""
        raw = self._buffer[start:end]
        known = self._known.get(raw)
        if known is None:
            known = text(self._buffer, start, end)
            if known.startswith("local "):
                known = f"{known} {self._path}"
            self._known[raw] = known
        return known


def _occurrence(buffer: bytes, start: int, end: int, names: _Symbols) -> Occurrence | None:
    """An occurrence; None if its range is invalid."""
    where: list[int] = []
    symbol = ""
    roles = 0
    for key, at, stop in fields(buffer, start, end):
        if key == _RANGE and stop - at <= _LONGEST_RANGE:
            where += packed(buffer, at, stop)
        elif key == _SYMBOL:
            symbol = names.read(at, stop)
        elif key == _ROLES:
            roles = at
        elif key in _TYPED:
            where = _message_range(buffer, at, stop, _TYPED[key])
        elif key == _RANGE_UNPACKED:
            where.append(at)
    found = _range(where)
    if found is None:
        return None
    return Occurrence(found, symbol, roles & _DEFINITION != 0)


def _message_range(buffer: bytes, start: int, end: int, count: int) -> list[int]:
    """The numbers of a range in the newer form, in the order of the older form. Zeros are not on the wire."""
    numbers = [0] * count
    for key, value, _ in fields(buffer, start, end):
        if key & 7 == VARINT and 1 <= key >> 3 <= count:
            numbers[(key >> 3) - 1] = value
    return numbers


def _range(numbers: list[int]) -> Range | None:
    """A range from [line, start, end] or [line, start, line, end], converted to count from 1; None if it is invalid."""
    if len(numbers) == 3:
        line, start, end = numbers
        last = line
    elif len(numbers) == 4:
        line, start, last, end = numbers
    else:
        return None
    if line >= _FAR or start >= _FAR or last >= _FAR or end >= _FAR or (last, end) < (line, start):
        return None
    return Range(line + 1, start + 1, last + 1, end + 1)


def _relationships(buffer: bytes, start: int, end: int, names: _Symbols) -> Iterator[Relationship]:
    symbol = ""
    related: list[tuple[str, list[str]]] = []
    for key, at, stop in fields(buffer, start, end):
        if key == _SYMBOL_NAME:
            symbol = names.read(at, stop)
        elif key == _RELATIONSHIPS:
            other, kinds = "", []
            for inner, first, last in fields(buffer, at, stop):
                if inner == _OTHER:
                    other = names.read(first, last)
                elif inner & 7 == VARINT and inner >> 3 in _KINDS and first:
                    kinds.append(_KINDS[inner >> 3])
            related.append((other, kinds))
    for other, kinds in related:
        for kind in kinds:
            yield Relationship(symbol, other, kind)
