"""Two things → how one leads to the other; one thing → all that a change of it reaches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from codelens.model import Notice
from codelens.navigate.calls import answer, called, calling, without_inside
from codelens.navigate.rings import Link, Reached, reach
from codelens.navigate.start import Start, resolve_start, with_insides
from codelens.navigate.view import GraphView
from codelens.related import Related, RelationOptions
from codelens.relations import EXTERNAL, KINDS, Node

PATH_KINDS = (
    *("calls", "tests", "references", "type_hint_of", "accesses_field", "imports", "extends", "implements"),
    *("inherits", "overrides", "decorates", "throws", "documents"),
)
LONGEST_PATH = 8
"""Hops: a longer way explains nothing to a reader. Chosen."""
IMPACT_KINDS = ("calls", "tests", "extends", "implements", "inherits", "overrides", "decorates")
"""What makes one thing run, take over or replace another. A change of a file also reaches who imports it."""
IMPACT_DEPTH = 3


def path(view: GraphView, first: str, second: str, asked: RelationOptions) -> Related:
    """A shortest way along edges from one target to another; of those as short, the first by the places of its nodes.

    What lies in a target belongs to it. Where there is no way, the answer says whether there is one back.
    """
    starts = [resolve_start(first, view), resolve_start(second, view)]
    links = _shortest(view, starts[0], starts[1], asked)
    relations = [view.relation(link.edge, True, i, link.via) for i, link in enumerate(links, start=1)]
    notices = view.notices(relations)
    if not links:
        back = _shortest(view, starts[1], starts[0], asked)
        hops = "1 hop" if len(back) == 1 else f"{len(back)} hops"
        said = f"; there is one of {hops} from {starts[1].named.qualified_name}" if back else ""
        deepest = asked.depth or LONGEST_PATH
        notices.append(Notice("no-path", f"no way of {deepest} hops or fewer from {first} to {second}{said}"))
    return answer(view, "path", starts, relations, asked, notices)


def _shortest(view: GraphView, start: Start, goal: Start, asked: RelationOptions) -> list[Link]:
    starts = with_insides(start.nodes, view, types_too=True)
    goals = frozenset(with_insides(goal.nodes, view, types_too=True))
    reached = reach(view, starts, called(view, asked.kinds or PATH_KINDS), asked.depth or LONGEST_PATH, goals)
    hit = [node for node in reached.first if node in goals]
    nearest = min(hit, key=lambda node: (reached.depth[node], view.order(node)), default=None)
    return reached.way(nearest) if nearest is not None else []


def impact(view: GraphView, target: str, asked: RelationOptions) -> Related:
    """All that a change of the target may reach, nearest first: each node once, over the edge by which it is reached."""
    start = resolve_start(target, view)
    kinds = asked.kinds or (*IMPACT_KINDS, *(["imports"] if start.whole_file else []))
    nodes = start.nodes if start.whole_file else tuple(with_insides(start.nodes, view, types_too=True))
    reached = _affected(view, start, nodes, kinds, asked)
    found = sorted(reached.first, key=lambda node: (reached.depth[node], view.order(node)))
    relations = []
    for node in found:
        _, link = reached.first[node]
        relations.append(view.relation(link.edge, False, reached.depth[node], link.via))
    relations.sort(key=lambda r: r.test)
    return answer(view, "impact", [start], relations, asked, view.notices(relations))


def _affected(
    view: GraphView, start: Start, nodes: Sequence[Node], kinds: Sequence[str], asked: RelationOptions
) -> Reached:
    """An external is what it is to those who name it, by whichever kind of edge."""
    ring = without_inside(start, calling(view, kinds))
    every = calling(view, asked.kinds or [*KINDS])

    def first_widely(ring_nodes: Sequence[Node]) -> Mapping[Node, Sequence[Link]]:
        return every(ring_nodes) if ring_nodes[0] >= EXTERNAL else ring(ring_nodes)

    return reach(view, nodes, first_widely, asked.depth or IMPACT_DEPTH)
