"""Whatever goes wrong → a status, and one object `{error, hint}`; an ambiguous target has its `candidates` beside."""

from __future__ import annotations

from collections.abc import Mapping

from codelens.errors import (
    CodelensError,
    EmbedderFault,
    IndexBusy,
    IndexCorrupt,
    NoIndex,
    NoVectors,
    SchemaTooNew,
    TargetError,
)
from codelens.nouns import dataclass
from codelens.render.records import Record

STATUS: Mapping[type[CodelensError], int] = {
    TargetError: 404,
    NoIndex: 503,
    IndexCorrupt: 503,
    NoVectors: 503,
    SchemaTooNew: 503,
    IndexBusy: 503,
    EmbedderFault: 503,
}
"""Any other fault of ours is the question's: 400."""


@dataclass(frozen=True, slots=True)
class Fault:
    """An answer that is none."""

    status: int
    error: str
    hint: str = ""
    candidates: tuple[str, ...] = ()
    retry_after: int | None = None
    """Seconds."""

    def record(self) -> Record:
        """The object that is sent."""
        record: Record = {"error": self.error, "hint": self.hint}
        return record | ({"candidates": list(self.candidates)} if self.candidates else {})


class Refused(Exception):
    """Raised where a request goes no further."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(fault.error)
        self.fault = fault


def fault_of(error: CodelensError) -> Fault:
    """What the command line prints, with the status that says as much as its exit code does."""
    status = next((code for kind, code in STATUS.items() if isinstance(error, kind)), 400)
    return Fault(
        status=status,
        error=str(error),
        hint=error.hint,
        candidates=error.candidates if isinstance(error, TargetError) else (),
        retry_after=2 if isinstance(error, IndexBusy) else None,
    )


UNEXPECTED = Fault(500, "a fault of codelens itself", "its trace is on the server's stderr")
