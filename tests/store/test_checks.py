"""`doctor --check`: each possible inconsistency in an index whose pages are intact."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from codelens.config import Settings
from codelens.errors import IndexCorrupt, IndexNotTrusted
from codelens.index import Index
from codelens.model.request import SearchOptions
from codelens.store.connection import load_vector_extension
from codelens.store.store import Store
from codelens.zstd import zstd
from tests.writable import writable

SAMPLE = Path(__file__).parents[2] / "sample_repos/shop/repo"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("checked")
    shutil.copytree(SAMPLE, folder / "shop")
    Index.build(folder / "whole.db", [folder / "shop"], Settings())
    return folder / "whole.db"


@pytest.fixture
def index(made: Path) -> Iterator[Path]:
    """An index at its final path; changes by a test are undone."""
    whole = made.read_bytes()
    yield made
    made.write_bytes(whole)


def test_a_healthy_index_has_no_faults(index: Path) -> None:
    assert Index.check(index, full=True) == []


LOGGED = "snapshot, root, time, documents, symbols, edges"
TEXT = "(SELECT document_id FROM snapshots ORDER BY length(bytes) DESC LIMIT 1)"


@pytest.mark.parametrize(
    ("statement", "table", "quick"),
    [
        (f"DELETE FROM snapshots WHERE document_id = {TEXT}", "snapshots", True),
        (f"DELETE FROM units WHERE document_id = {TEXT}", "unit_terms", True),
        ("DELETE FROM vectors WHERE id = (SELECT max(id) FROM vectors)", "vectors", True),
        ("UPDATE vector_bits SET ids = substr(ids, 5)", "vector_bits", True),
        ("UPDATE vector_bits SET bits = zeroblob(length(bits))", "vector_bits", False),
        ("INSERT INTO imports VALUES (999999, 0, 1, 'm', 'n', '')", "imports", False),
        ("INSERT INTO edges VALUES (999999, 1, 1, 1, 1)", "edges", False),
        ("UPDATE edges SET kind = 99 WHERE source = (SELECT min(source) FROM edges)", "edges", False),
        ("UPDATE units SET end_byte = 10000000 WHERE id = 1", "units", False),
        ("UPDATE units SET end_line = 100000 WHERE id = 1", "units", False),
        ("UPDATE units SET parent_id = 999999 WHERE id = 1", "units", False),
        ("UPDATE vectors SET embedding = x'0102' WHERE id = (SELECT max(id) FROM vectors)", "vectors", False),
        (f"UPDATE snapshots SET bytes = x'28b52ffd' WHERE document_id = {TEXT}", "snapshots", False),
        (f"UPDATE documents SET content_hash = zeroblob(16) WHERE id = {TEXT}", "snapshots", False),
        (f"UPDATE documents SET digest = zeroblob(32) WHERE id = {TEXT}", "snapshots", False),
        ("UPDATE refs SET packed = x'00' WHERE document_id = (SELECT min(document_id) FROM refs)", "refs", False),
        (f"INSERT INTO snapshot_log SELECT 0, {LOGGED}, x'00' FROM snapshot_log", "snapshot_log", False),
        ("DELETE FROM unit_terms_data WHERE id > 10", "SQLite", False),
    ],
)
def test_each_fault_is_found(index: Path, statement: str, table: str, quick: bool) -> None:
    with writable(index) as connection:
        load_vector_extension(connection)
        connection.execute(statement).fetchall()
    assert (table in {finding.table for finding in Index.check(index, full=False)}) is quick
    assert table in {finding.table for finding in Index.check(index, full=True)}


@pytest.mark.parametrize("statement", ["DROP TABLE skips", "CREATE VIEW more AS SELECT 1"])
def test_unexpected_tables_are_refused(index: Path, statement: str) -> None:
    with writable(index) as connection:
        connection.execute(statement).fetchall()
    with pytest.raises(IndexNotTrusted, match="not those of a codelens index"):
        Index.check(index, full=False)


def test_readers_report_values_that_cannot_be_unpacked(index: Path) -> None:
    """Pages are intact, because the values were written like this."""
    with writable(index) as connection:
        connection.execute("UPDATE snapshots SET bytes = x'28b52ffd'; UPDATE refs SET packed = x'00'").fetchall()
    with Index.open(index) as opened, pytest.raises(IndexCorrupt, match="cannot be unpacked"):
        opened.search("discount", SearchOptions())


def test_a_changed_text_is_damage(index: Path) -> None:
    with writable(index) as connection:
        other = zstd.compress(b"another text\n" * 100)
        connection.execute("UPDATE snapshots SET bytes = ?", (other,)).fetchall()
    with Index.open(index) as opened, pytest.raises(IndexCorrupt, match="is not what was indexed"):
        opened.search("discount", SearchOptions())


def test_our_own_bugs_are_not_reported_as_damage(index: Path) -> None:
    with Store.read(index) as store, pytest.raises(ZeroDivisionError), store.reading():
        1 / 0  # noqa: B018
