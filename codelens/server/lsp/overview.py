"""Answers requests about a whole file or the workspace, and the commands of `workspace/executeCommand`.

A command takes an object, and returns one like `--json` of the command line.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from typing import Any

from lsprotocol import types
from lsprotocol.converters import get_converter

from codelens.context.counters import open_counter
from codelens.errors import UsageError
from codelens.lang.tokens import find_blocks, find_enclosing
from codelens.model.code import CHUNK_KINDS, SYMBOL_KINDS
from codelens.model.context import CHANGE, EVERYTHING, ContextRequest
from codelens.model.graph import RelationAnswer, RelationOptions
from codelens.model.search import Hit
from codelens.render.context import make_layout
from codelens.render.paths import PathStyle
from codelens.render.records import Record, build_hit_record
from codelens.render.relations import build_answer_record, format_relations
from codelens.render.why import WhyView, find_first_reason, render_why
from codelens.render.why_json import build_why_record
from codelens.server.lsp.navigation import find_places, to_symbol_kind
from codelens.server.lsp.workspace import UNREADABLE, LspRequest, NameInFile, parse_uri
from codelens.text.counts import quantity

MOST_SYMBOLS = 100  # Most symbols of a workspace in one answer
BUDGET = 8000  # Default number of tokens of a context pack
Argument = Mapping[str, Any]


def find_symbols(request: LspRequest, params: types.DocumentSymbolParams) -> list[types.DocumentSymbol]:
    """List the definitions of a file, or the headings of a document, nested."""
    text, top = request.read_text(params.text_document.uri), list[types.DocumentSymbol]()
    inside = dict[int | None, list[types.DocumentSymbol]]()
    for number, unit in enumerate(text.extraction.units):
        if unit.name and (unit.kind not in CHUNK_KINDS or unit.kind == "section"):
            whole, children = text.to_range(unit.span.start, unit.span.end), list[types.DocumentSymbol]()
            name = text.to_range(unit.name_span.start, unit.name_span.end) if unit.name_span.end else whole
            kind, signature = to_symbol_kind(unit.kind), " ".join(unit.signature.split())
            symbol = types.DocumentSymbol(unit.name, kind, whole, name, signature, children=children)
            inside.get(unit.parent, top).append(symbol)
            inside[number] = children
    return top


def find_workspace_symbols(request: LspRequest, params: types.WorkspaceSymbolParams) -> list[types.SymbolInformation]:
    """Find definitions by a search, the best first; equal ranks in several folders follow one another."""
    if not params.query.strip():
        return []
    hits, _ = find_hits(request, params.query, limit=MOST_SYMBOLS, reasons=False, snippet_lines=1)
    return [
        types.SymbolInformation(where, unit.name, to_symbol_kind(unit.kind), container_name=unit.container or unit.path)
        for unit, where in ((hit.unit, where) for hit, where in hits)
        if unit.kind in SYMBOL_KINDS
    ]


def find_hits(request: LspRequest, query: str, **given: Any) -> tuple[list[tuple[Hit, types.Location]], list[str]]:
    """Search all folders; returns (hits with their locations, by rank; notices)."""
    hits, notices = list[tuple[Hit, types.Location]](), list[str]()
    for folder in {folder.served.index: folder for folder in request.folders.values()}.values():
        with suppress(*UNREADABLE), folder.open_reader(request) as reader:
            options = folder.make_options(**given)
            parsed = reader.index.parse(query, options)
            lines = options.reasons and parsed.asks_for_lines
            result = (reader.index.search_lines if lines else reader.index.search)(parsed, options)
            notices += [notice.text for notice in result.notices]
            for hit in result.hits:
                name = hit.unit.name if hit.unit.name_line == hit.line else ""
                hits.append((hit, reader.locate_line(hit, name)))
    return sorted(hits, key=lambda hit: hit[0].rank)[: given["limit"]], notices


def find_folds(request: LspRequest, params: types.FoldingRangeParams) -> list[types.FoldingRange]:
    """Find what can be folded: syntax nodes of several lines, else definitions and headings."""
    text, folds = request.read_text(params.text_document.uri), list[types.FoldingRange]()
    units = ((unit.start_line - 1, unit.end_line - 1) for unit in text.extraction.units)
    for first, last in find_blocks(text.utf8, text.language) or units:
        closes = text.read_line(last).strip().startswith((b"}", b")", b"]", b"end"))
        if last - closes > first:
            folds.append(types.FoldingRange(first, last - closes))
    return folds


def find_selections(request: LspRequest, params: types.SelectionRangeParams) -> list[types.SelectionRange]:
    """Find the syntax nodes around each position, innermost first."""
    text, selections = request.read_text(params.text_document.uri), list[types.SelectionRange]()
    for position in params.positions:
        selection, parent = types.SelectionRange(types.Range(position, position)), None
        for start, end in find_enclosing(text.utf8, text.language, text.to_offset(position)):
            parent = selection = types.SelectionRange(text.to_range(start, end), parent)
        selections.append(selection)
    return selections


def find_lenses(request: LspRequest, params: types.CodeLensParams) -> list[types.CodeLens]:
    """Count the references and tests of each definition, to show above it, if the client wants them."""
    lenses, uri = list[types.CodeLens](), params.text_document.uri
    if not request.options["lens"]:
        return lenses
    with request.find_folder(uri).open_reader(request) as reader:
        document = reader.find_document(parse_uri(uri))
        units = [u for u in reader.units.list_in_document(document.id) if u.kind not in CHUNK_KINDS and not u.local]
        edges = set(reader.edges.find_incoming([unit.id for unit in units]))
        uses = Counter[int](edge.target for edge in edges if edge.line)
        tests = Counter[int](edge.target for edge in edges if edge.kind == "tests")
        for unit in units:
            where = reader.locate_unit(unit).range
            title = quantity(uses[unit.id], "reference")
            title += f", {quantity(tests[unit.id], 'test')}" if tests[unit.id] else ""
            position = {"line": where.start.line, "character": where.start.character}
            command = types.Command(title, "codelens.references", arguments=[{"uri": uri, "position": position}])
            lenses.append(types.CodeLens(where, command))
    return lenses


def read_fields(argument: Argument, **kinds: type[Any]) -> list[Any]:
    """Read typed fields of an argument; `position_line` is the field `line` in `position`. Raises UsageError for a bad field."""
    values = list[Any]()
    for name, kind in kinds.items():
        value: Any = argument
        for part in name.split("_"):
            value = value.get(part) if isinstance(value, dict) else None
        if not isinstance(value, kind):
            raise UsageError(f"the argument needs '{name.replace('_', '.')}', a {kind.__name__}")
        values.append(value)
    return values


def search_code(request: LspRequest, argument: Argument) -> Record:
    """Search: {query, limit?} → {hits, notices}. Hits are those of `search --json`, with `uri`, `range` and `reason`."""
    (query,) = read_fields(argument, query=str)
    hits, notices = find_hits(request, query, limit=argument.get("limit", 20))
    unstructure, records = get_converter().unstructure, list[Record]()
    for hit, where in hits:
        reason = find_first_reason(hit.contributions, hit.channels)
        records.append({**build_hit_record(hit, contributions=False), **unstructure(where), "reason": reason})
    return {"hits": records, "notices": notices}


def explain_rank(request: LspRequest, argument: Argument) -> Record:
    """Explain a rank: {query, uri, position} → the object of `why --json` with a field `text`."""
    query, uri, line = read_fields(argument, query=str, uri=str, position_line=int)
    target = f"{os.path.realpath(parse_uri(uri))}:{line + 1}"
    with request.find_folder(uri).open_reader(request) as reader:
        result = reader.index.why(query, [target], reader.folder.make_options())
    return {**build_why_record(result, 0), "text": "".join(render_why(result, WhyView(PathStyle("root", ""))))}


def pack_context(request: LspRequest, argument: Argument) -> Record:
    """Pack the code that a part of a file depends on: {uri, range, budget?} → {text, tokens, notices}."""
    uri, first, last = read_fields(argument, uri=str, range_start_line=int, range_end_line=int)
    file, lines = parse_uri(uri), request.read_text(uri).utf8.split(b"\n")[first : last + 1]
    head = f"--- a/{file.name}\n+++ b/{file.name}\n@@ -{first},0 +{first + 1},{len(lines)} @@\n"
    diff = head.encode() + b"".join(b"+%s\n" % line for line in lines)
    with request.find_folder(uri).open_reader(request) as reader:
        options, budget = reader.folder.make_options(limit=EVERYTHING), argument.get("budget", BUDGET)
        wanted = ContextRequest(CHANGE, open_counter("auto"), options, budget, diff=diff, cwd=str(file.parent))
        layout = make_layout("markdown", PathStyle("root", "", reader.index.info().repositories))
        packed = reader.index.context(wanted, layout, keep=False)
    return {"text": packed.text, "tokens": packed.tokens, "notices": [notice.text for notice in packed.notices]}


def find_impact(name: NameInFile) -> RelationAnswer | None:
    """Find what a change of a definition may affect, nearest first."""
    graph = name.reader.index.graph
    return graph.impact(name.reader.format_target(name.units[0]), RelationOptions()) if name.units else None


def ask_graph(
    ask: Callable[[NameInFile], RelationAnswer | None], request: LspRequest, argument: Argument
) -> Record | None:
    """Ask about a name: {uri, position} → the object of `impact --json` or `refs --json` with a field `text`."""
    uri, *position = read_fields(argument, uri=str, position_line=int, position_character=int)
    answer = request.answer_about_name(uri, types.Position(*position), ask)
    if answer is None:
        return None
    lines = format_relations(answer, PathStyle("root", "", answer.index.repositories))
    return {**build_answer_record(answer, 0), "text": "".join(lines)}


COMMANDS: Mapping[str, Callable[[LspRequest, Argument], Record | None]] = {
    "codelens.search": search_code,
    "codelens.why": explain_rank,
    "codelens.context": pack_context,
    "codelens.impact": partial(ask_graph, find_impact),
    "codelens.references": partial(ask_graph, find_places),
}
