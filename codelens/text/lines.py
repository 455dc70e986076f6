"""Places in a decoded text ↔ places in the file's own bytes.

Parsers see UTF-8 without a byte order mark and count its bytes; what is stored and shown counts the file's own bytes.
For UTF-8 the two differ by the mark alone; for other encodings a table of checkpoints keeps each answer cheap, also in
a line of a megabyte. Lines end at \\n only: that is how editors, compilers and grep number them, \\r\\n included.
"""

from __future__ import annotations

import re
from array import array
from bisect import bisect_right
from functools import cached_property

from codelens.derived import DecodedText

_STRIDE = 256
"""Characters between two checkpoints."""


class TextMap:
    """The map of one decoded text; `utf8` is what to parse. Offsets are bytes from 0; lines and columns from 1."""

    def __init__(self, decoded: DecodedText) -> None:
        self.utf8: bytes = decoded.text.encode("utf-8")
        self._text = decoded.text
        self._encoding = decoded.encoding
        self._bom = decoded.bom

    def to_original(self, utf8_offset: int) -> int:
        """The place in the file's own bytes, its mark included. Inside a character: where the character begins."""
        if self._encoding == "utf-8":
            return utf8_offset + self._bom
        ours, theirs = self._checkpoints
        nearest = bisect_right(ours, utf8_offset) - 1
        between = self.utf8[ours[nearest] : utf8_offset].decode("utf-8", "ignore")
        return theirs[nearest] + len(between.encode(self._encoding))

    def to_utf8(self, original_offset: int) -> int:
        """The way back from `to_original`."""
        if self._encoding == "utf-8":
            return original_offset - self._bom
        ours, theirs = self._checkpoints
        nearest = bisect_right(theirs, original_offset) - 1
        piece = self._text[nearest * _STRIDE : (nearest + 1) * _STRIDE].encode(self._encoding)
        between = piece[: original_offset - theirs[nearest]].decode(self._encoding, "ignore")
        return ours[nearest] + len(between.encode("utf-8"))

    def line_column(self, utf8_offset: int) -> tuple[int, int]:
        """Line and column of a place, both from 1; the column counts UTF-8 bytes of the decoded line."""
        line = bisect_right(self.line_starts, utf8_offset)
        return line, utf8_offset - self.line_starts[line - 1] + 1

    @cached_property
    def line_starts(self) -> array[int]:
        """Where each line begins in `utf8`; a text that ends in a newline has no line behind it but the empty one."""
        return array("q", [0, *(found.end() for found in re.finditer(b"\n", self.utf8))])

    @cached_property
    def lines(self) -> int:
        """Number of lines, as editors show it: an empty one behind the last newline does not count."""
        return len(self.line_starts) - (self.utf8.endswith(b"\n") or not self.utf8)

    @cached_property
    def _checkpoints(self) -> tuple[array[int], array[int]]:
        ours, theirs = array("q", [0]), array("q", [self._bom])
        for start in range(0, len(self._text), _STRIDE):
            piece = self._text[start : start + _STRIDE]
            ours.append(ours[-1] + len(piece.encode("utf-8")))
            theirs.append(theirs[-1] + len(piece.encode(self._encoding)))
        return ours, theirs


def column_utf8(line_text: str, character: int) -> int:
    """The column of a line's character (counted from 0) in UTF-8 bytes, from 1."""
    return len(line_text[:character].encode("utf-8", "surrogatepass")) + 1


def column_utf16(line_text: str, utf8_column: int) -> int:
    """A column in UTF-8 bytes → the column in UTF-16 units, as LSP and JavaScript editors count; both from 1."""
    before = line_text.encode("utf-8", "surrogatepass")[: utf8_column - 1].decode("utf-8", "ignore")
    return len(before.encode("utf-16-le", "surrogatepass")) // 2 + 1
