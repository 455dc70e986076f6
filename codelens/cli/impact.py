"""codelens impact: what a change may reach."""

from pathlib import Path
from typing import Annotated

from codelens.cli.declare import argument, declare
from codelens.cli.graph_flags import EXIT, TARGET, DepthFlags
from codelens.cli.graph_shown import ask_graph


class ImpactFlags(DepthFlags):
    """What is to be changed, and where it matters."""

    target: Annotated[str | None, argument(TARGET, "TARGET")] = None
    paths: Annotated[list[Path] | None, argument("Only below these files and folders", "[PATH]...")] = None


def impact(flags: ImpactFlags) -> int:
    """List what a change may reach. Callers, subclasses, overriding methods, importers of a file: nearest first, tests last.

    Goes 3 hops, and follows edges of .5 confidence or more, unless --depth and --min-confidence say otherwise.
    """
    return ask_graph(flags, [flags.target], flags.paths, lambda index, targets, asked: index.impact(targets[0], asked))


command = declare("impact", ImpactFlags, impact, epilog=EXIT)
