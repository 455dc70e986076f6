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
from codelens.model.context import CHANGE, EVERYTHING, TASK, ContextRequest
from codelens.model.graph import Related, RelationOptions
from codelens.model.request import SearchOptions
from codelens.render.context import make_layout
from codelens.render.families import first_reason
from codelens.render.paths import PathStyle
from codelens.render.records import Record, hit_record
from codelens.render.relations import related_lines, related_record
from codelens.render.why import WhyView, render_why
from codelens.render.why_json import why_record
from codelens.server.lsp.navigation import find_places
from codelens.server.lsp.outline import find_hits
from codelens.server.lsp.workspace import LspRequest, NameInFile, WorkspaceFolder, about_name, path_from_uri

Argument = Mapping[str, Any]
BUDGET = 8000  # Tokens of a context pack
_converter = get_converter()


def get_field(argument: Argument, name: str, kind: type[Any]) -> Any:
    """A field of the argument. Raises UsageError if it is missing or of another type."""
    if not isinstance(value := argument.get(name), kind):
        raise UsageError(f"the argument needs '{name}', a {kind.__name__}")
    return value


def get_place(argument: Argument) -> types.TextDocumentPositionParams:
    """The position that the argument names. Raises UsageError."""
    document, position = (
        types.TextDocumentIdentifier(get_field(argument, "uri", str)),
        get_field(argument, "position", dict),
    )
    line, character = get_field(position, "line", int), get_field(position, "character", int)
    return types.TextDocumentPositionParams(document, types.Position(line, character))


def get_folder(request: LspRequest, argument: Argument) -> WorkspaceFolder:
    """The folder of a file that the argument names, else the first. Raises NoIndex, and UsageError without a folder."""
    if "uri" in argument:
        return request.folder(get_field(argument, "uri", str))
    if not request.folders:
        raise UsageError("the workspace has no folder")
    return next(iter(request.folders.values()))


def get_options(folder: WorkspaceFolder, limit: int) -> SearchOptions:
    """The options of a search in a folder."""
    return SearchOptions(mode=folder.served.settings.mode, profile=folder.served.settings.profile, limit=limit)


def search(request: LspRequest, argument: Argument) -> Record:
    """{query, limit?} → {hits, notices}. A hit is one of `search --json`, with `uri`, `range` and `reason`."""
    query, options = get_field(argument, "query", str), get_options(get_folder(request, {}), argument.get("limit", 20))
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
    query, place, folder = get_field(argument, "query", str), get_place(argument), get_folder(request, argument)
    path = os.path.realpath(path_from_uri(place.text_document.uri))
    with folder.reader(request.without_texts()) as reader:
        options = get_options(folder, argument.get("limit", 20))
        result = reader.index.why(query, [f"{path}:{place.position.line + 1}"], options)
    return {**why_record(result, 0), "text": "".join(render_why(result, WhyView(PathStyle("root", ""))))}


def context(request: LspRequest, argument: Argument) -> Record:
    """{task} or {uri, range}, with budget? → {text, tokens, notices}: the code that a task or a part of a file is about."""
    source, task, folder, file, diff = TASK, "", get_folder(request, argument), Path(), None
    if "uri" in argument:
        source, file, span = CHANGE, path_from_uri(argument["uri"]), get_field(argument, "range", dict)
        first, last = (get_field(get_field(span, end, dict), "line", int) for end in ("start", "end"))
        lines = request.text(argument["uri"]).utf8.split(b"\n")[first : last + 1]
        head = f"--- a/{file.name}\n+++ b/{file.name}\n@@ -{first},0 +{first + 1},{len(lines)} @@\n"
        diff = head.encode() + b"".join(b"+%s\n" % line for line in lines)
    else:
        task = get_field(argument, "task", str)
    with folder.reader(request.without_texts()) as reader:
        options, budget, cwd = (
            get_options(folder, EVERYTHING),
            argument.get("budget", BUDGET),
            str(file.parent.absolute()),
        )
        wanted = ContextRequest(source, counter_of("auto"), options, budget, query=task, diff=diff, cwd=cwd)
        layout = make_layout("markdown", PathStyle("root", "", reader.index.info().repositories))
        packed = reader.index.context(wanted, layout, keep=False)
    return {"text": packed.text, "tokens": packed.tokens, "notices": [notice.text for notice in packed.notices]}


@about_name
def find_impact(name: NameInFile, _: types.TextDocumentPositionParams) -> Record | None:
    """List what a change of a definition may reach, nearest first."""
    reader = name.reader
    answer = reader.index.graph.impact(reader.target_of(name.units[0]), RelationOptions()) if name.units else None
    return make_record(answer)


@about_name
def find_references(name: NameInFile, _: types.TextDocumentPositionParams) -> Record | None:
    """The places of a name, each with its certainty."""
    return make_record(find_places(name))


def make_record(answer: Related | None) -> Record | None:
    """The object of `--json`, and the text of the answer."""
    if answer is None:
        return None
    lines = related_lines(answer, PathStyle("root", "", answer.index.repositories))
    return {**related_record(answer, 0), "text": "".join(lines)}


COMMANDS: Mapping[str, Callable[[LspRequest, Argument], Record | None]] = {
    "codelens.search": search,
    "codelens.why": why,
    "codelens.context": context,
    "codelens.impact": lambda request, argument: find_impact(request, get_place(argument)),
    "codelens.references": lambda request, argument: find_references(request, get_place(argument)),
}
