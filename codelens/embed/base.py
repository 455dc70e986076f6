"""The seam to embedders: what they are given, and what they give."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from codelens.nouns import dataclass


@dataclass(frozen=True, slots=True)
class EmbeddedFields:
    """One piece of one unit, as an embedder sees it: four texts whose weights it knows itself."""

    name: str
    context: str
    """Enclosing names and path."""
    signature: str
    body: str


class Embedder(Protocol):
    """Text → vector. Implementations are deterministic, and need no network but for one that the user allows it."""

    name: str
    slow: bool
    """Whether a vector that was made before is sooner read from a file than made again. A slow one is asked by one process alone,
    after all files were read: a worker's time is limited, and its memory is there once for each."""
    least_cosine: float
    """What a text and a question that have nothing to do with each other seldom reach: nearer is near."""

    @property
    def dimensions(self) -> int:
        """Of its vectors; 0 where only an answer would tell."""
        ...

    def knows(self, text: str) -> bool:
        """Whether it was taught any of these words, so that its vector says something where the index has none of them."""
        ...

    def fingerprint(self) -> str:
        """A hash of all that decides its vectors; stored in the index and compared before a query."""
        ...

    def embed_code(self, fields: Sequence[EmbeddedFields]) -> list[bytes]:
        """One vector for each entry: int8 × dimensions, normalised to length 127; it depends on no other entry."""
        ...

    def embed_query(self, text: str) -> bytes:
        """The query's vector in the same space and form; empty if the text has no terms."""
        ...
