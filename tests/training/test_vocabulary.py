"""Words → rows: frequent ones have their own, others are made of pieces."""

from __future__ import annotations

from codelens.embed.model_file import PIECE, find_word_rows
from codelens.text.terms import split_into_words
from codelens.training.corpus import TEXTS, Encoder, map_to_rows
from tests.training.small import pairs
from tools.model.build import build, frequencies


def test_a_token_is_split_as_the_index_splits_it() -> None:
    assert split_into_words("getHTTPResponse") == ["get", "http", "response"]
    assert split_into_words("parse") == ["parse"]
    assert split_into_words("_") == []
    assert split_into_words("x" * 200) == []


def test_a_rare_word_is_made_of_its_longest_known_beginnings() -> None:
    known = {name: i for i, name in enumerate(["parse", PIECE + "pars", PIECE + "p", PIECE + "er", PIECE + "s"])}
    assert find_word_rows("parse", known.get) == [0]
    assert find_word_rows("parser", known.get) == [1, 3]
    assert find_word_rows("xps", known.get) == [2, 4], "letters without a piece are passed over"
    assert find_word_rows("pppppppppppppppppppp", known.get) == [2] * 12


def test_the_most_frequent_words_come_first_and_pieces_are_of_the_rest() -> None:
    rows = build({"load": 9, "user": 9, "loader": 2, "loading": 2, "unload": 1}, 2, 30)
    assert rows[:2] == ["load", "user"]
    assert all(name.startswith(PIECE) for name in rows[2:])
    assert PIECE + "load" in rows
    assert len(rows) == len(set(rows))


def test_rows_keep_every_bag() -> None:
    encoder = Encoder()
    encoder.add("one", pairs(1, 20))
    words = encoder.build_corpus()
    rows = build(frequencies(words), 10, 60)
    found = map_to_rows(words, rows)
    assert len(found) == 20
    assert len(found.starts) == 20 * len(TEXTS) + 1
    for bag in range(0, 100, 7):
        expected: dict[int, int] = {}
        for at in range(words.starts[bag], words.starts[bag + 1]):
            for row in find_word_rows(words.words[words.ids[at]], {n: i for i, n in enumerate(rows)}.get):
                expected[row] = expected.get(row, 0) + int(words.counts[at])
        got: dict[int, int] = {}
        for at in range(found.starts[bag], found.starts[bag + 1]):
            got[int(found.ids[at])] = got.get(int(found.ids[at]), 0) + int(found.counts[at])
        assert got == expected
