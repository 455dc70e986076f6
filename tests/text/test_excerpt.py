"""Excerpts: every part of one leads to the bytes that it was taken from."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from codelens.model import Span
from codelens.text.excerpt import excerpt

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
    taken = excerpt(made)
    start, end = sorted(data.draw(st.tuples(*[st.integers(0, len(taken.utf8))] * 2)))
    there = taken.whole(Span(start, end))
    assert 0 <= there.start <= there.end <= len(WHOLE)
    part = taken.utf8[start:end]
    if part and b"#" not in part:
        held = b"".join(WHOLE[max(s, there.start) : min(e, there.end)] for text, s, e in made if b"#" not in text)
        assert held == part
    if part:
        assert there.end > there.start


def test_an_end_stays_in_its_piece_and_does_not_reach_over_what_was_left_out() -> None:
    taken = excerpt([(b"ab", 0, 2), (b"\n", 2, 4), (b"xy", 10, 12)])
    assert taken.whole(Span(0, 2)) == Span(0, 2)
    assert taken.whole(Span(0, 3)) == Span(0, 4)
    assert taken.whole(Span(3, 4)) == Span(10, 11)
    assert taken.whole(Span(5, 5)) == Span(12, 12)
    assert excerpt([]).whole(Span(0, 0)) == Span(0, 0)
