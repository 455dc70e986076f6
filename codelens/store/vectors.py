"""Vectors of units: int8, normalised, one for each piece of a unit. The rowid says unit and piece."""

from __future__ import annotations

from collections.abc import Sequence

import apsw

from codelens.model import RepositoryId, UnitId

CHUNK_ROWS = 1024
"""Rows that vec0 makes room for at once, in each repository."""
DEAD_SHARE = 3
PIECES = 64
"""A unit has at most this many vectors: rowid = unit * PIECES + piece."""

_INSERT = "INSERT INTO vectors (rowid, repository_id, embedding) VALUES (?, ?, vec_int8(?))"


class Vectors:
    """The gateway to the vec0 table; asking it anything but `exist` needs sqlite-vec on the connection."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection

    def exist(self) -> bool:
        """Whether the index was made with the table for them."""
        return self._connection.execute("SELECT 1 FROM sqlite_schema WHERE name = 'vectors'").fetchone() is not None

    def add(self, repository: RepositoryId, units: Sequence[UnitId], vectors: Sequence[Sequence[bytes]]) -> None:
        """`vectors`: for each unit those of its pieces, int8 and PIECES at most; a unit may have none."""
        self._connection.executemany(
            _INSERT,
            [
                (unit * PIECES + piece, repository, vector)
                for unit, pieces in zip(units, vectors, strict=True)
                for piece, vector in enumerate(pieces)
            ],
        ).fetchall()

    def remove(self, units: Sequence[tuple[UnitId, int]]) -> None:
        """`units` with the number of their vectors."""
        if rows := [(u * PIECES + piece,) for u, pieces in units for piece in range(pieces)]:
            self._connection.executemany("DELETE FROM vectors WHERE rowid = ?", rows).fetchall()

    def compact(self) -> None:
        """Make the table anew if more than a third of its room is dead.

        vec0 fills only its newest chunk, so what scattered deletions leave in older ones stays empty for ever, VACUUM or
        not (sqlite-vec#54, #185, #220).
        """
        slots, parts = self._numbers("SELECT coalesce(sum(size), 0), count(DISTINCT partition00) FROM vectors_chunks")
        (live,) = self._numbers("SELECT count(*) FROM vectors_rowids")
        dead = slots - live - parts * CHUNK_ROWS
        if dead * DEAD_SHARE <= slots:
            return
        (made,) = self._connection.execute("SELECT sql FROM sqlite_schema WHERE name = 'vectors'").fetchall()
        self._connection.execute(
            "CREATE TEMP TABLE kept AS SELECT rowid, repository_id, embedding FROM vectors; DROP TABLE vectors"
        ).fetchall()
        self._connection.execute(str(made[0])).fetchall()
        # Row by row from here: within INSERT … SELECT a value may lose the subtype that makes it an int8 vector.
        kept = self._connection.execute("SELECT rowid, repository_id, embedding FROM temp.kept")
        self._connection.executemany(_INSERT, kept).fetchall()
        self._connection.execute("DROP TABLE temp.kept").fetchall()

    def _numbers(self, sql: str) -> tuple[int, ...]:
        row = self._connection.execute(sql).fetchone()
        assert row is not None
        return tuple(map(int, row))

    def nearest(self, query: bytes, scoped: bool, limit: int) -> list[tuple[UnitId, float]]:
        """(unit, L2 distance) of the nearest pieces, nearest first; a unit may come several times."""
        within = (
            f"AND rowid IN (SELECT rowid FROM vectors_rowids WHERE rowid / {PIECES} IN (SELECT id FROM temp.scope))"
            if scoped
            else ""
        )
        sql = f"SELECT rowid, distance FROM vectors WHERE embedding MATCH vec_int8(?) AND k = {int(limit)} {within}"
        return [(UnitId(row // PIECES), float(d)) for row, d in self._connection.execute(sql, (query,))]

    def count(self) -> int:
        """Vectors, not units."""
        row = self._connection.execute("SELECT count(*) FROM vectors").fetchone()
        return int(row[0]) if row else 0
