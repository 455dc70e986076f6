"""Embed by signed feature hashing of words and their stems, without training or model.

A text is the sum of its tokens' features, each times the root of its count; code is four such fields, normalised and weighted.
Queries are embedded in plain Python: importing numpy costs 100 ms.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import xxhash

from codelens.embed.base import EmbeddedFields
from codelens.embed.features import (
    DIMENSIONS,
    FIELD_FACTORS,
    FILLER_IN_CODE,
    FIXED_POINT,
    ROOTS,
    STEMS,
    VERSION,
    WORD,
    FeatureCache,
    common_words,
)
from codelens.text.terms import token_counts

if TYPE_CHECKING:
    from codelens.embed.hashing_batch import HashingBatch


class HashingEmbedder:
    """Embeds by hashing. Equal texts have equal vectors on every machine and in every index."""

    name = f"hashing-{DIMENSIONS}"
    dimensions = DIMENSIONS
    slow = False
    least_cosine = 0.15
    """Unrelated texts hashed to 256 dimensions have cosines of 0 ± 1/16; this is 2.4 times that deviation, exceeded by one in a
    hundred. The multiple is chosen, not measured."""

    def knows(self, text: str) -> bool:
        """False: a word's hash says only which texts contain it."""
        return False

    def fingerprint(self) -> str:
        """16 hex digits over the rules' version, the word list, the weights and the factors."""
        return self._fingerprint

    @cached_property
    def _fingerprint(self) -> str:
        rules = (VERSION, STEMS, WORD, FILLER_IN_CODE, sorted(common_words()), sorted(FIELD_FACTORS.items()))
        return xxhash.xxh3_64_hexdigest(repr(rules).encode())

    def embed_code(self, fields: Sequence[EmbeddedFields]) -> list[bytes]:
        """One vector per entry; zeros if no field holds a token."""
        return self._batch.embed([(f.name, f.context, f.signature, f.body) for f in fields]) if fields else []

    def embed_query(self, text: str) -> bytes:
        """The vector of a body with this text, with word weights for queries; empty if no word has weight."""
        sums = [0] * DIMENSIONS
        for token, count in token_counts(text).items():
            weight = ROOTS[min(count, len(ROOTS) - 1)]
            for feature in self._query_features[token]:
                sums[feature % DIMENSIONS] += feature // DIMENSIONS * weight
        norm = math.sqrt(sum(v * v for v in sums))
        if not norm:
            return b""
        scale = FIXED_POINT * FIELD_FACTORS["body"] / norm
        fixed = [round(v * scale) for v in sums]
        scale = 127 / math.sqrt(sum(v * v for v in fixed))
        return bytes(round(v * scale) & 0xFF for v in fixed)

    @cached_property
    def _query_features(self) -> FeatureCache:
        return FeatureCache(query=True)

    @cached_property
    def _batch(self) -> HashingBatch:
        from codelens.embed.hashing_batch import HashingBatch

        return HashingBatch(FeatureCache(query=False), tuple(FIELD_FACTORS.values()))
