"""Many things of one name: the one that the query spells, or whose place it names, is found and goes before the others."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from codelens.index import Index
from codelens.search.channels.symbol import EXACT_CAP
from tests.search.trees import Tree, ask_one, find

SMALL = "\n\n".join(f"class A{i}:\n    def serialize(self):\n        return {i}" for i in range(2 * EXACT_CAP))
FILES = {
    "a.py": SMALL,
    "z/ser.py": "class Serialize:\n    '''A value that can be written.'''\n\n"
    + "\n".join(f"    X{i} = {i}" for i in range(30)),
    "lib/gate.py": "def open_gate(boat):\n    return boat\n",
    "lib/lock.py": "def open_gate(boat):\n    return None\n\n\nclass Weir:\n    def open_gate(self):\n        return self\n",
    "tests/test_gate.py": "def test_open_gate():\n    assert lib.gate.open_gate(1) == 1\n",
    "tests/weir_test.py": "class Quay:\n    def open_gate(self):\n        return Weir().open_gate()\n",
    "rust/de/mod.rs": "pub trait Reader {\n    fn next(&self) -> u8;\n}\n",
    "rust/ser.rs": "pub struct Other;\nimpl Source for Other {\n    type Reader = Self;\n}\n",
}


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Index]:
    with Tree(tmp_path_factory.mktemp("namesakes"), FILES).index() as opened:
        yield opened


def test_what_is_spelled_as_the_query_is_in_the_pool_however_many_namesakes_there_are(index: Index) -> None:
    """The trait's own words are few in a long text: the channel `exact` cuts it off."""
    hits = {hit.unit.name: hit for hit in reversed(find(index, "Serialize", limit=1000).hits)}
    assert hits["Serialize"].channels["symbol"] == 1
    lower = find(index, "serialize", limit=1000, mode="keyword").hits
    assert {hit.unit.name for hit in lower if hit.channels.get("symbol", 99) <= EXACT_CAP} == {"serialize"}


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("lock::open_gate", "lib/lock.py"),
        ("gate.open_gate", "lib/gate.py"),
        ("lib.gate.open_gate", "lib/gate.py"),
        ("Weir.open_gate", "lib/lock.py"),
        ("Weir#open_gate", "lib/lock.py"),
        ("de::Reader", "rust/de/mod.rs"),
        ("rust.Other", "rust/ser.rs"),  # a folder that is a package
    ],
)
def test_a_qualified_name_finds_its_own_definition_first(query: str, first: str, index: Index) -> None:
    """By container, file or folder: not another's of that name, its tests or its uses."""
    hit = find(index, query).hits[0]
    assert (hit.unit.path, hit.channels["symbol"]) == (first, 1)
    assert {part.operands["value"] for part in hit.contributions if part.source in ("exact_name", "whole_name")} == {
        1.0
    }


def test_a_longer_name_is_not_before_the_one_behind_an_unknown_receiver(index: Index) -> None:
    """`b` is a variable, as in `b.open_gate()`: a name that is a part of others counts no less for itself than for them."""
    hits = find(index, "b.open_gate").hits
    parts = {h.unit.name: p.operands["value"] for h in hits for p in h.contributions if p.source == "name_part"}
    assert hits[0].unit.name == "open_gate"
    assert parts == {"open_gate": 1.0, "test_open_gate": len("opengate") / len("testopengate")}
    assert not any(
        p.source == "name_part" for h in find(index, "who calls open_gate").hits[:1] for p in h.contributions
    )


@pytest.mark.parametrize("query", ["har.moor", "h.moor", "hbr.moor"])
def test_what_stands_before_a_name_may_be_short_for_its_container(query: str, tmp_path: Path) -> None:
    kinds = ("Quay", "Harbour", "Basin")
    files: dict[str, str | bytes] = {
        f"{k.lower()}.py": f"class {k}:\n    def moor(self):\n        pass\n" for k in kinds
    }
    with Tree(tmp_path, files).index() as index:
        told = ask_one(index, query, "Harbour.moor")
    assert told.rank == 1
    assert told.candidate is not None
    holder = query.partition(".")[0]
    reasons = [part.reason for part in told.candidate.contributions]
    assert f"the query is its name, if {holder} is short for Harbour" in reasons
