"""The graph of files or symbols → its communities, each named by the members that hold it together.

Links count by confidence, whichever way they point, once for each pair of symbols and kind of edge. Those of tests do not
count: a test brings together what is meant to be apart.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from codelens.graph.communities import communities, strengths
from codelens.model import SYMBOL_KINDS
from codelens.navigate.view import GraphView
from codelens.related import NAMING, Communities, Community, Member
from codelens.relations import RESOLVED, Node, document_node

LINKS = (
    *("calls", "references", "type_hint_of", "accesses_field", "imports", "extends", "implements", "overrides"),
    *("decorates", "throws"),
)
"""Uses; what is inherited follows from these."""
Weights = dict[int, dict[int, float]]


def find_communities(view: GraphView, of: str, resolution: float = 1.0) -> Communities:
    """Communities `of` files or symbols, in the files that the view tells of and that hold no tests."""
    nodes, home = _nodes(view, of)
    weights = _weights(view, home)
    linked = sorted(weights)
    place = {number: i for i, number in enumerate(linked)}
    pairs = {(place[a], place[b]): w for a, row in weights.items() for b, w in row.items() if a < b}
    groups, modularity = communities(len(linked), pairs, resolution)
    found = tuple(_community(view, [linked[i] for i in group], nodes, weights, of) for group in groups)
    return Communities(of, found, len(nodes) - len(linked), modularity, view.info, tuple(view.notices(())))


def _nodes(view: GraphView, of: str) -> tuple[list[Node], dict[Node, int]]:
    """(nodes in the order of contents, each end of an edge → the number of the node that it belongs to)."""
    nodes: list[Node] = []
    home: dict[Node, int] = {}
    names = {row.id: row.name for row in view.store.documents.repositories()}
    for document in sorted(view.store.documents.rows(), key=lambda d: (names[d.repository], d.path)):
        if "test" in document.roles or not view.tells_of(document.id):
            continue
        if of == "files":
            nodes.append(document_node(document.id))
        for unit in view.store.units.of_document(document.id):
            if of == "symbols" and not unit.local and unit.kind in SYMBOL_KINDS:
                home[Node(unit.id)] = len(nodes)
                nodes.append(Node(unit.id))
            elif of == "files":
                home[Node(unit.id)] = len(nodes) - 1
            elif unit.local and Node(unit.parent or 0) in home:  # a local function is part of the one around it
                home[Node(unit.id)] = home[Node(unit.parent or 0)]
        if of == "files":
            home[document_node(document.id)] = len(nodes) - 1
    return nodes, home


def _weights(view: GraphView, home: Mapping[Node, int]) -> Weights:
    """Number → number → weight, both ways. Confidences are tenths and hundredths: summed as whole numbers, in any order."""
    least = max(view.least, RESOLVED)
    sure: dict[tuple[Node, Node, str], float] = {}
    for edge in view.store.edges.every(LINKS):
        key = (edge.source, edge.target, edge.kind)
        if edge.confidence >= least and edge.source in home and edge.target in home:
            sure[key] = max(sure.get(key, 0.0), edge.confidence)
    hundredths: dict[tuple[int, int], int] = {}
    for (source, target, _), confidence in sure.items():
        ends = home[source], home[target]
        if ends[0] != ends[1]:
            hundredths[ends] = hundredths.get(ends, 0) + round(confidence * 100)
    weights: Weights = {}
    for (one, other), sum_ in sorted(hundredths.items()):
        both = (sum_ + hundredths.get((other, one), 0)) / 100
        weights.setdefault(one, {})[other] = both
        weights.setdefault(other, {})[one] = both
    return weights


def _community(view: GraphView, group: Sequence[int], nodes: Sequence[Node], weights: Weights, of: str) -> Community:
    own = strengths(group, weights)
    order = sorted(group, key=lambda number: (-own[number], number))
    view.learn(nodes[number] for number in group)
    members = tuple(Member(view.named(nodes[number]), round(own[number], 2)) for number in order)
    inside = round(sum(own.values()) / 2, 2)
    outside = round(sum(sum(weights[number].values()) for number in group) - 2 * inside, 2)
    name = ", ".join(m.named.path if of == "files" else m.named.qualified_name for m in members[:NAMING])
    return Community(name, members, inside, outside)
