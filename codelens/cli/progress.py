"""How far an index run is, on stderr: a bar on a terminal once the work takes a while, or JSON lines for machines."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from codelens.model.runs import Progress
from codelens.render.visible import for_terminal

PATIENCE_SECONDS = 0.3  # Seconds; work that ends sooner shows no bar
JSON_SECONDS = 0.1  # Between two JSON lines of the same phase

Watch = Callable[[Progress], None] | None


@contextmanager
def watcher(how: str, quiet: bool) -> Iterator[Watch]:
    """The callback for each step; None if progress is not shown."""
    if how == "json":
        yield _JsonLines()
    elif how == "auto" and not quiet and sys.stderr.isatty():
        bar = _Bar()
        try:
            yield bar
        finally:
            bar.close()
    else:
        yield None


class _JsonLines:
    """One object a line: each change of phase, and now and then between."""

    def __init__(self) -> None:
        self._phase, self._next = "", 0.0

    def __call__(self, step: Progress) -> None:
        now = time.monotonic()
        if step.phase == self._phase and now < self._next and step.done != step.total:
            return
        self._phase, self._next = step.phase, now + JSON_SECONDS
        record = {"type": "progress", "phase": step.phase, "done": step.done, "total": step.total, "path": step.path}
        sys.stderr.write(json.dumps(record) + "\n")
        sys.stderr.flush()


class _Bar:
    """A bar that appears after a while, and goes without a trace."""

    def __init__(self) -> None:
        self._since = time.monotonic()
        self._progress: Any = None
        self._task: Any = None

    def __call__(self, step: Progress) -> None:
        if self._progress is None:
            if time.monotonic() - self._since < PATIENCE_SECONDS:
                return
            self._open()
        self._progress.update(
            self._task,
            description=step.phase,
            completed=step.done,
            total=step.total or None,
            path=for_terminal(step.path),
        )

    def _open(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
        from rich.table import Column

        path = TextColumn("{task.fields[path]}", markup=False, table_column=Column(ratio=1, no_wrap=True))
        columns = (TextColumn("{task.description:6}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(), path)
        self._progress = Progress(*columns, console=Console(stderr=True), transient=True, expand=True)
        self._task = self._progress.add_task("", total=None, path="")
        self._progress.start()

    def close(self) -> None:
        if self._progress is not None:
            self._progress.stop()
