"""Features on a real index: values of 0 to about 1, each with a sentence, and the evidence that they are counted from."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from codelens.config import Settings
from codelens.model import Candidate, SearchOptions
from codelens.search.features import FEATURES
from codelens.search.pipeline import rank
from codelens.search.profiles import load_profile
from codelens.store.store import Store
from tests.search.trees import Tree

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


def values(store: Store, query: str, **options: str) -> dict[str, dict[str, float]]:
    """Qualified name → feature → value, every feature being measured."""
    asked = SearchOptions(**options)
    profile = replace(load_profile(asked), features=dict.fromkeys(FEATURES, 1.0))
    candidates = rank(query, store, asked, Settings(), profile).candidates
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
        assert {"bm25", "found", "coverage", "file", "nearness", "nearest"} <= found[name].keys()
    assert max(of["bm25"] for of in found.values() if "bm25" in of) == 1.0
    assert all(-0.01 < value < 2.0 for of in found.values() for value in of.values())


def test_a_channel_that_takes_no_part_gives_no_evidence(store: Store) -> None:
    told = values(store, "close the gate", mode="keyword").values()
    assert not {"nearness", "nearest", "near_beside"} & {name for of in told for name in of}
    told = values(store, "close the gate", mode="vector").values()
    assert not {"bm25", "found", "coverage", "file"} & {name for of in told for name in of}


def test_paths_count_against_a_candidate_unless_the_query_asks_for_them(store: Store) -> None:
    assert values(store, "close gate")["test_close_gate"]["test"] == 1.0
    asked = values(store, "test that gates close")["test_close_gate"]
    assert "test" not in asked
    assert asked["asked_test"] == 1.0


def test_what_stands_before_the_colon_is_looked_for_in_places(store: Store) -> None:
    found = values(store, "tide: gates close too late")
    assert found["wait"]["scope"] == 1.0
    assert "scope" not in found["Harbour.close_gate"]


def test_uses_are_counted_in_other_files(store: Store) -> None:
    assert values(store, "close gate")["Harbour.close_gate"]["uses"] > 0
    assert "uses" not in values(store, "close gate")["closeGate"]
