"""Answers the MCP handshake before the SDK is imported, because the import takes a second and a client should not wait.

The answer equals the SDK's, which a test checks. Only a valid handshake is answered here; any other line is left to the
SDK.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Collection
from typing import IO, Any, NamedTuple

from codelens import __version__
from codelens.errors import UsageError
from codelens.text.notation import parse_json

NAME = "codelens"
VERSIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
"""Versions of the protocol that the SDK supports, oldest first. If a client asks for another, it is offered the newest."""
PURPOSES = {
    "search": "finds code by name, words or meaning",
    "read": "returns the body of a symbol or lines of a file",
    "refs": "lists every use of a symbol",
    "context": "packs the code for a task into one answer",
    "files": "finds files",
    "symbols": "outlines a file",
    "callers": "shows who calls a function",
    "callees": "shows what a function calls",
    "impact": "shows what a change may reach",
    "why": "explains the results of a search",
    "notes": "lists notes and tasks",
    "feedback": "records which results were useful",
    "status": "describes the index",
}
"""Tool → its purpose, in the order in which clients list tools."""
DEFAULT_TOOLS = "search,read,refs,context"
"""The tools offered by default. They are few, because clients send each tool's description with every request."""


def choose_tools(names: str) -> tuple[str, ...]:
    """Parse a comma-separated list of tools, or `all`; returns them in the order of PURPOSES. Raises UsageError."""
    wanted = PURPOSES.keys() if names == "all" else {name.strip() for name in names.split(",")} - {""}
    unknown = sorted(wanted - PURPOSES.keys())
    if unknown or not wanted:
        raise UsageError(f"no tool '{unknown[0]}'" if unknown else "no tools", f"tools: {', '.join(PURPOSES)}, or all")
    return tuple(name for name in PURPOSES if name in wanted)


def write_instructions(tools: Collection[str]) -> str:
    """Write the instructions that a client may pass to its model."""
    purposes = ", ".join(f"`{name}` {purpose}" for name, purpose in PURPOSES.items() if name in tools)
    return (
        f"Search this repository with codelens before you read files: {purposes}. "
        "Paths are relative to the repository's root. After editing files pass fresh=true once."
    )


class SessionStart(NamedTuple):
    """The state of a session after its first line was read."""

    stdout: IO[bytes]  # The protocol's stream, to which nothing else writes
    first: bytes  # The first line; empty if stdin ended
    greeted: bool  # True if the line was a handshake and has been answered


def accept_session(tools: Collection[str]) -> SessionStart:
    """Wait for the first line of stdin, and answer it if it is a handshake. Makes SIGINT and SIGTERM end the process quietly."""
    for end in (signal.SIGINT, signal.SIGTERM):
        signal.signal(end, lambda number, frame: os._exit(0))  # nothing is open yet
    stdout = take_stdout()
    first = sys.stdin.buffer.readline()
    answer = answer_handshake(first, tools)
    if answer is not None:
        stdout.write(answer.encode())
        stdout.flush()
    return SessionStart(stdout, first, answer is not None)


def take_stdout() -> IO[bytes]:
    """Take stdout for the protocol, and redirect to stderr whatever else writes to it, such as a library."""
    stdout = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    return stdout


def answer_handshake(line: bytes, tools: Collection[str]) -> str | None:
    """Answer an `initialize` request with a line; None for any other line."""
    try:
        request: Any = parse_json(line)
    except ValueError:
        return None
    if not _is_valid_handshake(request):
        return None
    wanted = request["params"]["protocolVersion"]
    result = {
        "protocolVersion": wanted if wanted in VERSIONS else VERSIONS[-1],
        "capabilities": {"experimental": {}, "tools": {"listChanged": False}},
        "serverInfo": {"name": NAME, "version": __version__},
        "instructions": write_instructions(tools),
    }
    return json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result}, separators=(",", ":")) + "\n"


def _is_valid_handshake(request: Any) -> bool:
    """True for an `initialize` request that fits the protocol's schema."""
    match request:
        case {
            "jsonrpc": "2.0",
            "method": "initialize",
            "id": int() | str() as number,
            "params": {
                "protocolVersion": str(),
                "capabilities": dict(),
                "clientInfo": {"name": str(), "version": str()},
            },
        }:
            return not isinstance(number, bool)
    return False
