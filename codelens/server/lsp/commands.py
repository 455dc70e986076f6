"""The commands of `workspace/executeCommand`: each takes an object and returns one, as `--json` of the command line does."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from lsprotocol import types
from lsprotocol.converters import get_converter

from codelens.context.counters import counter_of
from codelens.errors import UsageError
from codelens.index import Index
from codelens.model.context import CHANGE, EVERYTHING, TASK, ContextRequest
from codelens.model.graph import Related, RelationOptions
from codelens.model.request import SearchOptions
from codelens.render.context import layout_of
from codelens.render.families import first_reason
from codelens.render.paths import PathStyle
from codelens.render.records import Record, hit_record
from codelens.render.relations import related_lines, related_record
from codelens.render.why import WhyView, render_why
from codelens.render.why_json import why_record
from codelens.server.lsp.navigation import find_references_of
from codelens.server.lsp.outline import find_hits
from codelens.server.lsp.workspace import LspRequest, NameInFile, WorkspaceFolder, about_name, path_from_uri

Argument = Mapping[str, Any]
BUDGET = 8000  # Tokens of a context pack
_converter = get_converter()


def _get(argument: Argument, name: str, kind: type[Any]) -> Any:
    """A field of the argument. Raises UsageError if it is missing or of another type."""
    if not isinstance(value := argument.get(name), kind):
        raise UsageError(f"the argument needs '{name}', a {kind.__name__}")
    return value


def _get_place(argument: Argument) -> types.TextDocumentPositionParams:
    document, position = types.TextDocumentIdentifier(_get(argument, "uri", str)), _get(argument, "position", dict)
    line, character = _get(position, "line", int), _get(position, "character", int)
    return types.TextDocumentPositionParams(document, types.Position(line, character))


def _options(folder: WorkspaceFolder, **more: Any) -> SearchOptions:
    return SearchOptions(mode=folder.served.settings.mode, profile=folder.served.settings.profile, **more)


def _first_folder(request: LspRequest) -> WorkspaceFolder:
    if not request.folders:
        raise UsageError("the workspace has no folder")
    return next(iter(request.folders.values()))


def search(request: LspRequest, argument: Argument) -> Record:
    """{query, limit?} → {hits, notices}. A hit is one of `search --json`, with `uri`, `range` and `reason`."""
    query, options = _get(argument, "query", str), _options(_first_folder(request), limit=argument.get("limit", 20))
    hits, notices = find_hits(request, query, options)
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
    query, place = _get(argument, "query", str), _get_place(argument)
    folder, path = request.folder(place.text_document.uri), os.path.realpath(path_from_uri(place.text_document.uri))
    with Index.reopen(folder.served.index, folder.served.settings) as index:
        result = index.why(query, [f"{path}:{place.position.line + 1}"], _options(folder))
    text = "".join(render_why(result, WhyView(PathStyle("root", ""))))
    return {**why_record(result, 0), "text": text}


def context(request: LspRequest, argument: Argument) -> Record:
    """{task} or {uri, range}, with budget? → {text, tokens, notices}: the code that a task or a part of a file is about."""
    if "uri" in argument:
        uri, span = _get(argument, "uri", str), _get(argument, "range", dict)
        folder, source, task, file = request.folder(uri), CHANGE, "", path_from_uri(uri)
        first, last = (_get(_get(span, end, dict), "line", int) for end in ("start", "end"))
        lines = request.buffer(uri).map.utf8.split(b"\n")[first : last + 1]
        head = f"--- a/{file.name}\n+++ b/{file.name}\n@@ -{first},0 +{first + 1},{len(lines)} @@\n"
        diff = head.encode() + b"".join(b"+%s\n" % line for line in lines)
    else:
        folder, source, task, file, diff = _first_folder(request), TASK, _get(argument, "task", str), Path(), None
    with Index.reopen(folder.served.index, folder.served.settings) as index:
        options, budget = _options(folder, limit=EVERYTHING), argument.get("budget", BUDGET)
        wanted = ContextRequest(
            source, counter_of("auto"), options, budget, query=task, diff=diff, cwd=str(file.parent.absolute())
        )
        layout = layout_of("markdown", PathStyle("root", "", index.info().repositories))
        packed = index.context(wanted, layout, keep=False)
    return {"text": packed.text, "tokens": packed.tokens, "notices": [notice.text for notice in packed.notices]}


@about_name
def find_impact(found: NameInFile, place: types.TextDocumentPositionParams) -> Record | None:
    """List what a change of a definition may reach, nearest first."""
    units, graph = found.reader.units(d.id for d in found.meaning.definitions[:1]), found.reader.index.graph
    return _make_record(graph.impact(found.reader.target(units[0]), RelationOptions())) if units else None


@about_name
def find_uses(found: NameInFile, place: types.TextDocumentPositionParams) -> Record | None:
    """The places of a name, each with its certainty."""
    answer = find_references_of(found)
    return _make_record(answer) if answer else None


def _make_record(answer: Related) -> Record:
    """The object of `--json`, and the text of the answer."""
    paths = PathStyle("root", "", answer.index.repositories)
    return {**related_record(answer, 0), "text": "".join(related_lines(answer, paths))}


COMMANDS: Mapping[str, Callable[[LspRequest, Argument], Record | None]] = {
    "codelens.search": search,
    "codelens.why": why,
    "codelens.context": context,
    "codelens.impact": lambda request, argument: find_impact(request, _get_place(argument)),
    "codelens.references": lambda request, argument: find_uses(request, _get_place(argument)),
}
