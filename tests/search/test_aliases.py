"""Aliases: the words of a short form or phrase from the user's own file, and how they replace those of the lexicon."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from codelens.errors import SettingsError
from codelens.index import Index
from codelens.search.lexicon import Aliases, add_related_words, load_aliases
from codelens.search.terms import expand_query
from codelens.store.store import Store
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


def related(text: str, store: Store, aliases: Aliases) -> list[tuple[str, str, str]]:
    return [
        (term.text, term.tier, term.origin)
        for term in add_related_words(expand_query([text], [], text), store, aliases, {}).extra
    ]


def test_own_aliases_replace_those_of_the_lexicon(index: Index, tree: Tree, own: Path) -> None:
    with Store.read(tree.db) as store, store.reading():
        assert related("k8s", store, {}) == [("kubernetes", "abbreviation", "k8s ~ kubernetes")]
        assert related("zc in the db of k8s", store, load_aliases(str(own))) == [
            ("zebra_crossing", "alias", "zc → zebra_crossing"),
            ("zebra", "alias", "zc → zebra_crossing"),
            ("crossing", "alias", "zc → zebra_crossing"),
            ("database", "abbreviation", "db ~ database"),
        ]


def test_a_phrase_can_be_an_alias(tree: Tree) -> None:
    with Store.read(tree.db) as store, store.reading():
        found = related("walk over the street", store, {"over street": ("crossing",)})
        assert ("crossing", "alias", "over street → crossing") in found


def test_a_search_finds_by_aliases_and_why_names_them(tree: Tree, index: Index) -> None:
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
        ("'one two three four five' = 'x'", "alias 'one two three four five' must be one to 4 words"),
        ("k8s = ", "Invalid value"),
        ("[table]\nk8s = 'kubernetes'", "alias 'table' must map to a string"),
    ],
)
def test_a_file_that_holds_no_aliases_is_an_error(text: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(text)
    with pytest.raises(SettingsError, match=said) as fault:
        load_aliases(str(path))
    assert str(path) in str(fault.value)


def test_a_missing_file_of_aliases_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="does not exist"):
        load_aliases(str(tmp_path / "none.toml"))
