"""Edges to remote procedures over several .proto files and several runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from codelens.config import Settings
from codelens.index import Index
from codelens.model.graph import KINDS, TIERS
from tests.dump import dump
from tests.indexing.here import derive_here

SERVICE = 'syntax = "proto3";\npackage shop.%s;\nservice Tills { rpc Open (Key) returns (Till); }\n'
CODE = "import %s\n\nclass Mine(%s.TillsServicer):\n    def Open(self, key, context): ...\n"
SETTINGS = Settings(jobs=1, fuzzy=False, vector=False)


@pytest.fixture(autouse=True)
def here(monkeypatch: pytest.MonkeyPatch) -> None:
    derive_here(monkeypatch)


def put(root: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")


def procedures(index: Path) -> list[tuple[str, str]]:
    """(the procedure's unit, provenance) of each edge."""
    tiers = {tier.number: name for name, tier in TIERS.items()}
    wanted = {KINDS["implements_rpc"], KINDS["consumes_rpc"]}
    return sorted((target, tiers[tier]) for _, kind, target, _, tier in dump(index)["edges"] if kind in wanted)


def test_of_two_services_of_a_name_the_imported_one_counts(tmp_path: Path) -> None:
    root, index = tmp_path / "tree", tmp_path / "index.db"
    put(
        root,
        {"a/old.proto": SERVICE % "old", "b/new.proto": SERVICE % "new", "mine.py": CODE % (("new_pb2_grpc",) * 2)},
    )
    Index.build(index, [root], SETTINGS)
    ((target, provenance),) = procedures(index)
    assert "b/new.proto" in target and provenance == "literal"


def test_services_that_nothing_tells_apart_are_both_guesses(tmp_path: Path) -> None:
    root, index = tmp_path / "tree", tmp_path / "index.db"
    put(root, {"a/old.proto": SERVICE % "old", "b/new.proto": SERVICE % "new", "mine.py": CODE % (("stubs",) * 2)})
    Index.build(index, [root], SETTINGS)
    assert [provenance for _, provenance in procedures(index)] == ["ambiguous", "ambiguous"]


def test_a_handwritten_base_is_not_a_service(tmp_path: Path) -> None:
    root, index = tmp_path / "tree", tmp_path / "index.db"
    own = "class Tills:\n    def Open(self, key): ...\n\n\nclass Mine(Tills):\n    def Open(self, key): ...\n"
    put(root, {"till.proto": SERVICE % "one", "mine.py": own})
    Index.build(index, [root], SETTINGS)
    assert procedures(index) == []


def test_a_proto_file_that_comes_goes_or_changes_is_linked_as_in_a_fresh_index(tmp_path: Path) -> None:
    root, index = tmp_path / "tree", tmp_path / "index.db"
    put(root, {"mine.py": CODE % (("till_pb2_grpc",) * 2), "readme.txt": "a till\n"})
    Index.build(index, [root], SETTINGS)
    assert procedures(index) == []
    counts = []
    for text in (SERVICE % "one", (SERVICE % "one").replace("Open", "Close"), SERVICE % "two", ""):
        put(root, {"till.proto": text})
        Index.build(index, [root], SETTINGS)
        fresh = tmp_path / f"fresh{len(counts)}.db"
        Index.build(fresh, [root], SETTINGS)
        assert procedures(index) == procedures(fresh)
        counts.append(len(procedures(index)))
    assert counts == [1, 0, 1, 0]
