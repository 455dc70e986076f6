"""codelens mcp: the index as tools for a program that writes code, over standard input and output."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Collection
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

from codelens.cli.declare import argument, command, option
from codelens.cli.flags import ALLOW_NETWORK, CommonFlags
from codelens.errors import UsageError, require_packages
from codelens.server.mcp.door import DEFAULT_TOOLS, PURPOSES, SessionStart, accept_session, choose_tools
from codelens.watching.events import need_watchfiles

if TYPE_CHECKING:
    from codelens.server.upkeep import ServedIndex, Upkeep


class McpFlags(CommonFlags):
    """Options: the folder to serve, and what may be written for it."""

    folder: Path | None = argument(None, "[PATH]", "The project [default: the working directory]")
    no_index: bool = option(
        False, "--no-index", "Write nothing: neither make an index that is missing nor update a stale one"
    )
    watch: bool = option(False, "--watch", "Watch the trees, so that a change is indexed before it is asked for")
    allow_network: bool = ALLOW_NETWORK
    tools: str = option(
        DEFAULT_TOOLS,
        "--tools NAME,…",
        f"The tools to serve; `all` for every one [default: {DEFAULT_TOOLS}]",
        values=[*PURPOSES, "all"],
    )
    structured: bool = option(
        False, "--structured", "Also send each answer as an object, and list the schemas of these objects"
    )


@command(epilog="Exit: 0 the client left, or SIGINT or SIGTERM came; 2 error.")
def mcp(flags: McpFlags) -> int:
    """Serve the Model Context Protocol on stdin and stdout. Clients start this; a missing index is made, a stale one updated.

    `codelens install` configures a client. Tools: search, read, refs, context; with --tools also files, symbols, callers,
    callees, impact, why, notes, feedback, status.
    """
    tools = choose_tools(flags.tools)
    folder = (Path.cwd() / (flags.folder or "")).resolve()
    if not folder.is_dir():
        raise UsageError(f"no such folder: {folder}")
    require_packages("mcp", "mcp")
    if flags.watch:
        need_watchfiles()
    session = accept_session(tools)  # before anything is imported that takes time
    from codelens.cli.workplace import named_index, settings_at
    from codelens.server.upkeep import ServedIndex, Upkeep, WatchedUpkeep
    from codelens.worktree.place import git_top, new_index_place

    index = named_index(flags) or new_index_place(folder)
    settings = settings_at(folder, index, flags, {"allow_network": flags.allow_network or None}).values
    served = ServedIndex(git_top(folder) or folder, index, settings)
    keeping = WatchedUpkeep if flags.watch else Upkeep
    upkeep = keeping(served, refusal(served.folder, index, flags.no_index, "mcp"))
    if session.first:
        _serve(served, upkeep, session, tools, flags)
    return 0


def _serve(served: ServedIndex, upkeep: Upkeep, session: SessionStart, tools: Collection[str], flags: McpFlags) -> None:
    """Begin what the index needs, then serve until stdin ends, or SIGINT or SIGTERM comes."""

    def leave(number: int, frame: FrameType | None) -> None:
        """At once: a thread waits for stdin, and would wait on. Nothing is open but for reading."""
        upkeep.close()
        os._exit(0)

    signal.signal(signal.SIGINT, leave)
    signal.signal(signal.SIGTERM, leave)
    upkeep.tend(0)
    try:
        from codelens.server.mcp.sdk import ToolDesk, serve_pipes
        from codelens.server.mcp.tools import TOOLS

        chosen = [tool for tool in TOOLS if tool.name in tools]
        desk = ToolDesk(served, upkeep, chosen, f"mcp {os.getpid()}", flags.structured, flags.debug)
        serve_pipes(desk, sys.stdin.buffer, session)
    finally:
        upkeep.close()


def refusal(folder: Path, index: Path, writes_nothing: bool, command: str) -> str:
    """Why nothing may be written. A home folder is what a client starts in that knows no project."""
    from codelens.worktree.place import is_home

    if writes_nothing:
        return f"`codelens {command} --no-index` creates none"
    if not index.is_file() and is_home(folder):
        return f"{folder} is not a project: name one, as in `codelens mcp PATH`"
    return ""
