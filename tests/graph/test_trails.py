"""Trails against every walk of up to four hops."""

from __future__ import annotations

import math
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from codelens.graph.walk import Trails, WeightedEdge, build_adjacency, normalize_weights, push_mass
from tests.graph.small_graphs import MOST, edge_lists, look_up, patient, seed_weights


def all_walks(edges: list[WeightedEdge], seeds: dict[int, float], hops: int) -> dict[int, float]:
    """The largest probability of any walk from a seed, by trying all."""
    rows = {node: normalize_weights(row) for node, row in build_adjacency(edges).items()}
    ends = normalize_weights(seeds.items())
    top = dict(ends)
    for _ in range(hops):
        # Of walks with the same end and length only the likeliest can be part of a likelier one.
        on: dict[int, float] = {}
        for node, chance in ends:
            for target, part in rows.get(node, ()):
                on[target] = max(on.get(target, 0.0), chance * 0.8 * part)
        ends = list(on.items())
        for node, chance in ends:
            top[node] = max(top.get(node, 0.0), chance)
    return top


@patient
@given(edges=edge_lists, seeds=seed_weights, hops=st.integers(0, 4))
def test_a_trail_is_the_likeliest_of_all_walks_and_adds_up(
    edges: list[WeightedEdge], seeds: dict[int, float], hops: int
) -> None:
    adjacency, truth = build_adjacency(edges), all_walks(edges, seeds, hops)
    rows, restart = (
        {n: dict(normalize_weights(row)) for n, row in adjacency.items()},
        dict(normalize_weights(seeds.items())),
    )
    trails = Trails(adjacency, seeds, 0.2, hops)
    for node in range(MOST):
        stations = trails.find_trail(node)
        assert bool(stations) == (node in truth)
        if stations:
            assert len(stations) <= hops + 1
            assert stations[-1] == node
            assert len(set(stations)) == len(stations), "no trail goes in a circle"
            parts = [0.8 * rows[source][target] for source, target in pairwise(stations)]
            assert math.isclose(restart[stations[0]] * math.prod(parts), truth[node])


def test_a_trail_does_not_circle_between_nodes_that_call_each_other() -> None:
    adjacency = build_adjacency(
        [
            WeightedEdge(0, 1, 0.1, "calls"),
            WeightedEdge(0, 9, 0.9, "calls"),
            WeightedEdge(1, 2, 1.0, "calls"),
            WeightedEdge(2, 1, 1.0, "calls"),
        ]
    )
    assert Trails(adjacency, {0: 1.0}, 0.2).find_trail(1) == [0, 1]


def test_the_rows_that_a_push_read_are_enough() -> None:
    adjacency = build_adjacency(
        [WeightedEdge(0, 1, 1.0, "calls"), WeightedEdge(1, 2, 1.0, "calls"), WeightedEdge(7, 8, 1.0, "calls")]
    )
    trails = Trails(push_mass(look_up(adjacency), {0: 1.0}).rows, {0: 1.0}, 0.2)
    assert (trails.find_trail(2), trails.find_trail(8)) == ([0, 1, 2], [])
