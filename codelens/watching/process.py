"""A watch in a process of its own, for servers: an update must not take their time, and they must not wait for its end.

The process ends with the one that started it, however that ends: its stdin is a pipe that is then closed.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from threading import Thread
from typing import Any

from codelens.processes.python import start

END_SECONDS = 10.0
"""How long `stop` waits before it kills; the index stays valid either way. Chosen."""


class WatchProcess:
    """`codelens watch` over an index that is there, with the roots that it holds."""

    def __init__(
        self, index: Path, *, poll: float = 0.0, tell: Callable[[Mapping[str, Any]], None] | None = None
    ) -> None:
        """`tell` gets, in a thread of its own, each object of `--progress json`; other lines as {"type": "text", "text": …}."""
        arguments = ["watch", "--db", str(index.absolute()), "--until-eof", "--progress", "json"]
        self._process = start(
            "codelens.cli.main:run",
            *(*arguments, *(["--poll", str(poll)] if poll else [])),
            stdin=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=str(Path.cwd()),  # a command line: it looks for settings where ours did
        )
        self._reader = Thread(target=self._read, args=(tell,), name="codelens-watch-told", daemon=True)
        self._reader.start()

    def is_alive(self) -> bool:
        """Whether it still watches. It ends by itself where the index is removed or no root is left."""
        return self._process.poll() is None

    def stop(self) -> None:
        """End it; an update that is under way did not happen then."""
        if self._process.stdin:
            self._process.stdin.close()
        try:
            self._process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._reader.join(END_SECONDS)

    def _read(self, tell: Callable[[Mapping[str, Any]], None] | None) -> None:
        """To the end, also where nobody listens: a full pipe would stop the other side."""
        assert self._process.stderr
        with self._process.stderr as lines:
            for line in lines:
                if tell and line.startswith(b"{"):
                    tell(json.loads(line))
                elif tell:
                    tell({"type": "text", "text": line.decode("utf-8", "replace").rstrip()})
