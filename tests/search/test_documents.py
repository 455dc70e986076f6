"""Documents: code that they quote, and their links, as the graph and the ranking have them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from codelens.index import Index
from codelens.model.graph import RelationOptions
from tests.search.trees import Tree, find, names

FILES = {
    "src/shop/__init__.py": "from shop.cart import Cart, total_of\n",
    "src/shop/base.py": "class Base:\n    def save_all(self):\n        return 1\n",
    "src/shop/cart.py": (
        'from shop.base import Base\n\n\nclass Cart(Base):\n    """What a customer buys."""\n\n'
        "    def total_of(self):\n        return 2\n\n\ndef total_of(cart):\n    return cart.total_of()\n"
    ),
    "examples/app.py": "def total_of(cart):\n    return 3\n",
    "docs/index.md": "# Shop\n\n- [first steps](guide.md#begin)\n- [the same](/docs/guide)\n- see `shop/cart.py`\n",
    "docs/guide.md": (
        "# Guide\n\n## Begin\n\nMake a `Cart`, call `shop.total_of()` and `Cart.save_all`.\n\n"
        "```python\nclass Cart:\n    def discount_by(self, percent):\n        return percent\n\nbasket = Cart()\n```\n"
    ),
}


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Index]:
    with Tree(tmp_path_factory.mktemp("documents"), FILES).index() as opened:
        yield opened


def documented(index: Index, target: str) -> list[str]:
    """Sections that document a target, with their lines."""
    found = [r for r in index.graph.refs(target, RelationOptions()).relations if r.kind == "documents"]
    found = [r for r in found if r.target.kind == "file"] if target.endswith((".md", ".rst", ".py")) else found
    return [f"{r.listed.qualified_name}:{r.place.line}" for r in found]


def test_a_definition_in_a_guide_is_a_unit_of_its_section(index: Index) -> None:
    assert "Guide.Begin.Cart.discount_by" in names(find(index, "discount by percent"))
    hit = find(index, "discount_by kind:code").hits[0]
    assert hit.unit.qualified_name == "Guide.Begin.Cart.discount_by"
    assert (hit.unit.kind, hit.unit.local, "docs" in hit.unit.roles, hit.line) == ("method", True, True, 9)
    assert hit.snippet[0].text == "    def discount_by(self, percent):"
    assert find(index, "sym:basket").hits == ()


def test_the_section_still_holds_what_it_quotes(index: Index) -> None:
    assert "Guide.Begin" in names(find(index, "discount percent kind:section"))


@pytest.mark.parametrize("query", ["Cart", "`Cart`", "cart class", "where is the cart", "fix the cart"])
def test_real_code_goes_before_code_that_a_guide_quotes(index: Index, query: str) -> None:
    found = names(find(index, query))
    assert found.index("Cart") < found.index("Guide.Begin.Cart")


@pytest.mark.parametrize(
    ("target", "places"),
    [
        ("src/shop/cart.py:4", ["Guide.Begin:5"]),  # `Cart`: the one in the guide's own code is none that others mean
        ("src/shop/cart.py:11", ["Guide.Begin:5"]),  # `shop.total_of()`: not the method, not the example's
        ("Base.save_all", ["Guide.Begin:5"]),  # `Cart.save_all`: from what Cart is built on
    ],
)
def test_names_in_prose_lead_to_what_they_name(index: Index, target: str, places: list[str]) -> None:
    assert documented(index, target) == places


def test_links_lead_from_document_to_document_and_to_code(index: Index) -> None:
    asked = RelationOptions()
    assert documented(index, "docs/guide.md") == ["Shop:3", "Shop:4"]
    assert documented(index, "src/shop/cart.py") == ["Shop:5"]
    assert [r.kind for r in index.graph.path("Shop", "docs/guide.md", asked).relations] == ["documents"]


@pytest.mark.slow
def test_a_link_is_followed_again_when_its_file_comes_and_goes(tmp_path: Path) -> None:
    tree = Tree(tmp_path, FILES)
    (tree.root / "docs/guide.md").unlink()
    with tree.index() as index:
        assert documented(index, "src/shop/cart.py") == ["Shop:5"]
    tree.write({"docs/guide.rst": "Guide\n=====\n\nWords.\n"})
    with tree.index() as index:
        assert documented(index, "docs/guide.rst") == ["Shop:4"]
    tree.write({"other/shop/cart.py": "x = 1\n"})
    with tree.index() as index:
        assert documented(index, "src/shop/cart.py") == []
