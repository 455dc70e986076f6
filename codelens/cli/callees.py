"""codelens callees: what a function calls, as a tree."""

from pathlib import Path
from typing import Annotated

from codelens.cli.declare import argument, declare
from codelens.cli.graph_flags import EXIT, TARGET, DepthFlags
from codelens.cli.graph_shown import ask_graph


class CalleesFlags(DepthFlags):
    """The root of the tree, and where its branches may lie."""

    target: Annotated[str | None, argument(TARGET, "TARGET")] = None
    paths: Annotated[list[Path] | None, argument("Only below these files and folders", "[PATH]...")] = None


def callees(flags: CalleesFlags) -> int:
    """List what a function or class calls, as a tree. With --depth also what those call.

    What overrides a method that is called may run in its place: it is listed and marked.
    """
    return ask_graph(flags, [flags.target], flags.paths, lambda index, targets, asked: index.callees(targets[0], asked))


command = declare("callees", CalleesFlags, callees, epilog=EXIT)
