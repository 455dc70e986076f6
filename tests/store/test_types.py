"""An accepted index whose values have other types than their columns: no command gives an answer from it."""

from __future__ import annotations

import shutil
from pathlib import Path

import apsw
import pytest

from codelens.errors import IndexCorrupt
from codelens.index import Index
from codelens.store.checks import find_type_faults
from tests.commands import Run
from tests.writable import writable

WRONG = {
    "blob": "x'00ff'",
    "null": "NULL",
    "real": "1.5",
    "text for a number": "'many'",
    "text that is not UTF-8": "CAST(x'61ff' AS TEXT)",
}
COMMANDS = (("search", "password"), ("status",), ("symbols", "notes/auth.py"), ("refs", "login"), ("index", "--trust"))


def list_columns(connection: apsw.Connection) -> list[tuple[str, str, str, bool]]:
    sql = """SELECT m.name, p.name, p.type, p."notnull" OR p.pk FROM sqlite_schema m, pragma_table_info(m.name) p
        WHERE m.type = 'table' AND m.sql NOT LIKE 'CREATE VIRTUAL%' AND p.type <> ''"""
    return [(str(a), str(b), str(c), bool(d)) for a, b, c, d in connection.execute(sql)]


@pytest.fixture
def foreign(indexed: Path, tmp_path: Path) -> Path:
    """An index that came with a folder."""
    shutil.copytree(indexed, tmp_path / "foreign")
    with writable(tmp_path / "foreign/.codelens/index.db") as connection:
        connection.execute("DELETE FROM meta WHERE key = 'mark'").fetchall()
    return tmp_path / "foreign"


def test_each_column_is_checked(foreign: Path) -> None:
    """Of each table with rows, any wrong value that SQLite stores is found."""
    tried = 0
    with writable(foreign / ".codelens/index.db") as connection:
        assert list(find_type_faults(connection)) == []
        for table, column, kind, _ in list_columns(connection):
            for value in WRONG.values():
                connection.execute("SAVEPOINT before").fetchall()
                try:
                    one = f"{column} = (SELECT {column} FROM {table} LIMIT 1)"
                    connection.execute(f"UPDATE OR IGNORE {table} SET {column} = {value} WHERE {one}").fetchall()
                    sql = f"SELECT count(*) FROM {table} WHERE typeof({column}) <> ? AND {column} IS NOT NULL"
                    (wrong,) = connection.execute(sql, (kind.lower(),)).fetchall()[0]
                    if wrong or (kind == "TEXT" and "61ff" in value and connection.changes()):
                        tried += 1
                        assert [fault.table for fault in find_type_faults(connection)] == [table], (
                            table,
                            column,
                            value,
                        )
                except (apsw.ConstraintError, apsw.MismatchError):
                    pass  # SQLite does not store it
                connection.execute("ROLLBACK TO before; RELEASE before").fetchall()
    assert tried > 200


@pytest.mark.parametrize("value", [value for value in WRONG.values() if value != "NULL"])
@pytest.mark.parametrize("column", ["name", "start_line", "signature"])
def test_no_command_answers_from_it(
    column: str, value: str, foreign: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    if column != "start_line" and value in ("1.5", "'many'"):
        value = "x''"
    with writable(foreign / ".codelens/index.db") as connection:
        connection.execute(f"UPDATE units SET {column} = {value}").fetchall()
    monkeypatch.setenv("CODELENS_TRUST_INDEXES", "1")
    for command in COMMANDS:
        ran = run(*command, cwd=foreign)
        assert (ran.code, ran.out) == (3, ""), (command, ran.err)
        error, hint = ran.err.splitlines()[-2:]
        assert "index.db is damaged: units: " in error and hint.startswith("hint: "), ran.err
    monkeypatch.delenv("CODELENS_TRUST_INDEXES")
    with pytest.raises(IndexCorrupt):
        Index.accept(foreign / ".codelens/index.db")
    assert run("index", "-q", "--rebuild", "notes", "shop", cwd=foreign).code == 0
    assert run("search", "password", cwd=foreign).code == 0
