"""The same tools over streamable HTTP: the application that a web server mounts, called by the SDK's client."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import httpx
from mcp import ClientSession
from mcp.client.streamable_http import streamable_http_client
from starlette.testclient import TestClient

from codelens.config import Settings
from codelens.server.http.app import MountedApp, make_application
from codelens.server.http.desk import QueryDesk
from codelens.server.http.gate import make_rules
from codelens.server.mcp.sdk import make_http_app
from codelens.server.mcp.tools import TOOLS
from codelens.server.upkeep import ServedIndex, Upkeep

HOST = "127.0.0.1:8000"


@asynccontextmanager
async def web(shop: Path) -> AsyncIterator[httpx.AsyncClient]:
    """A client of the application, whose addresses begin with http://127.0.0.1:8000."""
    served = ServedIndex(shop, shop / ".codelens/index.db", Settings())
    mounted = make_http_app(served, Upkeep(served, "a test"))
    async with mounted.run(), httpx.AsyncClient(transport=httpx.ASGITransport(mounted.asgi_app), timeout=60) as client:
        yield client


def test_the_tools_answer_over_http(shop: Path) -> None:
    async def ask() -> tuple[list[str], Any]:
        async with (
            web(shop) as client,
            streamable_http_client(f"http://{HOST}/", http_client=client) as (read, write, _),
            ClientSession(read, write) as session,
        ):
            await session.initialize()
            listed = await session.list_tools()
            return [tool.name for tool in listed.tools], await session.call_tool("search", {"query": "Calculate"})

    names, found = anyio.run(ask)
    assert names == [*TOOLS]
    assert found.structuredContent["results"][0]["name"] == "Calculate"


def test_a_page_of_another_origin_does_not_reach_the_tools(shop: Path) -> None:
    """Behind the gate of `codelens serve`."""
    index = shop / ".codelens/index.db"
    served = ServedIndex(shop, index, Settings())
    tools = make_http_app(served, Upkeep(served, "a test"))
    desk = QueryDesk(index, Settings(), workers=0)
    app = make_application(desk, make_rules("127.0.0.1"), None, mounted=MountedApp("/mcp", tools.asgi_app, tools.run()))
    accept = {"Accept": "application/json, text/event-stream"}
    foreign = ("http://evil.example", "null", f"http://{HOST}.evil.example", "http://localhost:8000", f"http://{HOST}0")

    def post(headers: dict[str, str]) -> httpx.Response:
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
        return client.post("/mcp", json=body, headers=accept | headers)

    with TestClient(app, base_url=f"http://{HOST}") as client:
        assert post({}).status_code == 200
        assert post({"Origin": f"http://{HOST}"}).status_code == 200
        assert post({"Host": "evil.example"}).status_code == 400
        assert post({"Host": "evil.example", "Origin": "http://evil.example"}).status_code == 400
        for origin in foreign:
            got = post({"Origin": origin})
            assert (got.status_code, "tools" in got.text) == (403, False)
            asked = client.options("/mcp", headers={"Origin": origin, "Access-Control-Request-Method": "POST"})
            assert asked.status_code == 403
            assert not [
                name for answer in (asked, got) for name in answer.headers if name.startswith("access-control-")
            ]
    desk.close()


def test_cancellations_over_http_cancel_nothing(shop: Path) -> None:
    """Each request is a session of its own, so that no client can cancel the call of another."""
    accept = {"Accept": "application/json, text/event-stream"}
    params = {"name": "read", "arguments": {"target": {}}}
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    answers: list[httpx.Response] = []

    async def ask() -> None:
        async with web(shop) as client, anyio.create_task_group() as group:

            async def post(message: dict[str, Any]) -> None:
                answers.append(await client.post(f"http://{HOST}/", json=message, headers=accept))

            for number in (1, 1, None, [], {}, True, "1", 10**30):
                cancel = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": number}}
                group.start_soon(post, call)
                group.start_soon(post, cancel)

    anyio.run(ask)
    assert sorted(answer.status_code for answer in answers) == [200] * 8 + [202] * 8
    assert all(answer.json()["result"]["isError"] for answer in answers if answer.status_code == 200)
