"""Index runs killed or interrupted at random moments: committed work stays, the file is intact, the next run completes it.

A few signals of each kind; `make faults` tries hundreds.
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

from codelens.cli.main import main
from codelens.config import Settings
from codelens.errors import IndexCorrupt
from codelens.index import Index
from codelens.model.runs import UNFINISHED, WRITTEN
from codelens.store.connection import put_to_rest
from codelens.store.store import Store
from tests.dump import dump, orphans
from tools.campaign import Report
from tools.faults.kills import OPERATIONS, index_files, run, write_tree

COUNT = 3  # Signals for each operation


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="forks, and looks into /proc")
@pytest.mark.parametrize("name", ["kills", "interrupts"])
@pytest.mark.parametrize("operation", OPERATIONS)
def test_an_aborted_run_loses_nothing_that_was_committed(name: str, operation: str, tmp_path: Path) -> None:
    report = Report(name)
    run(name, operation, COUNT, 4, tmp_path, report)
    assert report.tried >= COUNT
    assert report.failures == []


def test_the_log_of_a_damaged_index_is_not_applied_to_its_replacement(tmp_path: Path) -> None:
    index = tmp_path / "index.db"
    for name in ("index.db", "index.db-wal", "index.db-shm"):
        (tmp_path / name).write_bytes(b"rubbish" * 1000)
    assert put_to_rest(index)
    assert index_files(index) == ["index.db"]


def test_an_unfinished_index_cannot_be_searched(tmp_path: Path) -> None:
    with Store.write(tmp_path / "index.db") as store:
        store.begin_build()
    with pytest.raises(IndexCorrupt):
        Index.open(tmp_path / "index.db")


@pytest.fixture
def interruptible() -> Iterator[None]:
    """Child processes inherit an ignored SIGINT, for example if a shell runs the tests in the background: restore the default."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="pgrep -P")
@pytest.mark.usefixtures("interruptible")
@pytest.mark.parametrize("update", [False, True])
def test_an_interrupt_ends_a_run_with_all_its_processes(tmp_path: Path, update: bool) -> None:
    """Holds however late the signal arrives: exit code and message agree with the index."""
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
    messages = [line for line in process.stderr.read().splitlines() if not line.startswith("{")]
    ending = process.wait(), messages
    interrupted, written = (
        (130, [f"codelens: interrupted; {UNFINISHED}"]),
        (130, [f"codelens: interrupted; {WRITTEN}"]),
    )
    finished = (0, [])
    assert ending in (interrupted, written, finished)
    while any(Path(f"/proc/{pid}").exists() for pid in workers):
        time.sleep(0.01)
    is_new = dump(index) != before if update else index.exists()
    assert is_new == (ending != interrupted)
    if update or is_new:
        assert index_files(index) == ["index.db"]
    Index.build(index, [root], Settings(jobs=1))
    assert index_files(index) == ["index.db"]
    assert orphans(index) == []


def interrupt(*_: object) -> None:
    signal.raise_signal(signal.SIGINT)


@pytest.mark.slow
@pytest.mark.parametrize(("method", "message"), [("begin_work", UNFINISHED), ("end_work", WRITTEN), ("close", WRITTEN)])
def test_an_interrupted_update_says_whether_it_was_committed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, method: str, message: str
) -> None:
    """Python raises an interrupt when SQLite returns, which may be after the commit."""
    root, index = tmp_path / "tree", tmp_path / "index.db"
    write_tree(root, 1)
    Index.build(index, [root], Settings(jobs=1))
    write_tree(root, 2)
    as_it_is = getattr(Store, method)

    def interrupt_writer(store: Store) -> object:
        """The run also closes a connection that reads the state before it."""
        return as_it_is(store) if method == "close" and not store.committed else interrupt()

    monkeypatch.setattr(Store, method, interrupt_writer)
    with pytest.raises(KeyboardInterrupt, match=message):
        Index.build(index, [root], Settings(jobs=1))
    if method != "close":
        assert index_files(index) == ["index.db"]


@pytest.mark.slow
def test_an_interrupt_during_the_commit_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root, index = tmp_path / "tree", tmp_path / "index.db"
    write_tree(root, 1)
    Index.build(index, [root], Settings(jobs=1))
    before = dump(index)
    write_tree(root, 2)
    commit = Store.commit

    def commit_and_interrupt(store: Store) -> None:
        commit(store)
        interrupt()

    with monkeypatch.context() as patched:
        patched.setattr(Store, "commit", commit_and_interrupt)
        with pytest.raises(KeyboardInterrupt, match=WRITTEN):
            Index.build(index, [root], Settings(jobs=1))
    assert dump(index) != before


def test_an_interrupt_while_the_report_is_printed_says_that_the_index_is_complete(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write_tree(tmp_path / "tree", 1)
    monkeypatch.setattr("codelens.cli.index._report", interrupt)
    assert main(["index", str(tmp_path / "tree"), "--db", str(tmp_path / "index.db"), "-q"]) == 130
    assert capsys.readouterr().err == f"codelens: interrupted; {WRITTEN}\n"


INTERRUPTED_AT_EXIT = """
import atexit, signal, sys
import codelens.cli.main as cli
atexit.register(signal.raise_signal, signal.SIGINT)
sys.argv = ["codelens", "--version"]
cli.run()
"""


@pytest.mark.usefixtures("interruptible")
def test_an_interrupt_at_the_interpreters_exit_changes_nothing() -> None:
    ran = subprocess.run([sys.executable, "-c", INTERRUPTED_AT_EXIT], capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stderr) == (0, "")
