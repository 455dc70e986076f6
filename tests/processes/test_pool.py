"""Calls in worker processes: results, exceptions, death of a worker, closing."""

from __future__ import annotations

import gc
import operator
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, CancelledError
from pathlib import Path
from pickle import UnpicklingError
from typing import Any

import pytest

from codelens.cli.warm import OBJECTS
from codelens.errors import CodelensError, UsageError
from codelens.model.code import SkipReason, Span
from codelens.processes.pool import WorkerPool, WorkerRules


def test_calls_return_results_and_raise_faults() -> None:
    with WorkerPool(2) as pool:
        quotients = [pool.submit(operator.floordiv, 7, by) for by in (2, 0, 1)]
        assert [quotients[0].result(), quotients[2].result()] == [3, 7]
        with pytest.raises(ZeroDivisionError) as fault:
            quotients[1].result()
        assert any("in a worker process" in note for note in fault.value.__notes__)
        assert pool.submit(int, "12", base=3).result() == 5


def test_workers_collect_cycles_as_rarely_as_commands() -> None:
    with WorkerPool(1) as pool:
        assert pool.submit(gc.get_threshold).result()[0] == OBJECTS


def test_our_errors_keep_their_hints() -> None:
    with WorkerPool(1) as pool, pytest.raises(UsageError) as fault:
        pool.submit(refuse).result()
    assert (str(fault.value), fault.value.hint) == ("no", "say yes")


def refuse() -> None:
    raise UsageError("no", "say yes")


def test_processes_start_when_they_are_needed() -> None:
    with WorkerPool(2) as pool:
        assert len({pool.submit(os.getpid).result() for _ in range(5)}) == 1
        slow = [pool.submit(pid_after, 0.5) for _ in range(4)]
        assert len({one.result() for one in slow}) == 2


def pid_after(seconds: float) -> int:
    time.sleep(seconds)
    return os.getpid()


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
def test_a_worker_that_dies_costs_one_call() -> None:
    with WorkerPool(1) as pool:
        first = pool.submit(os.getpid).result()
        with pytest.raises(BrokenExecutor, match="SIGKILL"):
            pool.submit(os.kill, first, signal.SIGKILL).result()
        assert pool.submit(os.getpid).result() != first


@pytest.mark.parametrize(("function", "argument"), [(Path, "x"), (operator.attrgetter, "name"), (slice, 1)])
def test_only_data_is_read_of_a_process_that_is_not_trusted(function: Callable[[Any], Any], argument: object) -> None:
    with WorkerPool(1, WorkerRules(trusted=False)) as pool:
        with pytest.raises(UnpicklingError, match="which is not data"):
            pool.submit(function, argument).result()
        assert pool.submit(Span, 1, 2).result() == Span(1, 2)
        with pytest.raises(ValueError, match="invalid literal"):
            pool.submit(int, "x").result()


class CallOfGetattr:
    """What Python before 3.11.4 makes of a member of an enumeration."""

    def __init__(self, owner: type, name: str) -> None:
        self.parts = owner, name

    def __reduce__(self) -> tuple[Any, tuple[type, str]]:
        return getattr, self.parts


def pickle_as_call(owner: type, name: str) -> CallOfGetattr:
    return CallOfGetattr(owner, name)


def test_members_of_enumerations_are_data_in_every_python() -> None:
    with WorkerPool(1, WorkerRules(trusted=False)) as pool:
        assert pool.submit(pickle_as_call, SkipReason, "BINARY").result() is SkipReason.BINARY
        with pytest.raises(UnpicklingError, match="which is not data"):
            pool.submit(pickle_as_call, Span, "__init__").result()


def test_unpicklable_values_fail_the_call() -> None:
    with WorkerPool(1) as pool:
        with pytest.raises((AttributeError, TypeError)):
            pool.submit(print, threading.Lock())
        with pytest.raises(TypeError):
            pool.submit(threading.Lock).result()
        assert pool.submit(abs, -1).result() == 1


def test_closing_ends_busy_workers() -> None:
    pool = WorkerPool(1)
    assert pool.submit(abs, -1).result() == 1
    busy, waiting = pool.submit(time.sleep, 600), pool.submit(abs, -2)
    pool.close()
    with pytest.raises((BrokenExecutor, CancelledError)):
        busy.result(0)
    assert waiting.cancelled()
    with pytest.raises(RuntimeError):
        pool.submit(abs, -3)


def test_a_worker_that_cannot_start_fails_the_call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with WorkerPool(1) as pool:
        monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
        with pytest.raises(OSError):
            pool.submit(abs, -1).result()
        monkeypatch.setattr(sys, "executable", "/bin/false")
        with pytest.raises(CodelensError, match="a worker process ended at its start"):
            pool.submit(abs, -1).result()
        monkeypatch.undo()
        assert pool.submit(abs, -1).result() == 1


HOLDING = """
from codelens.processes.pool import WorkerPool

with WorkerPool(1) as pool:
    pool.submit(exec, "import multiprocessing, sys; sys.kept = multiprocessing.get_context('spawn').Lock()").result()
"""


@pytest.mark.skipif(sys.platform == "win32", reason="a lock is no file there")
def test_an_idle_worker_cleans_up_what_its_libraries_hold() -> None:
    """Killed with a semaphore, as tqdm and joblib make one, it would have Python warn of a leak."""
    command = [sys.executable, "-c", HOLDING]
    ran = subprocess.run(command, capture_output=True, text=True, env={"PYTHONPATH": str(Path(__file__).parents[2])})
    assert (ran.returncode, ran.stderr) == (0, "")
