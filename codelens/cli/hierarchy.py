"""codelens hierarchy: what a type is built on, and what is built on it."""

from pathlib import Path
from typing import Annotated

from codelens.cli.declare import argument, declare, option
from codelens.cli.flags import OUTPUT
from codelens.cli.graph_flags import EXIT, TARGET, DepthFlags
from codelens.cli.graph_shown import ask_graph


class HierarchyFlags(DepthFlags):
    """The type, and what to tell of its line."""

    target: Annotated[str | None, argument(TARGET, "TARGET")] = None
    paths: Annotated[list[Path] | None, argument("Only below these files and folders", "[PATH]...")] = None
    members: Annotated[bool, option("--members", section=OUTPUT, help="Tell which members override which")] = False


def hierarchy(flags: HierarchyFlags) -> int:
    """Show the bases of a type, and what is built on it. Above it what it extends, below it subclasses and implementors."""
    return ask_graph(
        flags,
        [flags.target],
        flags.paths,
        lambda index, targets, asked: index.hierarchy(targets[0], asked),
        flags.members,
    )


command = declare("hierarchy", HierarchyFlags, hierarchy, epilog=EXIT)
