"""Authorities and hubs of a graph (Kleinberg's HITS), and their contributions to a candidate's score.

A node is an authority if good hubs point to it, and a hub if it points to good authorities. Weights have no effect, as in
knowing, which runs HITS on the 200 best nodes of the walk.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from codelens.graph.walk import Adjacency, Node
from codelens.model.fast_dataclass import dataclass

ITERATIONS = 10
POOL = 200  # Number of nodes that take part, the walk's best. Both numbers are from knowing, section 5.


class Hits(NamedTuple):
    """Node → score; each of the two has length 1 (L2), or is all 0 where there is no edge."""

    authority: dict[Node, float]
    hub: dict[Node, float]


class HitsPart(NamedTuple):
    """One part of an adjustment: `amount` is `score` × `factor`."""

    name: str
    amount: float
    score: float
    factor: float


@dataclass(frozen=True, slots=True)
class Adjustments:
    """The table of knowing, section 5: the score above which a node is adjusted, and the factor of the adjustment."""

    seed_authority_above: float = 0.05
    seed_authority: float = 0.25
    other_authority_above: float = 0.2
    other_authority: float = -0.15
    seed_hub_above: float = 0.1
    seed_hub: float = 0.10


KNOWING = Adjustments()


def hits(adjacency: Adjacency, iterations: int = ITERATIONS) -> Hits:
    """Scores by iteration. Every node starts as an equal hub; each step computes authorities, then hubs, each of length 1."""
    targets = {node: sorted({target for target, _ in row}) for node, row in sorted(adjacency.items())}
    nodes = sorted(targets.keys() | {target for row in targets.values() for target in row})
    sources: dict[Node, list[Node]] = {node: [] for node in nodes}
    for node, row in targets.items():
        for target in row:
            sources[target].append(node)
    authority, hub = dict.fromkeys(nodes, 0.0), _unit(dict.fromkeys(nodes, 1.0))
    for _ in range(iterations):
        authority = _unit({node: _sum(hub, sources[node]) for node in nodes})
        hub = _unit({node: _sum(authority, targets.get(node, ())) for node in nodes})
    return Hits(authority, hub)


def adjustment(authority: float, hub: float, is_seed: bool, table: Adjustments = KNOWING) -> tuple[HitsPart, ...]:
    """The contributions of a node's scores: seeds gain as authorities and hubs, others lose as common authorities."""
    parts = []
    if is_seed and authority > table.seed_authority_above:
        parts.append(HitsPart("seed authority", authority * table.seed_authority, authority, table.seed_authority))
    if not is_seed and authority > table.other_authority_above:
        parts.append(HitsPart("common authority", authority * table.other_authority, authority, table.other_authority))
    if is_seed and hub > table.seed_hub_above:
        parts.append(HitsPart("seed hub", hub * table.seed_hub, hub, table.seed_hub))
    return tuple(parts)


def _sum(scores: Mapping[Node, float], nodes: Iterable[Node]) -> float:
    return math.fsum(scores[node] for node in nodes)


def _unit(scores: dict[Node, float]) -> dict[Node, float]:
    length = math.sqrt(math.fsum(score * score for score in scores.values()))
    return {node: score / length for node, score in scores.items()} if length else scores
