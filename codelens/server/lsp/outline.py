"""Requests about a file or the workspace as a whole: symbols, folding, selections and code lenses."""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from typing import Any

from lsprotocol import types

from codelens.lang.tokens import find_blocks, find_enclosing
from codelens.model.code import CHUNK_KINDS, SYMBOL_KINDS
from codelens.model.search import Hit
from codelens.server.lsp.workspace import UNREADABLE, LspRequest, answers, path_from_uri
from codelens.text.counts import quantity

MOST_SYMBOLS = 100  # Symbols of a workspace that one answer lists


def to_symbol_kind(kind: str) -> types.SymbolKind:
    """The protocol's kind of a definition."""
    names = {"trait": "Interface", "type": "Class", "macro": "Constant", "section": "String"}
    return types.SymbolKind.__members__.get(names.get(kind, kind.title()), types.SymbolKind.Variable)


@answers("documentSymbol", types.TEXT_DOCUMENT_DOCUMENT_SYMBOL)
def find_symbols(request: LspRequest, params: types.DocumentSymbolParams) -> list[types.DocumentSymbol]:
    """The definitions of a file and the headings of a document, nested."""
    text, top = request.text(params.text_document.uri), list[types.DocumentSymbol]()
    inside = dict[int | None, list[types.DocumentSymbol]]()
    for number, unit in enumerate(text.extraction.units):
        if unit.name and (unit.kind not in CHUNK_KINDS or unit.kind == "section"):
            whole, children = text.range(unit.span.start, unit.span.end), list[types.DocumentSymbol]()
            name = text.range(unit.name_span.start, unit.name_span.end) if unit.name_span.end else whole
            kind, signature = to_symbol_kind(unit.kind), " ".join(unit.signature.split())
            symbol = types.DocumentSymbol(unit.name, kind, whole, name, signature, children=children)
            inside.get(unit.parent, top).append(symbol)
            inside[number] = children
    return top


@answers("workspaceSymbol", types.WORKSPACE_SYMBOL)
def find_workspace_symbols(request: LspRequest, params: types.WorkspaceSymbolParams) -> list[types.SymbolInformation]:
    """The definitions that a search finds, the best first; those of several folders in turn."""
    if not params.query.strip():
        return []
    hits, _ = find_hits(request, params.query, limit=MOST_SYMBOLS, reasons=False, snippet_lines=1)
    units = [(hit.unit, where) for hit, where in hits if hit.unit.kind in SYMBOL_KINDS]
    return [
        types.SymbolInformation(where, unit.name, to_symbol_kind(unit.kind), container_name=unit.container or unit.path)
        for unit, where in units
    ]


def find_hits(request: LspRequest, query: str, **given: Any) -> tuple[list[tuple[Hit, types.Location]], list[str]]:
    """The hits of a search, each at its place; those of several folders in turn. And notices."""
    hits, notices = list[tuple[Hit, types.Location]](), list[str]()
    for folder in {folder.served.index: folder for folder in request.folders.values()}.values():
        with suppress(*UNREADABLE), folder.reader(request) as reader:
            options = folder.options(**given)
            parsed = reader.index.parse(query, options)
            lines = options.reasons and parsed.asks_for_lines
            result = (reader.index.search_lines if lines else reader.index.search)(parsed, options)
            notices += [notice.text for notice in result.notices]
            for hit in result.hits:
                name = hit.unit.name if hit.unit.name_line == hit.line else ""
                hits.append((hit, reader.line_location(hit, name)))
    return sorted(hits, key=lambda hit: hit[0].rank)[: given["limit"]], notices


@answers("foldingRange", types.TEXT_DOCUMENT_FOLDING_RANGE)
def find_folds(request: LspRequest, params: types.FoldingRangeParams) -> list[types.FoldingRange]:
    """Parts of the syntax that span several lines, else definitions and headings."""
    text, folds = request.text(params.text_document.uri), list[types.FoldingRange]()
    units = ((unit.start_line - 1, unit.end_line - 1) for unit in text.extraction.units)
    for first, last in find_blocks(text.utf8, text.language) or units:
        closes = text.line(last).strip().startswith((b"}", b")", b"]", b"end"))
        if last - closes > first:
            folds.append(types.FoldingRange(first, last - closes))
    return folds


@answers("selectionRange", types.TEXT_DOCUMENT_SELECTION_RANGE)
def find_selections(request: LspRequest, params: types.SelectionRangeParams) -> list[types.SelectionRange]:
    """For each position the nodes of the syntax around it, innermost first."""
    text, selections = request.text(params.text_document.uri), list[types.SelectionRange]()
    for position in params.positions:
        selection, parent = types.SelectionRange(types.Range(position, position)), None
        for start, end in find_enclosing(text.utf8, text.language, text.offset(position)):
            parent = selection = types.SelectionRange(text.range(start, end), parent)
        selections.append(selection)
    return selections


@answers("codeLens", types.TEXT_DOCUMENT_CODE_LENS)
def find_lenses(request: LspRequest, params: types.CodeLensParams) -> list[types.CodeLens]:
    """The numbers of references and tests above each definition, if the client wants them."""
    lenses, uri = list[types.CodeLens](), params.text_document.uri
    if not request.options["lens"]:
        return lenses
    with request.folder(uri).reader(request) as reader:
        document = reader.document(path_from_uri(uri))
        units = [u for u in reader.units.of_document(document.id) if u.kind not in CHUNK_KINDS and not u.local]
        edges = set(reader.edges.incoming([unit.id for unit in units]))
        uses = Counter[int](edge.target for edge in edges if edge.line)
        tests = Counter[int](edge.target for edge in edges if edge.kind == "tests")
        for unit in units:
            where = reader.unit_location(unit).range
            title = quantity(uses[unit.id], "reference")
            title += f", {quantity(tests[unit.id], 'test')}" if tests[unit.id] else ""
            position = {"line": where.start.line, "character": where.start.character}
            command = types.Command(title, "codelens.references", arguments=[{"uri": uri, "position": position}])
            lenses.append(types.CodeLens(where, command))
    return lenses
