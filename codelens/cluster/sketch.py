"""Sketches of shards: Bloom filters over a shard's terms and names, which tell that the shard does not hold a term.

A term that was added is always found, so a shard that is skipped for a word has no unit with that word. A shard never changes
once it is built, so neither does its sketch. Prefixes (`pre*`) and other parts of words cannot be looked up.
"""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Collection, Iterable, Mapping
from functools import lru_cache

import xxhash

from codelens.store.postings import build_plain_phrases
from codelens.store.store import Store

BITS = 10  # Bits per term. Over 96 real shards, one in 120 terms that a shard lacks was reported as possibly present.
_HEADER = struct.Struct("<4sBxxxQ")
_MAGIC = b"CLS1"
_HALF = (1 << 64) - 1


class Sketch:
    """A Bloom filter over a shard's terms. The same terms in any order give the same bytes."""

    __slots__ = ("_bits", "_size", "hashes")

    def __init__(self, bits: bytes, size: int, hashes: int) -> None:
        """`size`: number of bits in use; `hashes`: number of bits set for each term."""
        self._bits, self._size, self.hashes = bits, size, hashes

    @classmethod
    def make(cls, terms: Collection[str], bits: int = BITS) -> Sketch:
        """Make the sketch of these terms, with `bits` bits per term."""
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
        """False if the shard does not hold the term; True if it does, and for about 1 % of other terms."""
        first, step = _digest(term)
        for place in range(first, first + self.hashes * step, step):
            at = place % self._size
            if not self._bits[at >> 3] >> (at & 7) & 1:
                return False
        return True

    def to_bytes(self) -> bytes:
        """Pack the sketch for a file."""
        return _HEADER.pack(_MAGIC, self.hashes, self._size) + self._bits

    @classmethod
    def from_bytes(cls, packed: bytes) -> Sketch:
        """Unpack the result of `to_bytes`. Raises ValueError for other content."""
        if len(packed) < _HEADER.size:
            raise ValueError("not a sketch: too short")
        magic, hashes, size = _HEADER.unpack_from(packed)
        bits = packed[_HEADER.size :]
        if magic != _MAGIC or not hashes or not size or len(bits) != -(-size // 8):
            raise ValueError("not a sketch, or not a whole one")
        return cls(bits, size, hashes)


@lru_cache(maxsize=4096)
def _digest(term: str) -> tuple[int, int]:
    """Hash a term: (its first bit, the step to the next). Cached, because a word is looked up in the sketches of all shards."""
    digest = int.from_bytes(_pack_digest(term), "big")
    return digest & _HALF, digest >> 64 | 1


def _pack_digest(term: str) -> bytes:
    return xxhash.xxh3_128_digest(term.encode("utf-8", "surrogatepass"))


WORD, NAME = "w", "n"  # Prefixes of terms that distinguish words from names
_PHRASE = re.compile(r'"((?:[^"]|"")*)"(\s*\*)?')  # An FTS5 phrase, and the star that makes it a prefix


def build_sketch(store: Store) -> Sketch:
    """Build the sketch of an index from the stems of its words and its folded names."""
    words = (WORD + stem for stem, _ in store.postings.list_vocabulary("", 1, 1 << 30))
    return Sketch.make({*words, *(NAME + name for name in store.units.list_folded_names())})


class Routes:
    """Selects the shards that may hold a word or name. A shard without a sketch is always selected."""

    def __init__(self) -> None:
        self.sketches: Mapping[int, Sketch] = {}
        self._phrases = build_plain_phrases()

    def find_with_name(self, folded: str, shards: Iterable[int]) -> list[int]:
        """Find the shards that may hold a unit with this folded name."""
        return [shard for shard in shards if self._may_hold(shard, [NAME + folded])]

    def find_with_any(self, expression: str, shards: Iterable[int]) -> list[int]:
        """Find the shards that may hold a match of an FTS5 expression: a unit with all words of any of its phrases."""
        if not self.sketches:
            return list(shards)
        split = self._phrases.split_into_stems
        phrases = [
            [] if begins else [WORD + stem for stem in split(text.replace('""', '"'))]  # a prefix may be anywhere
            for text, begins in _PHRASE.findall(expression)
        ]
        return [shard for shard in shards if any(self._may_hold(shard, words) for words in phrases)]

    def _may_hold(self, shard: int, terms: Iterable[str]) -> bool:
        sketch = self.sketches.get(shard)
        return sketch is None or all(map(sketch.may_hold, terms))
