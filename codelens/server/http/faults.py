"""Turns errors into an HTTP status and an object `{error, hint}`; for an ambiguous target also with `candidates`."""

from __future__ import annotations

from collections.abc import Mapping

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
from codelens.model.fast_dataclass import dataclass
from codelens.render.records import Record

STATUS: Mapping[type[CodelensError], int] = {
    TargetError: 404,
    NoIndex: 503,
    IndexCorrupt: 503,
    NoVectors: 503,
    SchemaTooNew: 503,
    IndexBusy: 503,
    EmbedderFault: 503,
    FleetIncomplete: 503,
}
"""Error → status. Other CodelensErrors are faults of the request: 400."""


@dataclass(frozen=True, slots=True)
class Fault:
    """An error as the server answers it."""

    status: int
    error: str
    hint: str = ""
    candidates: tuple[str, ...] = ()
    retry_after: int | None = None  # Seconds until the client may try again

    def record(self) -> Record:
        record: Record = {"error": self.error, "hint": self.hint}
        return record | ({"candidates": list(self.candidates)} if self.candidates else {})


class RequestRefused(Exception):
    """A request that is refused, with the fault to answer."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(fault.error)
        self.fault = fault


def to_fault(error: CodelensError) -> Fault:
    """Convert an error to a fault with the command line's message and hint, and the matching HTTP status."""
    status = next((code for kind, code in STATUS.items() if isinstance(error, kind)), 400)
    return Fault(
        status=status,
        error=str(error),
        hint=error.hint,
        candidates=error.candidates if isinstance(error, TargetError) else (),
        retry_after=2 if isinstance(error, IndexBusy) else None,
    )


UNEXPECTED = Fault(500, "internal error", "the server's stderr has the traceback")
JSON = "application/json"
