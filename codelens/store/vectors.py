"""Vectors of units: int8, normalised, one for each piece of a unit. The id says unit and piece.

A query is compared with the signs of all vectors, and with the vectors themselves of those that are nearest by these. Both scan
plain tables with sqlite-vec's functions: 500 000 vectors of 256 dimensions in 110 CPU ms on a slow machine (280 for all of them
whole). Cells around centroids were measured too: questions lie far from all code, with a cosine of .45 to the twentieth
nearest, so that half of 256 cells hold only .90 of the nearest twenty, and half of 1024 cells .93.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import apsw

from codelens.model import UnitId

PIECES = 64
"""A unit has at most this many vectors: id = unit * PIECES + piece."""
FIRST_PASS = 4000
"""Vectors that the first pass keeps. Of the nearest twenty among 500 000 (documentation's first sentences to definitions of many
packages, by the shipped model) 1000 hold .975, 2000 .989, 4000 .994; of the nearest 200 among 431 000, by an earlier one, they held
.75, .83, .89."""

_FAR = "vec_distance_hamming(vec_bit(b.bits), vec_quantize_binary(vec_int8(?1)))"
_SCOPED = f"temp.scope s CROSS JOIN vector_bits b ON b.id BETWEEN s.id * {PIECES} AND s.id * {PIECES} + {PIECES - 1}"


class Vectors:
    """The gateway to vectors; adding and asking need sqlite-vec on the connection."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection

    def add(self, units: Sequence[UnitId], vectors: Sequence[Sequence[bytes]]) -> None:
        """`vectors`: for each unit those of its pieces, int8 and PIECES at most; a unit may have none."""
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
        """`units` with the number of their vectors."""
        if rows := [(u * PIECES, u * PIECES + pieces) for u, pieces in units if pieces]:
            for table in ("vectors", "vector_bits"):
                self._connection.executemany(f"DELETE FROM {table} WHERE id >= ? AND id < ?", rows).fetchall()

    def nearest(self, query: bytes, scoped: bool, limit: int) -> list[tuple[UnitId, float]]:
        """(unit, L2 distance) of the nearest pieces, nearest first; a unit may come several times.

        Exact where there are no more than FIRST_PASS vectors, in the scope if there is one.
        """
        source, first = _SCOPED if scoped else "vector_bits b", max(FIRST_PASS, limit)
        sql = f"SELECT b.id, {_FAR} AS far FROM {source} ORDER BY far LIMIT {int(first)}"
        rows: list[Any] = self._connection.execute(sql, (query,)).fetchall()
        ids = sorted(_whole_classes(rows, first))
        sql = (
            "SELECT v.id, vec_distance_l2(vec_int8(v.embedding), vec_int8(?1)) AS distance "
            f"FROM json_each(?2) n CROSS JOIN vectors v ON v.id = n.value ORDER BY distance LIMIT {int(limit)}"
        )
        found = self._connection.execute(sql, (query, f"[{','.join(map(str, ids))}]"))
        return [(UnitId(i // PIECES), float(distance)) for i, distance in found]

    def of_pool(self, query: bytes) -> dict[UnitId, float]:
        """Unit of the pool (`Units.set_pool`) → the L2 distance of its nearest piece."""
        sql = (
            "SELECT p.id, min(vec_distance_l2(vec_int8(v.embedding), vec_int8(?1))) FROM temp.pool p "
            f"CROSS JOIN vectors v ON v.id BETWEEN p.id * {PIECES} AND p.id * {PIECES} + {PIECES - 1} GROUP BY p.id"
        )
        return {UnitId(unit): float(distance) for unit, distance in self._connection.execute(sql, (query,))}

    def of_units(self, units: Sequence[tuple[UnitId, int]]) -> list[bytes]:
        """The vectors of these units, each with the number of its pieces; in that order."""
        sql = "SELECT embedding FROM vectors WHERE rowid = ?"
        rows = [unit * PIECES + piece for unit, pieces in units for piece in range(pieces)]
        return [bytes(row[0]) for rowid in rows for row in self._connection.execute(sql, (rowid,))]

    def width(self) -> int:
        """Bytes of a vector, the same for all; 0 where there is none."""
        row = self._connection.execute("SELECT length(embedding) FROM vectors LIMIT 1").fetchone()
        return int(row[0]) if row else 0

    def count(self) -> int:
        """Vectors, not units."""
        row = self._connection.execute("SELECT count(*) FROM vectors").fetchone()
        return int(row[0]) if row else 0


def _whole_classes(near: Sequence[tuple[int, float]], asked: int) -> list[int]:
    """Without those as far as the last of a full page: which of these came in is chance. All, where all are equally far."""
    if len(near) < asked or near[0][1] == near[-1][1]:
        return [i for i, _ in near]
    return [i for i, far in near if far < near[-1][1]]
