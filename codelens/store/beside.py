"""Small files next to an index, with what users recorded and what ran.

They use SQLite's rollback journal instead of WAL: at rest each is one file, and writers of a few rows wait only milliseconds for
each other. The journal of a killed writer is rolled back by the next process that opens the file.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar, Self

import apsw

from codelens.errors import CodelensError
from codelens.store.connection import open_beside

_DAMAGE = (apsw.CorruptError, apsw.NotADBError, apsw.FormatError, apsw.SQLError, apsw.MismatchError)


class FileBeside:
    """Such a file, opened for reading or in one transaction for writing. A missing file reads as empty."""

    fault: ClassVar[type[CodelensError]]
    name: ClassVar[str]  # 'a memory file'
    removal: ClassVar[str]  # The command that removes it
    schemas: ClassVar[tuple[str, ...]]  # One script per version, from 1; never changed once released
    tables: ClassVar[frozenset[str]]  # Tables by which such a file is known
    named_table: ClassVar[str]  # The table that names repositories

    def __init__(self, connection: apsw.Connection | None) -> None:
        self._connection = connection

    @classmethod
    @contextmanager
    def reading(cls, path: Path) -> Iterator[Self]:
        """Open for reading, in one state. Raises `fault` if the file is damaged, unreadable, or from a newer codelens."""
        if not path.is_file():
            yield cls(None)
            return
        with cls._report_faults(path):
            connection = open_beside(path, writing=False)
            try:
                connection.execute("BEGIN").fetchall()
                # An empty file is being created by another process right now.
                yield cls(connection if cls._has_tables(connection, path) else None)
            finally:
                connection.close()

    @classmethod
    @contextmanager
    def recording(cls, path: Path) -> Iterator[Self]:
        """Open for writing: everything that is recorded is kept, or nothing. Creates the file if needed.

        Raises `fault`, after waiting some seconds for another writer.
        """
        with cls._report_faults(path):
            connection = open_beside(path, writing=True)
            try:
                connection.execute("BEGIN IMMEDIATE").fetchall()
                cls._has_tables(connection, path)
                version = int(connection.pragma("user_version"))
                for script in cls.schemas[version:]:
                    connection.execute(script).fetchall()  # fetchall, or only the first statement would run
                if version < len(cls.schemas):
                    connection.pragma("user_version", len(cls.schemas))
                yield cls(connection)
                connection.execute("COMMIT").fetchall()
            finally:
                connection.close()  # rolls back uncommitted work

    def rename_repositories(self, names: Mapping[str, str]) -> None:
        """Keep the records of repositories that the index has renamed: old name → new name."""
        for old, new in names.items():
            self._run(f"UPDATE OR IGNORE {self.named_table} SET repository = ? WHERE repository = ?", new, old)

    def _rows(self, sql: str, *values: Any) -> list[Any]:
        return [] if self._connection is None else self._connection.execute(sql, values).fetchall()

    def _run(self, sql: str, *values: Any) -> int:
        """Run a statement and return the number of changed rows."""
        assert self._connection is not None
        self._connection.execute(sql, values).fetchall()
        return self._connection.changes()

    @classmethod
    def _has_tables(cls, connection: apsw.Connection, path: Path) -> bool:
        """True if the file has our tables, False if it is empty. Raises `fault` for a file of others, or of a newer codelens."""
        version = int(connection.pragma("user_version"))
        if version > len(cls.schemas):
            raise cls.fault(f"{path} was written by a newer codelens", f"upgrade codelens, or `{cls.removal}`")
        tables = {str(name) for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")}
        if tables and (not version or not cls.tables <= tables):
            raise cls.fault(f"{path} is not {cls.name} of codelens")
        return bool(tables)

    @classmethod
    @contextmanager
    def _report_faults(cls, path: Path) -> Iterator[None]:
        try:
            yield
        except _DAMAGE as fault:
            raise cls.fault(f"{path} is damaged: {fault}") from fault
        except apsw.Error as fault:
            raise cls.fault(f"{path} cannot be used: {fault}", "check its permissions, and try again") from fault
        except OSError as fault:
            raise cls.fault(f"{path} cannot be used: {fault.strerror or fault}") from fault
