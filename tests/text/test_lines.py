"""The map between parsed UTF-8 and a file's own bytes, for every encoding."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codelens.model.code import Span
from codelens.model.extraction import DecodedText
from codelens.text.lines import TextMap, build_excerpt, count_utf16_column
from tests.steps import calls

ALPHABETS = {
    "utf-8": "aé連😀\r\n\t x",
    "utf-16-le": "aé連😀\r\n\t x",
    "utf-16-be": "aé連😀\r\n\t x",
    "utf-32-le": "aé連😀\n",
    "latin-1": "aéÿ\r\n x",
    "cp1252": "a€“é\r\n x",
    "gb18030": "a连接😀é\r\n x",
    "gbk": "a连接\r\n x",
    "big5": "a連接\r\n x",
    "shift_jis": "aア接ｱ\r\n x",
    "cp932": "aア接ｱ①\r\n x",
    "euc_jp": "aア接ｱ\r\n x",
    "euc_kr": "a연결\r\n x",
    "cp949": "a연결똠\r\n x",
    "koi8-r": "aжЖ\r\n x",
}
MARKS = {"utf-8": 3, "utf-16-le": 2, "utf-16-be": 2, "utf-32-le": 4}


@st.composite
def decoded_texts(draw: st.DrawFn) -> DecodedText:
    encoding = draw(st.sampled_from(sorted(ALPHABETS)))
    text = draw(st.text(alphabet=ALPHABETS[encoding], max_size=40)) * draw(st.sampled_from([1, 1, 30]))
    return DecodedText(text, encoding, 1.0, draw(st.sampled_from([0, MARKS.get(encoding, 0)])))


@given(decoded_texts(), st.data())
def test_spans_mean_the_same_text_in_both(decoded: DecodedText, data: st.DataObject) -> None:
    raw = b"\xff" * decoded.bom + decoded.text.encode(decoded.encoding)
    made = TextMap(decoded)
    assert made.utf8 == decoded.text.encode()
    places = sorted(data.draw(st.tuples(*[st.integers(0, len(decoded.text))] * 2)))
    start, end = (len(decoded.text[:place].encode()) for place in places)
    theirs = raw[made.to_original(start) : made.to_original(end)]
    assert theirs.decode(decoded.encoding) == made.utf8[start:end].decode() == decoded.text[places[0] : places[1]]


@given(decoded_texts())
def test_ends_and_order(decoded: DecodedText) -> None:
    made = TextMap(decoded)
    ours = [made.to_original(place) for place in range(len(made.utf8) + 1)]
    assert ours[0] == decoded.bom
    assert ours[-1] == decoded.bom + len(decoded.text.encode(decoded.encoding))
    assert ours == sorted(ours)


@given(decoded_texts(), st.data())
def test_lines_and_columns(decoded: DecodedText, data: st.DataObject) -> None:
    made = TextMap(decoded)
    place = data.draw(st.integers(0, len(made.utf8)))
    line, column = made.find_line_column(place)
    before = made.utf8[:place]
    assert line == before.count(b"\n") + 1
    assert column == place - (before.rfind(b"\n") + 1) + 1
    assert made.lines == len(decoded.text.split("\n")) - (decoded.text.endswith("\n") or not decoded.text)


@given(st.text(alphabet="aé連😀\t", max_size=30), st.data())
def test_column_in_utf16_units(line: str, data: st.DataObject) -> None:
    place = data.draw(st.integers(0, len(line)))
    column = len(line[:place].encode()) + 1
    assert count_utf16_column(line, column) == len(line[:place].encode("utf-16-le")) // 2 + 1


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16-le", "gb18030", "koi8-r"])
def test_a_place_in_a_line_of_a_megabyte_takes_as_many_calls_as_in_a_short_line(encoding: str) -> None:
    def count_calls(repeats: int) -> int:
        made = TextMap(DecodedText(("x" * 9 + "ж") * repeats, encoding, 1.0, 0))
        made.to_original(0), made.find_line_column(0)  # makes the tables
        return calls(lambda: (made.to_original(len(made.utf8) - 2), made.find_line_column(len(made.utf8) - 2))).total()

    assert count_calls(100_000) == count_calls(10)


def test_only_newline_ends_a_line() -> None:
    made = TextMap(DecodedText("a\rb\x0cc\u2028d\r\ne", "utf-8", 1.0, 0))
    assert made.find_line_column(len(made.utf8)) == (2, 2)


WHOLE = b"abcdefghijklmnopqrstuvwxyz"


@st.composite
def pieces(draw: st.DrawFn) -> list[tuple[bytes, int, int]]:
    """Pieces of WHOLE in order of place: as they stand, or in other letters and another length."""
    cuts = sorted(set(draw(st.lists(st.integers(0, len(WHOLE)), max_size=12))))
    made = []
    for start, end in zip(cuts[::2], cuts[1::2], strict=False):
        text = WHOLE[start:end] if draw(st.booleans()) else b"#" * (end - start + 1)
        made.append((text, start, end))
    return made


@given(pieces(), st.data())
def test_a_part_lies_within_the_pieces_that_it_came_from(
    made: list[tuple[bytes, int, int]], data: st.DataObject
) -> None:
    taken = build_excerpt(made)
    start, end = sorted(data.draw(st.tuples(*[st.integers(0, len(taken.utf8))] * 2)))
    there = taken.map_span(Span(start, end))
    assert 0 <= there.start <= there.end <= len(WHOLE)
    part = taken.utf8[start:end]
    if part and b"#" not in part:
        held = b"".join(WHOLE[max(s, there.start) : min(e, there.end)] for text, s, e in made if b"#" not in text)
        assert held == part
    if part:
        assert there.end > there.start


def test_an_end_stays_in_its_piece_and_does_not_reach_over_what_was_left_out() -> None:
    taken = build_excerpt([(b"ab", 0, 2), (b"\n", 2, 4), (b"xy", 10, 12)])
    assert taken.map_span(Span(0, 2)) == Span(0, 2)
    assert taken.map_span(Span(0, 3)) == Span(0, 4)
    assert taken.map_span(Span(3, 4)) == Span(10, 11)
    assert taken.map_span(Span(5, 5)) == Span(12, 12)
    assert build_excerpt([]).map_span(Span(0, 0)) == Span(0, 0)
