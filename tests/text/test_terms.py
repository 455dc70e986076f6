"""The shorter text that the trigram index reads has the same trigrams within lines."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from codelens.text.terms import distinct_lines, trigrams

TEXTS = st.text(st.sampled_from("ab \n\r\tÄ-"), max_size=60)


@given(TEXTS)
def test_distinct_lines_have_the_same_trigrams(text: str) -> None:
    assert sorted(trigrams(distinct_lines(text))) == sorted(trigrams(text))


def test_distinct_lines_are_shorter() -> None:
    text = "    return 0\n\n    return 0\n" + " " * 40 + "x\n"
    assert distinct_lines(text) == "   return 0\n\n   x"


def test_no_trigram_goes_over_the_end_of_a_line() -> None:
    assert trigrams("Ab\ncde") == ["cde"]
    assert trigrams("ab\ncd") == []
