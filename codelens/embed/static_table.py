"""A folder of model2vec → vectors, by that package: a table with a row for each token, and a vector is their mean."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from codelens.embed.base import EmbeddedFields
from codelens.embed.extras import demand
from codelens.embed.folders import TOKENIZER, WEIGHTS, digest
from codelens.embed.prose import LEAST_COSINE, as_text
from codelens.embed.rounded import rounded
from codelens.embed.whole_words import knows_whole
from codelens.errors import UsageError

if TYPE_CHECKING:
    from model2vec import StaticModel

RULES = "model2vec 1"
"""Change the number with anything that changes what this gives."""


class StaticTableEmbedder:
    """See the module. Raises UsageError where model2vec is not installed or cannot read the folder."""

    slow = True  # 2048 characters take 1.5 CPU ms, and its table may have hundreds of MB, which not every worker should hold
    least_cosine = LEAST_COSINE

    def __init__(self, path: Path) -> None:
        demand("model2vec", f"the model {path}")
        self.name, self._path = path.name, path

    @property
    def dimensions(self) -> int:
        """Of its table; of vectors up to seven more, see `rounded`."""
        return int(self._model.dim)

    def knows(self, text: str) -> bool:
        """Whether any word has a row of its own: pieces of words have one for every letter."""
        return knows_whole(self._model.tokenizer, text)

    def fingerprint(self) -> str:
        """16 hex digits over its files."""
        return self._fingerprint

    @cached_property
    def _fingerprint(self) -> str:
        return digest(RULES, self._path, [self._path / name for name in ("config.json", WEIGHTS, TOKENIZER)])

    def embed_code(self, fields: Sequence[EmbeddedFields]) -> list[bytes]:
        """One vector for each entry, of its one text; zeros where no token has a row."""
        return self._embedded([as_text(entry) for entry in fields])

    def embed_query(self, text: str) -> bytes:
        """The text's vector; empty where no token has a row."""
        (vector,) = self._embedded([text])
        return vector if any(vector) else b""

    def _embedded(self, texts: list[str]) -> list[bytes]:
        """All tokens of a piece count: pieces have an end of their own."""
        if not texts:
            return []
        found = self._model.encode(texts, max_length=None, use_multiprocessing=False)
        try:
            return [rounded(row) for row in found.tolist()]
        except ValueError as fault:
            raise UsageError(f"the model {self._path} gives {fault}", "take another model") from None

    @cached_property
    def _model(self) -> StaticModel:
        from model2vec import StaticModel

        try:
            return StaticModel.from_pretrained(self._path)
        except Exception as fault:  # another package's edge: it has no error class of its own
            raise UsageError(f"model2vec cannot read {self._path}: {fault}", "copy the model anew") from None
