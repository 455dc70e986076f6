"""The families that `why` shows first: the same sum and order as the exact account."""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codelens.model.search import FAMILIES, Contribution
from codelens.render.paths import PathStyle
from codelens.render.why import WhyView, find_first_reason, group_families, render_why
from codelens.render.why_json import build_why_record, recompute_scores
from codelens.search.features import FEATURES
from codelens.search.profiles import load_all_profiles
from tests.render.results import CANDIDATES, why

SOURCES = [source for sources in FAMILIES.values() for source in sources]
AMOUNTS = st.lists(st.tuples(st.sampled_from([*SOURCES, "unknown"]), st.floats(-10, 10)), max_size=40)


@given(AMOUNTS)
def test_families_hold_each_contribution_once_and_add_up_to_the_score(amounts: list[tuple[str, float]]) -> None:
    parts = [Contribution(source, amount, f"{source} counts") for source, amount in amounts]
    found = group_families(parts)
    held = [part for family in found for part in family.parts]
    assert sorted(map(id, held)) == sorted(map(id, parts))
    assert math.fsum(part.amount for part in held) == math.fsum(part.amount for part in parts)
    assert math.fsum(f.amount for f in found) == pytest.approx(math.fsum(part.amount for part in parts), abs=1e-12)
    assert [f.amount for f in found] == sorted((f.amount for f in found), reverse=True)
    if any(f.amount > 0 for f in found):
        assert math.fsum(f.share for f in found if f.share > 0) == pytest.approx(1.0)


def test_sums_of_families_order_candidates_as_scores_do() -> None:
    sums = [math.fsum(f.amount for f in group_families(c.contributions)) for c in CANDIDATES]
    assert sums == sorted(sums, reverse=True)
    assert sums == pytest.approx([c.score for c in CANDIDATES], abs=1e-15)


def test_every_feature_has_one_family() -> None:
    remembered = {name for profile in load_all_profiles("").values() for name in profile.get("memory", ())}
    features = {name for profile in load_all_profiles("").values() for name in profile["features"]}
    assert {*FEATURES, *remembered, *features} <= set(SOURCES)
    assert len(set(SOURCES)) == len(SOURCES)


def test_reasons_are_the_strongest_and_none_repeats_another() -> None:
    parts = [
        Contribution("nearest", 0.2, "63% of the best cosine, squared"),
        Contribution("nearness", 0.3, "63% of the best cosine"),
        Contribution("near_unmet", 0.1, "meaning counts more"),
        Contribution("rerank", -0.09, "farther than others"),
    ]
    (meaning,) = group_families(parts)
    assert meaning.reasons == ["63% of the best cosine", "meaning counts more", "but farther than others"]
    assert find_first_reason(parts, {}) == "63% of the best cosine"
    assert find_first_reason([Contribution("test", -1.0, "test path")], {"exact": 3}) == ""


def test_an_account_shows_families_and_how_to_list_the_parts() -> None:
    text = "".join(render_why(why(), WhyView(PathStyle("root", ""))))
    assert "words   +0.0100   38%  ############          holds 2 of 2 words" in text
    assert "the sum of 2 parts; --all lists them" in text
    assert "coverage" not in text


def test_json_holds_both_accounts_and_the_check_compares_them() -> None:
    record = json.loads(json.dumps(build_why_record(why(), 1)))
    candidate = record["explanations"][1]["candidate"]
    assert [f["family"] for f in candidate["families"]] == ["fusion", "words", "place"]
    assert all(f["family"] != "other" for f in candidate["families"])
    assert recompute_scores(record) == (3, [])
    candidate["families"][0]["amount"] += 1e-11
    assert any("families add up to" in line for line in recompute_scores(record)[1])


def test_the_first_reason_of_ranks_alone_names_the_channels() -> None:
    ranks = [Contribution("exact", 0.2, "rank 3", "rrf"), Contribution("vector", 0.0, "rank 9", "rrf")]
    assert find_first_reason(ranks, {"exact": 3, "vector": 9}) == "RRF of exact #3"
