"""The lexicon: its file, how entries are found in a query, how strong their words are, and what switches them off."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from codelens.config import load_weights
from codelens.index import Index
from codelens.model.search import Term
from codelens.search.lexicon import (
    ALIAS,
    LONGEST_PHRASE,
    MECHANISM,
    NARROWER,
    SAME,
    SHIPPED,
    Lexicon,
    LexiconEntry,
    find_entries,
    load_lexicon,
    read_entries,
    select_related_terms,
)
from codelens.search.terms import expand_query
from codelens.store.store import Store
from tests.search.trees import QUICK, Tree, ask, find, names
from tools.model.words import COUNTS

FILES = {
    "cache.py": "def evict_expired(entries):\n    return [entry for entry in entries if entry.fresh]\n",
    "web.py": "def redirect(location):\n    return location\n",
    "other.py": "".join(f"def helper_{n}():\n    return {n}\n\n\n" for n in range(30)),
}
WEIGHTS = {SAME: 0.6, NARROWER: 0.5, MECHANISM: 0.4, "decay": 0.5, "considered": 10, "most": 5, "common": 0.5}


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Tree:
    tree = Tree(tmp_path_factory.mktemp("lexicon"), FILES, replace(QUICK, vector=False))
    tree.index().close()
    return tree


@pytest.fixture
def store(tree: Tree) -> Iterator[Store]:
    with Store.read(tree.db) as opened, opened.reading():
        yield opened


def entries(text: str, aliases: dict[str, tuple[str, ...]] | None = None) -> dict[str, tuple[str, ...]]:
    query = expand_query([text], [], text)
    return {e.phrase: tuple(word for word, _ in e.related) for e in find_entries(query, aliases or {}, load_lexicon())}


def test_the_file_is_sorted_complete_and_small() -> None:
    lines = SHIPPED.read_bytes().splitlines()
    keys = [line.split(b"\t")[0] for line in lines]
    assert len(lines) >= 10_000 and SHIPPED.stat().st_size < 1_000_000
    assert lines == sorted(lines) and len(set(keys)) == len(keys)
    stem = load_lexicon().stem
    for line in lines:
        key, phrase, related = line.decode().split("\t")
        assert key == " ".join(map(stem, phrase.split())) and len(phrase.split()) <= LONGEST_PHRASE and related


def test_every_related_word_occurs_in_two_training_packages() -> None:
    packages = {word: int(count) for word, count in (line.split("\t") for line in COUNTS.read_text().splitlines())}
    rare = {word for _, words in read_entries() for word in words if packages.get(word, 0) < 2}
    assert not rare


def test_a_phrase_goes_before_its_words() -> None:
    found = entries("throw away the entry")
    assert "discard" in found["throw away"]
    assert "throw" not in found
    assert "raise" in entries("throw")["throw"]


def test_an_alias_replaces_an_entry_and_an_empty_one_removes_it() -> None:
    assert entries("throw away", {"throw away": ("shred",)}) == {"throw away": ("shred",)}
    assert "throw" not in {phrase for phrase, words in entries("throw", {"throw": ()}).items() if words}


def test_a_word_is_as_strong_as_its_relation_place_and_agreement(store: Store) -> None:
    query = expand_query(["outdated page bounce"], [], "")
    asked = [
        LexiconEntry("outdated", ("outdated",), (("fresh", SAME), ("evict", NARROWER), ("nowhere", SAME))),
        LexiconEntry("page", ("page",), (("evict", MECHANISM), ("helper", SAME))),
        LexiconEntry("bounce", ("bounce",), (("redirect", ALIAS),)),
    ]
    found = {term.text: term for term in select_related_terms(asked, query, store, WEIGHTS)}
    assert found.keys() == {"fresh", "evict"}, "a word that no unit has, one that most have, and an alias are left out"
    assert found["fresh"].strength == pytest.approx(0.6)
    assert found["evict"].strength == pytest.approx(1 - (1 - 0.25) * (1 - 0.4))
    assert found["evict"] == Term(
        "evict", "lexicon", "outdated → evict; page → evict", found["evict"].strength, ("outdated", "page")
    )


def test_a_query_in_other_words_finds_and_why_names_the_entry(tree: Tree) -> None:
    with Index.open(tree.db, tree.settings) as index:
        assert names(find(index, "bounce somewhere else"))[0] == "redirect"
        terms = ask(index, "bounce somewhere else").search.trace.terms
        assert any(tier == "lexicon" and text == "redirect" and "→ redirect" in origin for tier, text, origin in terms)
        assert not names(find(index, "bounce somewhere else", mode="exact"))


def test_a_setting_switches_the_lexicon_off(tree: Tree) -> None:
    with Index.open(tree.db, replace(tree.settings, lexicon=False)) as index:
        assert not [term for term in ask(index, "bounce somewhere else").search.trace.terms if term[0] == "lexicon"]


def test_an_own_alias_removes_what_an_entry_gives(tree: Tree, tmp_path: Path) -> None:
    own = tmp_path / "aliases.toml"
    own.write_text("bounce = ''\n")
    with Index.open(tree.db, replace(tree.settings, aliases=str(own))) as index:
        terms = ask(index, "bounce").search.trace.terms
        assert [term[0] for term in terms] == ["component"]


class CountingLexicon(Lexicon):
    """Counts the phrases that are looked up."""

    lookups = 0

    def look_up(self, words: Iterable[str]) -> tuple[tuple[str, str], ...]:
        self.lookups += 1
        return super().look_up(words)


@pytest.mark.parametrize("count", [50, 100, 200])
def test_phrases_are_looked_up_a_fixed_number_of_times_for_each_word(count: int) -> None:
    lexicon, text = CountingLexicon(SHIPPED), " ".join(f"thing{chr(97 + n % 26)}{n}" for n in range(count))
    query = expand_query([text], [], text)
    assert len(list(find_entries(query, {}, lexicon))) < count
    assert count < lexicon.lookups <= LONGEST_PHRASE * len(query.words)


def test_the_terms_of_a_long_query_are_limited(store: Store) -> None:
    text = " ".join(f"outdated thing{n}" for n in range(300))
    most = load_weights()["codelens"]["related"]
    query = expand_query([text], [], text)
    found = select_related_terms(list(find_entries(query, {}, load_lexicon())), query, store, most)
    assert len(found) <= most["most"]
