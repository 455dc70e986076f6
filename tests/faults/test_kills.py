"""An index run killed at random moments: what was committed stays, what is there is whole, and the next run ends the work."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from codelens.config import Settings
from codelens.errors import IndexCorrupt
from codelens.index import Index
from codelens.indexing.build import BUILDING
from codelens.store.store import Store
from tests.dump import dump

KILLS = 30
"""In each of the two tests."""
SEED = 4
RUN = (
    "import sys; from pathlib import Path; from codelens.config import Settings; from codelens.index import Index\n"
    "if __name__ == '__main__':\n"
    "    Index.build(Path(sys.argv[1]), [Path(sys.argv[2])], Settings(jobs=1, commit_bytes=20_000))\n"
)

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="kills a whole process group")


def write_tree(root: Path, version: int, files: int = 120) -> None:
    for number in range(files):
        folder = root / f"part{number % 7}"
        folder.mkdir(parents=True, exist_ok=True)
        body = "\n".join(
            f'def task_{number}_{i}(items, limit={version}):\n    """Do task {i} of part {number}."""\n    return run(items, {i * version})\n'
            for i in range(12)
        )
        (folder / f"module{number}.py").write_text(body)


def run_and_kill(index: Path, root: Path, after: float | None) -> bool:
    """Start an index run and kill it after some seconds; whether it had ended before."""
    process = subprocess.Popen(
        [sys.executable, "-c", RUN, str(index), str(root)],
        start_new_session=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        process.wait(after)
        return process.returncode == 0
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        return False


def committed(building: Path) -> int:
    """Documents that an unfinished build has; reading it rolls a half-written batch back, as the next run would."""
    if not building.exists():
        return 0
    with Store.write(building) as store:
        store.verify()
        return len(store.documents.rows())


def seconds_of_a_run(index: Path, root: Path) -> float:
    started = time.perf_counter()
    assert run_and_kill(index, root, None)
    return time.perf_counter() - started


def test_a_killed_build_goes_on_where_it_was(tmp_path: Path) -> None:
    root, index = tmp_path / "tree", tmp_path / "index.db"
    write_tree(root, 1)
    whole = seconds_of_a_run(tmp_path / "fresh.db", root)
    chance, done = random.Random(SEED), 0
    for _ in range(KILLS):
        if run_and_kill(index, root, chance.uniform(0.05, 0.9) * whole):
            assert dump(index) == dump(tmp_path / "fresh.db")
            index.unlink()
            done = 0
        else:
            now = committed(index.with_name(index.name + BUILDING))
            assert now >= done or index.exists()
            done = now
    assert run_and_kill(index, root, None)
    assert dump(index) == dump(tmp_path / "fresh.db")
    assert sorted(os.listdir(tmp_path)) == ["fresh.db", "index.db", "tree"]


def test_a_killed_update_leaves_the_old_state_or_the_new(tmp_path: Path) -> None:
    root, index = tmp_path / "tree", tmp_path / "index.db"
    write_tree(root, 1)
    assert run_and_kill(index, root, None)
    chance = random.Random(SEED)
    old = Store.read(index).meta("snapshot")
    whole = 0.0
    for number in range(2, KILLS + 2):
        write_tree(root, number)
        if not whole:
            whole = seconds_of_a_run(tmp_path / "fresh.db", root)
            (tmp_path / "fresh.db").unlink()
        run_and_kill(index, root, chance.uniform(0.3, 1.1) * whole)
        with Store.read(index) as store:  # a reader, first: as anybody would after a crash
            store.verify()
            found = store.meta("snapshot")
            assert found == store.documents.content_id()
        if found != old:
            (reports) = Index.build(index, [root], Settings(jobs=1))
            assert not reports[0].wrote
        old = found
    Index.build(index, [root], Settings(jobs=1))
    Index.build(tmp_path / "fresh.db", [root], Settings(jobs=1))
    assert dump(index) == dump(tmp_path / "fresh.db")


def test_an_index_that_is_not_finished_is_not_searched(tmp_path: Path) -> None:
    with Store.write(tmp_path / "index.db") as store:
        store.begin_build()
    with pytest.raises(IndexCorrupt):
        Index.open(tmp_path / "index.db")
