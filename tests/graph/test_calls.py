from __future__ import annotations

from pathlib import Path

import pytest

from codelens.errors import TargetError
from codelens.index import Index
from codelens.model.search import SearchOptions
from tests.graph.linked import asking, linked, told


@pytest.fixture
def index(tmp_path: Path) -> Index:
    return linked(tmp_path)


def test_callers_by_place(index: Index) -> None:
    answer = index.graph.callers("draw", asking())
    assert told(answer) == ["1 calls draw_all:15", "1 calls draw_all.one:11", "1 tests test_draw:5"]
    assert answer.relations[0].place.text.strip() == "draw(shape)"
    assert answer.relations[0].place.column == 9


def test_callers_as_a_tree(index: Index) -> None:
    assert told(index.graph.callers("draw", asking(depth=2))) == [
        "1 calls draw_all:15",
        "2 tests test_draw:6",
        "1 calls draw_all.one:11",
        "2 calls draw_all:14 again",
        "1 tests test_draw:5",
    ]


def test_a_call_of_what_is_overridden_may_run_it(index: Index) -> None:
    assert told(index.graph.callers("Circle.area", asking())) == [
        "1 calls draw:6 overrides Shape.area",
        "1 calls Disc.area:12",
    ]
    assert "1 calls draw:6 overrides Shape.area" in told(index.graph.callers("Disc.area", asking()))


def test_what_overrides_a_callee_may_run(index: Index) -> None:
    assert told(index.graph.callees("draw", asking())) == [
        "1 calls Shape.area:6",
        "1 calls Circle.area:6 overrides Shape.area",
        "1 calls Disc.area:6 overrides Shape.area",
    ]


def test_local_functions_belong_to_their_function(index: Index) -> None:
    assert told(index.graph.callees("draw_all", asking())) == [
        "1 calls draw:11",
        "1 calls draw:15",
        "1 calls draw_all.one:14",
    ]


def test_a_cycle_ends(tmp_path: Path) -> None:
    files = {"a.py": "def f():\n    g()\n\n\ndef g():\n    f()\n"}
    edges = [("f", "calls", "g", 2, "file"), ("g", "calls", "f", 6, "file")]
    index = linked(tmp_path, dict(files), edges)
    assert told(index.graph.callers("f", asking(depth=99))) == ["1 calls g:6", "2 calls f:2 again"]


def test_guesses_are_marked_and_can_be_left_out(index: Index) -> None:
    answer = index.graph.callers("Shape.name", asking())
    assert [(r.confidence, r.provenance) for r in answer.relations] == [(0.2, "ambiguous")]
    assert "ambiguous" in {n.code for n in answer.notices}
    sure = index.graph.callers("Shape.name", asking(min_confidence=0.5))
    assert sure.relations == ()
    assert "unsure" in {n.code for n in sure.notices}


def test_calls_that_lead_nowhere_are_counted(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {
        "a.py": "def run():\n    pass\n\n\ndef f(x):\n    run()\n    x.run()\n    x.run()\n"
    }
    index = linked(tmp_path, files, [("f", "calls", "run", 6, "file")])
    notices = {n.code: n.text for n in index.graph.callers("run", asking()).notices}
    assert notices["unresolved"].startswith("2 calls of something named run")


def test_of_a_file_the_callers_from_other_files(index: Index) -> None:
    assert told(index.graph.callers("app/round.py", asking())) == ["1 calls draw:6 overrides Shape.area"]
    assert told(index.graph.callers("app/draw.py", asking())) == ["1 tests test_draw:5", "1 tests test_draw:6"]


def test_only_where_one_looks(index: Index) -> None:
    where = SearchOptions(globs=("!tests/",))
    assert told(index.graph.callers("draw", asking(where=where))) == ["1 calls draw_all:15", "1 calls draw_all.one:11"]


def test_the_limit_says_how_many_there_are(index: Index) -> None:
    answer = index.graph.callers("draw", asking(limit=1))
    assert (len(answer.relations), answer.total) == (1, 3)


def test_an_ambiguous_target_names_its_candidates(index: Index) -> None:
    with pytest.raises(TargetError) as fault:
        index.graph.callers("area", asking())
    assert len(fault.value.candidates) == 3


@pytest.mark.slow
def test_the_order_is_that_of_the_contents_whatever_the_history(tmp_path: Path) -> None:
    """The same tree, once indexed at once, once file by file in the opposite order."""
    from tests.graph.linked import EDGES, FILES, link
    from tests.search.trees import QUICK, Tree

    def answers(index: Index) -> list[list[str]]:
        return [
            told(index.graph.callers("draw", asking(depth=3))),
            told(index.graph.callees("draw_all", asking(depth=3))),
            told(index.graph.path("draw_all", "pi", asking())),
            told(index.graph.impact("pi", asking())),
            told(index.graph.refs("Shape", asking())),
            [c.text for file in index.graph.map(500, asking()).files for c in file],
        ]

    at_once = linked(tmp_path / "one")
    tree = Tree(tmp_path / "two", {}, QUICK)
    for path in reversed(FILES):
        tree.write({path: FILES[path]})
        tree.index().close()
    link(tree.db, EDGES)
    assert answers(Index.open(tree.db, QUICK)) == answers(at_once)
