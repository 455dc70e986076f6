"""Trigrams of texts: those that the index holds are those that a query asks for, and the table keeps each of them apart."""

from __future__ import annotations

import apsw
from hypothesis import given
from hypothesis import strategies as st

from codelens.store.migrate import migrate
from codelens.store.postings import quoted
from codelens.text.terms import TRIGRAM_BLOCK, joined_trigrams, trigrams

TEXTS = st.text(st.sampled_from("ab \n\r\t\0\x01\x7fÄßΣς-\"'連接"), max_size=60)


@given(TEXTS)
def test_the_index_holds_the_trigrams_that_a_query_asks_for(text: str) -> None:
    assert joined_trigrams(text) == "".join(f"{trigram}\n" for trigram in sorted(trigrams(text)))


def test_a_long_text_is_read_in_blocks() -> None:
    text = "äb\n" + "".join(chr(0x4E00 + place % 5000) for place in range(2 * TRIGRAM_BLOCK + 1))
    assert joined_trigrams(text).split("\n")[:-1] == sorted(trigrams(text))


def test_no_trigram_goes_over_the_end_of_a_line() -> None:
    assert trigrams("Ab\ncde") == ["cde"]
    assert trigrams("ab\ncd") == []


def test_no_trigram_has_another_control_character_than_a_tab() -> None:
    assert trigrams("\tif\r\n a\0b\x7f") == ["\tif"]


def test_the_table_keeps_every_printable_character() -> None:
    connection = apsw.Connection(":memory:")
    migrate(connection, with_vectors=False)
    text = "\t".join(map(chr, range(32, 127))) + "\tÄ連接"
    connection.execute("INSERT INTO text_trigrams (rowid, text) VALUES (1, ?)", (joined_trigrams(text),)).fetchall()
    for trigram in trigrams(text):
        sql = "SELECT rowid FROM text_trigrams WHERE text_trigrams MATCH ?"
        assert connection.execute(sql, (quoted(trigram),)).fetchall() == [(1,)], trigram
