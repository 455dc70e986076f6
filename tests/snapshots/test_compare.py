"""The difference of two trees: symbols added, removed, moved, with another signature; and edges under the new names."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from codelens.model.history import SnapshotDifference, SymbolPlace
from codelens.snapshots.compare import compare_snapshots
from codelens.snapshots.facts import parse_facts
from tests.search.trees import Tree

pytestmark = pytest.mark.slow

CART = (
    "class Cart:\n    def add(self, x):\n        return total(x)\n\n\n"
    "def total(x):\n    def inner():\n        return x\n    return inner()\n"
)
BEFORE = {"cart.py": CART, "pay.py": "from cart import total\n\n\ndef pay(x):\n    return total(x)\n"}


def between(folder: Path, old: Mapping[str, str], new: Mapping[str, str]) -> SnapshotDifference:
    facts = []
    for name, files in (("old", old), ("new", new)):
        (folder / name).mkdir()
        with Tree(folder / name, files).index() as index:
            facts.append(index.read_facts())
    return compare_snapshots(*facts)


def told(places: tuple[SymbolPlace, ...]) -> list[str]:
    return [f"{p.path}:{p.symbol.line} {p.symbol.kind} {p.symbol.name}" for p in places]


def test_equal_states_do_not_differ(tmp_path: Path) -> None:
    assert between(tmp_path, BEFORE, BEFORE).empty


def test_lines_that_shift_are_no_difference(tmp_path: Path) -> None:
    assert between(tmp_path, BEFORE, BEFORE | {"cart.py": "# more\n\n" + CART}).empty


def test_added_and_removed_symbols_are_listed(tmp_path: Path) -> None:
    found = between(
        tmp_path,
        BEFORE,
        BEFORE | {"cart.py": CART.replace("def total", "def price").replace("total(x)\n\n", "price(x)\n\n")},
    )
    assert told(found.added) == ["cart.py:6 function price"]
    assert told(found.removed) == ["cart.py:6 function total"]
    assert ("Cart.add", "calls", "cart.py", "price") in [e.edge for e in found.edges_added]
    assert ("Cart.add", "calls", "cart.py", "total") in [e.edge for e in found.edges_removed]


def test_another_signature_is_a_change(tmp_path: Path) -> None:
    found = between(tmp_path, BEFORE, BEFORE | {"cart.py": CART.replace("def total(x)", "def total(x, tax=0)")})
    assert told(tuple(c.new for c in found.changed)) == ["cart.py:6 function total"]
    assert [(c.old.symbol.signature, c.new.symbol.signature) for c in found.changed] == [
        ("def total(x):", "def total(x, tax=0):")
    ]
    assert not (found.added or found.removed or found.moved or found.edges_added)


def test_a_symbol_moves_to_another_file_with_its_edges(tmp_path: Path) -> None:
    cart, total = CART.split("\n\n\n")
    after = {
        "cart.py": f"from sums import total\n\n\n{cart}\n",
        "sums.py": total,
        "pay.py": BEFORE["pay.py"].replace("cart", "sums"),
    }
    found = between(tmp_path, BEFORE, after)
    assert [(c.old.path, c.new.path, c.new.symbol.name) for c in found.moved] == [("cart.py", "sums.py", "total")]
    assert not (found.added or found.removed)
    calls = [e.edge for e in (*found.edges_added, *found.edges_removed) if e.edge.kind == "calls"]
    assert calls == []  # who calls it is the same as before


def test_a_method_moves_into_another_type(tmp_path: Path) -> None:
    found = between(tmp_path, BEFORE, BEFORE | {"cart.py": CART.replace("class Cart", "class Basket")})
    assert [(c.old.symbol.name, c.new.symbol.name) for c in found.moved] == [("Cart.add", "Basket.add")]
    assert told(found.added) == ["cart.py:1 class Basket"]


def test_two_of_one_name_are_no_evidence_of_a_move(tmp_path: Path) -> None:
    old = {"a.py": "def f():\n    pass\n", "b.py": "def f():\n    pass\n"}
    new = {"c.py": "def f():\n    pass\n", "d.py": "def f():\n    pass\n"}
    found = between(tmp_path, old, new)
    assert (len(found.added), len(found.removed), len(found.moved)) == (2, 2, 0)


def test_what_is_local_belongs_to_the_function_around_it(tmp_path: Path) -> None:
    found = between(tmp_path, BEFORE, BEFORE | {"cart.py": CART.replace("inner", "within")})
    assert found.empty


def test_facts_are_kept_as_text_and_read_again(tmp_path: Path) -> None:
    with Tree(tmp_path, BEFORE | {"odd\x1f é.py": 'def f(a="\\n"):\n    pass\n'}).index() as index:
        (line,) = index.list_snapshots()
        assert len(index.read_facts()) == 3
        assert index.read_facts(line.number) == index.read_facts()


@pytest.mark.parametrize("text", [b"", b"facts 0\n{}", b'"facts 2"'])
def test_facts_of_another_format_are_empty(text: bytes) -> None:
    assert list(parse_facts(text)) == []
