"""Candidates gain from the best of the others: of their file, of what they use, and of what uses them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from codelens.config import Settings
from codelens.model.request import SearchOptions
from codelens.model.search import Candidate
from codelens.search.company import COMPANY, SEEDS, add_company_features
from codelens.search.pipeline import rank
from codelens.search.profiles import load_profile
from codelens.store.store import Store
from tests.search.trees import Tree

FILES = {
    "gate.py": "from hinge import turn\n\n\ndef close_gate(boat):\n    turn(boat)\n\n\ndef paint(colour):\n    return colour\n",
    "hinge.py": "def turn(boat):\n    return boat\n",
    "quay.py": "from gate import close_gate\n\n\ndef leave(boat):\n    close_gate(boat)\n",
    "tide.py": "def rise(water):\n    return water\n",
}
WEIGHTS = dict.fromkeys(COMPANY, 1.0)


def ranked(store: Store, query: str) -> Sequence[Candidate]:
    """The candidates without these features."""
    profile = load_profile(SearchOptions())
    features = {name: weight for name, weight in profile.features.items() if name not in COMPANY}
    return rank(query, store, SearchOptions(), Settings(), replace(profile, features=features)).candidates


@pytest.fixture
def store(tmp_path: Path) -> Store:
    tree = Tree(tmp_path, FILES, Settings(jobs=1))
    tree.index().close()
    return Store.read(tree.db)


def test_each_gain_names_the_hit_that_it_comes_from(store: Store) -> None:
    with store:
        candidates = ranked(store, "close_gate")
        company = add_company_features(candidates, WEIGHTS, store)
        assert company is not None
        assert candidates[0].unit.name == "close_gate"
        units = {c.unit.name: c.unit for c in candidates}
        said = {
            (name, feature): company.describe(feature, units[name])
            for feature in COMPANY
            for name in ("paint", "leave", "turn", "rise")
            if name in units and units[name].id in company.values[feature]
        }
    assert said["paint", "file_hits"] == "its file has close_gate, the best hit"
    assert said["leave", "uses_hits"] == "uses close_gate, the best hit"
    assert said["turn", "used_by_hits"] == "is used by close_gate, the best hit"
    assert not [feature for name, feature in said if name == "rise"]


def test_values_of_company_are_from_0_to_1(store: Store) -> None:
    with store:
        candidates = ranked(store, "close the gate for a boat")
        company = add_company_features(candidates, WEIGHTS, store)
        assert company is not None
        values = [value for feature in COMPANY for value in company.values[feature].values()]
        assert values
        assert all(0.0 <= value <= 1.0 + 1e-9 for value in values)
        measured = [part for c in candidates for part in c.measured if part[0] in COMPANY]
        assert len(measured) == sum(value > 0 for value in values)


def test_company_without_weight_reads_no_edges(store: Store) -> None:
    with store:
        candidates = ranked(store, "close_gate")
        before = [list(c.measured) for c in candidates]
        assert add_company_features(candidates, {"walk": 1.0}, store) is None
        assert add_company_features([], WEIGHTS, store) is None
        assert [list(c.measured) for c in candidates] == before


def test_only_the_first_candidates_lift_others(tmp_path: Path) -> None:
    """However many candidates there are, the edges of SEEDS of them are read."""
    many = {
        f"gate_{n}.py": f"from other import close_{n}\n\n\ndef gate_{n}():\n    close_{n}()\n" for n in range(3 * SEEDS)
    }
    tree = Tree(tmp_path, many, Settings(jobs=1))
    tree.index().close()
    with Store.read(tree.db) as store:
        candidates = ranked(store, "gate")
        assert len(candidates) > 2 * SEEDS
        company = add_company_features(candidates, WEIGHTS, store)
        assert company is not None
        assert len(company._standing) <= SEEDS
