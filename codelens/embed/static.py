"""Embed by a table of word vectors: the weighted sum of the words' rows.

A file of the same name that ends in .queries has rows of its own for words of queries: everyday words lie near the code that
answers them. It changes no vector of code, so no index needs to be made again for it.

A word counts its learned weight times √count / √(length of the text); code is four such texts, each times a factor. Sums are
integers, hence exact: numpy's batches and the query's plain Python give the same vector on every machine. A query reads about
ten rows and does not import numpy (100 ms).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from codelens.embed.base import EmbeddedFields
from codelens.embed.model_file import ModelFile, rows_of, words_of
from codelens.text.terms import token_counts, tokens

if TYPE_CHECKING:
    from codelens.embed.static_batch import StaticBatch

QUERIES_ENDING = ".queries"
ROOTS = tuple(round(16 * math.sqrt(count)) for count in range(1024))
"""Weight of a word by how often the text has it, √tf in 16ths; more often than the table is long counts as its end."""


class StaticEmbedder:
    """Embeds with a model file. Raises UsageError if the file is not one."""

    slow = False

    def __init__(self, path: Path) -> None:
        self._file = ModelFile(path)
        self._queries = _query_table(path, self._file)
        self.name = str(self._file.header["name"])
        self.dimensions = self._file.dimensions
        card = (self._queries or self._file).header
        self.least_cosine = float(card.get("least_cosine", 0.0))

    def knows(self, text: str) -> bool:
        """True if one of the words has a row of its own, without pieces."""
        return any(self._file.row_of(word) is not None for token in tokens(text) for word in words_of(token))

    def fingerprint(self) -> str:
        """The model's hash: equal numbers give equal vectors, whatever the file's name."""
        return self._file.digest()

    def embed_code(self, fields: Sequence[EmbeddedFields]) -> list[bytes]:
        """One vector per entry; zeros if no field holds a known word."""
        return self._batch.embed([(f.name, f.context, f.signature, f.body) for f in fields]) if fields else []

    def embed_query(self, text: str) -> bytes:
        """The sum of the words' rows with their query weights; empty if no word has a row."""
        counts: dict[tuple[ModelFile, int], int] = {}
        for token, count in token_counts(text).items():
            for word in words_of(token):
                for place in self._query_rows(word):
                    counts[place] = counts.get(place, 0) + count
        size = self.dimensions
        sums = [0] * size
        for (table, row), count in counts.items():
            weight = table.query_weights[row] * ROOTS[min(count, len(ROOTS) - 1)]
            sums = [s + weight * v for s, v in zip(sums, table.rows[row * size : (row + 1) * size], strict=True)]
        norm = math.sqrt(sum(v * v for v in sums))
        return bytes(round(v * (127 / norm)) & 0xFF for v in sums) if norm else b""

    def _query_rows(self, word: str) -> list[tuple[ModelFile, int]]:
        """The row of a word of a query, or the rows of its pieces, each with its table."""
        if self._queries and (row := self._queries.row_of(word)) is not None:
            return [(self._queries, row)]
        return [(self._file, row) for row in rows_of(word, self._file.row_of)]

    @cached_property
    def _batch(self) -> StaticBatch:
        from codelens.embed.static_batch import StaticBatch

        return StaticBatch(self._file)


def _query_table(path: Path, model: ModelFile) -> ModelFile | None:
    """The rows for words of queries that were trained with this very model, or None."""
    beside = path.with_suffix(QUERIES_ENDING)
    table = ModelFile(beside) if beside.is_file() else None
    return table if table and table.header.get("model") == model.digest() else None
