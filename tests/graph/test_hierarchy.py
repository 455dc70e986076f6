from __future__ import annotations

from pathlib import Path

from codelens.index import Index
from tests.graph.linked import asking, link, linked
from tests.search.trees import Tree


def lines(index: Index, target: str, **options: object) -> list[str]:
    return [
        f"{r.depth} {r.source.qualified_name} {r.kind} {r.target.qualified_name} {r.place.line}"
        for r in index.graph.hierarchy(target, asking(**options)).relations
    ]


def test_bases_come_before_subclasses(tmp_path: Path) -> None:
    assert lines(linked(tmp_path), "Circle") == ["1 Circle extends Shape 1", "1 Disc extends Circle 10"]


def test_subclasses_of_subclasses_make_a_tree(tmp_path: Path) -> None:
    index = linked(tmp_path)
    assert lines(index, "Shape") == ["1 Circle extends Shape 5", "2 Disc extends Circle 10"]
    assert lines(index, "Disc") == ["1 Disc extends Circle 5", "2 Circle extends Shape 1"]
    assert lines(index, "Disc", depth=1) == ["1 Disc extends Circle 5"]


def test_overriding_members_are_listed_below_their_types(tmp_path: Path) -> None:
    assert lines(linked(tmp_path), "Circle", members=True) == [
        "1 Circle.area overrides Shape.area 2",
        "1 Circle extends Shape 1",
        "1 Disc extends Circle 10",
        "2 Disc.area overrides Circle.area 11",
    ]


def test_a_base_outside_is_shown_by_its_name(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {"a.py": "import enum\n\n\nclass A(enum.Enum):\n    pass\n"}
    answer = linked(tmp_path, files, []).graph.hierarchy("A", asking())
    assert [(r.target.qualified_name, r.target.kind, r.provenance, r.place.line) for r in answer.relations] == [
        ("enum.Enum", "external", "name", 4)
    ]


def test_a_base_outside_is_that_of_the_class_after_classes_changed_places(tmp_path: Path) -> None:
    head, first, second = "import enum\n\n\n", "class A(enum.Enum):\n    pass\n", "class B:\n    pass\n"
    tree = Tree(tmp_path, {"a.py": f"{head}{first}\n\n{second}"})
    tree.index().close()
    tree.write({"a.py": f"{head}{second}\n\n{first}"})
    tree.index().close()
    link(tree.db, [])
    with Index.open(tree.db) as index:
        bases = {n: [r.target.qualified_name for r in index.graph.hierarchy(n, asking()).relations] for n in "AB"}
    assert bases == {"A": ["enum.Enum"], "B": []}


def test_a_diamond_is_listed_once(tmp_path: Path) -> None:
    text = "class A:\n    pass\n\n\nclass B(A):\n    pass\n\n\nclass C(A):\n    pass\n\n\nclass D(B, C):\n    pass\n"
    edges = [
        ("B", "extends", "A", 5, "file"),
        ("C", "extends", "A", 9, "file"),
        ("D", "extends", "B", 13, "file"),
        ("D", "extends", "C", 13, "file"),
    ]
    index = linked(tmp_path, {"a.py": text}, edges)
    assert [(r.depth, r.listed.name, r.again) for r in index.graph.hierarchy("A", asking()).relations] == [
        (1, "B", False),
        (2, "D", False),
        (1, "C", False),
        (2, "D", False),
    ]
    assert [(r.depth, r.listed.name, r.again) for r in index.graph.hierarchy("D", asking()).relations] == [
        (1, "B", False),
        (2, "A", False),
        (1, "C", False),
        (2, "A", False),
    ]


def test_a_base_that_stands_outside_of_its_type_belongs_to_the_type(tmp_path: Path) -> None:
    """An `impl` may follow the type, stand in another file, or be for a type of a library."""
    files: dict[str, str | bytes] = {
        "a.rs": "pub trait Plain {}\nstruct One;\nimpl Plain for One {}\n",
        "b.rs": "pub struct Two;\n",
        "c.rs": "use crate::a::Plain;\nuse crate::b::Two;\nimpl Plain for Two {}\nimpl<T> Plain for Box<T> {}\n",
    }
    tree = Tree(tmp_path, files)
    tree.index().close()
    with Index.open(tree.db) as index:
        assert lines(index, "Plain") == [
            "1 Box implements Plain 4",
            "1 One implements Plain 2",
            "1 Two implements Plain 1",
        ]
        assert lines(index, "One") == ["1 One implements Plain 1"]
        assert lines(index, "Two") == ["1 Two implements Plain 1"]
