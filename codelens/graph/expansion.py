"""Expansion of scored seeds to their neighbours, as in Graph Memory.

Each hop multiplies the score by a factor of the edge's kind. A node gets the best score of all paths within the depth, and keeps
that path. Edges are followed in both directions, except imports: a popular file would bring in all its importers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from codelens.graph.walk import Node
from codelens.model.fast_dataclass import dataclass


class GraphStep(NamedTuple):
    """An edge at a node. `outgoing` is False if the edge points to the node itself."""

    target: Node
    kind: str
    outgoing: bool = True


Steps = Callable[[Sequence[Node]], Mapping[Node, Sequence[GraphStep]]]  # Nodes → the steps from each, in any order


class Hop(NamedTuple):
    """One edge of a path, in the direction of the path; the edge itself points backward if `outgoing` is False."""

    source: Node
    target: Node
    kind: str
    outgoing: bool = True


KEEPS: Mapping[str, float] = {"contains": 0.95, "extends": 0.85, "implements": 0.85, "imports": 0.70}
KEEPS_ELSE = 0.8
ONLY_OUTGOING = frozenset({"imports"})  # From Graph Memory: Search Algorithms, step 4
DEPTH = 1
MINIMUM = 0.5  # From Graph Memory, for scores divided by the best; .3 for files


@dataclass(frozen=True, slots=True)
class ExpandedNode:
    """A node's best score, the node before it on the best path and the edge between them; a seed has neither."""

    node: Node
    score: float
    depth: int
    before: ExpandedNode | None = None
    kind: str = ""
    outgoing: bool = True

    def path(self) -> tuple[Hop, ...]:
        """The hops from the seed; none for a seed."""
        hops, at = [], self
        while at.before is not None:
            hops.append(Hop(at.before.node, at.node, at.kind, at.outgoing))
            at = at.before
        return tuple(reversed(hops))


def expand(
    edges_of: Steps,
    seeds: Mapping[Node, float],
    depth: int = DEPTH,
    minimum: float = MINIMUM,
    decay: float | None = None,
) -> dict[Node, ExpandedNode]:
    """All nodes with a score of at least `minimum` within `depth` hops of a seed, best first, including seeds.

    KEEPS maps a kind of edge to the factor of the score, KEEPS_ELSE is that of others; `decay` replaces the factor of every
    kind. Each hop makes one call of `edges_of`, for the nodes whose score improved and whose neighbours can still reach the
    minimum. Of equal paths the shorter wins, then the smaller previous node, then the first kind by name. Raises ValueError for
    a decay outside [0, 1].
    """
    most = max(*KEEPS.values(), KEEPS_ELSE) if decay is None else decay
    if not 0 <= most <= 1:
        raise ValueError("a factor of an edge must be between 0 and 1")
    reached = {node: ExpandedNode(node, score, 0) for node, score in sorted(seeds.items()) if score >= minimum}
    front = list(reached)
    for hop in range(1, depth + 1):
        leaving = {node: reached[node] for node in sorted(front) if reached[node].score * most >= minimum}
        if not leaving:
            break
        steps = edges_of(list(leaving))
        better: dict[Node, ExpandedNode] = {}
        for node, before in leaving.items():
            for step in sorted(steps.get(node, ()), key=lambda step: (step.target, step.kind, not step.outgoing)):
                if not step.outgoing and step.kind in ONLY_OUTGOING:
                    continue
                score = before.score * (KEEPS.get(step.kind, KEEPS_ELSE) if decay is None else decay)
                known = better.get(step.target) or reached.get(step.target)
                if score >= minimum and (known is None or score > known.score):
                    better[step.target] = ExpandedNode(step.target, score, hop, before, step.kind, step.outgoing)
        reached |= better
        front = list(better)
    return {end.node: end for end in sorted(reached.values(), key=lambda end: (-end.score, end.node))}
