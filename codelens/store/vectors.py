"""Store and search vectors (int8, normalised), one for each piece of a unit and one for each file; and the cache of
vectors that a user's indexes share.

A query is first compared with the signs of all vectors, then with the full vectors of the nearest ones. The distance of
signs is the sum of the query's weights (0, 1, 2 or 4) in the dimensions in which the signs differ. Signs are stored by
dimension, so that Python integers add them up for all vectors at once: see `add_columns`.

The first pass compares every vector. Centroids do not help enough: with 1024 cells, trained on other code, a query must
compare 30 % of 363,000 vectors to find .96 of its nearest 200. A graph (HNSW) compares 1.6 % for .95, but takes 0.3 ms per
vector to build in compiled code, and its links take half as much space as the vectors.
"""

from __future__ import annotations

import json
import math
import re
import sys
from array import array
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

import apsw

from codelens.files import make_folder
from codelens.model.code import DocumentId, UnitId
from codelens.store.connection import Tables
from codelens.store.merging import join_mappings, order_by, set_merge_rule
from codelens.store.units import UnitSet, UnitSets, UnitTables

PIECES = 64  # Limit on vectors of a unit; a vector's id is unit * PIECES + piece
BLOCK = 1 << 13  # Units whose signs share a row; a change of one file writes one or two rows of up to 256 kB
LENGTH = 127.0  # Euclidean length of a stored vector: int8, normalised
_NOT_ZERO = re.compile(rb"[^\0]", re.DOTALL)
FIRST_PASS = 3000
"""Vectors that the first pass keeps. For 700 queries over 87 packages with 363,000 vectors, 3000 include .971 of the nearest
200 (2000: .950, 4000: .981), and .998 of the nearest 20.
"""
ASKED_BEFORE = 10  # Requests, as of a few searches, after which a process (likely a server) keeps all vectors in memory
MOST_BYTES = 64 << 20  # Limit on bytes of all vectors in memory; if they are larger, they are read from the file


def compute_cosine(distance: float) -> float:
    """Compute the cosine of two vectors of length 127 from their distance: |a - b|² = 2 · 127² · (1 - cos)."""
    return 1.0 - distance * distance / (2.0 * LENGTH * LENGTH)


T = TypeVar("T")


def select_first_with_ties(distances: Mapping[T, float], limit: int) -> dict[T, float]:
    """Select the `limit` smallest distances, and those that tie with the last."""
    if len(distances) <= limit:
        return dict(distances)
    last = sorted(distances.values())[limit - 1]
    return {key: distance for key, distance in distances.items() if distance <= last}


class Vectors(UnitTables):
    """Reads and writes vectors; writing and comparing need sqlite-vec on the connection."""

    def __init__(self, connection: apsw.Connection, sets: UnitSets, unchanging: bool = False) -> None:
        super().__init__(connection, sets)
        self._unchanging, self._asked = unchanging, 0
        self._signs: Signs | None = None
        self._array: VectorArray | None = None
        self._outdated: set[int] = set()  # Blocks whose signs must be updated

    def add(self, units: Sequence[UnitId], vectors: Sequence[Sequence[bytes]]) -> None:
        """Store each unit's vectors: int8, one per piece, at most PIECES, possibly none."""
        rows = [row for unit, pieces in zip(units, vectors, strict=True) for row in enumerate(pieces, unit * PIECES)]
        self._run_many("INSERT INTO vectors VALUES (?, ?)", rows)
        self._outdated.update(number // (PIECES * BLOCK) for number, _ in rows)

    def remove(self, units: Sequence[tuple[UnitId, int]]) -> None:
        """Delete the vectors of units, given as pairs (unit, number of vectors)."""
        if rows := [(u * PIECES, u * PIECES + pieces) for u, pieces in units if pieces]:
            self._run_many("DELETE FROM vectors WHERE id >= ? AND id < ?", rows)
            self._outdated.update(unit // BLOCK for unit, pieces in units if pieces)

    def update_signs(self) -> None:
        """Update the stored signs for vectors that were added or removed. Call this before a commit."""
        for block in sorted(self._outdated):
            ids, bits = pack_signs(self._connection, block)
            self._run("DELETE FROM vector_bits WHERE block = ?", block)
            if ids:
                self._run("INSERT INTO vector_bits VALUES (?, ?, ?)", block, ids, bits)
        self._outdated.clear()

    def forget_changes(self) -> None:
        """Forget which signs are outdated. Call this after a rollback."""
        self._outdated.clear()

    def set_file(self, document: DocumentId, vector: bytes) -> None:
        """Store the vector of a file, or delete it if it is empty."""
        if vector:
            self._run("INSERT OR REPLACE INTO file_vectors VALUES (?, ?)", document, vector)
        else:
            self._run("DELETE FROM file_vectors WHERE id = ?", document)

    def measure_files(self, query: bytes, documents: Iterable[DocumentId]) -> dict[DocumentId, float]:
        """Compute the L2 distance of each document's own vector; documents without one are left out."""
        sql = """SELECT f.id, vec_distance_l2(vec_int8(f.embedding), vec_int8(?1)) FROM json_each(?2) n
            CROSS JOIN file_vectors f ON f.id = n.value"""
        return dict(self._rows(sql, query, json.dumps(sorted(documents))))

    @set_merge_rule(lambda answers, arguments: select_first_with_ties(join_mappings(answers, ()), arguments[1]))
    def find_nearest_files(self, query: bytes, limit: int) -> dict[DocumentId, float]:
        """Find the nearest files, including those that tie with the last: document → L2 distance."""
        sql = "SELECT id, vec_distance_l2(vec_int8(embedding), vec_int8(?)) FROM file_vectors"
        return select_first_with_ties(dict(self._rows(sql, query)), limit)

    def find_nearest(self, query: bytes, within: UnitSet | None, limit: int) -> list[tuple[UnitId, float]]:
        """Find the nearest pieces, nearest first: pairs (unit, L2 distance). Exact for up to FIRST_PASS vectors."""
        signs, most = self._read_signs(), max(FIRST_PASS, limit)
        among = signs.select(within)
        if among.bit_count() >= most:
            among = signs.measure_distances(query).find_nearest(among, most)
        return self._rank_nearest(signs, among, query, limit)

    def count_signs(self, query: bytes, within: UnitSet | None, most: int) -> dict[float, int]:
        """Count vectors by distance of signs, for the `most` nearest and ties. Counts of several indexes can be added up."""
        signs = self._read_signs()
        return signs.measure_distances(query).count_by_distance(signs.select(within), most)

    @set_merge_rule(order_by(lambda pair: pair[1], limit=2))
    def find_nearest_below(
        self, query: bytes, within: UnitSet | None, limit: int, last: float
    ) -> list[tuple[UnitId, float]]:
        """Like `find_nearest`, but the first pass keeps all vectors whose signs are nearer than `last`."""
        signs = self._read_signs()
        return self._rank_nearest(
            signs, signs.measure_distances(query).find_below(signs.select(within), last), query, limit
        )

    def _read_signs(self) -> Signs:
        """Read the signs of all vectors, and keep them in memory if the index cannot change."""
        signs = self._signs or Signs(self._connection)
        self._signs = signs if self._unchanging else None
        return signs

    def _load_array(self, width: int) -> VectorArray | None:
        """Load all vectors into memory after ASKED_BEFORE requests, unless they exceed MOST_BYTES; None if not loaded."""
        self._asked += 1
        if self._unchanging and self._asked == ASKED_BEFORE + 1 and 0 < self.count() * width <= MOST_BYTES:
            self._array = VectorArray(self._connection, width, self._read_signs())
        return self._array

    def _rank_nearest(self, signs: Signs, among: int, query: bytes, limit: int) -> list[tuple[UnitId, float]]:
        """Rank the vectors in the mask `among` by L2 distance: pairs (unit, distance), nearest first."""
        if array := self._load_array(len(query)):
            return array.find_nearest(among, query, limit)
        sql = f"""SELECT v.id, vec_distance_l2(vec_int8(v.embedding), vec_int8(?1)) AS distance FROM json_each(?2) n
            CROSS JOIN vectors v ON v.id = n.value ORDER BY distance LIMIT {int(limit)}"""
        rows = self._rows(sql, query, json.dumps(signs.list_ids(among)))
        return [(UnitId(i // PIECES), distance) for i, distance in rows]

    def measure_units(self, units: UnitSet, query: bytes) -> dict[UnitId, float]:
        """Compute the L2 distance of each unit's nearest piece; units without vectors are left out."""
        if array := self._load_array(len(query)):
            return array.measure_units(units, query)
        self._sets.fill_table(units)
        sql = f"""SELECT p.id, min(vec_distance_l2(vec_int8(v.embedding), vec_int8(?1))) FROM temp.unit_set p
            CROSS JOIN vectors v ON v.id BETWEEN p.id * {PIECES} AND p.id * {PIECES} + {PIECES - 1} GROUP BY p.id"""
        return dict(self._rows(sql, query))

    def read_vectors(self, units: Sequence[tuple[UnitId, int]]) -> list[bytes]:
        """Read the vectors of units, given as pairs (unit, number of pieces), in that order."""
        sql = "SELECT embedding FROM vectors WHERE rowid = ?"
        rows = [unit * PIECES + piece for unit, pieces in units for piece in range(pieces)]
        return [bytes(row[0]) for rowid in rows for row in self._rows(sql, rowid)]

    @set_merge_rule(lambda answers, _: max(answers, default=0))
    def read_width(self) -> int:
        """Read the number of bytes per vector, which is the same for all; 0 without vectors."""
        return self._number("SELECT length(embedding) FROM vectors LIMIT 1")

    def count(self) -> int:
        """Count the vectors."""
        return self._number("SELECT count(*) FROM vectors")


class VectorArray:
    """All vectors in memory. Distances equal those of sqlite-vec, since their squares are integers and roots have 32 bits."""

    def __init__(self, connection: apsw.Connection, width: int, signs: Signs) -> None:
        import numpy  # 100 ms

        rows: list[Any] = connection.execute("SELECT id, embedding FROM vectors ORDER BY id").fetchall()
        self._numpy, self._signs = numpy, signs
        self._units = numpy.array([number // PIECES for number, _ in rows], numpy.int64)
        self._vectors = numpy.frombuffer(b"".join(vector for _, vector in rows), numpy.int8).reshape(len(rows), width)
        self._squares = numpy.einsum("ij,ij->i", self._vectors, self._vectors, dtype=numpy.int32)
        self._slots = self._find_positions(signs.select(None))

    def find_nearest(self, mask: int, query: bytes, limit: int) -> list[tuple[UnitId, float]]:
        """Find the nearest vectors in a mask, nearest first, ties in order of id: pairs (unit, distance)."""
        rows = self._numpy.searchsorted(self._slots, self._find_positions(mask))
        distances = self._compute_distances(rows, query)
        first = self._numpy.argsort(distances, kind="stable")[:limit]
        return list(zip(self._units[rows[first]].tolist(), distances[first].tolist(), strict=True))

    def measure_units(self, units: UnitSet, query: bytes) -> dict[UnitId, float]:
        """Compute the distance of each unit's nearest vector, in order of id."""
        numpy = self._numpy
        wanted = numpy.bincount(numpy.array(units, numpy.int64), minlength=int(self._units[-1]) + 1)
        rows = numpy.flatnonzero(wanted[self._units])
        units_of_rows = self._units[rows]
        first = numpy.flatnonzero(numpy.diff(units_of_rows, prepend=-1))
        least = numpy.minimum.reduceat(self._compute_distances(rows, query), first)
        return dict(zip(units_of_rows[first].tolist(), least.tolist(), strict=True))

    def _find_positions(self, mask: int) -> Any:
        """Find the positions of the bits that are set in a mask."""
        in_bytes = self._numpy.frombuffer(mask.to_bytes(self._signs.bytes, "little"), self._numpy.uint8)
        return self._numpy.flatnonzero(self._numpy.unpackbits(in_bytes, bitorder="little"))

    def _compute_distances(self, rows: Any, query: bytes) -> Any:
        numpy, asked = self._numpy, self._numpy.frombuffer(query, self._numpy.int8)
        products = numpy.einsum("ij,j->i", self._vectors[rows], asked, dtype=numpy.int32)
        of_query = numpy.einsum("j,j", asked, asked, dtype=numpy.int32)
        return numpy.sqrt((self._squares[rows] + of_query - 2 * products).astype(numpy.float32))


def pack_signs(connection: apsw.Connection, block: int) -> tuple[bytes, bytes]:
    """Pack the signs of a block's vectors, in order of id, for storage: (numbers, bits), both empty without vectors.

    A number is the vector's id minus the first id of the block, in 32 bits. Bits are stored by column, each padded to whole bytes.
    """
    import numpy  # 100 ms

    first = block * BLOCK * PIECES
    sql = "SELECT id - ?1, embedding FROM vectors WHERE id BETWEEN ?1 AND ?2 ORDER BY id"
    rows: list[Any] = connection.execute(sql, (first, first + BLOCK * PIECES - 1)).fetchall()
    width = max((len(vector) for _, vector in rows), default=0)
    vectors = numpy.frombuffer(b"".join(vector.ljust(width, b"\0") for _, vector in rows), dtype=numpy.int8)
    above = vectors.reshape(len(rows), width) > 0
    numbers = numpy.array([number for number, _ in rows], dtype="<u4")
    return numbers.tobytes(), numpy.packbits(above.T, axis=1, bitorder="little").tobytes()


class Signs(Tables):
    """The signs of all vectors, by dimension. Columns and masks (sets of vectors) are integers with a bit for each vector."""

    def __init__(self, connection: apsw.Connection) -> None:
        super().__init__(connection)
        self._columns: dict[int, int] = {}
        self._last: tuple[bytes, SignDistances] | None = None
        self._blocks: dict[int, tuple[int, array[int]]] = {}  # Block → (its first byte, the numbers of its vectors)
        self.bytes = 0
        for block, numbers in connection.execute("SELECT block, ids FROM vector_bits ORDER BY block"):
            in_block = array("I", numbers)
            if sys.byteorder == "big":
                in_block.byteswap()
            self._blocks[block] = self.bytes, in_block
            self.bytes += (len(in_block) + 7) // 8

    @cached_property
    def _bits(self) -> list[tuple[int, bytes]]:
        """For each block, the bytes per column and the packed columns."""
        sql = "SELECT length(ids) / 4, bits FROM vector_bits ORDER BY block"
        return [((count + 7) // 8, bits) for count, bits in self._rows(sql)]

    @cached_property
    def _full_mask(self) -> int:
        """The mask of all vectors."""
        filled = (((1 << len(n)) - 1).to_bytes((len(n) + 7) // 8, "little") for _, n in self._blocks.values())
        return int.from_bytes(b"".join(filled), "little")

    def select(self, units: UnitSet | None) -> int:
        """Make the mask of the vectors of these units, or of all vectors."""
        if units is None:
            return self._full_mask
        mask = bytearray(self.bytes)
        for unit in units:
            if unit // BLOCK in self._blocks:
                start, numbers = self._blocks[unit // BLOCK]
                number = unit % BLOCK * PIECES
                place = bisect_left(numbers, number)
                while place < len(numbers) and numbers[place] < number + PIECES:
                    mask[start + place // 8] |= 1 << place % 8
                    place += 1
        return int.from_bytes(mask, "little")

    def list_ids(self, mask: int) -> list[int]:
        """List the ids of the vectors in a mask, in order."""
        in_bytes = mask.to_bytes(self.bytes, "little")
        ids = list[int]()
        for block, (start, numbers) in self._blocks.items():
            bits = in_bytes[start : start + (len(numbers) + 7) // 8]
            ids += [block * BLOCK * PIECES + numbers[place] for place in _list_set_bits(bits)]
        return ids

    def measure_distances(self, query: bytes) -> SignDistances:
        """Compute the distances of all vectors' signs from the query's. The distances of the last query are cached."""
        if self._last is None or self._last[0] != query:
            columns: list[list[int]] = [[], [], []]
            for dimension, exponent, above in weigh_dimensions(query):
                column = self._read_column(dimension)
                columns[exponent].append(column ^ self._full_mask if above else column)
            self._last = query, SignDistances(add_columns(columns))
        return self._last[1]

    def _read_column(self, dimension: int) -> int:
        """Read a dimension's signs as an integer with a bit for each vector; columns are cached."""
        if dimension not in self._columns:
            parts = (bits[dimension * size : (dimension + 1) * size].ljust(size, b"\0") for size, bits in self._bits)
            self._columns[dimension] = int.from_bytes(b"".join(parts), "little")
        return self._columns[dimension]


def weigh_dimensions(query: bytes) -> Iterator[tuple[int, int, bool]]:
    """Weigh the query's dimensions: (dimension, exponent of its weight, True if the query's value is above 0).

    Weights are the query's absolute values, scaled so that a sixteenth of those above 0 would exceed 4, and rounded to 0, 1,
    2 or 4. Dimensions with weight 0 are left out.
    """
    values = [value - 256 if value > 127 else value for value in query]
    sizes = sorted(abs(value) for value in values if value)
    four = sizes[len(sizes) * 15 // 16] if sizes else 0
    for dimension, value in enumerate(values):
        if value and (size := 8 * abs(value)) >= four:
            yield dimension, (size >= 3 * four) + (size >= 6 * four), value > 0


def add_columns(columns: Sequence[list[int]]) -> list[int]:
    """Add up columns of bits for all vectors at once; those in list n weigh 2^n. Returns the sums' binary digits, lowest first."""
    digits, left = [], list(columns)
    while left:
        bits, carried = left.pop(0), left[0] if left else []
        while len(bits) > 1:
            first, other, third = bits.pop(), bits.pop(), bits.pop() if bits else 0
            differ = first ^ other
            bits.append(differ ^ third)
            carried.append(first & other | differ & third)
        digits.append(bits[0] if bits else 0)
        if carried and not left:
            left.append(carried)
    return digits


class SignDistances:
    """The distances of all vectors' signs from a query's, as binary digits: one integer per digit, with a bit for each vector."""

    def __init__(self, digits: Sequence[int]) -> None:
        self._digits = digits

    def find_nearest(self, among: int, most: int) -> int:
        """Make the mask of all vectors nearer than the one at rank `most`; if that is empty, of those that tie with it."""
        if among.bit_count() < most:
            return among
        nearer, last = self._split_at_rank(among, most)
        return nearer or last

    def find_below(self, among: int, limit: float) -> int:
        """Make the mask of the vectors that are nearer than a distance."""
        if limit > (1 << len(self._digits)) - 1:
            return among
        nearer, equal, whole = 0, among, math.ceil(limit)
        for place in reversed(range(len(self._digits))):
            if whole >> place & 1:
                nearer |= equal & ~self._digits[place]
                equal &= self._digits[place]
            else:
                equal &= ~self._digits[place]
        return nearer

    def count_by_distance(self, among: int, most: int) -> dict[float, int]:
        """Count vectors by distance, for the `most` nearest vectors and those that tie with the last."""
        nearer, last = self._split_at_rank(among, most) if among.bit_count() >= most else (among, 0)
        size = max(among.bit_length() + 7, 8) // 8
        digits = [(digit & among).to_bytes(size, "little") for digit in self._digits]
        return Counter(
            float(sum((digit[place >> 3] >> (place & 7) & 1) << n for n, digit in enumerate(digits)))
            for place in _list_set_bits((nearer | last).to_bytes(size, "little"))
        )

    def _split_at_rank(self, among: int, most: int) -> tuple[int, int]:
        """Find the vectors nearer than the one at rank `most`, and those that tie with it: (mask, mask)."""
        nearer, equal, count = 0, among, 0
        for digit in reversed(self._digits):
            low = equal & ~digit
            if count + (size := low.bit_count()) >= most:
                equal = low
            else:
                nearer, count, equal = nearer | low, count + size, equal & digit
        return nearer, equal


def _list_set_bits(mask: bytes) -> Iterator[int]:
    """List the positions of the bits that are set, in order."""
    for match in _NOT_ZERO.finditer(mask):
        byte, first = match[0][0], 8 * match.start()
        while byte:
            lowest = byte & -byte
            yield first + lowest.bit_length() - 1
            byte ^= lowest


_SCHEMA = """
PRAGMA journal_mode = WAL;
PRAGMA synchronous = OFF;
CREATE TABLE IF NOT EXISTS kept (key BLOB PRIMARY KEY, vector BLOB NOT NULL) WITHOUT ROWID;
"""
BUSY_MS = 2000  # Milliseconds to wait for another process; after that, the cache is not used


class KeptVectors:
    """An open cache of vectors by the hash of their source. If the file cannot be used, the cache is empty."""

    def __init__(self, path: Path) -> None:
        self._connection: apsw.Connection | None = None
        with suppress(apsw.Error, OSError):
            make_folder(path.parent)
            connection = apsw.Connection(str(path))
            connection.set_busy_timeout(BUSY_MS)
            connection.execute(_SCHEMA).fetchall()
            self._connection = connection

    def get(self, keys: Sequence[bytes]) -> dict[bytes, bytes]:
        """Read the vectors of known keys: key → vector."""
        if self._connection is None:
            return {}
        sql = "SELECT k.key, k.vector FROM json_each(?) n CROSS JOIN kept k ON k.key = unhex(n.value)"
        with suppress(apsw.Error):
            rows = self._connection.execute(sql, (json.dumps([key.hex() for key in keys]),)).fetchall()
            return {bytes(key): bytes(vector) for key, vector in rows}  # type: ignore[arg-type]
        return {}

    def put(self, vectors: Mapping[bytes, bytes]) -> None:
        """Store these vectors, in one transaction."""
        if self._connection is None or not vectors:
            return
        with suppress(apsw.Error), self._connection:
            self._connection.executemany("INSERT OR IGNORE INTO kept VALUES (?, ?)", vectors.items()).fetchall()
