"""One worker process as its owner sees it: start, send, receive, kill, and what it died of."""

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
from codelens.processes.frames import read_frame, write_frame
from codelens.processes.python import start

_ONE_THREAD = {f"{library}_NUM_THREADS": "1" for library in ("OMP", "OPENBLAS", "MKL", "VECLIB_MAXIMUM", "NUMEXPR")}
KEY = "CODELENS_API_KEY"
"""Of a model's endpoint, which no parser asks: a grammar that a hostile file has taken over finds none."""
_CPU_LIMIT_SIGNAL: int = getattr(signal, "SIGPROF", 0)


class WorkerProcess:
    """A process that runs the `main` of one of our modules, and ends with the thread that started it.

    One thread owns it; others may only call `kill` and `check`.
    """

    def __init__(
        self,
        module: str,
        greeting: object,
        cpu_seconds: float = 0,
        wall_seconds: float = math.inf,
        trusted: bool = False,
    ) -> None:
        """`greeting` is its first message. The limits are for one message; `cpu_seconds` is only told, it holds that itself.

        One that is `trusted`, since it reads no grammar, has the key of a model's endpoint and shows its errors.
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
            extra=_ONE_THREAD.items(),
            without=() if trusted else (KEY,),
        )
        self.send(greeting)

    def greet(self) -> None:
        """Wait until it is ready. Raises CodelensError if it ends before, unless we ended it."""
        if self.receive(more=False) is None and not self._killed.is_set():
            raise self._unborn()

    def _unborn(self) -> CodelensError:
        said = f"exit code {self._process.wait()}"
        if self._errors:
            self._errors.seek(0)
            said = f"({said}): " + self._errors.read().decode("utf-8", "replace").strip().rpartition("\n")[2]
        return CodelensError(f"a worker process ended at its start {said}", "`codelens doctor` checks the installation")

    def send(self, message: object) -> None:
        """To a dead process this says nothing: it is noticed when its answer does not come."""
        self._busy_since = self._busy_since or time.monotonic()
        with contextlib.suppress(OSError):
            write_frame(_pipe(self._process.stdin), message)

    def receive(self, more: bool) -> bytes | None:
        """The next answer; None if the process has ended. `more` says that it has other messages to answer after it."""
        self._busy_since = self._busy_since or time.monotonic()
        answer = read_frame(_pipe(self._process.stdout))
        self._busy_since = time.monotonic() if more else None
        return answer

    def rest(self) -> None:
        """It may have to wait for us, until `receive` is called: that counts as no work."""
        self._busy_since = None

    def kill(self) -> None:
        """End it at once; it holds nothing that could be lost."""
        self._killed.set()
        self._process.kill()

    def check(self) -> None:
        """Kill it if it has worked on one message for longer than its wall time."""
        since = self._busy_since
        if since is not None and time.monotonic() - since > self._wall_seconds:
            self._overdue = True
            self._process.kill()

    def bury(self) -> str:
        """Wait for its end and release its pipes. Says what it died of, as a predicate."""
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
