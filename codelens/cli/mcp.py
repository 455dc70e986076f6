"""codelens mcp: the index as tools for a program that writes code, over standard input and output."""

import json
import shutil
from importlib.util import find_spec
from pathlib import Path

from codelens.cli.declare import argument, declare, option
from codelens.cli.flags import ALLOW_NETWORK, CommonFlags
from codelens.cli.streams import say, write
from codelens.errors import MissingExtra, UsageError
from codelens.server.mcp.door import let_in
from codelens.watching.events import need_watchfiles

CLIENTS = {
    "claude-code": ("mcpServers", ".mcp.json in the project"),
    "claude-desktop": ("mcpServers", "claude_desktop_config.json (Settings, Developer, Edit Config)"),
    "cursor": ("mcpServers", ".cursor/mcp.json in the project, or ~/.cursor/mcp.json"),
    "vscode": ("servers", ".vscode/mcp.json in the project"),
}
"""Client → the key under which it lists servers, and its file."""


class McpFlags(CommonFlags):
    """Options: the folder to serve, and what may be written for it."""

    folder: Path | None = argument(None, "The project [default: the working directory]", "[PATH]")
    no_index: bool = option(
        False, "--no-index", help="Write nothing: neither make an index that is missing nor update a stale one"
    )
    watch: bool = option(False, "--watch", help="Watch the trees, so that a change is indexed before it is asked for")
    allow_network: bool = ALLOW_NETWORK
    print_config: bool = option(
        False, "--print-config", help="Print what a client's configuration file needs to start this server"
    )
    client: str = option(
        "claude-code", "--client", metavar="NAME", help="Whose file: claude-code, claude-desktop, cursor or vscode"
    )


def mcp(flags: McpFlags) -> int:
    """Serve the Model Context Protocol on stdin and stdout. Clients start this; a missing index is made, a stale one updated.

    Tools: search, files, context, symbols, refs, callers, callees, impact, why, notes, feedback, status.
    """
    folder = (Path.cwd() / (flags.folder or "")).resolve()
    if not folder.is_dir():
        raise UsageError(f"no such folder: {folder}")
    if flags.print_config:
        return _print_config(folder, flags)
    if find_spec("mcp") is None:
        raise MissingExtra("mcp", ["mcp"], "mcp")
    if flags.watch:
        need_watchfiles()
    entered = let_in()  # before anything is imported that takes time
    from codelens.cli.workplace import named_index, settings_at
    from codelens.server.mcp.door import serve_stdio
    from codelens.server.upkeep import Served, Upkeep, WatchedUpkeep
    from codelens.worktree.place import git_top, new_index_place

    index = named_index(flags) or new_index_place(folder)
    settings = settings_at(folder, index, flags, {"allow_network": flags.allow_network or None}).values
    served = Served(git_top(folder) or folder, index, settings)
    keeping = WatchedUpkeep if flags.watch else Upkeep
    serve_stdio(served, keeping(served, _refusal(served.folder, index, flags)), entered, flags.debug)
    return 0


def _refusal(folder: Path, index: Path, flags: McpFlags) -> str:
    """Why nothing may be written. A home folder is what a client starts in that knows no project."""
    if flags.no_index:
        return "--no-index forbids creating one"
    home = Path.home().resolve()
    if not index.is_file() and folder in (home, *home.parents):
        return f"{folder} is not a project: name one, as in `codelens mcp PATH`"
    return ""


def _print_config(folder: Path, flags: McpFlags) -> int:
    if flags.client not in CLIENTS:
        raise UsageError(f"no client '{flags.client}'", f"clients: {', '.join(CLIENTS)}")
    key, place = CLIENTS[flags.client]
    from codelens.processes.python import codelens_command

    program = shutil.which("codelens")
    command = [str(Path(program).absolute())] if program else codelens_command()
    arguments = [*command[1:], "mcp", str(folder)]
    arguments += ["--db", str(flags.db.absolute())] if flags.db else []
    arguments += [
        name
        for name, given in (
            *(("--no-index", flags.no_index), ("--watch", flags.watch)),
            ("--allow-network", flags.allow_network),
        )
        if given
    ]
    server = {"command": command[0], "args": arguments}
    write([json.dumps({key: {"codelens": server}}, indent=2, ensure_ascii=False) + "\n"])
    if not flags.quiet:
        say(f"note: for {place}")
    return 0


command = declare("mcp", McpFlags, mcp, epilog="Exit: 0 the client left, or SIGINT or SIGTERM came; 2 error.")
