"""A SCIP index (github.com/scip-code/scip, `scip.proto`) → the facts of its documents, one document at a time.

The format lets an index leave open what its columns count. Tools that do so count what the strings of the language
they are written in count, as the schema advises them; so the tool's name decides (`_COUNT_BYTES`), and UTF-16 where it
says nothing: scip-typescript 0.4.0 and scip-python 0.6.6 state nothing and count UTF-16.
"""

from __future__ import annotations

from collections.abc import Iterator

from codelens.errors import PreciseIndexError
from codelens.precise.facts import (
    CodeUnits,
    Occurrence,
    PreciseDocument,
    Range,
    RefusedDocument,
    Relationship,
    checked_path,
)
from codelens.precise.wire import BYTES, VARINT, WireFault, fields, packed, tag, text

_COUNT_BYTES = frozenset({"scip-go", "scip-clang", "scip-ruby", "rust-analyzer"})
"""Written in Go, C++ and Rust, whose strings are bytes."""
_ENCODINGS = {1: CodeUnits.UTF8, 2: CodeUnits.UTF16, 3: CodeUnits.UTF32}
_DEFINITION = 0x1
"""Of the roles of an occurrence. A forward definition (0x40) leads to the definition, so it is a use of it."""
_KINDS = {2: "reference", 3: "implementation", 4: "type_definition", 5: "definition"}
_LONGEST_RANGE = 40
"""Bytes: four numbers of the longest form."""
_FAR = (1 << 31) - 2
"""Lines and columns are int32; a negative one is written as if it were beyond."""

_METADATA, _DOCUMENTS = tag(1, BYTES), tag(2, BYTES)
_TOOL, _TOOL_NAME = tag(2, BYTES), tag(1, BYTES)
_PATH, _OCCURRENCES, _SYMBOLS, _POSITION_ENCODING = tag(1, BYTES), tag(2, BYTES), tag(3, BYTES), tag(6, VARINT)
_RANGE, _RANGE_UNPACKED, _SYMBOL, _ROLES = tag(1, BYTES), tag(1, VARINT), tag(2, BYTES), tag(3, VARINT)
_ENCLOSING, _ENCLOSING_UNPACKED = tag(7, BYTES), tag(7, VARINT)
_TYPED = {tag(8, BYTES): 3, tag(9, BYTES): 4}
_TYPED_ENCLOSING = {tag(10, BYTES): 3, tag(11, BYTES): 4}
"""The newer form of a range: a message of three numbers (in one line) or four."""
_SYMBOL_NAME, _RELATIONSHIPS, _OTHER = tag(1, BYTES), tag(4, BYTES), tag(1, BYTES)


def read_scip(buffer: bytes, name: str) -> Iterator[PreciseDocument | RefusedDocument]:
    """The documents of an index in its order, read as they are asked for. `name` is the file's, for its faults.

    Raises PreciseIndexError where the bytes are no SCIP index; what came before it holds.
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
        raise PreciseIndexError(name, fault.offset, f"no SCIP index, {fault}") from None


def _tool(buffer: bytes, start: int, end: int) -> str:
    for key, at, stop in fields(buffer, start, end):
        if key == _TOOL:
            for inner, first, last in fields(buffer, at, stop):
                if inner == _TOOL_NAME:
                    return text(buffer, first, last)
    return ""


def _document(buffer: bytes, start: int, end: int, encoding: CodeUnits) -> PreciseDocument | RefusedDocument:
    """Two passes: a field may come in any order, and the path is needed first, to scope the local symbols. Keeping what the
    first one found would save a twentieth of the time, and let a hostile document of empty fields take 40 times its size.
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
    dropped = 0
    for key, at, stop in fields(buffer, start, end):
        if key == _OCCURRENCES:
            found = _occurrence(buffer, at, stop, names)
            if found is None:
                dropped += 1
            elif found.symbol:  # else it only colours the text
                occurrences.append(found)
        elif key == _SYMBOLS:
            relationships += _relationships(buffer, at, stop, names)
    return PreciseDocument(path, encoding, tuple(occurrences), tuple(relationships), dropped)


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
    """None where the range makes no sense."""
    where: list[int] = []
    around: list[int] = []
    symbol = ""
    roles = 0
    for key, at, stop in fields(buffer, start, end):
        if key == _RANGE and stop - at <= _LONGEST_RANGE:
            where += packed(buffer, at, stop)
        elif key == _SYMBOL:
            symbol = names.read(at, stop)
        elif key == _ROLES:
            roles = at
        elif key == _ENCLOSING and stop - at <= _LONGEST_RANGE:
            around += packed(buffer, at, stop)
        elif key in _TYPED:
            where = _message_range(buffer, at, stop, _TYPED[key])
        elif key in _TYPED_ENCLOSING:
            around = _message_range(buffer, at, stop, _TYPED_ENCLOSING[key])
        elif key == _RANGE_UNPACKED:
            where.append(at)
        elif key == _ENCLOSING_UNPACKED:
            around.append(at)
    found = _range(where)
    if found is None:
        return None
    return Occurrence(found, symbol, roles & _DEFINITION != 0, _range(around) if around else None)


def _message_range(buffer: bytes, start: int, end: int, count: int) -> list[int]:
    """The newer form of a range, a message of numbers, in the order of the older: numbers that are 0 are not written."""
    numbers = [0] * count
    for key, value, _ in fields(buffer, start, end):
        if key & 7 == VARINT and 1 <= key >> 3 <= count:
            numbers[(key >> 3) - 1] = value
    return numbers


def _range(numbers: list[int]) -> Range | None:
    """[line, start, end] or [line, start, line, end], from 0 → from 1; None if it is neither or runs backwards."""
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
