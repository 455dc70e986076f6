"""The process that builds or updates an index for a server. It takes an order as JSON, and writes its progress as JSON lines.

Each line is {phase, done, total}; the last is {ended, wrote, error, hint, busy}. When the reader has gone, the process ends at
its next line, and keeps what was committed.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

from codelens.config import Settings
from codelens.errors import CodelensError, IndexBusy
from codelens.index import Index
from codelens.model.runs import Progress
from codelens.processes.child import end_at_eof

LINE_SECONDS = 0.2  # Least time between two lines of the same phase. People do not read faster.


def main() -> None:
    """Build the index that the JSON argument describes: index, roots, settings, as_indexed. Ends when stdin is closed."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    end_at_eof(signal.SIGTERM)
    request = json.loads(sys.argv[1])
    try:
        index, roots, settings = (
            Path(request["index"]),
            list(map(Path, request["roots"])),
            Settings(**request["settings"]),
        )
        reports = Index.build(index, roots, settings, progress=_ProgressLines(), as_indexed=request["as_indexed"])
        _write_line({"ended": True, "wrote": any(report.wrote for report in reports)})
    except KeyboardInterrupt:
        sys.exit(130)
    except BrokenPipeError:
        os._exit(0)  # the reader has gone, so there is nothing to flush
    except CodelensError as fault:
        _write_line({"ended": True, "error": str(fault), "hint": fault.hint, "busy": isinstance(fault, IndexBusy)})


class _ProgressLines:
    """Writes a progress line when the phase changes, and at intervals within a phase."""

    def __init__(self) -> None:
        self._phase, self._next = "", 0.0

    def __call__(self, step: Progress) -> None:
        now = time.monotonic()
        if step.phase != self._phase or now >= self._next:
            self._phase, self._next = step.phase, now + LINE_SECONDS
            _write_line({"phase": step.phase, "done": step.done, "total": step.total})


def _write_line(record: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(record) + "\n")
    sys.stdout.flush()
