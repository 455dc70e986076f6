"""Embeds by signed feature hashing of words and their stems, without training or model.

A token is hashed to signed features: the dimensions that it moves, and by how much. A text is the sum of its tokens' features,
each times the root of its count; code is four such fields, normalised and weighted. All weights are integers, so sums are exact
in any order: numpy's batches and the query's plain Python, which saves the import, give the same vector on every machine."""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

import xxhash

from codelens.embed.base import EmbeddedFields, Embedder, scale_to_int8
from codelens.text.identifiers import is_cjk
from codelens.text.terms import count_tokens, split_into_words

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Whole = npt.NDArray[np.int64]
    Floats = npt.NDArray[np.float64]

DIMENSIONS = 256
_LOW, _BITS = DIMENSIONS - 1, DIMENSIONS.bit_length() - 1
VERSION = "2"  # Change it with any change of a vector
MOST_TEXTS = 512  # Entries per pass: 512 × 4 fields × 256 dimensions are 4 MB of sums
MOST_TOKENS = 400_000  # Cached tokens, about 100 MB of source; then the cache is cleared
MOST_WORDS = 200_000  # Cached words, which tokens share

# Fitted on 5 400 pairs of a docstring's first sentence and its function without it, the answer among up to 2 000 functions
# of its package. The 13 packages: asyncio, concurrent and multiprocessing, email, logging and unittest, the single modules
# of Python 3.11; babel, celery, hypothesis, jinja2, networkx, pydantic 1, rich, tornado of PyPI, without any file that
# names a repository of the evaluation. The figures below are these 13's mean MRR@10, .507 as it stands. On 3 800 pairs of
# 13 others (http, importlib, json and xml, tkinter; attrs, boltons, click, docutils, marshmallow, paramiko, pygments,
# sphinx, trio) it is .482. Of settings within .005 of the best the simplest stands.
STEMS = (3, 4)
"""A word yields features for itself, its first three and its first four letters, of equal weight. Without stems: .406; only three:
.496; four and five: .487; three to five: .503."""
WORD, FILLER_IN_CODE = 5, 1
"""Weights: a word that says little (common_words.txt) has a fifth in code and none in queries. Without the list: .489.
The whole identifier as well as its words, and less weight for keywords of languages, numbers or single letters gained nothing."""
FIELD_FACTORS = {"name": 1.0, "context": 0.75, "signature": 0.75, "body": 1.0}
"""How much each field moves the vector. All 1: .505; name .75: .499."""
FIXED_POINT = 1 << 20  # A normalised field is written in whole numbers of this scale: exact in 64 bits
ROOTS = tuple(round(64 * math.sqrt(count)) for count in range(4096))
"""Weight of a token by how often the text has it, √tf in 64ths; the last entry is for all higher counts."""


@cache
def read_common_words() -> frozenset[str]:
    """Read the words that say little, as listed in common_words.txt."""
    lines = Path(__file__).with_name("common_words.txt").read_text(encoding="utf-8").splitlines()
    return frozenset(word for line in lines if not line.startswith("#") for word in line.split())


def list_token_features(token: str, filler: int) -> Iterator[int]:
    """List the features of a token's words: those of the full-text index, but not the whole token if it has several."""
    return chain.from_iterable(_compute_word_features(word, filler) for word in split_into_words(token))


@lru_cache(maxsize=MOST_WORDS)
def _compute_word_features(word: str, filler: int) -> Sequence[int]:
    """Compute the features of a word and its stems, each weight × 256 + dimension; a dimension may repeat. Each moves one
    dimension up or down: signed feature hashing (Weinberger et al. 2009)."""
    is_filler = word in read_common_words()
    weight, texts = (filler, [word] if filler else []) if is_filler else (WORD, [word])
    if not is_filler and len(word) >= STEMS[0] and not is_cjk(word):
        texts += [f"{length}{word[:length]}" for length in STEMS]
    features = []
    for text in texts:
        digest = xxhash.xxh3_64_intdigest(text.encode("utf-8", "surrogatepass"))
        features.append((weight if digest >> 32 & 1 else -weight) * DIMENSIONS + digest % DIMENSIONS)
    return features


class HashingEmbedder(Embedder):
    """An embedder by feature hashing. Equal texts have equal vectors on every machine and in every index."""

    name = f"hashing-{DIMENSIONS}"
    dimensions = DIMENSIONS
    is_slow = False
    least_cosine = 0.15
    """Unrelated texts hashed to 256 dimensions have cosines of 0 ± 1/16; this is 2.4 times that deviation, exceeded by one in a
    hundred. The multiple is chosen, not measured."""

    def __init__(self) -> None:
        rules = (VERSION, STEMS, WORD, FILLER_IN_CODE, sorted(read_common_words()), sorted(FIELD_FACTORS.items()))
        self._fingerprint = xxhash.xxh3_64_hexdigest(repr(rules).encode())
        self._batch = HashingBatch(FILLER_IN_CODE)

    def compute_fingerprint(self) -> str:
        """Hash the rules' version, the word list, the weights and the factors to 16 hex digits."""
        return self._fingerprint

    def embed_code(self, fields: Sequence[EmbeddedFields]) -> list[bytes]:
        return self._batch.embed_entries(fields) if fields else []

    def embed_query(self, text: str) -> bytes:
        """Embed a text like a body, with word weights for queries; empty if no word has weight."""
        sums = [0] * DIMENSIONS
        for token, count in count_tokens(text).items():
            weight = ROOTS[min(count, len(ROOTS) - 1)]
            for feature in list_token_features(token, filler=0):
                sums[feature % DIMENSIONS] += feature // DIMENSIONS * weight
        norm = math.sqrt(sum(v * v for v in sums))
        if not norm:
            return b""
        scale = FIXED_POINT * FIELD_FACTORS["body"] / norm
        return scale_to_int8([round(v * scale) for v in sums])


class HashingBatch(dict[str, int]):
    """A map of tokens to rows that embeds many texts at once with numpy. All rows' features are in one array."""

    def __init__(self, filler: int) -> None:
        super().__init__()
        self._filler = filler
        self._features, self._ends = array("q"), array("q", [0])

    def __missing__(self, token: str) -> int:
        self._features.extend(list_token_features(token, self._filler))
        self._ends.append(len(self._features))
        row = self[token] = len(self._ends) - 2
        return row

    def embed_entries(self, entries: Sequence[Sequence[str]]) -> list[bytes]:
        """Embed entries of four fields. Returns one vector per entry, int8 of length 127; zeros if there is nothing to embed."""
        import numpy as np

        if len(self) > MOST_TOKENS:
            self.clear()
            self._features, self._ends = array("q"), array("q", [0])

        def compute_inverse_norm(sums: Whole, length: float) -> Floats:
            """Compute length / norm of each row of the last axis, 0 for zero rows. The sums of squares are exact."""
            norm = np.sqrt(np.einsum("...i,...i->...", sums, sums).astype(np.float64))[..., None]
            inverse: Floats = np.divide(length, norm, out=np.zeros_like(norm), where=norm > 0)
            return inverse

        vectors: list[bytes] = []
        factors = np.array(list(FIELD_FACTORS.values()))
        for start in range(0, len(entries), MOST_TEXTS):
            batch = entries[start : start + MOST_TEXTS]
            sums = self._sum_features([text for entry in batch for text in entry])
            sums = sums.reshape(len(batch), len(factors), DIMENSIONS)
            fixed = np.rint(sums * (FIXED_POINT * factors[:, None] * compute_inverse_norm(sums, 1.0))).astype(np.int64)
            total = fixed.sum(axis=1)
            packed = np.rint(total * compute_inverse_norm(total, 127.0)).astype(np.int8).tobytes()
            vectors += [packed[i : i + DIMENSIONS] for i in range(0, len(packed), DIMENSIONS)]
        return vectors

    def _sum_features(self, texts: Sequence[str]) -> Whole:
        """Sum the weighted features of each text: [texts × dimensions]. Integers below 2^53, hence exact in any order."""
        import numpy as np

        rows, counts, sizes = array("q"), array("q"), array("q")
        known: dict[str, tuple[array[int], array[int]]] = {}
        for text in texts:
            if (of_text := known.get(text)) is None:
                counter = count_tokens(text)
                of_text = known[text] = (array("q", map(self.__getitem__, counter)), array("q", counter.values()))
            rows.extend(of_text[0])
            counts.extend(of_text[1])
            sizes.append(len(of_text[0]))
        row, ends = np.frombuffer(rows, np.int64), np.frombuffer(self._ends, np.int64)
        starts, lengths = ends[row], ends[row + 1] - ends[row]  # of each row's features
        before = np.cumsum(lengths) - lengths
        places = np.repeat(starts - before, lengths) + np.arange(int(lengths.sum()))
        features = np.frombuffer(self._features, np.int64)[places]
        weights = np.array(ROOTS)[np.minimum(np.frombuffer(counts, np.int64), len(ROOTS) - 1)]
        first = np.repeat(np.arange(len(texts)) * DIMENSIONS, np.frombuffer(sizes, np.int64))
        summed = np.bincount(
            (features & _LOW) + np.repeat(first, lengths),
            weights=(features >> _BITS) * np.repeat(weights, lengths),
            minlength=len(texts) * DIMENSIONS,
        )
        return summed.astype(np.int64)
