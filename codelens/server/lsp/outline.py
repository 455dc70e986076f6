"""Requests about a file or the workspace as a whole: symbols, folding, selections and code lenses."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from lsprotocol import types

from codelens.index import Index
from codelens.lang.tokens import find_blocks, find_enclosing
from codelens.model.code import CHUNK_KINDS, SYMBOL_KINDS
from codelens.model.extraction import Unit
from codelens.model.request import SearchOptions
from codelens.model.search import Hit
from codelens.server.lsp.buffers import Buffer
from codelens.server.lsp.folders import UNREADABLE, LspRequest, Reader, WorkspaceFolder, path_from_uri
from codelens.text.counts import quantity

MOST_SYMBOLS = 100  # Symbols of a workspace that one answer lists
KINDS = {
    "function": types.SymbolKind.Function,
    "method": types.SymbolKind.Method,
    "class": types.SymbolKind.Class,
    "struct": types.SymbolKind.Struct,
    "interface": types.SymbolKind.Interface,
    "trait": types.SymbolKind.Interface,
    "enum": types.SymbolKind.Enum,
    "type": types.SymbolKind.Class,
    "constant": types.SymbolKind.Constant,
    "macro": types.SymbolKind.Constant,
    "module": types.SymbolKind.Module,
    "property": types.SymbolKind.Property,
    "section": types.SymbolKind.String,
}


def find_symbols(
    request: LspRequest, params: types.DocumentSymbolParams
) -> list[types.DocumentSymbol] | list[types.SymbolInformation]:
    """The definitions of a file and the headings of a document, nested if the client can show that."""
    buffer, uri = request.buffer(params.text_document.uri), params.text_document.uri
    units = buffer.extraction.units
    listed = [i for i, u in enumerate(units) if u.name and (u.kind not in CHUNK_KINDS or u.kind == "section")]
    if not request.options["hierarchical"]:
        flat = ((units[i], buffer.range(units[i].name_span.start, units[i].name_span.end)) for i in listed)
        return [
            types.SymbolInformation(
                types.Location(uri, where), u.name, to_symbol_kind(u.kind), container_name=u.container
            )
            for u, where in flat
        ]
    made, top = dict[int, types.DocumentSymbol](), list[types.DocumentSymbol]()
    for i in listed:
        made[i] = symbol = _symbol(units[i], buffer)
        outer = made.get(units[i].parent) if units[i].parent is not None else None  # type: ignore[arg-type]
        siblings = top if outer is None else outer.children
        assert siblings is not None
        siblings.append(symbol)  # type: ignore[attr-defined]
    return top


def _symbol(unit: Unit, buffer: Buffer) -> types.DocumentSymbol:
    whole = buffer.range(unit.span.start, unit.span.end)
    name = buffer.range(unit.name_span.start, unit.name_span.end) if unit.name_span.end else whole
    return types.DocumentSymbol(
        unit.name, to_symbol_kind(unit.kind), whole, name, " ".join(unit.signature.split()), children=[]
    )


def to_symbol_kind(kind: str) -> types.SymbolKind:
    """The protocol's kind of a definition."""
    return KINDS.get(kind, types.SymbolKind.Variable)


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
    request: LspRequest, query: str, options: SearchOptions, folders: Sequence[WorkspaceFolder] | None = None
) -> tuple[list[tuple[Hit, types.Location]], list[str]]:
    """The hits of a search, each at its place in the open text, without those that an open text has no more; and notices."""
    found, notices = list[tuple[Hit, types.Location]](), list[str]()
    of_index = {f.served.index: f for f in (request.folders.values() if folders is None else folders)}
    for folder in of_index.values():
        with suppress(*UNREADABLE), Index.reopen(folder.served.index, folder.served.settings) as index:
            parsed = index.parse(query, options)
            lines = options.reasons and parsed.asks_for_lines
            result = (index.search_lines if lines else index.search)(parsed, options)
            notices += [notice.text for notice in result.notices]
            with folder.reader(request.buffers, request.encoding, request.cancelled) as reader:
                found += ((hit, where) for hit in result.hits if (where := _place(reader, hit)) is not None)
    return sorted(found, key=lambda one: one[0].rank)[: options.limit], notices


def _place(reader: Reader, hit: Hit) -> types.Location | None:
    unit, root = hit.unit, Path(hit.root)
    documents = [d for d in reader.store.documents.by_path(unit.path) if reader.root(d) == root]
    one = reader.store.edited.get(documents[0].id) if documents else None
    if one is not None:
        same = (u for u in one.units if (u.kind, u.container, u.name) == (unit.kind, unit.container, unit.name))
        return next((reader.unit_location(u) for u in same), None)
    name = unit.name if unit.name_line == hit.line else ""
    return reader.line_location(hit, root / documents[0].os_path, name) if documents else None


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
    buffer = request.buffer(params.text_document.uri)
    found = list[types.SelectionRange]()
    for position in params.positions:
        selection = types.SelectionRange(types.Range(position, position))
        parent: types.SelectionRange | None = None
        for start, end in find_enclosing(buffer.map.utf8, buffer.language, buffer.offset(position)):
            parent = selection = types.SelectionRange(buffer.range(start, end), parent)
        found.append(selection)
    return found


def find_lenses(request: LspRequest, params: types.CodeLensParams) -> list[types.CodeLens]:
    """The numbers of references and tests above each definition, if the client wants them."""
    if not request.options["lens"]:
        return []
    uri = params.text_document.uri
    with request.reader(uri) as reader:
        document = reader.document(path_from_uri(uri))
        units = [u for u in reader.store.units.of_document(document.id) if u.kind not in CHUNK_KINDS and not u.local]
        uses, tests = Counter[int](), Counter[int]()
        for edge in set(reader.store.edges.incoming([u.id for u in units])):
            uses[edge.target] += bool(edge.line)
            tests[edge.target] += edge.kind == "tests"
        return [_lens(uri, reader.unit_location(u).range, uses[u.id], tests[u.id]) for u in units]


def _lens(uri: str, where: types.Range, uses: int, tests: int) -> types.CodeLens:
    title = quantity(uses, "reference") + (f", {quantity(tests, 'test')}" if tests else "")
    start = {"line": where.start.line, "character": where.start.character}
    return types.CodeLens(
        where, types.Command(title, "codelens.references", arguments=[{"uri": uri, "position": start}])
    )
