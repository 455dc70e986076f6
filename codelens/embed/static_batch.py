"""Many texts → vectors at once, with numpy: the sums of `static`, for all texts of a pass together."""

from __future__ import annotations

from array import array
from collections.abc import Sequence

import numpy as np

from codelens.embed.model_file import ModelFile
from codelens.embed.words import rows_of, words_of
from codelens.text.terms import token_counts

MOST_WORDS = 12_000
"""Entries of a pass end where its texts have this many different words: 12 MB of gathered rows, which a cache half holds."""
MOST_TOKENS = 400_000
"""Distinct tokens kept; then the table starts anew. A worker's memory stays bounded."""
SHIFT = 7
"""A row times its weight, 24 bits, is kept in 17: sums of a text stay within 32."""
FIXED = 1 << 12
"""What a field's sum over its length is divided by, so that the squares of a vector's sums add up within 53 bits."""
MOST_COUNT = 255


class StaticBatch:
    """Embeds entries of four fields each."""

    def __init__(self, file: ModelFile) -> None:
        self._file = file
        rows = np.frombuffer(file.rows, np.int8).reshape(-1, file.dimensions).astype(np.int32)
        weights = np.frombuffer(file.code_weights, np.uint16).astype(np.int32)
        self._rows = (rows * weights[:, None]) >> SHIFT
        self._roots = np.round(16 * np.sqrt(np.arange(MOST_COUNT + 1))).astype(np.int32)
        self._factors = np.array(file.factors)
        self._tokens: dict[str, tuple[int, ...]] = {}

    def embed(self, entries: Sequence[Sequence[str]]) -> list[bytes]:
        """One vector for each entry, int8 and of length 127; zeros where there is nothing to embed."""
        if len(self._tokens) > MOST_TOKENS:
            self._tokens.clear()
        vectors: list[bytes] = []
        ids, counts, sizes, lengths = array("q"), array("i"), array("q"), array("d")
        for number, entry in enumerate(entries, start=1):
            for text in entry:
                bag = self._bag(text)
                ids.extend(bag)
                counts.extend(bag.values())
                sizes.append(len(bag))
                lengths.append(sum(bag.values()))
            if len(ids) >= MOST_WORDS or number == len(entries):
                vectors += self._pass(ids, counts, sizes, lengths)
                ids, counts, sizes, lengths = array("q"), array("i"), array("q"), array("d")
        return vectors

    def _bag(self, text: str) -> dict[int, int]:
        bag: dict[int, int] = {}
        known = self._tokens
        for token, count in token_counts(text).items():
            if (rows := known.get(token)) is None:
                rows = known[token] = tuple(row for word in words_of(token) for row in rows_of(word, self._file.row_of))
            for row in rows:
                bag[row] = bag.get(row, 0) + count
        return bag

    def _pass(self, ids: array[int], counts: array[int], sizes: array[int], lengths: array[float]) -> list[bytes]:
        fields, dimensions = len(self._factors), self._file.dimensions
        size = np.frombuffer(sizes, np.int64)
        sums = np.zeros((len(size), dimensions), np.int64)
        if len(ids):
            weights = self._roots[np.minimum(np.frombuffer(counts, np.int32), MOST_COUNT)]
            rows = self._rows[np.frombuffer(ids, np.int64)] * weights[:, None]
            filled = size > 0
            starts = (np.cumsum(size) - size)[filled]
            sums[filled] = np.add.reduceat(rows, starts, axis=0, dtype=np.int64)
        scale = np.repeat(self._factors[None], len(size) // fields, axis=0).ravel() / (
            np.sqrt(np.maximum(np.frombuffer(lengths, np.float64), 1.0)) * FIXED
        )
        fixed = np.rint(sums * scale[:, None])
        total = fixed.reshape(-1, fields, dimensions).sum(axis=1)
        norm = np.sqrt(np.einsum("ij,ij->i", total, total))[:, None]
        unit = np.rint(total * np.divide(127.0, norm, out=np.zeros_like(norm), where=norm > 0)).astype(np.int8)
        packed = unit.tobytes()
        return [packed[i : i + dimensions] for i in range(0, len(packed), dimensions)]
