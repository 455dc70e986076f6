"""Nodes → the edges around them: those that are stored, and those that follow from units and from stored edges.

An implied edge has no line of its own, and is never surer than what it follows from.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from codelens.model import DocumentId
from codelens.relations import IMPLIED_KINDS, KINDS, RESOLVED, TIERS, Edge, Node, document_node, is_unit
from codelens.store.store import Store

IMPLIED = TIERS["implied"]
MOST_SUBJECTS = 8
"""A test of more subjects says little of any two of them. Chosen, as are the next three."""
LEAST_SHARED = 3
LEAST_ALIKE = 0.5
"""Shared callees ÷ callees of either (Jaccard)."""
MOST_CALLERS = 50
"""What more than these call is called by everybody: it leads to nothing alike."""


def outgoing(store: Store, nodes: Iterable[int], kinds: Collection[str] = ()) -> list[Edge]:
    """Edges of these kinds that begin at these nodes, implied ones where they are named; every stored one if none is."""
    wanted = sorted(set(nodes))
    found = _stored(store.edges.outgoing(wanted, _stored_of(kinds)), kinds)
    makers = {"contains": contains, "member_of": member_of, "tested_by": tested_by}
    found += [e for kind, make in makers.items() if kind in kinds for e in make(store, wanted)]
    return found + _both_ways(store, wanted, kinds)


def incoming(store: Store, nodes: Iterable[int], kinds: Collection[str] = ()) -> list[Edge]:
    """Edges of these kinds that end at these nodes, implied ones where they are named; every stored one if none is."""
    wanted = sorted(set(nodes))
    found = _stored(store.edges.incoming(wanted, _stored_of(kinds)), kinds)
    if "contains" in kinds:
        found += [_implied(e.target, "contains", e.source, e.confidence) for e in _holders(store, wanted)]
    if "member_of" in kinds:
        found += [_implied(Node(inner), "member_of", Node(o)) for o, inner in sorted(store.units.inside(wanted))]
    if "tested_by" in kinds:
        tests = store.edges.outgoing(wanted, {"tests"})
        found += [_implied(e.target, "tested_by", e.source, e.confidence) for e in tests]
    turned = _both_ways(store, wanted, kinds)
    return found + [Edge(e.target, e.kind, e.source, 0, e.provenance, e.confidence) for e in turned]


def contains(store: Store, nodes: Iterable[int]) -> list[Edge]:
    """A document contains its top-level units, a unit those right inside it, a type what is stored as a member of it."""
    wanted = list(nodes)
    documents = [DocumentId(-n) for n in wanted if n < 0]
    tops = [_implied(document_node(d), "contains", Node(u)) for d, u in store.units.top_level(documents)]
    return tops + _held(store, wanted)


def member_of(store: Store, nodes: Iterable[int]) -> list[Edge]:
    """A unit is a member of the unit right around it."""
    around = store.units.around(n for n in nodes if is_unit(n))
    return [_implied(Node(inner), "member_of", Node(outer)) for inner, outer in sorted(around.items())]


def tested_by(store: Store, nodes: Iterable[int]) -> list[Edge]:
    """`tests`, from its other end."""
    tests = store.edges.incoming(list(nodes), {"tests"})
    return [_implied(e.target, "tested_by", e.source, e.confidence) for e in tests]


def co_tested_with(store: Store, nodes: Iterable[int]) -> list[Edge]:
    """What one test function tests together with these, if it tests at most MOST_SUBJECTS."""
    asked = list(nodes)
    testing: dict[Node, dict[Node, float]] = {}
    for edge in store.edges.incoming(asked, {"tests"}):
        testing.setdefault(edge.source, {})[edge.target] = edge.confidence
    subjects: dict[Node, dict[Node, float]] = {}
    for edge in store.edges.outgoing(testing, {"tests"}):
        subjects.setdefault(edge.source, {})[edge.target] = edge.confidence
    sure: dict[tuple[Node, Node], float] = {}
    for test, tested in testing.items():
        together = subjects[test]
        if len(together) > MOST_SUBJECTS:
            continue
        for one, first in tested.items():
            for other, second in together.items():
                if one != other:
                    sure[one, other] = max(sure.get((one, other), 0.0), min(first, second))
    return [_implied(one, "co_tested_with", other, said) for (one, other), said in sorted(sure.items())]


def similar_to(store: Store, nodes: Iterable[int]) -> list[Edge]:
    """Functions that call much the same: at least LEAST_SHARED resolved callees, LEAST_ALIKE of all that either calls."""
    own = _callees(store, nodes)
    called = {c for callees in own.values() for c in callees}
    popular = store.edges.degree(called, {"calls"})
    telling = [c for c in called if popular.get(c, 0) <= MOST_CALLERS]
    callers = _callees_by(store.edges.incoming(telling, {"calls"}))
    shared: dict[Node, list[Node]] = {}
    for one, callees in own.items():
        if len(callees) >= LEAST_SHARED:
            near = [c for c, some in callers.items() if c != one and len(some & callees) >= LEAST_SHARED]
            shared[one] = sorted(near)
    others = _callees(store, {c for near in shared.values() for c in near})
    found = []
    for one, near in sorted(shared.items()):
        for other in near:
            alike = len(own[one] & others[other]) / len(own[one] | others[other])
            if alike >= LEAST_ALIKE:
                found.append(_implied(one, "similar_to", other))
    return found


def _callees(store: Store, nodes: Iterable[int]) -> Mapping[Node, set[Node]]:
    return _callees_by(store.edges.outgoing([n for n in nodes if is_unit(n)], {"calls"}))


def _callees_by(edges: Iterable[Edge]) -> dict[Node, set[Node]]:
    found: dict[Node, set[Node]] = {}
    for edge in edges:
        if edge.confidence >= RESOLVED:
            found.setdefault(edge.source, set()).add(edge.target)
    return found


def _both_ways(store: Store, nodes: Collection[int], kinds: Collection[str]) -> list[Edge]:
    makers = {"co_tested_with": co_tested_with, "similar_to": similar_to}
    return [edge for kind, make in makers.items() if kind in kinds for edge in make(store, nodes)]


def _held(store: Store, nodes: Collection[int]) -> list[Edge]:
    """What lies in these units: by their text, and by stored membership."""
    inside = [_implied(Node(outer), "contains", Node(inner)) for outer, inner in sorted(store.units.inside(nodes))]
    members = store.edges.incoming(nodes, {"member_of"})
    return inside + [_implied(e.target, "contains", e.source, e.confidence) for e in members]


def _holders(store: Store, nodes: Collection[int]) -> list[Edge]:
    """From these nodes to what holds them: the unit around, the document of a top-level unit, the type of a stored member."""
    around = member_of(store, nodes)
    inner = {e.source for e in around}
    outer = [n for n in nodes if is_unit(n) and n not in inner]
    rows = store.units.rows(outer)  # type: ignore[arg-type]
    tops = [_implied(Node(u), "member_of", document_node(row.document)) for u, row in sorted(rows.items())]
    return [*around, *tops, *store.edges.outgoing(nodes, {"member_of"})]


def _stored_of(kinds: Collection[str]) -> list[str]:
    return [k for k in kinds if k in KINDS]


def _stored(edges: Iterable[Edge], kinds: Collection[str]) -> list[Edge]:
    """None where only implied kinds are asked for: the store takes no kinds to mean all of them."""
    return [] if kinds and not _stored_of(kinds) else list(edges)


def _implied(source: Node, kind: str, target: Node, confidence: float = 1.0) -> Edge:
    assert kind in IMPLIED_KINDS
    return Edge(source, kind, target, 0, IMPLIED.provenance, min(IMPLIED.confidence, confidence))
