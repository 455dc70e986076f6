from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codelens.render.paths import PathStyle
from codelens.render.records import to_json
from codelens.render.why import WhyView, compare_scores, quote_for_shell, render_why
from codelens.render.why_json import build_why_record, recompute_scores
from codelens.render.why_terminal import draw_bar, draw_why
from tests.render.results import CANDIDATES, why

PATHS = PathStyle("root", "")


def record() -> dict[str, Any]:
    return dict(json.loads(to_json(build_why_record(why(), 1))))


def test_an_account_names_each_part_and_the_neighbours() -> None:
    text = "".join(render_why(why(), WhyView(PATHS, every_part=True)))
    assert "#1 Loader.parse_config  method  src/conf.py:10" in text
    assert "coverage  +0.010000  holds 2 of 2 words" in text
    assert "ahead of parse" in text
    assert "lost at: beaten: rank 3 of 3" in text
    assert "try: codelens search -m 2 -- 'parse config `test_parse`'" in text


def test_two_targets_side_by_side() -> None:
    text = "".join(render_why(why(), WhyView(PATHS, side_by_side=True)))
    rows = [line.split() for line in text.splitlines()]
    score = next(r for r in rows if r[:1] == ["score"])
    assert float(score[3]) == pytest.approx(CANDIDATES[0].score - CANDIDATES[2].score, abs=1e-6)


def test_the_picture_has_bars_and_no_colour_unless_requested() -> None:
    text = "".join(draw_why(why(), WhyView(PATHS)))
    assert "█" in text
    assert "\x1b" not in text
    assert "\x1b[" in "".join(draw_why(why(), WhyView(PATHS, color=True, side_by_side=True)))


@given(st.floats(-10, 10), st.floats(0, 10))
def test_a_bar_is_never_longer_than_its_cells(amount: float, more: float) -> None:
    drawn = draw_bar(amount, abs(amount) + more)
    assert len(drawn) <= 24
    assert bool(drawn) == bool(amount)


def test_differences_add_up_to_the_difference_of_scores() -> None:
    first, second = CANDIDATES[0], CANDIDATES[2]
    assert sum(d.gap for d in compare_scores(first, second)) == pytest.approx(first.score - second.score)


def test_recomputing_finds_all_equal() -> None:
    assert recompute_scores(record()) == (3, [])


def test_recomputing_finds_a_wrong_amount() -> None:
    changed = record()
    changed["explanations"][0]["candidate"]["contributions"][0]["amount"] += 1e-11
    assert any("exact computes to" in line for line in recompute_scores(changed)[1])


def test_recomputing_finds_a_wrong_sum() -> None:
    changed = record()
    changed["explanations"][0]["candidate"]["score"] += 1e-11
    assert any("add up to" in line for line in recompute_scores(changed)[1])


def test_recomputing_finds_a_factor_of_another_sum() -> None:
    changed = record()
    part = changed["explanations"][1]["candidate"]["contributions"][2]
    part["operands"]["of"] *= 1.5
    part["amount"] *= 1.5
    assert any("the sum so far is" in line for line in recompute_scores(changed)[1])


def test_recomputing_finds_a_wrong_order() -> None:
    changed = record()
    first, third = changed["explanations"]
    first["candidate"]["rank"], third["candidate"]["rank"] = 3, 1
    assert any("by its score" in line for line in recompute_scores(changed)[1])


def test_recomputing_refuses_an_unknown_rule() -> None:
    changed = record()
    changed["explanations"][0]["candidate"]["contributions"][0]["rule"] = "guess"
    assert any("names no known rule" in line for line in recompute_scores(changed)[1])


def test_a_query_can_be_pasted_into_a_shell() -> None:
    assert quote_for_shell("it's `x`") == "'it'\\''s `x`'"
