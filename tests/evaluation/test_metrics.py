"""Figures reckoned by hand, and the sums of them that the scorer of the development tasks makes."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codelens.evaluation.metrics import CUTOFF, METRICS, Judgement, NamedHit, compute_metrics, judge_hits, strict
from codelens.evaluation.tasks import ABSENT, Relevant, Task

pytestmark = pytest.mark.slow


def of(judged: Judgement) -> dict[str, float]:
    return compute_metrics({"t": judged})["t"]


def asked(symbols: str, hits: str, files: tuple[str, ...] = ()) -> dict[str, float]:
    """Each letter is an entry's name, or a hit's name in the file of that name."""
    task = Task("t", "r", "q", tuple(Relevant(symbol, files) for symbol in symbols))
    order = [NamedHit(name, f"{name}.py") for name in hits]
    return of(judge_hits(task, order, strict))


def test_by_hand() -> None:
    """`b` is credited once, though two hits match it; the loose precision counts both."""
    ideal = 1 + 1 / math.log2(3) + 1 / math.log2(4)
    assert asked("abc", "xbba", ("b.py", "q.py")) == pytest.approx(
        {
            "P@10": 0.3,
            "R@10": 2 / 3,
            "MRR": 0.5,
            "hit@10": 1.0,
            "strict_p@10": 0.2,
            "strict_r@10": 2 / 3,
            "strict_mrr": 0.5,
            "strict_ndcg@10": (1 / math.log2(3) + 1 / math.log2(5)) / ideal,
            "strict_hit@1": 0.0,
            "strict_hit@3": 1.0,
            "strict_hit@10": 1.0,
            "file@10": 1.0,
            "candidates": 2 / 3,
        }
    )


def test_nothing_found_is_zero_in_every_metric() -> None:
    for hits in ("", "xyz"):
        found = asked("ab", hits, ("q.py",))
        assert set(found) == set(METRICS) - {ABSENT}
        assert not any(found.values())


def test_a_perfect_order_is_one_and_precision_is_of_ten() -> None:
    assert asked("abc", "abc") == pytest.approx(
        {name: 0.3 if name in ("P@10", "strict_p@10") else 1.0 for name in METRICS if name not in ("file@10", ABSENT)}
    )


def test_the_ideal_order_has_ten_places() -> None:
    """Ten of twelve answers fit: nDCG reaches 1, recall does not."""
    found = asked("abcdefghijkl", "abcdefghij")
    assert found["strict_ndcg@10"] == pytest.approx(1.0)
    assert found["strict_r@10"] == pytest.approx(10 / 12)


def test_one_hit_may_find_more_entries_than_ten() -> None:
    """By the loose rule a container is a part of all its members' names."""
    task = Task("t", "r", "q", tuple(Relevant(f"Cart.{name}", ()) for name in "abcdefghijkl"))
    assert of(judge_hits(task, [NamedHit("Cart", "")], strict))["R@10"] == pytest.approx(1.0)


def test_a_task_without_an_answer_has_one_metric() -> None:
    assert asked("", "") == {ABSENT: 1.0}
    assert asked("", "x") == {ABSENT: 0.0}


def test_candidates_count_below_the_first_ten() -> None:
    found = asked("ab", "xxxxxxxxxxa")
    assert (found["strict_r@10"], found["candidates"]) == (0.0, 0.5)


def test_tasks_are_distinguished() -> None:
    task = Task("t", "r", "q", (Relevant("a", ()),))
    both = compute_metrics(
        {"r/1": judge_hits(task, [NamedHit("a", "")], strict), "r/2": judge_hits(task, [NamedHit("b", "")], strict)}
    )
    assert [both[key]["strict_mrr"] for key in ("r/1", "r/2")] == [1.0, 0.0]


@given(st.text("abcx", min_size=1, max_size=4).map(lambda s: "".join(dict.fromkeys(s))), st.text("abcxyz", max_size=14))
def test_as_the_definitions_say(symbols: str, hits: str) -> None:
    """The formulas written out, for single-letter names, where the loose rule and the strict one agree but for credit."""
    top, seen, credited = hits[:CUTOFF], set[str](), list[bool]()
    for name in top:
        credited.append(name in symbols and name not in seen)
        seen.add(name)
    gain = sum(1 / math.log2(place + 2) for place, right in enumerate(credited) if right)
    ideal = sum(1 / math.log2(place + 2) for place in range(len(symbols)))
    found = asked(symbols, hits)
    assert found["strict_ndcg@10"] == pytest.approx(gain / ideal)
    assert found["strict_p@10"] == pytest.approx(sum(credited) / 10)
    assert found["P@10"] == pytest.approx(sum(name in symbols for name in top) / 10)
    assert found["R@10"] == found["strict_r@10"] == pytest.approx(sum(credited) / len(symbols))
    assert (
        found["MRR"]
        == found["strict_mrr"]
        == pytest.approx(max((1 / (i + 1) for i, n in enumerate(top) if n in symbols), default=0))
    )
