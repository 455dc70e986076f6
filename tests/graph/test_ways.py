from __future__ import annotations

from pathlib import Path

import pytest

from codelens.index import Index
from codelens.model.request import SearchOptions
from tests.graph.linked import asking, linked, told


@pytest.fixture
def index(tmp_path: Path) -> Index:
    return linked(tmp_path)


def test_a_path_is_a_shortest_one(index: Index) -> None:
    assert told(index.graph.path("draw", "pi", asking())) == [
        "1 calls Circle.area:6 overrides Shape.area",
        "2 calls pi:7",
    ]


def test_contents_of_a_target_belong_to_it(index: Index) -> None:
    assert told(index.graph.path("draw_all", "Shape", asking(kinds=("calls",)))) == [
        "1 calls draw:15",
        "2 calls Shape.area:6",
    ]
    assert told(index.graph.path("Circle", "app/round.py", asking(kinds=("calls",)))) == ["1 calls pi:7"]


def test_without_a_path_a_notice_reports_one_back(index: Index) -> None:
    answer = index.graph.path("pi", "draw", asking())
    assert answer.relations == ()
    assert answer.notices[-1].text == "no path of 8 hops or fewer from pi to draw; there is one of 2 hops from draw"
    assert "there is one" not in index.graph.path("pi", "guess", asking()).notices[-1].text


def test_a_path_with_more_hops_than_allowed_is_not_found(index: Index) -> None:
    assert index.graph.path("draw", "pi", asking(depth=1)).relations == ()


def test_guesses_are_not_part_of_a_path_unless_requested(index: Index) -> None:
    assert index.graph.path("guess", "Shape.name", asking()).relations == ()
    assert told(index.graph.path("guess", "Shape.name", asking(min_confidence=0.0))) == ["1 calls Shape.name:19"]


def test_filters_restrict_a_path_to_files(index: Index) -> None:
    assert index.graph.path("draw", "pi", asking(where=SearchOptions(globs=("!app/round.py",)))).relations == ()


def test_impact_by_depth_with_tests_last(index: Index) -> None:
    assert told(index.graph.impact("pi", asking())) == [
        "1 calls Circle.area:7",
        "2 calls draw:6 overrides Shape.area",
        "2 overrides Disc.area:11",
        "3 calls draw_all:15",
        "3 calls draw_all.one:11",
        "3 tests test_draw:5",
    ]


def test_impact_of_a_type_is_that_of_its_members(index: Index) -> None:
    found = told(index.graph.impact("Shape", asking(depth=1)))
    assert found == ["1 calls draw:6", "1 extends Circle:5", "1 overrides Circle.area:6"]


def test_impact_of_a_file_reaches_who_imports_it(index: Index) -> None:
    found = told(index.graph.impact("app/draw.py", asking()))
    assert found == ["1 imports tests/test_draw.py:1", "1 tests test_draw:5"]


def test_impact_of_an_external_follows_edges_of_every_kind(index: Index) -> None:
    assert told(index.graph.impact("math", asking())) == ["1 imports app/round.py:1"]


def test_impact_of_an_unused_symbol_is_empty(index: Index) -> None:
    assert index.graph.impact("guess", asking()).relations == ()
