"""Answer questions about the whole graph: the map of a repository, and the graph as a stream of nodes and then edges.

A map shows the symbols that other files depend on most, as many as fit a budget of tokens. They are ranked by PageRank (Brin and
Page, 1998), in which a walker follows uses from file to file. Uses within a file do not count, or the largest file would vote for
itself; nor do uses in tests, which use everything, and in vendored code. Vendored code is listed last.

The nodes of a stream are numbered from 0 in the order of contents: each file with its contents, then externals. So equal contents
give equal streams, whatever ids the index uses. Only the numbers are kept in memory, not the nodes.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from codelens.graph.view import GraphView, make_external, read_outgoing
from codelens.graph.walk import WeightedEdge, build_adjacency, walk
from codelens.model.code import SYMBOL_KINDS, TYPE_KINDS, DocumentId
from codelens.model.graph import (
    EXTERNAL,
    KINDS,
    RESOLVED,
    CentralSymbol,
    Edge,
    GraphLink,
    GraphStream,
    NamedNode,
    Node,
    RepositoryMap,
    is_unit,
    make_document_node,
)

MAP_KINDS = (
    *("calls", "references", "type_hint_of", "accesses_field"),
    *("extends", "implements", "decorates", "throws", "imports"),
)
ALWAYS = (*TYPE_KINDS, "function", "method", "macro")
"""Kinds of symbols that may be on a map even if no other file uses them. Constants and variables must be used."""
DAMPING = 0.85  # The value of Brin and Page
STEPS = 30
TOLERANCE = 1e-6  # Smaller changes (L1) do not affect the order that a reader sees
CHARACTERS_A_TOKEN = 4
Uses = dict[Node, dict[Node, float]]  # Document or symbol → used symbol → confidence


def map_repository(view: GraphView, budget: int, focus: Collection[DocumentId] | None = None) -> RepositoryMap:
    """Make a map of at most `budget` tokens. With a `focus`, the walk starts in these documents only, and shows what they use."""
    documents = {row.id: row for row in view.list_documents()}
    order = {document: i for i, document in enumerate(documents)}
    local = view.store.units.list_local()
    rows = [row for row in view.store.units.list_briefs([*documents], SYMBOL_KINDS) if row[0] not in local]
    rows.sort(key=lambda r: (order[r[1]], r[5], -r[6], r[2], r[4], r[3]))  # the order of contents
    kinds = {Node(unit): kind for unit, _, kind, *_ in rows}
    home = {Node(unit): document for unit, document, *_ in rows} | {make_document_node(d): d for d in documents}
    tests = {d for d in documents if "test" in documents[d].roles}
    vendored = {d for d in documents if "vendored" in documents[d].roles and d not in (focus or ())}
    uses = _read_uses(view, home, tests | vendored)
    begins = [n for n, d in home.items() if (d in focus if focus is not None else d not in tests | vendored)]
    mass = _rank_nodes(uses, begins, list(home))
    files_using: dict[Node, set[DocumentId]] = {}
    for source, targets in uses.items():
        for target in targets:
            files_using.setdefault(target, set()).add(home[source])
    used_by = {node: len(files) for node, files in files_using.items()}
    listed = [n for n in kinds if home[n] not in tests and view.has_document(home[n])]
    listed = [n for n in listed if used_by.get(n) or (kinds[n] in ALWAYS and mass.get(n))]
    listed.sort(key=lambda n: (home[n] in vendored, -mass.get(n, 0.0)))  # stable: ties by content
    files, tokens = _fill_budget(view, listed, mass, used_by, budget)
    place = {node: i for i, node in enumerate(node for file in files for node in file)}
    links = sorted((place[a], place[b]) for a in place for b in uses.get(a, ()) if b in place)
    laid_out = tuple(tuple(file.values()) for file in files)
    return RepositoryMap(laid_out, tuple(links), len(listed), budget, tokens, tuple(view.list_notices(())), view.info)


def _read_uses(view: GraphView, home: Mapping[Node, DocumentId], apart: Collection[DocumentId]) -> Uses:
    """Read the uses between files, except from files in `apart`."""
    uses: Uses = {}
    for edge in view.store.edges.list_all(MAP_KINDS):
        here, there = home.get(edge.source), home.get(edge.target)
        if here is None or there is None or here == there or here in apart or edge.confidence < RESOLVED:
            continue
        if is_unit(edge.target):
            row = uses.setdefault(edge.source, {})
            row[edge.target] = max(row.get(edge.target, 0.0), edge.confidence)
    return uses


def _rank_nodes(uses: Uses, begins: Sequence[Node], order: Sequence[Node]) -> dict[Node, float]:
    """Rank nodes by the share of the mass that the walk gives them. Numbering them by content makes rounding independent of ids."""
    place = {node: i for i, node in enumerate(order)}
    rows = ((place[source], row) for source, row in uses.items())
    edges = (WeightedEdge(source, place[n], sure, "uses") for source, row in rows for n, sure in row.items())
    seeds = {place[node]: 1.0 for node in begins}
    result = walk(build_adjacency(edges), seeds, 1 - DAMPING, max_steps=STEPS, tolerance=TOLERANCE, stable_steps=0)
    return {order[i]: share for i, share in result.mass.items()}


def _fill_budget(
    view: GraphView, ranked: Sequence[Node], mass: Mapping[Node, float], used_by: Mapping[Node, int], budget: int
) -> tuple[list[dict[Node, CentralSymbol]], int]:
    """Choose the best symbols that fit the budget, under the types that contain them, by file; returns (files, tokens used)."""
    files: dict[tuple[str, str], dict[Node, CentralSymbol]] = {}
    room, characters = budget * CHARACTERS_A_TOKEN, 0
    for symbol in ranked:
        chain = [symbol]  # the types that contain the symbol, outermost first, then the symbol
        while around := view.store.units.find_outer([chain[0]]):
            outer = Node(next(iter(around.values())))
            if view.name_node(outer).kind not in TYPE_KINDS:
                break
            chain.insert(0, outer)
        named = view.name_node(symbol)
        file = files.get((named.repository, named.path), {})
        added = [(depth, n) for depth, n in enumerate(chain) if n not in file]
        new = {n: CentralSymbol(view.name_node(n), mass.get(n, 0.0), used_by.get(n, 0), d) for d, n in added}
        cost = sum(len(central.text) + 1 for central in new.values()) + (0 if file else len(named.path) + 1)
        if characters + cost > room:
            break
        characters += cost
        files.setdefault((named.repository, named.path), {}).update(new)
    in_order = [{node: file[node] for node in sorted(file, key=view.order_node)} for file in files.values()]
    return in_order, -(-characters // CHARACTERS_A_TOKEN)


EXPORTED = (*KINDS, "contains")  # Kinds in a stream by default: all stored kinds, and containment


def stream_graph(view: GraphView, kinds: Collection[str]) -> GraphStream:
    """Stream the nodes of the files in the view, the edges of these kinds between them, and the externals at their ends."""
    documents = [d for d in view.list_documents() if view.has_document(d.id)]
    numbers: dict[Node, int] = {}

    def read_edges(document: DocumentId) -> list[Edge]:
        units = view.store.units.list_ids([document])
        return read_outgoing(view.store, [make_document_node(document), *units], kinds or EXPORTED)

    def list_nodes() -> Iterator[tuple[int, NamedNode]]:
        externals: set[Node] = set()
        for document in documents:
            for node, named in view.list_nodes_in(document):
                numbers[node] = len(numbers)
                yield numbers[node], named
            externals.update(e.target for e in read_edges(document.id) if e.target >= EXTERNAL)
        names = view.store.edges.read_external_names(externals)
        for node in sorted(names, key=lambda n: names[n]):
            numbers[node] = len(numbers)
            yield numbers[node], make_external(names[node])

    def list_links() -> Iterator[GraphLink]:
        for document in documents:
            edges = (e for e in read_edges(document.id) if e.confidence >= view.least)
            ends = ((numbers[e.source], numbers[e.target], e) for e in edges if {e.source, e.target} <= numbers.keys())
            yield from sorted({GraphLink(a, b, e.kind, e.line, e.provenance, e.confidence) for a, b, e in ends})

    return GraphStream(list_nodes(), list_links())
