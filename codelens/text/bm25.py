"""BM25 (Robertson and Zaragoza, 2009) with the caller's statistics, which are numbers or numpy arrays.

`score_term` computes in the same order as FTS5's function, so that scores are equal to the last bit.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

K1, B = 1.2, 0.75  # FTS5's values: saturation of the frequency, and influence of the length
LEAST_IDF = 1e-6  # FTS5's idf of a word that half of the rows or more contain


def compute_idf(rows: float, holding: float) -> float:
    """Compute a word's idf by Lucene's formula, if `holding` rows contain it; the added 1 keeps it from being negative."""
    return math.log(1.0 + (rows - holding + 0.5) / (holding + 0.5))


def compute_fts5_idf(rows: int, holding: int) -> float:
    """Compute a word's idf by FTS5's formula; at least LEAST_IDF."""
    return max(math.log((rows - holding + 0.5) / (holding + 0.5)), 0.0) or LEAST_IDF


def weigh_length(length: float, mean: float, k: float = K1, b: float = B) -> float:
    """Compute the length weight of a text, or of many: `k` at the mean length. `b` is the influence of the length."""
    return k * (1 - b + b * length / mean)


def score_term(idf: float, frequency: float, length_weight: float = K1) -> float:
    """Compute one word's part of a score. The default length weight is that of a text of mean length."""
    return idf * ((frequency * (K1 + 1.0)) / (frequency + length_weight))


def score_text(terms: Iterable[tuple[float, float]], length_weight: float, scale: float = 1.0) -> float:
    """Compute the score of a text from (idf, frequency) of its terms. Some variants use the scale k + 1."""
    return math.fsum([idf * frequency * scale / (frequency + length_weight) for idf, frequency in terms])
