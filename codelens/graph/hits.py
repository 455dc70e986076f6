"""Authorities and hubs of a graph (Kleinberg's HITS), and what they add to a candidate's score.

A node is an authority if good hubs point to it, and a hub if it points to good authorities. Weights have no effect, as in
knowing, which runs HITS on the 200 best nodes of the walk.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from codelens.graph.walk import Adjacency, Node

ITERATIONS = 10
POOL = 200  # Number of nodes that take part, the walk's best. Both numbers are from knowing, section 5.


class HitsScores(NamedTuple):
    """Node → score; each of the two has length 1 (L2), or is all 0 where there is no edge."""

    authority: dict[Node, float]
    hub: dict[Node, float]


class Adjustment(NamedTuple):
    """A part of a score by HITS: what a score above a threshold adds to seeds, or to other nodes."""

    name: str
    side: str  # The score that counts: authority or hub
    is_for_seeds: bool
    threshold: float
    factor: float


ADJUSTMENTS = (
    Adjustment("seed_authority", "authority", True, 0.05, 0.25),
    Adjustment("common_authority", "authority", False, 0.2, -0.15),
    Adjustment("seed_hub", "hub", True, 0.1, 0.10),
)  # The table of knowing, section 5: seeds gain as authorities and hubs, others lose as common authorities


def compute_hits(adjacency: Adjacency, iterations: int = ITERATIONS) -> HitsScores:
    """Scores by iteration. Every node starts as an equal hub; each step computes authorities, then hubs, each of length 1."""
    targets = {node: sorted({target for target, _ in row}) for node, row in sorted(adjacency.items())}
    nodes = sorted(targets.keys() | {target for row in targets.values() for target in row})
    sources: dict[Node, list[Node]] = {node: [] for node in nodes}
    for node, row in targets.items():
        for target in row:
            sources[target].append(node)
    authority, hub = dict.fromkeys(nodes, 0.0), _scale_to_unit_length(dict.fromkeys(nodes, 1.0))
    for _ in range(iterations):
        authority = {node: math.fsum(hub[source] for source in sources[node]) for node in nodes}
        authority = _scale_to_unit_length(authority)
        hub = {node: math.fsum(authority[target] for target in targets.get(node, ())) for node in nodes}
        hub = _scale_to_unit_length(hub)
    return HitsScores(authority, hub)


def _scale_to_unit_length(scores: dict[Node, float]) -> dict[Node, float]:
    length = math.sqrt(math.fsum(score * score for score in scores.values()))
    return {node: score / length for node, score in scores.items()} if length else scores
