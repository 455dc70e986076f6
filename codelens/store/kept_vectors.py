"""Vectors by what they were made of, in a file of their own that all indexes of a user share. It may be deleted at any time."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import apsw

_SCHEMA = """
PRAGMA journal_mode = WAL;
PRAGMA synchronous = OFF;
CREATE TABLE IF NOT EXISTS kept (key BLOB PRIMARY KEY, vector BLOB NOT NULL) WITHOUT ROWID;
"""
BUSY_MS = 2000
"""Milliseconds to wait for another process; then nothing is read or kept. Chosen."""


class KeptVectors:
    """One open file. Whatever is wrong with it, vectors are made anew: nothing here raises."""

    def __init__(self, path: Path) -> None:
        self._connection: apsw.Connection | None = None
        with suppress(apsw.Error, OSError):
            path.parent.mkdir(parents=True, exist_ok=True)
            connection = apsw.Connection(str(path))
            connection.set_busy_timeout(BUSY_MS)
            connection.execute(_SCHEMA).fetchall()
            self._connection = connection

    def get(self, keys: Sequence[bytes]) -> dict[bytes, bytes]:
        """Key → vector, of those keys that are known."""
        if self._connection is None:
            return {}
        sql = "SELECT k.key, k.vector FROM json_each(?) n CROSS JOIN kept k ON k.key = unhex(n.value)"
        with suppress(apsw.Error):
            rows = self._connection.execute(sql, (json.dumps([key.hex() for key in keys]),)).fetchall()
            return {bytes(key): bytes(vector) for key, vector in rows}  # type: ignore[arg-type]
        return {}

    def put(self, vectors: Mapping[bytes, bytes]) -> None:
        """Keep these, all in one transaction."""
        if self._connection is None or not vectors:
            return
        with suppress(apsw.Error), self._connection:
            self._connection.executemany("INSERT OR IGNORE INTO kept VALUES (?, ?)", vectors.items()).fetchall()
