"""What holds of the score of every candidate of any search: it is the sum of its contributions, and the order is total."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import fields, replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from codelens.config import load_weights
from codelens.errors import CodelensError
from codelens.index import Index
from codelens.model import CHUNK_KINDS, Candidate, DocumentId, Match, SearchOptions, Span, Trace, UnitId, UnitRow
from codelens.render.recompute import RULES
from codelens.search.expand import expand
from codelens.search.fuse import FUSIONS, fuse, normalised
from codelens.search.signals import Evidence, add_bonuses, add_factors, spread_files
from tests.cli.conftest import SAMPLES
from tests.search.trees import QUICK

WORDS = ["cart", "user", "password", "test", "getUser", "get_item", "docs", "total", "retry", "the"]
CHANNELS = ("equivalence", "exact", "fuzzy", "path", "symbol", "vector")
KINDS = ("function", "method", "class", "constant", *CHUNK_KINDS)

Rankings = dict[str, list[Match]]


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
    keys = [candidate.order() for candidate in candidates]
    assert keys == sorted(keys)
    assert len(set(keys)) == len(keys), "no two candidates tie"


# Made rankings, any weights


@st.composite
def units(draw: st.DrawFn) -> dict[UnitId, UnitRow]:
    """Up to 12 units in three files, all different in place."""
    found = {}
    for number in range(draw(st.integers(1, 12))):
        name = draw(st.sampled_from(WORDS))
        path = draw(st.sampled_from(["src/a.py", "tests/test_a.py", "docs/a.md"]))
        roles = frozenset(draw(st.sets(st.sampled_from(["test", "docs", "example", "generated"]), max_size=2)))
        found[UnitId(number)] = UnitRow(
            UnitId(number), DocumentId(len(path)), draw(st.sampled_from(KINDS)), name, draw(st.sampled_from(["", "Cart"])),
            None, Span(number, number + 1), Span(number, number), number, 1, 1, 1, 1, "", "", path, "python", "repo",
            local=draw(st.booleans()), roles=roles,
        )  # fmt: skip
    return found


@st.composite
def rankings(draw: st.DrawFn, ids: list[UnitId]) -> Rankings:
    raw = st.floats(0.0, 50.0)
    return {
        channel: [Match(unit, draw(raw), "found") for unit in draw(st.lists(st.sampled_from(ids), unique=True))]
        for channel in draw(st.sets(st.sampled_from(CHANNELS), min_size=1))
    }


PROFILE = load_weights()["codelens"]


@given(
    st.data(),
    units(),
    st.lists(st.sampled_from(WORDS), max_size=4),
    st.dictionaries(st.sampled_from(CHANNELS), st.floats(0.0, 100.0)),
    st.integers(1, 1000),
    st.fixed_dictionaries({name: st.floats(0.0, 3.0) for name in PROFILE["factors"]}),
    st.fixed_dictionaries({name: st.floats(-1.0, 10.0) for name in PROFILE["bonuses"]}),
)
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_whatever_the_weights_a_score_is_the_sum_of_its_reasons(
    data: st.DataObject,
    rows: dict[UnitId, UnitRow],
    words: list[str],
    weights: dict[str, float],
    k: int,
    factors: dict[str, float],
    bonuses: dict[str, float],
) -> None:
    ranked = data.draw(rankings(sorted(rows)))
    query = expand([" ".join(words)], words[:1], " ".join(words))
    candidates = fuse(ranked, normalised(weights, sorted(ranked)), k, rows, data.draw(st.sampled_from(FUSIONS)))
    assert {c.unit.id for c in candidates} == {m.unit for matches in ranked.values() for m in matches}
    held = st.frozensets(st.sampled_from(sorted(rows)))
    known: dict[str, dict[str, object]] = {
        "rarity": {term.text: data.draw(st.floats(0.1, 12.0)) for term in query.words},
        "found": {term.text: data.draw(held) for term in query.words},
        "strength": {name: {m.unit: min(1.0, m.raw_score / 50) for m in found} for name, found in ranked.items()},
    }
    evidence = Evidence(**{field.name: known.get(field.name, {}) for field in fields(Evidence)})  # type: ignore[arg-type]
    add_bonuses(candidates, query, evidence, bonuses, k)
    add_factors(candidates, query, factors)
    check(spread_files(candidates, factors.get("further", 1.0)))


# Real searches


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Index]:
    db = tmp_path_factory.mktemp("samples") / "index.db"
    Index.build(db, [SAMPLES / "notes/repo", SAMPLES / "shop/repo"], QUICK)
    with Index.open(db, QUICK) as opened:
        yield opened


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
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
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
    for channel, matches in trace.rankings.items():
        ranks = {c.unit.id: c.channels.get(channel) for c in trace.candidates}
        assert [ranks[match.unit] for match in matches] == list(range(1, len(matches) + 1))
    again = index.search(query, replace(options, limit=1000, offset=0))
    assert [c.order() for c in again.trace.candidates] == [c.order() for c in trace.candidates]
