"""Migrate and check the schema: numbered SQL files, each applied with its number in one transaction."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import apsw

try:
    from _blake2 import blake2b  # hashlib would load OpenSSL: 3 ms or more of each search
except ImportError:
    from hashlib import blake2b

from codelens.errors import IndexCorrupt, IndexNotTrusted, NoVectors, SchemaTooNew
from codelens.store.connection import load_vector_extension


@cache
def list_migrations() -> tuple[tuple[int, Path], ...]:
    """List pairs (number, SQL file), in order and without gaps. The files are inside the installed package or next to it."""
    folders = [parent / "migrations" for parent in Path(__file__).parents[1:3]]
    folder = next(folder for folder in folders if folder.is_dir())
    numbered = sorted((int(f.name[:4]), f) for f in folder.iterdir() if f.name.endswith(".sql"))
    numbers = [number for number, _ in numbered]
    assert numbers == list(range(1, len(numbered) + 1)), "migrations are numbered from 1 without gap or repeat"
    return tuple(numbered)


def find_newest_version() -> int:
    """Find the schema version that this program writes."""
    return len(list_migrations())


def read_schema_version(connection: apsw.Connection) -> int:
    """Read the file's schema version (`user_version`); 0 before the first migration."""
    return int(connection.pragma("user_version"))


def check_version(connection: apsw.Connection) -> None:
    """Raise SchemaTooNew or IndexCorrupt unless this program can read the index without migrating it."""
    version = read_schema_version(connection)
    if version > find_newest_version():
        raise SchemaTooNew(f"the index has schema {version}, this codelens knows {find_newest_version()}")
    if version == 0:
        raise IndexCorrupt("the file is not a codelens index")
    if version < find_newest_version():
        raise IndexCorrupt(f"the index has the old schema {version}", "run `codelens index` to bring it up to date")


SCHEMA_DIGEST = "e8cea2b68fc107f68ab49c1f79938289"  # BLAKE2b of the newest schema, as SQLite 3.54 lists it


def check_schema(connection: apsw.Connection) -> None:
    """Raise IndexNotTrusted unless the file has exactly the tables and indexes of its schema version, with the same SQL.

    Otherwise a view, a trigger or another table could replace one that is queried. Call this before the first query.
    """
    version, objects = read_schema_version(connection), _list_objects(connection)
    if version == find_newest_version() and compute_schema_digest(objects) == SCHEMA_DIGEST:
        return
    # 4 ms each; reached only for old versions, or if this SQLite lists its own tables with other SQL.
    for with_vectors in (False, True):
        fresh = apsw.Connection(":memory:")
        if with_vectors and not load_vector_extension(fresh):
            break
        _apply(fresh, version, with_vectors)
        expected = _list_objects(fresh)
        if objects == expected:
            return
    strange = min(set(objects) ^ set(expected))  # not by accident, because the pages have checksums
    text = f"the tables of the file are not those of a codelens index ({strange[0]} {strange[1]})"
    raise IndexNotTrusted(text, "`codelens index --rebuild` builds it from the files")


def compute_schema_digest(objects: list[tuple[str, ...]]) -> str:
    """Compute the digest of a list of schema objects, in hex digits."""
    return blake2b(repr(objects).encode(), digest_size=16).hexdigest()


def _list_objects(connection: apsw.Connection) -> list[tuple[str, ...]]:
    """List the schema objects of the file, without the counter that a table of an old schema leaves behind."""
    sql = "SELECT type, name, tbl_name, coalesce(sql, '') FROM sqlite_schema"
    rows = sorted((str(a), str(b), str(c), str(d)) for a, b, c, d in connection.execute(sql))
    return [row for row in rows if row != _COUNTER]


_COUNTER = ("table", "sqlite_sequence", "sqlite_sequence", "CREATE TABLE sqlite_sequence(name,seq)")
_VECTOR_TABLE = "USING vec0"  # Occurs in statements that need sqlite-vec: early schemas had such a table


def migrate(connection: apsw.Connection, with_vectors: bool = True) -> None:
    """Migrate to the newest schema; other processes may do so at the same time. Without sqlite-vec, skip its table."""
    if read_schema_version(connection) > find_newest_version():
        check_version(connection)
    tables = {name: str(sql) for name, sql in connection.execute("SELECT name, sql FROM sqlite_schema")}
    if not with_vectors and any(_VECTOR_TABLE in sql for sql in tables.values()):
        raise NoVectors("the index holds vectors, and sqlite-vec cannot be loaded here")
    if ("documents" in tables) != (read_schema_version(connection) > 0) or (tables and "documents" not in tables):
        raise IndexCorrupt("the file is a database, but not a codelens index", "name another file with --db")
    _apply(connection, find_newest_version(), with_vectors)


def _apply(connection: apsw.Connection, upto: int, with_vectors: bool) -> None:
    """Apply the migrations up to number `upto`, each in one transaction."""
    for number, file in list_migrations()[:upto]:
        if read_schema_version(connection) >= number:
            continue
        connection.execute("BEGIN IMMEDIATE").fetchall()
        try:
            if read_schema_version(connection) < number:
                for statement in _split_statements(file.read_text(encoding="utf-8")):
                    if with_vectors or _VECTOR_TABLE not in statement:
                        connection.execute(statement).fetchall()  # or apsw would not run it to its end
                connection.pragma("user_version", number)
            connection.execute("COMMIT").fetchall()
        except BaseException as fault:
            failed = connection.system_errno if isinstance(fault, apsw.SQLError) else 0
            if connection.in_transaction:  # a full disk ends the transaction by itself
                connection.execute("ROLLBACK").fetchall()
            if failed:  # a virtual table reports only "SQL logic error" if its own statements fail on a bad disk
                raise apsw.IOError(os.strerror(failed)) from fault
            raise


def _split_statements(sql: str) -> Iterator[str]:
    pending = ""
    for part in sql.split(";"):
        pending += part + ";"
        if apsw.complete(pending):
            if pending.strip(" \n;"):
                yield pending
            pending = ""
