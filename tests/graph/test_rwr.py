"""The walk against the dense linear system, and its three ways to stop."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from codelens.graph.walk import WeightedEdge, build_adjacency, find_heaviest, walk
from tests.graph.small_graphs import dense, edge_lists, patient, seed_weights, solve, transition


@patient
@given(edges=edge_lists, seeds=seed_weights, alpha=st.sampled_from((0.1, 0.2, 0.5, 1.0)))
def test_the_limit_is_the_solution_of_the_linear_system(
    edges: list[WeightedEdge], seeds: dict[int, float], alpha: float
) -> None:
    done = walk(build_adjacency(edges), seeds, alpha, max_steps=500, tolerance=1e-13, stable_steps=0)
    assert done.stopped == "converged"
    assert np.allclose(dense(done.mass), solve(edges, seeds, alpha), rtol=0, atol=1e-11)


@patient
@given(edges=edge_lists, seeds=seed_weights)
def test_a_walk_stops_at_the_step_at_which_matrices_do(edges: list[WeightedEdge], seeds: dict[int, float]) -> None:
    moves, start = transition(edges, seeds)
    held = start
    for _ in range((done := walk(build_adjacency(edges), seeds)).steps):
        before, held = held, 0.2 * start + 0.8 * moves.T @ held
    assert np.allclose(dense(done.mass), held, rtol=0, atol=1e-13)
    assert math.isclose(math.fsum(done.mass.values()), 1.0, abs_tol=1e-12)
    assert (done.stopped == "converged") == (np.abs(held - before).sum() < 1e-3)
    # What is missing of the limit is at most what the last step moved, (1 - alpha) / alpha times.
    assert np.abs(held - solve(edges, seeds, 0.2)).sum() <= 4 * np.abs(held - before).sum() + 1e-12


@patient
@given(edges=edge_lists, seeds=seed_weights)
def test_the_order_of_edges_rows_and_seeds_changes_no_bit(edges: list[WeightedEdge], seeds: dict[int, float]) -> None:
    adjacency = build_adjacency(edges)
    done = walk(adjacency, seeds)
    rows, turned = [(node, row[::-1]) for node, row in adjacency.items()], list(seeds.items())
    random.Random(2).shuffle(rows)
    again = walk(dict(rows), dict(reversed(turned)))
    assert (again, list(again.mass)) == (done, list(done.mass))


def test_flow_is_proportional_to_weight() -> None:
    adjacency = build_adjacency([WeightedEdge(0, 1, 1.0, "calls"), WeightedEdge(0, 2, 0.5, "imports")])
    mass = walk(adjacency, {0: 1.0}, max_steps=1).mass
    assert mass[1] == pytest.approx(0.8 * 2 / 3)
    assert mass[2] == pytest.approx(0.8 / 3)


def test_a_dead_end_goes_back_to_the_seeds_by_their_weights() -> None:
    mass = walk({0: [(2, 1.0)]}, {0: 3.0, 1: 1.0}, alpha=0.2, max_steps=1).mass
    assert mass == pytest.approx({0: 0.75 * (0.2 + 0.8 * 0.25), 1: 0.25 * (0.2 + 0.8 * 0.25), 2: 0.8 * 0.75})


def test_a_stable_ranking_ends_a_walk() -> None:
    ring = build_adjacency([WeightedEdge(node, (node + 1) % 30, 1.0, "calls") for node in range(30)])
    assert walk(ring, {0: 1.0}).stopped == "stable"
    patient = walk(ring, {0: 1.0}, stable_steps=0)
    assert (patient.stopped, patient.steps) == ("steps", 20)
    assert walk(ring, {0: 1.0}, max_steps=3, stable_steps=3).stopped == "steps"
    # The walk's front, .8^t, falls behind the tenth node's .2 · .8^9 at t = 17; two steps more change nothing.
    assert walk(ring, {0: 1.0}, stable_steps=2).steps == 19


def test_without_seeds_nothing_has_mass() -> None:
    assert walk({0: [(1, 1.0)]}, {}).mass == walk({0: [(1, 1.0)]}, {0: 0.0}).mass == {}


@pytest.mark.parametrize(("seeds", "alpha"), [({0: -1.0}, 0.2), ({0: 1.0}, 0.0), ({0: 1.0}, 1.5), ({0: math.nan}, 0.2)])
def test_an_alpha_or_weight_out_of_range_is_refused(seeds: dict[int, float], alpha: float) -> None:
    with pytest.raises(ValueError):
        walk({}, seeds, alpha)


@patient
@given(
    mass=st.dictionaries(st.integers(0, 20), st.sampled_from((0.1, 0.2, 0.3)), max_size=20), count=st.integers(0, 25)
)
def test_the_heaviest_nodes_are_the_first_of_a_full_sort(mass: dict[int, float], count: int) -> None:
    assert (
        find_heaviest(mass, count) == [node for _, node in sorted((-held, node) for node, held in mass.items())][:count]
    )
