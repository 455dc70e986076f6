"""Requests about a file or the workspace as a whole: symbols, folding, selections and code lenses."""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from pathlib import Path

from lsprotocol import types

from codelens.index import Index
from codelens.lang.tokens import find_blocks, find_enclosing
from codelens.model.code import CHUNK_KINDS, SYMBOL_KINDS
from codelens.model.request import SearchOptions
from codelens.model.search import Hit
from codelens.server.lsp.workspace import UNREADABLE, LspRequest, Reader, path_from_uri
from codelens.text.counts import quantity

MOST_SYMBOLS = 100  # Symbols of a workspace that one answer lists
KINDS = {
    "trait": types.SymbolKind.Interface,
    "type": types.SymbolKind.Class,
    "macro": types.SymbolKind.Constant,
    "section": types.SymbolKind.String,
}
"""The protocol's kinds of definitions whose kind has another name there."""


def to_symbol_kind(kind: str) -> types.SymbolKind:
    """The protocol's kind of a definition."""
    names = types.SymbolKind.__members__
    return KINDS.get(kind) or names.get(kind.title(), types.SymbolKind.Variable)


def find_symbols(request: LspRequest, params: types.DocumentSymbolParams) -> list[types.DocumentSymbol]:
    """The definitions of a file and the headings of a document, nested."""
    buffer = request.buffer(params.text_document.uri)
    symbols, top = dict[int | None, list[types.DocumentSymbol]](), list[types.DocumentSymbol]()
    for number, unit in enumerate(buffer.extraction.units):
        if unit.name and (unit.kind not in CHUNK_KINDS or unit.kind == "section"):
            whole = buffer.range(unit.span.start, unit.span.end)
            name = buffer.range(unit.name_span.start, unit.name_span.end) if unit.name_span.end else whole
            symbols[number] = children = list[types.DocumentSymbol]()
            kind, signature = to_symbol_kind(unit.kind), " ".join(unit.signature.split())
            symbol = types.DocumentSymbol(unit.name, kind, whole, name, signature, children=children)
            symbols.get(unit.parent, top).append(symbol)
    return top


def find_workspace_symbols(request: LspRequest, params: types.WorkspaceSymbolParams) -> list[types.SymbolInformation]:
    """The definitions that a search finds, the best first; those of several folders in turn."""
    options = SearchOptions(limit=MOST_SYMBOLS, reasons=False, snippet_lines=1)
    hits = find_hits(request, params.query, options)[0] if params.query.strip() else []
    return [
        types.SymbolInformation(where, u.name, to_symbol_kind(u.kind), container_name=u.container or u.path)
        for u, where in ((hit.unit, where) for hit, where in hits)
        if u.kind in SYMBOL_KINDS
    ]


def find_hits(
    request: LspRequest, query: str, options: SearchOptions
) -> tuple[list[tuple[Hit, types.Location]], list[str]]:
    """The hits of a search, each at its place in the open text, without those that an open text has no more; and notices."""
    found, notices = list[tuple[Hit, types.Location]](), list[str]()
    for folder in {folder.served.index: folder for folder in request.folders.values()}.values():
        with suppress(*UNREADABLE), Index.reopen(folder.served.index, folder.served.settings) as index:
            parsed = index.parse(query, options)
            lines = options.reasons and parsed.asks_for_lines
            result = (index.search_lines if lines else index.search)(parsed, options)
            notices += [notice.text for notice in result.notices]
            with folder.reader(request.buffers, request.encoding, request.cancelled) as reader:
                found += ((hit, where) for hit in result.hits if (where := _find_place(reader, hit)) is not None)
    return sorted(found, key=lambda one: one[0].rank)[: options.limit], notices


def _find_place(reader: Reader, hit: Hit) -> types.Location | None:
    """The place to jump to; None if the open text does not have the unit any more."""
    unit = reader.store.units.rows([hit.unit.id]).get(hit.unit.id)
    if unit is None or unit.document in reader.store.edited:
        return reader.unit_location(unit) if unit else None
    name = unit.name if unit.name_line == hit.line else ""
    return reader.line_location(Path(hit.root, unit.path), hit, name)


def find_folds(request: LspRequest, params: types.FoldingRangeParams) -> list[types.FoldingRange]:
    """Parts of the syntax that span several lines, else definitions and headings."""
    buffer = request.buffer(params.text_document.uri)
    blocks = find_blocks(buffer.map.utf8, buffer.language)
    if not blocks:
        blocks = [(u.start_line - 1, u.end_line - 1, "") for u in buffer.extraction.units if u.end_line > u.start_line]
    kinds = {"comment": types.FoldingRangeKind.Comment, "import": types.FoldingRangeKind.Imports}
    folds = list[types.FoldingRange]()
    for first, last, kind in blocks:
        closes = buffer.line(last).strip().startswith((b"}", b")", b"]", b"end"))
        if last - closes > first:
            folds.append(types.FoldingRange(first, last - closes, kind=kinds.get(kind)))
    return folds


def find_selections(request: LspRequest, params: types.SelectionRangeParams) -> list[types.SelectionRange]:
    """For each position the nodes of the syntax around it, innermost first."""
    buffer, found = request.buffer(params.text_document.uri), list[types.SelectionRange]()
    for position in params.positions:
        selection, parent = types.SelectionRange(types.Range(position, position)), None
        for start, end in find_enclosing(buffer.map.utf8, buffer.language, buffer.offset(position)):
            parent = selection = types.SelectionRange(buffer.range(start, end), parent)
        found.append(selection)
    return found


def find_lenses(request: LspRequest, params: types.CodeLensParams) -> list[types.CodeLens]:
    """The numbers of references and tests above each definition, if the client wants them."""
    lenses, uri = list[types.CodeLens](), params.text_document.uri
    if not request.options["lens"]:
        return lenses
    with request.reader(uri) as reader:
        document = reader.document(path_from_uri(uri))
        units = [u for u in reader.store.units.of_document(document.id) if u.kind not in CHUNK_KINDS and not u.local]
        edges = set(reader.store.edges.incoming([unit.id for unit in units]))
        uses = Counter[int](edge.target for edge in edges if edge.line)
        tests = Counter[int](edge.target for edge in edges if edge.kind == "tests")
        for unit in units:
            where = reader.unit_location(unit).range
            title = quantity(uses[unit.id], "reference")
            title += f", {quantity(tests[unit.id], 'test')}" if tests[unit.id] else ""
            start = {"line": where.start.line, "character": where.start.character}
            command = types.Command(title, "codelens.references", arguments=[{"uri": uri, "position": start}])
            lenses.append(types.CodeLens(where, command))
    return lenses
