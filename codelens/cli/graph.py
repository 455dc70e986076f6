"""codelens graph: export the symbol graph for other programs, and import traces of executed code."""

from collections.abc import Iterator
from datetime import UTC, datetime

from codelens.cli.declare import CommandGroup, argument, command, option
from codelens.cli.flags import OUTPUT, CommonFlags, JsonFlags, Paths, Texts
from codelens.cli.freshness import open_current_index
from codelens.cli.relations import EDGE_KINDS, MIN_CONFIDENCE, FileFlags, parse_kinds, select_files
from codelens.cli.streams import inform, read_input, write, write_answer, write_json
from codelens.cli.workplace import find_workplace
from codelens.errors import UsageError
from codelens.model.graph import RelationOptions
from codelens.render.relations import GRAPH_FORMATS
from codelens.render.visible import escape_text
from codelens.text.counts import quantity


class ExportFlags(FileFlags):
    paths: Paths = argument("[PATH]...", "Export only these files and folders")
    format: str = OUTPUT(
        "--format HOW", "json, dot or graphml [default: json]", default="json", choices=tuple(GRAPH_FORMATS)
    )
    kinds: str | None = EDGE_KINDS
    min_confidence: float | None = MIN_CONFIDENCE


@command(epilog="Exit: 0 written, 1 no such files indexed, 2 error, 3 no index.")
def export(flags: ExportFlags) -> int:
    """Write the symbol graph. Nodes are files, symbols and external names; edges are the stored ones and containment.

    Nodes are ordered by content and numbered from 0, so that equal contents give equal bytes.
    """
    with open_current_index(flags) as (place, index):
        where = select_files(flags, place, index, flags.paths or ())
        options = RelationOptions(parse_kinds(flags.kinds or ""), flags.min_confidence, where=where)
        if where is not None and not index.files(where):
            return 1
        if flags.quiet:
            return 0
        with index.graph.stream(options) as graph:
            texts = GRAPH_FORMATS[flags.format](graph, index.info())
            (write if flags.format == "dot" else write_json)(texts)
    return 0


PIPE_HINT = "pipe the spans in: `codelens graph traces - <FILE`"


class TracesFlags(CommonFlags, JsonFlags):
    files: Texts = argument(
        "[FILE]...", "OTLP as JSON, one object or one per line; `-` is stdin [default: list what is kept]"
    )
    forget: bool = option("--forget", "Forget all traces")


@command(
    "traces",
    epilog="Exit: 0 read, listed or removed, 1 nothing fits the index or nothing is kept, 2 error, 3 no index.",
)
def import_traces(flags: TracesFlags) -> int:
    """Import OpenTelemetry spans. For each symbol that they name, keeps how often it ran, and when last.

    `--profile knowing` and `context --files` rank by it. Without FILE, list what is kept, the last seen first.
    """
    if flags.forget and flags.files:
        hint = "`codelens graph traces --forget` removes what was read from all files"
        raise UsageError("--forget takes no FILE", hint)
    with find_workplace(flags).open() as index:
        traces = index.graph.traces()
        if flags.forget:
            inform(flags, f"removed {traces.path}" if traces.forget() else "no traces were stored")
            return 0
        if flags.files:
            ingested = traces.ingest((name, read_input(name, PIPE_HINT)) for name in flags.files)
            if flags.json:
                write_answer(flags, ingested._asdict, tuple)
                return 0 if ingested.matched or ingested.known else 1
            for name in ingested.known:
                inform(flags, f"note: {name} is already imported; skipped")
            summary = f"{ingested.matched} of {quantity(ingested.symbols, 'symbol')}"
            summary += f", {ingested.nameless} without a function or a time" if ingested.nameless else ""
            unknown = (
                f", {ingested.unknown} of nothing that is indexed, or of several things" if ingested.unknown else ""
            )
            inform(flags, f"read {quantity(ingested.spans, 'span')}: {summary}{unknown}")
            return 0 if ingested.matched or ingested.known else 1
        runs = traces.list_observations()

    def format_lines() -> Iterator[str]:
        for place, seen in runs.items():
            last = datetime.fromtimestamp(seen.last, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
            yield f"{escape_text(place.format_label())} ({place.kind}): ran {quantity(seen.times, 'time')}, last {last}\n"

    rows = ({**place._asdict(), **seen._asdict()} for place, seen in runs.items())
    write_answer(flags, lambda: {"symbols": list(rows)}, format_lines)
    if not (runs or flags.json):
        inform(flags, "no trace was read")
    return 0 if runs else 1


graph = CommandGroup("graph", (export, import_traces), "Export the symbol graph; import OpenTelemetry traces.")
