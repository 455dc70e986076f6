"""Weighted links → communities: groups with more links inside than chance would give, by Louvain's method (Blondel et al., 2008).

networkx does it; the nodes are numbered by the caller in an order that means something, and the seed is fixed, so that equal
graphs give equal communities.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.util import find_spec

from codelens.errors import UsageError

SEED = 20081009
"""Any number will do: it decides in which order Louvain's method visits nodes. Chosen: the day on which the paper appeared."""

Weights = Mapping[tuple[int, int], float]
"""(lower node, higher node) → weight."""


def communities(nodes: int, weights: Weights, resolution: float = 1.0) -> tuple[list[list[int]], float]:
    """(groups of the nodes 0 … nodes - 1, each in order, the largest first, of those as large the one with the lowest node;
    their modularity). A higher `resolution` gives more and smaller groups. Raises UsageError where networkx is missing.
    """
    if find_spec("networkx") is None:
        raise UsageError("communities need networkx", "pip install 'codelens[graph]'")
    import networkx

    graph = networkx.Graph()
    graph.add_nodes_from(range(nodes))
    graph.add_weighted_edges_from((a, b, weight) for (a, b), weight in sorted(weights.items()))
    found = networkx.community.louvain_communities(graph, resolution=resolution, seed=SEED)
    groups = sorted((sorted(group) for group in found), key=lambda group: (-len(group), group[0]))
    modularity = networkx.community.modularity(graph, groups, resolution=resolution) if weights else 0.0
    return groups, float(modularity)


def strengths(group: Sequence[int], weights: Mapping[int, Mapping[int, float]]) -> dict[int, float]:
    """Node of a group → the sum of its links within the group."""
    inside = frozenset(group)
    return {
        node: sum(weight for other, weight in sorted(weights.get(node, {}).items()) if other in inside)
        for node in group
    }
