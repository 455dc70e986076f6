"""Embeds by a table of word vectors: the weighted sum of the words' rows.

A file of the same name that ends in .queries has rows of its own for words of queries: everyday words lie near the code that
answers them. A word counts its learned weight times √count / √(length of the text); code is four such texts, each times a
factor. Sums are integers, hence exact: numpy's batches and the query's plain Python, which saves the import, agree."""

from __future__ import annotations

import math
from array import array
from collections.abc import Sequence
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from codelens.embed.base import EmbeddedFields, scale_to_int8
from codelens.embed.model_file import ModelFile, find_word_rows, hash_name
from codelens.text.terms import count_tokens, split_into_words, split_tokens_cached, tokens

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

QUERIES_ENDING = ".queries"
MOST_WORDS = 4096  # Words per pass
MOST_TOKENS = 25_000  # Cached tokens; then the cache is cleared, which bounds a worker's memory
ROW = 4  # Bytes of a row number
ROOTS = tuple(round(16 * math.sqrt(count)) for count in range(1024))
"""Weight of a word by how often the text has it, √tf in 16ths; the last entry is for all higher counts."""


class StaticEmbedder:
    """An embedder with a model file. Raises UsageError if the file is not one."""

    is_slow = False

    def __init__(self, path: Path) -> None:
        self._file = ModelFile(path)
        beside = path.with_suffix(QUERIES_ENDING)
        queries = ModelFile(beside) if beside.is_file() else None
        # The rows for words of queries that were trained with this very model
        self._queries = queries if queries and queries.header.get("model") == self._file.digest() else None
        self.name = str(self._file.header["name"])
        self.dimensions = self._file.dimensions
        card = (self._queries or self._file).header
        self.least_cosine = float(card.get("least_cosine", 0.0))

    def knows_any_word(self, text: str) -> bool:
        return any(self._file.find_row(word) is not None for token in tokens(text) for word in split_into_words(token))

    def compute_fingerprint(self) -> str:
        """Hash the model: equal numbers give equal vectors, whatever the file's name."""
        return self._file.digest()

    def embed_code(self, fields: Sequence[EmbeddedFields]) -> list[bytes]:
        return self._batch.embed_entries(fields) if fields else []

    def embed_query(self, text: str) -> bytes:
        """Sum the words' rows with their query weights; empty if no word has a row."""
        counts: dict[tuple[ModelFile, int], int] = {}
        for token, count in count_tokens(text).items():
            for word in split_into_words(token):
                if self._queries and (row := self._queries.find_row(word)) is not None:
                    table, rows = self._queries, [row]
                else:
                    table, rows = self._file, find_word_rows(word, self._file.find_row)
                for row in rows:
                    counts[table, row] = counts.get((table, row), 0) + count
        size = self.dimensions
        sums = [0] * size
        for (table, row), count in counts.items():
            weight = table.query_weights[row] * ROOTS[min(count, len(ROOTS) - 1)]
            sums = [s + weight * v for s, v in zip(sums, table.rows[row * size : (row + 1) * size], strict=True)]
        return scale_to_int8(sums) if any(sums) else b""

    @cached_property
    def _batch(self) -> StaticBatch:
        return StaticBatch(self._file)


class StaticBatch(dict[str, bytes]):
    """A map of tokens to rows that embeds many texts at once with numpy: model rows, each times one integer, summed per entry.

    The integer is the rounded product of the word's weight in code, √(count / length of the field) and the field's factor. So
    sums are exact, in whatever order BLAS adds them. A token's rows are packed 32-bit numbers, since joining bytes is the
    fastest way to collect many; words are kept, too, because tokens share them."""

    def __init__(self, file: ModelFile) -> None:
        import numpy as np

        super().__init__()
        self._rows = np.frombuffer(file.rows, np.int8).reshape(-1, file.dimensions)
        self._weights = np.frombuffer(file.code_weights, np.uint16).astype(np.float64)
        self._factors = np.array(file.factors)
        self._row_of_key = {key: row for row, key in enumerate(file.keys)}
        self._words: dict[str, bytes] = {}

    def __missing__(self, token: str) -> bytes:
        parts = []
        for word in split_into_words(token):
            if (packed := self._words.get(word)) is None:
                rows = find_word_rows(word, lambda name: self._row_of_key.get(hash_name(name)))
                packed = self._words[word] = array("i", rows).tobytes()
            parts.append(packed)
        packed = self[token] = b"".join(parts)
        return packed

    def embed_entries(self, entries: Sequence[Sequence[str]]) -> list[bytes]:
        """Embed entries of as many fields as the model has factors. Returns one int8 vector of length 127 for each, or zeros."""
        import numpy as np

        if len(self) > MOST_TOKENS:
            self.clear()
            self._words.clear()
        vectors: list[bytes] = []
        known: dict[str, bytes] = {}  # Rows of the texts of this call: names and enclosing names repeat within a file
        rows, sizes, length = list[bytes](), list[int](), 0
        for number, entry in enumerate(entries, start=1):
            for text in entry:
                if (token_rows := known.get(text)) is None:
                    token_rows = known[text] = b"".join(map(self.__getitem__, split_tokens_cached(text)))
                rows.append(token_rows)
                sizes.append(len(token_rows))
                length += len(token_rows)
            if length >= MOST_WORDS * ROW or number == len(entries):
                vectors += self._embed_rows(np.frombuffer(b"".join(rows), np.int32), np.array(sizes) // ROW)
                rows, sizes, length = [], [], 0
        return vectors

    def _embed_rows(self, ids: npt.NDArray[np.int32], sizes: npt.NDArray[np.int64]) -> list[bytes]:
        """Embed rows: `ids` has the rows of all words of all fields, `sizes` their number in each field of each entry."""
        import numpy as np

        fields, known = len(self._factors), len(self._rows)
        keys, counts = np.unique(np.repeat(np.arange(len(sizes)) * known, sizes) + ids, return_counts=True)
        field, row = keys // known, keys % known
        share = np.sqrt(counts / np.maximum(sizes, 1)[field])
        numbers = np.rint(self._weights[row] * share * self._factors[field % fields])
        ends = np.searchsorted(field, np.arange(0, len(sizes) + 1, fields)).tolist()
        sums = np.zeros((len(ends) - 1, self._rows.shape[1]))  # integers below 2^53
        for entry, (start, end) in enumerate(pairwise(ends)):
            if start < end:
                rows = self._rows.take(row[start:end], axis=0).astype(np.float64)
                np.matmul(numbers[start:end], rows, out=sums[entry])
        norm = np.sqrt(np.einsum("ij,ij->i", sums, sums))[:, None]
        unit = np.rint(sums * np.divide(127.0, norm, out=np.zeros_like(norm), where=norm > 0)).astype(np.int8)
        packed, size = unit.tobytes(), self._rows.shape[1]
        return [packed[i : i + size] for i in range(0, len(packed), size)]
