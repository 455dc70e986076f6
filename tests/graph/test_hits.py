"""HITS against eigenvectors and against the same ten iterations with matrices; the adjustments against the table."""

from __future__ import annotations

import random

import numpy as np
from hypothesis import assume, given

from codelens.graph.walk import WeightedEdge, build_adjacency, compute_hits
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
    found = compute_hits(build_adjacency(edges))
    assert np.allclose(dense(found.authority), authority, rtol=0, atol=1e-12)
    assert np.allclose(dense(found.hub), hub, rtol=0, atol=1e-12)


@patient
@given(edges=edge_lists)
def test_authorities_end_as_the_first_eigenvector(edges: list[WeightedEdge]) -> None:
    matrix = joined(edges)
    values, vectors = np.linalg.eigh(matrix.T @ matrix)
    assume(values[-1] - values[-2] > 0.3)  # else several vectors are first, or nearly so
    for vector, side in ((vectors[:, -1], 0), (matrix @ vectors[:, -1], 1)):
        found = dense(compute_hits(build_adjacency(edges), iterations=300)[side])
        assert np.allclose(found, np.abs(vector) / np.linalg.norm(vector), rtol=0, atol=1e-6)


@patient
@given(edges=edge_lists)
def test_order_changes_no_bit(edges: list[WeightedEdge]) -> None:
    one = compute_hits(build_adjacency(edges))
    random.Random(4).shuffle(edges)
    assert compute_hits(dict(reversed([(node, row[::-1]) for node, row in build_adjacency(edges).items()]))) == one


def test_an_empty_graph_has_no_scores() -> None:
    assert compute_hits({}) == ({}, {})
    assert compute_hits({1: []}) == ({1: 0.0}, {1: 0.0})
