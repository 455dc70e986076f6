"""codelens mcp and codelens lsp: serve the index to coding agents and editors over standard input and output."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

from codelens.cli.declare import argument, command, option
from codelens.cli.flags import ALLOW_NETWORK, CommonFlags
from codelens.errors import UsageError, require_packages
from codelens.server.mcp.door import DEFAULT_TOOLS, PURPOSES, accept_session, choose_tools
from codelens.watching.events import require_watchfiles

if TYPE_CHECKING:
    from codelens.server.upkeep import ServedIndex, Upkeep


class StdioFlags(CommonFlags):
    no_index: bool = option("--no-index", "Write nothing: neither make an index that is missing nor update a stale one")


class McpFlags(StdioFlags):
    folder: Path | None = argument("[PATH]", "The project [default: the working directory]")
    watch: bool = option("--watch", "Watch the trees, so that a change is indexed before it is asked for")
    allow_network: bool = ALLOW_NETWORK
    tools: str = option(
        "--tools NAME,…",
        f"The tools to serve; `all` for every one [default: {DEFAULT_TOOLS}]",
        default=DEFAULT_TOOLS,
        values=[*PURPOSES, "all"],
    )
    structured: bool = option(
        "--structured", "Also send each answer as an object, and list the schemas of these objects"
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
        require_watchfiles()
    session = accept_session(tools)  # before the slow imports
    served, upkeep = _prepare_folder(folder, flags, "mcp")
    if not session.first:
        return 0

    def leave(number: int, frame: FrameType | None) -> None:
        """End the process at once, since a thread keeps waiting for stdin. No file is open for writing."""
        upkeep.close()
        os._exit(0)

    signal.signal(signal.SIGINT, leave)
    signal.signal(signal.SIGTERM, leave)
    upkeep.start_update(0)
    try:
        from codelens.server.mcp.sdk import ToolDesk, serve_pipes
        from codelens.server.mcp.tools import TOOLS

        chosen = {name: TOOLS[name] for name in tools}
        desk = ToolDesk(served, upkeep, chosen, f"mcp {os.getpid()}", flags.structured, flags.debug)
        serve_pipes(desk, sys.stdin.buffer, session)
    finally:
        upkeep.close()
    return 0


class LspFlags(StdioFlags):
    stdio: bool = option("--stdio", "No effect: some clients pass it, and the server has no other transport")
    allow_network: bool = ALLOW_NETWORK


@command(epilog="Exit: 0 the session ended, or SIGINT or SIGTERM came; 1 the client left without `shutdown`; 2 error.")
def lsp(flags: LspFlags) -> int:
    """Serve the Language Server Protocol on stdin and stdout. An editor starts this; it builds and updates indexes."""
    require_packages("lsp", "lsprotocol", "pygls")
    from codelens.server.lsp.server import serve_stdio

    serve_stdio(lambda folder: _prepare_folder(folder, flags, "lsp"), flags.debug)
    return 0


def _prepare_folder(folder: Path, flags: McpFlags | LspFlags, command: str) -> tuple[ServedIndex, Upkeep]:
    """Make the index of a folder ready to serve, with its upkeep, which writes nothing if that is not allowed."""
    from codelens.cli.workplace import choose_index, load_settings_at, resolve_named_index
    from codelens.server.upkeep import ServedIndex, Upkeep, WatchedUpkeep
    from codelens.worktree.place import find_git_top, is_home

    index = resolve_named_index(flags) or choose_index(folder)
    settings = load_settings_at(folder, index, flags).values
    served = ServedIndex(find_git_top(folder) or folder, index, settings)
    refusal = ""
    if flags.no_index:
        refusal = f"`codelens {command} --no-index` creates none"
    elif not index.is_file() and is_home(served.folder):  # clients without a project start here
        refusal = f"{served.folder} is not a project: name one, as in `codelens mcp PATH`"
    return served, (WatchedUpkeep if getattr(flags, "watch", False) else Upkeep)(served, refusal)
