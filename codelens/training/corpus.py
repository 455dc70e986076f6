"""Pairs → bags of words in flat arrays, which a trainer reads by row.

Words first get numbers in order of appearance; what the vocabulary lacks is later replaced by its pieces, so that texts are
read once however many vocabularies are tried.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from codelens.embed.words import words_of
from codelens.nouns import dataclass
from codelens.text.terms import token_counts

KINDS = ("doc", "name", "comment", "history", "value")
"""Where questions come from."""
TEXTS = ("query", "name", "context", "signature", "body")
"""A pair's texts in the order of its rows: row 5 i is the query of pair i."""
MOST_BODY = 6000
"""Characters of a body: what a window of the index holds at most, 512 tokens."""

Ints = npt.NDArray[np.int32]


@dataclass(slots=True)
class Corpus:
    """n pairs as 5 n bags: bag b has the words `ids[starts[b]:starts[b + 1]]`, each `counts` times."""

    words: list[str]
    starts: npt.NDArray[np.int64]
    ids: Ints
    counts: Ints
    packages: list[str]
    package: Ints
    """Of each pair."""
    kinds: npt.NDArray[np.uint8]
    """Of each pair: its place in KINDS."""
    alike: npt.NDArray[np.int64]
    """A hash of each pair's query: pairs with the same one are no negatives of each other."""

    def __len__(self) -> int:
        return len(self.package)


class Encoder:
    """Collects pairs into a corpus."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._tokens: dict[str, tuple[int, ...]] = {}
        self._starts, self._ids, self._counts = array("q", [0]), array("i"), array("i")
        self._packages: list[str] = []
        self._package, self._kinds, self._alike = array("i"), array("B"), array("q")

    def add(self, package: str, pairs: Iterable[Mapping[str, Any]]) -> None:
        """All pairs of one package."""
        import xxhash

        self._packages.append(package)
        for pair in pairs:
            for text in TEXTS:
                self._add_text(pair[text][:MOST_BODY])
            self._package.append(len(self._packages) - 1)
            self._kinds.append(KINDS.index(pair["kind"]))
            self._alike.append(xxhash.xxh3_64_intdigest(" ".join(pair["query"].casefold().split()).encode()) >> 1)

    def _add_text(self, text: str) -> None:
        bag: dict[int, int] = {}
        for token, count in token_counts(text).items():
            if (ids := self._tokens.get(token)) is None:
                ids = self._tokens[token] = tuple([self._number(word) for word in words_of(token)])
            for word in ids:
                bag[word] = bag.get(word, 0) + count
        self._ids.extend(bag)
        self._counts.extend(bag.values())
        self._starts.append(len(self._ids))

    def _number(self, word: str) -> int:
        return self._numbers.setdefault(word, len(self._numbers))

    def corpus(self) -> Corpus:
        """What was collected."""
        return Corpus(
            list(self._numbers),
            np.array(self._starts, np.int64),
            np.array(self._ids, np.int32),
            np.array(self._counts, np.int32),
            self._packages,
            np.array(self._package, np.int32),
            np.array(self._kinds, np.uint8),
            np.array(self._alike, np.int64),
        )
