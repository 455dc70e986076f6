"""Aliases: the additional words of a short form, the profiles that use them, and the user's own file."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from codelens.errors import SettingsError
from codelens.index import Index
from codelens.search.terms import expand, own_aliases, shipped_aliases, with_aliases
from tests.search.trees import QUICK, Tree, ask, checked, find, names

FILES = {
    "a.py": "def kubernetes_rollout():\n    return 1\n",
    "b.py": "def zebra_crossing():\n    return 2\n",
    "c.py": "def stripes():\n    return 3\n",
}


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Tree:
    tree = Tree(tmp_path_factory.mktemp("aliases"), FILES, replace(QUICK, vector=False))
    tree.index().close()
    return tree


@pytest.fixture
def index(tree: Tree, own: Path) -> Iterator[Index]:
    with Index.open(tree.db, replace(tree.settings, aliases=str(own))) as opened:
        yield opened


@pytest.fixture
def own(tmp_path: Path) -> Path:
    path = tmp_path / "aliases.toml"
    path.write_text("zc = 'zebra_crossing'\nstripy = 'stripes zebra'\nK8S = ''\n")
    return path


def test_shipped_ones_are_some_thirty_single_words() -> None:
    shipped = shipped_aliases()
    assert 30 <= len(shipped) <= 40
    assert shipped["k8s"] == ("kubernetes",)
    assert shipped["auth"] == ("authentication", "authorization")
    assert all(word not in meant for word, meant in shipped.items())


def test_they_are_terms_of_their_own_tier() -> None:
    query = with_aliases(expand(["auth of k8s"], [], "auth of k8s"), "", shipped=True)
    assert [(t.text, t.tier, t.origin) for t in query.extra] == [
        ("authentication", "alias", "auth → authentication"),
        ("authorization", "alias", "auth → authorization"),
        ("kubernetes", "alias", "k8s → kubernetes"),
    ]
    assert {"auth", "k8s"} <= {t.text for t in query.words}, "an alias stands beside its word"


def test_own_aliases_join_abbreviations_and_replace_shipped_ones(own: Path) -> None:
    query = expand(["zc in the db of k8s"], [], "")
    assert [t.text for t in with_aliases(query, str(own), shipped=False).extra] == [
        "database", "kubernetes", "zebra_crossing", "zebra", "crossing",
    ]  # fmt: skip
    assert [t.text for t in with_aliases(query, str(own), shipped=True).extra] == [
        "zebra_crossing", "zebra", "crossing", "database",
    ]  # fmt: skip


def test_a_search_finds_by_them_and_why_tells(tree: Tree, index: Index) -> None:
    assert names(find(index, "zc", mode="exact")) == ["zebra_crossing"]
    terms = ask(index, "stripy", mode="exact").search.trace.terms
    assert [t for t in terms if t[0] == "alias"] == [
        ("alias", "stripes", "stripy → stripes"),
        ("alias", "zebra", "stripy → zebra"),
    ]
    assert set(names(find(index, "stripy", mode="exact"))) == {"stripes", "zebra_crossing"}
    checked(index, "stripy")
    with Index.open(tree.db, tree.settings) as without:
        assert names(find(without, "zc", mode="exact")) == []


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("k8s = ['kubernetes']", "alias 'k8s' must map to a string"),
        ("'two words' = 'x'", "alias 'two words' must be one word"),
        ("k8s = ", "Invalid value"),
        ("[table]\nk8s = 'kubernetes'", "alias 'table' must map to a string"),
    ],
)
def test_a_file_that_says_something_else(text: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(text)
    with pytest.raises(SettingsError, match=said) as fault:
        own_aliases(str(path))
    assert str(path) in str(fault.value)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="does not exist"):
        own_aliases(str(tmp_path / "none.toml"))
