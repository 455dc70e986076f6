"""The sentences of `why`, compared with the tree by rules that use nothing of the ranking."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from codelens.index import Index
from codelens.search.features import FEATURES
from tests.commands import SAMPLES
from tests.search.trees import QUICK
from tools.bench.recheck import make_queries
from tools.bench.remedies import try_remedies
from tools.bench.sentences import RULES, Comparison, Hit, Tree, ask, compare, main

pytestmark = pytest.mark.slow

SELDOM = {
    "own_class",
    "quoted",
    "messages",
    "chunk",
    "local",
    "docs",
    "example",
    "vendored",
    "section",
    "scope",
    "resemblance",
    "verbatim",
}
"""Features that the samples' few queries may not show: tests/search/test_features.py has an exact value of each."""


@pytest.fixture(scope="module")
def db(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("samples") / "index.db"
    Index.build(path, [SAMPLES / "shop/repo"], QUICK)
    return path


@pytest.fixture(scope="module")
def index(db: Path) -> Iterator[Index]:
    with Index.open(db, QUICK) as opened:
        yield opened


def test_every_sentence_is_true_of_its_hit(index: Index) -> None:
    questions = [json.loads(line)["query"] for line in (SAMPLES / "shop/queries.jsonl").read_text().splitlines()]
    found = compare(index, [*make_queries(index, 13), *questions])
    assert found.untrue == []
    assert not found.unknown
    assert found.accounts > 500
    assert set(FEATURES) - SELDOM - set(found.compared) == set()


@pytest.mark.parametrize(
    "sentence",
    [
        "is named nobody",
        "the query is its name",
        "has 'no such text' as typed",
        "its name shares ship with the query",
        "a part of the query is 90% of its name",
        "long (99 lines)",
        "long name (4 words)",
        "used by 3 other files, which no rule knows",
        "connected with 900 other files, not counting tests",
        "in tests or benchmarks",
        "struct",
        "the closest in meaning",
        "reached from apply_coupon, which it uses in a test",
    ],
)
def test_a_sentence_that_is_not_true_is_noticed(sentence: str, index: Index) -> None:
    answer = ask(index, "format cash", profile="codelens")
    record = next(one["candidate"] for one in answer["explanations"] if one["candidate"]["name"] == "formatMoney")
    cosines = {("elsewhere", 1, "x"): 2.0, (record["path"], record["start_line"], record["qualified_name"]): 0.1}
    terms = [(t["tier"], t["term"], t["origin"]) for t in answer["terms"]]
    found = Comparison()
    found.add(Hit(record, "format cash", terms, [], cosines, Tree(index)), "feature", sentence)
    assert found.untrue or found.unknown


def test_each_rule_is_one_form() -> None:
    assert len({form for form, _ in RULES}) == len(RULES)


def test_as_a_command(db: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(db), "--queries", "2"]) == 0
    assert " 0 not true\n" in capsys.readouterr().out


def test_suggested_queries_show_lost_targets(index: Index) -> None:
    found = try_remedies(index, 40, seed=3)
    assert len(found.works) > 3, "stages"
    assert len(found.failures) <= 2, found.failures
