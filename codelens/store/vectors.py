"""Vectors, int8 and normalised, one for each piece of a unit and one for each file; and the cache of vectors that a
user's indexes share.

A query is compared with the signs of all vectors first, then with the whole vectors of the nearest ones. Both scan
plain tables with sqlite-vec's functions: 500 000 vectors of 256 dimensions take 110 CPU ms on a slow machine (280 for
whole vectors only). Cells around centroids are not an alternative: questions lie far from all code, with a cosine of .45 to
the twentieth nearest, so that half of 256 cells hold only .90 of the nearest twenty, and half of 1024 cells .93.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

import apsw

from codelens.model.code import DocumentId, UnitId
from codelens.store.units import UnitSet, UnitSets

LENGTH = 127.0  # Euclidean length of a stored vector: int8, normalised
PIECES = 64  # Most vectors of a unit: id = unit * PIECES + piece
FIRST_PASS = 4000
"""Vectors that the first pass keeps. Of the nearest twenty among 500 000 (documentation's first sentences to
definitions of many packages, by the shipped model) 1000 hold .975, 2000 .989, 4000 .994; of the nearest 200 among 431
000, by an earlier model, they held .75, .83, .89.
"""

ASKED_BEFORE = 3
"""Questions after which a process keeps the signs in memory: by then it is a server, and numpy's start pays. Chosen."""

_FAR = "vec_distance_hamming(vec_bit(b.bits), vec_quantize_binary(vec_int8(?1)))"
_IN_SET = f"temp.unit_set s CROSS JOIN vector_bits b ON b.id BETWEEN s.id * {PIECES} AND s.id * {PIECES} + {PIECES - 1}"


def cosine(distance: float) -> float:
    """Cosine of two vectors of length 127 at this distance: |a - b|² = 2 · 127² · (1 - cos)."""
    return 1.0 - distance * distance / (2.0 * LENGTH * LENGTH)


T = TypeVar("T")


def first_with_ties(distances: Mapping[T, float], limit: int) -> dict[T, float]:
    """The `limit` least of some distances, and those that equal the last of these."""
    if len(distances) <= limit:
        return dict(distances)
    last = sorted(distances.values())[limit - 1]
    return {one: distance for one, distance in distances.items() if distance <= last}


class Vectors:
    """Reads and writes vectors; writing and comparing need sqlite-vec on the connection."""

    def __init__(self, connection: apsw.Connection, sets: UnitSets, unchanging: bool = False) -> None:
        self._connection, self._sets = connection, sets
        self._unchanging = unchanging
        self._asked = 0
        self._signs: _Signs | None = None
        self._last: tuple[bytes, _Far] | None = None
        """The query that was asked last: an index that is one of several is asked twice for it."""

    def add(self, units: Sequence[UnitId], vectors: Sequence[Sequence[bytes]]) -> None:
        """Store each unit's vectors: int8, one per piece, at most PIECES, possibly none."""
        rows = [
            (unit * PIECES + piece, vector)
            for unit, pieces in zip(units, vectors, strict=True)
            for piece, vector in enumerate(pieces)
        ]
        if not rows:
            return
        self._connection.executemany("INSERT INTO vectors VALUES (?, ?)", rows).fetchall()
        sql = "INSERT INTO vector_bits VALUES (?, vec_quantize_binary(vec_int8(?)))"
        self._connection.executemany(sql, rows).fetchall()

    def remove(self, units: Sequence[tuple[UnitId, int]]) -> None:
        """Delete the vectors of `units`, given with their number of vectors."""
        if rows := [(u * PIECES, u * PIECES + pieces) for u, pieces in units if pieces]:
            for table in ("vectors", "vector_bits"):
                self._connection.executemany(f"DELETE FROM {table} WHERE id >= ? AND id < ?", rows).fetchall()

    def set_file(self, document: DocumentId, vector: bytes) -> None:
        """Store the vector of a file, or delete it if it is empty."""
        if vector:
            self._connection.execute("INSERT OR REPLACE INTO file_vectors VALUES (?, ?)", (document, vector)).fetchall()
        else:
            self._connection.execute("DELETE FROM file_vectors WHERE id = ?", (document,)).fetchall()

    def of_files(self, query: bytes, documents: Iterable[DocumentId]) -> dict[DocumentId, float]:
        """Document → the L2 distance of its own vector, for those that have one."""
        sql = (
            "SELECT f.id, vec_distance_l2(vec_int8(f.embedding), vec_int8(?1)) FROM json_each(?2) n "
            "CROSS JOIN file_vectors f ON f.id = n.value"
        )
        rows = self._connection.execute(sql, (query, json.dumps(sorted(documents))))
        return {DocumentId(document): float(distance) for document, distance in rows}

    def nearest_files(self, query: bytes, limit: int) -> dict[DocumentId, float]:
        """The same for the nearest files of all, and for those that are as near as the last of them."""
        found = self._connection.execute(
            "SELECT id, vec_distance_l2(vec_int8(embedding), vec_int8(?)) FROM file_vectors", (query,)
        )
        return first_with_ties({DocumentId(document): float(distance) for document, distance in found}, limit)

    def nearest(self, query: bytes, within: UnitSet | None, limit: int) -> list[tuple[UnitId, float]]:
        """Pairs (unit, L2 distance) of the nearest pieces, nearest first; a unit may occur several times.

        Exact if there are no more than FIRST_PASS vectors, or no more within the given units.
        """
        first = max(FIRST_PASS, limit)
        ids = self._alike(query, first) if within is None else self._alike_within(query, within, first)
        return self._nearest_of(ids, query, limit)

    def sign_counts(self, query: bytes, within: UnitSet | None) -> dict[float, int]:
        """Number of signs that differ → number of vectors: with those of other indexes it says where the first pass ends."""
        if within is None and (far := self._far(query)) is not None:
            return far.counts()
        if within is not None:
            self._sets.hold(within)
        among = "vector_bits b" if within is None else _IN_SET
        rows: list[Any] = self._connection.execute(
            f"SELECT {_FAR} AS far, count(*) FROM {among} GROUP BY 1", (query,)
        ).fetchall()
        return dict(rows)

    def nearest_below(
        self, query: bytes, within: UnitSet | None, limit: int, last: float
    ) -> list[tuple[UnitId, float]]:
        """The same as `nearest`, where the first pass keeps the vectors of which fewer signs than `last` differ."""
        if within is None and (far := self._far(query)) is not None:
            return self._nearest_of(far.below(last), query, limit)
        if within is not None:
            self._sets.hold(within)
        among = "vector_bits b" if within is None else _IN_SET
        sql = (
            "SELECT v.id, vec_distance_l2(vec_int8(v.embedding), vec_int8(?1)) AS distance "
            f"FROM (SELECT b.id AS id FROM {among} WHERE {_FAR} < ?2 ORDER BY 1) n CROSS JOIN vectors v ON v.id = n.id "
            f"ORDER BY distance LIMIT {int(limit)}"
        )
        found = self._connection.execute(sql, (query, last))
        return [(UnitId(i // PIECES), float(distance)) for i, distance in found]

    def _alike(self, query: bytes, most: int) -> list[int]:
        """Ids of the vectors whose signs are most like the query's, in order of number."""
        far = self._far(query)
        return self._alike_among("vector_bits b", query, most) if far is None else far.nearest(most)

    def _far(self, query: bytes) -> _Far | None:
        """The query's differences from all vectors; None until the signs are kept in memory."""
        if self._last is not None and self._last[0] == query:
            return self._last[1]
        self._asked += 1
        if self._unchanging and self._asked > ASKED_BEFORE and self._signs is None:
            self._signs = _Signs(self._connection.execute("SELECT id, bits FROM vector_bits ORDER BY id"))
        if self._signs is None:
            return None
        bits: Any = self._connection.execute("SELECT vec_quantize_binary(vec_int8(?))", (query,)).fetchone()
        self._last = query, self._signs.far(bits[0])
        return self._last[1]

    def _nearest_of(self, ids: Iterable[int], query: bytes, limit: int) -> list[tuple[UnitId, float]]:
        sql = (
            "SELECT v.id, vec_distance_l2(vec_int8(v.embedding), vec_int8(?1)) AS distance "
            f"FROM json_each(?2) n CROSS JOIN vectors v ON v.id = n.value ORDER BY distance LIMIT {int(limit)}"
        )
        found = self._connection.execute(sql, (query, f"[{','.join(map(str, ids))}]"))
        return [(UnitId(i // PIECES), float(distance)) for i, distance in found]

    def _alike_within(self, query: bytes, within: UnitSet, most: int) -> list[int]:
        self._sets.hold(within)
        return self._alike_among(_IN_SET, query, most)

    def _alike_among(self, among: str, query: bytes, most: int) -> list[int]:
        far = f"SELECT b.id, {_FAR} AS far FROM {among}"
        rows: list[Any] = self._connection.execute(f"{far} ORDER BY far LIMIT {int(most)}", (query,)).fetchall()
        if len(rows) >= most and rows[0][1] == rows[-1][1]:  # any choice among these would depend on their numbers
            tied: list[Any] = self._connection.execute(f"{far} WHERE far = ?2", (query, rows[0][1])).fetchall()
            return sorted(number for number, _ in tied)
        return sorted(_whole_classes(rows, most))

    def distances(self, units: UnitSet, query: bytes) -> dict[UnitId, float]:
        """Unit → the L2 distance of its nearest piece; units without vectors are left out."""
        self._sets.hold(units)
        sql = (
            "SELECT p.id, min(vec_distance_l2(vec_int8(v.embedding), vec_int8(?1))) FROM temp.unit_set p "
            f"CROSS JOIN vectors v ON v.id BETWEEN p.id * {PIECES} AND p.id * {PIECES} + {PIECES - 1} GROUP BY p.id"
        )
        return {UnitId(unit): float(distance) for unit, distance in self._connection.execute(sql, (query,))}

    def of_units(self, units: Sequence[tuple[UnitId, int]]) -> list[bytes]:
        """The vectors of these units, given with their number of pieces; in that order."""
        sql = "SELECT embedding FROM vectors WHERE rowid = ?"
        rows = [unit * PIECES + piece for unit, pieces in units for piece in range(pieces)]
        return [bytes(row[0]) for rowid in rows for row in self._connection.execute(sql, (rowid,))]

    def width(self) -> int:
        """Bytes per vector, the same for all; 0 without vectors."""
        row = self._connection.execute("SELECT length(embedding) FROM vectors LIMIT 1").fetchone()
        return int(row[0]) if row else 0

    def count(self) -> int:
        """Number of vectors, not of units."""
        row = self._connection.execute("SELECT count(*) FROM vectors").fetchone()
        return int(row[0]) if row else 0


class _Signs:
    """The signs of all vectors in memory: for a process that asks again and again, five times as fast as SQLite."""

    def __init__(self, rows: Iterable[Any]) -> None:
        import numpy  # 100 ms

        ids, bits = zip(*rows, strict=True) if (rows := list(rows)) else ((), ())
        self._numpy = numpy
        self._ids = numpy.array(ids, dtype=numpy.int64)
        self._bits = numpy.frombuffer(b"".join(bits), dtype=numpy.uint8).reshape(len(ids), -1)

    def far(self, query: bytes) -> _Far:
        """The number of signs in which each vector differs."""
        numpy = self._numpy
        differing = self._bits ^ numpy.frombuffer(query, dtype=numpy.uint8)
        in_words = differing.shape[1] % 8 == 0
        return _Far(self._ids, numpy.bitwise_count(differing.view(numpy.uint64) if in_words else differing).sum(axis=1))


class _Far:
    """The number of signs in which each vector differs from a query's."""

    def __init__(self, ids: Any, far: Any) -> None:
        self._ids, self._far = ids, far

    def nearest(self, most: int) -> list[int]:
        """Ids as `_whole_classes` leaves them."""
        import numpy

        chosen = self._ids
        if len(self._far) >= most:
            last = numpy.partition(self._far, most - 1)[most - 1]
            near = self._ids[self._far < last]
            chosen = near if len(near) else self._ids[self._far == last]
        found: list[int] = chosen.tolist()
        return found

    def below(self, last: float) -> list[int]:
        """Ids of the vectors of which fewer signs differ."""
        found: list[int] = self._ids[self._far < last].tolist()
        return found

    def counts(self) -> dict[float, int]:
        """Number of signs → number of vectors."""
        import numpy

        values, counts = numpy.unique(self._far, return_counts=True)
        return dict(zip(map(float, values), map(int, counts), strict=True))


def _whole_classes(near: Sequence[tuple[int, float]], wanted: int) -> list[int]:
    """Ids without those that tie with the last of a full page, because chance decided which of these were included."""
    if len(near) < wanted:
        return [i for i, _ in near]
    return [i for i, far in near if far < near[-1][1]]


_SCHEMA = """
PRAGMA journal_mode = WAL;
PRAGMA synchronous = OFF;
CREATE TABLE IF NOT EXISTS kept (key BLOB PRIMARY KEY, vector BLOB NOT NULL) WITHOUT ROWID;
"""
BUSY_MS = 2000  # Milliseconds to wait for another process; after that nothing is read or kept


class KeptVectors:
    """The cache: an open file of vectors by the hash of their origin, which may be deleted at any time.

    Never raises: without the file, vectors are computed again.
    """

    def __init__(self, path: Path) -> None:
        self._connection: apsw.Connection | None = None
        with suppress(apsw.Error, OSError):
            path.parent.mkdir(parents=True, exist_ok=True)
            connection = apsw.Connection(str(path))
            connection.set_busy_timeout(BUSY_MS)
            connection.execute(_SCHEMA).fetchall()
            self._connection = connection

    def get(self, keys: Sequence[bytes]) -> dict[bytes, bytes]:
        """Key → vector, for the known keys."""
        if self._connection is None:
            return {}
        sql = "SELECT k.key, k.vector FROM json_each(?) n CROSS JOIN kept k ON k.key = unhex(n.value)"
        with suppress(apsw.Error):
            rows = self._connection.execute(sql, (json.dumps([key.hex() for key in keys]),)).fetchall()
            return {bytes(key): bytes(vector) for key, vector in rows}  # type: ignore[arg-type]
        return {}

    def put(self, vectors: Mapping[bytes, bytes]) -> None:
        """Keep these vectors, in one transaction."""
        if self._connection is None or not vectors:
            return
        with suppress(apsw.Error), self._connection:
            self._connection.executemany("INSERT OR IGNORE INTO kept VALUES (?, ?)", vectors.items()).fetchall()
