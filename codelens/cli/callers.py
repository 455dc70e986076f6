"""codelens callers: who calls a function, as a tree."""

from pathlib import Path
from typing import Annotated

from codelens.cli.declare import argument, declare
from codelens.cli.graph_flags import EXIT, TARGET, DepthFlags
from codelens.cli.graph_shown import ask_graph


class CallersFlags(DepthFlags):
    """The root of the tree, and where its branches may lie."""

    target: Annotated[str | None, argument(TARGET, "TARGET")] = None
    paths: Annotated[list[Path] | None, argument("Only below these files and folders", "[PATH]...")] = None


def callers(flags: CallersFlags) -> int:
    """List who calls a function, as a tree. Who makes a class calls it; with --depth also who calls those.

    A call of a method that the target overrides may run the target: it is listed and marked.
    """
    return ask_graph(flags, [flags.target], flags.paths, lambda index, targets, asked: index.callers(targets[0], asked))


command = declare("callers", CallersFlags, callers, epilog=EXIT)
