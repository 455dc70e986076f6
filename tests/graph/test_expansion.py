"""The expansion against every path there is."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codelens.graph.walk import GraphStep, Hop, Steps, WeightedEdge, expand
from tests.graph.small_graphs import edge_lists, nodes, patient, ways

scores = st.dictionaries(nodes, st.sampled_from((1.0, 0.9, 0.55, 0.3)), min_size=1, max_size=3)


def keeps(kind: str) -> float:
    return {"contains": 0.95, "extends": 0.85, "implements": 0.85, "imports": 0.70}.get(kind, 0.8)


def all_paths(edges_of: Steps, seeds: dict[int, float], depth: int, decay: float | None) -> dict[int, float]:
    """Every path of up to `depth` hops, one hop at a time, without any pruning."""
    ends, top = list(seeds.items()), dict(seeds)
    for _ in range(depth):
        on = dict[int, float]()
        for node, score in ends:
            for step in edges_of([node]).get(node, ()):
                if step.outgoing or step.kind != "imports":
                    kept = score * (keeps(step.kind) if decay is None else decay)
                    on[step.target] = max(on.get(step.target, 0.0), kept)
        ends = list(on.items())
        for node, score in ends:
            top[node] = max(top.get(node, 0.0), score)
    return top


@patient
@given(
    edges=edge_lists,
    seeds=scores,
    depth=st.integers(0, 4),
    minimum=st.sampled_from((0.0, 0.3, 0.5, 0.8)),
    decay=st.sampled_from((None, 0.8, 0.5, 1.0)),
)
def test_every_node_has_the_best_score_of_all_paths_and_a_path_that_gives_it(
    edges: list[WeightedEdge], seeds: dict[int, float], depth: int, minimum: float, decay: float | None
) -> None:
    found = expand(ways(edges), seeds, depth, minimum, decay)
    truth = all_paths(ways(edges), seeds, depth, decay)
    assert {node: reached.score for node, reached in found.items()} == {n: s for n, s in truth.items() if s >= minimum}
    assert list(found) == sorted(found, key=lambda node: (-found[node].score, node))
    known = {(edge.source, edge.target, edge.kind) for edge in edges}
    for node, reached in found.items():
        hops = reached.list_hops()
        assert len(hops) == reached.depth <= depth
        start = hops[0].source if hops else node
        assert all(one.target == two.source for one, two in pairwise(hops))
        assert all(((h.source, h.target) if h.outgoing else (h.target, h.source)) + (h.kind,) in known for h in hops)
        kept = [keeps(hop.kind) if decay is None else decay for hop in hops]
        assert math.isclose(reached.score, seeds[start] * math.prod(kept))


@patient
@given(edges=edge_lists, seeds=scores, depth=st.integers(0, 3))
def test_order_changes_nothing(edges: list[WeightedEdge], seeds: dict[int, float], depth: int) -> None:
    one = expand(ways(edges), seeds, depth, 0.3)
    random.Random(5).shuffle(edges)
    two = expand(ways(edges), dict(reversed(seeds.items())), depth, 0.3)
    assert list(one.values()) == list(two.values())


def test_kinds_keep_what_graph_memory_says_unless_one_decay_is_given() -> None:
    edges = [
        WeightedEdge(0, place, 1.0, kind)
        for place, kind in enumerate(("contains", "extends", "implements", "imports", "calls"), 1)
    ]
    found = expand(ways(edges), {0: 1.0})
    assert {node: reached.score for node, reached in found.items()} == {
        0: 1.0,
        1: 0.95,
        2: 0.85,
        3: 0.85,
        5: 0.8,
        4: 0.7,
    }
    assert {reached.score for reached in expand(ways(edges), {0: 1.0}, decay=0.6).values()} == {1.0, 0.6}


def test_imports_are_not_followed_backward() -> None:
    edges = [
        WeightedEdge(1, 0, 1.0, "imports"),
        WeightedEdge(2, 0, 1.0, "contains"),
        WeightedEdge(0, 3, 1.0, "imports"),
    ]
    for decay in (None, 0.9):
        assert set(expand(ways(edges), {0: 1.0}, decay=decay)) == {0, 2, 3}


def test_a_longer_way_that_keeps_more_wins_and_the_shorter_paths_of_others_stay_whole() -> None:
    edges = [
        WeightedEdge(0, 2, 1.0, "imports"),
        WeightedEdge(0, 1, 1.0, "contains"),
        WeightedEdge(1, 2, 1.0, "contains"),
        WeightedEdge(2, 3, 1.0, "contains"),
    ]
    found = expand(ways(edges), {0: 1.0}, depth=2)
    assert found[2].list_hops() == (Hop(0, 1, "contains"), Hop(1, 2, "contains"))
    assert found[3].list_hops() == (Hop(0, 2, "imports"), Hop(2, 3, "contains"))
    assert found[3].score == 0.7 * 0.95


def test_of_equal_paths_the_shorter_then_the_smaller_number_then_the_first_kind_wins() -> None:
    edges = [WeightedEdge(start, 5, 1.0, kind) for start in (2, 1) for kind in ("references", "calls")]
    assert expand(ways(edges), {1: 1.0, 2: 1.0})[5].list_hops() == (Hop(1, 5, "calls"),)
    round_about = [WeightedEdge(0, 1, 1.0, "calls"), WeightedEdge(1, 2, 1.0, "calls"), WeightedEdge(0, 2, 1.0, "calls")]
    assert expand(ways(round_about), {0: 1.0}, depth=2, decay=1.0)[2].list_hops() == (Hop(0, 2, "calls"),)


def test_nodes_whose_neighbours_cannot_reach_the_minimum_are_not_read() -> None:
    asked: list[int] = []

    def edges_of(nodes: Sequence[int]) -> dict[int, list[GraphStep]]:
        asked.extend(nodes)
        return {node: [GraphStep(node + 10, "contains")] for node in nodes}

    found = expand(edges_of, {0: 1.0, 1: 0.52, 2: 0.53, 3: 0.4}, minimum=0.5)
    assert asked == [0, 2]
    assert sorted(found) == [0, 1, 2, 10, 12]


def test_a_decay_outside_zero_to_one_is_refused() -> None:
    for decay in (1.1, -0.1):
        with pytest.raises(ValueError, match="between"):
            expand(ways([]), {0: 1.0}, decay=decay)
