"""Embed by signed feature hashing of words and their stems, without training or model.

A token is hashed to signed features: the dimensions it moves, and by how much. A text is the sum of its tokens' features, each
times the root of its count; code is four such fields, normalised and weighted. All weights are integers, so sums are exact in any
order: numpy's batches and the query's plain Python give the same vector on every machine. Queries are embedded in plain Python:
importing numpy costs 100 ms. Hashes are xxh3, which depends neither on PYTHONHASHSEED nor on the platform.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache, cached_property
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

import xxhash

from codelens.embed.base import EmbeddedFields
from codelens.text.identifiers import is_cjk
from codelens.text.terms import index_terms, token_counts

if TYPE_CHECKING:
    from codelens.embed.hashing_batch import HashingBatch

DIMENSIONS = 256
VERSION = "2"  # Change it with any change of a vector

Features = tuple[int, ...]  # Each is weight × 256 + dimension; weights are signed, and a dimension may repeat

# Fitted on 5 400 pairs of a docstring's first sentence and its function without it, the answer among up to 2 000 functions
# of its package. The 13 packages: asyncio, concurrent and multiprocessing, email, logging and unittest, the single modules
# of Python 3.11; babel, celery, hypothesis, jinja2, networkx, pydantic 1, rich, tornado of PyPI, without any file that
# names a repository of the evaluation. The figures below are these 13's mean MRR@10, .507 as it stands. On 3 800 pairs of
# 13 others (http, importlib, json and xml, tkinter; attrs, boltons, click, docutils, marshmallow, paramiko, pygments,
# sphinx, trio) it is .482. Of settings within .005 of the best the simplest stands.
STEMS = (3, 4)
"""A word gives itself and its first three and first four letters, all with one weight. Without stems: .406; only three:
.496; four and five: .487; three to five: .503."""
WORD, FILLER_IN_CODE = 5, 1
"""Weights: a word that says little (common_words.txt) has a fifth in code and none in queries. Without the list: .489.
The whole identifier as well as its words, and less weight for keywords of languages, numbers or single letters gained nothing."""
FIELD_FACTORS = {"name": 1.0, "context": 0.75, "signature": 0.75, "body": 1.0}
"""How much each field moves the vector. All 1: .505; name .75: .499."""
FIXED_POINT = 1 << 20
"""A normalised field is written in whole numbers of this scale, so that sums and squares stay exact in 64 bits."""
ROOTS = tuple(round(64 * math.sqrt(count)) for count in range(4096))
"""Weight of a token by how often the text has it, √tf in 64ths; more often than the table is long counts as its end."""


@cache
def common_words() -> frozenset[str]:
    """Words that say little, as common_words.txt lists them."""
    lines = Path(__file__).with_name("common_words.txt").read_text(encoding="utf-8").splitlines()
    return frozenset(word for line in lines if not line.startswith("#") for word in line.split())


class FeatureCache(dict[str, Features]):
    """Token → its features, made on first use. Queries give words that say little no weight, code gives them little."""

    def __init__(self, query: bool) -> None:
        super().__init__()
        self._filler = 0 if query else FILLER_IN_CODE
        self._words: dict[str, Features] = {}

    def __missing__(self, token: str) -> Features:
        features = self[token] = self._features(token)
        return features

    def clear(self) -> None:
        """Forgets tokens and words alike; what was made stays right, so this only frees memory."""
        super().clear()
        self._words.clear()

    def _features(self, token: str) -> Features:
        """Its words and their stems. The words are those of the full-text index, without the whole of several."""
        words = index_terms(token).split()
        several = words[1:] if len(words) > 1 and not is_cjk(words[0]) else words
        return tuple(chain.from_iterable(map(self._word, several)))

    def _word(self, word: str) -> Features:
        if (features := self._words.get(word)) is None:
            features = self._words[word] = _word_features(word, self._filler)
        return features


def _word_features(word: str, filler: int) -> Features:
    if word in common_words():
        return (_feature(word, filler),) if filler else ()
    if len(word) < STEMS[0] or is_cjk(word):
        return (_feature(word, WORD),)
    return (_feature(word, WORD), *[_feature(f"{length}{word[:length]}", WORD) for length in STEMS])


def _feature(text: str, weight: int) -> int:
    """Each feature moves one dimension up or down: signed feature hashing (Weinberger et al. 2009)."""
    digest = xxhash.xxh3_64_intdigest(text.encode("utf-8", "surrogatepass"))
    return (weight if digest >> 32 & 1 else -weight) * DIMENSIONS + digest % DIMENSIONS


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
