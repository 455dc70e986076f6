"""The index file: one writer, readers that leave no trace, old and damaged files."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import apsw
import pytest

from codelens.errors import CannotWrite, IndexBusy, IndexCorrupt, NoIndex, SchemaTooNew
from codelens.store.connection import BUSY_MS, hold_writer_lock, open_writer, switch_to_rest, switch_to_wal
from codelens.store.migrate import find_newest_version
from codelens.store.postings import build_trigram_query, quote_term
from codelens.store.store import Store
from tests.writable import writable


@pytest.fixture
def index(tmp_path: Path) -> Path:
    path = tmp_path / "index.db"
    with Store.write(path) as store:
        store.begin_build()
        store.end_build()
    return path


def test_at_rest_an_index_is_one_file(index: Path) -> None:
    assert [f.name for f in index.parent.iterdir()] == ["index.db"]
    with Store.read(index) as store:
        assert store.read_journal_mode() == "delete"
        assert [f.name for f in index.parent.iterdir()] == ["index.db"]
    assert [f.name for f in index.parent.iterdir()] == ["index.db"]


def test_a_reader_keeps_its_state_during_an_update(index: Path) -> None:
    writer = Store.write(index)
    writer.begin_work()
    with Store.read(index) as reader:
        with writer.writing():
            writer.set_meta("snapshot", "new")
        assert reader.read_meta("snapshot") == ""
    assert writer.end_work()
    writer.close()
    assert [f.name for f in index.parent.iterdir()] == ["index.db"]
    with Store.read(index) as reader:
        assert reader.read_meta("snapshot") == "new"


def test_a_long_reader_only_delays_the_return_to_a_single_file(index: Path) -> None:
    writer = Store.write(index)
    writer.begin_work()
    with writer.writing():
        writer.set_meta("snapshot", "new")
    reader = Store.read(index)
    assert not writer.end_work()
    writer.close()
    reader.close()
    writer = Store.write(index)
    assert writer.end_work()
    writer.close()
    assert [f.name for f in index.parent.iterdir()] == ["index.db"]


@pytest.mark.slow
def test_a_reader_of_the_single_file_delays_a_writer_past_the_wait_of_a_statement(index: Path) -> None:
    writer = Store.write(index)
    with ThreadPoolExecutor() as pool:
        with Store.read(index):
            begun = pool.submit(writer.begin_work)
            time.sleep(BUSY_MS / 1000 + 1)
            assert not begun.done()
        begun.result()
    assert writer.read_journal_mode() == "wal"
    assert writer.end_work()
    writer.close()


def test_a_writer_gives_up_if_a_reader_stays(index: Path) -> None:
    connection, _ = open_writer(index)
    with Store.read(index), pytest.raises(IndexBusy, match=r"a reader has held index\.db for 0 s"):
        switch_to_wal(connection, seconds=0)
    switch_to_wal(connection, seconds=0)
    assert connection.pragma("journal_mode") == "wal"
    assert switch_to_rest(connection)
    connection.close()


def test_an_index_in_a_folder_that_cannot_be_written_is_read(index: Path) -> None:
    index.chmod(0o444)
    index.parent.chmod(0o555)
    try:
        with Store.read(index) as store:
            assert store.units.count() == 0
    finally:
        index.parent.chmod(0o755)


def test_a_second_writer_is_refused(index: Path) -> None:
    with hold_writer_lock(index):
        code = (
            "import sys; from pathlib import Path; from codelens.store.connection import hold_writer_lock\n"
            "try:\n with hold_writer_lock(Path(sys.argv[1])): pass\n"
            "except Exception as fault: print(type(fault).__name__, fault)"
        )
        said = subprocess.run(
            [sys.executable, "-c", code, str(index)], capture_output=True, text=True, check=True
        ).stdout
        assert said.startswith("IndexBusy") and f"pid {os.getpid()}" in said
        with pytest.raises(IndexBusy), hold_writer_lock(index):
            pass
    assert [f.name for f in index.parent.iterdir()] == ["index.db"]


@pytest.mark.skipif(sys.platform == "win32", reason="flock")
@pytest.mark.parametrize("number", [errno.ENOLCK, errno.EOPNOTSUPP, errno.EIO, errno.EINVAL])
def test_a_file_system_without_locks_is_not_a_busy_index(
    number: int, index: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(handle: int, operation: int) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr("fcntl.flock", refuse)
    with pytest.raises(CannotWrite, match=f"cannot be locked: {os.strerror(number)}"), hold_writer_lock(index):
        pass


def test_a_missing_file_raises_no_index(tmp_path: Path) -> None:
    with pytest.raises(NoIndex):
        Store.read(tmp_path / "none.db")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("content", [b"", b"not a database", b"SQLite format 3\0" + b"\xff" * 200])
def test_a_foreign_file_is_reported_as_damaged(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "other.db"
    path.write_bytes(content)
    with pytest.raises(IndexCorrupt):
        Store.read(path)
    assert path.read_bytes() == content


def test_an_index_without_its_last_page_is_reported_as_damaged(index: Path) -> None:
    whole = index.read_bytes()
    for size in range(1, len(whole) - 4096, 8191):
        index.write_bytes(whole[:size])
        with pytest.raises(IndexCorrupt), Store.read(index) as store:
            store.verify()


def test_a_newer_schema_is_refused(index: Path) -> None:
    with writable(index) as connection:
        connection.pragma("user_version", find_newest_version() + 1)
    with pytest.raises(SchemaTooNew):
        Store.read(index)
    with pytest.raises(SchemaTooNew):
        Store.write(index)


def test_an_unfinished_build_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "index.db"
    with Store.write(path) as store:
        store.begin_build()
    with pytest.raises(IndexCorrupt):
        Store.read(path)


def test_migrating_again_changes_nothing(index: Path) -> None:
    before = index.read_bytes()
    Store.write(index).close()
    assert index.read_bytes() == before


def test_schema_is_golden(index: Path, golden) -> None:  # type: ignore[no-untyped-def]
    connection = apsw.Connection(str(index))
    rows = connection.execute("SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY name").fetchall()
    connection.close()
    golden(Path(__file__).parents[1] / "golden/schema.sql", "\n\n".join(row[0] for row in rows) + "\n")


def test_user_text_is_quoted_for_fts() -> None:
    assert quote_term('a" OR "b') == '"a"" OR ""b"'
    assert build_trigram_query("ab*c") == '"ab*" AND "b*c"'
