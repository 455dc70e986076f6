"""Embed many texts at once with numpy: rows of the model, each times one integer, summed for each entry.

The integer is the rounded product of the word's weight in code, √(count / length of the field) and the field's factor. So sums
are exact, in whatever order BLAS adds them, and entries independent. Each entry is summed separately: numpy's `reduceat` took
four times as long. Speed: 15 000 to 25 000 units of Django per second on one busy core, with 26 000 rows of 256 dimensions.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from codelens.embed.model_file import ModelFile, key_of, rows_of, words_of
from codelens.text.terms import kept_tokens

MOST_WORDS = 4096  # Words per pass
MOST_TOKENS = 25_000
"""Maximum number of cached tokens; then the cache is cleared, which bounds a worker's memory. Chosen, as CACHE_TOKENS."""
ROW = 4  # Bytes of a row number

Whole = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


class StaticBatch:
    """Embeds entries of as many fields as the model has factors."""

    def __init__(self, file: ModelFile) -> None:
        self._rows = np.frombuffer(file.rows, np.int8).reshape(-1, file.dimensions)
        self._weights = np.frombuffer(file.code_weights, np.uint16).astype(np.float64)
        self._factors = np.array(file.factors)
        self._tokens = _TokenRows(file)

    def embed(self, entries: Sequence[Sequence[str]]) -> list[bytes]:
        """One vector per entry, int8 of length 127; zeros if there is nothing to embed."""
        if len(self._tokens) > MOST_TOKENS:
            self._tokens.clear()
        vectors: list[bytes] = []
        known: dict[str, bytes] = {}
        """Rows of the texts of this call: names and enclosing names repeat within a file."""
        rows, sizes, length = list[bytes](), list[int](), 0
        for number, entry in enumerate(entries, start=1):
            for text in entry:
                if (token_rows := known.get(text)) is None:
                    token_rows = known[text] = b"".join(map(self._tokens.__getitem__, kept_tokens(text)))
                rows.append(token_rows)
                sizes.append(len(token_rows))
                length += len(token_rows)
            if length >= MOST_WORDS * ROW or number == len(entries):
                vectors += self._pass(np.frombuffer(b"".join(rows), np.int32), np.array(sizes) // ROW)
                rows, sizes, length = [], [], 0
        return vectors

    def _pass(self, ids: npt.NDArray[np.int32], sizes: Whole) -> list[bytes]:
        """`ids` are the rows of all words of all fields, `sizes` their number in each field of each entry."""
        fields, known = len(self._factors), len(self._rows)
        keys, counts = np.unique(np.repeat(np.arange(len(sizes)) * known, sizes) + ids, return_counts=True)
        field, row = keys // known, keys % known
        share = np.sqrt(counts / np.maximum(sizes, 1)[field])
        numbers = np.rint(self._weights[row] * share * self._factors[field % fields])
        ends = np.searchsorted(field, np.arange(0, len(sizes) + 1, fields))
        sums = self._sums(row, numbers, ends)
        norm = np.sqrt(np.einsum("ij,ij->i", sums, sums))[:, None]
        unit = np.rint(sums * np.divide(127.0, norm, out=np.zeros_like(norm), where=norm > 0)).astype(np.int8)
        packed, size = unit.tobytes(), self._rows.shape[1]
        return [packed[i : i + size] for i in range(0, len(packed), size)]

    def _sums(self, row: Whole, numbers: Floats, ends: Whole) -> Floats:
        """[entries × dimensions], integers below 2^53."""
        sums = np.zeros((len(ends) - 1, self._rows.shape[1]))
        for entry, (start, end) in enumerate(pairwise(ends.tolist())):
            if start < end:
                rows = self._rows.take(row[start:end], axis=0).astype(np.float64)
                np.matmul(numbers[start:end], rows, out=sums[entry])
        return sums


class _TokenRows(dict[str, bytes]):
    """Token → its rows as packed 32-bit numbers: joining bytes is the fastest way to collect many.

    Words are kept, too, since tokens share them; and rows are found in a dictionary, in a twentieth of the time of a search in
    the file.
    """

    def __init__(self, file: ModelFile) -> None:
        super().__init__()
        self._row_of_key = {key: row for row, key in enumerate(file.keys)}
        self._words: dict[str, bytes] = {}

    def __missing__(self, token: str) -> bytes:
        known, parts = self._words, []
        for word in words_of(token):
            if (rows := known.get(word)) is None:
                rows = known[word] = array(
                    "i", rows_of(word, lambda name: self._row_of_key.get(key_of(name)))
                ).tobytes()
            parts.append(rows)
        packed = self[token] = b"".join(parts)
        return packed

    def clear(self) -> None:
        """Forget tokens and words."""
        super().clear()
        self._words.clear()
