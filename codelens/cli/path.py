"""codelens path: how one thing leads to another."""

from pathlib import Path
from typing import Annotated

from codelens.cli.declare import argument, declare
from codelens.cli.graph_flags import EXIT, TARGET, DepthFlags
from codelens.cli.graph_shown import ask_graph


class PathFlags(DepthFlags):
    """The two ends, and where the way may go."""

    first: Annotated[str | None, argument(f"Where it begins: {TARGET}", "FROM")] = None
    second: Annotated[str | None, argument("Where it ends", "TO")] = None
    paths: Annotated[list[Path] | None, argument("Only through these files and folders", "[PATH]...")] = None


def path(flags: PathFlags) -> int:
    """Show a shortest way from one thing to another. It goes along calls, uses, imports and inheritance.

    Goes up to 8 hops, and follows edges of .5 confidence or more, unless --depth and --min-confidence say otherwise.
    """
    return ask_graph(
        flags,
        [flags.first, flags.second],
        flags.paths,
        lambda index, targets, asked: index.path(targets[0], targets[1], asked),
    )


command = declare("path", PathFlags, path, epilog=EXIT)
