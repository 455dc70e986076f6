"""HITS against eigenvectors and against the same ten iterations with matrices; the adjustments against the table."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import assume, given

from codelens.graph.hits import adjustment, hits
from codelens.graph.walk import WeightedEdge, build
from tests.graph.small_graphs import MOST, dense, edge_lists, patient


def joined(edges: list[WeightedEdge]) -> np.ndarray:
    """1 where a node points to another, however often and by how much weight."""
    matrix = np.zeros((MOST, MOST))
    for edge in edges:
        matrix[edge.source, edge.target] += edge.weight
    return (matrix > 0).astype(float)


@patient
@given(edges=edge_lists)
def test_ten_iterations_are_ten_products_with_the_matrix(edges: list[WeightedEdge]) -> None:
    assume(any(edge.weight for edge in edges))
    matrix = joined(edges)
    hub = np.ones(MOST)
    for _ in range(10):
        authority = matrix.T @ hub
        authority /= np.linalg.norm(authority)
        hub = matrix @ authority
        hub /= np.linalg.norm(hub)
    found = hits(build(edges))
    assert np.allclose(dense(found.authority), authority, rtol=0, atol=1e-12)
    assert np.allclose(dense(found.hub), hub, rtol=0, atol=1e-12)


@patient
@given(edges=edge_lists)
def test_authorities_end_as_the_first_eigenvector(edges: list[WeightedEdge]) -> None:
    matrix = joined(edges)
    values, vectors = np.linalg.eigh(matrix.T @ matrix)
    assume(values[-1] - values[-2] > 0.3)  # else several vectors are first, or nearly so
    for vector, side in ((vectors[:, -1], 0), (matrix @ vectors[:, -1], 1)):
        found = dense(hits(build(edges), iterations=300)[side])
        assert np.allclose(found, np.abs(vector) / np.linalg.norm(vector), rtol=0, atol=1e-6)


@patient
@given(edges=edge_lists)
def test_order_changes_no_bit(edges: list[WeightedEdge]) -> None:
    one = hits(build(edges))
    random.Random(4).shuffle(edges)
    assert hits(dict(reversed([(node, row[::-1]) for node, row in build(edges).items()]))) == one


def test_nothing_points_to_nothing() -> None:
    assert hits({}) == ({}, {})
    assert hits({1: []}) == ({1: 0.0}, {1: 0.0})


@pytest.mark.parametrize(
    ("authority", "hub", "is_seed", "parts"),
    [
        (0.4, 0.0, True, {"seed authority": 0.1}),
        (0.05, 0.1, True, {}),
        (0.06, 0.11, True, {"seed authority": 0.015, "seed hub": 0.011}),
        (0.4, 0.9, False, {"common authority": -0.06}),
        (0.2, 0.9, False, {}),
    ],
)
def test_the_table_of_adjustments(authority: float, hub: float, is_seed: bool, parts: dict[str, float]) -> None:
    found = adjustment(authority, hub, is_seed)
    assert {part.name: part.amount for part in found} == pytest.approx(parts)
    assert all(part.amount == part.score * part.factor for part in found)
