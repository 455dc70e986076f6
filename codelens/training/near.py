"""Texts as rows of tokens → which of them nearly equal an earlier one.

MinHash over runs of tokens (A. Broder, "On the resemblance and containment of documents", 1997): the share of places at
which two rows agree estimates the Jaccard similarity of their shingles. Rows that share a band are compared with the
first that has it, one band at a time by sorting, so that memory stays at the rows themselves.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy
import xxhash
from numpy.typing import NDArray

ROWS, BANDS = 64, 16
"""64 hashes estimate a similarity to ±.05; bands of 4 make pairs with .8 meet with a chance of .9998, with .3 of .12."""
SHINGLE = 4
NEAR = 0.8
"""Estimated Jaccard similarity of shingles from which two texts count as one. Chosen, not measured."""
FEWEST = 16
"""Tokens of a text below which a shared phrase would decide: such texts are only compared for equality. Chosen."""

Signatures = NDArray[numpy.uint32]


class MinHash:
    """Makes rows; keeps the hash of each token that it has seen."""

    def __init__(self) -> None:
        random = numpy.random.Generator(numpy.random.PCG64(1))
        self._factors = random.integers(1, 1 << 63, ROWS, dtype=numpy.uint64) * numpy.uint64(2) + numpy.uint64(1)
        self._offsets = random.integers(0, 1 << 63, ROWS, dtype=numpy.uint64)
        self._hashes = _Hashes()

    def row(self, tokens: Sequence[str]) -> Signatures | None:
        """[ROWS] of a text's tokens; None where there are fewer than FEWEST."""
        if len(tokens) < FEWEST:
            return None
        each = numpy.array([self._hashes[token] for token in tokens], dtype=numpy.uint64)
        shingles: NDArray[numpy.uint64] = each[: len(each) - SHINGLE + 1]
        for place in range(1, SHINGLE):
            shingles = shingles * _PRIME + each[place : len(each) - SHINGLE + 1 + place]
        mixed = shingles.reshape(-1, 1) * self._factors.reshape(1, -1) + self._offsets
        least: Signatures = (mixed >> numpy.uint64(32)).min(axis=0).astype(numpy.uint32)
        return least


_PRIME = numpy.uint64(0x9E3779B97F4A7C15)
"""2**64 over the golden ratio: an odd number that mixes well (Knuth, The Art of Computer Programming, 6.4)."""


class _Hashes(dict[str, int]):
    def __missing__(self, token: str) -> int:
        found = self[token] = xxhash.xxh3_64_intdigest(token.encode("utf-8", "surrogatepass"))
        return found


def earlier_near(rows: Signatures) -> NDArray[numpy.int64]:
    """For each of [n, ROWS] the place of an earlier row that is NEAR it, -1 where none was found."""
    found = numpy.full(len(rows), -1, dtype=numpy.int64)
    width = ROWS // BANDS
    for band in range(BANDS):
        keys = numpy.ascontiguousarray(rows[:, band * width : (band + 1) * width]).view(numpy.uint64)
        mixed = keys[:, 0] * _PRIME + (keys[:, 1] ^ (keys[:, 1] >> numpy.uint64(29)))
        order = numpy.argsort(mixed, kind="stable")
        ranked = mixed[order]
        begins = numpy.concatenate([[True], ranked[1:] != ranked[:-1]])
        first = order[numpy.maximum.accumulate(numpy.where(begins, numpy.arange(len(order)), 0))]
        asked = (first != order) & (found[order] < 0)
        later, earlier = order[asked], first[asked]
        for start in range(0, len(later), 1 << 16):
            some, before = later[start : start + (1 << 16)], earlier[start : start + (1 << 16)]
            near = (rows[some] == rows[before]).mean(axis=1) >= NEAR
            found[some[near]] = before[near]
    return found
