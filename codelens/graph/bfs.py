"""Scored seeds → scored neighbours, some hops away: Graph Memory's expansion over kinded edges.

Every hop multiplies the score by what the edge's kind keeps of it; a node has the best score of all paths within the
depth, and remembers that path. Edges are followed both ways, but nobody is reached for importing something: all that
imports a popular file would be.
"""

from __future__ import annotations

from collections.abc import Mapping

from codelens.graph.adjacency import Hop, Node, Steps, step_order
from codelens.nouns import dataclass

KEEPS: Mapping[str, float] = {"contains": 0.95, "extends": 0.85, "implements": 0.85, "imports": 0.70}
KEEPS_ELSE = 0.8
ONLY_OUTGOING = frozenset({"imports"})
"""All of Graph Memory: Search Algorithms, step 4."""
DEPTH = 1
MINIMUM = 0.5
"""Graph Memory's, for scores divided by the best; .3 for files."""


@dataclass(frozen=True, slots=True)
class Reached:
    """A node's best score and how it came by it: from `before` over an edge of `kind`; a seed has neither."""

    node: Node
    score: float
    depth: int
    before: Reached | None = None
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
    keeps: Mapping[str, float] = KEEPS,
) -> dict[Node, Reached]:
    """All nodes of at least `minimum` within `depth` hops of a seed, best first, seeds among them.

    `keeps` says what of a score an edge of each kind keeps, others keep KEEPS_ELSE; a `decay` goes for every kind instead.
    One question to `edges_of` for each hop, for the nodes whose score improved and whose neighbours can still reach the
    minimum. Of equal paths the shorter wins, then the smaller number before, then the first kind by name. Raises
    ValueError where an edge would keep less than nothing or more than all.
    """
    most = max(*keeps.values(), KEEPS_ELSE) if decay is None else decay
    if not 0 <= most <= 1 or min(keeps.values(), default=0.0) < 0:
        raise ValueError("an edge keeps between none and all of a score")
    reached = {node: Reached(node, score, 0) for node, score in sorted(seeds.items()) if score >= minimum}
    front = list(reached)
    for hop in range(1, depth + 1):
        leaving = {node: reached[node] for node in sorted(front) if reached[node].score * most >= minimum}
        if not leaving:
            break
        found = edges_of(list(leaving))
        better: dict[Node, Reached] = {}
        for node, before in leaving.items():
            for step in sorted(found.get(node, ()), key=step_order):
                if not step.outgoing and step.kind in ONLY_OUTGOING:
                    continue
                score = before.score * (keeps.get(step.kind, KEEPS_ELSE) if decay is None else decay)
                known = better.get(step.target) or reached.get(step.target)
                if score >= minimum and (known is None or score > known.score):
                    better[step.target] = Reached(step.target, score, hop, before, step.kind, step.outgoing)
        reached |= better
        front = list(better)
    return {found.node: found for found in sorted(reached.values(), key=lambda found: (-found.score, found.node))}
