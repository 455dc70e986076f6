"""What the SQLite that came with this installation can do, for `doctor` and `--version`."""

from __future__ import annotations

from dataclasses import dataclass

import apsw

from codelens.store.connection import load_vector_extension


@dataclass(frozen=True, slots=True)
class Abilities:
    """Versions, and whether each thing that an index needs works here."""

    sqlite: str
    driver: str
    fts5: bool
    trigram: bool
    vector: str
    """The version of sqlite-vec; empty where it cannot be loaded."""


def probe_abilities() -> Abilities:
    """Tries each thing on a database in memory."""
    connection = apsw.Connection(":memory:")
    try:
        return Abilities(
            sqlite=apsw.sqlite_lib_version(),
            driver=apsw.apsw_version(),
            fts5=_works(connection, "CREATE VIRTUAL TABLE words USING fts5(x, tokenize='unicode61')"),
            trigram=_works(connection, "CREATE VIRTUAL TABLE parts USING fts5(x, tokenize='trigram', detail='none')"),
            vector=_vector_version(connection),
        )
    finally:
        connection.close()


def _works(connection: apsw.Connection, statement: str) -> bool:
    try:
        connection.execute(statement).fetchall()
    except apsw.Error:
        return False
    return True


def _vector_version(connection: apsw.Connection) -> str:
    if not load_vector_extension(connection):
        return ""
    row = connection.execute("SELECT vec_version()").fetchone()
    return str(row[0]).removeprefix("v") if row else ""
