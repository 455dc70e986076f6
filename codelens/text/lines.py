"""Positions in texts: of decoded text in file bytes (TextMap), of an excerpt in the whole text (Excerpt), in spans (SpanFinder).

Parsers read UTF-8 without a byte order mark; stored and printed positions count the file's own bytes. For UTF-8 the two
differ only by the mark. For other encodings a table of checkpoints makes each lookup fast, even in a line of a megabyte.
Lines end at \\n only: editors, compilers and grep number them this way, with \\r\\n too.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from functools import cached_property
from itertools import accumulate, count
from operator import add

from codelens.model.code import Span
from codelens.model.extraction import DecodedText
from codelens.model.fast_dataclass import dataclass

_STRIDE = 256  # Number of characters between two checkpoints


class TextMap:
    """The map of one decoded text; parsers read `utf8`. Offsets are bytes from 0; lines and columns count from 1."""

    def __init__(self, decoded: DecodedText) -> None:
        self.utf8: bytes = decoded.text.encode("utf-8")
        self._text = decoded.text
        self._encoding = decoded.encoding
        self._bom = decoded.bom

    def to_original(self, utf8_offset: int) -> int:
        """The offset in the file's own bytes, including the mark. An offset inside a character gives the character's start."""
        if self._encoding == "utf-8":
            return utf8_offset + self._bom
        ours, theirs = self._checkpoints
        nearest = bisect_right(ours, utf8_offset) - 1
        between = self.utf8[ours[nearest] : utf8_offset].decode("utf-8", "ignore")
        return theirs[nearest] + len(between.encode(self._encoding))

    def to_utf8(self, original_offset: int) -> int:
        """The inverse of `to_original`."""
        if self._encoding == "utf-8":
            return original_offset - self._bom
        ours, theirs = self._checkpoints
        nearest = bisect_right(theirs, original_offset) - 1
        piece = self._text[nearest * _STRIDE : (nearest + 1) * _STRIDE].encode(self._encoding)
        between = piece[: original_offset - theirs[nearest]].decode(self._encoding, "ignore")
        return ours[nearest] + len(between.encode("utf-8"))

    def find_line_column(self, utf8_offset: int) -> tuple[int, int]:
        """Line and column of an offset, both from 1; the column counts UTF-8 bytes of the decoded line."""
        line = bisect_right(self.line_starts, utf8_offset)
        return line, utf8_offset - self.line_starts[line - 1] + 1

    @cached_property
    def line_starts(self) -> array[int]:
        """Start of each line in `utf8`; after a final newline there is one empty line."""
        lengths = map(len, self.utf8.split(b"\n")[:-1])
        return array("q", [0, *map(add, accumulate(lengths), count(1))])

    @cached_property
    def lines(self) -> int:
        """Number of lines as editors count them: an empty line after the last newline is left out."""
        return len(self.line_starts) - (self.utf8.endswith(b"\n") or not self.utf8)

    @cached_property
    def _checkpoints(self) -> tuple[array[int], array[int]]:
        ours, theirs = array("q", [0]), array("q", [self._bom])
        for start in range(0, len(self._text), _STRIDE):
            piece = self._text[start : start + _STRIDE]
            ours.append(ours[-1] + len(piece.encode("utf-8")))
            theirs.append(theirs[-1] + len(piece.encode(self._encoding)))
        return ours, theirs


def map_text(text: str) -> TextMap:
    """The map of a text that is UTF-8 without a byte order mark."""
    return TextMap(DecodedText(text, "utf-8", 1.0, 0))


def to_column_utf8(line_text: str, character: int) -> int:
    """The column of a line's character (counted from 0) in UTF-8 bytes, from 1."""
    return len(line_text[:character].encode("utf-8", "surrogatepass")) + 1


def to_column_utf16(line_text: str, utf8_column: int) -> int:
    """A column in UTF-8 bytes → the column in UTF-16 units, as LSP and JavaScript editors count; both from 1."""
    before = line_text.encode("utf-8", "surrogatepass")[: utf8_column - 1].decode("utf-8", "ignore")
    return len(before.encode("utf-16-le", "surrogatepass")) // 2 + 1


@dataclass(frozen=True, slots=True)
class Excerpt:
    """Pieces of a text joined into one, such as the code in a fence or the source of a notebook cell; offsets are UTF-8 bytes.

    A parser reads the excerpt, and results are stored with their positions in the whole. A piece is copied as it is, or it is the
    decoded form of something else (an escape in JSON); then all its bytes map to one position.
    """

    utf8: bytes
    _begins: tuple[int, ...]  # Start of each piece in `utf8`
    _spans: tuple[Span, ...]  # Span of each piece in the whole text

    def whole(self, span: Span) -> Span:
        """The span in the whole text of a part of the excerpt."""
        start = self.place(span.start)
        return Span(start, max(start, self._end_of_text(span.end)) if span.end > span.start else start)

    def place(self, offset: int) -> int:
        """The position in the whole of a text that starts at `offset`; after the last piece, its end. 0 in an empty excerpt."""
        if offset >= len(self.utf8):
            return self._spans[-1].end if self._spans else 0
        piece = bisect_right(self._begins, offset) - 1
        return self._spans[piece].start + (offset - self._begins[piece] if self._as_it_stands(piece) else 0)

    def _end_of_text(self, offset: int) -> int:
        """The position after a text that ends at `offset`: the end of its own piece, not the start of the next."""
        piece = bisect_left(self._begins, offset) - 1
        span = self._spans[piece]
        return span.start + offset - self._begins[piece] if self._as_it_stands(piece) else span.end

    def _as_it_stands(self, piece: int) -> bool:
        span = self._spans[piece]
        end = self._begins[piece + 1] if piece + 1 < len(self._begins) else len(self.utf8)
        return span.end - span.start == end - self._begins[piece]


def excerpt(pieces: Iterable[tuple[bytes, int, int]]) -> Excerpt:
    """The excerpt of ordered pieces (text, start, end in the whole); empty pieces are left out."""
    kept = [piece for piece in pieces if piece[0]]
    begins, at = [], 0
    for text, _, _ in kept:
        begins.append(at)
        at += len(text)
    return Excerpt(b"".join(p[0] for p in kept), tuple(begins), tuple(Span(start, end) for _, start, end in kept))


class SpanFinder:
    """Finds the innermost of nested spans around places in ascending order."""

    def __init__(self, spans: list[tuple[int, int]]) -> None:
        self._spans = spans
        self._stack: list[int] = []
        self._following = 0

    def find(self, place: int) -> int | None:
        """Index of the innermost span around a place; None outside of all."""
        spans, stack = self._spans, self._stack
        while self._following < len(spans) and spans[self._following][0] <= place:
            while stack and spans[stack[-1]][1] <= spans[self._following][0]:
                stack.pop()
            stack.append(self._following)
            self._following += 1
        while stack and spans[stack[-1]][1] <= place:
            stack.pop()
        return stack[-1] if stack else None
