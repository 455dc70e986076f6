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

from codelens.config import Settings
from codelens.server.mcp.sdk import http_app
from codelens.server.mcp.tools import TOOLS
from codelens.server.upkeep import ServedIndex, Upkeep

HOST = "127.0.0.1:8000"


@asynccontextmanager
async def web(shop: Path) -> AsyncIterator[httpx.AsyncClient]:
    """A client of the application, whose addresses begin with http://127.0.0.1:8000."""
    served = ServedIndex(shop, shop / ".codelens/index.db", Settings())
    mounted = http_app(served, Upkeep(served, "a test"))
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
    assert names == [tool.name for tool in TOOLS]
    assert found.structuredContent["results"][0]["name"] == "Calculate"
