"""Turns errors into an HTTP status and an object `{error, hint}`; for an ambiguous target also with `candidates`."""

from __future__ import annotations

import sys
import traceback

from codelens.errors import (
    CodelensError,
    EmbedderFault,
    FleetIncomplete,
    IndexBusy,
    IndexCorrupt,
    NoIndex,
    NoVectors,
    SchemaTooNew,
    TargetError,
)
from codelens.render.records import Record

JSON = "application/json"
UNAVAILABLE = (EmbedderFault, FleetIncomplete, IndexBusy, IndexCorrupt, NoIndex, NoVectors, SchemaTooNew)
"""Errors with status 503. A TargetError has 404; all others are faults of the request: 400."""


class Fault(Exception):
    """An error as the server answers it. `retry_after` is the number of seconds until the client may try again."""

    def __init__(
        self,
        status: int,
        error: str,
        hint: str = "",
        candidates: tuple[str, ...] = (),
        retry_after: int | None = None,
    ) -> None:
        super().__init__(status, error, hint, candidates, retry_after)
        self.status, self.error, self.hint, self.candidates, self.retry_after = self.args

    @property
    def record(self) -> Record:
        """The object that the client gets."""
        return {"error": self.error, "hint": self.hint} | ({"candidates": self.candidates} if self.candidates else {})


def make_fault(error: Exception) -> Fault:
    """Make the fault for an error: the command line's message and hint; for an unexpected error its traceback goes to stderr."""
    if isinstance(error, Fault):
        return error
    if not isinstance(error, CodelensError):
        traceback.print_exception(error, file=sys.stderr)
        return Fault(500, "internal error", "the server's stderr has the traceback")
    candidates = error.candidates if isinstance(error, TargetError) else ()
    status = 404 if isinstance(error, TargetError) else 503 if isinstance(error, UNAVAILABLE) else 400
    return Fault(status, str(error), error.hint, candidates, 2 if isinstance(error, IndexBusy) else None)
