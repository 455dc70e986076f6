"""The commands of `workspace/executeCommand`: each takes an object and returns one, as `--json` of the command line does."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from lsprotocol import types
from lsprotocol.converters import get_converter

from codelens.context.counters import open_counter
from codelens.errors import UsageError
from codelens.model.context import CHANGE, EVERYTHING, ContextRequest
from codelens.model.graph import RelationAnswer, RelationOptions
from codelens.render.context import make_layout
from codelens.render.paths import PathStyle
from codelens.render.records import Record, hit_record
from codelens.render.relations import related_lines, related_record
from codelens.render.why import WhyView, first_reason, render_why
from codelens.render.why_json import why_record
from codelens.server.lsp.navigation import find_places
from codelens.server.lsp.outline import find_hits
from codelens.server.lsp.workspace import LspRequest, NameInFile, path_from_uri

Argument = Mapping[str, Any]
BUDGET = 8000  # Tokens of a context pack
_converter = get_converter()


def read_fields(argument: Argument, **kinds: type[Any]) -> list[Any]:
    """Fields of the argument, as `position_line` for one in another. Raises UsageError if one is missing or of another type."""
    values = list[Any]()
    for name, kind in kinds.items():
        value: Any = argument
        for part in name.split("_"):
            value = value.get(part) if isinstance(value, dict) else None
        if not isinstance(value, kind):
            raise UsageError(f"the argument needs '{name.replace('_', '.')}', a {kind.__name__}")
        values.append(value)
    return values


def search(request: LspRequest, argument: Argument) -> Record:
    """{query, limit?} → {hits, notices}. A hit is one of `search --json`, with `uri`, `range` and `reason`."""
    (query,) = read_fields(argument, query=str)
    hits, notices = find_hits(request, query, limit=argument.get("limit", 20))
    records = [
        {
            **hit_record(hit, contributions=False),
            "uri": where.uri,
            "range": _converter.unstructure(where.range),
            "reason": first_reason(hit.contributions, hit.channels),
        }
        for hit, where in hits
    ]
    return {"hits": records, "notices": notices}


def why(request: LspRequest, argument: Argument) -> Record:
    """{query, uri, position} → the object of `why --json`, and its text."""
    query, uri, line = read_fields(argument, query=str, uri=str, position_line=int)
    target = f"{os.path.realpath(path_from_uri(uri))}:{line + 1}"
    with request.folder(uri).reader(request) as reader:
        result = reader.index.why(query, [target], reader.folder.options())
    return {**why_record(result, 0), "text": "".join(render_why(result, WhyView(PathStyle("root", ""))))}


def context(request: LspRequest, argument: Argument) -> Record:
    """{uri, range, budget?} → {text, tokens, notices}: the code that a part of a file is about."""
    uri, first, last = read_fields(argument, uri=str, range_start_line=int, range_end_line=int)
    file, lines = path_from_uri(uri), request.text(uri).utf8.split(b"\n")[first : last + 1]
    head = f"--- a/{file.name}\n+++ b/{file.name}\n@@ -{first},0 +{first + 1},{len(lines)} @@\n"
    diff = head.encode() + b"".join(b"+%s\n" % line for line in lines)
    with request.folder(uri).reader(request) as reader:
        options, budget = reader.folder.options(limit=EVERYTHING), argument.get("budget", BUDGET)
        wanted = ContextRequest(CHANGE, open_counter("auto"), options, budget, diff=diff, cwd=str(file.parent))
        layout = make_layout("markdown", PathStyle("root", "", reader.index.info().repositories))
        packed = reader.index.context(wanted, layout, keep=False)
    return {"text": packed.text, "tokens": packed.tokens, "notices": [notice.text for notice in packed.notices]}


def find_impact(name: NameInFile) -> RelationAnswer | None:
    """List what a change of a definition may reach, nearest first."""
    graph = name.reader.index.graph
    return graph.impact(name.reader.target_of(name.units[0]), RelationOptions()) if name.units else None


def ask_graph(
    ask: Callable[[NameInFile], RelationAnswer | None], request: LspRequest, argument: Argument
) -> Record | None:
    """{uri, position} → the object of `impact --json` or `refs --json`, and its text."""
    uri, *position = read_fields(argument, uri=str, position_line=int, position_character=int)
    answer = request.about_name(uri, types.Position(*position), ask)
    if answer is None:
        return None
    lines = related_lines(answer, PathStyle("root", "", answer.index.repositories))
    return {**related_record(answer, 0), "text": "".join(lines)}


COMMANDS: Mapping[str, Callable[[LspRequest, Argument], Record | None]] = {
    "codelens.search": search,
    "codelens.why": why,
    "codelens.context": context,
    "codelens.impact": partial(ask_graph, find_impact),
    "codelens.references": partial(ask_graph, find_places),
}
