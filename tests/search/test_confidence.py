"""How likely a hit is what was asked for: its signs, the floor below which there is no hit, and what says so."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codelens.config import Settings
from codelens.index import Index
from codelens.model.code import UnitRow
from codelens.model.request import SearchOptions
from codelens.model.search import Match, SearchResult
from codelens.render.records import build_search_record, to_json, to_jsonl
from codelens.render.why_json import build_why_record
from codelens.search.confidence import BIAS, FLOOR, SIGNS, estimate_confidence, measure_signs
from codelens.search.evidence import Evidence
from codelens.search.pipeline import MOST_NAMED, rank
from codelens.search.profiles import load_profile
from codelens.search.verbatim import VerbatimMatch
from codelens.store.store import Store
from tests.commands import Run
from tests.render.schema import check
from tests.search.trees import QUICK, STORE, Tree, ask, ask_one, find

pytestmark = pytest.mark.usefixtures("plain_environment")

FILES = {
    **STORE,
    "web/basket.py": "class Basket:\n    '''What a customer has chosen.'''\n\n    def add_item(self, item):\n        event(item)\n",
    "web/basket.go": "package basket\n\n// AddItem fills a basket.\nfunc AddItem(item string) error {\n\treturn nil\n}\n",
    "docs/basket.md": "# Basket\n\nThe basket keeps items until they are paid.\n\n## Totals\n\nThe grand total of a basket.\n",
}
NOTHING = "eviction"  # No unit has the word or a part of it; the nearest vectors exist all the same
QUERIES = (
    "journal entry",
    "ledger",
    "kubernetes ledger",
    "Basket.add_item",
    "add item",
    "grand totl",
    "flush pages",
    NOTHING,
)
SHIPPED = load_profile(SearchOptions()).confidence


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Tree:
    made = Tree(tmp_path_factory.mktemp("confidence"), FILES)
    made.index().close()
    return made


@pytest.fixture(scope="module")
def index(tree: Tree) -> Iterator[Index]:
    with Index.open(tree.db, QUICK) as opened:
        yield opened


@pytest.fixture(scope="module")
def asked(tree: Tree) -> Iterator[tuple[Evidence, UnitRow]]:
    """The evidence for one query, and one of its candidates."""
    with Store.read(tree.db) as store:
        ranking = rank("journal entry", store, SearchOptions(), QUICK)
        evidence = Evidence(ranking.run, ranking.findings)
        evidence.add_units(candidate.unit for candidate in ranking.candidates)
        yield evidence, ranking.candidates[0].unit


def codes(result: SearchResult) -> list[str]:
    return [notice.code for notice in result.notices]


# The value

SHARE = st.floats(0.0, 1.0)
SET = ("words", "resemblance", "verbatim")  # Signs that the test sets; the others are there or not
VALUES = st.fixed_dictionaries(dict.fromkeys(SET, SHARE))


def say(evidence: Evidence, unit: UnitRow, values: dict[str, float]) -> None:
    """Make this the evidence for the unit."""
    evidence.share_in_file = {unit.document: values["words"]}
    evidence.resemblance = {unit.id: values["resemblance"]}
    evidence.verbatim = {unit.id: VerbatimMatch(values["verbatim"] / 2, "text", False)}


@given(values=VALUES, name=st.sampled_from(SET), more=SHARE)
def test_more_evidence_never_makes_it_less_likely(
    asked: tuple[Evidence, UnitRow], values: dict[str, float], name: str, more: float
) -> None:
    evidence, unit = asked
    say(evidence, unit, values)
    less = estimate_confidence(unit, evidence, SHIPPED)
    found = measure_signs(unit, evidence)
    assert found.keys() == set(SIGNS)
    assert all(0.0 <= value <= 1.0 for value in found.values())
    assert {sign: found[sign] for sign in SET} == pytest.approx(values)
    say(evidence, unit, values | {name: max(values[name], more)})
    assert 0.0 < less <= estimate_confidence(unit, evidence, SHIPPED) < 1.0


def test_every_sign_speaks_for_a_hit() -> None:
    assert SHIPPED.keys() == {BIAS, FLOOR, *SIGNS}
    assert min(SHIPPED[sign] for sign in SIGNS) > 0 > SHIPPED[BIAS]
    assert 1 / (1 + math.exp(-SHIPPED[BIAS])) < SHIPPED[FLOOR] < 0.5, "without any sign it is below the floor"


@given(weights=st.fixed_dictionaries({name: st.floats(-20.0, 20.0) for name in (BIAS, *SIGNS)}))
def test_it_is_a_probability_whatever_the_weights(asked: tuple[Evidence, UnitRow], weights: dict[str, float]) -> None:
    assert 0.0 <= estimate_confidence(asked[1], asked[0], weights) <= 1.0


def test_signs_of_names_parts_and_classes_are_measured(asked: tuple[Evidence, UnitRow]) -> None:
    evidence, unit = asked
    assert unit.qualified_name == "Ledger.post_entry"
    evidence.parts, evidence.concepts = [], {}
    told = measure_signs(unit, evidence)
    assert (told["named"], told["part"], told["instead"]) == (0.0, 0.0, 0.0)
    evidence.parts = ["stentr", "ost", "nothere"]
    assert measure_signs(unit, evidence)["part"] == 6 / 9
    evidence.concepts = {unit.id: Match(unit.id, 1.0, "")}
    assert measure_signs(unit, evidence)["instead"] == 1.0
    assert measure_signs(unit, evidence) == {**told, "part": 6 / 9, "instead": 1.0}


def test_a_name_is_nearly_certain_and_nothing_found_is_not(index: Index) -> None:
    best = find(index, "Basket").hits[0]
    assert best.unit.qualified_name == "Basket"
    assert best.confidence == max(hit.confidence or 0.0 for hit in find(index, "Basket", limit=100).hits)
    least = min(hit.confidence or 0.0 for hit in find(index, NOTHING, min_score=0.0).hits)
    assert (best.confidence or 0.0) > 4 * least


# The floor


@pytest.mark.parametrize("query", QUERIES)
def test_below_the_floor_of_confidence_there_are_no_hits(index: Index, query: str) -> None:
    everything = find(index, query, limit=100, min_score=0.0)
    kept = find(index, query, limit=100)
    likely = any((hit.confidence or 0.0) >= SHIPPED[FLOOR] for hit in everything.hits)
    assert kept.hits == (everything.hits if likely else ())
    assert ("nothing-likely" in codes(kept)) is not likely
    assert "nothing-likely" not in codes(everything)
    assert likely is (query != NOTHING)


def test_one_likely_hit_keeps_unlikely_ones_below_it(index: Index) -> None:
    """Who scrolls has seen the best; only a list without any is a pretence."""
    kept = find(index, "ledger", limit=100).hits
    assert min(hit.confidence or 0.0 for hit in kept) < SHIPPED[FLOOR] <= (kept[0].confidence or 0.0)


@pytest.mark.parametrize(
    "options", [{"mode": "vector"}, {"profile": "rrf"}, {"min_score": 0.0}, {"expand": "bfs", "min_score": 0.0}]
)
def test_a_minimum_of_0_shows_the_nearest_hits(index: Index, options: dict[str, Any]) -> None:
    result = find(index, NOTHING, **options)
    assert result.hits
    assert "nothing-likely" not in codes(result)


def test_the_floor_spares_what_satisfies_conditions(index: Index) -> None:
    for query in ("kind:class", "lang:go", f'{NOTHING} "grand total"', f"{NOTHING} /grand.total/"):
        assert find(index, query).hits, query
    assert not find(index, f"{NOTHING} lang:py").hits


@pytest.mark.parametrize("least", [0.05, 0.1, 0.3, 0.9, 1.0])
def test_the_minimum_score_compares_with_the_confidence(index: Index, least: float) -> None:
    for query in QUERIES:
        everything = find(index, query, limit=100, min_score=0.0).hits
        kept = find(index, query, limit=100, min_score=least).hits
        assert [hit.unit for hit in kept] == [h.unit for h in everything if (h.confidence or 0.0) >= least]


# What says so


def test_a_notice_names_the_command_that_shows_the_nearest(index: Index, tree: Tree, run: Run) -> None:
    result = find(index, NOTHING)
    many = len(find(index, NOTHING, min_score=0.0, limit=100).hits)
    assert [notice.text for notice in result.notices] == [
        f"'{NOTHING}' does not occur in this index as a word",
        f"no hit is likely to be relevant; --min-score 0 shows the nearest {many}",
    ]
    ran = run("search", "--db", str(tree.db), NOTHING, cwd=tree.root)
    assert (ran.code, ran.out) == (1, "")
    assert "note: no hit is likely to be relevant; --min-score 0 shows" in ran.err
    ran = run("search", "--db", str(tree.db), NOTHING, "--min-score", "0", "-m", "100", cwd=tree.root)
    assert (ran.code, "likely" in ran.err) == (0, False)
    assert len(ran.out.splitlines()) == many


def test_why_names_the_stage_and_a_remedy_that_works(index: Index) -> None:
    for candidate in find(index, NOTHING, min_score=0.0).hits:
        loss = ask_one(index, NOTHING, f"{candidate.unit.path}:{candidate.unit.start_line}").loss
        assert loss is not None
        assert (loss.stage, loss.text[:17]) == ("below minimum", "its confidence is")
        least = float(loss.remedy.removeprefix("--min-score ").removesuffix(" or less"))
        assert 0.0 < least <= (candidate.confidence or 0.0)
        assert candidate.unit in [hit.unit for hit in find(index, NOTHING, min_score=least, limit=100).hits]


def test_unknown_words_are_named(index: Index) -> None:
    def said(query: str) -> str:
        return next((n.text for n in find(index, query).notices if n.code == "unknown-words"), "")

    assert said("ledger") == said("journal entries") == said("kind:class") == said("AddItem") == ""
    assert said("kubernetes ledger") == "'kubernetes' does not occur in this index as a word"
    assert said("Kubernetes pod ledger") == "'Kubernetes', 'pod' do not occur in this index as a word"
    assert said("journl entry") == "'journl' (read as journal) does not occur in this index as a word"
    words = [f"zebra{letter}" for letter in "abcdefgh"]
    named = ", ".join(f"'{word}'" for word in words[:MOST_NAMED])
    assert said(" ".join(words)) == f"{named} and {8 - MOST_NAMED} other words do not occur in this index as a word"


@pytest.mark.parametrize("options", [{"literal": True}, {"regex": True}, {"like": "Ledger"}])
def test_no_words_are_named_where_none_were_looked_for(index: Index, options: dict[str, Any]) -> None:
    query = "" if "like" in options else "kubernetes"
    assert "unknown-words" not in codes(find(index, query, **options))


# JSON


@pytest.mark.slow
@pytest.mark.parametrize("profile", ["codelens", "rrf", "knowing", "graph-memory", "marketplace"])
def test_json_has_the_confidence_of_hits_that_have_one(index: Index, profile: str) -> None:
    result = find(index, "journal entry", profile=profile)
    assert result.hits
    record = json.loads(to_json(build_search_record(result, 0)))
    check(record, "search")
    given = [hit.get("confidence") for hit in record["results"]]
    assert given == [None if hit.confidence is None else round(hit.confidence, 6) for hit in result.hits]
    assert all((one is not None) is (profile == "codelens") for one in given)
    for line in "".join(to_jsonl("hit", "results", build_search_record(result, 0))).splitlines()[:-1]:
        check(json.loads(line), "jsonl_hit")
        assert ("confidence" in json.loads(line)) is (profile == "codelens")
    why = json.loads(to_json(build_why_record(ask(index, "journal entry", "Ledger.post_entry", profile=profile), 0)))
    check(why, "why")
    assert ("confidence" in why["explanations"][0]["candidate"]) is (profile == "codelens")


def test_a_search_for_likeness_gives_no_confidence(index: Index) -> None:
    hits = find(index, "", like="Ledger", profile="likeness").hits
    assert hits
    assert all(hit.confidence is None for hit in hits)


@pytest.mark.slow
def test_it_is_the_same_each_time(tree: Tree, tmp_path: Path) -> None:
    other = Tree(tmp_path)
    for path in reversed(FILES):
        other.write({path: FILES[path]})
        other.index().close()
    for query in QUERIES:
        with Index.open(tree.db, QUICK) as one, Index.open(other.db, QUICK) as two:
            first, second = (find(index, query, min_score=0.0).hits for index in (one, two))
        assert [(hit.unit.qualified_name, hit.confidence) for hit in first] == [
            (hit.unit.qualified_name, hit.confidence) for hit in second
        ]


def test_what_is_near_in_meaning_is_shown_though_no_word_occurs(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {
        "app/login.py": '"""Login of users."""\n\n\ndef login(user, password):\n'
        '    """Check the password and open a session."""\n'
        "    return start_session(user) if verify_password(user, password) else None\n\n\n"
        "def verify_password(user, password):\n    return user.hash == hash(password)\n",
        "app/tokens.py": 'def verify_jwt(token, key):\n    """Check the signature and the expiry of a token."""\n'
        '    return token.split(".")[2] == key\n',
        "app/cart.py": "class Cart:\n    def total(self):\n        return sum(i.price for i in self.items)\n",
    }
    tree = Tree(tmp_path, files, Settings(jobs=1))
    with tree.index() as index:
        result = index.search("authentication flow", SearchOptions())
        assert "login" in [hit.unit.name for hit in result.hits]
        assert not index.search("harbour pilots", SearchOptions()).hits
