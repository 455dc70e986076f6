"""The routes: the API, its description, the page; around them the gate."""

from __future__ import annotations

import sys
import traceback
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp, Receive, Scope, Send

from codelens.nouns import dataclass
from codelens.server.http.answers import ENDPOINTS, Endpoint
from codelens.server.http.desk import Desk
from codelens.server.http.faults import UNEXPECTED, Fault, Refused
from codelens.server.http.gate import Gate, Rules
from codelens.server.http.keys import KeyRing
from codelens.server.http.page import page_routes
from codelens.server.http.rates import Buckets
from codelens.server.http.reading import document, question_of
from codelens.server.http.sending import JSON, fault_response, wants_page


@dataclass(frozen=True, slots=True)
class Mounted:
    """Another application behind the same gate."""

    path: str
    """As /mcp: this one address, nothing below it."""
    app: ASGIApp
    running: AbstractAsyncContextManager[None]
    """Entered for as long as the server runs."""


Handler = Callable[[Request], Awaitable[Response]]


def application(
    desk: Desk, rules: Rules, keys: KeyRing, buckets: Buckets | None = None, mounted: Sequence[Mounted] = ()
) -> ASGIApp:
    """Everything behind the gate; whoever made the desk closes it. `buckets` are made from the settings unless they are given."""

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        async with AsyncExitStack() as running:
            for other in mounted:
                await running.enter_async_context(other.running)
            yield

    others = [Route(other.path, _Plain(other.app)) for other in mounted]
    app = Starlette(
        routes=[*_api(desk), Route("/openapi.json", _openapi), *page_routes(desk), *others],
        lifespan=lifespan,
        exception_handlers={Refused: _refused, HTTPException: _http, Exception: _unexpected},
    )
    app.router.redirect_slashes = False
    return Gate(app, rules, keys, buckets or Buckets(desk.settings.requests_per_minute))


class _Plain:
    """An application as an endpoint of one address. (A function would be taken for one that answers a Request.)"""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._app(scope, receive, send)


def _api(desk: Desk) -> list[BaseRoute]:
    return [
        Route(f"/api/{endpoint.name}", _answering(desk, endpoint), methods=["GET", "POST"])
        for endpoint in ENDPOINTS.values()
    ]


def _answering(desk: Desk, endpoint: Endpoint) -> Handler:
    async def answer(request: Request) -> Response:
        answered = await desk.ask(endpoint, await question_of(request, endpoint.asked))
        age = {} if answered.age is None else {"Age": str(answered.age)}
        return Response(answered.body, media_type=JSON, headers=age)

    return answer


async def _openapi(request: Request) -> Response:
    return Response(document(), media_type=JSON)


async def _refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, Refused)
    return fault_response(error.fault, wants_page(request.scope))


async def _http(request: Request, error: Exception) -> Response:
    """What the router says: no such address, no such method."""
    assert isinstance(error, HTTPException)
    fault = Fault(error.status_code, error.detail.lower(), "/openapi.json lists the addresses")
    response = fault_response(fault, wants_page(request.scope))
    response.headers.update(error.headers or {})
    return response


async def _unexpected(request: Request, error: Exception) -> Response:
    traceback.print_exception(error, file=sys.stderr)
    return fault_response(UNEXPECTED, wants_page(request.scope))
