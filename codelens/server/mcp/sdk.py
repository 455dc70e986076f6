"""Serves tools with the MCP SDK, over a pair of pipes or as an application that a web server mounts."""

from __future__ import annotations

import sys
import traceback
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from io import TextIOWrapper
from threading import Event
from typing import IO, TYPE_CHECKING, Any, cast
from weakref import WeakValueDictionary

import anyio
import anyio.to_thread
from anyio.abc import ObjectReceiveStream
from mcp import types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import McpError
from mcp.shared.message import ServerMessageMetadata

from codelens import __version__
from codelens.errors import CodelensError, IndexBusy, NoIndex, TargetError, UsageError
from codelens.model.budget import CANCELLED
from codelens.model.fast_dataclass import field, frozen_dataclass
from codelens.render.records import pick_fields
from codelens.server.mcp import schema
from codelens.server.mcp.door import NAME, SessionStart, write_instructions
from codelens.server.mcp.tool import Tool, ToolAnswer, ToolCall, format_code_line
from codelens.server.mcp.tools import TOOLS
from codelens.server.upkeep import ServedIndex, Upkeep

if TYPE_CHECKING:
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

LOOK_SECONDS = 0.25
"""Most seconds that a call waits for the check for changed files that it starts; enough for small trees."""
FRESH_SECONDS = 20.0
"""Most seconds that a call with `fresh` waits for an update; clients give up after 60."""
INDEX_SECONDS = 5.0  # Most seconds that a call waits for an index that is being built; enough for a small project
MOST_CANDIDATES = 8  # Most places listed for an ambiguous name
SHARED = "mcp"  # The session of all HTTP clients, which cannot be distinguished
LONGEST_FAULT = 600  # Most characters of an error message


@frozen_dataclass
class ToolDesk:
    """Answers calls of tools. It is thread-safe."""

    served: ServedIndex
    upkeep: Upkeep
    tools: Mapping[str, Tool] = field(default_factory=TOOLS.copy)
    session: str = SHARED
    structured: bool = True  # Send each answer also as an object, and list its schema
    debug: bool = False

    def answer_call(self, name: str, arguments: Mapping[str, Any]) -> ToolAnswer:
        """Answer a call of a tool. An error is answered with its message and a hint on the next line, without an object."""
        try:
            return self._answer_unguarded(tool := self.tools[name], arguments)
        except IndexBusy as fault:
            text = _format_error(str(fault), "reading is possible meanwhile: call again")
        except CodelensError as fault:
            candidates = fault.candidates if isinstance(fault, TargetError) else ()
            hint = tool.reword_message(fault.hint, advice=True)
            text = _format_error(tool.reword_message(str(fault)), hint, candidates)
        except Exception as fault:  # the edge of the process: a client gets no traceback
            if self.debug:
                traceback.print_exc(file=sys.stderr)
            text = _format_error(f"{type(fault).__name__}: {fault}", "this is a fault of codelens; try another call")
        return ToolAnswer(text, None)

    def _answer_unguarded(self, tool: Tool, arguments: Mapping[str, Any]) -> ToolAnswer:
        given = check_arguments(tool, arguments)
        if given.get("fresh"):
            self.upkeep.refresh(FRESH_SECONDS)
        else:
            self.upkeep.start_update(LOOK_SECONDS)
        if tool.waits and not self.served.index.is_file():
            self.upkeep.wait(INDEX_SECONDS)
        with ExitStack() as stack:
            try:
                opened = stack.enter_context(self.served.open())
            except NoIndex:
                if tool.waits:
                    raise self._explain_missing_index() from None
                opened = None
            work = self.upkeep.describe_work()
            return tool.answer(ToolCall(opened, tool, given, self.served, work, self.session, self.structured))

    def _explain_missing_index(self) -> CodelensError:
        work = self.upkeep.describe_work()
        if work.fault:
            return NoIndex(f"the index could not be built: {work.fault}", work.hint or "`codelens index` says more")
        if work.doing:
            return NoIndex(f"the index is being built, {work.text}", "call again in some seconds")
        if self.upkeep.refused:
            return NoIndex(f"there is no index of {self.served.folder}, and {self.upkeep.refused}")
        return NoIndex(f"there is no index of {self.served.folder} yet", "call again in some seconds")


def check_arguments(tool: Tool, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Check arguments and fill in the schema's defaults. Raises UsageError for the first argument that does not fit."""
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import best_match

    fault = best_match(Draft202012Validator(tool.input_schema).iter_errors(dict(arguments)))
    if fault is not None:
        place = ".".join(map(str, fault.absolute_path))
        message = f"{f'{place}: ' if place else ''}{fault.message}"
        raise UsageError(message, f"`{tool.name}` takes {', '.join(tool.takes)}")
    return {name: row["default"] for name, row in tool.takes.items() if "default" in row} | dict(arguments)


def _format_error(what: str, hint: str, candidates: Sequence[str] = ()) -> str:
    texts = (what, hint, *candidates[:MOST_CANDIDATES])
    what, hint, *places = (format_code_line(text, LONGEST_FAULT) for text in texts)
    return "\n".join([f"error: {what}", *([f"hint: {hint}"] if hint else []), *(f"  {place}" for place in places)])


class IncomingMessages(ObjectReceiveStream[Any]):
    """The messages of a client to the SDK's server, each request with a scope in which its call can be cancelled.

    Cancellations are carried out here, since those of the SDK (mcp 1.30) can end the session; see docs/mcp.md.
    """

    def __init__(self, messages: ObjectReceiveStream[Any]) -> None:
        self._messages = messages
        self._scopes = WeakValueDictionary[types.RequestId, anyio.CancelScope]()

    async def receive(self) -> Any:
        """Receive the next message that is not a cancellation."""
        while True:
            message = await self._messages.receive()
            match getattr(message, "message", message):
                case types.JSONRPCMessage(root=types.JSONRPCRequest(id=number)):
                    scope = anyio.CancelScope()
                    self._scopes[number] = scope
                    message.metadata = ServerMessageMetadata(request_context=scope)
                case types.JSONRPCMessage(
                    root=types.JSONRPCNotification(method="notifications/cancelled", params=given)
                ):
                    cancelled: Any = (given or {}).get("requestId")
                    if type(cancelled) in (int, str) and cancelled in self._scopes:
                        self._scopes[cancelled].cancel()
                    continue
            return message

    async def aclose(self) -> None:
        await self._messages.aclose()


class ToolServer(Server[Any, Any]):
    """The SDK's server, whose calls can be cancelled at any time."""

    async def run(self, read_stream: Any, *arguments: Any, **options: Any) -> None:
        """Serve one session."""
        messages: Any = IncomingMessages(read_stream)
        try:
            await super().run(messages, *arguments, **options)
        except* anyio.ClosedResourceError:
            # The SDK reports a faulty line to the client, which has gone.
            pass


AT_ONCE = 4
"""Most calls that are answered at the same time; more would not help, because Python runs one thread at a time."""


def make_mcp_server(desk: ToolDesk) -> Server[Any, Any]:
    """Make a server that lists the desk's tools and answers each call in a thread. A cancelled call is answered with an error."""
    server = ToolServer(NAME, __version__, write_instructions(desk.tools))
    turn = anyio.CapacityLimiter(AT_ONCE)

    async def list_tools(_: types.ListToolsRequest) -> types.ServerResult:
        listed = []
        for tool in desk.tools.values():
            no = False if tool.records else None  # these hints mean something only for tools that write
            known: dict[str, Any] = {"destructiveHint": no, "idempotentHint": no, "openWorldHint": False}
            hints = types.ToolAnnotations(readOnlyHint=not tool.records, **known)
            takes, gives = tool.input_schema, schema.make_answer_schema(tool.gives) if desk.structured else None
            about = pick_fields(tool, "name title description")
            listed.append(types.Tool(**about, inputSchema=takes, outputSchema=gives, annotations=hints))
        return types.ServerResult(types.ListToolsResult(tools=listed))

    async def call_tool(request: types.CallToolRequest) -> types.ServerResult:
        name = request.params.name
        if name not in desk.tools:
            message = f"no tool '{name[:100]}'; tools: {', '.join(desk.tools)}"
            raise McpError(types.ErrorData(code=types.INVALID_PARAMS, message=message))
        reply = partial(desk.answer_call, name, request.params.arguments or {})
        scope: Any = server.request_context.request
        abandoned = Event()
        CANCELLED.set(abandoned)
        answer = None
        with scope:
            try:
                answer = await anyio.to_thread.run_sync(reply, abandon_on_cancel=True, limiter=turn)
            finally:
                abandoned.set()
        if answer is None:
            raise McpError(types.ErrorData(code=0, message="Request cancelled"))
        content: list[types.ContentBlock] = [types.TextContent(type="text", text=answer.text)]
        record, is_error = answer.record if desk.structured else None, answer.record is None
        return types.ServerResult(types.CallToolResult(content=content, structuredContent=record, isError=is_error))

    server.request_handlers[types.ListToolsRequest] = list_tools
    server.request_handlers[types.CallToolRequest] = call_tool
    return server


def serve_pipes(desk: ToolDesk, stdin: IO[bytes], session: SessionStart) -> None:
    lines = anyio.wrap_file(TextIOWrapper(stdin, encoding="utf-8", errors="replace"))
    out = anyio.wrap_file(TextIOWrapper(session.stdout, encoding="utf-8"))

    async def read_lines() -> AsyncIterator[str]:
        if not session.greeted:
            yield session.first.decode("utf-8", "replace")
        async for line in lines:
            yield line

    async def serve() -> None:
        server = make_mcp_server(desk)
        options = server.create_initialization_options()
        async with stdio_server(cast("anyio.AsyncFile[str]", read_lines()), out) as (read, write):
            # After the handshake, run the SDK's server as stateless, so that it does not wait for another one.
            await server.run(read, write, options, stateless=session.greeted)

    anyio.run(serve)


def make_http_app(served: ServedIndex, upkeep: Upkeep) -> StreamableHTTPSessionManager:
    """Make a server for streamable HTTP. A web server, which controls access, mounts its `asgi_app` at a path, and enters
    `run()` once for as long as it serves."""
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
    from mcp.server.transport_security import TransportSecuritySettings

    guard = TransportSecuritySettings(enable_dns_rebinding_protection=False)  # the web server checks Host
    server = make_mcp_server(ToolDesk(served, upkeep))
    return StreamableHTTPSessionManager(server, json_response=True, stateless=True, security_settings=guard)
