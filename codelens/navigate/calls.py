"""A function → who calls it and what it calls, as a tree.

A call names one method, and another may run: a method that overrides the one named. So the callers of a method include
those of the methods it overrides, and what a function calls includes what overrides that; both are marked.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

from codelens.model import Notice
from codelens.navigate.names import unresolved_calls
from codelens.navigate.rings import Link, Ring, reach, tree_of
from codelens.navigate.start import Start, resolve_start, with_insides
from codelens.navigate.view import GraphView
from codelens.related import Related, Relation, RelationOptions
from codelens.relations import Edge, Node

CALLS = ("calls", "tests")
MOST_OVERRIDES = 50
"""Steps up or down a chain of overriding methods: no real one is longer. Chosen."""


def callers(view: GraphView, target: str, asked: RelationOptions) -> Related:
    """Who calls the target, and who calls those, `depth` times (1 if it is not said)."""
    start = resolve_start(target, view)
    ring = without_inside(start, calling(view, asked.kinds or CALLS))
    reached = reach(view, start.nodes, ring, asked.depth or 1)
    relations = tree_of(view, reached, outgoing=False)
    notices = [*view.notices(relations), *unresolved_calls(view, start)]
    return answer(view, "callers", [start], relations, asked, notices)


def callees(view: GraphView, target: str, asked: RelationOptions) -> Related:
    """What the target calls, with what lies in it, and what those call, `depth` times (1 if it is not said)."""
    start = resolve_start(target, view)
    nodes = tuple(with_insides(start.nodes, view, types_too=True))
    ring = without_inside(start, called(view, asked.kinds or CALLS))
    relations = tree_of(view, reach(view, nodes, ring, asked.depth or 1), outgoing=True)
    return answer(view, "callees", [start], relations, asked, view.notices(relations))


def answer(
    view: GraphView,
    question: str,
    starts: Sequence[Start],
    relations: Sequence[Relation],
    asked: RelationOptions,
    notices: Sequence[Notice],
) -> Related:
    """The relations that the limit lets through, with all that is said beside them."""
    shown = tuple(relations[: asked.limit])
    targets = tuple(start.named for start in starts)
    return Related(question, targets, shown, len(relations), tuple(notices), view.info)


def without_inside(start: Start, ring_of: Ring) -> Ring:
    """Of a whole file: what comes from or goes to other files alone."""
    own = frozenset(start.nodes) if start.whole_file else frozenset()

    def ring(nodes: Sequence[Node]) -> Mapping[Node, Sequence[Link]]:
        found = ring_of(nodes)
        return {node: [k for k in links if k.node not in own] for node, links in found.items()} if own else found

    return ring


def calling(view: GraphView, kinds: Collection[str]) -> Ring:
    """The ring of those with an edge of these kinds to a node, or to a method that the node overrides."""

    def ring(nodes: Sequence[Node]) -> dict[Node, list[Link]]:
        named_for = overridden(view, nodes) if "calls" in kinds else {}
        bases = {base for some in named_for.values() for base in some}
        arriving: dict[Node, list[Edge]] = {}
        for edge in view.arriving([*nodes, *bases], kinds):
            arriving.setdefault(edge.target, []).append(edge)
        found = {}
        for node in nodes:
            links = [Link(edge, edge.source) for edge in arriving.get(node, ())]
            for base in sorted(named_for.get(node, ()), key=view.order):
                said = f"overrides {view.named(base).qualified_name}"
                links += [Link(e, e.source, said) for e in arriving.get(base, ()) if e.kind in CALLS]
            found[node] = sorted(links, key=lambda link: view.edge_order(link.edge))
        return found

    return ring


def called(view: GraphView, kinds: Collection[str]) -> Ring:
    """The ring of those to which a node, with its local functions, has an edge of these kinds, or that override them."""

    def ring(nodes: Sequence[Node]) -> dict[Node, list[Link]]:
        asked = frozenset(nodes)
        insides = {node: with_insides((node,), view, types_too=False) for node in nodes}
        parts = {node: [p for p in some if p == node or p not in asked] for node, some in insides.items()}
        leaving: dict[Node, list[Edge]] = {}
        for edge in view.leaving({p for some in parts.values() for p in some}, kinds):
            leaving.setdefault(edge.source, []).append(edge)
        targets = {e.target for edges in leaving.values() for e in edges if e.kind in CALLS}
        running = overriding(view, targets) if "calls" in kinds else {}
        found = {}
        for node in nodes:
            links = []
            for edge in (e for part in parts[node] for e in leaving.get(part, ())):
                links.append(Link(edge, edge.target))
                if edge.kind in CALLS:
                    links += _instead(edge, running.get(edge.target, ()), view)
            found[node] = sorted(links, key=lambda link: (view.order(link.node), *view.edge_order(link.edge)))
        return found

    return ring


def _instead(edge: Edge, overriding: Iterable[Node], view: GraphView) -> list[Link]:
    said = f"overrides {view.named(edge.target).qualified_name}"
    others = sorted(overriding, key=view.order)
    return [
        Link(Edge(edge.source, edge.kind, other, edge.line, edge.provenance, edge.confidence), other, said)
        for other in others
    ]


def overridden(view: GraphView, nodes: Iterable[Node]) -> dict[Node, set[Node]]:
    """Method → the methods that it overrides, at any distance."""
    return _chains(nodes, lambda some: [(e.source, e.target) for e in view.leaving(some, {"overrides"}, anywhere=True)])


def overriding(view: GraphView, nodes: Iterable[Node]) -> dict[Node, set[Node]]:
    """Method → the methods that override it, at any distance."""
    return _chains(
        nodes, lambda some: [(e.target, e.source) for e in view.arriving(some, {"overrides"}, anywhere=True)]
    )


def _chains(
    nodes: Iterable[Node], pairs_of: Callable[[Iterable[Node]], list[tuple[Node, Node]]]
) -> dict[Node, set[Node]]:
    found: dict[Node, set[Node]] = {node: set() for node in nodes}
    ends: dict[Node, set[Node]] = {node: {node} for node in found}
    ring = set(found)
    for _ in range(MOST_OVERRIDES):
        next_ends: dict[Node, set[Node]] = {}
        for before, after in pairs_of(ring) if ring else ():
            new = {node for node in ends.get(before, ()) if after != node and after not in found[node]}
            for node in new:
                found[node].add(after)
            if new:
                next_ends.setdefault(after, set()).update(new)
        ends, ring = next_ends, set(next_ends)
    return {node: others for node, others in found.items() if others}
