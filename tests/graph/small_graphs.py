"""Small graphs for the tests, as hypothesis draws them, and what dense matrices make of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from codelens.graph.walk import Adjacency, GraphStep, Neighbours, Steps, WeightedEdge

patient = settings(deadline=None)
"""Time is not what these tests measure: on a busy machine a slow example is no failure."""
MOST = 9  # Nodes are 0 to 8: few enough to try every path
KINDS = ("calls", "contains", "extends", "implements", "imports", "member_of")

Matrix = NDArray[np.float64]

nodes = st.integers(0, MOST - 1)
weights = st.sampled_from((0.0, 0.15, 0.3, 0.5, 0.8, 1.0))
edge_lists = st.lists(st.builds(WeightedEdge, nodes, nodes, weights, st.sampled_from(KINDS)), max_size=30)
seed_weights = st.dictionaries(nodes, st.sampled_from((0.4, 0.7, 1.0)), min_size=1, max_size=4)


def ways(edges: Iterable[WeightedEdge], both: bool = True, against: bool = False) -> Steps:
    """The neighbours along these edges, against them, or both; fails on an empty request."""
    rows: dict[int, list[GraphStep]] = {}
    for source, target, _weight, kind in edges:
        if both or not against:
            rows.setdefault(source, []).append(GraphStep(target, kind, True))
        if both or against:
            rows.setdefault(target, []).append(GraphStep(source, kind, False))

    def edges_of(asked: Sequence[int]) -> Mapping[int, Sequence[GraphStep]]:
        assert asked
        assert list(asked) == sorted(set(asked))
        return {node: rows[node] for node in asked if node in rows}

    return edges_of


def look_up(adjacency: Adjacency) -> Neighbours:
    """The neighbours in a graph in memory."""
    return lambda nodes: {node: adjacency[node] for node in nodes if node in adjacency}


def transition(edges: Iterable[WeightedEdge], seeds: Mapping[int, float]) -> tuple[Matrix, Matrix]:
    """P, with dead ends going to the seeds, and the seeds as a vector that sums to 1."""
    joined, start = np.zeros((MOST, MOST)), np.zeros(MOST)
    for edge in edges:
        joined[edge.source, edge.target] += edge.weight
    for node, weight in seeds.items():
        start[node] += weight
    start /= start.sum()
    sums = joined.sum(axis=1, keepdims=True)
    return np.where(sums > 0, joined / np.where(sums > 0, sums, 1), start), start


def solve(edges: Iterable[WeightedEdge], seeds: Mapping[int, float], alpha: float) -> Matrix:
    """The walk's masses in the limit: (I - (1 - alpha) P') p = alpha s."""
    moves, start = transition(edges, seeds)
    return np.linalg.solve(np.eye(MOST) - (1 - alpha) * moves.T, alpha * start)


def dense(scores: Mapping[int, float]) -> Matrix:
    """A vector of all nodes."""
    return np.array([scores.get(node, 0.0) for node in range(MOST)])
