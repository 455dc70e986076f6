"""Hash many texts to vectors at once, as one numpy bincount per call.

Sums are integers below 2^53, hence exact in any order.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from codelens.embed.hashing import DIMENSIONS, FIXED_POINT, ROOTS, FeatureCache
from codelens.text.terms import token_counts

Whole = npt.NDArray[np.int64]
_LOW, _BITS = DIMENSIONS - 1, DIMENSIONS.bit_length() - 1
MOST_TEXTS = 512  # Entries per pass: 512 × 4 fields × 256 dimensions are 4 MB of sums
MOST_TOKENS = 400_000
"""Maximum number of cached tokens, about 100 MB of source; then the cache is cleared, which bounds a worker's memory."""


class HashingBatch:
    """Embeds entries of several fields each; field i is normalised and counts `factors[i]`."""

    def __init__(self, features: FeatureCache, factors: Sequence[float]) -> None:
        self._features = features
        self._factors = np.array(factors, dtype=np.float64)
        self._roots = np.array(ROOTS, dtype=np.int64)
        self._tokens = _TokenTable(features)

    def embed(self, entries: Sequence[Sequence[str]]) -> list[bytes]:
        """One vector per entry, int8 of length 127; zeros if there is nothing to embed."""
        if len(self._tokens) > MOST_TOKENS:
            self._features.clear()
            self._tokens = _TokenTable(self._features)
        vectors: list[bytes] = []
        for start in range(0, len(entries), MOST_TEXTS):
            vectors += self._pass(entries[start : start + MOST_TEXTS])
        return vectors

    def _pass(self, entries: Sequence[Sequence[str]]) -> list[bytes]:
        fields = len(self._factors)
        sums = self._sums([text for entry in entries for text in entry]).reshape(len(entries), fields, DIMENSIONS)
        fixed = np.rint(sums * (FIXED_POINT * self._factors[:, None] * _inverse_norm(sums, 1.0))).astype(np.int64)
        total = fixed.sum(axis=1)
        packed = np.rint(total * _inverse_norm(total, 127.0)).astype(np.int8).tobytes()
        return [packed[i : i + DIMENSIONS] for i in range(0, len(packed), DIMENSIONS)]

    def _sums(self, texts: Sequence[str]) -> Whole:
        """The weighted sum of features of each text: [texts × dimensions]."""
        rows, counts, sizes = array("q"), array("q"), array("q")
        known: dict[str, tuple[array[int], array[int]]] = {}
        for text in texts:
            if (token_rows := known.get(text)) is None:
                counter = token_counts(text)
                token_rows = known[text] = (
                    array("q", map(self._tokens.__getitem__, counter)),
                    array("q", counter.values()),
                )
            rows.extend(token_rows[0])
            counts.extend(token_rows[1])
            sizes.append(len(token_rows[0]))
        row, count = np.frombuffer(rows, np.int64), np.frombuffer(counts, np.int64)
        weights = self._roots[np.minimum(count, len(self._roots) - 1)]
        place = np.repeat(np.arange(len(texts)) * DIMENSIONS, np.frombuffer(sizes, np.int64))
        features, lengths = self._tokens.gather(row)
        summed = np.bincount(
            (features & _LOW) + np.repeat(place, lengths),
            weights=(features >> _BITS) * np.repeat(weights, lengths),
            minlength=len(texts) * DIMENSIONS,
        )
        return summed.astype(np.int64)


class _TokenTable(dict[str, int]):
    """Token → its row; features of all rows are stored in one array."""

    def __init__(self, features: FeatureCache) -> None:
        super().__init__()
        self._features = features
        self._ends = array("q", [0])
        self._all = array("q")

    def __missing__(self, token: str) -> int:
        self._all.extend(self._features[token])
        self._ends.append(len(self._all))
        row = self[token] = len(self._ends) - 2
        return row

    def gather(self, rows: Whole) -> tuple[Whole, Whole]:
        """Features of these rows, concatenated, and the number of each row."""
        ends = np.frombuffer(self._ends, np.int64)
        starts, lengths = ends[rows], ends[rows + 1] - ends[rows]
        before = np.cumsum(lengths) - lengths
        places = np.repeat(starts - before, lengths) + np.arange(int(lengths.sum()))
        return np.frombuffer(self._all, np.int64)[places], lengths


def _inverse_norm(sums: Whole, length: float) -> npt.NDArray[np.float64]:
    """length / norm of each row of the last axis, 0 for zero rows. The sums of squares are exact."""
    norm = np.sqrt(np.einsum("...i,...i->...", sums, sums).astype(np.float64))[..., None]
    inverse: npt.NDArray[np.float64] = np.divide(length, norm, out=np.zeros_like(norm), where=norm > 0)
    return inverse
