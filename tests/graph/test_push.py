"""The push against the dense linear system: never above it, short by what it says, and no more work than it promises."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from codelens.graph.walk import (
    ALPHA,
    EPSILON,
    WHOLE,
    WIDE,
    Adjacency,
    Neighbour,
    PushResult,
    WeightedEdge,
    build_adjacency,
    push_mass,
    walk,
)
from tests.graph.small_graphs import dense, edge_lists, look_up, patient, seed_weights, solve
from tools.bench.walks import make_edges, make_seeds


def unspread(done: PushResult, alpha: float = ALPHA) -> dict[int, float]:
    """Node → the mass that waits there and that the settled mass lacks."""
    return {node: (1 - alpha) * held / WHOLE for node, held in done.waiting.items()}


epsilons = st.sampled_from((0.3, 0.05, 1e-2, 1e-3, 1e-5))


@patient
@given(edges=edge_lists, seeds=seed_weights, epsilon=epsilons, wide=st.integers(1, 9), room=st.integers(0, 12))
def test_masses_are_below_the_true_ones_by_exactly_what_is_unspread(
    edges: list[WeightedEdge], seeds: dict[int, float], epsilon: float, wide: int, room: int
) -> None:
    done = push_mass(look_up(build_adjacency(edges)), seeds, epsilon=epsilon, wide=wide, max_nodes=room)
    short = solve(edges, seeds, 0.2) - dense(done.mass)
    assert short.min() > -1e-12
    missing = math.fsum(unspread(done).values())
    assert math.isclose(short.sum(), missing, abs_tol=1e-11)
    assert math.isclose(math.fsum(done.mass.values()) + missing, 1.0, abs_tol=1e-12)


@patient
@given(
    edges=edge_lists,
    seeds=seed_weights,
    epsilon=epsilons,
    wide=st.integers(1, 9),
    alpha=st.sampled_from((0.1, 0.2, 0.6)),
)
def test_work_stays_within_its_bound_and_little_waits_where_it_ended(
    edges: list[WeightedEdge], seeds: dict[int, float], epsilon: float, wide: int, alpha: float
) -> None:
    done = push_mass(look_up(build_adjacency(edges)), seeds, alpha, epsilon, wide=wide)
    bound = (1 - alpha) / (alpha * epsilon)
    assert done.pushes <= bound
    assert len(done.rows) <= bound
    # A dead end has the seeds as neighbours, though no one names them.
    widest = max([len(seeds), *map(len, done.rows.values())])
    assert done.edges <= max(wide, len(seeds)) * bound
    for node, waits in unspread(done, alpha).items():
        assert waits < epsilon * max(1.0, widest / wide)
        assert node in done.rows or waits < epsilon


@patient
@given(edges=edge_lists, seeds=seed_weights)
def test_a_push_approaches_the_solution_as_epsilon_falls(edges: list[WeightedEdge], seeds: dict[int, float]) -> None:
    done = push_mass(look_up(build_adjacency(edges)), seeds, epsilon=1e-9)
    assert np.allclose(dense(done.mass), solve(edges, seeds, 0.2), rtol=0, atol=1e-7)


@patient
@given(edges=edge_lists, seeds=seed_weights, epsilon=epsilons, room=st.integers(0, 9))
def test_order_changes_no_bit_and_no_node_is_read_twice(
    edges: list[WeightedEdge], seeds: dict[int, float], epsilon: float, room: int
) -> None:
    adjacency, asked = build_adjacency(edges), list[int]()

    def turned(nodes: Sequence[int]) -> Mapping[int, Sequence[Neighbour]]:
        asked.extend(nodes)
        rows = [(node, adjacency[node][::-1]) for node in nodes if node in adjacency]
        random.Random(3).shuffle(rows)
        return dict(rows)

    one = push_mass(look_up(adjacency), seeds, epsilon=epsilon, max_nodes=room)
    two = push_mass(turned, dict(reversed(seeds.items())), epsilon=epsilon, max_nodes=room)
    assert (one.mass, one.waiting) == (two.mass, two.waiting)
    assert len(asked) == len(set(asked)) == len(two.rows) <= room


def test_with_little_room_the_nodes_where_most_waits_are_read() -> None:
    adjacency = build_adjacency(
        [WeightedEdge(0, 1, 1.0, "calls"), WeightedEdge(0, 2, 3.0, "calls"), WeightedEdge(0, 3, 2.0, "calls")]
    )
    assert sorted(push_mass(look_up(adjacency), {0: 1.0}, max_nodes=3).rows) == [0, 2, 3]


def test_a_node_with_many_neighbours_sends_only_what_is_worth_it() -> None:
    fan = build_adjacency([WeightedEdge(0, node, 1.0, "calls") for node in range(1, 1001)])
    assert (
        push_mass(look_up(fan), {0: 1.0}, epsilon=0.01, wide=64).edges
        == 1000 * push_mass(look_up(fan), {0: 1.0}, epsilon=0.01).pushes
    )
    assert push_mass(look_up(fan), {0: 1.0}, epsilon=0.1, wide=64).edges == 0


@pytest.mark.parametrize(("epsilon", "wide"), [(0.0, 16), (-1.0, 16), (1e-3, 0)])
def test_a_push_that_would_not_end_is_refused(epsilon: float, wide: int) -> None:
    with pytest.raises(ValueError, match="epsilon"):
        push_mass(look_up({}), {0: 1.0}, epsilon=epsilon, wide=wide)


def test_without_seeds_nothing_is_read() -> None:
    done = push_mass(lambda nodes: pytest.fail("asked"), {})
    assert (done.mass, done.waiting, done.rows) == ({}, {}, {})


def made(edges: int) -> tuple[Adjacency, int]:
    return build_adjacency(make_edges(edges)), edges // 5


@pytest.mark.slow
def test_ten_times_the_graph_is_not_more_work() -> None:
    """Measured: 416 and 480 nodes of 10 000 and 100 000 (465 of 400 000), by `python -m tools.bench.walks`."""
    expanded = []
    for edges in (50_000, 500_000):
        adjacency, nodes = made(edges)
        pushes = [push_mass(look_up(adjacency), make_seeds(nodes, query)) for query in range(3)]
        expanded.append(sum(len(done.rows) for done in pushes))
        assert all(done.edges < WIDE * 0.8 / (0.2 * EPSILON) for done in pushes)
        assert all(math.fsum(unspread(done).values()) < 0.25 for done in pushes)
    small, large = expanded
    assert large < 2 * small
    exact = walk(adjacency, make_seeds(nodes, 2), tolerance=1e-4, stable_steps=0).mass
    heaviest = sorted(exact, key=lambda node: -exact[node])[:30]
    assert sum(node in pushes[-1].mass for node in heaviest) == 30
