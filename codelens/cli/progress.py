"""Shows the progress of an index run on stderr: a bar on a terminal if the work takes a while, or JSON lines for programs."""

import json
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from codelens.model.runs import Progress as Step
from codelens.render.visible import escape_text

PATIENCE_SECONDS = 0.3  # Seconds before a bar appears
JSON_SECONDS = 0.1  # Least seconds between two JSON lines of the same phase

Watch = Callable[[Step], None] | None


@contextmanager
def show_progress(how: str, quiet: bool) -> Iterator[Watch]:
    """Provide the callback for each step; None if progress is not shown."""
    if how == "json":
        yield _write_json_lines()
    elif how == "auto" and not quiet and sys.stderr.isatty():
        bar = _Bar()
        try:
            yield bar
        finally:
            if bar.progress is not None:
                bar.progress.stop()
    else:
        yield None


def write_json_step(**step: Any) -> None:
    """Write one step as a JSON object on a line of stderr."""
    sys.stderr.write(json.dumps({"type": "progress", **step}) + "\n")
    sys.stderr.flush()


def _write_json_lines() -> Callable[[Step], None]:
    """Make a callback that writes each change of phase, and a step every JSON_SECONDS in between."""
    phase, next_line = "", 0.0

    def watch(step: Step) -> None:
        nonlocal phase, next_line
        now = time.monotonic()
        if step.phase != phase or now >= next_line or step.done == step.total:
            phase, next_line = step.phase, now + JSON_SECONDS
            write_json_step(phase=step.phase, done=step.done, total=step.total, path=step.path)

    return watch


class _Bar:
    """A bar that appears after PATIENCE_SECONDS, and leaves no text behind."""

    def __init__(self) -> None:
        self._since = time.monotonic()
        self.progress: Any = None

    def __call__(self, step: Step) -> None:
        if self.progress is None:
            if time.monotonic() - self._since < PATIENCE_SECONDS:
                return
            from rich.console import Console
            from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
            from rich.table import Column

            path = TextColumn("{task.fields[path]}", markup=False, table_column=Column(ratio=1, no_wrap=True))
            phase = TextColumn("{task.description:6}")
            columns = (phase, BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(), path)
            self.progress = Progress(*columns, console=Console(stderr=True), transient=True, expand=True)
            self.progress.add_task("", total=None, path="")  # the task with number 0
            self.progress.start()
        counts: dict[str, Any] = {"completed": step.done, "total": step.total or None}
        self.progress.update(0, description=step.phase, path=escape_text(step.path), **counts)
