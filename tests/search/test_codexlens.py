"""CodexLens' search by its own figures: whole words, parts of words and vectors, fused by ranks, and channels without weight."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from pathlib import Path

import pytest

from codelens.config import load_weights
from codelens.errors import UsageError
from codelens.index import Index
from codelens.model.request import SearchOptions
from codelens.search.profiles import load_profile
from codelens.search.retrieve import MODES
from tests.commands import SAMPLES, Run
from tests.search.trees import QUICK, Tree, checked, find, names

CHANNELS = {"exact": 0.4, "fuzzy": 0.3, "vector": 0.3}
GATE = """\
class Gate:
    def open_sluice(self, keeper):
        self.water_level = keeper.measured("at the weir")

    def redirects(self):
        return "the boat goes elsewhere"


def redirecting(boat):
    return boat.turned


def turn(boat):
    redirects(boat)
    log("redirecting")


def cautious_keeper(gate):
    return gate.keeper::cautious(gate)


def login_form():
    return authenticate


def login():
    return "authorised"


def form():
    return 1


def calm():
    act  =  calmly
"""


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Index]:
    tree = Tree(
        tmp_path_factory.mktemp("gate"), {"gate.py": GATE, "test_gate.py": "def test_redirected():\n    pass\n"}
    )
    with tree.index() as opened:
        yield opened


@pytest.fixture(scope="module")
def samples(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Index]:
    db = tmp_path_factory.mktemp("samples") / "index.db"
    Index.build(db, [SAMPLES / "notes/repo", SAMPLES / "shop/repo"], QUICK)
    with Index.open(db, QUICK) as opened:
        yield opened


# The profile


@pytest.mark.parametrize("query", ["auth login", "hash_password", "cart", "expired coupon", "how is a note stored"])
def test_a_score_is_its_three_ranks_and_nothing_else(samples: Index, query: str) -> None:
    result = find(samples, query, profile="codexlens", limit=1000)
    assert result.channels == tuple(CHANNELS)
    places = {
        name: {match.unit: rank for rank, match in enumerate(result.trace.rankings[name], start=1)} for name in CHANNELS
    }
    assert {hit.unit.id for hit in result.hits} == set().union(*places.values())
    for hit in result.hits:
        parts = [w / (60 + places[name][hit.unit.id]) for name, w in CHANNELS.items() if hit.unit.id in places[name]]
        assert hit.score == pytest.approx(math.fsum(parts), abs=1e-15)
        assert {part.source for part in hit.contributions} <= set(CHANNELS)


def test_linear_fusion_adds_shares_of_the_best_scores(samples: Index) -> None:
    result = find(samples, "expired coupon", profile="codexlens", fusion="weighted", limit=1000)
    best = {name: result.trace.rankings[name][0].raw_score for name in CHANNELS}
    raw = {name: {m.unit: m.raw_score for m in result.trace.rankings[name]} for name in CHANNELS}
    for hit in result.hits:
        parts = [w * max(0.0, raw[name].get(hit.unit.id, 0.0)) / best[name] / 61 for name, w in CHANNELS.items()]
        assert hit.score == pytest.approx(math.fsum(parts), abs=1e-12)
    checked(samples, "expired coupon", profile="codexlens", fusion="weighted")


def test_search_modes_are_the_three_that_were_asked(indexed: Path, run: Run) -> None:
    answer = json.loads(run("search", "--json", "--profile", "codexlens", "auth login", cwd=indexed).out)
    assert answer["search_modes"] == ["exact", "fuzzy", "vector"]
    answer = json.loads(run("search", "--json", "--profile", "codexlens", "--mode", "exact", "login", cwd=indexed).out)
    assert answer["search_modes"] == ["exact"]


def test_each_of_its_channels_finds_for_the_documents_own_example(samples: Index) -> None:
    result = find(samples, "auth login", profile="codexlens")
    assert all(result.trace.rankings[name] for name in CHANNELS)


def test_the_limit_changes_no_score_and_no_place(samples: Index) -> None:
    def shown(limit: int) -> list[tuple[int, float]]:
        return [(h.unit.id, h.score) for h in find(samples, "expired coupon", profile="codexlens", limit=limit).hits]

    assert shown(3) == shown(1000)[:3]


def test_one_query_finds_names_that_are_it_begin_so_and_hold_it(tmp_path: Path) -> None:
    code = "".join(f"def {name}():\n    pass\n\n\n" for name in ("open_lock", "lock_keeper", "lock"))
    with Tree(tmp_path, {"a.py": code}).index() as index:
        result = find(index, "lock")
        by_id = {hit.unit.id: hit.unit.name for hit in result.hits}
        assert [(by_id[m.unit], m.reason) for m in result.trace.rankings["symbol"]] == [
            ("lock", "its name is lock"),
            ("lock_keeper", "its name begins with lock"),
            ("open_lock", "its name has lock"),
        ]
        assert names(find(index, "kee*", mode="exact")) == ["lock_keeper"]


def test_one_index_holds_the_words_of_all_files_and_the_symbols_of_code(tmp_path: Path) -> None:
    files = {"weir.py": "def weir():\n    pass\n", "weir.zzz": "the weir is closed\n", "broken.py": "def (weir:\n"}
    with Tree(tmp_path, files).index() as index:
        found = {hit.unit.path: hit.unit.kind for hit in find(index, "weir").hits}
        assert found == {"weir.py": "function", "weir.zzz": "text", "broken.py": "toplevel"}


# Channels without weight


@pytest.mark.parametrize("profile", sorted(set(load_weights()) - {"likeness"}))
def test_a_channel_without_weight_finds_nothing(index: Index, profile: str) -> None:
    of_profile = load_profile(SearchOptions(profile=profile))
    weighted = [name for name, cut in of_profile.cuts.items() if cut and of_profile.channels[name]]
    for name in weighted if len(weighted) > 1 else ():
        result = find(index, "open sluice", profile=profile, weights={name: 0.0}, limit=1000)
        fills_gaps = bool(of_profile.composite) and name != "equivalence"
        assert (name in result.trace.rankings) is fills_gaps
        assert not any(name in hit.channels for hit in result.hits)
    if not of_profile.composite:
        ran = set(find(index, "open sluice", profile=profile).trace.rankings)
        assert ran == set(weighted)


def test_a_mode_of_channels_without_weight_is_refused(index: Index) -> None:
    with pytest.raises(UsageError, match="has no channel for mode exact"):
        find(index, "keeper", mode="exact", weights={"exact": 0.0})


# Whole words


def test_mode_exact_finds_the_word_and_not_its_stem(index: Index) -> None:
    assert names(find(index, "redirecting", mode="exact")) == ["redirecting", "turn"]
    shown = [line.text for line in find(index, "redirecting", mode="exact").hits[1].snippet]
    assert shown[0] == '    log("redirecting")', "the line that has it"
    assert names(find(index, "redirects", mode="exact")) == ["Gate.redirects", "turn"]
    found = set(names(find(index, "redirecting")))
    assert {"redirecting", "Gate.redirects", "test_redirected"} <= found, "stems are evidence in the mode hybrid"
    checked(index, "redirecting", mode="exact")


def test_a_notice_names_words_of_which_only_other_forms_occur(index: Index) -> None:
    result = find(index, "keepers", mode="exact")
    assert not result.hits
    assert [n.text for n in result.notices if n.code == "other-forms"] == [
        "only other forms of these words occur; leave out --mode exact to find them"
    ]
    assert find(index, "keepers").hits


def test_a_unit_counts_by_the_words_that_it_has_as_they_are_written(index: Index) -> None:
    """`Gate.redirects` has a stem of each word; as words it has one."""
    both = find(index, "redirecting boat", mode="exact").hits
    assert both[0].unit.name == "redirecting"
    reasons = {hit.unit.name: hit.contributions[0].reason for hit in both}
    assert "of whole words" in reasons["redirects"]
    one = find(index, "boat", mode="exact").trace.rankings["exact"]
    scores = {
        match.unit: match.raw_score for match in find(index, "redirecting boat", mode="exact").trace.rankings["exact"]
    }
    redirects = next(hit.unit.id for hit in both if hit.unit.name == "redirects")
    assert scores[redirects] == pytest.approx({m.unit: m.raw_score for m in one}[redirects], rel=0.2)


@pytest.mark.parametrize("mode", ["exact", "fuzzy"])
def test_the_walk_adds_nothing_to_a_channel_alone(samples: Index, mode: str) -> None:
    result = find(samples, "hash_password", mode=mode, limit=1000)
    assert {hit.unit.id for hit in result.hits} == {match.unit for match in result.trace.rankings[mode]}
    assert MODES[mode] == (mode,)


# Parts


@pytest.mark.parametrize("mode", ["hybrid", "fuzzy"])
@pytest.mark.parametrize(
    ("fragment", "name"),
    [
        ("pen_slui", "open_sluice"),  # of a name
        ("ate.open_slu", "open_sluice"),  # of a qualified one
        ("eeper::caut", "cautious_keeper"),  # of a line, with marks
        ("urn boat.tur", "redirecting"),  # of a line, with a blank
        ("ct  =  ca", "calm"),  # with two
        ("ater_lev", "open_sluice"),  # of a name that is no definition
    ],
)
def test_a_fragment_is_found_first(index: Index, fragment: str, name: str, mode: str) -> None:
    first = find(index, fragment, mode=mode).hits[0]
    assert first.unit.name == name
    assert f"has {fragment} as a part" in [part.reason for part in first.contributions if part.source == "fragment"]
    checked(index, fragment, mode=mode)


def test_a_word_of_the_index_is_not_looked_for_as_a_fragment(index: Index) -> None:
    for query in ("form", "login form", "open_sluice", "keeper"):
        assert "fragment" not in {part.source for hit in find(index, query).hits for part in hit.contributions}
    assert names(find(index, "form"))[0] == "form"


def test_an_unknown_word_of_a_longer_query_is_looked_for_as_a_part(index: Index) -> None:
    """In names and in texts; the query as a whole is no part of anything."""
    for query, name in (("keeper of pen_slui", "open_sluice"), ("boat elsewh", "redirects")):
        result = find(index, query)
        fuzzy = {match.unit for match in result.trace.rankings["fuzzy"]}
        assert name in [hit.unit.name for hit in result.hits if hit.unit.id in fuzzy]


def test_mode_fuzzy_puts_first_what_holds_most_words_as_parts(index: Index) -> None:
    found = names(find(index, "logi orm", mode="fuzzy"))
    assert found[0] == "login_form"
    assert {"login", "form"} <= set(found)
    assert names(find(index, "auth login", mode="fuzzy"))[:2] == ["login", "login_form"]
    result = find(index, "auth login", mode="fuzzy")
    assert result.trace.rankings["fuzzy"][0].reason == "its name has login; has 'auth'"


@pytest.mark.parametrize("profile", ["rrf", "codexlens"])
def test_the_definition_of_a_name_is_first(profile: str, tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {
        "sluice.py": "class Sluice:\n    def open(self):\n        sluice = Sluice()\n        return sluice\n",
        "keeper.py": "from sluice import Sluice\n\n\ndef make_sluice():\n    return Sluice()\n\n\nSLUICE = make_sluice()\n",
        "sluice_test.py": "from sluice import Sluice\n\n\ndef test_sluice_opens():\n    assert Sluice().open()\n",
        "notes.md": "# Sluice\n\nA sluice, the Sluice of all sluices.\n",
    }
    with Tree(tmp_path, files).index() as index:
        result = index.search("Sluice", SearchOptions(profile=profile))
        assert (result.hits[0].unit.name, result.hits[0].unit.kind) == ("Sluice", "class")
        exact = result.trace.rankings["exact"]
        assert exact[0].reason == "its name is Sluice"
        assert exact[-1].reason.startswith("BM25")
