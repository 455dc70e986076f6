from __future__ import annotations

import re
from pathlib import Path

import pytest

from codelens.errors import TargetError
from codelens.index import Index
from codelens.model.request import SearchOptions
from tests.graph.linked import asking, linked, told
from tests.search.trees import QUICK, Tree


@pytest.fixture
def index(tmp_path: Path) -> Index:
    return linked(tmp_path)


def test_callers_are_listed_by_place(index: Index) -> None:
    answer = index.graph.callers("draw", asking())
    assert told(answer) == ["1 calls draw_all:15", "1 calls draw_all.one:11", "1 tests test_draw:5"]
    assert answer.relations[0].place.text.strip() == "draw(shape)"
    assert answer.relations[0].place.column == 9


def test_callers_of_callers_make_a_tree(index: Index) -> None:
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


def test_a_cycle_of_calls_is_listed_once(tmp_path: Path) -> None:
    files = {"a.py": "def f():\n    g()\n\n\ndef g():\n    f()\n"}
    edges = [("f", "calls", "g", 2, "file"), ("g", "calls", "f", 6, "file")]
    index = linked(tmp_path, dict(files), edges)
    assert told(index.graph.callers("f", asking(depth=99))) == ["1 calls g:6", "2 calls f:2 again"]


def test_guesses_are_marked_and_can_be_left_out(index: Index) -> None:
    answer = index.graph.callers("Shape.name", asking(min_confidence=0.0))
    assert [(r.confidence, r.provenance) for r in answer.relations] == [(0.2, "ambiguous")]
    assert "ambiguous" in {n.code for n in answer.notices}
    sure = index.graph.callers("Shape.name", asking())
    assert sure.relations == ()
    assert "unsure" in {n.code for n in sure.notices}


def test_calls_that_lead_nowhere_are_counted(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {
        "a.py": "def run():\n    pass\n\n\ndef f(x):\n    run()\n    x.run()\n    x.run()\n"
    }
    index = linked(tmp_path, files, [("f", "calls", "run", 6, "file")])
    notices = {n.code: n.text for n in index.graph.callers("run", asking()).notices}
    assert notices["unresolved"].startswith("2 calls of run could not be followed")


LOST: dict[str, str | bytes] = {
    "shop/cart.py": "class Cart:\n    def get(self, key):\n        return key\n\n    def close(self):\n        pass\n",
    "shop/use.py": "from shop.cart import Cart\n\n\ndef pay(box):\n    box.get(1)\n    box.elsewhere(2)\n    Cart()\n",
    "tests/test_cart.py": "from shop.use import pay\n\n\ndef test_pay(it):\n    pay(it)\n    it.get(3)\n",
}
"""`get` is too common a name to link on its own, and nothing is named `elsewhere`."""


@pytest.mark.parametrize(
    ("question", "lost"),
    [
        ("callers", ["pay box.get 5", "test_pay it.get 6"]),
        ("impact", ["pay box.get 5", "test_pay it.get 6"]),
        ("test-scope", ["pay box.get 5", "test_pay it.get 6"]),
        ("callees", ["pay box.get 5"]),
        ("path", ["pay box.get 5"]),
    ],
)
def test_every_answer_counts_and_lists_what_it_could_not_follow(question: str, lost: list[str], tmp_path: Path) -> None:
    tree = Tree(tmp_path, LOST, QUICK)
    tree.index().close()
    with Index.open(tree.db, QUICK) as index:
        graph, listing = index.graph, asking(unresolved=True)
        asked = {
            "callees": lambda options: graph.callees("pay", options),
            "path": lambda options: graph.path("pay", "Cart.get", options),
            "test-scope": lambda options: graph.list_unresolved_calls(["Cart.get"], None, None),
        }.get(question) or (lambda options: getattr(graph, question)("Cart.get", options))
        found = asked(listing)
        assert [f"{r.source.qualified_name} {r.target.qualified_name} {r.place.line}" for r in found.relations] == lost
        assert {(r.provenance, r.confidence) for r in found.relations} == {("unresolved", 0.0)}
        counted = graph.find_tests_reaching(["Cart.get"], None, None) if question == "test-scope" else asked(asking())
        assert counted.unresolved == len(lost)
        assert any(re.search("--unresolved`? lists them", notice.text) for notice in counted.notices)


def test_callers_in_tests_come_last(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {
        "a_test.py": "from z import f\n\n\ndef test_f():\n    f()\n",
        "z.py": "def f():\n    pass\n\n\ndef g():\n    f()\n",
    }
    index = linked(tmp_path, files, [("test_f", "tests", "f", 5, "import"), ("g", "calls", "f", 6, "file")])
    assert told(index.graph.callers("f", asking())) == ["1 calls g:6", "1 tests test_f:5"]
    assert told(index.graph.refs("f", asking())) == ["1 imports a_test.py:1", "1 tests test_f:5", "1 calls g:6"]


def test_an_inherited_member_is_a_target(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {
        "a.py": "class Base:\n    def route(self):\n        pass\n\n\nclass App(Base):\n    pass\n",
        "b.py": "from a import App\n\n\ndef use():\n    App().route()\n",
    }
    tree = Tree(tmp_path, files, QUICK)
    tree.index().close()
    with Index.open(tree.db, QUICK) as index:
        answer = index.graph.refs("App.route", asking(kinds=("calls",)))
        assert told(answer) == ["1 calls use:5"]
        assert (answer.notices[0].code, answer.notices[0].text) == ("inherited", "App inherits Base.route")
        with pytest.raises(TargetError):
            index.graph.refs("App.nothing", asking())


def test_callers_of_a_file_are_in_other_files(index: Index) -> None:
    assert told(index.graph.callers("app/round.py", asking())) == ["1 calls draw:6 overrides Shape.area"]
    assert told(index.graph.callers("app/draw.py", asking())) == ["1 tests test_draw:5", "1 tests test_draw:6"]


def test_filters_restrict_callers_to_files(index: Index) -> None:
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
