from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest

from codelens.graph.view import MOST_SUBJECTS, read_incoming, read_outgoing
from codelens.model.graph import Edge
from codelens.store.store import Store
from tests.graph.linked import Row, linked


class Read:
    """An index by the names of its nodes."""

    def __init__(self, folder: Path, files: dict[str, str | bytes] | None = None, edges: Iterable[Row] | None = None):
        index = linked(folder, files) if edges is None else linked(folder, files, edges)
        index.close()
        self.store = Store.read(folder / "index.db")
        self.node = {d.path: -d.id for d in self.store.documents.read_rows()}
        for document in self.store.documents.read_rows():
            for unit in self.store.units.list_in_document(document.id):
                self.node.setdefault(unit.qualified_name, unit.id)
        self.name = {n: name for name, n in self.node.items()}

    def told(self, edges: Iterable[Edge]) -> set[tuple[str, str, str]]:
        return {(self.name[e.source], e.kind, self.name[e.target]) for e in edges}

    def out(self, name: str, *kinds: str) -> set[tuple[str, str, str]]:
        return self.told(read_outgoing(self.store, [self.node[name]], kinds))

    def into(self, name: str, *kinds: str) -> set[tuple[str, str, str]]:
        return self.told(read_incoming(self.store, [self.node[name]], kinds))


def test_containers_contain_their_members(tmp_path: Path) -> None:
    read = Read(tmp_path)
    assert read.out("Shape", "contains") == {("Shape", "contains", "Shape.area"), ("Shape", "contains", "Shape.name")}
    assert (
        read.out("app/base.py", "contains") == read.into("Shape", "contains") == {("app/base.py", "contains", "Shape")}
    )
    assert read.out("Shape.area", "member_of") == {("Shape.area", "member_of", "Shape")}
    assert ("Shape.area", "member_of", "Shape") in read.into("Shape", "member_of")


def test_a_type_contains_members_that_stand_outside_of_it(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {"a.go": "package a\n\ntype T struct{}\n\nfunc (t T) Run() {}\n"}
    read = Read(tmp_path, files, [("T.Run", "member_of", "T", 0, "scope")])
    assert ("T.Run", "member_of", "T") in read.out("T.Run", "member_of")
    assert ("T", "contains", "T.Run") in read.out("T", "contains") & read.into("T.Run", "contains")


def test_outgoing_and_incoming_edges_are_the_same(tmp_path: Path) -> None:
    """Whatever leaves a node arrives at its other end, and the other way round."""
    read = Read(tmp_path)
    nodes = list(read.node.values())
    for kind in ("contains", "tested_by", "co_tested_with", "similar_to", "calls", "imports", "extends"):
        leaving = {e for e in read_outgoing(read.store, nodes, [kind]) if e.target in read.name}
        assert leaving == {e for e in read_incoming(read.store, nodes, [kind]) if e.source in read.name}, kind


def test_subjects_of_one_test_are_tested_together(tmp_path: Path) -> None:
    read = Read(tmp_path)
    assert read.out("draw", "tested_by") == {("draw", "tested_by", "test_draw")}
    assert read.out("draw", "co_tested_with") == {("draw", "co_tested_with", "draw_all")}


@pytest.mark.slow
def test_subjects_of_a_test_with_many_are_not_tested_together(tmp_path: Path) -> None:
    names = [f"f{i}" for i in range(MOST_SUBJECTS + 1)]
    text = "".join(f"def {name}():\n    pass\n\n\n" for name in names)
    files: dict[str, str | bytes] = {"a.py": text, "tests/test_a.py": "def test_all():\n    pass\n"}
    tests = [("test_all", "tests", name, 1, "import") for name in names]
    assert Read(tmp_path / "many", files, tests).out("f0", "co_tested_with") == set()
    assert len(Read(tmp_path / "few", files, tests[:-1]).out("f0", "co_tested_with")) == MOST_SUBJECTS - 1


def test_functions_with_similar_calls_are_similar(tmp_path: Path) -> None:
    names = ["a", "b", "c", "d", "e", "one", "two", "other"]
    files: dict[str, str | bytes] = {"a.py": "".join(f"def {name}():\n    pass\n\n\n" for name in names)}
    calls = {"one": "abcd", "two": "abce", "other": "abde"}
    edges = [(f, "calls", g, 1, "file") for f, some in calls.items() for g in some if f != "other" or g in "de"]
    read = Read(tmp_path, files, edges)
    assert read.out("one", "similar_to") == {("one", "similar_to", "two")}  # 3 of 5
    assert read.out("other", "similar_to") == set()
    assert {
        (e.provenance, e.confidence, e.line) for e in read_outgoing(read.store, [read.node["one"]], ["similar_to"])
    } == {("implied", 0.7, 0)}


def test_an_implied_edge_is_no_surer_than_its_reason(tmp_path: Path) -> None:
    read = Read(tmp_path, None, [("test_draw", "tests", "draw", 5, "ambiguous")])
    assert [e.confidence for e in read_outgoing(read.store, [read.node["draw"]], ["tested_by"])] == [0.2]


def test_files_with_similar_calls_are_not_similar(tmp_path: Path) -> None:
    """Calls at the top of a file are edges of the file, and only functions are similar."""
    calls = [(source, "calls", target, 1, "file") for source in ("one", "a.py") for target in ("b", "c", "d")]
    files: dict[str, str | bytes] = {"a.py": "".join(f"def {name}(): pass\n" for name in ("one", "b", "c", "d"))}
    assert Read(tmp_path, files, calls).out("one", "similar_to") == set()
