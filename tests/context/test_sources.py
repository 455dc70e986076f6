"""From a task, from files and from a change to packs, over real indexes and their real edges."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from codelens.errors import TargetError, UsageError
from codelens.index import Index
from codelens.model.context import CHANGE, FILES, TASK, ContextRequest, PackedText
from codelens.model.request import SearchOptions
from tests.context.layouts import CHARS
from tests.search.trees import Tree
from tests.worktree.conftest import git

CART = '''"""The cart."""


def total(lines):
    """Sum of all lines."""
    return sum(price(line) for line in lines)


def price(line):
    return line.amount * line.unit


class Cart:
    limit = 3

    def add(self, line):
        self.lines.append(line)

    def sum(self):
        return total(self.lines)
'''
FILES_OF_SHOP = {
    "cart.py": CART,
    "checkout.py": "from cart import total\n\n\ndef pay(cart):\n    return total(cart.lines)\n",
    "report.py": "from cart import price\n\n\ndef audit(line):\n    return price(line)\n",
    "tests/test_cart.py": "from cart import total\n\n\ndef test_total():\n    assert total([]) == 0\n",
    "lamps.py": "def light_lamp(level):\n    return level + 1\n",
}


class Shop(Tree):
    """A git repository with an index of its first commit."""

    def __init__(self, folder: Path, files: Mapping[str, str] = FILES_OF_SHOP) -> None:
        super().__init__(folder, files)
        git(self.root, "init", "--quiet", "-b", "main")
        self.commit("first")

    def commit(self, message: str) -> None:
        git(self.root, "add", "--all")
        git(self.root, "commit", "--quiet", "-m", message)

    def pack(self, source: str, budget: int = 5000, **more: object) -> PackedText:
        from codelens.render.context import make_layout
        from codelens.render.paths import PathStyle

        options = more.pop("options", SearchOptions(limit=100))
        layout = str(more.pop("layout", "compact"))
        request = ContextRequest(source, CHARS, options, budget, cwd=str(self.root), **more)  # type: ignore[arg-type]
        with Index.open(self.db, self.settings) as index:
            return index.context(request, make_layout(layout, PathStyle("root", "")), keep=False)


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Shop]:
    made = Shop(tmp_path)
    made.index().close()
    yield made


def names(packed: PackedText) -> list[str]:
    return [line.split()[2] for line in packed.text.splitlines() if not line.startswith("#")]


def codes(packed: PackedText) -> list[str]:
    return [notice.code for notice in packed.notices]


def test_a_task_gives_what_a_search_gives(shop: Shop) -> None:
    packed = shop.pack(TASK, query="total of the cart")
    with shop.index() as index:
        found = [h.unit.qualified_name for h in index.search("total of the cart", SearchOptions(limit=100)).hits]
    assert names(packed) == found
    assert names(packed)[0] == "total"


def test_the_limit_takes_the_best(shop: Shop) -> None:
    assert names(shop.pack(TASK, query="total of the cart", options=SearchOptions(limit=1))) == ["total"]


def test_filters_hold(shop: Shop) -> None:
    packed = shop.pack(TASK, query="total", options=SearchOptions(limit=9, paths=("tests",)))
    assert {line.split(":")[0] for line in packed.text.splitlines()[1:]} == {"tests/test_cart.py"}


def test_an_index_without_edges_says_so(tmp_path: Path) -> None:
    made = Shop(tmp_path, {"a.md": "# One\n\nText.\n\n# Two\n\nMore.\n", "b.md": "# Three\n\nOther.\n"})
    made.index().close()
    packed = made.pack(FILES, options=SearchOptions(limit=99, paths=("a.md",)))
    assert names(packed) == ["One", "Two"]
    assert codes(packed) == ["no-graph"]


def test_files_come_with_their_callers_and_the_most_called_first(shop: Shop) -> None:
    shop.write({"desk.py": "from checkout import pay\n\n\ndef serve(cart):\n    return pay(cart)\n"})
    shop.index().close()
    packed = shop.pack(FILES, options=SearchOptions(limit=99, paths=("cart.py",)))
    assert "serve" not in names(packed), "it calls a caller, and no walk goes there"
    assert names(packed)[:2] == ["total", "price"], "three call one, two the other"
    assert set(names(packed)) >= {"pay", "audit", "test_total"}
    assert names(packed)[-1] == "test_total", "a test that only calls comes last"
    assert codes(packed) == []


def test_a_file_that_is_not_indexed_is_an_error(shop: Shop) -> None:
    with pytest.raises(TargetError, match=r"nothing\.py is not in the index"):
        shop.pack(FILES, options=SearchOptions(paths=("cart.py", "nothing.py")))


def changed(shop: Shop) -> None:
    """The body of price, and a new file."""
    shop.write(
        {"cart.py": CART.replace("line.amount * line.unit", "line.amount"), "new.py": "def fresh():\n    pass\n"}
    )
    shop.commit("second")


@pytest.mark.slow
def test_a_change_is_its_units_and_their_neighbours(shop: Shop) -> None:
    changed(shop)
    shop.index().close()
    packed = shop.pack(CHANGE, revisions="HEAD~1..HEAD")
    assert set(names(packed)[:2]) == {"price", "fresh"}
    assert set(names(packed)[2:4]) == {"total", "audit"}, "those that call it come before what lies behind them"
    assert set(names(packed)[4:]) == {"Cart.sum", "pay", "test_total"}
    assert codes(packed) == []


@pytest.mark.slow
def test_the_profile_knowing_walks_from_a_change_too(shop: Shop) -> None:
    changed(shop)
    shop.index().close()
    packed = shop.pack(CHANGE, revisions="HEAD~1..HEAD", options=SearchOptions(profile="knowing"))
    assert set(names(packed)[:2]) == {"price", "fresh"}
    assert {"Cart.sum", "pay"} <= set(names(packed)), "two edges away"
    assert "pay" not in names(shop.pack(CHANGE, revisions="HEAD~1..HEAD", options=SearchOptions(profile="rrf")))


@pytest.mark.slow
def test_a_pack_of_a_change_prefers_it_to_its_neighbours(shop: Shop) -> None:
    changed(shop)
    shop.index().close()
    assert set(names(shop.pack(CHANGE, revisions="HEAD~1..HEAD", options=SearchOptions(limit=2)))) == {"price", "fresh"}


def test_a_diff_of_an_index_of_the_old_state(shop: Shop) -> None:
    changed(shop)
    packed = shop.pack(CHANGE, revisions="HEAD~1..HEAD")
    assert names(packed)[0] == "price"
    assert codes(packed) == ["not-indexed", "old-state"]


def test_a_diff_of_an_index_of_another_state(shop: Shop) -> None:
    diff = b"--- a/cart.py\n+++ b/cart.py\n@@ -9,2 +9,2 @@\n def prices(line):\n-    return 1\n+    return 2\n"
    packed = shop.pack(CHANGE, diff=diff)
    assert names(packed)[0] == "price"
    assert codes(packed) == ["other-state"]


@pytest.mark.slow
def test_deleted_renamed_and_binary_files(shop: Shop) -> None:
    (shop.root / "report.py").unlink()
    (shop.root / "lamps.py").rename(shop.root / "lights.py")
    shop.write({"b.bin": b"\0\1\2"})
    shop.commit("second")
    before = shop.pack(CHANGE, revisions="HEAD~1..HEAD")
    assert set(names(before)[:2]) == {"report.py", "audit"}, "the index still has what is deleted"
    assert codes(before) == ["binary", "old-state"]
    shop.index().close()
    after = shop.pack(CHANGE, revisions="HEAD~1..HEAD")
    assert (after.exit_code, codes(after)) == (1, ["binary", "deleted"])


@pytest.mark.slow
def test_a_line_of_a_class_that_no_method_holds_changes_the_class(shop: Shop) -> None:
    shop.write({"cart.py": CART.replace("class Cart:", "class Cart(list):")})
    shop.commit("second")
    shop.index().close()
    assert names(shop.pack(CHANGE, revisions="HEAD~1..HEAD"))[0] == "Cart"
    assert names(shop.pack(CHANGE, revisions="HEAD~1..HEAD", options=SearchOptions(limit=99, profile="rrf"))) == [
        "Cart"
    ]


@pytest.mark.slow
def test_filters_leave_files_of_a_change_out(shop: Shop) -> None:
    changed(shop)
    shop.index().close()
    assert names(shop.pack(CHANGE, revisions="HEAD~1..HEAD", options=SearchOptions(limit=9, paths=("new.py",)))) == [
        "fresh"
    ]


def test_paths_of_a_diff_may_begin_at_the_working_directory(tmp_path: Path) -> None:
    tree = Tree(tmp_path, {"a/b.py": "def f():\n    return 1\n"})
    tree.index().close()
    diff = b"--- b.py\n+++ b.py\n@@ -2 +2 @@\n-    return 0\n+    return 1\n"
    request = ContextRequest(CHANGE, CHARS, SearchOptions(limit=9), 500, diff=diff, cwd=str(tree.root / "a"))
    from codelens.render.context import make_layout
    from codelens.render.paths import PathStyle

    with Index.open(tree.db) as index:
        assert names(index.context(request, make_layout("compact", PathStyle("root", "")), keep=False)) == ["f"]


@pytest.mark.slow
@pytest.mark.parametrize("diff", [b"no diff at all\n", b"\0\1\2", b"diff --cc a\n@@@ -1 -1 +1 @@@\n"])
def test_what_is_no_diff_is_refused(diff: bytes, shop: Shop) -> None:
    with pytest.raises(UsageError, match="not a unified diff"):
        shop.pack(CHANGE, diff=diff)


def test_an_empty_diff_changes_nothing(shop: Shop) -> None:
    assert shop.pack(CHANGE, diff=b"").exit_code == 1
    assert shop.pack(CHANGE, revisions="HEAD..HEAD").exit_code == 1


@pytest.mark.slow
@pytest.mark.parametrize("path", [b"../../etc/passwd", b"/etc/passwd", b"a\0b", b"\xff\xfe", b"x" * 5000])
def test_paths_of_a_diff_reach_nothing_but_the_index(path: bytes, shop: Shop) -> None:
    packed = shop.pack(CHANGE, diff=b"--- " + path + b"\n+++ " + path + b"\n@@ -1 +1 @@\n-a\n+b\n")
    assert (packed.exit_code, codes(packed)) == (1, ["not-indexed"])


def test_without_git_a_range_is_an_error_that_names_the_other_way(tmp_path: Path) -> None:
    tree = Tree(tmp_path, {"a.py": "x = 1\n"})
    tree.index().close()
    request = ContextRequest(CHANGE, CHARS, SearchOptions(), 500, revisions="a..b", cwd=str(tree.root))
    from codelens.render.context import make_layout
    from codelens.render.paths import PathStyle

    with Index.open(tree.db) as index, pytest.raises(UsageError, match="no git repository"):
        index.context(request, make_layout("compact", PathStyle("root", "")), keep=False)


@pytest.mark.slow
@pytest.mark.parametrize("budget", [0, -1, -(10**9)])
def test_a_budget_of_nothing_is_refused(budget: int, shop: Shop) -> None:
    with pytest.raises(UsageError, match="--budget must be at least 1"):
        shop.pack(TASK, query="total", budget=budget)
