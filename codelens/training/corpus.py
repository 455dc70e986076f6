"""Encode training pairs as bags of words in flat arrays, and map the words to rows of a vocabulary.

Words are numbered in order of appearance, and mapped to a vocabulary later, so that texts are read once for any number of
vocabularies. A word that the vocabulary lacks becomes its pieces. scipy multiplies the sparse matrix of bags in a tenth of
numpy's time.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from codelens.embed.model_file import find_word_rows
from codelens.errors import MissingExtra
from codelens.model.fast_dataclass import dataclass, replace
from codelens.text.terms import count_tokens, split_into_words

KINDS = ("doc", "name", "comment", "history", "value")  # Kinds of questions, by origin
TEXTS = ("query", "name", "context", "signature", "body")  # Texts of a pair, in order: bag 5 i is the query of pair i
MOST_BODY = 6000  # Maximum characters of a body: about one window of the index, 512 tokens

Ints = npt.NDArray[np.int32]


@dataclass(slots=True)
class Corpus:
    """Training pairs: n pairs are 5 n bags, and bag b has the words `ids[starts[b]:starts[b + 1]]` with their `counts`."""

    words: list[str]
    starts: npt.NDArray[np.int64]
    ids: Ints
    counts: Ints
    packages: list[str]
    package: Ints  # Package of each pair, an index into `packages`
    kinds: npt.NDArray[np.uint8]  # Kind of each pair, an index into KINDS
    alike: npt.NDArray[np.int64]  # A hash of each pair's query; pairs with equal hashes are not negatives of each other

    def __len__(self) -> int:
        return len(self.package)


class Encoder:
    """A builder that collects pairs into a corpus."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._tokens: dict[str, tuple[int, ...]] = {}
        self._starts, self._ids, self._counts = array("q", [0]), array("i"), array("i")
        self._packages: list[str] = []
        self._package, self._kinds, self._alike = array("i"), array("B"), array("q")

    def add(self, package: str, pairs: Iterable[Mapping[str, Any]]) -> None:
        """Add all pairs of one package."""
        import xxhash

        self._packages.append(package)
        for pair in pairs:
            for text in TEXTS:
                bag: dict[int, int] = {}
                for token, count in count_tokens(pair[text][:MOST_BODY]).items():
                    if (ids := self._tokens.get(token)) is None:
                        ids = self._tokens[token] = tuple(
                            [self._numbers.setdefault(word, len(self._numbers)) for word in split_into_words(token)]
                        )
                    for word in ids:
                        bag[word] = bag.get(word, 0) + count
                self._ids.extend(bag)
                self._counts.extend(bag.values())
                self._starts.append(len(self._ids))
            self._package.append(len(self._packages) - 1)
            self._kinds.append(KINDS.index(pair["kind"]))
            self._alike.append(xxhash.xxh3_64_intdigest(" ".join(pair["query"].casefold().split()).encode()) >> 1)

    def build_corpus(self) -> Corpus:
        """Build a corpus of the collected pairs."""
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


def map_to_rows(corpus: Corpus, rows: Sequence[str]) -> Corpus:
    """Replace the words of a corpus by rows of a vocabulary; each piece of a word counts as often as the word."""
    find = {name: i for i, name in enumerate(rows)}.get
    parts = [find_word_rows(word, find) for word in corpus.words]
    lengths = np.array([len(p) for p in parts], np.int64)
    flat = np.array([r for p in parts for r in p], np.int32)
    begin = np.cumsum(lengths) - lengths
    each = lengths[corpus.ids]
    total = int(each.sum())
    places = np.repeat(begin[corpus.ids] - (np.cumsum(each) - each), each) + np.arange(total)
    sums = np.concatenate([[0], np.cumsum(each)])
    counts = np.repeat(corpus.counts, each)
    return replace(corpus, words=list(rows), starts=sums[corpus.starts], ids=flat[places], counts=counts)


Floats = npt.NDArray[np.float32]
Whole = npt.NDArray[np.int64]


def list_word_positions(starts: Whole, bags: Whole) -> tuple[Whole, Whole]:
    """List the positions in `ids` of the words of these bags, bag after bag, and the length of each bag."""
    first, lengths = starts[bags], starts[bags + 1] - starts[bags]
    before = np.cumsum(lengths) - lengths
    return np.repeat(first - before, lengths) + np.arange(int(lengths.sum())), lengths


def build_bag_matrix(corpus: Corpus, bags: Whole) -> tuple[Any, Whole]:
    """Build a scipy matrix [bags × used rows] of √count / √(length of the text); return it and the used rows."""
    places, lengths = list_word_positions(corpus.starts, bags)
    counts = corpus.counts[places].astype(np.float32)
    ends = np.concatenate([[0], np.cumsum(lengths)])
    totals = np.add.reduceat(np.append(counts, np.float32(0)), ends[:-1]) * (lengths > 0)
    norms = np.sqrt(np.maximum(totals, 1)).astype(np.float32)
    used, local = np.unique(corpus.ids[places], return_inverse=True)
    values = np.sqrt(counts) / np.repeat(norms, lengths)
    return load_scipy_sparse().csr_matrix((values, local, ends), shape=(len(bags), len(used))), used.astype(np.int64)


def load_scipy_sparse() -> Any:
    """Import scipy.sparse. Raises UsageError if scipy is not installed."""
    try:
        from scipy import sparse
    except ImportError:
        raise MissingExtra("training", ["scipy"], "train") from None
    return sparse
