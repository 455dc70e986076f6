"""Properties of scores in any search: a score is the sum of its contributions, and the order is total."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from codelens.errors import CodelensError
from codelens.index import Index
from codelens.model.request import SearchOptions
from codelens.model.search import Candidate, Trace
from codelens.render.why_json import RULES
from codelens.search.company import COMPANY
from codelens.search.features import FEATURES, ROLE_WORDS
from codelens.search.fuse import FUSIONS
from codelens.search.intent import INTENTS, SHAPES
from codelens.search.pipeline import rank
from codelens.search.profiles import load_profile
from codelens.search.run import BELOW_MINIMUM
from codelens.search.walk import WALK
from codelens.store.store import Store
from tests.commands import SAMPLES
from tests.search.trees import QUICK
from tests.search.units import order
from tests.tiers import examples

WORDS = ["cart", "user", "password", "test", "getUser", "get_item", "docs", "total", "retry", "the"]
CHANNELS = ("equivalence", "exact", "fuzzy", "path", "symbol", "vector")


def check(candidates: list[Candidate]) -> None:
    """The properties themselves."""
    for candidate in candidates:
        assert candidate.contributions
        amounts = [part.amount for part in candidate.contributions]
        assert candidate.score == math.fsum(amounts) == math.fsum(reversed(amounts))
        assert math.isfinite(candidate.score)
        assert {part.source for part in candidate.contributions if part.rule in ("rrf", "share")} == set(
            candidate.channels
        )
        for place, part in enumerate(candidate.contributions):
            assert part.reason
            assert RULES[part.rule](part.operands) == part.amount
            if part.rule == "factor":
                assert part.operands["of"] == math.fsum(amounts[:place])
    keys = [order(candidate) for candidate in candidates]
    assert keys == sorted(keys)
    assert len(set(keys)) == len(keys), "no two candidates tie"


# Real searches


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Index]:
    db = tmp_path_factory.mktemp("samples") / "index.db"
    Index.build(db, [SAMPLES / "notes/repo", SAMPLES / "shop/repo"], QUICK)
    with Index.open(db, QUICK) as opened:
        yield opened


@pytest.fixture(scope="module")
def store(index: Index) -> Iterator[Store]:
    with Store.read(Path(index.info().path)) as opened:
        yield opened


WEIGHTS = st.one_of(
    st.floats(-10.0, 10.0), st.fixed_dictionaries({}, optional={shape: st.floats(-10.0, 10.0) for shape in SHAPES})
)
SAID = st.lists(
    st.sampled_from(["Cart", "add", "get_item", "the total of a cart", "fix: retry", "test", "how"]), min_size=1
)


@pytest.mark.slow
@given(
    SAID.map(" ".join),
    st.dictionaries(st.sampled_from([*FEATURES, WALK, *COMPANY, "further"]), WEIGHTS),
    st.dictionaries(st.sampled_from(sorted(ROLE_WORDS)), st.floats(0.0, 3.0)),
    st.sampled_from(["", *INTENTS]),
    st.sampled_from(FUSIONS),
)
@settings(max_examples=examples(40), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_whatever_the_weights_a_score_is_the_sum_of_its_reasons(
    store: Store,
    query: str,
    features: dict[str, float | dict[str, float]],
    factors: dict[str, float],
    intent: str,
    fusion: str,
) -> None:
    options = SearchOptions(intent=intent, fusion=fusion)
    profile = replace(load_profile(options), features=features, factors=factors)
    check(rank(query, store, options, QUICK, profile).candidates)


SIGNS = ['"return"', "lang:py", "-is:test", "OR", "NOT", "kind:class", "/err/", "`Cart`", "(", ")", "pasword"]
PARTS = st.sampled_from([*WORDS, *SIGNS])
OPTIONS = st.builds(
    SearchOptions,
    mode=st.sampled_from(["hybrid", "keyword", "vector", "exact", "fuzzy"]),
    profile=st.sampled_from(["codelens", "rrf"]),
    rrf_k=st.none() | st.integers(1, 100),
    weights=st.dictionaries(st.sampled_from(CHANNELS), st.floats(0.0, 10.0)),
    case=st.sampled_from(["auto", "yes", "no"]),
    word=st.booleans(),
    limit=st.integers(1, 30),
    offset=st.integers(0, 10),
)


@given(st.lists(PARTS, max_size=6).map(" ".join), OPTIONS)
@settings(max_examples=examples(40), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_every_candidate_of_every_search(index: Index, query: str, options: SearchOptions) -> None:
    try:
        result = index.search(query, options)
    except CodelensError:
        return
    trace: Trace = result.trace
    check(trace.candidates)
    assert result.total == len(trace.candidates)
    shown = trace.candidates[options.offset : options.offset + options.limit]
    assert [(h.unit.id, h.score, h.contributions) for h in result.hits] == [
        (c.unit.id, c.score, tuple(c.contributions)) for c in shown
    ]
    dropped = {event.unit.id for event in trace.events if event.stage == BELOW_MINIMUM}
    assert not (dropped and result.hits), "without --min-score all are dropped or none"
    for channel, matches in trace.rankings.items() if not dropped else ():
        ranks = {c.unit.id: c.channels.get(channel) for c in trace.candidates}
        assert [ranks[match.unit] for match in matches] == list(range(1, len(matches) + 1))
    again = index.search(query, replace(options, limit=1000, offset=0))
    assert [order(c) for c in again.trace.candidates] == [order(c) for c in trace.candidates]
