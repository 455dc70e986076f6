"""The traces file beside an index: which symbols were seen to run, how often, and when last. At rest one file, as memory is."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import apsw

from codelens.errors import TracesFault
from codelens.remembered import Place
from codelens.store.connection import open_beside
from codelens.traced import Observed

VERSION = 1
SCHEMA = """
    CREATE TABLE observed (
        repository TEXT NOT NULL,
        path       TEXT NOT NULL,      -- relative to the repository's root
        name       TEXT NOT NULL,      -- qualified
        kind       TEXT NOT NULL,
        count      INTEGER NOT NULL,
        last       INTEGER NOT NULL,   -- unix seconds
        PRIMARY KEY (path, repository, name, kind)
    ) WITHOUT ROWID;
    CREATE TABLE files (digest TEXT PRIMARY KEY) WITHOUT ROWID;
"""
_DAMAGE = (apsw.CorruptError, apsw.NotADBError, apsw.FormatError, apsw.SQLError, apsw.MismatchError)


class Traces:
    """A traces file opened for reading: one state for as long as it is open. An empty one where there is no file."""

    def __init__(self, connection: apsw.Connection | None) -> None:
        self._connection = connection

    @classmethod
    @contextmanager
    def reading(cls, path: Path) -> Iterator[Traces]:
        """Raises TracesFault where the file is damaged, cannot be read, or is a newer codelens'."""
        if not path.is_file():
            yield cls(None)
            return
        with _told(path):
            connection = open_beside(path, writing=False)
            try:
                connection.execute("BEGIN").fetchall()
                # An empty one is being made by another process at this moment.
                yield cls(connection if _holds(connection, path) else None)
            finally:
                connection.close()

    def newest(self) -> int:
        """Unix seconds of the last observation of all; 0 where there is none."""
        return next((int(row[0] or 0) for row in self._rows("SELECT max(last) FROM observed")), 0)

    def of(self, paths: Collection[str]) -> dict[Place, Observed]:
        """What is kept of the symbols in these files, of whichever repository."""
        sql = (
            "SELECT o.repository, o.path, o.name, o.kind, o.count, o.last FROM json_each(?) n "
            "CROSS JOIN observed o ON o.path = n.value"
        )
        return {Place(*row[:4]): Observed(*row[4:]) for row in self._rows(sql, (json.dumps(sorted(set(paths))),))}

    def everything(self) -> dict[Place, Observed]:
        """What is kept of every symbol."""
        sql = "SELECT repository, path, name, kind, count, last FROM observed"
        return {Place(*row[:4]): Observed(*row[4:]) for row in self._rows(sql)}

    def _rows(self, sql: str, values: tuple[Any, ...] = ()) -> Iterator[Any]:
        return iter(()) if self._connection is None else iter(self._connection.execute(sql, values))


class TracesWriter:
    """A traces file in one transaction: all of what is recorded in it, or nothing."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection

    @classmethod
    @contextmanager
    def recording(cls, path: Path) -> Iterator[TracesWriter]:
        """Makes the file where there is none. Raises TracesFault; waits some seconds for another writer first."""
        with _told(path):
            connection = open_beside(path, writing=True)
            try:
                connection.execute("BEGIN IMMEDIATE").fetchall()
                if not _holds(connection, path):
                    connection.execute(SCHEMA).fetchall()  # drained, or only its first statement would run
                    connection.pragma("user_version", VERSION)
                yield cls(connection)
                connection.execute("COMMIT").fetchall()
            finally:
                connection.close()  # which rolls back what was not committed

    def has_read(self, digest: str) -> bool:
        """Whether a file of this digest was read before."""
        return bool(self._connection.execute("SELECT 1 FROM files WHERE digest = ?", (digest,)).fetchall())

    def set_read(self, digest: str) -> None:
        """Note a file by its digest."""
        self._connection.execute("INSERT INTO files VALUES (?)", (digest,)).fetchall()

    def observe(self, place: Place, seen: Observed) -> None:
        """Add observations of one symbol to those that are kept."""
        sql = (
            "INSERT INTO observed VALUES (?, ?, ?, ?, ?5, ?6) "
            "ON CONFLICT DO UPDATE SET count = count + ?5, last = max(last, ?6)"
        )
        self._connection.execute(sql, (*place, *seen)).fetchall()


def remove_traces(path: Path) -> bool:
    """Delete a traces file, damaged or not, with what SQLite put beside it; whether there was one."""
    was = path.is_file()
    for beside in ("", "-journal", "-wal", "-shm"):
        path.with_name(path.name + beside).unlink(missing_ok=True)
    return was


def _holds(connection: apsw.Connection, path: Path) -> bool:
    """Whether it holds anything yet. Raises TracesFault for what is no traces file of this codelens."""
    version = int(connection.pragma("user_version"))
    if version > VERSION:
        raise TracesFault(f"{path} was written by a newer codelens", "upgrade codelens, or `codelens traces --forget`")
    held = {str(name) for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")}
    if held and (not version or not {"observed", "files"} <= held):
        raise TracesFault(f"{path} is no traces file of codelens")
    return bool(held)


@contextmanager
def _told(path: Path) -> Iterator[None]:
    try:
        yield
    except _DAMAGE as fault:
        raise TracesFault(f"{path} is damaged: {fault}") from fault
    except apsw.Error as fault:
        raise TracesFault(
            f"{path} cannot be used: {fault}", "see that it can be read and written, and try again"
        ) from fault
