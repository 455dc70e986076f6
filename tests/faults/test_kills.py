"""An index run killed at random moments: what was committed stays, what is there is whole, and the next run ends the work.

The moments are drawn over a whole run with its end (optimize, VACUUM, verify, swap), which is drawn more often than its
length would have it. A killed run's file is opened first as a reader would, then by the next run.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import pytest

from codelens.config import Settings
from codelens.errors import IndexCorrupt
from codelens.index import Index
from codelens.indexing.build import BUILDING
from codelens.runs import Progress
from codelens.store.connection import put_to_rest
from codelens.store.store import Store
from tests.dump import dump, orphans

KILLS = 30
"""In each of the two tests."""
SEED = 4
LATE = {"indexed": 0.15, "linked": 0.45}
"""Of the kills fall after the last document was read, or linked: there a build is finished and swapped in, an update committed."""
FILES = 40
pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="kills a whole process group")


def write_tree(root: Path, version: int) -> None:
    for number in range(FILES):
        folder = root / f"part{number % 7}"
        folder.mkdir(parents=True, exist_ok=True)
        body = "\n".join(
            f'def task_{number}_{i}(items, limit={version}):\n    """Do task {i} of part {number}."""\n    return run(items, {i})\n'
            for i in range(6)
        )
        (folder / f"module{number}.py").write_text(body)


@dataclass
class Running:
    """An index run in a process group of its own, and the lines that it says: begun, index, indexed, link, linked, verify, done."""

    pid: int
    lines: IO[str]


def start(index: Path, root: Path) -> Running:
    """Forked, since importing everything anew would be half of such a short run."""
    reading, writing = os.pipe()
    if pid := os.fork():
        os.close(writing)
        return Running(pid, os.fdopen(reading))
    try:
        os.setsid()
        os.close(reading)

        def say(what: str) -> None:
            os.write(writing, f"{what}\n".encode())

        def progress(step: Progress) -> None:
            say(f"{step.phase}ed" if step.total and step.done == step.total else step.phase)

        say("begun")
        Index.build(index, [root], Settings(jobs=1, commit_bytes=2_000), progress=progress)
        say("done")
    finally:
        os._exit(0)


class Chance:
    """Draws the moment of a kill: a number of progress lines to wait for, and a while after the last of them."""

    def __init__(self, tails: dict[str, float]) -> None:
        self._random, self._tails = random.Random(SEED), tails
        self.kills = 0
        """Of runs that had not ended."""
        self.ends: dict[str, int] = {}
        """The last line that was heard before a kill → how often."""

    def run_and_kill(self, index: Path, root: Path) -> bool:
        """Start an index run and kill it with its workers; whether it had ended before."""
        run = start(index, root)
        awaited = self._random.choices(["", *LATE], [1 - sum(LATE.values()), *LATE.values()])[0]
        lines, heard = self._random.randrange(FILES // 2), ""
        while line := run.lines.readline():
            heard = line.strip()
            lines -= 1
            if heard == awaited if awaited else lines < 0:
                break
        time.sleep(self._random.random() * self._tails.get(awaited, 0.02))
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(run.pid, signal.SIGKILL)
        rest = run.lines.read().split()
        run.lines.close()
        os.waitpid(run.pid, 0)
        ended = [heard, *rest][-1]
        self.ends[ended] = self.ends.get(ended, 0) + 1
        self.kills += ended != "done"
        if awaited:  # how long an end takes differs from machine to machine and from minute to minute
            self._tails[awaited] *= 0.8 if ended == "done" else 1.25
        return ended == "done"


def finish(index: Path, root: Path) -> dict[str, float]:
    """A whole run; the seconds to its end from the last document read and from the last one linked."""
    run, heard, at = start(index, root), "", dict[str, float]()
    while line := run.lines.readline():
        heard = line.strip()
        at[heard] = time.perf_counter()
    assert heard == "done"
    run.lines.close()
    os.waitpid(run.pid, 0)
    return {
        line: at["done"] - at[line] for line in LATE if line in at
    }  # a run that goes on may have nothing left to read


def committed(building: Path) -> set[str]:
    """Documents that an unfinished build has; reading it rolls a half-written batch back, as the next run would."""
    if not building.exists():
        return set()
    with Store.write(building) as store:
        store.verify()
        return {row.path for row in store.documents.rows()}


def beside(index: Path) -> list[str]:
    return sorted(file.name for file in index.parent.glob(f"{index.name}*"))


def test_a_killed_build_goes_on_where_it_was(tmp_path: Path) -> None:
    root, index, fresh = tmp_path / "tree", tmp_path / "index.db", tmp_path / "fresh.db"
    write_tree(root, 1)
    chance = Chance(finish(fresh, root))
    expected = dump(fresh)
    done, resumed = set[str](), 0
    while chance.kills < KILLS:
        chance.run_and_kill(index, root)
        if index.exists():  # swapped in: whole, though the run may not have come to say so
            with Store.read(index) as store:
                store.load_vectors()
                store.verify()
            assert dump(index) == expected
            index.unlink()
            done = set()
        else:
            now = committed(index.with_name(index.name + BUILDING))
            assert now >= done
            resumed += bool(done) and now > done
            done = now
    finish(index, root)
    assert dump(index) == expected
    assert beside(index) == ["index.db"]
    assert resumed >= 3, "builds did go on"
    assert len(chance.ends) >= 3, chance.ends


def test_a_killed_update_leaves_the_old_state_or_the_new(tmp_path: Path) -> None:
    root, index = tmp_path / "tree", tmp_path / "index.db"
    write_tree(root, 1)
    finish(index, root)
    write_tree(root, 2)
    chance, kept, changed, version = Chance(finish(index, root)), 0, 0, 2
    while chance.kills < KILLS:
        version += 1
        write_tree(root, version)
        before = snapshot(index)
        ended = chance.run_and_kill(index, root)
        after = snapshot(index)
        assert after != before if ended else True
        kept, changed = kept + (after == before), changed + (after != before)
    assert kept >= 5 and changed >= 5, (kept, changed, chance.ends)  # most of an update is before its one commit
    finish(index, root)
    assert beside(index) == ["index.db"]
    finish(tmp_path / "fresh.db", root)
    assert dump(index) == dump(tmp_path / "fresh.db")
    assert orphans(index) == []


def snapshot(index: Path) -> str:
    """As a reader sees it right after the kill: whole, and wholly of one state."""
    with Store.read(index) as store:
        store.load_vectors()
        store.verify()
        found = store.meta("snapshot")
        assert found == store.documents.content_id()
        assert len(store.documents.rows()) == FILES
    return found


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


@pytest.mark.skipif(sys.platform != "linux", reason="ps --ppid")
@pytest.mark.usefixtures("interruptible")
@pytest.mark.parametrize("update", [False, True])
def test_an_interrupt_ends_a_run_at_once(tmp_path: Path, update: bool) -> None:
    root, index = tmp_path / "tree", tmp_path / "index.db"
    write_tree(root, 1)
    if update:
        finish(index, root)
        before = dump(index)
        write_tree(root, 2)
    command = [sys.executable, "-m", "codelens", "index", str(root), "--db", str(index), "--progress", "json", "-q"]
    process = subprocess.Popen(
        command, start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )
    assert process.stderr
    while '"done": ' not in process.stderr.readline():
        pass
    workers = [int(pid) for pid in subprocess.check_output(["pgrep", "-P", str(process.pid)], text=True).split()]
    assert workers
    sent = time.monotonic()
    os.killpg(process.pid, signal.SIGINT)
    said = [line for line in process.stderr.read().splitlines() if not line.startswith("{")]
    assert process.wait() == 130
    assert time.monotonic() - sent < 3
    assert said == ["codelens: interrupted; `codelens index` goes on where it was"]
    assert not any(Path(f"/proc/{pid}").exists() for pid in workers)
    if update:
        assert beside(index) == ["index.db"]
        assert dump(index) == before
    Index.build(index, [root], Settings(jobs=1))
    assert beside(index) == ["index.db"]
    assert orphans(index) == []
