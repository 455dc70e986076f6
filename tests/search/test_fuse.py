"""Reciprocal rank fusion and the signals on top: sums, order, and what they must not depend on."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codelens.config import load_weights
from codelens.model.code import UnitId, UnitRow
from codelens.model.search import Candidate, Contribution, Match, add_features, rank_with_scores
from codelens.search.company import COMPANY
from codelens.search.features import FEATURES
from codelens.search.fuse import fuse_rankings, normalise_weights
from codelens.search.intent import SHAPES
from codelens.search.order import penalize_further_hits
from codelens.search.retrieve import MODES
from codelens.search.walk import WALK
from tests.search.units import order, unit

UNITS = {UnitId(n): unit(n) for n in range(20)}
RANKINGS = st.dictionaries(
    st.sampled_from(["exact", "fuzzy", "vector", "symbol", "path"]),
    st.lists(st.integers(0, 19), unique=True).map(lambda ids: [Match(UnitId(i), 1.0, "found") for i in ids]),
)


def test_a_score_is_the_sum_of_weight_by_k_plus_rank() -> None:
    rankings = {"exact": [Match(UnitId(1), 9.0, ""), Match(UnitId(2), 8.0, "")], "vector": [Match(UnitId(2), 0.5, "")]}
    scores = {c.unit.id: c.score for c in fuse_rankings(rankings, {"exact": 0.75, "vector": 0.25}, 60, UNITS)}
    assert scores == {1: 0.75 / 61, 2: math.fsum([0.75 / 62, 0.25 / 61])}


@pytest.mark.parametrize(("fusion", "shares"), [("weighted", [1.0, 0.8, 0.2]), ("minmax", [1.0, 0.75, 0.0])])
def test_raw_scores_count_as_shares(fusion: str, shares: list[float]) -> None:
    rankings = {"exact": [Match(UnitId(n), score, "") for n, score in enumerate([10.0, 8.0, 2.0])]}
    fused = fuse_rankings(rankings, {"exact": 0.5}, 60, UNITS, fusion)
    assert [c.score for c in fused] == [0.5 * share / 61 for share in shares]
    assert [c.channels for c in fused] == [{"exact": 1}, {"exact": 2}, {"exact": 3}]


@pytest.mark.parametrize("fusion", ["weighted", "minmax"])
def test_equal_raw_scores_are_all_the_best(fusion: str) -> None:
    rankings = {"path": [Match(UnitId(n), score, "") for n, score in enumerate([0.0, 0.0])]}
    assert [c.score for c in fuse_rankings(rankings, {"path": 1.0}, 60, UNITS, fusion)] == [1 / 61, 1 / 61]


@given(RANKINGS, st.permutations(["exact", "fuzzy", "vector", "symbol", "path"]))
def test_the_order_of_the_channels_changes_nothing(rankings: dict[str, list[Match]], names: list[str]) -> None:
    weights = {"exact": 0.4, "fuzzy": 0.3, "vector": 0.1, "symbol": 0.1, "path": 0.1}
    shuffled = {name: rankings[name] for name in names if name in rankings}
    one, other = (sorted(fuse_rankings(r, weights, 60, UNITS), key=order) for r in (rankings, shuffled))
    assert [(c.unit.id, c.score, c.contributions) for c in one] == [
        (c.unit.id, c.score, c.contributions) for c in other
    ]


def test_contributions_are_made_when_somebody_reads_them_and_once() -> None:
    made: list[str] = []

    def make(name: str, amount: float) -> Contribution:
        made.append(name)
        return Contribution(name, amount, "")

    first, second = (Candidate(unit(n)) for n in range(2))
    for candidate, amount in ((first, 0.1), (second, 0.2)):
        candidate.add(amount, make, f"part {candidate.unit.id}", amount)
    add_features([first, second], [("bm25", 0.7, [1.0, 0.0]), ("file", 0.3, [0.5, 0.0]), ("walk", 1.0, [0.0, 0.0])])
    assert [score for score, _ in rank_with_scores([first, second])] == [math.fsum([0.1, 0.7, 0.15]), 0.2]
    assert made == []
    assert (first.measured, second.measured) == ([("bm25", 0.7, 1.0), ("file", 0.3, 0.5)], [])
    assert [part.source for part in first.recorded + first.recorded] == ["part 0", "part 0"]
    assert made == ["part 0"]
    first.add(0.4, make, "later", 0.4)
    assert first.score == math.fsum([0.1, 0.7, 0.15, 0.4])
    first.forget_features()
    assert (first.score, made) == (math.fsum([0.1, 0.4]), ["part 0", "later"])


def test_only_candidates_of_equal_scores_are_compared_by_content() -> None:
    compared: list[int] = []

    class Row(UnitRow):
        def content_order(self) -> tuple[str, str, int, str, str]:
            compared.append(self.id)
            return super().content_order()

    candidates = [Candidate(Row(*unit(n))) for n in range(9)]
    for candidate in candidates:
        candidate.add_bonus("exact", 1.0, float(max(2, candidate.unit.id)), "")
    assert [c.unit.id for _, c in rank_with_scores(candidates[::-1])] == [8, 7, 6, 5, 4, 3, 0, 1, 2]
    assert sorted(compared) == [0, 1, 2]


@given(st.dictionaries(st.text(min_size=1), st.floats(0.001, 1000), min_size=1))
def test_weights_are_normalised_to_one(weights: dict[str, float]) -> None:
    assert math.isclose(math.fsum(normalise_weights(weights, sorted(weights)).values()), 1.0)


@given(st.lists(st.tuples(st.sampled_from(["a.py", "b.py"]), st.floats(0.0, 1.0)), max_size=30), st.floats(-1.0, 0.0))
def test_spreading_files_keeps_the_sum_true_and_the_best_hit_of_a_file_whole(
    scores: list[tuple[str, float]], further: float
) -> None:
    candidates = [
        Candidate(unit(n, path), recorded=[Contribution("exact", score, "")]) for n, (path, score) in enumerate(scores)
    ]
    before = {c.unit.id: c.score for c in candidates}
    ordered = penalize_further_hits(candidates, further)
    assert ordered == sorted(ordered, key=order)
    for path in {"a.py", "b.py"}:
        of_file = [c for c in candidates if c.unit.path == path]
        if of_file:
            best = min(of_file, key=lambda c: (-before[c.unit.id], c.unit.content_order()))
            assert best.score == before[best.unit.id]


@pytest.mark.parametrize("profile", load_weights())
def test_every_weight_of_a_profile_is_used(profile: str) -> None:
    row = load_weights()[profile]
    assert set(row["channels"]) == set(row["cuts"]) == set(MODES["hybrid"])
    assert set(row["features"]) <= {*FEATURES, WALK, *COMPANY, "further"}
    assert {shape for weight in row["features"].values() if isinstance(weight, dict) for shape in weight} <= {*SHAPES}
