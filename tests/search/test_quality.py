"""The marketplace's seven signals, against its own arithmetic done by hand, and where each signal of code is from."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from codelens.config import load_weights
from codelens.index import Index
from codelens.model.code import UnitId
from codelens.model.memory import FILE, Feedback, Place
from codelens.model.request import SearchOptions
from codelens.model.search import Match, Trace
from codelens.render.why_json import RULES
from codelens.search.fuse import fuse_rankings
from codelens.search.rankers.marketplace import UnitQuality, weigh_quality
from codelens.search.recency import ExplainedValue as Signal
from codelens.server.http.answers import build_response_record
from codelens.store.records import Memory
from codelens.worktree.place import locate_memory
from tests.render import results
from tests.search.trees import QUICK, Tree, ask, ask_one, checked, find, names
from tests.search.units import order
from tests.worktree.git_history import DAY, START, Past

WEIGHTS = load_weights()["marketplace"]["quality"]
UNITS = {UnitId(i): results.unit(i, f"skill_{i}", f"skills/{i}.py") for i in range(1, 6)}
BOTH = {"exact": 1.0, "vector": 1.0}


def matches(*units: int) -> list[Match]:
    return [Match(UnitId(unit), 1.0, "found") for unit in units]


def ranked(
    rankings: Mapping[str, list[Match]], standings: Mapping[int, UnitQuality] = {}, **weights: float
) -> dict[str, dict[str, float]]:
    """Name → its parts by source, with their sum as "score"; best first. Each part is what its rule and operands make."""
    known = {UnitId(unit): standing for unit, standing in standings.items()}
    found = fuse_rankings(rankings, BOTH, 60, UNITS)
    if "vector" in rankings:
        found = weigh_quality(found, {**WEIGHTS, **weights}, lambda units: known, Trace())
    for candidate in found:
        for part in candidate.contributions:
            assert RULES[part.rule](part.operands) == pytest.approx(part.amount, abs=1e-15)
    ordered = sorted(found, key=order)
    return {c.unit.name: {p.source: p.amount for p in c.contributions} | {"score": c.score} for c in ordered}


def test_the_weights_are_the_marketplaces() -> None:
    """A unit that is best by every signal gets each signal's whole share, which together are 1."""
    best = UnitQuality(
        rating=Signal(10, ""),
        stars=Signal(9, ""),
        uses=Signal(9, ""),
        success=Signal(1, ""),
        days=Signal(0, ""),
        pinned=True,
    )
    found = ranked({"vector": matches(1, 2), "exact": matches(1, 2)}, {1: best})
    shares = {"rating": 0.15, "stars": 0.10, "usage": 0.08, "success": 0.07, "recency": 0.05, "favorite": 0.05}
    assert found["skill_1"] == pytest.approx({"exact": 0.25, "vector": 0.25, **shares, "score": 1.0})


def test_fused_ranks_are_normalised_by_the_best() -> None:
    """Its own example: rank 1 by meaning and 3 by words, 1/61 + 1/63 = .03226."""
    found = ranked({"vector": matches(1, 2, 3), "exact": matches(3, 2, 1)})
    one, two = 1 / 61 + 1 / 63, 2 / 62
    for name, fused in (("skill_1", one), ("skill_2", two), ("skill_3", one)):
        assert found[name]["exact"] + found[name]["vector"] == pytest.approx(0.5 * fused / one)
    assert found["skill_1"]["vector"] == pytest.approx(0.5 * (1 / 61) / one)
    assert found["skill_1"]["exact"] == pytest.approx(0.5 * (1 / 63) / one)
    assert [found[name]["score"] for name in ("skill_1", "skill_3")] == [pytest.approx(0.5 + 0.07 * 0.5)] * 2


def test_all_seven_by_hand() -> None:
    standing = UnitQuality(
        rating=Signal(8.5, ""), stars=Signal(1200, ""), uses=Signal(40, ""), success=Signal(0.75, ""), days=Signal(140, ""),
        pinned=True,
    )  # fmt: skip
    other = UnitQuality(stars=Signal(50_000, ""), uses=Signal(1000, ""))
    found = ranked({"vector": matches(1, 2), "exact": matches(1, 2)}, {1: standing, 2: other})
    assert found["skill_1"] == {
        "exact": pytest.approx(0.25),
        "vector": pytest.approx(0.25),
        "rating": pytest.approx(0.15 * 0.85),
        "stars": pytest.approx(0.10 * math.log(1201) / math.log(50_001)),
        "usage": pytest.approx(0.08 * math.log(41) / math.log(1001)),
        "success": pytest.approx(0.07 * 0.75),
        "recency": pytest.approx(0.05 * math.exp(-0.7)),
        "favorite": pytest.approx(0.05),
        "score": pytest.approx(0.5 + 0.1275 + 0.0655300 + 0.0430084 + 0.0525 + 0.0248293 + 0.05, abs=1e-6),
    }
    assert found["skill_2"] == {
        "exact": pytest.approx(0.25 * 61 / 62), "vector": pytest.approx(0.25 * 61 / 62), "rating": 0.0,
        "stars": pytest.approx(0.10), "usage": pytest.approx(0.08), "success": pytest.approx(0.035), "recency": 0.0,
        "favorite": 0.0, "score": pytest.approx(0.5 * 61 / 62 + 0.215),
    }  # fmt: skip


def test_where_nobody_has_stars_they_give_nothing() -> None:
    found = ranked({"vector": matches(1), "exact": []}, {1: UnitQuality(stars=Signal(0, ""), uses=Signal(0, ""))})
    assert (found["skill_1"]["stars"], found["skill_1"]["usage"]) == (0.0, 0.0)


def test_only_the_best_of_the_fusion_are_weighed() -> None:
    trace = Trace()
    rankings = {"vector": matches(1, 2, 3, 4, 5), "exact": matches(5)}
    found = weigh_quality(fuse_rankings(rankings, BOTH, 60, UNITS), {**WEIGHTS, "pool": 2}, lambda units: {}, trace)
    assert [c.unit.name for c in found] == ["skill_5", "skill_1"]
    assert [(e.stage, e.unit.name, e.text) for e in trace.events] == [
        ("pool", f"skill_{unit}", f"its ranks put it at place {place}, and the best 2 are weighed")
        for place, unit in ((3, 2), (4, 3), (5, 4))
    ]


def test_without_vectors_the_score_is_the_rank_alone() -> None:
    found = ranked({"exact": matches(2, 1)}, {1: UnitQuality(pinned=True)})
    assert found == {"skill_2": {"exact": 1 / 61, "score": 1 / 61}, "skill_1": {"exact": 1 / 62, "score": 1 / 62}}


# On an index

FILES = {
    "store/parse.py": '''\
def parse_form(text):
    """Deploy a form."""
    return text


def other(text):
    return text
''',
    "store/serve.py": "from store.parse import parse_form\n\n\ndef serve_form(text):\n    return parse_form(text)\n",
    "web/send.py": "from store.parse import parse_form\n\n\ndef send(text):\n    return parse_form(text)\n",
    "web/late.py": "def late_form():\n    return 1\n",
}
NEW_YEAR = 1_577_836_800  # 2020-01-01 in unix seconds
ROWS = [
    {"path": "store", "category": "cli", "stars": 10, "installs": 5, "is_paid": False},
    {"path": "web/late.py", "category": "web", "stars": 1000, "rating": 9, "updated": "2020-01-01"},
]


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Tree:
    tree = Tree(tmp_path_factory.mktemp("quality"), {}, replace(QUICK, memory=True))
    past = Past(tree.root)
    past.commit({path: text for path, text in FILES.items() if path != "web/late.py"})
    past.commit({"web/late.py": FILES["web/late.py"]}, after=10 * DAY)
    tree.index().close()
    return tree


@pytest.fixture
def index(tree: Tree) -> Iterator[Index]:
    with Index.open(tree.db, tree.settings) as opened:
        yield opened


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "table.json"
    path.write_text(json.dumps(ROWS))
    return path


def parts(index: Index, query: str, name: str, **options: object) -> dict[str, tuple[float, str]]:
    """Source → (amount, reason)."""
    candidate = ask_one(index, query, name, profile="marketplace", limit=100, **options).candidate
    assert candidate is not None
    return {part.source: (part.amount, part.reason) for part in candidate.contributions}


def test_signals_of_code(index: Index) -> None:
    """No table and no memory: stars are other files that use it, its age is git's."""
    found = parts(index, "form", "parse_form")
    assert found["stars"] == (pytest.approx(0.10), "connected with 2 other files, not counting tests; 2 at most")
    assert found["recency"] == (pytest.approx(0.05 * math.exp(-0.05)), "changed 10 days before the indexed commit")
    assert parts(index, "form", "late_form")["recency"][0] == pytest.approx(0.05)
    assert found["success"][0] == pytest.approx(0.035)
    assert (found["rating"][0], found["usage"][0], found["favorite"][0]) == (0.0, 0.0, 0.0)
    checked(index, "form", profile="marketplace")
    checked(index, "form", "parse_form", "late_form", profile="marketplace")


def test_signals_of_memory(tree: Tree, index: Index) -> None:
    place = Place("tree", "store/parse.py", "parse_form", "function")
    with Memory.open_for_writing(locate_memory(tree.db)) as memory:
        memory.rate_place(place, 8.0, 1)
        memory.pin_place(Place("tree", "web/late.py", "", FILE), 1)
        memory.count_use(place, 1)
        memory.add_judgement(place, Feedback(True, "d", query="form"), 1)
        memory.add_judgement(place, Feedback(False, "d", query="form"), 2)
        memory.add_judgement(place, Feedback(True, "d", query="form"), 3)
    found = parts(index, "form", "parse_form", memory=True)
    assert found["rating"] == (pytest.approx(0.12), "you rated it 8 of 10")
    assert found["usage"] == (pytest.approx(0.08), "used 1 time; 1 at most")
    assert found["success"] == (pytest.approx(0.07 * 2 / 3), "useful 2 of 3 times")
    assert found["favorite"] == (0.0, "not pinned")
    assert parts(index, "form", "late_form", memory=True)["favorite"] == (pytest.approx(0.05), "pinned")
    checked(index, "form", profile="marketplace", memory=True)
    assert parts(index, "form", "parse_form")["rating"][0] == 0.0, "memory is off"


def test_signals_of_a_table(tree: Tree, table: Path) -> None:
    with Index.open(tree.db, replace(tree.settings, metadata=str(table))) as index:
        found = parts(index, "form", "late_form")
        assert found["stars"] == (pytest.approx(0.10), "1000 stars; 1000 at most")
        assert found["rating"] == (pytest.approx(0.135), "rated 9 of 10")
        assert found["usage"] == (0.0, "0 installs; 5 at most")
        assert parts(index, "form", "parse_form")["stars"][0] == pytest.approx(0.1 * math.log(11) / math.log(1001))
        assert parts(index, "form", "send")["stars"] == (0.0, "0 stars; 1000 at most"), "no row speaks of it"
        days = (START + 11 * DAY - NEW_YEAR) / DAY
        assert found["recency"][0] == pytest.approx(0.05 * math.exp(-0.005 * days))
        late = parts(index, "form", "late_form", now=NEW_YEAR + 140 * DAY)["recency"]
        assert late == (pytest.approx(0.05 * math.exp(-0.7)), "changed 140 days before the time of --now")
        checked(index, "form", profile="marketplace")
        result = find(index, "late form", profile="marketplace")
    record = build_response_record(result, 0)
    first = record["results"][0]
    assert (first["name"], first["category"], first["avg_rating"], first["install_count"]) == (
        "late_form",
        "web",
        9,
        None,
    )
    assert first["final_score"] == result.hits[0].score
    assert first["rrf_score"] == pytest.approx(1 / (60 + first["keyword_rank"]) + 1 / (60 + first["semantic_rank"]))
    assert record["results"][1]["install_count"] == 5


@pytest.mark.parametrize(
    ("meta", "files"),
    [
        (("category=cli",), {"store/parse.py", "store/serve.py"}),
        (("category=cli,web",), {"store/parse.py", "store/serve.py", "web/late.py"}),
        (("CATEGORY=Web",), {"web/late.py"}),
        (("stars>=10", "stars<1000"), {"store/parse.py", "store/serve.py"}),
        (("rating>8.5",), {"web/late.py"}),
        (("is_paid=false",), {"store/parse.py", "store/serve.py"}),
        (("updated<2021-01-01",), {"web/late.py"}),
        (("updated>2021-01-01",), set()),
        (("category!=cli",), {"web/late.py"}),
    ],
)
def test_metadata_filters_before_anything_is_ranked(
    meta: tuple[str, ...], files: set[str], tree: Tree, table: Path
) -> None:
    with Index.open(tree.db, replace(tree.settings, metadata=str(table))) as index:
        for profile in ("codelens", "marketplace"):
            by_flag = find(index, "form text", meta=meta, profile=profile, limit=100)
            assert {hit.unit.path for hit in by_flag.hits} == files
            said = " ".join(f'meta:"{one}"' if "," not in one else f"meta:{one}" for one in meta)
            by_query = find(index, f"form text {said}", profile=profile, limit=100)
            assert {h.unit.id for h in by_query.hits} == {h.unit.id for h in by_flag.hits}
            assert all(match.unit in {h.unit.id for h in by_flag.hits} for match in by_flag.trace.rankings["exact"])


def test_negated_and_alternative_metadata(tree: Tree, table: Path) -> None:
    with Index.open(tree.db, replace(tree.settings, metadata=str(table))) as index:
        assert {h.unit.path for h in find(index, "form -meta:category=cli").hits} == {"web/late.py", "web/send.py"}
        either = find(index, "form (meta:category=web OR path:send)").hits
        assert {h.unit.path for h in either} == {"web/late.py", "web/send.py"}
        loss = ask_one(index, "form meta:category=cli", "late_form").loss
        assert loss is not None and (loss.stage, loss.remedy_query) == ("filtered", "form")
        loss = ask_one(index, "form", "late_form", meta=("category=cli",)).loss
        assert loss is not None and "meta:category=cli does not hold" in loss.text


def test_metadata_without_such_a_column_gives_a_notice(index: Index, tree: Tree, table: Path) -> None:
    assert [n.text for n in find(index, "form meta:category=cli").notices] == [
        "no metadata has 'category'; name a file: --metadata FILE"
    ]
    with Index.open(tree.db, replace(tree.settings, metadata=str(table))) as other:
        result = find(other, "form meta:categry=cli")
        assert names(result) == []
        assert [n.text for n in result.notices] == [
            "no metadata has 'categry'; it has category, installs, is_paid, rating, stars, updated"
        ]
    prose = find(index, "meta: what is a meta:class")
    assert [n.code for n in prose.notices] == ["value", "value", "unknown-words"]


def test_a_notice_says_that_vectors_were_missing(index: Index) -> None:
    result = find(index, "form text", profile="marketplace", mode="exact")
    assert [hit.score for hit in result.hits] == [1 / (60 + rank) for rank in range(1, len(result.hits) + 1)]
    assert [n.code for n in result.notices] == ["words-alone"]
    checked(index, "form text", profile="marketplace", mode="exact")
    assert find(index, "form", profile="marketplace", mode="vector").hits


def test_the_limit_changes_no_score(index: Index) -> None:
    many, few = (find(index, "form text", profile="marketplace", limit=n).hits for n in (100, 2))
    assert [(h.unit.id, h.score) for h in many[:2]] == [(h.unit.id, h.score) for h in few]


def test_words_are_beginnings_and_short_forms(index: Index) -> None:
    tiers = ask(index, "the dep db", profile="marketplace").search.trace.terms
    assert tiers == [
        ("prefix", "dep*", "dep"),
        ("prefix", "db*", "db"),
        ("abbreviation", "dependencies*", "dep ~ dependencies"),
        ("abbreviation", "dependency*", "dep ~ dependency"),
        ("abbreviation", "database*", "db ~ database"),
    ]
    assert names(find(index, "dep", profile="marketplace", mode="exact")) == ["parse_form"]
    assert names(find(index, "dep", mode="exact")) == []


def test_a_name_weighs_more_than_its_documentation_and_that_more_than_the_rest(tmp_path: Path) -> None:
    weights = {column: weight for column, weight in load_weights()["marketplace"]["fields"].items() if weight}
    assert weights == {"name": 10.0, "doc": 5.0, "signature": 1.0, "body": 1.0}
    files = {
        "a.py": "def held():\n    barge = 1\n",
        "b.py": 'def told():\n    "Barge."\n',
        "c.py": "def barge():\n    pass\n",
    }
    with Tree(tmp_path, files).index() as index:
        assert names(find(index, "barge", profile="marketplace", mode="exact")) == ["barge", "told", "held"]


def test_both_channels_down_is_an_error_and_an_empty_answer(large: Path) -> None:
    """No time at all ends the words, and the mode leaves out the vectors."""
    with Index.open(large / ".codelens/index.db", replace(QUICK, query_seconds=1e-9)) as index:
        result = index.search("widget", SearchOptions(profile="marketplace", mode="exact"))
    assert (result.hits, result.failed) == ((), True)
    assert [n.code for n in result.notices] == ["nothing-asked", "out-of-time"]
    record = build_response_record(result, 2)
    assert (record["results"], record["count"]) == ([], 0)
    assert record["error"] == "neither words nor vectors could be searched: the result is empty"
