"""One worker process as seen by its owner: start, send, receive, kill, and how it ended."""

from __future__ import annotations

import contextlib
import math
import os
import signal
import subprocess
import tempfile
import threading
import time
from typing import IO, Any

from codelens.errors import CodelensError
from codelens.processes.child import read_frame, write_frame
from codelens.processes.python import environment, start

_ONE_THREAD = {f"{library}_NUM_THREADS": "1" for library in ("OMP", "OPENBLAS", "MKL", "VECLIB_MAXIMUM", "NUMEXPR")}
KEY = "CODELENS_API_KEY"
"""The key of a model's endpoint. Parsers do not need it, so a grammar that a hostile file has taken over finds none."""
_CPU_LIMIT_SIGNAL: int = getattr(signal, "SIGPROF", 0)


class WorkerProcess:
    """A process that runs `main` of one of our modules. It ends with the thread that started it.

    One thread owns it; other threads may only call `kill` and `check`.
    """

    def __init__(
        self,
        module: str,
        greeting: object,
        cpu_seconds: float = 0,
        wall_seconds: float = math.inf,
        trusted: bool = False,
    ) -> None:
        """`greeting` is the first message. The limits apply to each message; the process itself enforces `cpu_seconds`.

        A `trusted` process runs no grammars: it gets the key of a model's endpoint, and its stderr is shown.
        """
        self._cpu_seconds, self._wall_seconds = cpu_seconds, wall_seconds
        self._errors = None if trusted else tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the process
        self._killed = threading.Event()
        self._overdue = False
        self._busy_since: float | None = time.monotonic()
        self._process = start(
            "codelens.processes.child:work",
            *(module, str(os.getpid())),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            env=_environment(trusted),
        )
        self.send(greeting)

    def greet(self) -> None:
        """Wait until the process is ready. Raises CodelensError if it ends before that, unless we killed it."""
        if self.receive(more=False) is None and not self._killed.is_set():
            raise self._unborn()

    def _unborn(self) -> CodelensError:
        cause = f"exit code {self._process.wait()}"
        if self._errors:
            self._errors.seek(0)
            cause = f"({cause}): " + self._errors.read().decode("utf-8", "replace").strip().rpartition("\n")[2]
        return CodelensError(
            f"a worker process ended at its start {cause}", "`codelens doctor` checks the installation"
        )

    def send(self, message: object) -> None:
        """Send a message. A dead process raises nothing here; its missing answer shows it."""
        self._busy_since = self._busy_since or time.monotonic()
        with contextlib.suppress(OSError):
            write_frame(_pipe(self._process.stdin), message)

    def receive(self, more: bool) -> bytes | None:
        """The next answer; None if the process has ended. `more` says that further answers are due."""
        self._busy_since = self._busy_since or time.monotonic()
        answer = read_frame(_pipe(self._process.stdout))
        self._busy_since = time.monotonic() if more else None
        return answer

    def rest(self) -> None:
        """Do not count the time until the next `receive`: the process may have to wait for us."""
        self._busy_since = None

    def kill(self) -> None:
        """End the process at once; it holds nothing that could be lost."""
        self._killed.set()
        self._process.kill()

    def end(self, seconds: float) -> None:
        """Let an idle process end by itself, so that its libraries leave nothing behind; kill it if that takes longer."""
        with contextlib.suppress(OSError):
            _pipe(self._process.stdin).close()
        try:
            self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.kill()

    def check(self) -> None:
        """Kill the process if it has worked on one message longer than its limit."""
        since = self._busy_since
        if since is not None and time.monotonic() - since > self._wall_seconds:
            self._overdue = True
            self._process.kill()

    def bury(self) -> str:
        """Wait for the process to end and close its pipes. Returns how it ended, as a predicate."""
        code = self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout, self._errors):
            if pipe:
                with contextlib.suppress(OSError):
                    pipe.close()
        if self._overdue:
            return f"ran over {self._wall_seconds:g} s"
        if code == -_CPU_LIMIT_SIGNAL:
            return f"ran over {self._cpu_seconds:g} s"
        return f"crashed ({_ending(code)})"


def _environment(trusted: bool) -> dict[str, str]:
    return {k: v for k, v in (environment() | _ONE_THREAD).items() if trusted or k != KEY}


def _ending(code: int) -> str:
    if code >= 0:
        return f"exit code {code}"
    try:
        return signal.Signals(-code).name
    except ValueError:
        return f"signal {-code}"


def _pipe(pipe: IO[bytes] | None) -> Any:
    assert pipe is not None
    return pipe
