"""A token → its signed features: which of the 256 dimensions it moves, and by how much.

All weights are whole numbers, so sums are exact in any order: numpy's batches and the query's plain Python give the
same vector on every machine. Hashes are xxh3, which neither PYTHONHASHSEED nor the platform changes.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cache
from importlib.resources import files

import xxhash

from codelens.text.identifiers import cjk_terms, is_cjk, split_identifier
from codelens.text.terms import MAX_TOKEN

DIMENSIONS = 256
VERSION = "1"
"""Change it with anything that changes a vector."""

Features = tuple[tuple[int, int], ...]
"""(dimension, signed weight), each dimension at most once."""

WHOLE = 60
WORD = 100
GRAMS = 60
"""Weights of a whole identifier of several words, of each word, and of all 4-grams of a word (root of their squares)."""
GRAM = 4
SHORTEST_WITH_GRAMS = 5
FILLER_IN_CODE, KEYWORD, NUMBER, LETTER = 0.2, 0.3, 0.4, 0.4
"""Factors for words that say little: fillers, keywords of languages, numbers, single letters."""

FIELD_FACTORS = {"name": 1.0, "context": 0.4, "signature": 0.7, "body": 0.8}
"""How much each field moves the vector; guesses, to be fitted with the trained model that replaces this one."""
FIXED_POINT = 1 << 20
"""A normalised field is written in whole numbers of this scale, so that sums and squares stay exact in 64 bits."""
ROOTS = tuple(round(64 * math.sqrt(count)) for count in range(4096))
"""Weight of a token by how often the text has it, √tf in 64ths; more often than the table is long counts as its end."""


@cache
def common_words() -> Mapping[str, str]:
    """Word → 'filler' or 'keywords', as common_words.txt lists them; the first list that has a word keeps it."""
    kinds: dict[str, str] = {}
    kind = ""
    for line in (files("codelens.embed") / "common_words.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("["):
            kind = line.strip("[]")
        elif not line.startswith("#"):
            for word in line.split():
                kinds.setdefault(word, kind)
    return kinds


class FeatureCache(dict[str, Features]):
    """Token → its features, made on first use. Queries give fillers no weight, code gives them little."""

    def __init__(self, query: bool) -> None:
        super().__init__()
        self._filler = 0.0 if query else FILLER_IN_CODE
        self._words: dict[str, Features] = {}

    def __missing__(self, token: str) -> Features:
        features = self[token] = self._features(token) if len(token) <= MAX_TOKEN else ()
        return features

    def clear(self) -> None:
        super().clear()
        self._words.clear()

    def _features(self, token: str) -> Features:
        """The token itself, its words, and the 4-grams of its longer words."""
        words = [part for word in split_identifier(token) for part in _parts(word.casefold())]
        if len(words) == 1:
            return self._word(words[0])
        sums: dict[int, int] = {}
        if words:
            index, sign = _place("=" + "_".join(words))
            sums[index] = sign * WHOLE
        for word in words:
            for index, value in self._word(word):
                sums[index] = sums.get(index, 0) + value
        return tuple(sums.items())

    def _word(self, word: str) -> Features:
        if (features := self._words.get(word)) is None:
            features = self._words[word] = _word_features(word, _factor(word, self._filler))
        return features


def _word_features(word: str, factor: float) -> Features:
    index, sign = _place(word)
    sums = {index: sign * round(WORD * factor)}
    if len(word) >= SHORTEST_WITH_GRAMS and factor == 1 and not is_cjk(word):
        marked = f"^{word}$"
        count = len(marked) - GRAM + 1
        each = round(GRAMS / count**0.5)
        for i in range(count):
            index, sign = _place("#" + marked[i : i + GRAM])
            sums[index] = sums.get(index, 0) + sign * each
    return tuple((index, value) for index, value in sums.items() if value)


def _parts(word: str) -> list[str]:
    return cjk_terms(word) if is_cjk(word) else [word]


def _factor(word: str, filler: float) -> float:
    kind = common_words().get(word)
    if kind == "filler":
        return filler
    if kind == "keywords":
        return KEYWORD
    if word.isdigit():
        return NUMBER
    return LETTER if len(word) == 1 and word.isascii() else 1.0


def _place(feature: str) -> tuple[int, int]:
    """(dimension, +1 or -1) of a feature: signed feature hashing (Weinberger et al. 2009)."""
    digest = xxhash.xxh3_64_intdigest(feature.encode("utf-8", "surrogatepass"))
    return digest % DIMENSIONS, 1 if digest >> 32 & 1 else -1
