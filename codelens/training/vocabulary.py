"""Words of a corpus → the rows of a table: frequent words have their own, others are made of pieces.

A piece is a row too, marked by `PIECE`: the longest known beginning of what is left of a word, again and again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from codelens.embed.words import LONGEST_PIECE, PIECE, rows_of
from codelens.training.corpus import Corpus


def build(frequency: Mapping[str, int], words: int, pieces: int) -> list[str]:
    """The rows' names: the most frequent words, then the pieces that rarer words are most often made of; ties by name."""
    ordered = sorted((w for w in frequency if len(w) <= 40), key=lambda w: (-frequency[w], w))
    own, rare = ordered[:words], ordered[words:]
    counted: Counter[str] = Counter()
    for word in rare:
        times = min(frequency[word], 50)
        for start in range(len(word)):
            for length in range(1, min(LONGEST_PIECE, len(word) - start) + 1):
                if start == 0 or length <= 6:
                    counted[word[start : start + length]] += times * length
    single = sorted({c for w in rare for c in w if c.isascii()})
    chosen = [p for p, _ in sorted(counted.items(), key=lambda p: (-p[1], p[0])) if len(p) > 1][
        : max(0, pieces - len(single))
    ]
    return [*own, *(PIECE + p for p in [*single, *chosen])]


class Splitter(dict[str, tuple[int, ...]]):
    """Word → its rows; made on first use."""

    def __init__(self, rows: Sequence[str]) -> None:
        super().__init__()
        self._find = {name: i for i, name in enumerate(rows)}.get

    def __missing__(self, word: str) -> tuple[int, ...]:
        found = self[word] = tuple(rows_of(word, self._find))
        return found


def frequencies(corpus: Corpus) -> dict[str, int]:
    """Word → number of bags that have it."""
    counts = np.bincount(corpus.ids, minlength=len(corpus.words))
    return dict(zip(corpus.words, counts.tolist(), strict=True))


def as_rows(corpus: Corpus, rows: Sequence[str]) -> Corpus:
    """The corpus in rows of the vocabulary instead of words; pieces of one word each count as often as it."""
    splitter = Splitter(rows)
    parts = [splitter[w] for w in corpus.words]
    lengths = np.array([len(p) for p in parts], np.int64)
    flat = np.array([r for p in parts for r in p], np.int32)
    begin = np.cumsum(lengths) - lengths
    each = lengths[corpus.ids]
    total = int(each.sum())
    places = np.repeat(begin[corpus.ids] - (np.cumsum(each) - each), each) + np.arange(total)
    sums = np.concatenate([[0], np.cumsum(each)])
    return Corpus(
        list(rows),
        sums[corpus.starts],
        flat[places],
        np.repeat(corpus.counts, each),
        corpus.packages,
        corpus.package,
        corpus.kinds,
        corpus.alike,
    )
