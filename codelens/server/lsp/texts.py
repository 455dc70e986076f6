"""Texts as an editor counts them: positions in the client's encoding ↔ bytes of a file."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from threading import Lock

from lsprotocol import types

from codelens.indexing.derive import LARGE_SIZE
from codelens.indexing.extract import extract
from codelens.lang.registry import detect_language
from codelens.lang.tokens import NameToken
from codelens.model.extraction import DecodedText, Extraction
from codelens.store.overlay import EditedText
from codelens.text.lines import TextMap

CODECS = {"utf-8": ("utf-8", 1), "utf-16": ("utf-16-le", 2), "utf-32": ("utf-32-le", 4)}
"""Position encoding → (Python's codec, bytes of a unit)."""
_extracting = Lock()  # a parser serves one thread at a time


def count_units(text: bytes, encoding: str) -> int:
    """The length of a text in the units of a position encoding."""
    codec, width = CODECS[encoding]
    return len(text.decode("utf-8", "replace").encode(codec)) // width


def count_bytes(line: bytes, units: int, encoding: str) -> int:
    """The inverse: bytes before a place in a line. A place within a character is its start, one behind the line its end."""
    codec, width = CODECS[encoding]
    return len(line.decode("utf-8", "replace").encode(codec)[: width * units].decode(codec, "ignore").encode())


class SourceText(TextMap):
    """A text with the positions of a client."""

    def __init__(self, path: Path, decoded: DecodedText, encoding: str) -> None:
        super().__init__(decoded)
        self.path, self.encoding = path, encoding

    @classmethod
    def of_editor(cls, path: Path, text: str, encoding: str) -> SourceText:
        """The text of a file as an editor has it, which may hold half of a surrogate pair."""
        return cls(path, DecodedText(text.encode("utf-8", "replace").decode(), "utf-8", 1.0, 0), encoding)

    @property
    def parts(self) -> EditedText:
        """The text as a store shows it in place of its file."""
        return self.utf8, self.language, lambda: self.extraction

    def position(self, offset: int) -> types.Position:
        """The client's position of a byte of the file."""
        place = max(0, min(self.to_utf8(offset), len(self.utf8)))
        line, column = self.line_column(place)
        return types.Position(line - 1, count_units(self.utf8[place - column + 1 : place], self.encoding))

    def range(self, start: int, end: int) -> types.Range:
        """The client's range of these bytes."""
        return types.Range(self.position(start), self.position(end))

    def token_range(self, token: NameToken) -> types.Range:
        """The client's range of a token."""
        return self.range(*map(self.to_original, token[:2]))

    def offset(self, position: types.Position) -> int:
        """The byte of the file at the client's position."""
        number = min(position.line, len(self.line_starts) - 1)
        line = self.line(number).removesuffix(b"\r")
        return self.to_original(self.line_starts[number] + count_bytes(line, position.character, self.encoding))

    def line(self, number: int) -> bytes:
        """A line, from 0, without its line break."""
        starts, following = self.line_starts, number + 1
        return self.utf8[starts[number] : starts[following] - 1 if following < len(starts) else None]

    @cached_property
    def language(self) -> str:
        """The language by name and content."""
        return detect_language(self.path.as_posix(), self.utf8)

    @cached_property
    def extraction(self) -> Extraction:
        """The definitions, references and imports of the text."""
        fault = "too large" if len(self.utf8) > LARGE_SIZE else ""
        with _extracting:
            return extract(self, self.path.as_posix(), self.language, fault)
