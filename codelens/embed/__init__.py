"""Text → vector. The default embedder needs no training and no model file."""

from __future__ import annotations

from functools import cache

from codelens.embed.hashing import HashingEmbedder
from codelens.model import Embedder


@cache
def default_embedder() -> Embedder:
    """The embedder that an index is made with; its fingerprint is compared before a query."""
    return HashingEmbedder()
