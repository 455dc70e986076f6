"""Page checksums: readers and the check of a whole file report every damaged page."""

from __future__ import annotations

import random
from contextlib import closing
from pathlib import Path

import apsw
import pytest

from codelens.errors import IndexCorrupt, MemoryFault
from codelens.model.memory import Place
from codelens.store.checksums import RESERVED, find_file_faults
from codelens.store.connection import open_beside, open_reader, open_writer, switch_to_rest, switch_to_wal
from codelens.store.records import Memory

PAGE = 4096
ROWS = 300
COUNT = "SELECT count(*), sum(length(content)), sum(instr(content, 'x')) FROM notes"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A database of some hundred pages, including overflow pages."""
    path = tmp_path / "pages.db"
    rng = random.Random(1)
    with closing(open_writer(path)[0]) as connection:
        connection.execute("CREATE TABLE notes (id INTEGER PRIMARY KEY, content TEXT)").fetchall()
        rows = [(rng.randbytes(rng.choice((50, 900, 6000))).hex(),) for _ in range(ROWS)]
        connection.executemany("INSERT INTO notes (content) VALUES (?)", rows).fetchall()
    return path


def _read(path: Path) -> object:
    with closing(open_reader(path)) as connection:
        return connection.execute(COUNT).fetchall()


def test_a_whole_file_has_no_faults_and_a_plain_sqlite_reads_it(path: Path) -> None:
    assert list(find_file_faults(path)) == []
    assert path.read_bytes()[20] == RESERVED
    with closing(apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)) as plain:
        assert plain.execute(COUNT).fetchall() == _read(path)


@pytest.mark.slow
def test_every_damaged_page_is_reported_by_readers_and_by_the_check(path: Path) -> None:
    whole, rng = path.read_bytes(), random.Random(2)
    pages = len(whole) // PAGE
    for page in range(1, pages, 7):
        content = bytearray(whole)
        content[page * PAGE + rng.randrange(PAGE)] ^= 1 << rng.randrange(8)
        path.write_bytes(content)
        with pytest.raises(apsw.CorruptError, match=f"page {page + 1} is damaged"):
            _read(path)
        assert list(find_file_faults(path)) == [f"1 of {pages} pages are damaged, the first is {page + 1}"]


def test_swapped_pages_are_damaged(path: Path) -> None:
    content = bytearray(path.read_bytes())
    one, other = slice(10 * PAGE, 11 * PAGE), slice(20 * PAGE, 21 * PAGE)
    content[one], content[other] = content[other], content[one]
    path.write_bytes(content)
    with pytest.raises(apsw.CorruptError, match=r"page (11|21) is damaged"):
        _read(path)
    (fault,) = find_file_faults(path)
    assert fault.startswith("2 of ")


@pytest.mark.slow
@pytest.mark.parametrize("change", [-PAGE, -1, 1, PAGE])
def test_a_file_of_another_length_is_damaged(path: Path, change: int) -> None:
    content = path.read_bytes()
    path.write_bytes(content[:change] if change < 0 else content + bytes(change))
    assert len(list(find_file_faults(path))) == 1
    if change < 0:
        with pytest.raises((apsw.CorruptError, IndexCorrupt)):
            _read(path)


def test_a_database_without_checksums_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "plain.db"
    with closing(apsw.Connection(str(path))) as plain:
        plain.execute("CREATE TABLE notes (id INTEGER PRIMARY KEY, content TEXT)").fetchall()
    assert list(find_file_faults(path)) == ["it has no page checksums"]
    with pytest.raises(IndexCorrupt, match="no page checksums"), closing(open_writer(path)[0]):
        pass


def test_unwritten_pages_are_not_damaged(path: Path) -> None:
    with closing(open_writer(path)[0]) as connection:
        connection.execute("BEGIN; CREATE TABLE gone (content); CREATE TABLE last (content)").fetchall()
        fill = "INSERT INTO {} VALUES (zeroblob(40000))"
        connection.execute(fill.format("gone") + ";" + fill.format("last") + "; DELETE FROM gone; COMMIT").fetchall()
        assert connection.pragma("freelist_count") > 0
    assert list(find_file_faults(path)) == []
    assert path.read_bytes().count(bytes(PAGE)), "there is a page that holds nothing, not even a checksum"


@pytest.mark.slow
def test_a_log_is_read_and_folded_in_with_checksums(path: Path) -> None:
    before = _read(path)
    with closing(open_writer(path)[0]) as connection:
        switch_to_wal(connection)
        connection.execute("DELETE FROM notes WHERE id % 3 = 0").fetchall()
        assert _read(path) != before
        assert list(find_file_faults(path)) == []
        assert switch_to_rest(connection)
        copy = path.with_name("copy.db")
        connection.execute("VACUUM INTO ?", (str(copy),)).fetchall()
    assert list(find_file_faults(path)) == []
    assert list(find_file_faults(copy)) == []
    assert _read(copy) == _read(path) != before


@pytest.mark.slow
@pytest.mark.parametrize(
    ("statement", "readable"), [("PRAGMA application_id = 7", True), ("UPDATE notes SET content = 'x'", False)]
)
def test_a_journal_that_holds_more_than_the_header_must_be_rolled_back(
    path: Path, statement: str, readable: bool
) -> None:
    """A killed writer leaves both: the journal, and some pages already written."""
    before = _read(path)
    with closing(open_writer(path)[0]) as connection:
        connection.execute(f"PRAGMA cache_size = 1; BEGIN; {statement}").fetchall()
        connection.cache_flush()
        copy = path.with_name("copy.db")
        for suffix in ("", "-journal"):
            copy.with_name(copy.name + suffix).write_bytes(path.with_name(path.name + suffix).read_bytes())
    if readable:
        assert _read(copy) == before
    else:
        with pytest.raises(IndexCorrupt, match="unfinished update"):
            _read(copy)
    with closing(open_writer(copy)[0]):
        pass
    assert _read(copy) == before
    assert list(find_file_faults(copy)) == []


def test_a_memory_with_a_flipped_bit_says_so(tmp_path: Path) -> None:
    path, rng = tmp_path / "memory.db", random.Random(3)
    place = Place("app", "a.py", "f", "function")
    with Memory.open_for_writing(path) as memory:
        memory.rate_place(place, 7.0, 1)
    whole = path.read_bytes()
    for _ in range(30):
        content = bytearray(whole)
        content[rng.randrange(100, PAGE)] ^= 1 << rng.randrange(8)
        path.write_bytes(content)
        with pytest.raises(MemoryFault, match="is damaged: page 1 is damaged"), Memory.open_for_reading(path) as memory:
            memory.export_rows()


def test_a_reader_is_strict_after_it_rolled_a_journal_back(path: Path) -> None:
    """The last page of a long value becomes zeros, which only its checksum tells from content."""
    sql = "SELECT pageno FROM dbstat WHERE name = 'notes' AND pagetype = 'overflow' ORDER BY path DESC LIMIT 1"
    with closing(open_reader(path)) as reader:
        number = reader.execute(sql).get
    content = bytearray(path.read_bytes())
    content[(number - 1) * PAGE : number * PAGE] = bytes(PAGE)
    path.write_bytes(content)
    path.with_name(path.name + "-journal").write_bytes(b"left by a killed writer")
    reads = "SELECT sum(instr(content, 'x')) FROM notes"
    fault = pytest.raises(apsw.CorruptError, match=f"page {number} is damaged")
    with closing(open_beside(path, writing=False)) as beside, fault:
        beside.execute(reads).fetchall()


@pytest.mark.parametrize("length", [17, 20, 21, 99, 101])
def test_a_file_of_a_few_bytes_is_damaged(path: Path, length: int) -> None:
    path.write_bytes(path.read_bytes()[:length])
    for opened in (open_reader, open_writer):
        with pytest.raises(IndexCorrupt, match="is not an index, or is damaged"):
            opened(path)
