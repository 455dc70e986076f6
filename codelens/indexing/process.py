"""One worker process as the run sees it: start, send, receive, kill, and what it died of."""

from __future__ import annotations

import contextlib
import math
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import IO, Any

from codelens.errors import CodelensError
from codelens.indexing.wire import read_frame, write_frame

_BOOT = (
    "import signal, sys; signal.signal(signal.SIGINT, signal.SIG_IGN); sys.path[:] = sys.argv[1:]; "
    "from {program} import main; main()"
)
_ONE_THREAD = {f"{library}_NUM_THREADS": "1" for library in ("OMP", "OPENBLAS", "MKL", "VECLIB_MAXIMUM", "NUMEXPR")}
KEY = "CODELENS_API_KEY"
"""Of a model's endpoint, which no worker asks: a grammar that a hostile file has taken over finds none."""
_CPU_LIMIT_SIGNAL: int = getattr(signal, "SIGPROF", 0)


class WorkerProcess:
    """A process that runs the `main` of one of our modules. One thread owns it; others may only call `kill` and `check`."""

    def __init__(self, program: str, greeting: object, cpu_seconds: float = 0, wall_seconds: float = math.inf) -> None:
        """`greeting` is its first message. The limits are for one message; `cpu_seconds` is only told, it holds that itself."""
        self._cpu_seconds, self._wall_seconds = cpu_seconds, wall_seconds
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the process
        self._killed = threading.Event()
        self._overdue = False
        self._busy_since: float | None = time.monotonic()
        self._process = subprocess.Popen(
            # -P: the current folder is somebody's repository, and must not be on the path even for a moment
            [sys.executable, "-P", "-c", _BOOT.format(program=program), *import_path()],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            env={**{k: v for k, v in os.environ.items() if k != KEY}, **_ONE_THREAD},
        )
        self.send(greeting)

    def greet(self) -> None:
        """Wait until it is ready. Raises CodelensError if it ends before, unless we ended it."""
        if self.receive(more=False) is None and not self._killed.is_set():
            raise self._unborn()

    def _unborn(self) -> CodelensError:
        code = self._process.wait()
        self._errors.seek(0)
        last = self._errors.read().decode("utf-8", "replace").strip().rpartition("\n")[2]
        return CodelensError(
            f"a worker process ended at its start (exit code {code}): {last}",
            "`codelens doctor` checks the installation",
        )

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
        """Wait for its end and release its pipes. Says what it died of, in words for the fault of a file."""
        code = self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout, self._errors):
            with contextlib.suppress(OSError):
                _pipe(pipe).close()
        if self._overdue:
            return f"grammar ran over {self._wall_seconds:g} s"
        if code == -_CPU_LIMIT_SIGNAL:
            return f"grammar ran over {self._cpu_seconds:g} s"
        return f"grammar crashed ({_ending(code)})"


def _ending(code: int) -> str:
    if code >= 0:
        return f"exit code {code}"
    try:
        return signal.Signals(-code).name
    except ValueError:
        return f"signal {-code}"


def import_path() -> list[str]:
    """Where another process is to import from: as we do, without the current folder, and with the place of this package."""
    own = str(Path(__file__).parents[2])
    path = [entry for entry in sys.path if entry]
    return path if own in path else [*path, own]


def _pipe(pipe: IO[bytes] | None) -> Any:
    assert pipe is not None
    return pipe
