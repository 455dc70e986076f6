"""A pool of worker processes that call functions. Workers start when they are needed and are replaced when they die.

Calls and results are pickled. A process that runs grammars is not trusted: of its results, only data is read.
ProcessPoolExecutor puts the current folder, which is somebody's repository, on the import path, its processes outlive a parent
that is killed, and one that dies ends its whole pool.
"""

from __future__ import annotations

import contextlib
import gc
import io
import math
import os
import pickle
import signal
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from collections import deque
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import BrokenExecutor, Future
from enum import Enum
from queue import SimpleQueue
from typing import Any, NamedTuple, ParamSpec, Self, TypeVar

from codelens.errors import CodelensError
from codelens.model.fast_dataclass import dataclass
from codelens.processes.child import claim_pipes, end_with_parent, read_frame, write_frame
from codelens.processes.python import filter_environment, start

STOP_SECONDS = 0.05  # Time between two attempts to end a worker, whose thread may just be starting another process
OBJECTS = 100_000  # See `codelens/cli/warm.py`
END_SECONDS = 2.0  # How long an idle worker may take to end when the pool is closed
SMALL_CALL = 1000  # Bytes. A pipe (4 kB or more) that its process does not read yet holds a few such calls
GIVE_UP_SECONDS = 10.0  # How long a closed pool waits for a thread that an interrupt may have left waiting
STREAM_AHEAD = 2  # Values of a stream that may wait for its reader
WATCH_SECONDS = 0.25  # Interval of checks for overdue workers, at most a quarter of their limit
KEY = "CODELENS_API_KEY"  # The key of a model's endpoint; workers do not get it, because a hostile file may take over a grammar
_ONE_THREAD = {f"{library}_NUM_THREADS": "1" for library in ("OMP", "OPENBLAS", "MKL", "VECLIB_MAXIMUM", "NUMEXPR")}
_CPU_LIMIT_SIGNAL: int = getattr(signal, "SIGPROF", 0)

P = ParamSpec("P")
T = TypeVar("T")


class WorkerDied(BrokenExecutor):
    """A worker process ended before it answered; `ending` says how, as a predicate: crashed (SIGSEGV)."""

    def __init__(self, ending: str) -> None:
        super().__init__(f"a worker process {ending}")
        self.ending = ending


@dataclass(frozen=True, slots=True)
class WorkerRules:
    """How the processes of a pool are started and limited."""

    purpose: str = "calls"  # Shown in lists of processes and threads
    initializer: Callable[[], object] | None = None  # Called first in each process; must be picklable
    calls_ahead: int = 1  # Calls that a process holds, so that it need not wait for the next one
    cpu_seconds: float = math.inf  # Named in the ending of a process that SIGPROF ended; the functions set the timer
    wall_seconds: float = math.inf  # Limit for each call, and for each value of a stream
    trusted: bool = True
    """A trusted process runs no grammars: it gets the key of a model's endpoint, its stderr is shown, and it may clean up."""


class PendingCall(NamedTuple):
    future: Future[Any]
    message: bytes  # Pickled function, arguments and keywords


class WorkerPool:
    """Up to `most` processes, which threads can share. Close it."""

    def __init__(self, most: int, rules: WorkerRules | None = None) -> None:
        self.most = most
        self.rules = rules or WorkerRules()
        self.is_closed = False
        self._waiting: deque[PendingCall] = deque()
        self._workers: list[_Worker] = []
        self._idle = 0
        self._changed = threading.Condition()

    def submit(self, function: Callable[P, T], *arguments: P.args, **keywords: P.kwargs) -> Future[T]:
        """Call a module-level function in a worker. The future raises what the function raised, WorkerDied if the worker died,
        and CodelensError if none could be started. The result of a generator function is a CallStream."""
        call = PendingCall(Future(), pickle.dumps((function, arguments, keywords), pickle.HIGHEST_PROTOCOL))
        with self._changed:
            if self.is_closed:
                raise RuntimeError("the pool is closed")
            self._waiting.append(call)
            if len(self._waiting) > self._idle and len(self._workers) < self.most:
                self._workers.append(_Worker(self))
                if len(self._workers) == 1 and self.rules.wall_seconds < math.inf:
                    threading.Thread(target=self._end_overdue, name="codelens-watch", daemon=True).start()
            self._changed.notify()
        return call.future

    def take_call(self, is_busy: bool) -> PendingCall | None:
        """Take the next call, for a worker's thread. An idle worker waits for it until the pool is closed. A busy one gets None
        instead of a large call: its process may be writing a result, and would not read a large message from the pipe."""
        with self._changed:
            if not is_busy:
                self._idle += 1
                self._changed.wait_for(lambda: self._waiting or self.is_closed)
                self._idle -= 1
            if not self._waiting or (is_busy and len(self._waiting[0].message) > SMALL_CALL):
                return None
            return self._waiting.popleft()

    def close(self) -> None:
        """End all workers, whatever they are doing, and cancel the calls that wait."""
        with self._changed:
            self.is_closed = True
            waiting, self._waiting = self._waiting, deque()
            self._changed.notify_all()
        for call in waiting:
            call.future.cancel()
        for worker in self._workers:
            worker.stop()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *fault: object) -> None:
        self.close()

    def _end_overdue(self) -> None:
        """Kill processes that exceed their time limit, until the pool is closed."""
        while not self.is_closed:
            time.sleep(min(WATCH_SECONDS, self.rules.wall_seconds / 4))
            for worker in self._workers:
                if process := worker.process:
                    process.kill_if_overdue()


class CallStream:
    """An iterator over what a generator function yields in a worker, as it arrives. The worker waits for the reader."""

    def __init__(self) -> None:
        self.answers: SimpleQueue[tuple[str, Any]] = SimpleQueue()  # Put there by the worker's thread
        self.room = threading.Semaphore(STREAM_AHEAD)  # Acquired by the worker's thread for each value

    def __iter__(self) -> Iterator[Any]:
        while True:
            kind, value = self.answers.get()
            self.room.release()
            if kind == "fault":
                raise value
            if kind == "result":
                return
            yield value


class _Worker:
    """A thread, the process that it owns, if that has started, and the calls that the process has not answered."""

    def __init__(self, pool: WorkerPool) -> None:
        self.process: WorkerProcess | None = None
        self._pool = pool
        self._calls: deque[PendingCall] = deque()
        self._stream: CallStream | None = None
        self._thread = threading.Thread(target=self._serve, name=f"codelens-{pool.rules.purpose}", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Kill a busy process. An idle one that is trusted ends by itself, or semaphores of its libraries would stay behind."""
        until = time.monotonic() + GIVE_UP_SECONDS
        while self._thread.is_alive() and time.monotonic() < until:
            if (process := self.process) and (self._calls or not self._pool.rules.trusted):
                process.kill()
            if stream := self._stream:
                stream.room.release()  # there is no reader any more
            self._thread.join(STOP_SECONDS)

    def _serve(self) -> None:
        """Answer calls until the pool is closed, then let the process end."""
        while self._send_calls():
            self._receive_answer()
        if self.process:
            self.process.end(END_SECONDS)
        self._close_process()

    def _send_calls(self) -> bool:
        """Send calls to the process, waiting for one if it has none; False when the pool is closed."""
        while len(self._calls) < self._pool.rules.calls_ahead and (call := self._pool.take_call(bool(self._calls))):
            if call.future.set_running_or_notify_cancel():
                self._calls.append(call)
                if self.process:
                    self.process.send(call.message)
        while self._calls and self._pool.is_closed:
            self._calls.popleft().future.set_exception(WorkerDied("was ended"))
        return bool(self._calls)

    def _receive_answer(self) -> None:
        """Complete the oldest call. If the process died, give its other calls to the next process."""
        try:
            if not (process := self.process):
                process = self.process = WorkerProcess(self._pool.rules)
                process.wait_until_ready()
                for call in self._calls:
                    process.send(call.message)
        except BaseException as fault:
            self._close_process()
            self._calls.popleft().future.set_exception(fault)
            return
        kind, value = self._receive(process)
        future = self._calls[0].future
        if kind == "item":
            self._stream = stream = CallStream()
            future.set_result(stream)
            while kind == "item":  # no faster than they are read
                stream.answers.put((kind, value))
                stream.room.acquire()
                kind, value = self._receive(process)
            stream.answers.put((kind, value))
            self._stream = None
        elif kind == "fault":
            future.set_exception(value)
        else:
            future.set_result(value)
        self._calls.popleft()

    def _receive(self, process: WorkerProcess) -> tuple[str, Any]:
        """Receive the next answer of `_pickle_answers`; a fault if the process has ended."""
        try:
            if (frame := process.receive()) is not None:
                is_trusted = self._pool.rules.trusted
                answer: Any = pickle.loads(frame) if is_trusted else _DataUnpickler(io.BytesIO(frame)).load()
                return answer  # type: ignore[no-any-return]
        except Exception as fault:  # it cannot be unpickled
            return "fault", fault
        return "fault", WorkerDied(self._close_process())

    def _close_process(self) -> str:
        """End the process, if there is one. Returns how it ended, as a predicate."""
        process, self.process = self.process, None
        return process.close() if process else ""


class WorkerProcess:
    """A process that runs `main`, and ends with the thread that started it. Other threads may only call `kill` and
    `kill_if_overdue`."""

    def __init__(self, rules: WorkerRules) -> None:
        self._rules = rules
        self._errors = None if rules.trusted else tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the process
        self._was_killed = self._is_overdue = False
        self._busy_since: float | None = time.monotonic()
        variables = filter_environment() | _ONE_THREAD
        self._process = start(
            "codelens.processes.pool:main",
            *(str(os.getpid()), rules.purpose),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            env={name: value for name, value in variables.items() if rules.trusted or name != KEY},
        )
        assert self._process.stdin and self._process.stdout
        self._inbox, self._outbox = self._process.stdin, self._process.stdout
        self.send(pickle.dumps(rules.initializer))

    def wait_until_ready(self) -> None:
        """Wait until the process is ready. Raises CodelensError if it ends before, unless we killed it."""
        if self.receive() is not None or self._was_killed:
            return
        cause = f"exit code {self._process.wait()}"
        if self._errors:
            self._errors.seek(0)
            cause = f"({cause}): " + self._errors.read().decode("utf-8", "replace").strip().rpartition("\n")[2]
        raise CodelensError(f"a worker process ended at its start {cause}", "`codelens doctor` checks the installation")

    def send(self, message: bytes) -> None:
        """Send a message. A dead process raises nothing here; its missing answer shows it."""
        self._busy_since = time.monotonic()
        with contextlib.suppress(OSError):
            write_frame(self._inbox, message)

    def receive(self) -> bytes | None:
        """Receive the next answer; None if the process has ended. The time between two calls does not count as its work: it may
        have to wait for us."""
        self._busy_since = time.monotonic()
        answer = read_frame(self._outbox)
        self._busy_since = None
        return answer

    def kill(self) -> None:
        """End the process at once; it holds nothing that could be lost."""
        self._was_killed = True
        self._process.kill()

    def end(self, seconds: float) -> None:
        """Let an idle process end by itself, so that its libraries leave nothing behind; kill it if that takes longer."""
        with contextlib.suppress(OSError):
            self._inbox.close()
        try:
            self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.kill()

    def kill_if_overdue(self) -> None:
        """Kill the process if it has worked on one message longer than its limit."""
        since = self._busy_since
        if since is not None and time.monotonic() - since > self._rules.wall_seconds:
            self._is_overdue = True
            self._process.kill()

    def close(self) -> str:
        """Kill the process if it runs, and close its pipes. Returns how it ended, as a predicate."""
        self.kill()
        code = self._process.wait()
        for pipe in (self._inbox, self._outbox, self._errors):
            if pipe:
                with contextlib.suppress(OSError):
                    pipe.close()
        if self._is_overdue:
            return f"ran over {self._rules.wall_seconds:g} s"
        if code == -_CPU_LIMIT_SIGNAL:
            return f"ran over {self._rules.cpu_seconds:g} s"
        try:
            name = f"exit code {code}" if code >= 0 else signal.Signals(-code).name
        except ValueError:
            name = f"signal {-code}"
        return f"crashed ({name})"


class _DataUnpickler(pickle.Unpickler):
    """An unpickler that accepts only the package's data classes and exceptions, and nothing else that a pickle may call."""

    def find_class(self, module: str, name: str) -> Callable[..., Any]:
        if (module, name) == ("builtins", "getattr"):
            return _find_member  # Python before 3.11.4 pickles a member of an enumeration as a call of getattr
        if module in ("builtins", "codelens.errors") or module.startswith("codelens.model."):
            value: Any = super().find_class(module, name)
            is_own = isinstance(value, type) and value.__module__ == module
            if is_own and (module != "builtins" or issubclass(value, Exception)):
                return value  # type: ignore[no-any-return]
        raise pickle.UnpicklingError(f"a worker process answered with {module}.{name}, which is not data")


def _find_member(enumeration: Any, name: str) -> Enum:
    """Find a member of an enumeration. Raises UnpicklingError if it is another class."""
    if not (isinstance(enumeration, type) and issubclass(enumeration, Enum)):
        raise pickle.UnpicklingError(f"a worker process answered with {name} of {enumeration}, which is not data")
    return enumeration[name]


def main() -> None:
    """Answer calls from standard input until it ends. Runs inside the worker process, whose parent's id is the first argument.
    SIGINT and SIGTERM reach the whole process group; the parent answers them."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    end_with_parent(int(sys.argv[1]))
    gc.set_threshold(OBJECTS)
    inbox, outbox = claim_pipes()
    if initialize := pickle.loads(read_frame(inbox) or pickle.dumps(None)):
        initialize()
    write_frame(outbox, b"")
    while (call := read_frame(inbox)) is not None:
        for answer in _pickle_answers(call):
            write_frame(outbox, answer)


def _pickle_answers(call: bytes) -> Iterator[bytes]:
    """Yield pickled pairs: (item, what a generator yields), then (result, result) or (fault, exception)."""
    try:
        function, arguments, keywords = pickle.loads(call)
        result = function(*arguments, **keywords)
        if isinstance(result, Generator):
            for value in result:
                yield pickle.dumps(("item", value), pickle.HIGHEST_PROTOCOL)
            result = None
        yield pickle.dumps(("result", result), pickle.HIGHEST_PROTOCOL)
    except Exception as fault:
        fault.add_note(f"in a worker process:\n{traceback.format_exc()}")
        yield pickle.dumps(("fault", fault))
