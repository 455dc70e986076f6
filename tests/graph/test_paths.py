"""Shortest paths and closures against brute force over all walks."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codelens.graph.adjacency import Edge, Hop
from codelens.graph.paths import Found, closure, shortest, way
from tests.graph.made import MOST, edge_lists, nodes, patient, ways


def distances(edges: list[Edge], start: int) -> dict[int, int]:
    """Bellman and Ford, along the edges."""
    far = {start: 0}
    for _ in range(MOST):
        for edge in edges:
            if edge.source in far:
                far[edge.target] = min(far.get(edge.target, MOST), far[edge.source] + 1)
    return far


def check(hops: tuple[Hop, ...], edges: list[Edge], start: int, goal: int) -> None:
    known = {(edge.source, edge.target, edge.kind) for edge in edges}
    at = start
    for hop in hops:
        assert hop.source == at
        assert ((at, hop.target) if hop.outgoing else (hop.target, at)) + (hop.kind,) in known
        at = hop.target
    assert at == goal


@patient
@given(edges=edge_lists, start=nodes, goal=nodes, depth=st.integers(0, 6), two_ended=st.booleans())
def test_a_path_is_as_short_as_can_be_and_follows_edges(
    edges: list[Edge], start: int, goal: int, depth: int, two_ended: bool
) -> None:
    back = ways(edges, both=False, against=True) if two_ended else None
    hops = shortest(start, goal, ways(edges, both=False), back, max_depth=depth)
    far = distances(edges, start).get(goal, MOST)
    assert (hops is None) == (far > depth)
    if hops is not None:
        assert len(hops) == far
        check(hops, edges, start, goal)
        assert all(hop.outgoing for hop in hops)


@patient
@given(edges=edge_lists, start=nodes, goal=nodes, two_ended=st.booleans())
def test_order_does_not_choose_the_path(edges: list[Edge], start: int, goal: int, two_ended: bool) -> None:
    one = shortest(start, goal, ways(edges), ways(edges) if two_ended else None)
    random.Random(6).shuffle(edges)
    two = shortest(start, goal, ways(edges), ways(edges) if two_ended else None)
    assert one == two
    if one is not None:
        check(one, edges, start, goal)


@patient
@given(edges=edge_lists, start=nodes, depth=st.one_of(st.none(), st.integers(0, 5)))
def test_a_closure_has_all_within_reach_with_a_shortest_way_to_each(
    edges: list[Edge], start: int, depth: int | None
) -> None:
    found = closure([start], ways(edges, both=False), depth)
    truth = distances(edges, start)
    assert {node: at.depth for node, at in found.items()} == {
        n: d for n, d in truth.items() if depth is None or d <= depth
    }
    assert [at.depth for at in found.values()] == sorted(at.depth for at in found.values())
    for node, at in found.items():
        assert len(way(found, node)) == at.depth
        check(way(found, node), edges, start, node)


def test_callers_of_several_starts_are_found_against_the_edges() -> None:
    edges = [Edge(1, 0, 1.0, "calls"), Edge(2, 1, 1.0, "calls"), Edge(2, 5, 1.0, "calls"), Edge(0, 9, 1.0, "calls")]
    found = closure([5, 0], ways(edges, both=False, against=True))
    assert found == {
        0: Found(0),
        5: Found(0),
        1: Found(1, Hop(0, 1, "calls", False)),
        2: Found(1, Hop(5, 2, "calls", False)),
    }
    with pytest.raises(KeyError):
        way(found, 9)


def test_of_equal_paths_the_one_over_smaller_numbers_and_the_first_kind_wins() -> None:
    edges = [
        Edge(0, 3, 1.0, "calls"),
        Edge(0, 2, 1.0, "imports"),
        Edge(0, 2, 1.0, "calls"),
        Edge(3, 9, 1.0, "calls"),
        Edge(2, 9, 1.0, "calls"),
    ]
    expected = (Hop(0, 2, "calls"), Hop(2, 9, "calls"))
    assert shortest(0, 9, ways(edges, both=False)) == expected
    assert shortest(0, 9, ways(edges, both=False), ways(edges, both=False, against=True)) == expected


def test_no_starts_reach_nothing() -> None:
    assert closure([], ways([])) == {}
