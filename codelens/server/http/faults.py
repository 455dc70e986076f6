"""Errors → a status and one object `{error, hint}`; for an ambiguous target also its `candidates`."""

from __future__ import annotations

from collections.abc import Mapping

from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

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
from codelens.render.records import Record, to_json

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
"""Any other fault of ours is the question's: 400."""


@dataclass(frozen=True, slots=True)
class Fault:
    """An error response."""

    status: int
    error: str
    hint: str = ""
    candidates: tuple[str, ...] = ()
    retry_after: int | None = None  # Seconds

    def record(self) -> Record:
        """The object that is sent."""
        record: Record = {"error": self.error, "hint": self.hint}
        return record | ({"candidates": list(self.candidates)} if self.candidates else {})


class RequestRefused(Exception):
    """Raised where a request goes no further."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(fault.error)
        self.fault = fault


def fault_of(error: CodelensError) -> Fault:
    """The error as the command line prints it, with the status that corresponds to its exit code."""
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
CHALLENGES = ('Bearer realm="codelens"', 'Basic realm="codelens", charset="UTF-8"')


def json_response(record: Record, status: int = 200) -> Response:
    """An object."""
    return Response(to_json(record).encode("utf-8", "backslashreplace"), status, media_type=JSON)


def fault_response(fault: Fault, wants_page: bool = False) -> Response:
    """With the headers that its status asks for."""
    if wants_page:
        from codelens.server.http.page import fault_page

        response = Response(fault_page(fault), fault.status, media_type="text/html")
    else:
        response = json_response(fault.record(), fault.status)
    if fault.retry_after is not None:
        response.headers["Retry-After"] = str(fault.retry_after)
    if fault.status == 413:
        response.headers["Connection"] = "close"  # what is still to come is not read
    if fault.status == 401:
        for challenge in CHALLENGES:
            response.headers.append("WWW-Authenticate", challenge)
    return response


def wants_page(scope: Scope) -> bool:
    """True for a request of a browser outside the API."""
    return not str(scope["path"]).startswith("/api/") and "text/html" in Headers(scope=scope).get("accept", "")


async def send_fault(fault: Fault, scope: Scope, receive: Receive, send: Send) -> None:
    """Send a fault as an ASGI application does."""
    await fault_response(fault, wants_page(scope))(scope, receive, send)
