"""A sketch of a shard's terms and names: a few bits for each say which of them the shard cannot hold.

It is a Bloom filter. What was put in is always found, so that a shard that is not asked for a word has no unit with it. A shard
never changes once it is built, and so its sketch does not either. Beginnings of words (`pre*`) and parts of them cannot be
looked up.
"""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import lru_cache

import xxhash

from codelens.store.postings import build_plain_phrases
from codelens.store.store import Store

BITS = 10  # Bits a term. Measured over 96 real shards: one of 120 terms that a shard lacks seems to be there.
_HEADER = struct.Struct("<4sBxxxQ")
_MAGIC = b"CLS1"
_HALF = (1 << 64) - 1


class Sketch:
    """The terms of a shard, approximately. Deterministic: the same terms in any order give the same bytes."""

    __slots__ = ("_bits", "_size", "hashes")

    def __init__(self, bits: bytes, size: int, hashes: int) -> None:
        """`size`: number of bits in use; `hashes`: places that each term has."""
        self._bits, self._size, self.hashes = bits, size, hashes

    @classmethod
    def make(cls, terms: Collection[str], bits: int = BITS) -> Sketch:
        """The sketch of these terms, with so many bits for each."""
        import numpy

        size = max(8, len(terms) * bits)
        hashes = max(1, round(bits * math.log(2)))
        digests = b"".join(map(_pack_digest, terms))
        step, first = numpy.frombuffer(digests, dtype=">u8").astype(numpy.uint64).reshape(-1, 2).T
        first, step = first % numpy.uint64(size), (step | numpy.uint64(1)) % numpy.uint64(size)
        filled = numpy.zeros(-(-size // 8) * 8, dtype=bool)
        for number in range(hashes):
            filled[(first + numpy.uint64(number) * step) % numpy.uint64(size)] = True
        return cls(numpy.packbits(filled, bitorder="little").tobytes(), size, hashes)

    def may_hold(self, term: str) -> bool:
        """False if the shard does not have this term; True for all that it has, and for few others."""
        first, step = _digest(term)
        for place in range(first, first + self.hashes * step, step):
            at = place % self._size
            if not self._bits[at >> 3] >> (at & 7) & 1:
                return False
        return True

    def to_bytes(self) -> bytes:
        """All of it, for a file."""
        return _HEADER.pack(_MAGIC, self.hashes, self._size) + self._bits

    @classmethod
    def from_bytes(cls, packed: bytes) -> Sketch:
        """The sketch that `to_bytes` gave. Raises ValueError for anything else."""
        if len(packed) < _HEADER.size:
            raise ValueError("not a sketch: too short")
        magic, hashes, size = _HEADER.unpack_from(packed)
        bits = packed[_HEADER.size :]
        if magic != _MAGIC or not hashes or not size or len(bits) != -(-size // 8):
            raise ValueError("not a sketch, or not a whole one")
        return cls(bits, size, hashes)


@lru_cache(maxsize=4096)
def _digest(term: str) -> tuple[int, int]:
    """(first place, distance of the next) of a term. Cached, since a coordinator looks a word up in the sketches of all shards."""
    digest = int.from_bytes(_pack_digest(term), "big")
    return digest & _HALF, digest >> 64 | 1


def _pack_digest(term: str) -> bytes:
    return xxhash.xxh3_128_digest(term.encode("utf-8", "surrogatepass"))


WORD, NAME = "w", "n"  # Marks before terms, so that words and names differ
_PHRASE = re.compile(r'"((?:[^"]|"")*)"(\s*\*)?')  # A phrase of FTS5's, and what marks it as a beginning


def build_sketch(store: Store) -> Sketch:
    """The sketch of an index: the stems of its words, and its folded names."""
    words = (WORD + stem for stem, _ in store.postings.list_vocabulary("", 1, 1 << 30))
    return Sketch.make({*words, *(NAME + name for name in store.units.list_folded_names())})


class Routes:
    """Which shards may hold what is asked for. A shard without a sketch may hold everything."""

    def __init__(self) -> None:
        self.sketches: Mapping[int, Sketch] = {}
        self._phrases = build_plain_phrases()

    def with_name(self, folded: str, shards: Iterable[int]) -> list[int]:
        """The shards that may hold a unit of this name."""
        return [shard for shard in shards if self._may_hold(shard, [NAME + folded])]

    def find_with_any(self, expression: str, shards: Iterable[int]) -> list[int]:
        """The shards that may hold a unit that an expression of FTS5's finds: one with all words of any of its phrases."""
        if not self.sketches:
            return list(shards)
        phrases = list(self._split_phrases(expression))
        return [shard for shard in shards if any(self._may_hold(shard, words) for words in phrases)]

    def _split_phrases(self, expression: str) -> Iterator[list[str]]:
        for text, begins in _PHRASE.findall(expression):
            yield [] if begins else [WORD + stem for stem in self._phrases.stems(text.replace('""', '"'))]

    def _may_hold(self, shard: int, terms: Iterable[str]) -> bool:
        sketch = self.sketches.get(shard)
        return sketch is None or all(map(sketch.may_hold, terms))
