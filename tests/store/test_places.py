"""Files at an index's path: nothing that is not the index's own is overwritten or removed."""

from __future__ import annotations

import os
from pathlib import Path

import apsw
import pytest

from codelens.config import Settings
from codelens.errors import UnsafePath, UsageError
from codelens.index import Index
from codelens.model.request import SearchOptions

posix = pytest.mark.skipif(os.name == "nt", reason="links and pipes")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree/a.py").write_text("def alpha(): pass\n")
    return tmp_path / "tree"


def build(path: Path, root: Path, rebuild: bool = False) -> None:
    Index.build(path, [root], Settings(jobs=1), rebuild=rebuild)


def finds(path: Path) -> list[str]:
    with Index.open(path) as index:
        return [hit.unit.name for hit in index.search("alpha", SearchOptions()).hits]


@pytest.mark.slow
@posix
@pytest.mark.parametrize("there", [True, False])
def test_a_link_stays_a_link(there: bool, root: Path, tmp_path: Path) -> None:
    real, link = tmp_path / "real.db", tmp_path / "link.db"
    if there:
        real.touch()
    link.symlink_to(real)
    build(link, root)
    build(link, root, rebuild=True)
    assert link.is_symlink()
    assert finds(real) == finds(link) == ["alpha"]


@posix
def test_the_lock_file_of_a_killed_run_is_taken_over(root: Path, tmp_path: Path) -> None:
    (tmp_path / "mine.db.lock").write_text("4194303\n")
    seen = []

    def look(_: object) -> None:
        seen.append((tmp_path / "mine.db.lock").read_text())

    Index.build(tmp_path / "mine.db", [root], Settings(jobs=1), progress=look)
    assert set(seen) == {f"{os.getpid()}\n"}
    assert not (tmp_path / "mine.db.lock").exists()


def test_a_pipe_is_refused_as_an_index(root: Path, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(UsageError, match="not a regular file"):
        build(tmp_path / "pipe", root)
    assert [p.name for p in tmp_path.iterdir() if p != root] == ["pipe"]


@pytest.mark.parametrize("suffix", [".lock", ".building"])
def test_a_foreign_file_of_that_name_is_left_alone(suffix: str, root: Path, tmp_path: Path) -> None:
    theirs = tmp_path / f"mine.db{suffix}"
    theirs.write_text("precious\n")
    with pytest.raises(UsageError, match="in the way"):
        build(tmp_path / "mine.db", root)
    assert theirs.read_text() == "precious\n"


@posix
def test_a_link_in_place_of_the_lock_is_not_followed(root: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").write_text("1")
    (tmp_path / "mine.db.lock").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(UnsafePath, match=r"mine\.db\.lock is not a regular file"):
        build(tmp_path / "mine.db", root)
    assert (tmp_path / "elsewhere").read_text() == "1"


def test_an_index_inside_its_tree_is_not_indexed(root: Path) -> None:
    path = root / "my.db"
    build(path, root)
    (report,) = Index.build(path, [root], Settings(jobs=1))
    assert not report.wrote
    assert (report.seen, report.indexed) == (1, 1)
    with Index.open(path) as index:
        (repository,) = index.status(check=True).repositories
        assert not repository.is_stale


def test_another_program_s_database_is_not_cleaned_away(root: Path, tmp_path: Path) -> None:
    from codelens.cli.main import main

    theirs = tmp_path / "theirs.db"
    connection = apsw.Connection(str(theirs))
    connection.execute("CREATE TABLE precious (a)").fetchall()
    for version in (0, 2, 999):
        connection.pragma("user_version", version)
        assert main(["index", "--remove", "--yes", "--db", str(theirs)]) == 2
        assert theirs.exists()


@posix
def test_an_index_may_have_a_name_that_is_not_utf8(root: Path, tmp_path: Path) -> None:
    try:
        path = Path(os.fsdecode(os.fsencode(tmp_path) + b"/bad\xff ?#.db"))
        path.touch()
    except OSError:
        pytest.skip("the file system wants UTF-8")
    build(path, root)
    assert finds(path) == ["alpha"]
    assert Index.check(path, full=True) == []
    (report,) = Index.build(path, [root], Settings(jobs=1))
    assert not report.notices and not report.wrote
