"""Features on a real index: each has its exact value for some unit, and a sentence."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import pytest

from codelens.config import Settings
from codelens.model.request import SearchOptions
from codelens.model.search import Candidate
from codelens.search.features import FEATURES, Pool
from codelens.search.pipeline import rank
from codelens.search.profiles import load_profile
from codelens.store.store import Store
from tests.search.trees import QUICK, Tree
from tests.search.units import unit
from tests.worktree.git_history import Past

FILES = {
    "src/harbour.py": (
        'class Harbour:\n    """Where boats lie."""\n\n    def close_gate(self, boat):\n'
        "        self.tide.wait(boat)\n        return boat.moored\n\n\n"
        "def closeGate():\n    return Harbour().close_gate(None)\n\n\nGATES = 4\n"
    ),
    "src/tide.py": "from harbour import Harbour\n\n\ndef wait(boat):\n    return Harbour().close_gate(boat)\n",
    "tests/test_harbour.py": "from harbour import Harbour\n\n\ndef test_close_gate():\n    Harbour().close_gate(1)\n",
}


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    tree = Tree(tmp_path_factory.mktemp("boats"), FILES, Settings(jobs=1))
    tree.index().close()
    with Store.read(Path(tree.db)) as opened:
        yield opened


def values(store: Store, query: str, settings: Settings = QUICK, mode: str = "hybrid") -> dict[str, dict[str, float]]:
    """Qualified name → feature → value, every feature being measured."""
    options = SearchOptions(mode=mode)
    profile = replace(load_profile(options), features=dict.fromkeys(FEATURES, 1.0))
    candidates = rank(query, store, options, settings, profile).candidates
    assert all(said_of(c) for c in candidates)
    return {c.unit.qualified_name: {name: value for name, _, value in c.measured} for c in candidates}


def said_of(candidate: Candidate) -> bool:
    return all(part.reason and "\n" not in part.reason for part in candidate.contributions)


def test_names_as_written_count_in_full(store: Store) -> None:
    found = values(store, "closeGate")
    assert (found["closeGate"]["whole_name"], found["Harbour.close_gate"]["whole_name"]) == (1.0, 0.8)
    assert found["Harbour.close_gate"]["exact_name"] == 0.8
    assert values(store, "Harbour.close_gate")["Harbour.close_gate"]["exact_name"] == 1.0
    assert values(store, "Harbour.close_gate")["closeGate"]["exact_name"] == 0.5


def test_every_candidate_is_counted_whichever_channel_found_it(store: Store) -> None:
    found = values(store, "close the gate of the harbour")
    for name in ("Harbour.close_gate", "closeGate", "test_close_gate"):
        assert {"bm25", "coverage", "file", "nearest"} <= found[name].keys()
    assert max(of["bm25"] for of in found.values() if "bm25" in of) == 1.0
    assert all(-0.01 < value < 2.0 for of in found.values() for value in of.values())


def test_a_channel_that_takes_no_part_gives_no_evidence(store: Store) -> None:
    told = values(store, "close the gate", mode="keyword").values()
    assert not {"nearest", "near_unmet"} & {name for of in told for name in of}
    told = values(store, "close the gate", mode="vector").values()
    assert not {"bm25", "coverage", "file"} & {name for of in told for name in of}


def test_paths_count_against_a_candidate_unless_the_query_asks_for_them(store: Store) -> None:
    assert values(store, "close gate")["test_close_gate"]["test"] == 1.0
    assert "test" not in values(store, "test that gates close")["test_close_gate"]


def test_what_stands_before_the_colon_is_looked_for_in_places(store: Store) -> None:
    found = values(store, "tide: gates close too late")
    assert found["wait"]["scope"] == 1.0
    assert "scope" not in found["Harbour.close_gate"]


def test_uses_are_counted_in_other_files(store: Store) -> None:
    assert values(store, "close gate")["Harbour.close_gate"]["uses"] > 0
    assert "uses" not in values(store, "close gate")["closeGate"]


def test_a_file_that_only_imports_a_definition_uses_it(tmp_path: Path) -> None:
    """Such an edge goes out from the document and not from a unit."""
    files = {
        "weir.py": "def spill(water):\n    return water\n",
        "lake.py": "from weir import spill\n\nRISE = 3\n",
        "tests/test_weir.py": "from weir import spill\n\n\ndef test_spill():\n    spill(1)\n",
    }
    Tree(tmp_path, files).index().close()
    with Store.read(tmp_path / "index.db") as store:
        spill = store.units.find_by_name("spill", None, 1)[0]
        assert store.edges.count_using_files([spill]) == {spill: 1}


# Exact values

PORT = {
    **FILES,
    "docs/guide.md": "# Harbour guide\n\nHow to close the gate.\n\n```python\ndef moor(boat):\n    return boat\n```\n",
    "examples/quay.py": "def demo_gate():\n    def inner_gate():\n        return 1\n    return inner_gate()\n",
    "vendor/lock.py": "def gate_lock():\n    return 2\n",
    "gen/gate_pb2.py": (
        "# Generated by the protocol buffer compiler.  DO NOT EDIT!\n\n\nclass GateMessage:\n    pass\n"
    ),
}
CLASSES = "[berth]\nphrases = 'secure berth'\ntargets = 'closeGate'\nweight = 0.95\n"


class Row(NamedTuple):
    """One value that is expected."""

    feature: str
    query: str
    unit: str
    value: float


EXPECTED = [
    Row("bm25", "close the gate", "test_close_gate", 0.972863),
    Row("related_words", "shut the gate", "Harbour.close_gate", 0.975693),
    Row("verbatim", "where boats lie", "Harbour", 1 / math.sqrt(1 + 6 / 50)),  # the whole query, in six lines
    Row("token", "boat.moored", "Harbour", 0.5 / math.sqrt(1 + 6 / 50)),  # around the method that says it
    Row("fragment", "lose_gat", "Harbour.close_gate", 1.0),
    Row("coverage", "close the gate", "GATES", 0.055795),
    Row("file", "close the gate", "test_close_gate", 0.825580),
    Row("exact_name", "closeGate", "Harbour.close_gate", 0.8),
    Row("whole_name", "closeGate", "closeGate", 1.0),
    Row("name_match", "close the gate", "test_close_gate", 0.8),  # F1 of precision 2/3 and recall 1
    Row("related_name", "shut the gate", "Harbour.close_gate", 0.547801),
    Row("resemblance", "close_gaet", "closeGate", 0.5),  # one slip: 1 / (1 + 1)
    Row("name_part", "inner_gat", "demo_gate.inner_gate", 8 / 9),
    Row("own_class", "secure berth", "closeGate", 1.0),
    Row("file_name", "Harbour.close_gate", "test_close_gate", 0.5),
    Row("scope", "harbour: gate close too late", "GATES", 1.0),
    Row("test", "close the gate", "test_close_gate", 1.0),
    Row("example", "close the gate", "demo_gate", 1.0),
    Row("docs", "close the gate", "Harbour guide", 1.0),
    Row("vendored", "close the gate", "gate_lock", 1.0),
    Row("nearness", "close the gate", "closeGate", 1.0),
    Row("nearest", "close the gate", "test_close_gate", 0.689000),  # 0.821662²
    Row("near_unmet", "close the gate", "test_close_gate", 0.112683),  # 0.689000 · (1 - 0.836454)
    Row("type", "close the gate", "GateMessage", 1.0),
    Row("function", "close the gate", "closeGate", 1.0),
    Row("chunk", "close the gate", "gate_pb2.py", 1.0),
    Row("section", "close the gate", "Harbour guide", 1.0),
    Row("local", "inner_gate", "demo_gate.inner_gate", 1.0),
    Row("quoted", "moor", "Harbour guide.moor", 1.0),
    Row("lines", "close the gate", "closeGate", math.log(3) / 5),  # two lines
    Row("parts", "close the gate", "test_close_gate", 3 / 6),
    # Of two messages one has "gate" (idf ln 2) and none "close" (ln 6). Weights: 1 and 1/√7, since the other commit has 7 files.
    Row(
        "messages",
        "close the gate",
        "wait",
        math.log(2) / math.log(12) / (1.5 + 0.5 * 7 * (1 + 7**-0.5) / (1 + 7 * 7**-0.5)),
    ),
    Row("uses", "close the gate", "Harbour.close_gate", math.log(2) / 4),  # one other file
]


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, dict[str, dict[str, float]]]]:
    """Query → qualified name → feature → value, on a tree with two commits."""
    folder = tmp_path_factory.mktemp("port")
    settings = Settings(jobs=1, include_vendored=True)
    tree = Tree(folder, {}, settings)
    past = Past(tree.root)
    past.commit({**PORT, "src/tide.py": "late = True\n"})
    past.commit({"src/tide.py": PORT["src/tide.py"]}, "--message=Wait for the gate")
    tree.index().close()
    classes = folder / "classes.toml"
    classes.write_text(CLASSES)
    with Store.read(tree.db) as opened:
        own = replace(settings, classes=str(classes))
        yield {query: values(opened, query, own) for query in dict.fromkeys(row.query for row in EXPECTED)}


def test_the_message_that_says_most_is_the_reason(tmp_path: Path) -> None:
    tree = Tree(tmp_path, {}, Settings(jobs=1))
    past = Past(tree.root)
    past.commit(FILES)
    past.git("commit", "--quiet", "--amend", "--message=Wait for the gate")
    past.commit({"src/tide.py": FILES["src/tide.py"] + "\n"})
    past.git("commit", "--quiet", "--amend", "--message=Let 'boats' close the gate")
    name = past.git("rev-parse", "HEAD")[:7]
    tree.index().close()
    with Store.read(tree.db) as opened:
        profile = replace(load_profile(SearchOptions()), features={"messages": 1.0})
        candidates = rank("close the gate", opened, SearchOptions(), QUICK, profile).candidates
        reasons = {
            c.unit.path: part.reason for c in candidates for part in c.contributions if part.source == "messages"
        }
    assert reasons["src/tide.py"] == f"its file was changed by {name} 'Let 'boats' close the gate', 2020-09-15"
    assert reasons["src/harbour.py"].endswith("'Wait for the gate', 2020-09-14")


@pytest.mark.parametrize("history", [True, False])
def test_messages_stay_out_of_the_index_if_a_setting_says_so(tmp_path: Path, history: bool) -> None:
    tree = Tree(tmp_path, {}, Settings(jobs=1, history=history))
    past = Past(tree.root)
    past.commit(FILES)
    past.git("commit", "--quiet", "--amend", "--message=secret berth", "--message=quay")
    tree.index().close()
    with Store.read(tree.db) as opened:
        assert opened.messages.count_messages("berth") == opened.messages.count_messages("quay") == int(history)
        documents = [row.id for row in opened.documents.read_rows()]
        assert {one.commits for one in opened.history.find_changes(documents).values()} == {1}
    tree.settings = Settings(jobs=1, history=not history)
    tree.index().close()
    with Store.read(tree.db) as opened:
        assert opened.messages.count_messages("berth") == int(not history)


def test_every_feature_has_an_expected_value() -> None:
    assert [row.feature for row in EXPECTED] == list(FEATURES)


@pytest.mark.parametrize("row", EXPECTED, ids=[row.feature for row in EXPECTED])
def test_values(row: Row, measured: dict[str, dict[str, dict[str, float]]]) -> None:
    assert measured[row.query][row.unit][row.feature] == pytest.approx(row.value, abs=2e-6)


def test_a_name_is_looked_at_once_however_many_units_bear_it() -> None:
    asked: list[str] = []

    def count(name: str) -> int:
        asked.append(name)
        return len(name)

    units = [unit(n)._replace(name=name) for n, name in enumerate(["run", "close", "run", "run", "close"])]
    text = unit(9)._replace(kind="text", name="README.md")
    assert Pool([*units, text]).map_names(count) == [3, 5, 3, 3, 5, 0]
    assert sorted(asked) == ["", "close", "run"]


def test_shares_are_computed_once_for_units_that_hold_the_same_terms(tmp_path: Path) -> None:
    """However many units a query finds, there are as many shares as there are sets of terms."""
    many = {f"gate_{n}.py": f"def close_gate_{n}():\n    pass\n\n\ndef boat_{n}():\n    pass\n" for n in range(40)}
    tree = Tree(tmp_path, many, Settings(jobs=1))
    tree.index().close()
    with Store.read(Path(tree.db)) as opened:
        options = SearchOptions()
        evidence = rank("close gate boat", opened, options, QUICK, load_profile(options)).evidence
        assert evidence is not None
        held = {tuple(found.counts) for found in evidence.found.values()}
        assert len(evidence.found) >= 80
        assert evidence._shares.keys() >= held
        assert len(evidence._shares) < 10
