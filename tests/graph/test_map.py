from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

from codelens.index import Index
from codelens.model.graph import RepositoryMap
from codelens.model.request import SearchOptions
from codelens.render.paths import PathStyle
from codelens.render.relations import format_map
from tests.graph.linked import asking, linked
from tests.search.trees import Tree


@pytest.fixture
def index(tmp_path: Path) -> Index:
    return linked(tmp_path)


def names(found: RepositoryMap) -> list[str]:
    return [c.named.qualified_name for file in found.files for c in file]


def test_symbols_that_other_files_use_come_first(index: Index) -> None:
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
def test_a_map_fits_its_budget(budget: int, index: Index) -> None:
    found = index.graph.map(budget, asking())
    text = "".join(format_map(found, PathStyle("root", "/")))
    assert found.tokens == -(-len(text) // 4) <= budget


def test_a_larger_budget_keeps_all_symbols_of_a_smaller_one(index: Index) -> None:
    maps = [set(names(index.graph.map(budget, asking()))) for budget in range(1, 120)]
    assert all(small <= large for small, large in pairwise(maps))
    assert len({len(m) for m in maps}) > 5


def test_a_focus_shows_what_its_files_use(index: Index) -> None:
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


def test_vendored_code_comes_last_unless_it_is_asked_for(tmp_path: Path) -> None:
    used = "def pool():\n    return 1\n\n\ndef arena():\n    return pool()\n"
    uses = "from deps.alloc.core import pool\n\n\ndef own_{0}():\n    return pool()\n"
    files: dict[str, str | bytes] = {"deps/alloc/core.py": used}
    files |= {f"deps/alloc/use{n}.py": uses.format(f"copy{n}") for n in range(5)}
    files |= {"app/main.py": uses.format("main"), "app/other.py": "from app.main import own_main\n\nown_main()\n"}
    tree = Tree(tmp_path, files)
    tree.index().close()
    with Index.open(tree.db) as opened:
        found = names(opened.graph.map(2000, asking()))
        assert found.index("own_main") < found.index("pool")
        focus = SearchOptions(paths=("deps",))
        assert names(opened.graph.map(2000, asking(), focus))[0] == "pool"


def test_vendored_code_ranks_lower_and_why_says_so(tmp_path: Path) -> None:
    text = "def take_memory(size):\n    return size\n"
    tree = Tree(tmp_path, {"deps/alloc/core.py": text, "src/own.py": text})
    tree.index().close()
    with Index.open(tree.db) as opened:
        hits = opened.search("take memory", SearchOptions()).hits
        assert [hit.unit.path for hit in hits[:2]] == ["src/own.py", "deps/alloc/core.py"]
        assert "in vendored code, a copy of another project's" in [part.reason for part in hits[1].contributions]
        only = opened.search("take memory is:vendored", SearchOptions()).hits
        assert {hit.unit.path for hit in only} == {"deps/alloc/core.py"}
