"""Faults → responses: an object for programs; for a browser that asked for a page, a page."""

from __future__ import annotations

from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from codelens.render.records import Record, to_json
from codelens.server.http.faults import Fault

JSON = "application/json"
CHALLENGES = ('Bearer realm="codelens"', 'Basic realm="codelens", charset="UTF-8"')


def json_response(record: Record, status: int = 200) -> Response:
    """An object."""
    return Response(to_json(record).encode("utf-8", "backslashreplace"), status, media_type=JSON)


def fault_response(fault: Fault, wants_page: bool = False) -> Response:
    """With the headers that its status asks for."""
    if wants_page:
        from codelens.server.http.markup import fault_page

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
    """Whether a request is a browser's for something other than the API."""
    return not str(scope["path"]).startswith("/api/") and "text/html" in Headers(scope=scope).get("accept", "")


async def send_fault(fault: Fault, scope: Scope, receive: Receive, send: Send) -> None:
    """As an ASGI application."""
    await fault_response(fault, wants_page(scope))(scope, receive, send)
