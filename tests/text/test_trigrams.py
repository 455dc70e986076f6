"""Trigrams of texts: those that the index holds are those that a query asks for, and the table keeps each of them apart."""

from __future__ import annotations

from collections.abc import Callable

import apsw
import pytest
from hypothesis import given
from hypothesis import strategies as st

from codelens.store.migrate import migrate
from codelens.store.postings import quote_term
from codelens.text import terms
from codelens.text.terms import RUN, TRIGRAM_BLOCK, TextFilters, join_trigrams, list_trigrams

WORDS = st.lists(st.sampled_from(["gate", "shut", "water", "the", "level", "\t-", "Ä連", "x_y"]), max_size=12).map(
    " ".join
)
TEXTS = st.text(st.sampled_from("ab \n\r\t\0\x01\x7fÄßΣς-\"'連接"), max_size=60)


@given(TEXTS)
def test_the_index_holds_the_trigrams_that_a_query_asks_for(text: str) -> None:
    assert join_trigrams(text) == "".join(f"{trigram}\n" for trigram in sorted(list_trigrams(text)))


def test_a_long_text_is_read_in_blocks() -> None:
    text = "äb\n" + "".join(chr(0x4E00 + place % 5000) for place in range(2 * TRIGRAM_BLOCK + 1))
    assert join_trigrams(text).split("\n")[:-1] == sorted(list_trigrams(text))


def test_no_trigram_goes_over_the_end_of_a_line() -> None:
    assert list_trigrams("Ab\ncde") == ["cde"]
    assert list_trigrams("ab\ncd") == []


def test_no_trigram_has_another_control_character_than_a_tab() -> None:
    assert list_trigrams("\tif\r\n a\0b\x7f") == ["\tif"]


def test_the_table_keeps_every_printable_character() -> None:
    connection = apsw.Connection(":memory:")
    migrate(connection, with_vectors=False)
    text = "\t".join(map(chr, range(32, 127))) + "\tÄ連接"
    connection.execute("INSERT INTO text_trigrams (rowid, text) VALUES (1, ?)", (join_trigrams(text),)).fetchall()
    for trigram in list_trigrams(text):
        sql = "SELECT rowid FROM text_trigrams WHERE text_trigrams MATCH ?"
        assert connection.execute(sql, (quote_term(trigram),)).fetchall() == [(1,)], trigram


@given(WORDS, st.data())
def test_a_filter_lacks_nothing_that_its_text_holds(text: str, data: st.DataObject) -> None:
    filters = filters_of(text)
    begin = data.draw(st.integers(0, len(text)))
    assert not filters.lacks(1, text[begin : data.draw(st.integers(begin, len(text)))])


def test_a_filter_lacks_what_its_text_does_not_hold() -> None:
    filters = filters_of("the gate stays shut until the water is level, and no boat may enter")
    lacking = ["gate stays open", "water is low", "boats may", "enter the gate", "no_boat", "a letter"]
    assert [text for text in lacking if filters.lacks(1, text)] == lacking
    assert not filters.lacks(1, "boats"), f"it has fewer than {RUN} letters"
    assert not filters.lacks(1, "äöüäöüäöü"), "only ASCII is looked up"
    assert not filters.lacks(2, "gate stays open"), "no text of this number was read"


def test_the_first_texts_and_those_above_a_limit_get_no_filter(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[int] = []

    def reading(number: int) -> Callable[[], list[str]]:
        return lambda: [read.append(number) or "boat " * 100]  # type: ignore[func-returns-value]

    monkeypatch.setattr(terms, "READ_BEFORE", 3)
    monkeypatch.setattr(terms, "MOST_OF_FILTERS", 100)
    filters = TextFilters()
    for number in (1, 2, 3, 4, 4, 5, 6, 7):
        filters.keep(number, reading(number))
    assert read == [4, 5], "64 bytes each"


def filters_of(text: str) -> TextFilters:
    filters = TextFilters()
    filters._read = terms.READ_BEFORE
    filters.keep(1, lambda: [text])
    return filters
