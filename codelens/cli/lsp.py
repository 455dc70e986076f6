"""codelens lsp: the index for editors, over standard input and output."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from codelens.cli.declare import command, option
from codelens.cli.flags import ALLOW_NETWORK, CommonFlags
from codelens.errors import require_packages

if TYPE_CHECKING:
    from codelens.server.upkeep import ServedIndex, Upkeep


class LspFlags(CommonFlags):
    """Options: what may be written for the folders of the workspace."""

    no_index: bool = option(
        False, "--no-index", "Write nothing: neither make an index that is missing nor update a stale one"
    )
    stdio: bool = option(False, "--stdio", "No effect: some clients pass it, and the server has no other transport")
    allow_network: bool = ALLOW_NETWORK


@command(epilog="Exit: 0 the session ended, or SIGINT or SIGTERM came; 1 the client left without `shutdown`; 2 error.")
def lsp(flags: LspFlags) -> int:
    """Serve the Language Server Protocol on stdin and stdout. An editor starts this; it builds and updates indexes."""
    require_packages("lsp", "lsprotocol", "pygls")
    from codelens.cli.mcp import refusal
    from codelens.cli.workplace import named_index, settings_at
    from codelens.server.lsp.server import serve_stdio
    from codelens.server.upkeep import ServedIndex, Upkeep
    from codelens.worktree.place import git_top, new_index_place

    def serve(folder: Path) -> tuple[ServedIndex, Upkeep]:
        index = named_index(flags) or new_index_place(folder)
        settings = settings_at(folder, index, flags, {"allow_network": flags.allow_network or None}).values
        served = ServedIndex(git_top(folder) or folder, index, settings)
        return served, Upkeep(served, refusal(served.folder, index, flags.no_index, "lsp"))

    serve_stdio(serve, flags.debug)
    return 0
