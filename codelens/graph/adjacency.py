"""Edges → adjacency: each node's neighbours with their weights, in order of their numbers.

Parallel edges add up: knowing lets each edge carry its share of the walk, so a class that both calls and imports another
sends it 1.5, and a name called from three places counts three times if the caller hands in three edges. In HITS and on
paths two nodes are joined or not, however often.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

Node = int
Neighbour = tuple[Node, float]
Adjacency = Mapping[Node, Sequence[Neighbour]]
"""Node → (neighbour, weight), each neighbour once, by number; a node without neighbours may be missing."""
Neighbours = Callable[[Sequence[Node]], Adjacency]
"""Many nodes → their neighbours: one question to the store for a whole round."""


class Edge(NamedTuple):
    """A directed, kinded relation with what it weighs in a walk."""

    source: Node
    target: Node
    weight: float
    kind: str


class Step(NamedTuple):
    """One way on from a node; `outgoing` is False where the edge points at the node that is left."""

    target: Node
    kind: str
    outgoing: bool = True


def step_order(step: Step) -> tuple[Node, str, bool]:
    """By what a step is, wherever it was stored: its target's number, its kind, along the edge before against it."""
    return step.target, step.kind, not step.outgoing


Steps = Callable[[Sequence[Node]], Mapping[Node, Sequence[Step]]]
"""Many nodes → the ways on from each, in any order."""


class Hop(NamedTuple):
    """One edge of a path, in the direction of the path; the edge itself points back where `outgoing` is False."""

    source: Node
    target: Node
    kind: str
    outgoing: bool = True


def build(edges: Iterable[Edge]) -> dict[Node, list[Neighbour]]:
    """The same for any order of the edges, to the last bit: weights are added exactly.

    An edge of weight 0 (knowing's owned_by) is left out; an edge from a node to itself stays, as in knowing.
    Raises ValueError for a weight that is negative or no finite number.
    """
    weights: dict[Node, dict[Node, list[float]]] = {}
    for source, target, weight, kind in edges:
        if not 0 <= weight < math.inf:
            raise ValueError(f"an edge of kind {kind} weighs {weight}")
        if weight:
            weights.setdefault(source, {}).setdefault(target, []).append(weight)
    return {
        source: [(target, math.fsum(several)) for target, several in sorted(row.items())]
        for source, row in sorted(weights.items())
    }


def induce(adjacency: Adjacency, nodes: Collection[Node]) -> dict[Node, list[Neighbour]]:
    """What lies between these nodes; each of them has a row, if only an empty one."""
    kept = frozenset(nodes)
    return {node: [pair for pair in adjacency.get(node, ()) if pair[0] in kept] for node in sorted(kept)}


def lookup(adjacency: Adjacency) -> Neighbours:
    """What `push` asks, answered from memory."""
    return lambda nodes: {node: adjacency[node] for node in nodes if node in adjacency}


def shares(weights: Iterable[Neighbour]) -> list[Neighbour]:
    """Weights → parts of their sum, by number of the node; nothing where they sum to 0, as a dead end's do.

    Raises ValueError for a weight that is negative or no finite number.
    """
    pairs = sorted(weights)
    if not all(0 <= weight < math.inf for _, weight in pairs):
        raise ValueError("a weight is negative or no finite number")
    total = math.fsum(weight for _, weight in pairs)
    return [(node, weight / total) for node, weight in pairs if weight] if total else []
