"""A type → what it is built on and what is built on it, with the members that are overridden where they are asked for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from codelens.navigate.calls import answer
from codelens.navigate.names import KIND_OF_USE
from codelens.navigate.neighbours import contains
from codelens.navigate.rings import Link, reach, tree_of
from codelens.navigate.start import resolve_start
from codelens.navigate.view import GraphView, outside
from codelens.related import BY_NAME, BY_NAME_CONFIDENCE, Related, Relation, RelationOptions
from codelens.relations import EXTERNAL, Edge, Node

HIERARCHY_KINDS = ("extends", "implements")
DEEPEST = 50
"""No real hierarchy is deeper. Chosen."""


def hierarchy(view: GraphView, target: str, asked: RelationOptions) -> Related:
    """Bases above, then subclasses and implementors below, each as a tree; with `members` the overriding ones of each.

    Each line is the definition of what is told. A base that the index does not hold is told by its name.
    """
    start = resolve_start(target, view)
    kinds, depth = asked.kinds or HIERARCHY_KINDS, asked.depth or DEEPEST
    above = reach(view, start.nodes, lambda nodes: _up(view, nodes, kinds), depth)
    below = reach(view, start.nodes, lambda nodes: _down(view, nodes, kinds), depth)

    def beside_bases(node: Node, depth: int) -> Iterator[Relation]:
        yield from _overrides(view, node, depth, outgoing=True) if asked.members else ()
        yield from _unknown_bases(view, node, depth, kinds)

    def beside_subclasses(node: Node, depth: int) -> Iterable[Relation]:
        return _overrides(view, node, depth, outgoing=False) if asked.members and node not in start.nodes else ()

    relations = tree_of(view, above, True, beside_bases) + tree_of(view, below, False, beside_subclasses)
    return answer(view, "hierarchy", [start], relations, asked, view.notices(relations))


def _up(view: GraphView, nodes: Sequence[Node], kinds: Sequence[str]) -> Mapping[Node, list[Link]]:
    edges = dict.fromkeys(map(_of_definition, view.leaving(nodes, kinds)))
    return {node: [Link(e, e.target) for e in edges if e.source == node] for node in nodes}


def _down(view: GraphView, nodes: Sequence[Node], kinds: Sequence[str]) -> Mapping[Node, list[Link]]:
    edges = dict.fromkeys(map(_of_definition, view.arriving(nodes, kinds)))
    return {node: [Link(e, e.source) for e in edges if e.target == node] for node in nodes}


def _of_definition(edge: Edge) -> Edge:
    """Without its line, a relation's place is the definition of what it tells; an external has none."""
    line = edge.line if edge.target >= EXTERNAL else 0
    return Edge(edge.source, edge.kind, edge.target, line, edge.provenance, edge.confidence)


def _overrides(view: GraphView, node: Node, depth: int, outgoing: bool) -> list[Relation]:
    """What the members of a type override."""
    members = [e.target for e in contains(view.store, [node])]
    edges = dict.fromkeys(map(_of_definition, view.leaving(members, {"overrides"}, anywhere=True)))
    return [view.relation(edge, outgoing, depth) for edge in sorted(edges, key=view.edge_order)]


def _unknown_bases(view: GraphView, node: Node, depth: int, kinds: Sequence[str]) -> Iterator[Relation]:
    """Bases that the text names and no edge leads to: of a library, as a rule."""
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
            told = replace(view.relation(edge, outgoing=True, depth=depth), target=base)
            yield replace(told, place=view.place(view.document(unit.document), use.line, base))
