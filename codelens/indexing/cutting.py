"""Cutting long texts: a document into chunks at its seams, a unit's text into overlapping windows for vectors.

Both are linear in the text: each cut looks at no more than one piece's length before it.
"""

from __future__ import annotations

import re

CHUNK_SIZE = 2048
"""Bytes of a chunk at most: about 512 tokens at 4 characters each."""
WINDOW, OVERLAP = 2048, 204
"""Characters: 512 tokens, and 10 % of them."""
MAX_WINDOWS = 64
"""The store numbers a unit's vectors from unit × 64; what is beyond 118 000 characters is found by its words alone."""

_SEAM = re.compile(rb"\n([ \t]*)(?=[^\s)\]}>])")
"""The start of a line that holds something other than a closing bracket."""


def cut(utf8: bytes, start: int, end: int, size: int = CHUNK_SIZE) -> list[tuple[int, int]]:
    """[start, end) in pieces of at most `size` bytes, cut at the best seam in the second half of each.

    The best seam is the least indented line start, after a blank line if possible, the last of equals: a top-level key
    of YAML, TOML, INI and JSON, a paragraph, a statement. An endless line is cut after a blank or between characters.
    """
    pieces: list[tuple[int, int]] = []
    while end - start > size:
        middle = _seam(utf8, start + size // 2, start + size) or _inside_line(utf8, start, start + size)
        pieces.append((start, middle))
        start = middle
    return [*pieces, (start, end)] if end > start else pieces


def _seam(utf8: bytes, low: int, high: int) -> int | None:
    best: tuple[int, int, int] | None = None
    for found in _SEAM.finditer(utf8, low, high):
        place = found.start()
        blank_before = utf8[place - 1] in b"\n" or utf8[max(place - 2, 0) : place] == b"\n\r"
        score = (found.end() - found.start(1), not blank_before, -place)
        if best is None or score < best:
            best = score
    return 1 - best[2] if best else None


def _inside_line(utf8: bytes, start: int, limit: int) -> int:
    middle = max(utf8.rfind(b"\n", start + 1, limit), utf8.rfind(b" ", limit - (limit - start) // 4, limit)) + 1
    if middle > start:
        return middle
    middle = limit
    while middle > start + 1 and utf8[middle] & 0xC0 == 0x80:  # inside a character
        middle -= 1
    return middle


def windows(text: str, size: int = WINDOW, overlap: int = OVERLAP) -> list[str]:
    """The text in at most MAX_WINDOWS pieces of up to `size` characters, each beginning `overlap` before the end of the last.

    Pieces end and begin at line ends where one is near; a text that fits is one piece.
    """
    pieces: list[str] = []
    start = 0
    while len(text) - start > size and len(pieces) < MAX_WINDOWS - 1:
        end = text.rfind("\n", start + size - size // 4, start + size) + 1 or start + size
        pieces.append(text[start:end])
        start = text.find("\n", end - overlap, end - 1) + 1 or end - overlap
    return [*pieces, text[start : start + size]]
