"""Map positions between texts: decoded text to file bytes (TextMap), an excerpt to the whole text (Excerpt), spans (SpanFinder).

Parsers read UTF-8 without a byte order mark; stored and printed positions count the file's own bytes. For UTF-8 the two
differ only by the mark. For other encodings a table of checkpoints makes each lookup fast, even in a line of a megabyte.
Lines end at \\n only, even in files with \\r\\n: editors, compilers and grep number lines this way.
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
from codelens.model.fast_dataclass import frozen_dataclass

_STRIDE = 256  # Number of characters between two checkpoints


class TextMap:
    """A map between the file's own bytes and the UTF-8 that parsers read. Offsets count from 0, lines and columns from 1."""

    def __init__(self, decoded: DecodedText) -> None:
        self.utf8: bytes = decoded.text.encode("utf-8")
        self._text = decoded.text
        self._encoding = decoded.encoding
        self._bom = decoded.bom

    def to_original(self, utf8_offset: int) -> int:
        """Convert a UTF-8 offset to the file's own bytes, including the mark. Inside a character it gives the character's start."""
        if self._encoding == "utf-8":
            return utf8_offset + self._bom
        ours, theirs = self._checkpoints
        nearest = bisect_right(ours, utf8_offset) - 1
        between = self.utf8[ours[nearest] : utf8_offset].decode("utf-8", "ignore")
        return theirs[nearest] + len(between.encode(self._encoding))

    def to_utf8(self, original_offset: int) -> int:
        """Convert an offset in the file's own bytes to UTF-8, as the inverse of `to_original`."""
        if self._encoding == "utf-8":
            return original_offset - self._bom
        ours, theirs = self._checkpoints
        nearest = bisect_right(theirs, original_offset) - 1
        piece = self._text[nearest * _STRIDE : (nearest + 1) * _STRIDE].encode(self._encoding)
        between = piece[: original_offset - theirs[nearest]].decode(self._encoding, "ignore")
        return ours[nearest] + len(between.encode("utf-8"))

    def find_line_column(self, utf8_offset: int) -> tuple[int, int]:
        """Find the line and column of an offset, both from 1; columns count UTF-8 bytes of the decoded line."""
        line = bisect_right(self.line_starts, utf8_offset)
        return line, utf8_offset - self.line_starts[line - 1] + 1

    @cached_property
    def line_starts(self) -> array[int]:
        """Offset of each line in `utf8`, including the empty line after a final newline."""
        lengths = map(len, self.utf8.split(b"\n")[:-1])
        return array("q", [0, *map(add, accumulate(lengths), count(1))])

    @cached_property
    def lines(self) -> int:
        """Number of lines, without the empty line after a final newline."""
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
    """Make the map of positions of a text that is UTF-8 without a byte order mark."""
    return TextMap(DecodedText(text, "utf-8", 1.0, 0))


def count_utf8_column(line_text: str, character: int) -> int:
    """Convert the index of a character in a line, from 0, to a column in UTF-8 bytes, from 1."""
    return len(line_text[:character].encode("utf-8", "surrogatepass")) + 1


def count_utf16_column(line_text: str, utf8_column: int) -> int:
    """Convert a column in UTF-8 bytes to UTF-16 units, as LSP and JavaScript editors count; both from 1."""
    before = line_text.encode("utf-8", "surrogatepass")[: utf8_column - 1].decode("utf-8", "ignore")
    return len(before.encode("utf-16-le", "surrogatepass")) // 2 + 1


@frozen_dataclass
class Excerpt:
    """Pieces of a text joined into one, such as the code in a fence or the source of a notebook cell; offsets are UTF-8 bytes.

    A parser reads the excerpt, and results are stored with their positions in the whole text. A piece is either a copy or the
    decoded form of an escape (as in JSON); all bytes of a decoded piece map to one position.
    """

    utf8: bytes
    _begins: tuple[int, ...]  # Start of each piece in `utf8`
    _spans: tuple[Span, ...]  # Span of each piece in the whole text

    def map_span(self, span: Span) -> Span:
        """Map a span of the excerpt to its span in the whole text."""
        start = self.map_offset(span.start)
        if span.end <= span.start:
            return Span(start, start)
        piece = bisect_left(self._begins, span.end) - 1  # an end between two pieces is that of the first
        here = self._spans[piece]
        end = here.start + span.end - self._begins[piece] if self._is_copied(piece) else here.end
        return Span(start, max(start, end))

    def map_offset(self, offset: int) -> int:
        """Map the offset where a text starts to the whole text. Past the last piece it is that piece's end; 0 if empty."""
        if offset >= len(self.utf8):
            return self._spans[-1].end if self._spans else 0
        piece = bisect_right(self._begins, offset) - 1
        return self._spans[piece].start + (offset - self._begins[piece] if self._is_copied(piece) else 0)

    def _is_copied(self, piece: int) -> bool:
        span = self._spans[piece]
        end = self._begins[piece + 1] if piece + 1 < len(self._begins) else len(self.utf8)
        return span.end - span.start == end - self._begins[piece]


def build_excerpt(pieces: Iterable[tuple[bytes, int, int]]) -> Excerpt:
    """Make an excerpt of ordered pieces: (text, start, end), with positions in the whole. Empty pieces are left out."""
    kept = [piece for piece in pieces if piece[0]]
    begins, at = [], 0
    for text, _, _ in kept:
        begins.append(at)
        at += len(text)
    return Excerpt(b"".join(p[0] for p in kept), tuple(begins), tuple(Span(start, end) for _, start, end in kept))


class SpanFinder:
    """A finder of the innermost nested span around a position. Positions must be asked for in ascending order."""

    def __init__(self, spans: list[tuple[int, int]]) -> None:
        self._spans = spans
        self._stack: list[int] = []
        self._following = 0

    def find(self, place: int) -> int | None:
        """Find the index of the innermost span around a position; None outside of all spans."""
        spans, stack = self._spans, self._stack
        while self._following < len(spans) and spans[self._following][0] <= place:
            while stack and spans[stack[-1]][1] <= spans[self._following][0]:
                stack.pop()
            stack.append(self._following)
            self._following += 1
        while stack and spans[stack[-1]][1] <= place:
            stack.pop()
        return stack[-1] if stack else None
