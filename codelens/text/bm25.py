"""BM25 (Robertson and Zaragoza, 2009) with statistics that the caller gives: numbers, or arrays of numpy's.

The operations of `score_term` have the order of FTS5's function, so that its scores come out to the last bit.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

K1, B = 1.2, 0.75  # FTS5's figures: how soon further occurrences count for little, and the share of the length
LEAST_IDF = 1e-6  # FTS5's idf of a word that half of the rows hold


def compute_idf(rows: float, holding: float) -> float:
    """The rarity of a word that `holding` of all rows hold, as Lucene has it: with 1 added, no word counts less than nothing."""
    return math.log(1.0 + (rows - holding + 0.5) / (holding + 0.5))


def compute_fts5_idf(rows: int, holding: int) -> float:
    """The same as FTS5 has it."""
    return max(math.log((rows - holding + 0.5) / (holding + 0.5)), 0.0) or LEAST_IDF


def weigh_length(length: float, mean: float, k: float = K1, b: float = B) -> float:
    """The length of a text, or lengths, as a score takes it: `k` for the mean length. `b` is how much the length counts."""
    return k * (1 - b + b * length / mean)


def score_term(idf: float, frequency: float, length_weight: float = K1) -> float:
    """One word's part of a score; K1 stands for a text of mean length."""
    return idf * ((frequency * (K1 + 1.0)) / (frequency + length_weight))


def score_text(terms: Iterable[tuple[float, float]], length_weight: float, scale: float = 1.0) -> float:
    """The score of a text. `terms`: pairs (idf, frequency) of the terms that it has. Some variants have the scale k + 1."""
    return math.fsum([idf * frequency * scale / (frequency + length_weight) for idf, frequency in terms])
