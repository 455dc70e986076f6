"""knowing's pipeline on small trees, stage by stage: seeds, noise, order, gaps, walk, the composite score, and its account."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from codelens.config import load_weights
from codelens.graph.walk import HitsScores
from codelens.index import Index
from codelens.model.code import UnitRow
from codelens.model.graph import TIERS
from codelens.model.request import SearchOptions
from codelens.model.search import Candidate, Event
from codelens.search.pipeline import rank
from codelens.search.profiles import load_profile
from codelens.search.rankers import Ranking
from codelens.search.rankers.knowing import CompositeWeights, GraphSignals, add_composite, read_around
from codelens.search.run import Profile
from codelens.search.seeds import NOISE, find_noise, put_largest_folder_first
from codelens.store.store import Store
from tests.search.trees import QUICK, STORE, Tree, ask_one, checked, find, functions, names
from tests.search.units import unit
from tests.writable import writable

QUERY = "write a journal entry"


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Tree:
    made = Tree(tmp_path_factory.mktemp("knowing"), STORE)
    made.index().close()
    return made


@pytest.fixture(scope="module")
def index(tree: Tree) -> Iterator[Index]:
    with Index.open(tree.db, QUICK) as opened:
        yield opened


def ranked(db: Path, query: str, profile: str = "knowing", **sections: Mapping[str, Any]) -> Ranking:
    """One search by the profile with other settings of some stages."""
    options = SearchOptions(profile=profile)
    changed = load_profile(options)
    for section, values in sections.items():
        changed = with_section(changed, section, **values)
    return ranked_by(db, query, options, changed)


def with_section(profile: Profile, section: str, **values: Any) -> Profile:
    """Other settings of one stage."""
    changed = {**profile.composite[section], **values}
    return replace(profile, composite={**profile.composite, section: changed})


def ranked_by(db: Path, query: str, options: SearchOptions, profile: Profile) -> Ranking:
    with Store.read(db) as store, store.reading():
        return rank(query, store, options, QUICK, profile)


def parts(candidate: Candidate) -> dict[str, float]:
    return {c.source: c.amount for c in candidate.contributions}


def seeds_of(ranking: Ranking) -> list[str]:
    """Names of the candidates that the query itself led to, by name."""
    return sorted(c.unit.qualified_name for c in ranking.candidates if "0 hops" in reason(c, "distance"))


def reason(candidate: Candidate, source: str) -> str:
    return next(c.reason for c in candidate.contributions if c.source == source)


def events(ranking: Ranking, stage: str) -> dict[str, str]:
    return {e.unit.qualified_name: e.text for e in ranking.run.trace.events if e.stage == stage}


# Noise


@pytest.mark.parametrize(
    ("changes", "said", "expected"),
    [
        ({"roles": frozenset({"vendored"})}, "", "vendored code"),
        ({"roles": frozenset({"generated"})}, "", "generated code"),
        ({"path": "web/dist/app.js"}, "", "a build path"),
        ({"path": "src/distance/app.js"}, "", ""),
        ({"path": "jquery.min.js"}, "", "a minified path"),
        ({"path": "tests/conftest.py"}, "", "a fixture path"),
        ({"path": "src/testutil/clock.go"}, "", "a fixture path"),
        ({"container": "fakeClient"}, "", "its name says fake"),
        ({"container": "fakeClient"}, "mock the client", ""),
        ({"name": "stubbornness"}, "", ""),
        ({"name": "fn"}, "", "a name of 2 letters"),
        ({"name": "fn"}, "what is fn", ""),
        ({"name": "IP"}, "", ""),
        ({"roles": frozenset({"vendored"})}, "vendored copy", ""),
    ],
)
def test_noise_is_known_by_roles_paths_and_names(changes: dict[str, Any], said: str, expected: str) -> None:
    row = unit(1, "src/app.py")._replace(**{"name": "load_all", **changes})  # type: ignore[arg-type]
    assert find_noise(row, said.split()) == expected


def test_noise_is_no_seed_and_the_trace_says_so(tree: Tree, index: Index) -> None:
    ranking = ranked(tree.db, QUERY)
    assert events(ranking, NOISE)["MockLedger.post_entry"] == "its name says mock"
    assert "MockLedger.post_entry" not in seeds_of(ranking)
    told = ask_one(index, QUERY, "MockLedger.post_entry", profile="knowing")
    assert told.loss is not None
    assert (told.loss.stage, told.loss.text) == (NOISE, "its name says mock")
    assert "MockLedger.post_entry" in seeds_of(ranked(tree.db, f"{QUERY} of a mock"))


def test_matches_that_are_all_noise_stay(tree: Tree) -> None:
    assert events(ranked(tree.db, "MockLedger"), NOISE) == {}


# Order and number of the seeds


def test_the_largest_folder_goes_first() -> None:
    rows = [unit(n, path) for n, path in enumerate(["a/x.py", "b/x.py", "b/y.py", "c/z.py", "a/y.py"])]
    assert [row.path for row in put_largest_folder_first(rows)] == ["a/x.py", "a/y.py", "b/x.py", "b/y.py", "c/z.py"]
    assert put_largest_folder_first([]) == []


def test_three_channels_weigh_the_same_and_forty_may_be_seeds(tree: Tree, tmp_path: Path) -> None:
    """2 : 2 : 2 by knowing's figures, and .7 for classes that neighbours make; nearness finds, and weighs nothing."""
    trace = ranked(tree.db, QUERY).run.trace
    weights = {"symbol": 2.0, "exact": 2.0, "equivalence": 2.0, "neighbours": 0.7}
    ranks = {n: {m.unit: rank for rank, m in enumerate(trace.rankings[n], start=1)} for n in weights}
    assert trace.fused.keys() == set().union(*ranks.values())
    for one, score in trace.fused.items():
        shares = [weights[n] / 6.7 / (60 + found[one]) for n, found in ranks.items() if one in found]
        assert score == pytest.approx(math.fsum(shares))
    text = "".join(f"class C{n:02}:\n    def token(self):\n        pass\n\n\n" for n in range(60))
    many = Tree(tmp_path, {"a.py": text})
    many.index().close()
    assert len(seeds_of(ranked(many.db, "token", seeds={"seeds": {"0": 100}}))) == 40


@pytest.mark.slow
@pytest.mark.parametrize(
    ("steps", "expected"), [({"0": 15}, 15), ({"0": 15, "30": 20}, 20), ({"0": 15, "999": 20}, 15)]
)
def test_the_number_of_seeds_follows_the_size(tmp_path: Path, steps: dict[str, int], expected: int) -> None:
    tree = Tree(tmp_path, {"widgets.py": functions(40)})
    tree.index().close()
    assert len(seeds_of(ranked(tree.db, "widget", seeds={"seeds": steps}))) == expected
    assert load_weights()["knowing"]["seeds"]["seeds"] == {"0": 15, "10000": 20, "40000": 25}


def test_on_a_dense_graph_types_go_first(tmp_path: Path) -> None:
    text = functions(20) + "class Widget:\n    pass\n\n\nclass WidgetBox:\n    pass\n"
    tree = Tree(tmp_path, {"widgets.py": text})
    tree.index().close()
    few = {"seeds": {"0": 2}}
    assert seeds_of(ranked(tree.db, "widget 0001", seeds={**few, "dense": 10})) == ["Widget", "WidgetBox"]
    assert seeds_of(ranked(tree.db, "widget 0001", seeds=few)) != ["Widget", "WidgetBox"]
    assert load_weights()["knowing"]["seeds"]["dense"] == 40_000


def test_restart_weights_fall_with_the_rank(tree: Tree) -> None:
    still = {"hops": 0, "steps": 0, "faint": 0.0}
    shares = sorted(
        (c.contributions[0].operands["value"] for c in ranked(tree.db, QUERY, walk=still).candidates), reverse=True
    )
    assert shares[0] == 1.0
    assert min(value for value in shares if value >= 0.4) == pytest.approx(0.4, abs=0.011)


def test_what_implements_a_matched_interface_is_a_seed(tmp_path: Path) -> None:
    files = {
        "Codec.java": "package a;\n\ninterface Codec {\n    byte[] encode(String text);\n}\n",
        "Morse.java": "package a;\n\nclass Morse implements Codec {\n    public byte[] encode(String t) { return null; }\n}\n",
    }
    tree = Tree(tmp_path, files)
    tree.index().close()
    one = {"fewest": 0, "seeds": {"0": 1}}
    ranking = ranked(tree.db, "`Codec`", seeds=one)
    morse = next(c for c in ranking.candidates if c.unit.name == "Morse")
    assert reason(morse, "distance") == "0 hops: implements a type among the matches"
    assert "Morse" not in seeds_of(ranked(tree.db, "`Codec`", seeds={**one, "implementors": False}))


def test_where_names_and_words_find_little_nearness_and_likeness_fill_up(tree: Tree, index: Index) -> None:
    assert "Ledger.post_entry" in names(find(index, QUERY, profile="knowing", mode="vector"))
    assert "Ledger.post_entry" in names(find(index, "post_entyr", profile="knowing", mode="fuzzy"))
    options = SearchOptions(profile="knowing", mode="vector")
    assert ranked_by(tree.db, QUERY, options, with_section(load_profile(options), "seeds", fewest=0)).candidates == []


def test_types_where_the_path_is_named_help_the_walk_alone(tmp_path: Path) -> None:
    files = {
        "migrations/base.py": "class Operation:\n    def forwards(self):\n        pass\n",
        "run.py": functions(40, "migration"),
    }
    tree = Tree(tmp_path, files)
    tree.index().close()
    few = {"seeds": {"0": 3}}
    ranking = ranked(tree.db, "migration", seeds=few)
    assert "Operation" not in seeds_of(ranking)
    assert {"Operation", "Operation.forwards"} <= {c.unit.qualified_name for c in ranking.candidates}
    still = ranked(tree.db, "migration", seeds=few, walk={"hops": 0, "steps": 0, "faint": 0.0})
    restarts = {c.unit.name: c.contributions[0].operands["value"] for c in still.candidates}
    assert (restarts["Operation"], max(restarts.values())) == (0.3, 1.0)
    without = ranked(tree.db, "migration", seeds={**few, "paths": 0})
    assert "Operation" not in {c.unit.qualified_name for c in without.candidates}


def test_names_of_callers_lead_to_what_they_call(tmp_path: Path) -> None:
    files = {
        "a.py": "def transitive_callers(x):\n    return x\n\n\ndef handle_blast_radius(x):\n    return transitive_callers(x)\n"
    }
    tree = Tree(tmp_path, files)
    tree.index().close()
    ranking = ranked(tree.db, "blast radius of transitive callers")
    found = ranking.run.trace.rankings["neighbours"]
    assert ('"blast radius" means around transitive_callers', 0.7) in [(m.reason, m.raw_score) for m in found]


# The walk and the score


def test_the_walk_finds_what_no_word_does(tree: Tree) -> None:
    found = {c.unit.qualified_name: c for c in ranked(tree.db, "`post_entry`", seeds={"fewest": 0}).candidates}
    assert (
        reason(found["sync_blocks"], "blast_radius")
        .partition(": ")[2]
        .startswith("reached from Ledger.post_entry, which calls flush_pages, which calls it (authority ")
    )
    assert "parse_form" not in found
    assert parts(found["sync_blocks"])["distance"] == pytest.approx(0.15 / 2)
    assert parts(found["Ledger.post_entry"])["distance"] == pytest.approx(0.15)


def test_edges_are_read_around_the_seeds_up_to_a_number_of_nodes() -> None:
    """Of too many those to which the seeds give most weight; none is asked for twice."""
    rows = {0: [(n, float(n)) for n in range(1, 9)], **{n: [(0, 1.0), (n + 10, 1.0)] for n in range(1, 9)}}
    asked: list[int] = []

    def neighbours(nodes: Sequence[int]) -> dict[int, list[tuple[int, float]]]:
        asked.extend(nodes)
        return {node: rows.get(node, []) for node in nodes}

    assert read_around(neighbours, [0], 3, 4) == {node: rows[node] for node in (0, 8, 7, 6)}
    assert asked == [0, 8, 7, 6]
    assert read_around(neighbours, [0], 2, 1000).keys() == set(range(9))
    assert load_weights()["knowing"]["walk"]["nodes"] == 1000


def test_hops_bound_the_walk(tree: Tree, tmp_path: Path) -> None:
    one = {c.unit.name for c in ranked(tree.db, "`post_entry`", seeds={"fewest": 0}, walk={"hops": 1}).candidates}
    assert "flush_pages" in one
    assert "sync_blocks" not in one
    steps = "".join(f"def step_{n}():\n    return step_{n + 1}()\n\n\n" for n in range(7))
    chain = Tree(tmp_path, {"a.py": steps})
    chain.index().close()
    far = ranked(chain.db, "`step_0`", seeds={"fewest": 0, "seeds": {"0": 1}}, walk={"faint": 0.0}).candidates
    assert {c.unit.name for c in far} == {f"step_{n}" for n in range(5)}, "four, unless said otherwise"


def test_what_only_a_language_server_sees_weighs_less(tmp_path: Path) -> None:
    """Two calls from one function, one of them known from an index of a language server: the mass goes as 1 : 0.3."""
    tree = Tree(
        tmp_path,
        {"a.py": "def start():\n    left()\n    right()\n\n\ndef left():\n    pass\n\n\ndef right():\n    pass\n"},
    )
    tree.index().close()
    with writable(tree.db) as connection:
        connection.execute(
            "UPDATE edges SET tier = ? WHERE target = (SELECT id FROM units WHERE name = 'right')",
            (TIERS["precise"].number,),
        ).fetchall()
    step = {"hops": 1, "steps": 1, "faint": 0.0, "backward": 0.0}
    ranking = ranked(tree.db, "`start`", seeds={"fewest": 0, "seeds": {"0": 1}}, walk=step)
    held = {c.unit.name: ranking.run.trace.nearness[c.unit.id] for c in ranking.candidates}
    assert held["right"] == pytest.approx(0.3 * held["left"])


STAR = "def start():\n" + "".join(f"    ray_{n}()\n" for n in range(250)) + "\n\n"
STAR += "".join(f"def ray_{n}():\n    pass\n\n\n" for n in range(250))


@pytest.fixture(scope="module")
def star(tmp_path_factory: pytest.TempPathFactory) -> Tree:
    """A function that calls 250 others."""
    made = Tree(tmp_path_factory.mktemp("star"), {"a.py": STAR})
    made.index().close()
    return made


def test_faint_units_are_dropped_and_reported(star: Tree) -> None:
    ranking = ranked(star.db, "`start`", seeds={"fewest": 0, "seeds": {"0": 1}})
    lost = events(ranking, "walk")
    assert len(lost) == 250
    assert all(text.endswith("of the walk's most, under 2%") for text in lost.values())
    assert [c.unit.name for c in ranking.candidates] == ["start"]


def test_two_hundred_have_authority_and_hub(star: Tree) -> None:
    ranking = ranked(star.db, "`start`", seeds={"fewest": 0, "seeds": {"0": 1}}, walk={"faint": 0.0})
    assert len(ranking.candidates) == 251
    assert sum("(authority " in reason(c, "blast_radius") for c in ranking.candidates) == 200


@pytest.mark.parametrize(
    ("tier", "confidence"), [("precise", 0.9), ("scope", 0.85), ("literal", 0.7), ("unique", 0.5), ("ambiguous", 0.2)]
)
def test_confidence_is_that_of_the_surest_edge(tier: str, confidence: float, tmp_path: Path) -> None:
    """An index of a language server .9, syntax .85 to .7; a guess changes nothing, for all begin at .5."""
    tree = Tree(tmp_path, {"a.py": "def start():\n    left()\n\n\ndef left():\n    pass\n"})
    tree.index().close()
    with writable(tree.db) as connection:
        connection.execute("UPDATE edges SET tier = ?", (TIERS[tier].number,)).fetchall()
    ranking = ranked(tree.db, "`start` `left`", seeds={"fewest": 0}, walk={"faint": 0.0})
    found = {c.unit.name: parts(c)["confidence"] for c in ranking.candidates}
    assert found == {"start": pytest.approx(0.2 * 0.5), "left": pytest.approx(0.2 * max(0.5, confidence))}


def test_a_container_and_its_members_are_sure_of_each_other(tmp_path: Path) -> None:
    tree = Tree(tmp_path, {"a.py": "class Harbour:\n    def guide(self):\n        pass\n\n\ndef alone():\n    pass\n"})
    tree.index().close()
    ranking = ranked(tree.db, "`Harbour` `guide` `alone`", seeds={"fewest": 0}, walk={"faint": 0.0})
    found = {c.unit.name: parts(c)["confidence"] / 0.2 for c in ranking.candidates}
    assert found == {"Harbour": pytest.approx(0.7), "guide": pytest.approx(0.7), "alone": pytest.approx(0.5)}


def test_the_blast_radius_is_in_hundredths_of_the_most(tree: Tree) -> None:
    values = [c.contributions[0].operands["value"] for c in ranked(tree.db, QUERY).candidates]
    assert max(values) == 1.0
    assert min(values) < 0.5
    assert values == [round(value, 2) for value in values]


def test_the_parts_add_up_as_the_formula_says() -> None:
    weights = load_weights()
    for profile, hits, expected in (
        (
            "knowing",
            HitsScores({1: 0.4}, {1: 0.2}),
            0.35 * 0.5 + 0.20 * 0.8 + 0.15 * 0.3 + 0.15 + 0.25 * 0.4 + 0.10 * 0.2,
        ),
        ("knowing-base", HitsScores({}, {}), 0.40 * 0.5 + 0.25 * 0.8 + 0.20 * 0.3 + 0.15),
    ):
        candidate = Candidate(unit(1, "a.py"))
        add_composite(
            candidate, GraphSignals(0.5, "way", 0.8, "seed 1"), CompositeWeights(**weights[profile]["composite"]), hits
        )
        assert candidate.score == pytest.approx(expected)


@pytest.mark.parametrize(
    ("authority", "hub", "seed", "expected"),
    [
        (0.4, 0.0, "seed 1", {"seed_authority": 0.1}),
        (0.05, 0.1, "seed 1", {}),
        (0.06, 0.11, "seed 1", {"seed_authority": 0.015, "seed_hub": 0.011}),
        (0.4, 0.9, "", {"common_authority": -0.06}),
        (0.2, 0.9, "", {}),
    ],
)
def test_the_table_of_adjustments(authority: float, hub: float, seed: str, expected: dict[str, float]) -> None:
    candidate = Candidate(unit(1, "a.py"))
    weights = CompositeWeights(**load_weights()["knowing"]["composite"])
    add_composite(candidate, GraphSignals(1.0, "way", None, seed), weights, HitsScores({1: authority}, {1: hub}))
    adjusted = {name: value for name, value in parts(candidate).items() if name.endswith(("authority", "hub"))}
    assert adjusted == pytest.approx(expected)


def test_an_authority_that_all_code_uses_loses_where_it_is_no_seed() -> None:
    candidate = Candidate(unit(1, "a.py"))
    weights = CompositeWeights(**load_weights()["knowing"]["composite"])
    add_composite(candidate, GraphSignals(1.0, "way", None, ""), weights, HitsScores({1: 0.6}, {1: 0.9}))
    assert parts(candidate) == pytest.approx(
        {"blast_radius": 0.35, "confidence": 0.1, "recency": 0.045, "distance": 0.075, "common_authority": -0.09}
    )


def test_tests_count_less_unless_the_query_asks_for_tests(index: Index) -> None:
    def factors(query: str) -> list[float]:
        hits = find(index, query, profile="knowing").hits
        test = next(h for h in hits if h.unit.name == "test_post_entry")
        return [c.operands["factor"] for c in test.contributions if c.rule == "factor"]

    assert factors("journal post_entry") == [0.3]
    assert factors("journal post_entry tests") == []


@pytest.mark.parametrize("profile", ["knowing", "knowing-base"])
@pytest.mark.parametrize("query", [QUERY, "`post_entry`", '"flush_pages"', "lang:python entry", "zzzz", "kind:class"])
def test_every_sum_is_recomputed(index: Index, profile: str, query: str) -> None:
    why = checked(index, query, profile=profile)
    sources = {part["source"] for e in why["explanations"] for part in e["candidate"]["contributions"]}
    plain = {"blast_radius", "confidence", "recency", "distance", "test"}
    assert sources <= plain | ({"seed_authority", "common_authority", "seed_hub"} if profile == "knowing" else set())


def test_a_quoted_text_is_found_wherever_the_walk_goes(index: Index) -> None:
    """A quoted text finds everything that contains it, whether or not the walk reaches it."""
    everywhere = {h.unit.id for h in find(index, '"entry"', limit=1000).hits}
    assert {h.unit.id for h in find(index, '"entry"', limit=1000, profile="knowing").hits} == everywhere


def test_filters_hold_for_what_the_walk_finds(index: Index) -> None:
    found = find(index, f"{QUERY} path:store/ledger.py", profile="knowing")
    assert {h.unit.path for h in found.hits} == {"store/ledger.py"}


def test_the_target_of_an_own_class_is_first_after_the_walk(tmp_path: Path) -> None:
    own = tmp_path / "classes.toml"
    own.write_text("[forms]\nphrases = 'journal entry'\ntargets = 'parse_form'\n")
    tree = Tree(tmp_path / "t", STORE, replace(QUICK, classes=str(own)))
    with tree.index() as index:
        assert names(find(index, QUERY, profile="knowing"))[0] == "parse_form"


def test_the_walk_can_be_left_out(index: Index) -> None:
    found = find(index, "`post_entry`", profile="knowing", expand="none")
    assert "sync_blocks" not in names(found)
    assert found.hits


@pytest.mark.slow
@pytest.mark.parametrize("profile", ["knowing", "knowing-base", "graph-memory"])
def test_without_edges_there_is_an_answer_and_a_note(tmp_path: Path, profile: str) -> None:
    tree = Tree(tmp_path, STORE)
    tree.index().close()
    with writable(tree.db) as connection:
        connection.execute("DELETE FROM edges").fetchall()
        connection.execute("UPDATE documents SET linked = ''").fetchall()
    with Index.open(tree.db, QUICK) as index:
        found = find(index, QUERY, profile=profile)
        assert found.hits
        assert "no-edges" in {notice.code for notice in found.notices}
        assert "no-edges" not in {notice.code for notice in find(index, QUERY).notices}


def test_scores_do_not_depend_on_the_limit(index: Index) -> None:
    whole = find(index, QUERY, profile="knowing", limit=100).hits
    assert [(h.unit.id, h.score) for h in find(index, QUERY, profile="knowing", limit=3).hits] == [
        (h.unit.id, h.score) for h in whole[:3]
    ]
    assert all(h.score == math.fsum(c.amount for c in h.contributions) for h in whole)


@pytest.mark.slow
def test_an_index_s_history_changes_nothing(tmp_path: Path, index: Index) -> None:
    """Other ids for the same units: the files came one by one, last first."""
    tree = Tree(tmp_path)
    for path in sorted(STORE, reverse=True):
        tree.write({path: STORE[path]})
        tree.index().close()
    with tree.index() as other:
        for profile in ("knowing", "graph-memory"):
            one, two = (find(i, QUERY, profile=profile, limit=100).hits for i in (index, other))
            assert [(h.unit.qualified_name, h.contributions) for h in one] == [
                (h.unit.qualified_name, h.contributions) for h in two
            ]


def test_each_lost_match_has_one_event(tree: Tree) -> None:
    ranking = ranked(tree.db, QUERY)
    shown = {c.unit.id for c in ranking.candidates}
    told: list[Event] = ranking.run.trace.events
    rows: list[UnitRow] = [e.unit for e in told if e.stage != NOISE]
    assert len({row.id for row in rows}) == len(rows)
    assert not shown & {row.id for row in rows}


def test_what_lost_its_seat_to_the_largest_folder_says_so(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {f"port/quay{n}.py": f"def moor_boat_{n}():\n    pass\n" for n in range(4)}
    files["alone.py"] = "def moor_boat():\n    pass\n"
    tree = Tree(tmp_path, files)
    tree.index().close()
    ranking = ranked(tree.db, "moor boat", seeds={"fewest": 0, "seeds": {"0": 2}})
    lost = {e.unit.name: (e.stage, e.text) for e in ranking.run.trace.events}
    assert lost["moor_boat"] == (
        "focus",
        "number 1 of the matches, and number 5 once those in the folder with the most matches go first; 2 are seeds; "
        "and the walk does not reach it",
    )
    assert lost["moor_boat_3"][0] == "seeds"


def test_code_that_documents_quote_takes_no_seat_among_seeds(tmp_path: Path) -> None:
    guide = "# Harbour\n\n" + "".join(
        f"```python\nclass HarbourPilot{n}:\n    def guide_harbour(self):\n        pass\n```\n\n" for n in range(30)
    )
    files: dict[str, str | bytes] = {
        "docs/harbour.md": guide,
        "src/harbour.py": "class Harbour:\n    def guide_harbour(self, boat):\n        return boat\n",
    }
    tree = Tree(tmp_path, files)
    tree.index().close()
    found = ranked(tree.db, "guide a boat into the harbour")
    assert found.candidates[0].unit.path == "src/harbour.py"
    assert not any(c.unit.is_quoted for c in found.candidates[:2])
