"""codelens refs: every place that names a thing."""

from pathlib import Path
from typing import Annotated

from codelens.cli.declare import argument, declare
from codelens.cli.graph_flags import EXIT, TARGET, GraphFlags
from codelens.cli.graph_shown import ask_graph


class RefsFlags(GraphFlags):
    """What is named, and where."""

    target: Annotated[str | None, argument(f"{TARGET}, or one of a library, as json.dumps", "TARGET")] = None
    paths: Annotated[list[Path] | None, argument("Only below these files and folders", "[PATH]...")] = None


def refs(flags: RefsFlags) -> int:
    """List every place that names a thing. Calls, imports, type hints, subclasses, mentions in prose: every kind of edge.

    A name that nothing in the index defines is looked for as a name. Of a file: what names it, or something in it, from
    other files.
    """
    return ask_graph(flags, [flags.target], flags.paths, lambda index, targets, asked: index.refs(targets[0], asked))


command = declare("refs", RefsFlags, refs, epilog=EXIT)
