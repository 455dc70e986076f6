"""A pool of worker processes that call functions. Workers start when they are needed and are replaced when they die.

Arguments and results are pickled; both ends are our own code. The pool is ours because ProcessPoolExecutor puts the
current folder, which is somebody's repository, on the import path of its processes, and because its processes outlive a
parent that is killed.
"""

from __future__ import annotations

import gc
import marshal
import pickle
import threading
import traceback
from collections import deque
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, Future
from typing import Any, ParamSpec, Self, TypeVar

from codelens.processes.child import connection, read_frame, write_frame
from codelens.processes.worker import WorkerProcess

STOP_SECONDS = 0.05  # Time between two attempts to end a worker, whose thread may just be starting another process

OBJECTS = 100_000  # See `codelens/cli/warm.py`
END_SECONDS = 2.0  # How long an idle worker may take to end when the pool is closed

P = ParamSpec("P")
T = TypeVar("T")


class WorkerPool:
    """Up to `count` processes, which threads can share. Close it."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._waiting: deque[tuple[Future[Any], bytes]] = deque()
        self._workers: list[_PoolThread] = []
        self._idle = 0
        self._closed = False
        self._changed = threading.Condition()

    def submit(self, function: Callable[P, T], *arguments: P.args, **keywords: P.kwargs) -> Future[T]:
        """Call a module-level function in a worker. Raises what pickle raises.

        The future raises what the function raised, BrokenExecutor if the worker died, and CodelensError if none could
        be started.
        """
        call = pickle.dumps((function, arguments, keywords))
        future = Future[T]()
        with self._changed:
            if self._closed:
                raise RuntimeError("the pool is closed")
            self._waiting.append((future, call))
            if len(self._waiting) > self._idle and len(self._workers) < self._count:
                self._workers.append(_PoolThread(self))
            self._changed.notify()
        return future

    def next_call(self) -> tuple[Future[Any], bytes] | None:
        """Wait for a call, in the thread of a worker; None when the pool is closed."""
        with self._changed:
            self._idle += 1
            while not self._waiting and not self._closed:
                self._changed.wait()
            self._idle -= 1
            return self._waiting.popleft() if self._waiting else None

    def close(self) -> None:
        """End all workers, whatever they are doing, and cancel the calls that wait."""
        with self._changed:
            self._closed = True
            waiting = list(self._waiting)
            self._waiting.clear()
            self._changed.notify_all()
        for future, _ in waiting:
            future.cancel()
        for worker in self._workers:
            worker.stop()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *fault: object) -> None:
        self.close()


class _PoolThread:
    """A thread with the process that it owns, if that has started."""

    def __init__(self, pool: WorkerPool) -> None:
        self._pool = pool
        self._process: WorkerProcess | None = None
        self._busy = False
        self._thread = threading.Thread(target=self._serve, name="codelens-pool", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Kill a busy process. An idle one ends by itself, or semaphores of its libraries would stay behind."""
        while self._thread.is_alive():
            if self._busy and (process := self._process):
                process.kill()
            self._thread.join(STOP_SECONDS)

    def _serve(self) -> None:
        while (given := self._pool.next_call()) is not None:
            future, call = given
            if future.set_running_or_notify_cancel():
                self._busy = True
                try:
                    future.set_result(self._answer(call))
                except BaseException as fault:  # the caller must hear of every fault
                    future.set_exception(fault)
                self._busy = False
        if process := self._process:
            process.end(END_SECONDS)
        self._bury()

    def _answer(self, call: bytes) -> Any:
        process = self._process or self._started()
        process.send(call)
        answer = process.receive(more=False)
        if answer is None:
            raise BrokenExecutor(f"a worker process {self._bury()}")
        went_well, result = pickle.loads(marshal.loads(answer))
        if not went_well:
            raise result
        return result

    def _started(self) -> WorkerProcess:
        process = self._process = WorkerProcess("codelens.processes.pool", None, trusted=True)
        try:
            process.greet()
        except BaseException:
            self._bury()
            raise
        return process

    def _bury(self) -> str:
        process, self._process = self._process, None
        if process is None:
            return ""
        process.kill()
        return process.bury()


def main() -> None:
    """Answer calls from standard input until it ends. Runs inside the worker process."""
    gc.set_threshold(OBJECTS)
    inbox, outbox = connection()
    read_frame(inbox)  # the greeting, which is empty
    write_frame(outbox, "ready")
    while (frame := read_frame(inbox)) is not None:
        write_frame(outbox, _answer(marshal.loads(frame)))


def _answer(call: bytes) -> bytes:
    """The pickled pair (success, result or exception)."""
    try:
        function, arguments, keywords = pickle.loads(call)
        return pickle.dumps((True, function(*arguments, **keywords)))
    except Exception as fault:
        fault.add_note(f"in a worker process:\n{traceback.format_exc()}")
        return pickle.dumps((False, fault))
