"""Trails against every walk of up to four hops."""

from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st

from codelens.graph.walk import WeightedEdge, build, lookup, push, shares, trails, walk
from tests.graph.small_graphs import MOST, edge_lists, patient, seed_weights


def all_walks(edges: list[WeightedEdge], seeds: dict[int, float], hops: int) -> dict[int, float]:
    """The largest probability of any walk from a seed, by trying all."""
    rows = {node: shares(row) for node, row in build(edges).items()}
    ends = shares(seeds.items())
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
    adjacency = build(edges)
    mass = walk(adjacency, seeds, max_steps=400, tolerance=1e-13, stable_steps=0).mass
    found = trails(range(MOST), mass, adjacency, seeds, hops=hops)
    truth = all_walks(edges, seeds, hops)
    assert {node: trail.probability for node, trail in found.items()} == truth
    rows, restart = {node: dict(shares(row)) for node, row in adjacency.items()}, dict(shares(seeds.items()))
    for node, trail in found.items():
        assert len(trail.hops) <= hops
        ends = [trail.seed, *(hop.target for hop in trail.hops)]
        assert ends[-1] == node
        assert [hop.source for hop in trail.hops] == ends[:-1]
        assert len(set(ends)) == len(ends), "no trail goes in a circle"
        chance = restart[trail.seed] * math.prod(0.8 * rows[hop.source][hop.target] for hop in trail.hops)
        assert math.isclose(trail.probability, chance)
        assert all(0 < hop.part <= 1 + 1e-9 for hop in trail.hops)


@patient
@given(edges=edge_lists, seeds=seed_weights)
def test_what_comes_over_a_node_s_edges_is_its_mass_without_restarts(
    edges: list[WeightedEdge], seeds: dict[int, float]
) -> None:
    """The parts of all edges into a node that is not a seed sum to 1: `part` is a share of the whole."""
    adjacency = build(edges)
    mass = walk(adjacency, seeds, max_steps=400, tolerance=1e-13, stable_steps=0).mass
    for node in mass.keys() - seeds.keys():
        sent = sum(mass.get(source, 0.0) * 0.8 * dict(shares(row)).get(node, 0.0) for source, row in adjacency.items())
        assert math.isclose(sent, mass[node], rel_tol=1e-6, abs_tol=1e-12)


def test_two_that_call_each_other_do_not_go_round_in_circles() -> None:
    adjacency = build(
        [
            WeightedEdge(0, 1, 0.1, "calls"),
            WeightedEdge(0, 9, 0.9, "calls"),
            WeightedEdge(1, 2, 1.0, "calls"),
            WeightedEdge(2, 1, 1.0, "calls"),
        ]
    )
    mass = walk(adjacency, {0: 1.0}).mass
    trail = trails([1], mass, adjacency, {0: 1.0})[1]
    assert [(hop.source, hop.target) for hop in trail.hops] == [(0, 1)]
    assert trail.hops[0].part < 0.5, "most of its mass comes back from the other"


def test_the_rows_that_a_push_read_are_enough() -> None:
    adjacency = build(
        [WeightedEdge(0, 1, 1.0, "calls"), WeightedEdge(1, 2, 1.0, "calls"), WeightedEdge(7, 8, 1.0, "calls")]
    )
    done = push(lookup(adjacency), {0: 1.0})
    assert trails([2, 8], done.mass, done.rows, {0: 1.0}) == trails([2], done.mass, adjacency, {0: 1.0})
