from __future__ import annotations

from pathlib import Path

import pytest

from codelens.errors import TargetError
from codelens.index import Index
from tests.graph.linked import FILES, asking, linked, told
from tests.search.trees import Tree
from tests.writable import writable


@pytest.fixture
def index(tmp_path: Path) -> Index:
    return linked(tmp_path)


def test_references_of_every_kind_are_listed_by_place(index: Index) -> None:
    answer = index.graph.refs("Shape", asking())
    places = [f"{r.kind} {r.place.path}:{r.place.line}:{r.place.column}" for r in answer.relations]
    assert places == [
        "imports app/draw.py:1:22",
        "type_hint_of app/draw.py:5:17",
        "imports app/round.py:2:22",
        "extends app/round.py:5:14",
    ]


def test_kinds_restrict_references(index: Index) -> None:
    assert told(index.graph.refs("Shape", asking(kinds=("extends",)))) == ["1 extends Circle:5"]


def test_references_to_a_file_come_from_other_files(index: Index) -> None:
    assert told(index.graph.refs("app/round.py", asking())) == ["1 imports app/draw.py:2"]


def test_a_line_means_the_symbol_around_it(index: Index) -> None:
    assert (
        told(index.graph.refs("app/round.py:15", asking()))
        == told(index.graph.refs("pi", asking()))
        == ["1 imports app/draw.py:2", "1 calls Circle.area:7"]
    )


def test_implied_edges_are_listed_if_requested(index: Index) -> None:
    answer = index.graph.refs("test_draw", asking(kinds=("tested_by",)))
    assert [(r.listed.qualified_name, r.provenance, r.confidence) for r in answer.relations] == [
        ("draw", "implied", 0.7),
        ("draw_all", "implied", 0.7),
    ]
    assert {r.listed.qualified_name for r in index.graph.refs("draw", asking(kinds=("co_tested_with",))).relations} == {
        "draw_all"
    }


def test_references_to_a_module_include_uses_of_its_names(index: Index) -> None:
    answer = index.graph.refs("math", asking())
    assert [(r.place.line, r.target.qualified_name) for r in answer.relations] == [(1, "module:math"), (7, "math.sqrt")]


USES = {
    "a.py": "import json\nfrom os import path as p\n\n\ndef f(x):\n    json.dumps(x)\n    x.dumps()\n    p.join(x)\n",
    "b.py": "from json import dumps\n\nprint(dumps(1))\n",
    "c.py": "import json as j\n\nj.dumps(2)\n",
}


def test_a_name_of_a_library_is_found_by_its_imports(tmp_path: Path) -> None:
    index = linked(tmp_path, dict(USES), [])
    answer = index.graph.refs("json.dumps", asking())
    assert [f"{r.place.path}:{r.place.line}:{r.place.column}" for r in answer.relations] == [
        "a.py:6:10",
        "b.py:1:18",
        "b.py:3:7",
        "c.py:3:3",
    ]
    assert [r.kind for r in answer.relations] == ["calls", "imports", "calls", "calls"]
    assert {r.certainty for r in answer.relations} == {"resolved"}
    assert [n.code for n in answer.notices] == ["external", "places"]


def test_places_of_an_undefined_name_are_listed(tmp_path: Path) -> None:
    index = linked(tmp_path, dict(USES), [])
    answer = index.graph.refs("dumps", asking())
    assert [(r.place.path, r.place.line, r.certainty) for r in answer.relations] == [
        ("a.py", 6, "by name"),
        ("a.py", 7, "by name"),
        ("b.py", 1, "by name"),
        ("b.py", 3, "by name"),
        ("c.py", 3, "by name"),
    ]


def test_a_name_neither_defined_nor_used_is_an_error(index: Index) -> None:
    for name in ("json.nothing", "no/such.py", "no/such.py:3", "app/base.py:999", ""):
        with pytest.raises(TargetError):
            index.graph.refs(name, asking())


@pytest.mark.slow
@pytest.mark.parametrize("text", ["see `draw it`", "two-words", "()", "a b c", '"'])
def test_a_target_that_is_not_a_name_is_an_error(index: Index, text: str) -> None:
    with pytest.raises(TargetError, match="nothing is named"):
        index.graph.refs(text, asking())


def test_a_missing_graph_is_reported(tmp_path: Path) -> None:
    linked(tmp_path).close()
    with writable(tmp_path / "index.db") as connection:
        connection.execute("UPDATE documents SET linked = ''").fetchall()
    notices = {n.code: n.text for n in Index.open(tmp_path / "index.db").graph.refs("pi", asking()).notices}
    assert notices["unlinked"].startswith(f"{len(FILES)} files are not in the symbol graph")


def test_a_line_whose_file_changed_is_marked(tmp_path: Path) -> None:
    index = linked(tmp_path)
    (tmp_path / "tree/app/round.py").write_text("# another\n")
    place = index.graph.refs("pi", asking(kinds=("calls",))).relations[0].place
    assert (place.freshness, place.text.strip()) == ("changed", "return pi() * math.sqrt(4)")


def test_a_use_is_of_the_definition_around_it_after_definitions_changed_places(tmp_path: Path) -> None:
    """They keep their ids, so that the order of ids is not that of place any more."""
    head, first, second = (
        "import json\n\n\n",
        "def first(x):\n    return json.dumps(x)\n",
        "def second(x):\n    return x\n",
    )
    tree = Tree(tmp_path, {"a.py": f"{head}{first}\n\n{second}"})
    tree.index().close()
    tree.write({"a.py": f"{head}{second}\n\n{first}"})
    with tree.index() as index:
        for name in ("json.dumps", "dumps", "json"):
            answer = index.graph.refs(name, asking(kinds=("calls",)))
            assert [(r.source.qualified_name, r.place.line) for r in answer.relations] == [("first", 9)], name


def test_a_name_on_a_line_is_what_it_means_there(index: Index) -> None:
    by_name, asked = index.graph.refs("pi", asking()), asking()
    for place in ("app/round.py:7:pi", "app/round.py:15:pi"):
        answer = index.graph.refs(place, asked)
        assert (answer.targets, answer.relations) == (by_name.targets, by_name.relations), place
    assert told(index.graph.callers("app/round.py:7:pi", asked)) == told(index.graph.callers("pi", asked))


def test_a_name_that_the_graph_does_not_follow_is_looked_for_around_it(index: Index) -> None:
    answer = index.graph.refs("app/draw.py:13:shapes", asking())
    assert [(r.place.path, r.place.line) for r in answer.relations] == [("app/draw.py", 9), ("app/draw.py", 13)]
    assert answer.notices[0].code == "place"
    inner = index.graph.refs("app/draw.py:10:shape", asking())
    assert [r.place.line for r in inner.relations] == [10, 11, 13, 14, 15], "those of draw_all, and none of draw"
    with pytest.raises(TargetError, match="no edge of the graph leads from app/draw"):
        index.graph.callers("app/draw.py:13:shapes", asking())
    with pytest.raises(TargetError, match="nowhere does not occur in app/draw"):
        index.graph.refs("app/draw.py:13:nowhere", asking())
    with pytest.raises(TargetError, match="nothing is named none"):
        index.graph.refs("none.py:1:a", asking())
