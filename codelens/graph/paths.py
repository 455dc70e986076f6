"""Ways between nodes: the shortest from one to another, and everything within reach of one with the way there.

All in rounds of one question each, for a whole ring of nodes. Which edges count and in which direction is the asker's:
`edges_of` may follow calls back to the callers, or all edges both ways.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from codelens.graph.adjacency import Hop, Node, Steps, step_order
from codelens.nouns import dataclass

MAX_DEPTH = 8
"""Chosen, not measured: a longer path explains nothing to a reader."""


@dataclass(frozen=True, slots=True)
class Found:
    """A node within reach: its distance in hops, and the hop by which it was found; a start has none."""

    depth: int
    hop: Hop | None = None


def closure(starts: Iterable[Node], edges_of: Steps, max_depth: int | None = None) -> dict[Node, Found]:
    """Everything that can be reached, nearest first, then by number.

    Of several ways as short, the one from the smaller number, then over the first kind by name.
    """
    found = {node: Found(0) for node in sorted(starts)}
    ring = list(found)
    while ring and (max_depth is None or found[ring[0]].depth < max_depth):
        ring = _next_ring(ring, found, edges_of)
    return found


def way(found: Mapping[Node, Found], node: Node) -> tuple[Hop, ...]:
    """The hops from the start to this node. Raises KeyError if it was not reached."""
    hops: list[Hop] = []
    while (hop := found[node].hop) is not None:
        hops.append(hop)
        node = hop.source
    return tuple(reversed(hops))


def shortest(
    start: Node, goal: Node, edges_of: Steps, back: Steps | None = None, max_depth: int = MAX_DEPTH
) -> tuple[Hop, ...] | None:
    """The hops of a shortest path; none from a node to itself; None if there is none of `max_depth` or fewer.

    `back` gives the steps that `edges_of` would take, from their far ends; with it the search goes from both ends, the
    smaller ring first, and reads roughly the square root of the nodes. (Where edges are followed both ways, the two are
    the same callable.) Of several shortest paths: without `back`, as `closure` chooses; with it, over the meeting point
    with the smallest number, and from there likewise.
    """
    ahead, behind = {start: Found(0)}, {goal: Found(0)}
    front, rear = [start], [goal]
    depth = 0
    while not (met := [node for node in (*front, *rear) if node in ahead and node in behind]):
        if depth == max_depth or not front or not rear:
            return None
        depth += 1
        if back is None or len(front) <= len(rear):
            front = _next_ring(front, ahead, edges_of)
        else:
            rear = _next_ring(rear, behind, back)
    middle = min(met)
    # A step back says how to come from the goal's side; the path goes the other way, and with it the edge's direction.
    rest = [Hop(hop.target, hop.source, hop.kind, not hop.outgoing) for hop in reversed(way(behind, middle))]
    return way(ahead, middle) + tuple(rest)


def _next_ring(ring: list[Node], found: dict[Node, Found], edges_of: Steps) -> list[Node]:
    """The nodes one hop on that were not found before, by number; enters them into `found`."""
    steps, new, depth = edges_of(ring), list[Node](), found[ring[0]].depth + 1
    for node in ring:
        for step in sorted(steps.get(node, ()), key=step_order):
            if step.target not in found:
                found[step.target] = Found(depth, Hop(node, step.target, step.kind, step.outgoing))
                new.append(step.target)
    return sorted(new)
