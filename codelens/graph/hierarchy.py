"""Class hierarchy of a type: bases and subclasses, on request with overridden members."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from codelens.graph.reach import Link, reach, tree_of
from codelens.graph.refs import KIND_OF_USE
from codelens.graph.view import GraphView, contains, outside, resolve_start
from codelens.model.graph import BY_NAME, BY_NAME_CONFIDENCE, EXTERNAL, Edge, Node, Related, Relation, RelationOptions

HIERARCHY_KINDS = ("extends", "implements")
DEEPEST = 50
"""Levels followed; real hierarchies have fewer. Chosen."""


def hierarchy(view: GraphView, target: str, options: RelationOptions) -> Related:
    """The bases of a type, then its subclasses and implementors, each as a tree; with `members`, overriding members too.

    Each line is the place of a definition. A base that is not in the index is listed by its name.
    """
    start = resolve_start(target, view)
    kinds, depth = options.kinds or HIERARCHY_KINDS, options.depth or DEEPEST
    above = reach(view, start.nodes, lambda nodes: _up(view, nodes, kinds), depth)
    below = reach(view, start.nodes, lambda nodes: _down(view, nodes, kinds), depth)

    def under_base(node: Node, depth: int) -> Iterator[Relation]:
        yield from _overrides(view, node, depth, outgoing=True) if options.members else ()
        yield from _unknown_bases(view, node, depth, kinds)

    def under_subclass(node: Node, depth: int) -> Iterable[Relation]:
        return _overrides(view, node, depth, outgoing=False) if options.members and node not in start.nodes else ()

    relations = tree_of(view, above, True, under_base) + tree_of(view, below, False, under_subclass)
    return view.answer("hierarchy", [start], relations, options, view.notices(relations))


def _up(view: GraphView, nodes: Sequence[Node], kinds: Sequence[str]) -> Mapping[Node, list[Link]]:
    edges = dict.fromkeys(map(_of_definition, view.leaving(nodes, kinds)))
    return {node: [Link(e, e.target) for e in edges if e.source == node] for node in nodes}


def _down(view: GraphView, nodes: Sequence[Node], kinds: Sequence[str]) -> Mapping[Node, list[Link]]:
    edges = dict.fromkeys(map(_of_definition, view.arriving(nodes, kinds)))
    return {node: [Link(e, e.source) for e in edges if e.target == node] for node in nodes}


def _of_definition(edge: Edge) -> Edge:
    """The edge without its line, so that its place is the definition at its end; edges to externals keep it."""
    line = edge.line if edge.target >= EXTERNAL else 0
    return Edge(edge.source, edge.kind, edge.target, line, edge.provenance, edge.confidence)


def _overrides(view: GraphView, node: Node, depth: int, outgoing: bool) -> list[Relation]:
    """Relations to the members that a type's members override."""
    members = [e.target for e in contains(view.store, [node])]
    edges = dict.fromkeys(map(_of_definition, view.leaving(members, {"overrides"}, anywhere=True)))
    return [view.relation(edge, outgoing, depth) for edge in sorted(edges, key=view.edge_order)]


def _unknown_bases(view: GraphView, node: Node, depth: int, kinds: Sequence[str]) -> Iterator[Relation]:
    """Bases that the text names and that have no edge: usually from a library."""
    unit = view.unit(node)
    if unit is None or view.least > BY_NAME_CONFIDENCE:
        return
    place_in_document = [other for other, _ in view.store.units.ids_of(unit.document)].index(unit.id)
    named = [
        use
        for use in view.store.references.of_document(unit.document)
        if use.unit == place_in_document
        and KIND_OF_USE.get(use.kind) in kinds
        and KIND_OF_USE[use.kind] in HIERARCHY_KINDS
    ]
    known = list(view.leaving([node], HIERARCHY_KINDS, anywhere=True))
    if len({e.target for e in known}) >= len(named):
        return
    names = {view.named(e.target).name for e in known}
    for use in named:
        if use.name not in names:
            base = outside(f"{use.receiver}.{use.name}" if use.receiver else use.name)
            edge = Edge(node, KIND_OF_USE[use.kind], node, use.line, BY_NAME, BY_NAME_CONFIDENCE)
            relation = replace(view.relation(edge, outgoing=True, depth=depth), target=base)
            yield replace(relation, place=view.place(view.document(unit.document), use.line, base))
