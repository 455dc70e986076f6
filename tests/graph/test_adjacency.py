"""Adjacency: parallel edges add up, order of the input is forgotten, wrong weights are refused."""

from __future__ import annotations

import math
import random

import pytest
from hypothesis import given

from codelens.graph.walk import WeightedEdge, build_adjacency, normalize_weights
from tests.graph.small_graphs import edge_lists, patient


def test_parallel_edges_add_up_and_weightless_ones_are_left_out() -> None:
    edges = [
        WeightedEdge(2, 1, 1.0, "calls"),
        WeightedEdge(2, 1, 0.5, "imports"),
        WeightedEdge(2, 0, 0.5, "imports"),
        WeightedEdge(1, 2, 0.0, "owned_by"),
    ]
    assert build_adjacency(edges) == {2: [(0, 0.5), (1, 1.5)]}


@patient
@given(edges=edge_lists)
def test_any_order_of_the_edges_gives_the_same_rows_in_the_same_order(edges: list[WeightedEdge]) -> None:
    made = build_adjacency(edges)
    random.Random(1).shuffle(edges)
    again = build_adjacency(edges)
    assert list(made.items()) == list(again.items())
    assert list(made) == sorted(made)
    for row in made.values():
        assert [node for node, _ in row] == sorted({node for node, _ in row})
    assert math.isclose(
        sum(w for row in made.values() for _, w in row), sum(edge.weight for edge in edges), abs_tol=1e-12
    )


@pytest.mark.parametrize("weight", [-0.1, math.nan, math.inf])
def test_weights_that_no_walk_can_follow_are_refused(weight: float) -> None:
    with pytest.raises(ValueError, match="weigh"):
        build_adjacency([WeightedEdge(0, 1, weight, "calls")])
    with pytest.raises(ValueError, match="weight"):
        normalize_weights([(1, weight)])


def test_parts_sum_to_one_and_a_dead_end_has_none() -> None:
    assert normalize_weights([(3, 1.0), (1, 3.0), (2, 0.0)]) == [(3, 0.25), (1, 0.75)]
    assert normalize_weights([]) == normalize_weights([(1, 0.0)]) == []
