"""An index run killed or interrupted at random moments: what was committed stays, the file is whole, the next run ends the work.

A few of each; `make faults` tries hundreds.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from codelens.config import Settings
from codelens.errors import IndexCorrupt
from codelens.index import Index
from codelens.runs import UNFINISHED, WRITTEN
from codelens.store.connection import put_to_rest
from codelens.store.store import Store
from tests.dump import dump, orphans
from tools.campaign import Report
from tools.faults.kills import OPERATIONS, beside, run, write_tree

COUNT = 3
"""Signals for each operation."""


@pytest.mark.skipif(sys.platform != "linux", reason="forks, and looks into /proc")
@pytest.mark.parametrize("name", ["kills", "interrupts"])
@pytest.mark.parametrize("operation", OPERATIONS)
def test_a_run_that_is_broken_off_loses_nothing(name: str, operation: str, tmp_path: Path) -> None:
    report = Report(name)
    run(name, operation, COUNT, 4, tmp_path, report)
    assert report.tried >= COUNT
    assert report.failures == []


def test_a_log_beside_a_damaged_index_is_not_read_as_the_new_ones(tmp_path: Path) -> None:
    index = tmp_path / "index.db"
    for name in ("index.db", "index.db-wal", "index.db-shm"):
        (tmp_path / name).write_bytes(b"rubbish" * 1000)
    assert put_to_rest(index)
    assert beside(index) == ["index.db"]


def test_an_index_that_is_not_finished_is_not_searched(tmp_path: Path) -> None:
    with Store.write(tmp_path / "index.db") as store:
        store.begin_build()
    with pytest.raises(IndexCorrupt):
        Index.open(tmp_path / "index.db")


@pytest.fixture
def interruptible() -> Iterator[None]:
    """Programs inherit that interrupts are ignored, as a shell ignores them for what it runs in the background."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.skipif(sys.platform != "linux", reason="pgrep -P")
@pytest.mark.usefixtures("interruptible")
@pytest.mark.parametrize("update", [False, True])
def test_an_interrupt_ends_a_run_with_all_its_processes(tmp_path: Path, update: bool) -> None:
    root, index = tmp_path / "tree", tmp_path / "index.db"
    write_tree(root, 1)
    if update:
        Index.build(index, [root], Settings(jobs=1))
        before = dump(index)
        write_tree(root, 2)
    command = [sys.executable, "-m", "codelens", "index", str(root), "--db", str(index), "--progress", "json", "-q"]
    process = subprocess.Popen(
        command, start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )
    assert process.stderr
    while '"done": ' not in process.stderr.readline():
        pass
    found = subprocess.run(["pgrep", "-P", str(process.pid)], capture_output=True, text=True, check=False)
    workers = [int(pid) for pid in found.stdout.split()]  # none if they have ended already
    os.killpg(process.pid, signal.SIGINT)
    said = [line for line in process.stderr.read().splitlines() if not line.startswith("{")]
    assert process.wait() == 130
    # On a busy machine we may be so late that the run had written all, and then it says so.
    assert said in ([f"codelens: interrupted; {UNFINISHED}"], [f"codelens: interrupted; {WRITTEN}"])
    while any(Path(f"/proc/{pid}").exists() for pid in workers):
        time.sleep(0.01)
    if update:
        assert beside(index) == ["index.db"]
        assert (dump(index) == before) == (UNFINISHED in said[0])
    Index.build(index, [root], Settings(jobs=1))
    assert beside(index) == ["index.db"]
    assert orphans(index) == []


def test_an_interrupt_after_the_commit_says_that_the_work_is_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Python raises an interrupt when SQLite returns, which may be after it has committed."""
    root, index = tmp_path / "tree", tmp_path / "index.db"
    write_tree(root, 1)
    Index.build(index, [root], Settings(jobs=1))
    for moment, said in (("begin_work", UNFINISHED), ("end_work", WRITTEN)):
        write_tree(root, 2)

        def interrupt(store: Store) -> None:
            signal.raise_signal(signal.SIGINT)

        with monkeypatch.context() as patched:
            patched.setattr(Store, moment, interrupt)
            with pytest.raises(KeyboardInterrupt, match=said):
                Index.build(index, [root], Settings(jobs=1))
