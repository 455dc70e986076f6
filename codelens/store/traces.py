"""The traces file next to an index: which symbols ran, how often, and when last. At rest it is one file, like the
memory.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import apsw

from codelens.errors import TracesFault
from codelens.model.memory import Observed, Place
from codelens.store.connection import open_beside

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
    """A traces file opened for reading, in one state while it is open. A missing file reads as empty."""

    def __init__(self, connection: apsw.Connection | None) -> None:
        self._connection = connection

    @classmethod
    @contextmanager
    def reading(cls, path: Path) -> Iterator[Traces]:
        """Open for reading. Raises TracesFault if the file is damaged, unreadable, or from a newer codelens."""
        if not path.is_file():
            yield cls(None)
            return
        with _report_faults(path):
            connection = open_beside(path, writing=False)
            try:
                connection.execute("BEGIN").fetchall()
                # An empty file is being created by another process right now.
                yield cls(connection if _holds(connection, path) else None)
            finally:
                connection.close()

    def newest(self) -> int:
        """Unix seconds of the last observation; 0 without any."""
        return next((int(row[0] or 0) for row in self._rows("SELECT max(last) FROM observed")), 0)

    def of(self, paths: Collection[str]) -> dict[Place, Observed]:
        """Observations of the symbols in these files, in any repository."""
        sql = (
            "SELECT o.repository, o.path, o.name, o.kind, o.count, o.last FROM json_each(?) n "
            "CROSS JOIN observed o ON o.path = n.value"
        )
        return {Place(*row[:4]): Observed(*row[4:]) for row in self._rows(sql, (json.dumps(sorted(set(paths))),))}

    def has_read(self, digest: str) -> bool:
        """True if a file with this digest has been imported."""
        return any(self._rows("SELECT 1 FROM files WHERE digest = ?", (digest,)))

    def everything(self) -> dict[Place, Observed]:
        """Observations of all symbols."""
        sql = "SELECT repository, path, name, kind, count, last FROM observed"
        return {Place(*row[:4]): Observed(*row[4:]) for row in self._rows(sql)}

    def _rows(self, sql: str, values: tuple[Any, ...] = ()) -> Iterator[Any]:
        return iter(()) if self._connection is None else iter(self._connection.execute(sql, values))


class TracesWriter:
    """A traces file in one transaction: everything that is recorded in it, or nothing."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection

    @classmethod
    @contextmanager
    def recording(cls, path: Path) -> Iterator[TracesWriter]:
        """Open for writing; creates the file if needed. Raises TracesFault, after waiting some seconds for another
        writer.
        """
        with _report_faults(path):
            connection = open_beside(path, writing=True)
            try:
                connection.execute("BEGIN IMMEDIATE").fetchall()
                if not _holds(connection, path):
                    connection.execute(SCHEMA).fetchall()  # fetchall, or only the first statement would run
                    connection.pragma("user_version", VERSION)
                yield cls(connection)
                connection.execute("COMMIT").fetchall()
            finally:
                connection.close()  # rolls back uncommitted work

    def rename_repositories(self, names: Mapping[str, str]) -> None:
        """Keep the observations of repositories that the index has renamed: old name → new name."""
        for old, new in names.items():
            sql = "UPDATE OR IGNORE observed SET repository = ? WHERE repository = ?"
            self._connection.execute(sql, (new, old)).fetchall()

    def has_read(self, digest: str) -> bool:
        """True if a file with this digest has been imported."""
        return bool(self._connection.execute("SELECT 1 FROM files WHERE digest = ?", (digest,)).fetchall())

    def set_read(self, digest: str) -> None:
        """Record that a file with this digest has been imported."""
        self._connection.execute("INSERT INTO files VALUES (?)", (digest,)).fetchall()

    def observe(self, place: Place, seen: Observed) -> None:
        """Add observations of a symbol to the stored ones."""
        sql = (
            "INSERT INTO observed VALUES (?, ?, ?, ?, ?5, ?6) "
            "ON CONFLICT DO UPDATE SET count = count + ?5, last = max(last, ?6)"
        )
        self._connection.execute(sql, (*place, *seen)).fetchall()


def _holds(connection: apsw.Connection, path: Path) -> bool:
    """True if the file has our tables, False if it is empty. Raises TracesFault if it is not a traces file of this
    codelens.
    """
    version = int(connection.pragma("user_version"))
    if version > VERSION:
        raise TracesFault(
            f"{path} was written by a newer codelens", "upgrade codelens, or `codelens graph traces --forget`"
        )
    held = {str(name) for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")}
    if held and (not version or not {"observed", "files"} <= held):
        raise TracesFault(f"{path} is not a traces file of codelens")
    return bool(held)


@contextmanager
def _report_faults(path: Path) -> Iterator[None]:
    try:
        yield
    except _DAMAGE as fault:
        raise TracesFault(f"{path} is damaged: {fault}") from fault
    except apsw.Error as fault:
        raise TracesFault(f"{path} cannot be used: {fault}", "check its permissions, and try again") from fault
