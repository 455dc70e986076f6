"""Runs a watch in its own process, for servers: an update must not slow down their answers. It ends when its parent ends in any
way, because that closes the pipe that is its stdin."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from threading import Thread
from typing import Any

from codelens.processes.python import start

END_SECONDS = 10.0  # Time that `stop` waits before it kills the process; the index stays valid either way


class WatchProcess:
    """A process that runs `codelens watch` on an existing index with the roots that it holds."""

    def __init__(self, index: Path, *, report: Callable[[Mapping[str, Any]], None] | None = None) -> None:
        """`report` gets, in its own thread, each object of `--progress json`, and {"type": "text", "text": …} for other lines."""
        command = ("watch", "--db", str(index.absolute()), "--until-eof", "--progress", "json")
        folder = str(Path.cwd())  # the command line looks for settings in the same folder as we do
        pipe = subprocess.PIPE
        self._process = start("codelens.cli.main:run", *command, stdin=pipe, stderr=pipe, cwd=folder)
        self._reader = Thread(target=self._read_lines, args=(report,), name="codelens-watch-reader", daemon=True)
        self._reader.start()

    def is_alive(self) -> bool:
        """True while it watches. It ends by itself if the index is removed or no root is left."""
        return self._process.poll() is None

    def stop(self) -> None:
        """End the process; an update in progress is rolled back."""
        if self._process.stdin:
            self._process.stdin.close()
        try:
            self._process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._reader.join(END_SECONDS)

    def _read_lines(self, report: Callable[[Mapping[str, Any]], None] | None) -> None:
        """Read to the end even without a listener: a full pipe would block the process."""
        assert self._process.stderr
        with self._process.stderr as lines:
            for line in lines:
                if report and line.startswith(b"{"):
                    report(json.loads(line))
                elif report:
                    report({"type": "text", "text": line.decode("utf-8", "replace").rstrip()})
