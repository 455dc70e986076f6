"""Commands leave no processes behind, whether they are killed or terminated."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from codelens.config import Settings
from codelens.index import Index
from codelens.processes.pool import WorkerPool
from codelens.store.store import Store

psutil = pytest.importorskip("psutil")
httpx = pytest.importorskip("httpx")
for _needed in ("ir_measures", "mcp", "starlette", "watchfiles"):
    pytest.importorskip(_needed, reason="needs the extras eval, mcp, serve and watch")

pytestmark = pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
PATIENCE = 120.0  # Time limit for a command's work, for the slowest machine
LEFT_SECONDS = 30.0
"""Time after which a process counts as left behind. Two seconds are promised, but this machine may be busy."""
FILES = 450  # Above 400 files, two processes link them
WORKER, POOL = "derive", "calls"
WATCH, BUILDER = "codelens.cli.main:run", "codelens.server.builder:main"
HELLO = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}


@dataclass(frozen=True)
class Case:
    """A command, the processes that it must have started before it ends, and its ending after SIGTERM."""

    line: str
    awaited: tuple[str, ...]
    code: int
    said: str = ""
    begin: Callable[[subprocess.Popen[str]], None] = lambda process: None


def ask(process: subprocess.Popen[str]) -> None:
    assert process.stdout
    address = process.stdout.readline().strip()
    assert httpx.get(f"{address}api/search?q=of_module", timeout=PATIENCE).status_code == 200


def shake_hands(process: subprocess.Popen[str]) -> None:
    assert process.stdin
    asked = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": HELLO}
    process.stdin.write(json.dumps(asked) + "\n")
    process.stdin.flush()


GOES_ON = "codelens: terminated; `codelens index` goes on where it was\n"
OVER = "codelens: terminated\n"
CASES = {
    "index": Case("index -q --jobs 2 tree", (WORKER, WORKER), 143, GOES_ON),
    "index, linking": Case("index -q --jobs 2 tree", (POOL, POOL), 143, GOES_ON),
    "watch": Case("watch -q tree", (WORKER,), 0),
    "eval": Case("eval -q --jobs 2 --indexes indexes tasks.jsonl", (POOL, POOL), 143, OVER),
    "serve": Case("serve --port 0 --workers 2 --db indexes/a.db", (POOL,), 143, OVER, ask),
    "serve, watching": Case("serve --port 0 --db indexes/a.db --watch", (POOL, WATCH), 143, OVER, ask),
    "serve, no workers": Case("serve --port 0 --workers 0 --db indexes/a.db --watch", (WATCH,), 143, OVER, ask),
    "mcp, building": Case("mcp tree", (BUILDER, WORKER), 0, begin=shake_hands),
    "mcp, watching": Case("mcp --db indexes/a.db --watch tree", (WATCH,), 0, begin=shake_hands),
}


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("prepared")
    for number in range(FILES):
        text = "".join(f"def of_module_{number}_{n}(a, b):\n    return of_module_0_{n}(b, a)\n\n\n" for n in range(9))
        (folder / "tree").mkdir(exist_ok=True)
        (folder / f"tree/m{number}.py").write_text(text)
    small = folder / "small"
    small.mkdir()
    for number in range(9):
        shutil.copy(folder / f"tree/m{number}.py", small)
    (folder / "indexes").mkdir()
    tasks = []
    for name in "ab":
        Index.build(folder / f"indexes/{name}.db", [small], Settings(jobs=1))
        for number in range(5000):
            relevant = [{"symbol": "of_module_1_1", "files": ["m1.py"]}]
            tasks.append({"id": f"{name}{number}", "repo": name, "query": f"of module {number}", "relevant": relevant})
    (folder / "tasks.jsonl").write_text("".join(json.dumps(task) + "\n" for task in tasks))
    return folder


@contextmanager
def begun(
    case: Case, prepared: Path, folder: Path
) -> Iterator[tuple[subprocess.Popen[str], list[psutil.Process], Path]]:
    """A command in the middle of its work, its descendants, and the file of its stderr."""
    work = folder / "work"
    shutil.copytree(prepared, work)
    for index in (work / "indexes").iterdir():  # as if each had been made there, from the same trees
        with Store.write(index, accepted=True) as store:
            store.sign_for_writing(index, [row.root for row in store.documents.list_repositories()])
    errors = folder / "errors"
    with errors.open("w") as said:
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", "codelens", *case.line.split()],
            cwd=work,
            text=True,
            stderr=said,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
    try:
        case.begin(process)
        yield process, await_children(process, case.awaited), errors
    finally:
        process.kill()
        process.communicate()


def await_children(process: subprocess.Popen[str], awaited: tuple[str, ...]) -> list[psutil.Process]:
    """All descendants, once those with these words in their command lines are among them."""
    end = time.monotonic() + PATIENCE
    while True:
        found = psutil.Process(process.pid).children(recursive=True)
        lines = [words(child) for child in found]
        if all(sum(word in line for line in lines) >= awaited.count(word) for word in awaited):
            return list(found)
        assert process.poll() is None, process.returncode
        assert time.monotonic() < end, lines
        time.sleep(0.02)


def words(process: psutil.Process) -> list[str]:
    try:
        return list(process.cmdline())
    except psutil.Error:
        return []


def lives(process: psutil.Process) -> bool:
    """True while a process runs; a zombie has ended."""
    try:
        return bool(process.is_running() and process.status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


def seconds_to_end(processes: list[psutil.Process]) -> float:
    """Time that the processes still lived, at most LEFT_SECONDS, after which they are killed."""
    began = time.monotonic()
    while any(map(lives, processes)) and time.monotonic() < began + LEFT_SECONDS:
        time.sleep(0.01)
    taken = time.monotonic() - began
    for process in processes:
        if lives(process):
            process.kill()
    return taken


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_killed(name: str, prepared: Path, tmp_path: Path) -> None:
    with begun(CASES[name], prepared, tmp_path) as (process, children, _):
        process.kill()
        assert seconds_to_end(children) < LEFT_SECONDS


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_terminated(name: str, prepared: Path, tmp_path: Path) -> None:
    """stderr has only the expected line: no traceback, and no warning about leftovers."""
    case = CASES[name]
    with begun(case, prepared, tmp_path) as (process, children, errors):
        process.terminate()
        assert process.wait(PATIENCE) == case.code
        assert seconds_to_end(children) < LEFT_SECONDS
        assert [line for line in errors.read_text().splitlines(True) if not line.startswith("codelens: serving")] == (
            [case.said] if case.said else []
        )


KILLED_WITH_WORKER = """
import os, signal, sys, time
import psutil
from codelens.processes.pool import WorkerPool
pool = WorkerPool(1)
worker = pool.submit(os.getpid).result()
print(worker, flush=True)
kind = sys.argv[1]
used = psutil.Process(worker).cpu_times().user
if kind == "computing":
    pool.submit(sum, range(10**15))  # keeps the interpreter's lock: no other thread of Python runs, and no handler of a signal
    while psutil.Process(worker).cpu_times().user < used + 0.1:
        time.sleep(0.01)
elif kind == "waiting":
    pool.submit(time.sleep, 3600)
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.parametrize("kind", ["idle", "waiting", "computing"])
def test_a_worker_ends_when_its_parent_is_killed(kind: str) -> None:
    if kind == "computing" and sys.platform != "linux":
        pytest.skip("without prctl a thread polls for the parent, and native code can keep it from running")
    ran = subprocess.run([sys.executable, "-c", KILLED_WITH_WORKER, kind], stdout=subprocess.PIPE, check=False)
    assert ran.returncode == -signal.SIGKILL
    (pid,) = map(int, ran.stdout.split())
    assert not psutil.pid_exists(pid) or seconds_to_end([psutil.Process(pid)]) < LEFT_SECONDS


def test_workers_ignore_signals_to_the_whole_group() -> None:
    with WorkerPool(1) as pool:
        worker = pool.submit(os.getpid).result()
        for number in (signal.SIGINT, signal.SIGTERM):
            os.kill(worker, number)
        assert pool.submit(os.getpid).result() == worker
