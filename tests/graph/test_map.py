from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

from codelens.index import Index
from codelens.model.graph import RepositoryMap
from codelens.model.search import SearchOptions
from codelens.render.paths import PathStyle
from codelens.render.relations import map_lines
from tests.graph.linked import asking, linked


@pytest.fixture
def index(tmp_path: Path) -> Index:
    return linked(tmp_path)


def names(found: RepositoryMap) -> list[str]:
    return [c.named.qualified_name for file in found.files for c in file]


def test_what_other_files_lean_on_comes_first(index: Index) -> None:
    found = index.graph.map(2000, asking())
    assert found.files[0][0].named.qualified_name == "Shape"
    assert found.files[0][0].used_by == 2
    assert "test_draw" not in names(found)
    assert "draw_all.one" not in names(found)


def test_uses_inside_a_file_do_not_count(index: Index) -> None:
    used = {c.named.qualified_name: c.used_by for file in index.graph.map(2000, asking()).files for c in file}
    assert used["pi"] == 0
    assert used["Shape.area"] == 1


def test_members_stand_below_their_type(index: Index) -> None:
    first = index.graph.map(2000, asking()).files[0]
    assert [(c.depth, c.text) for c in first] == [
        (0, "    1  class Shape:"),
        (1, "    2    def area(self):"),
        (1, "    5    def name(self):"),
    ]


@pytest.mark.slow
@pytest.mark.parametrize("budget", [1, 5, 20, 50, 100, 2000])
def test_it_fits_its_budget(budget: int, index: Index) -> None:
    found = index.graph.map(budget, asking())
    text = "".join(map_lines(found, PathStyle("root", "/")))
    assert found.tokens == -(-len(text) // 4) <= budget


def test_more_room_takes_nothing_away(index: Index) -> None:
    maps = [set(names(index.graph.map(budget, asking()))) for budget in range(1, 120)]
    assert all(small <= large for small, large in pairwise(maps))
    assert len({len(m) for m in maps}) > 5


def test_focus_tells_what_some_files_lean_on(index: Index) -> None:
    found = index.graph.map(2000, asking(), SearchOptions(globs=("app/draw.py",)))
    assert {"Shape", "draw"} <= set(names(found))
    assert "Circle" not in names(found)


def test_filters_choose_what_is_shown(index: Index) -> None:
    found = index.graph.map(2000, asking(where=SearchOptions(globs=("app/draw.py",))))
    assert {file[0].named.path for file in found.files} == {"app/draw.py"}


def test_uses_are_between_symbols_of_the_map(index: Index) -> None:
    found = index.graph.map(2000, asking())
    order = names(found)
    assert {(order[a], order[b]) for a, b in found.uses} == {
        ("Circle", "Shape"),
        ("draw", "Shape"),
        ("draw", "Shape.area"),
    }


def test_an_empty_tree_has_an_empty_map(tmp_path: Path) -> None:
    found = linked(tmp_path / "empty", {"a.txt": "nothing\n"}, []).graph.map(2000, asking())
    assert (found.files, found.tokens, found.total) == ((), 0, 0)
