"""The process that makes or updates an index for a server: an order as JSON → lines of JSON that say how far it is.

Each line is {phase, done, total}; the last is {ended, wrote, error, hint, busy}. When nobody reads them any more it ends at
its next line: what was committed stays.
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

LINE_SECONDS = 0.2  # Between two lines of the same phase. A person does not read faster.


def main() -> None:
    """The argument names index, roots, settings and whether the roots are walked as they were before. Ends with its stdin."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    end_at_eof(signal.SIGTERM)
    request = json.loads(sys.argv[1])
    try:
        reports = Index.build(
            Path(request["index"]),
            [Path(root) for root in request["roots"]],
            Settings(**request["settings"]),
            progress=_ProgressLines(),
            as_indexed=request["as_indexed"],
        )
        _say({"ended": True, "wrote": any(report.wrote for report in reports)})
    except KeyboardInterrupt:
        sys.exit(130)
    except BrokenPipeError:
        os._exit(0)  # nobody reads, so there is nothing to flush
    except CodelensError as fault:
        _say({"ended": True, "error": str(fault), "hint": fault.hint, "busy": isinstance(fault, IndexBusy)})


class _ProgressLines:
    """Each change of phase, and now and then between."""

    def __init__(self) -> None:
        self._phase, self._next = "", 0.0

    def __call__(self, step: Progress) -> None:
        now = time.monotonic()
        if step.phase != self._phase or now >= self._next:
            self._phase, self._next = step.phase, now + LINE_SECONDS
            _say({"phase": step.phase, "done": step.done, "total": step.total})


def _say(record: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(record) + "\n")
    sys.stdout.flush()
