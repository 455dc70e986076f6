"""The commands of `workspace/executeCommand`: each takes an object and returns one."""

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
from codelens.model.context import CHANGE, EVERYTHING, FILES, TASK, ContextRequest
from codelens.model.graph import RelationOptions
from codelens.model.request import SearchOptions
from codelens.model.search import Candidate
from codelens.render.context import layout_of
from codelens.render.families import first_reason
from codelens.render.paths import PathStyle
from codelens.render.relations import related_lines
from codelens.render.why import WhyView, render_why
from codelens.server.lsp.folders import LspRequest, WorkspaceFolder, path_from_uri
from codelens.server.lsp.navigation import find_named_places, named_location, relation_location
from codelens.server.lsp.outline import find_hits

Record = dict[str, Any]
BUDGET = 8000  # Tokens of a context pack
_converter = get_converter()


def _given(given: Mapping[str, Any], name: str, kind: type[Any]) -> Any:
    """A field of the argument. Raises UsageError if it is missing or of another type."""
    if not isinstance(value := given.get(name), kind):
        raise UsageError(f"the argument needs '{name}', a {kind.__name__}")
    return value


def _folders(request: LspRequest, given: Mapping[str, Any]) -> list[WorkspaceFolder]:
    """The folder around `root`, `uri` or `path`; without these, all. Raises UsageError if the workspace has no folder."""
    named = next((given[name] for name in ("root", "uri", "path") if isinstance(given.get(name), str)), "")
    if named and (":" in named or Path(named).is_absolute()):
        return [request.folders.around(path_from_uri(named) if ":" in named else Path(named))]
    if not request.folders:
        raise UsageError("the workspace has no folder")
    return list(request.folders.values())


def _options(folder: WorkspaceFolder, **more: Any) -> SearchOptions:
    settings = folder.served.settings
    return SearchOptions(mode=settings.mode, profile=settings.profile, **more)


def _position(given: Mapping[str, Any]) -> types.Position:
    position = _given(given, "position", dict)
    return types.Position(_given(position, "line", int), _given(position, "character", int))


def search(request: LspRequest, given: Mapping[str, Any]) -> Record:
    """{query, limit?, root?} → {hits, notices}."""
    query, limit, folders = _given(given, "query", str), given.get("limit", 20), _folders(request, given)
    hits, notices = find_hits(request, query, _options(folders[0], limit=limit), folders)
    records = [
        {
            "path": hit.unit.path,
            "uri": where.uri,
            "range": _converter.unstructure(where.range),
            "kind": hit.unit.kind,
            "name": hit.unit.qualified_name,
            "signature": hit.unit.signature,
            "score": hit.score,
            "reason": first_reason(hit.contributions, hit.channels),
            "snippet": "\n".join(line.text for line in hit.snippet),
        }
        for hit, where in hits
    ]
    return {"hits": records, "notices": notices}


def why(request: LspRequest, given: Mapping[str, Any]) -> Record:
    """{query, uri, position} or {query, path, line, root?} → {text, rank}."""
    query, folder = _given(given, "query", str), _folders(request, given)[0]
    path = os.path.realpath(path_from_uri(given["uri"])) if "uri" in given else _given(given, "path", str)
    line = _position(given).line + 1 if "position" in given else _given(given, "line", int)
    with Index.reopen(folder.served.index, folder.served.settings) as index:
        result = index.why(query, [f"{path}:{line}"], _options(folder))

    def show_place(candidate: Candidate) -> str:
        return f"{candidate.unit.path}:{candidate.unit.name_line or candidate.unit.start_line}"

    text = "".join(render_why(result, WhyView(show_place)))
    return {"text": text, "rank": next((one.rank for one in result.explanations), None)}


def context(request: LspRequest, given: Mapping[str, Any]) -> Record:
    """{task} or {uri, range?}, with budget? → {text, tokens}: the code that a task, a file or a part of it is about."""
    folder = _folders(request, given)[0]
    with Index.reopen(folder.served.index, folder.served.settings) as index:
        source, query, diff, paths, root = TASK, given.get("task", ""), None, tuple[str, ...](), folder.path
        if "uri" in given:
            with request.reader(given["uri"]) as reader:
                document = reader.document(path_from_uri(given["uri"]))
                below, root = document.path, reader.root(document)
            source, paths = FILES, (below,)
            if "range" in given:
                first, last = (_given(given["range"][end], "line", int) for end in ("start", "end"))
                lines = request.buffer(given["uri"]).text.split("\n")[first : last + 1]
                head = f"--- a/{below}\n+++ b/{below}\n@@ -{first},0 +{first + 1},{len(lines)} @@\n"
                source, diff, paths = CHANGE, (head + "".join(f"+{line}\n" for line in lines)).encode(), ()
        elif not query:
            raise UsageError("the argument needs 'task', or 'uri'")
        wanted = ContextRequest(
            source=source,
            counter=counter_of("auto"),
            options=_options(folder, limit=EVERYTHING, paths=paths),
            budget=given.get("budget", BUDGET),
            query=query,
            diff=diff,
            cwd=str(root),
        )
        packed = index.context(
            wanted, layout_of("markdown", PathStyle("root", "", index.info().repositories)), keep=False
        )
    return {"text": packed.text, "tokens": packed.tokens, "notices": [notice.text for notice in packed.notices]}


def impact(request: LspRequest, given: Mapping[str, Any]) -> Record:
    """{uri, position} → {items, text}: what a change of a definition may reach, nearest first."""
    with request.meaning(_given(given, "uri", str), _position(given)) as (reader, _, meaning):
        units = reader.units(d.id for d in meaning.definitions) if meaning else []
        if not units:
            raise UsageError("no definition is named here")
        answer = reader.index.graph.impact(reader.target(units[0]), RelationOptions())
        items = [
            {
                "name": r.listed.qualified_name,
                "kind": r.listed.kind,
                "depth": r.depth,
                "test": r.test,
                "path": r.listed.path,
                **_converter.unstructure(named_location(reader, r.listed)),
            }
            for r in answer.relations
            if r.listed.path
        ]
        text = "".join(related_lines(answer, PathStyle("root", "", answer.index.repositories)))
    return {"items": items, "text": text, "notices": [notice.text for notice in answer.notices]}


def references(request: LspRequest, given: Mapping[str, Any]) -> Record:
    """{uri, position} → {places, notices}: as `textDocument/references`, each place with its certainty."""
    with request.meaning(_given(given, "uri", str), _position(given)) as (reader, names, meaning):
        answer = find_named_places(reader, names, meaning)
        places = [
            {
                "certainty": r.certainty,
                "role": r.role,
                "test": r.test,
                "text": r.place.text,
                **_converter.unstructure(relation_location(reader, r)),
            }
            for r in (answer.relations if answer else ())
            if r.place.line
        ]
    return {"places": places, "notices": [notice.text for notice in answer.notices] if answer else []}


COMMANDS: Mapping[str, Callable[[LspRequest, Mapping[str, Any]], Record]] = {
    f"codelens.{command.__name__}": command for command in (search, why, context, impact, references)
}
