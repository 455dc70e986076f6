"""The kind of a query, and the shares of the sets of weights."""

from __future__ import annotations

import math
from itertools import pairwise

import pytest

from codelens.errors import UsageError
from codelens.model.search import Intent
from codelens.query.parser import parse_query
from codelens.search.intent import INTENTS, SHAPES, detect_intent


def told(query: str, asked: str = "") -> Intent:
    intent = detect_intent(parse_query(query), asked)
    assert intent is not None
    assert math.isclose(math.fsum(intent.shares.values()), 1.0)
    assert set(intent.shares) <= set(SHAPES)
    assert intent.reason
    return intent


def test_an_option_names_the_intent() -> None:
    assert {told("close a boat", name).name for name in INTENTS} == set(INTENTS)
    with pytest.raises(UsageError, match="no intent 'tale'"):
        detect_intent(parse_query("close a boat"), "tale")


def test_conditions_alone_rank_nothing() -> None:
    assert detect_intent(parse_query("lang:go -is:test")) is None
    assert told("lang:go parse_config").name == "identifier", "a condition is no word of the question"


def test_what_a_subject_line_says_stands_before_its_colon() -> None:
    assert told("fix(parser): crash on empty input").shares == {"change": 1.0}


LONG_SUBJECT = "Fix crash of parser on empty input after reset when buffers were swapped twice by two threads of pool"


def test_one_word_more_moves_the_shares_by_little() -> None:
    words = LONG_SUBJECT.split()
    shares = [told(" ".join(words[:count])).shares.get("task", 0.0) for count in range(9, len(words) + 1)]
    assert shares == sorted(shares)
    assert shares[0] < 0.1 < 0.99 < shares[-1]
    assert max(after - before for before, after in pairwise(shares)) < 0.35


def test_a_sentence_that_describes_is_not_a_task() -> None:
    assert told("Returns the number of the items in a list").shares.keys() == {"question"}
    assert "task" in told("Return the number of the items in a list").shares
