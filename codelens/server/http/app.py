"""The web application: routes for the API, its description and the page, all behind the gate."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from functools import partial
from operator import attrgetter
from pathlib import Path
from typing import Any, NamedTuple

import h11
import uvicorn
from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Scope
from uvicorn.protocols.http.h11_impl import H11Protocol

from codelens.errors import UsageError
from codelens.render.records import to_json
from codelens.server.http.answers import ENDPOINTS, Endpoint
from codelens.server.http.desk import QueryDesk
from codelens.server.http.faults import JSON, Fault, make_fault
from codelens.server.http.gate import Buckets, Gate, Rules
from codelens.server.http.openapi import build_document, read_request
from codelens.server.http.page import list_page_routes, render_page


class MountedApp(NamedTuple):
    """Another ASGI application that is served behind the same gate."""

    path: str  # The only path that it answers, such as /mcp
    app: ASGIApp  # Not a function, which a router would call with a Request
    running: AbstractAsyncContextManager[None]  # Entered for as long as the server runs


def make_application(
    desk: QueryDesk, rules: Rules, keys: Path | None, buckets: Buckets | None = None, mounted: MountedApp | None = None
) -> ASGIApp:
    """Make the whole web application. The caller closes the desk. `keys` is the file of keys; `buckets` limit the rate."""

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        async with mounted.running if mounted else nullcontext():
            yield

    async def send_document(_: Request) -> Response:
        return Response(json.dumps(build_document(), ensure_ascii=False, indent=1).encode(), media_type=JSON)

    api = {f"/api/{name}": partial(_answer_request, desk, endpoint) for name, endpoint in ENDPOINTS.items()}
    app = Starlette(
        routes=[
            *(Route(path, answer, methods=["GET", "POST"]) for path, answer in api.items()),
            Route("/openapi.json", send_document),
            *list_page_routes(desk, rules.hosts is not None),
            *([Route(mounted.path, mounted.app)] if mounted else []),
        ],
        lifespan=lifespan,
        exception_handlers=dict.fromkeys((Fault, HTTPException, Exception), _answer_error),
    )
    app.router.redirect_slashes = False
    return Gate(app, rules, keys, buckets or Buckets(desk.settings.requests_per_minute), _respond)


async def _answer_request(desk: QueryDesk, endpoint: Endpoint, request: Request) -> Response:
    body, age = await desk.ask(endpoint, await read_request(request, endpoint.request_model))
    return Response(body, media_type=JSON, headers={} if age is None else {"Age": str(age)})


CHALLENGES = ('Bearer realm="codelens"', 'Basic realm="codelens", charset="UTF-8"')


def _respond(fault: Fault, scope: Scope) -> Response:
    """Make the response to a fault: a page for browsers outside the API, else a JSON object; with headers for its status."""
    is_page = not str(scope["path"]).startswith("/api/") and "text/html" in Headers(scope=scope).get("accept", "")
    record = to_json(fault.record).encode("utf-8", "backslashreplace")
    body, media_type = (render_page("fault.html", fault=fault), "text/html") if is_page else (record, JSON)
    response = Response(body, fault.status, media_type=media_type)
    if fault.retry_after is not None:
        response.headers["Retry-After"] = str(fault.retry_after)
    if fault.status == 413:
        response.headers["Connection"] = "close"  # the rest of the body is not read
    for challenge in CHALLENGES if fault.status == 401 else ():
        response.headers.append("WWW-Authenticate", challenge)
    return response


async def _answer_error(request: Request, error: Exception) -> Response:
    """Respond to an exception: a refused request, an error of the router (404, 405), or an unexpected error."""
    if isinstance(error, HTTPException):
        fault = Fault(error.status_code, error.detail.lower(), "/openapi.json lists the addresses")
        response = _respond(fault, request.scope)
        response.headers.update(error.headers or {})
        return response
    return _respond(make_fault(error), request.scope)


BACKLOG = 128
LONGEST_HEAD = 65_536
"""Most bytes of a request line with headers. Equals uvicorn's default, but is set because a URL may hold a long query."""


HEAD_SECONDS = 10.0
"""Most seconds for the head of a request, from its first byte or the connection on; slow connections need about 1."""
BODY_SECONDS = 20.0  # Most seconds for the whole body
LEAVE_SECONDS = 30.0  # Most seconds for a client to read its answer before an idle connection is closed
MOST_BODY = 5_000_000  # Most bytes of a body, even if it is not read. The SDK of the Model Context Protocol takes 4 MB.
MAX_CONNECTIONS = 768  # Most open connections. Each needs a file descriptor, and a process often has 1024.
MAX_RUNNING_REQUESTS = 256  # Most requests that are answered at the same time; further ones get 503


class BoundedConnection(H11Protocol):
    """A connection that is closed if a request takes too long to send or is too large, or if others need its place."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start the deadline. If there are too many connections, close the one that has waited longest for its client."""
        super().connection_made(transport)
        self._deadline: asyncio.TimerHandle | None = None
        self._waits_for: object = None
        self._set_deadline(h11.IDLE, HEAD_SECONDS)
        if len(self.connections) > MAX_CONNECTIONS:
            waiting: Any = self.connections - self._list_answering()
            oldest = min(waiting, key=attrgetter("waits_since"))
            self.connections.discard(oldest)
            oldest.transport.abort()

    def handle_events(self) -> None:
        """Start to answer the requests that have come, or refuse them if too many others are being answered."""
        is_busy = len(self._list_answering()) >= MAX_RUNNING_REQUESTS
        self.app_state = {**self.app_state, "is_busy": is_busy}
        super().handle_events()

    def _list_answering(self) -> set[Any]:
        """List the connections whose request has come whole, and whose answer is not sent yet."""
        connections: set[Any] = self.connections
        return {
            connection
            for connection in connections
            if connection.conn.our_state in (h11.SEND_RESPONSE, h11.SEND_BODY)
            and connection.conn.their_state is not h11.SEND_BODY
        }

    def data_received(self, data: bytes) -> None:
        """Keep one deadline for the whole head and one for the whole body, however slowly their bytes arrive."""
        super().data_received(data)
        state = self.conn.their_state
        if state is h11.IDLE and self.conn.our_state is h11.IDLE:
            self._set_deadline(h11.IDLE, HEAD_SECONDS)
        elif state is h11.SEND_BODY:
            self._set_deadline(h11.SEND_BODY, BODY_SECONDS)
            self._bytes += len(data)
            if self._bytes > MOST_BODY + LONGEST_HEAD:
                self.transport.abort()
        else:
            self._set_deadline(None, 0)

    def connection_lost(self, exc: Exception | None) -> None:
        self._set_deadline(None, 0)
        super().connection_lost(exc)

    def timeout_keep_alive_handler(self) -> None:
        """Close an idle connection, and abort it if the client has not read its answer after LEAVE_SECONDS."""
        super().timeout_keep_alive_handler()
        self.loop.call_later(LEAVE_SECONDS, self.transport.abort)

    def _set_deadline(self, waits_for: object, seconds: float) -> None:
        if waits_for is not None and waits_for is self._waits_for:
            return
        if self._deadline:
            self._deadline.cancel()
        self.waits_since = self.loop.time()
        self._waits_for = waits_for
        self._bytes = 0
        self._deadline = self.loop.call_later(seconds, self.transport.abort) if waits_for is not None else None


def open_listener(host: str, port: int) -> socket.socket:
    """Open a listening socket; port 0 takes a free port. Raises UsageError if the address is not available."""
    name = host.strip("[]")
    try:
        family, _, _, _, address = socket.getaddrinfo(name, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
        return socket.create_server(address[:2], family=family, backlog=BACKLOG)
    except (OSError, OverflowError, UnicodeError) as fault:
        reason = getattr(fault, "strerror", None) or str(fault)
        raise UsageError(f"cannot listen on {host}:{port}: {reason}", "another --port or --host") from None


def format_address(listener: socket.socket) -> str:
    """Write the URL of the page that a listening socket serves."""
    host, port = listener.getsockname()[:2]
    name = f"[{host}]" if ":" in host else host
    return f"http://{name}:{port}/"


def make_server(app: ASGIApp) -> uvicorn.Server:
    """Make a server that runs until SIGINT or SIGTERM, and then finishes the requests that it is answering."""
    config = uvicorn.Config(
        app,
        log_level="warning",
        access_log=False,  # searches are not logged
        server_header=False,
        date_header=True,
        h11_max_incomplete_event_size=LONGEST_HEAD,
        backlog=BACKLOG,  # also the number of connections that are accepted before their requests are read
        http=BoundedConnection,
        ws="none",
        timeout_graceful_shutdown=5,
    )
    return uvicorn.Server(config)
