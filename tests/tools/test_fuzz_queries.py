"""The campaign of queries: the same numbers give the same queries, and what goes wrong is counted."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

from codelens.model.request import SearchOptions
from tests.search.trees import Tree, functions
from tools.fuzz.queries import SHAPES, Case, Series, make_case, material_of, run, run_case, summary

FILES: dict[str, str | bytes] = {
    "src/a.py": functions(30, "widget"),
    "src/b.py": functions(30, "mixer"),
    "docs/c.md": "# Title\n\nSome prose.\n",
}


def test_a_number_is_a_query(tmp_path: Path) -> None:
    tree = Tree(tmp_path, FILES)
    with tree.index() as index:
        of = material_of(index, tree.root)
        assert [make_case(n, 7, of) for n in range(40)] == [make_case(n, 7, of) for n in range(40)]
        assert make_case(3, 7, of) != make_case(3, 8, of)
        assert all(isinstance(make(random.Random(1), of), str) for make, _ in SHAPES.values())


def test_a_small_campaign_finds_nothing(tmp_path: Path) -> None:
    tree = Tree(tmp_path, FILES)
    rows: list[dict[str, Any]] = []
    told = run(Series(15, 7, budget=1000.0), tree.root, rows.append)
    assert (told["tried"], told["over"], told["exceptions"], len(rows)) == (15, 0, 0, 15)
    assert set(told["codes"]) <= {0, 2}


def test_exceptions_and_slow_queries_are_counted(tmp_path: Path) -> None:
    with Tree(tmp_path, FILES).index() as index:
        usual = run_case(Case(0, "prose", "search", "widget", SearchOptions()), index)
        refused = run_case(Case(1, "regex", "search", "(", SearchOptions(regex=True)), index)
        wrong = SearchOptions(offset="1")  # type: ignore[arg-type]
        broken = run_case(Case(2, "prose", "search", "widget", wrong), index)
    assert (usual["code"], refused["code"]) == (0, 2)
    assert broken["code"] == -1 and "run_case" in broken["trace"]
    told = summary([usual, refused, broken | {"seconds": 3.0}], 2.0)
    assert (told["tried"], told["over"], told["exceptions"], told["slow"]) == (3, 1, 1, [2])
