"""A mistyped word → the known word that it means."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

LETTERS_PER_SLIP = 4
"""One slip is forgiven in up to seven letters, two in eight to eleven, and so on. Chosen."""
SHORTEST_BEGINNING = 3
"""Letters of a beginning that stands for the word. Chosen."""


def nearest(word: str, known: Iterable[str], meant: Mapping[str, str] | None = None) -> str:
    """The word that `meant` gives, else the one with the fewest slips; empty if none is close.

    The first letter is taken to be right: `uninstall` is not a mistyped `install`, nor `hidden` a mistyped `intent`. A word
    is also close if one begins with the other: `symbol` for `symbols`, `func` for `function`.
    """
    from rapidfuzz.distance import OSA  # 27 ms, and only mistakes need it

    known = list(known)
    if meant and meant.get(word) in known:
        return meant[word]
    most = max(1, len(word) // LETTERS_PER_SLIP)
    near = []
    for place, other in enumerate(known):
        slips = OSA.distance(word, other)
        if word[:1] == other[:1] and (slips <= most or _begins(word, other)):
            near.append((slips, place, other))
    return min(near)[2] if near else ""


def _begins(word: str, other: str) -> bool:
    return min(len(word), len(other)) >= SHORTEST_BEGINNING and (word.startswith(other) or other.startswith(word))
