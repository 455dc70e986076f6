"""Pieces of a text, joined into a text of their own, and the way back: the code in a fence, the source of a notebook's cell.

A parser reads the excerpt; what it finds is stored by its place in the whole. A piece is taken over as it stands, or it stands
for something written in another way (an escape of JSON), whose bytes then are one place.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable

from codelens.model import Span
from codelens.nouns import dataclass


@dataclass(frozen=True, slots=True)
class Excerpt:
    """The joined text; all offsets are bytes of UTF-8."""

    utf8: bytes
    _begins: tuple[int, ...]
    """Where each piece begins in `utf8`."""
    _spans: tuple[Span, ...]
    """Where each piece lies in the whole."""

    def whole(self, span: Span) -> Span:
        """The place of a part of the excerpt in the whole text."""
        start = self.place(span.start)
        return Span(start, max(start, self._after(span.end)) if span.end > span.start else start)

    def place(self, offset: int) -> int:
        """The place of what begins at `offset`; behind the last piece, where that ends. 0 for an excerpt of nothing."""
        if offset >= len(self.utf8):
            return self._spans[-1].end if self._spans else 0
        piece = bisect_right(self._begins, offset) - 1
        return self._spans[piece].start + (offset - self._begins[piece] if self._as_it_stands(piece) else 0)

    def _after(self, offset: int) -> int:
        """The place behind what ends at `offset`: at the end of its own piece, not where the next one begins."""
        piece = bisect_left(self._begins, offset) - 1
        span = self._spans[piece]
        return span.start + offset - self._begins[piece] if self._as_it_stands(piece) else span.end

    def _as_it_stands(self, piece: int) -> bool:
        span = self._spans[piece]
        end = self._begins[piece + 1] if piece + 1 < len(self._begins) else len(self.utf8)
        return span.end - span.start == end - self._begins[piece]


def excerpt(pieces: Iterable[tuple[bytes, int, int]]) -> Excerpt:
    """(text, start, end in the whole) of pieces in their order → the excerpt; empty pieces are left out."""
    kept = [piece for piece in pieces if piece[0]]
    begins, at = [], 0
    for text, _, _ in kept:
        begins.append(at)
        at += len(text)
    return Excerpt(b"".join(p[0] for p in kept), tuple(begins), tuple(Span(start, end) for _, start, end in kept))
