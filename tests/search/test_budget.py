"""A query whose budget is spent gives what was found by then, and says what was left out, whichever part it was spent in.

Where no setting can spend it in the right part, the clock leaps when it is looked at for the nth time: the same on every machine.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable
from dataclasses import replace
from itertools import count
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from codelens.index import Index
from codelens.model.budget import OutOfTime, TimeBudget
from codelens.model.request import SearchOptions
from codelens.model.search import SearchResult
from codelens.query.parser import MOST_PATTERNS
from codelens.search.lexicon import MOST_UNKNOWN
from codelens.search.pipeline import rank
from codelens.search.run import LONGEST
from codelens.search.terms import MOST_BEGINNINGS, MOST_TERMS
from codelens.search.why import explain_targets
from codelens.store.store import Store
from tests.commands import Run
from tests.search.trees import QUICK

pytestmark = pytest.mark.usefixtures("plain_environment")


# The setting


def test_an_answer_says_what_there_was_no_time_for(large: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = ("search", "widget", "--mode", "keyword")
    assert len(run(*asked, cwd=large).out.splitlines()) == 20
    monkeypatch.setenv("CODELENS_QUERY_SECONDS", "1e-09")
    left_out = "; ".join(f"{channel} was left out" for channel in ("exact", "lexicon", "path", "symbol"))
    text = f"the query's 1e-09 s of CPU were spent (setting query_seconds): {left_out}"
    ran = run(*asked, "--json", cwd=large)
    record = json.loads(ran.out)
    assert (record["results"], record["search_modes"]) == ([], [])
    assert record["notices"] == [{"code": "out-of-time", "text": text}]
    assert (ran.code, ran.err) == (1, f"codelens: note: {text}\n")
    why = run("why", "widget", "0.py:1", cwd=large)
    assert "lost at: out of time: there was no time" in why.out
    assert "remedy: raise the setting query_seconds" in why.out


def test_nothing_is_cut_without_a_limit(large: Path) -> None:
    with Index.open(large / ".codelens/index.db", replace(QUICK, query_seconds=0.0)) as index:
        assert index.search("widget /_1/", SearchOptions()).notices == ()


# Every part


QUERY = "widget mixer wigdet"
WHOLE = 1_000_000
Asked = Callable[[Store, Index], SearchResult]


def asking(text: str, **options: Any) -> Asked:
    return lambda store, index: Index(store, QUICK).search(text, SearchOptions(**options))


def told(result: SearchResult) -> str:
    return "; ".join(notice.text.partition(": ")[2] for notice in result.notices if notice.code == "out-of-time")


PARTS: dict[str, tuple[Asked, tuple[str, ...]]] = {
    "conditions": (
        asking("(widget OR mixer) /_1[0-9]/"),
        ("conditions were decided for 0 of 5 files", "conditions were decided for 3 of 5 files"),
    ),
    "search": (
        asking(QUERY, rerank=True),
        (
            "unknown words were not corrected",
            "exact was left out",
            "vector was left out",
            "features were left out",
            "the walk was left out",
            "hits were not ranked again",
            "20 of 20 hits shown without lines",
        ),
    ),
    "expansion": (asking(QUERY, expand="bfs"), ("the expansion was left out",)),
    "knowing": (asking(QUERY, profile="knowing"), ("the walk was left out, so that ranks of channels alone decide",)),
    "files": (asking(QUERY, files_only=True), ("keyword was left out", "vector was left out")),
    "why": (
        lambda store, index: explain_targets(QUERY, ["other"], store, index.info(), SearchOptions(), QUICK).search,
        ("why other is not a candidate", "not every remedy was tried"),
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", list(PARTS))
def test_whenever_the_budget_is_spent_the_answer_comes_and_says_so(name: str, large: Path) -> None:
    asked, parts = PARTS[name]
    db = large / ".codelens/index.db"
    with Index.open(db, QUICK) as index, Store.read(db) as store, store.reading():

        def go(looks: int) -> tuple[SearchResult, int]:
            """With a clock on which the time is up when it is looked at for this number of times."""
            taken = count()
            store.budget = TimeBudget(1.0, lambda: float(next(taken) >= looks))
            return asked(store, index), next(taken)

        whole, needed = go(WHOLE)
        assert told(whole) == ""
        seen: list[str] = []
        for looks in sorted(
            {*(needed * n // 15 for n in range(1, 15)), *range(1, 15, 2), *range(needed - 40, needed, 4)}
        ):
            result, taken = go(looks)
            seen.append(told(result))
            assert seen[-1] or result.hits == whole.hits
            assert taken <= looks + 100, "it goes on after its time"
            for hit in result.hits:
                assert hit.score == math.fsum(part.amount for part in hit.contributions)
        for part in parts:
            assert any(part in text for text in seen), part


def test_the_channels_that_are_left_share_the_weight(large: Path) -> None:
    with Store.read(large / ".codelens/index.db") as store, store.reading():
        for looks in range(1, 100):
            taken = count()
            store.budget = TimeBudget(1.0, lambda taken=taken, looks=looks: float(next(taken) >= looks))  # type: ignore[misc]
            ranking = rank("widget harbour", store, SearchOptions(profile="rrf"), QUICK)
            if ranking.candidates:
                break
        assert 0 < len(ranking.findings.channels) < 6
        weights = {channel: ranking.run.profile.channels[channel] for channel in ranking.findings.channels}
        total = math.fsum(weights.values())
        for candidate in ranking.candidates:
            ranks = candidate.channels.items()
            expected = math.fsum(weights[c] / total / (ranking.run.profile.rrf_k + place) for c, place in ranks)
            assert candidate.score == pytest.approx(expected, rel=1e-12)


def test_a_part_that_is_overdue_leaves_the_next_its_share() -> None:
    clock = iter(range(100))
    budget = TimeBudget(10, lambda: float(next(clock)))
    with budget.part(0.2, "the first"):
        while True:
            budget.check()
    with budget.part(0.9, "the second"):
        budget.check()
    assert budget.cut == ["the first"]
    with pytest.raises(OutOfTime):
        for _ in range(10):
            budget.check()


# Limits by count


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (" ".join(f"widget{n}" for n in range(MOST_TERMS + 1)), f"only the first {MOST_TERMS} of the query's"),
        (" ".join(f"wid{n}*" for n in range(150)), f"only the first {MOST_BEGINNINGS} of 150 words with a star"),
        (
            " ".join(f"wq{chr(97 + n // 26)}{chr(97 + n % 26)}zz" for n in range(250)),
            f"only the first {MOST_UNKNOWN} of 250 unknown words were checked for typing mistakes",
        ),
        (
            " ".join(f"/widget_{n}/" for n in range(MOST_PATTERNS + 1)),
            f"a query has {MOST_PATTERNS} patterns at most; others are searched as text",
        ),
        ("widget " + "x" * LONGEST, f"only the first {LONGEST} of the query's {LONGEST + 7} characters are read"),
    ],
)
def test_a_limit_that_left_something_out_is_reported(large: Path, text: str, said: str) -> None:
    with Index.open(large / ".codelens/index.db", replace(QUICK, query_seconds=0.0)) as index:
        notices = index.search(text, SearchOptions()).notices
    assert any(notice.code == "limit" and notice.text.startswith(said) for notice in notices)


def test_a_page_of_a_stack_trace_is_within_every_limit(large: Path) -> None:
    page = "\n".join(
        f'  File "/srv/app/widget_{n}.py", line {n}, in handle_request_{n}\n    return mixer.run(kettle[{n}])'
        for n in range(60)
    )
    assert len(page) > 4000
    with Index.open(large / ".codelens/index.db", replace(QUICK, query_seconds=0.0)) as index:
        assert [n for n in index.search(page, SearchOptions()).notices if n.code == "limit"] == []


def test_a_long_name_is_no_error(large: Path) -> None:
    name = "".join(f"{chr(97 + n % 26)}{n}" for n in range(400))
    with Index.open(large / ".codelens/index.db", QUICK) as index:
        index.search(f"`{name}` {name}", SearchOptions())


@pytest.mark.slow
@pytest.mark.parametrize("joint", [" ", " OR "])
def test_work_grows_with_the_number_of_words_and_not_faster(large: Path, joint: str) -> None:
    """Calls of functions are counted: four times the words take less than six times the calls."""

    def calls(words: int) -> int:
        made = 0

        def on_event(_: FrameType, event: str, __: object) -> None:
            nonlocal made
            made += event in ("call", "c_call")

        text = joint.join(f"widget_{n}" for n in range(words))
        with Index.open(large / ".codelens/index.db", replace(QUICK, query_seconds=0.0)) as index:
            index.search("widget OR mixer OR kettle OR toaster", SearchOptions())
            sys.setprofile(on_event)
            try:
                index.search(text, SearchOptions())
            finally:
                sys.setprofile(None)
        return made

    assert calls(200) < 6 * calls(50)
