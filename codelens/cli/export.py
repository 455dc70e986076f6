"""codelens export: the symbol graph, for other programs."""

from pathlib import Path
from typing import Annotated

from codelens.cli.declare import argument, declare, option
from codelens.cli.flags import FILTERS, OUTPUT
from codelens.cli.graph_flags import FileFlags, files_meant, kinds_named
from codelens.cli.streams import write, write_json
from codelens.cli.workplace import reading_place
from codelens.errors import UsageError
from codelens.related import RelationOptions
from codelens.render.graph_files import GRAPH_FORMATS


class ExportFlags(FileFlags):
    """How much of the graph, and its form."""

    paths: Annotated[list[Path] | None, argument("Only these files and folders", "[PATH]...")] = None
    format: Annotated[
        str, option("--format", section=OUTPUT, metavar="HOW", help="json, dot or graphml [default: json]")
    ] = "json"
    kinds: Annotated[
        str | None,
        option("--kinds", section=FILTERS, metavar="K,…", help="Only these kinds of edges, as calls,extends"),
    ] = None
    min_confidence: Annotated[
        float | None,
        option("--min-confidence", section=FILTERS, metavar="X", help="Only edges at least this sure, 0 to 1"),
    ] = None


def export(flags: ExportFlags) -> int:
    """Write the symbol graph. Files, symbols and what they name outside, with all stored edges and what lies in what.

    In the order of contents, so that equal contents give equal bytes. Nodes are numbered from 0 in that order.
    """
    if flags.format not in GRAPH_FORMATS:
        raise UsageError(f"no format '{flags.format}'", f"formats: {', '.join(GRAPH_FORMATS)}")
    if flags.min_confidence is not None and not 0 <= flags.min_confidence <= 1:
        raise UsageError(f"--min-confidence is 0 to 1, not {flags.min_confidence}")
    place = reading_place(flags)
    with place.open() as index:
        where = files_meant(flags, place, index, flags.paths or ())
        asked = RelationOptions(kinds_named(flags.kinds or ""), flags.min_confidence, where=where)
        if where is not None and not index.files(where):
            return 1
        if flags.quiet:
            return 0
        with index.graph_stream(asked) as graph:
            texts = GRAPH_FORMATS[flags.format](graph, index.info())
            (write if flags.format == "dot" else write_json)(texts)
    return 0


command = declare(
    "export", ExportFlags, export, epilog="Exit: 0 written, 1 no such files indexed, 2 error, 3 no index."
)
