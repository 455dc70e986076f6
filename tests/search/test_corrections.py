"""Words that no unit has: which words of the index stand in for them, and which never do."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rapidfuzz.distance import OSA

from codelens.search.lexicon import (
    LETTERS_PER_SLIP,
    LONGEST_ENDING,
    MIN_WORD_LETTERS,
    MOST_CORRECTIONS,
    MOST_SLIPS_IN_A_WORD,
    add_corrections,
)
from codelens.search.terms import expand_query
from codelens.store.store import Store
from tests.search.trees import Tree

WORDS = (
    *("event", "exit", "exist", "receive", "exception", "journal", "flush", "connection", "configuration", "timeout"),
    *("pattern", "request", "requests", "responses", "deliberately", "pod", "entry", "parse", "middle", "middleware"),
)
SLIPS = (
    ("recieve", ["receiv"]),
    ("recieved", ["receiv"]),
    ("exceptoin", ["except"]),
    ("jounral", ["journal"]),
    ("conection", ["connect"]),
    ("configuartion", ["configur"]),
    ("timoeut", ["timeout"]),
    ("requset", ["request"]),
)
NONE = ("eviction", "flumoxer", "kubernetes", "evnt", "flsh", "kournal", "xournal", "c0nnection", "podd", "entri3s")
"""The first letter, or too much, is wrong; the word is too short to be sure; or it is no word."""


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    tree = Tree(tmp_path_factory.mktemp("words"), {"notes.txt": "\n".join(f"a {word} here" for word in WORDS)})
    tree.index().close()
    with Store.read(tree.db) as opened:
        yield opened


def corrected(query: str, store: Store) -> dict[str, list[str]]:
    """Word of the query → what stands in for it, best first."""
    found: dict[str, list[str]] = {}
    for term in add_corrections(expand_query([query], (), query), store).extra:
        if term.tier == "spelling":
            word, _, written = term.origin.partition(" ~ ")
            assert written == term.text
            assert written in WORDS, "the word as it is written, not its stem"
            found.setdefault(word, []).append(store.postings.stem(written))
    return found


@pytest.mark.parametrize(("word", "meant"), SLIPS)
def test_a_slip_is_read_as_the_word_that_it_is_near(word: str, meant: list[str], store: Store) -> None:
    assert corrected(word, store) == {word: meant}


@pytest.mark.parametrize("word", NONE)
def test_a_word_that_resembles_no_other_is_not_corrected(word: str, store: Store) -> None:
    assert corrected(word, store) == {}


@pytest.mark.parametrize("word", [*WORDS, "events", "exiting", "receives", "exceptions", "flushed", "parsing"])
def test_a_known_word_is_never_corrected(word: str, store: Store) -> None:
    assert corrected(word, store) == {}


def test_each_unknown_word_is_corrected_by_itself(store: Store) -> None:
    assert corrected("recieve an exceptoin of kubernetes", store) == {"recieve": ["receiv"], "exceptoin": ["except"]}


@given(st.text("acdeimnoprstuvx", min_size=1, max_size=14))
def test_a_word_has_few_corrections_of_few_slips(store: Store, word: str) -> None:
    for own, meant in corrected(word, store).items():
        assert len(own) >= MIN_WORD_LETTERS
        assert len(meant) <= MOST_CORRECTIONS
        for term in meant:
            ending = own.startswith(term) and len(own) - len(term) <= LONGEST_ENDING
            slips = min(OSA.distance(form, term) for form in (own, store.postings.stem(own)))
            assert term[0] == own[0]
            assert ending or slips <= min(MOST_SLIPS_IN_A_WORD, len(term) // LETTERS_PER_SLIP)


@given(st.sampled_from(WORDS), st.data())
def test_a_swap_within_a_long_word_is_found(store: Store, word: str, data: st.DataObject) -> None:
    stem = store.postings.stem(word)
    if len(stem) < 2 * LETTERS_PER_SLIP - 1:
        return
    at = data.draw(st.integers(1, len(stem) - 2))
    swapped = stem[:at] + stem[at + 1] + stem[at] + stem[at + 2 :]
    if swapped != stem and not store.postings.count_units(swapped):
        assert stem in corrected(swapped, store).get(swapped, [])
