"""Texts as an editor counts them: positions in the client's encoding ↔ bytes, and the open texts with their edits."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from pathlib import Path
from threading import Lock

from lsprotocol import types

from codelens.indexing.derive import LARGE_SIZE
from codelens.indexing.extract import extract
from codelens.lang.registry import detect_language
from codelens.model.extraction import DecodedText, Extraction
from codelens.text.lines import TextMap

_extracting = Lock()  # a parser serves one thread at a time


def count_units(utf8: bytes, encoding: str) -> int:
    """The length of a text in the units of a position encoding: utf-8, utf-16 or utf-32."""
    if encoding == "utf-8":
        return len(utf8)
    text = utf8.decode("utf-8", "replace")
    return len(text) if encoding == "utf-32" else len(text.encode("utf-16-le")) // 2


def count_bytes(line: bytes, units: int, encoding: str) -> int:
    """The inverse: bytes before a place in a line. A place within a character is its start, one behind the line its end."""
    if encoding == "utf-8":
        while 0 < units < len(line) and line[units] & 0xC0 == 0x80:
            units -= 1
        return min(units, len(line))
    text = line.decode("utf-8", "replace")
    if encoding == "utf-16":
        return len(text.encode("utf-16-le")[: 2 * units].decode("utf-16-le", "ignore").encode())
    return len(text[:units].encode())


class SourceText:
    """A text whose offsets count the bytes of its file."""

    def __init__(self, decoded: DecodedText, encoding: str) -> None:
        self.map, self.encoding = TextMap(decoded), encoding

    def position(self, offset: int) -> types.Position:
        """The client's position of a byte of the file."""
        utf8 = max(0, min(self.map.to_utf8(offset), len(self.map.utf8)))
        line, column = self.map.line_column(utf8)
        return types.Position(line - 1, count_units(self.map.utf8[utf8 - column + 1 : utf8], self.encoding))

    def range(self, start: int, end: int) -> types.Range:
        """The client's range of these bytes."""
        return types.Range(self.position(start), self.position(end))

    def offset(self, position: types.Position) -> int:
        """The byte of the file at the client's position."""
        line = min(position.line, len(self.map.line_starts) - 1)
        start = self.map.line_starts[line]
        return self.map.to_original(start + _place_in_line(self.line(line), position, self.encoding))

    def line(self, number: int) -> bytes:
        """A line, from 0, without its line break."""
        start, following = self.map.line_starts[number], number + 1
        end = self.map.line_starts[following] - 1 if following < len(self.map.line_starts) else len(self.map.utf8)
        return self.map.utf8[start:end]


def _place_in_line(line: bytes, position: types.Position, encoding: str) -> int:
    return count_bytes(line.removesuffix(b"\r"), position.character, encoding)


class Buffer(SourceText):
    """The text of a file as an editor has it, or as it is on the disk if no editor has it open."""

    def __init__(self, path: Path, text: str, encoding: str) -> None:
        plain = text.encode("utf-8", "replace").decode()  # a client may send half of a surrogate pair
        super().__init__(DecodedText(plain, "utf-8", 1.0, 0), encoding)
        self.path, self.text = path, plain
        self.language = detect_language(path.as_posix(), self.map.utf8)

    @classmethod
    def read(cls, path: Path, encoding: str) -> Buffer:
        """The file on the disk; empty if it cannot be read."""
        try:
            text = path.read_bytes().decode("utf-8", "replace")
        except OSError:
            text = ""
        return cls(path, text, encoding)

    def changed(self, changes: Iterable[types.TextDocumentContentChangeEvent]) -> Buffer:
        """The buffer after edits, each of which counts positions in the text after the one before."""
        lines = self.map.utf8.split(b"\n")
        for change in changes:
            new = change.text.encode("utf-8", "replace")
            if isinstance(change, types.TextDocumentContentChangePartial):
                (first, start), (last, end) = (self._clamp(lines, at) for at in (change.range.start, change.range.end))
                new = lines[first][:start] + new + lines[last][end:]
                lines[first : max(first, last) + 1] = new.split(b"\n")
            else:
                lines = new.split(b"\n")
        return Buffer(self.path, b"\n".join(lines).decode("utf-8", "replace"), self.encoding)

    def _clamp(self, lines: Sequence[bytes], at: types.Position) -> tuple[int, int]:
        """(line, byte in it), at most the end of the text."""
        if at.line >= len(lines):
            return len(lines) - 1, len(lines[-1])
        return at.line, _place_in_line(lines[at.line], at, self.encoding)

    @cached_property
    def extraction(self) -> Extraction:
        """The definitions, references and imports of the text."""
        fault = "too large" if len(self.map.utf8) > LARGE_SIZE else ""
        with _extracting:
            return extract(self.map, self.path.as_posix(), self.language, fault)
