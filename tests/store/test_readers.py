"""Readers while an index is written, replaced and protected: they see one complete state and leave no files behind."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from codelens.config import Settings
from codelens.errors import IndexBusy
from codelens.index import Index
from codelens.model.request import SearchOptions
from codelens.store.connection import hold_writer_lock
from codelens.store.store import Store

pytestmark = pytest.mark.slow

SLOW_UPDATE = """
import sys
from pathlib import Path
from codelens.config import Settings
from codelens.index import Index

def wait(step):
    if step.done == step.total:
        print(step.phase, flush=True)
        sys.stdin.readline()

Index.build(Path(sys.argv[1]), [Path(sys.argv[2])], Settings(jobs=1), rebuild=len(sys.argv) > 3, progress=wait)
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "tree").mkdir()
    write(tmp_path / "tree", "old")
    return tmp_path / "tree"


@pytest.fixture
def index(tmp_path: Path, root: Path) -> Path:
    (tmp_path / "at").mkdir()
    path = tmp_path / "at" / "index.db"
    Index.build(path, [root], Settings(jobs=1))
    return path


def write(root: Path, word: str) -> None:
    for number in range(5):
        (root / f"m{number}.py").write_text(f"def {word}_{number}(x):\n    return {word}word\n")


def answers(index: Path) -> list[str]:
    """Names of hits for both states, searched as usual."""
    with Index.open(index) as opened:
        hits = [hit for word in ("oldword", "newword") for hit in opened.search(word, SearchOptions(mode="exact")).hits]
    return sorted(hit.unit.name for hit in hits)


OLD, NEW = ([f"{word}_{n}" for n in range(5)] for word in ("old", "new"))


def files(index: Path) -> list[str]:
    return sorted(file.name for file in index.parent.iterdir())


def begin(index: Path, root: Path, *how: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", SLOW_UPDATE, str(index), str(root), *how]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def proceed(process: subprocess.Popen[str]) -> None:
    assert process.stdin
    process.stdin.write("\n")
    process.stdin.flush()


def heard(process: subprocess.Popen[str]) -> str:
    assert process.stdout
    return process.stdout.readline().strip()


def test_a_search_during_an_update_sees_the_old_state(index: Path, root: Path) -> None:
    write(root, "new")
    process = begin(index, root)
    assert heard(process) == "index"  # everything is written, nothing committed
    assert answers(index) == OLD
    stays = Index.open(index)
    assert stays.search("oldword", SearchOptions()).hits
    process.communicate("\n")
    assert process.returncode == 0
    assert answers(index) == NEW
    assert {hit.unit.name for hit in stays.search("oldword", SearchOptions(mode="exact")).hits} == set(OLD)
    stays.close()
    Index.build(index, [root], Settings())
    assert files(index) == ["index.db"]


def test_an_update_of_two_trees_is_one_step(tmp_path: Path) -> None:
    trees = [tmp_path / "a", tmp_path / "b"]
    for tree in trees:
        tree.mkdir()
        write(tree, "old")
    index = tmp_path / "index.db"
    Index.build(index, trees, Settings(jobs=1))
    for tree in trees:
        write(tree, "new")
    seen = []
    Index.build(index, trees, Settings(jobs=1), progress=lambda _: seen.append(answers(index)))
    assert len(seen) == 20  # each file is read, then linked
    assert all(answer == sorted(OLD + OLD) for answer in seen)
    assert answers(index) == sorted(NEW + NEW)


def test_searches_go_on_while_a_build_is_swapped_in(index: Path, root: Path) -> None:
    write(root, "new")
    process = begin(index, root, "rebuild")
    assert heard(process) == "index"
    assert answers(index) == OLD
    stays = Index.open(index)
    assert stays.search("oldword", SearchOptions()).hits
    ended, seen = threading.Event(), []

    def search_on() -> None:
        while not ended.is_set():
            seen.append(answers(index))

    searching = threading.Thread(target=search_on)
    searching.start()
    process.communicate("\n\n")
    assert process.returncode == 0
    ended.set()
    searching.join()
    seen.append(answers(index))
    assert seen[-1] == NEW
    assert all(answer in (OLD, NEW) for answer in seen)
    assert {hit.unit.name for hit in stays.search("oldword", SearchOptions(mode="exact")).hits} == set(OLD)
    stays.close()
    assert files(index) == ["index.db"]


def test_an_index_is_searched_while_updates_come_and_go(index: Path, root: Path) -> None:
    """Many short readers during many commits: each sees one state, and the file ends up at rest."""
    ended, seen = threading.Event(), []

    def search_on() -> None:
        while not ended.is_set():
            seen.append(answers(index))

    searching = threading.Thread(target=search_on)
    searching.start()
    for word in ("new", "old", "new"):
        write(root, word)
        Index.build(index, [root], Settings(jobs=1))
    ended.set()
    searching.join()
    assert seen and all(answer in (OLD, NEW) for answer in seen)
    Index.build(index, [root], Settings())
    assert files(index) == ["index.db"]


@pytest.mark.skipif(os.name == "nt", reason="modes")
def test_a_folder_that_cannot_be_written_is_searched(index: Path) -> None:
    index.chmod(0o444)
    index.parent.chmod(0o555)
    try:
        assert answers(index) == OLD
        assert files(index) == ["index.db"]
    finally:
        index.parent.chmod(0o755)


@pytest.mark.skipif(os.name == "nt" or os.geteuid() != 0, reason="becomes another user")
def test_an_unprivileged_reader_searches_somebody_elses_index(index: Path, tmp_path: Path) -> None:
    """Root may write anywhere, this reader may not. Also covers an index with a log."""
    for folder in (f for f in index.parents if "pytest-" in str(f)):  # folders that pytest made private
        folder.chmod(0o755)
    code = """
import os, sys
from pathlib import Path
from codelens.config import Settings
from codelens.index import Index
from codelens.model.request import SearchOptions
from codelens.store import checks  # needed once the key cannot be read

def hits():
    with Index.open(Path(sys.argv[1]), Settings(trust_indexes=True)) as index:
        return len(index.search("oldword", SearchOptions(mode="exact")).hits)

hits()  # imports what it needs, which the other user may not read
os.setuid(65534)
print(hits())
"""

    def read() -> subprocess.CompletedProcess[str]:
        return subprocess.run([sys.executable, "-c", code, str(index)], capture_output=True, text=True)

    assert read().stdout == "5\n"
    store = Store.write(index)
    store.begin_work()
    with store.writing():
        store.set_meta("note", "x")
    assert read().stdout == "5\n"
    store.end_work()
    store.close()
    assert files(index) == ["index.db"]


def test_a_reader_writes_nothing(index: Path) -> None:
    before = (index.read_bytes(), index.stat().st_mtime_ns)
    answers(index)
    with Index.open(index) as opened:
        opened.status(check=True)
        list(opened.list_skips())
    assert (index.read_bytes(), index.stat().st_mtime_ns) == before
    assert files(index) == ["index.db"]


def test_the_second_of_two_index_runs_names_the_first(index: Path, root: Path) -> None:
    write(root, "new")
    process = begin(index, root)
    assert heard(process) == "index"
    command = [sys.executable, "-m", "codelens", "index", str(root), "--db", str(index)]
    second = subprocess.run(command, capture_output=True, text=True)
    assert second.returncode == 5
    assert re.search(rf"pid {process.pid}\b", second.stderr)
    assert second.stdout == ""
    process.communicate("\n")
    assert process.returncode == 0
    assert answers(index) == NEW
    assert subprocess.run(command, capture_output=True).returncode == 0
    assert files(index) == ["index.db"]


def test_the_lock_file_of_a_dead_process_does_not_lock(index: Path, root: Path) -> None:
    index.with_name("index.db.lock").write_text("1\n")
    Index.build(index, [root], Settings())
    assert files(index) == ["index.db"]
    with hold_writer_lock(index), pytest.raises(IndexBusy):
        Index.build(index, [root], Settings())
