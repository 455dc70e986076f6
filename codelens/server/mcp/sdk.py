"""The SDK's server around a desk: over a pair of pipes, or as an application that a web server mounts."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager
from io import TextIOWrapper
from typing import IO, Any, cast

import anyio
import anyio.to_thread
from mcp import types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import McpError

from codelens import __version__
from codelens.nouns import dataclass
from codelens.server.mcp.desk import Desk
from codelens.server.mcp.door import INSTRUCTIONS, NAME, Entered
from codelens.server.mcp.tool import Tool
from codelens.server.mcp.tools import TOOLS
from codelens.server.served import Served
from codelens.server.upkeep import Upkeep

AT_ONCE = 4
"""Calls that are answered at the same time; others wait their turn. Chosen: Python runs one of them at a time anyway."""


def server_of(desk: Desk) -> Server[Any, Any]:
    """A server that lists the desk's tools and puts each call to it, in a thread. A cancelled call is left to itself."""
    server: Server[Any, Any] = Server(NAME, __version__, INSTRUCTIONS)
    turn = anyio.CapacityLimiter(AT_ONCE)

    async def listed(_: types.ListToolsRequest) -> types.ServerResult:
        return types.ServerResult(types.ListToolsResult(tools=[_described(tool) for tool in desk.tools.values()]))

    async def called(request: types.CallToolRequest) -> types.ServerResult:
        name = request.params.name
        if name not in desk.tools:
            said = f"no tool '{name[:100]}'; tools: {', '.join(desk.tools)}"
            raise McpError(types.ErrorData(code=types.INVALID_PARAMS, message=said))
        reply = await anyio.to_thread.run_sync(
            desk.reply, name, request.params.arguments or {}, abandon_on_cancel=True, limiter=turn
        )
        content: list[types.ContentBlock] = [types.TextContent(type="text", text=reply.text)]
        return types.ServerResult(
            types.CallToolResult(content=content, structuredContent=reply.record, isError=reply.failed)
        )

    server.request_handlers[types.ListToolsRequest] = listed
    server.request_handlers[types.CallToolRequest] = called
    return server


def _described(tool: Tool) -> types.Tool:
    return types.Tool(
        name=tool.name,
        title=tool.title,
        description=tool.description,
        inputSchema=tool.takes,
        outputSchema=tool.gives,
        annotations=types.ToolAnnotations(
            title=tool.title,
            readOnlyHint=not tool.records,
            destructiveHint=False,
            idempotentHint=not tool.records,
            openWorldHint=False,
        ),
    )


def serve_pipes(desk: Desk, stdin: IO[bytes], entered: Entered) -> None:
    """Serve until stdin ends."""
    lines = anyio.wrap_file(TextIOWrapper(stdin, encoding="utf-8", errors="replace"))
    out = anyio.wrap_file(TextIOWrapper(entered.stdout, encoding="utf-8"))

    async def all_lines() -> AsyncIterator[str]:
        if not entered.greeted:
            yield entered.first.decode("utf-8", "replace")
        async for line in lines:
            yield line

    async def serve() -> None:
        server = server_of(desk)
        options = server.create_initialization_options()
        async with stdio_server(cast("anyio.AsyncFile[str]", all_lines()), out) as (read, write):
            # A session whose handshake is done is what the SDK calls stateless: it waits for none.
            await server.run(read, write, options, stateless=entered.greeted)

    anyio.run(serve)


@dataclass(frozen=True, slots=True)
class Mounted:
    """A server for streamable HTTP: an ASGI application, which answers while `running` is entered (as a lifespan)."""

    app: Any
    running: AbstractAsyncContextManager[None]


def http_app(served: Served, upkeep: Upkeep, hosts: Sequence[str] | None, origins: Sequence[str] = ()) -> Mounted:
    """To be mounted at a path of a web server, which decides who may ask. One object serves one `running`.

    `hosts` and `origins` are the headers that are let in (`localhost:*`): no page in a browser reaches it under another name.
    None: the web server has looked at them.
    """
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
    from mcp.server.transport_security import TransportSecuritySettings

    guard = TransportSecuritySettings(
        enable_dns_rebinding_protection=hosts is not None,
        allowed_hosts=list(hosts or ()),
        allowed_origins=list(origins),
    )
    server = server_of(Desk(served, upkeep, TOOLS))
    manager = StreamableHTTPSessionManager(server, json_response=True, stateless=True, security_settings=guard)
    return Mounted(manager.asgi_app, manager.run())
