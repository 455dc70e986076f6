"""Which lines satisfy a query, compared with what Python's own `re` finds on each line by itself."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codelens.model.budget import OutOfTime, TimeBudget
from codelens.query.lines import FoundLine, find_lines, make_line_query
from codelens.query.nodes import Filter, Node
from codelens.query.parser import parse_query
from codelens.query.patterns import LineReach, find_reach
from codelens.text.terms import fold
from tests.query.plans import admits

TEXT = "foo bar\nbar foo\nFoo\nfoobar\n\nlast foo"


def found(text: str, query: str, reading: dict[str, bool] | None = None, **flags: bool) -> list[FoundLine]:
    parsed = parse_query(query, **(reading or {}))
    asked = make_line_query(parsed.node, parsed.case, **flags)
    lines = find_lines(text, asked, lambda _: None, TimeBudget())
    assert admits(asked.plan(), fold(text)) or not lines, "trigrams would hide it"
    return lines


def numbers(text: str, query: str, reading: dict[str, bool] | None = None, **flags: bool) -> list[int]:
    return [line.number for line in found(text, query, reading, **flags)]


@pytest.mark.parametrize(
    ("query", "flags", "expected"),
    [
        ("foo", {}, [0, 1, 2, 3, 5]),
        ("Foo", {}, [2]),
        ("foo case:yes", {}, [0, 1, 3, 5]),
        ("Foo case:no", {}, [0, 1, 2, 3, 5]),
        ("foo bar", {}, [0, 1, 3]),
        ("foo Bar", {}, []),
        ("foo -bar", {}, [2, 5]),
        ("-foo", {}, [4]),
        ("foo OR last", {}, [0, 1, 2, 3, 5]),
        ("bar (last OR foobar)", {}, [3]),
        ("fo*", {}, [0, 1, 2, 3, 5]),
        ("ba*", {}, [0, 1]),
        ("`foo`", {}, [0, 1, 2, 5]),
        ('"foo bar"', {}, [0]),
        ("content:last,bar", {}, [0, 1, 3, 5]),
        ("/o$/", {}, [1, 2, 5]),
        ("/^foo/ bar", {}, [0, 3]),
        ("foo", {"whole_word": True}, [0, 1, 2, 5]),
        ("/fo+/", {"whole_word": True}, [0, 1, 2, 5]),
        ("foo", {"whole_line": True}, [2]),
        ("/fo+/", {"whole_line": True}, [2]),
        ("foo", {"invert": True}, [4]),
        ("foo bar", {"invert": True}, [2, 4, 5]),
    ],
)
def test_every_word_must_be_on_the_line(query: str, flags: dict[str, bool], expected: list[int]) -> None:
    assert numbers(TEXT, query, **flags) == expected


@pytest.mark.parametrize(
    ("text", "query", "ranges"),
    [
        ("aaa", '"a"', [(0, 1), (1, 2), (2, 3)]),
        ("aaaa", '"aa"', [(0, 2), (2, 4)]),
        ("ab ba", "a b", [(0, 1), (1, 2), (3, 4), (4, 5)]),
        ("abc", '"ab" OR "bc"', [(0, 3)]),
        ("abc", "-xx /z*/", []),
    ],
)
def test_ranges_of_a_line_are_sorted_and_disjoint(text: str, query: str, ranges: list[tuple[int, int]]) -> None:
    assert [line.ranges for line in found(text, query)] == [tuple(ranges)]


def test_a_whole_word_has_no_letter_beside_it() -> None:
    """As in ripgrep: also beside a text that begins with a dash."""
    assert numbers("x->foo\n ->foo\n->foo_\n(->foo)", '"->foo"', whole_word=True) == [1, 3]


@pytest.mark.parametrize(
    ("source", "reach"),
    [
        (r"\bfn \w+", LineReach.IN_LINE),
        (r"[^\n]*x", LineReach.IN_LINE),
        (r"(?i:a|b\S)+?", LineReach.IN_LINE),
        (r"foo\s+bar", LineReach.MAY_CROSS),
        (r"[^a]", LineReach.MAY_CROSS),
        (r"x(?!\s)", LineReach.MAY_CROSS),
        (r"(?>a\W)", LineReach.MAY_CROSS),
        ("[\x00- ]", LineReach.MAY_CROSS),
        (r"[[:alpha:]]", LineReach.MAY_CROSS),
        (r"a\nb", LineReach.OVER_LINES),
        (r"[\n,]", LineReach.OVER_LINES),
        (r"(?s)a.b", LineReach.OVER_LINES),
        (r"(?s:a.b)", LineReach.OVER_LINES),
    ],
)
def test_the_line_breaks_that_a_pattern_may_match(source: str, reach: LineReach) -> None:
    assert find_reach(source) is reach


def test_a_match_lies_on_one_line_unless_it_names_line_breaks() -> None:
    assert numbers("a\nb\na b\n", r"a\s+b", {"regex": True}) == [2]
    assert numbers("a\nb\na b\n", r"a\nb", {"regex": True}) == [0]
    assert numbers("a\nb\na b\n", "(?s:a.b)", {"regex": True}) == [0, 2]
    assert numbers("a\nb\nab", "a\nb", {"literal": True}) == [0]
    assert found("a\nb", r"a\nb", {"regex": True})[0].ranges == ((0, 1),), "what follows is on another line"


def test_a_line_ends_before_its_carriage_return() -> None:
    text = "one\r\ntwo \r\n\r\n"
    assert numbers(text, "e$", {"regex": True}) == [0]
    assert numbers(text, "^$", {"regex": True}) == [2]
    assert numbers(text, "one", {"literal": True}, whole_line=True) == [0]
    assert [text[line.begin : line.end] for line in found(text, ".", {"regex": True})] == ["one", "two "]


def test_the_last_line_needs_no_break_and_none_follows_it() -> None:
    assert numbers("", "", {"regex": True}) == []
    assert numbers("a", "", {"regex": True}) == numbers("a\n", "", {"regex": True}) == [0]
    assert numbers("a\n\n", "^$", {"regex": True}) == [1]
    assert numbers("a\nb\n", "x", invert=True) == [0, 1]


def places(spans: dict[str, Sequence[tuple[int, int]] | None]) -> Any:
    def where(node: Node) -> Sequence[tuple[int, int]] | None:
        assert isinstance(node, Filter)
        return spans[node.field]

    return where


def test_conditions_on_places_narrow_down_and_are_not_inverted() -> None:
    where = places({"kind": [(1, 3), (2, 2)], "lang": None, "sym": []})

    def lines(query: str, **flags: bool) -> list[int]:
        asked = make_line_query(parse_query(query).node, **flags)
        return [line.number for line in find_lines(TEXT, asked, where, TimeBudget())]

    assert lines("foo kind:class") == [1, 2, 3]
    assert lines("bar kind:class", invert=True) == [2]
    assert lines("foo lang:go") == [0, 1, 2, 3, 5]
    assert lines("foo sym:x") == []
    assert lines("foo -kind:class") == [0, 5]
    assert lines("(foo kind:class) OR last") == [1, 2, 3, 5]
    assert lines("kind:class") == [1, 2, 3]


TEXTS = st.text("aAb _-\n\r\t.", max_size=60)
SOURCES = [
    "a",
    "ab*",
    "a|b",
    "^a",
    "b$",
    r"\s",
    r"a\s+b",
    "[^a]",
    r"\w+",
    "x*",
    "^$",
    ".*",
    r"\ba",
    "(a)(b)?",
    "a{2,}",
    "[ab]_",
]


def lines_of(text: str) -> list[str]:
    return [line.removesuffix("\r") for line in text.removesuffix("\n").split("\n")] if text else []


@given(TEXTS, st.sampled_from(SOURCES), st.booleans())
def test_a_pattern_matches_each_line_as_if_it_were_alone(text: str, source: str, ignore_case: bool) -> None:
    lone = [line for line in lines_of(text) if "\r" not in line]
    if len(lone) < len(lines_of(text)):
        return  # `re` and `regex` differ in what a carriage return in a line is
    flags = re.IGNORECASE if ignore_case else 0
    expected = {
        number: tuple(match.span() for match in re.finditer(source, line, flags) if match[0])
        for number, line in enumerate(lone)
        if re.search(source, line, flags)
    }
    case = "no" if ignore_case else "yes"
    asked = make_line_query(parse_query(source, regex=True).node, case)
    assert {line.number: line.ranges for line in find_lines(text, asked, lambda _: None, TimeBudget())} == expected


@given(TEXTS, st.text("aAb _-.", min_size=1, max_size=3), st.booleans(), st.booleans())
def test_a_literal_matches_as_its_escaped_pattern(text: str, wanted: str, whole_word: bool, whole_line: bool) -> None:
    flags = {"whole_word": whole_word, "whole_line": whole_line}
    literal = found(text, wanted, {"literal": True}, **flags)
    assert literal == found(text, re.escape(wanted), {"regex": True}, **flags)


@given(TEXTS, st.sampled_from(SOURCES))
def test_the_first_match_of_each_line_suffices(text: str, source: str) -> None:
    """What -l, -c and plain lines ask for: the same lines, each with the first of its ranges."""
    asked = make_line_query(parse_query(source, regex=True).node)
    every = find_lines(text, asked, lambda _: None, TimeBudget())
    object.__setattr__(asked, "every_match", False)
    first = find_lines(text, asked, lambda _: None, TimeBudget())
    assert [line.number for line in first] == [line.number for line in every]
    for one, all_of_them in zip(first, every, strict=True):
        assert len(one.ranges) <= 1
        assert not one.ranges or one.ranges[0] in all_of_them.ranges


@given(TEXTS, st.sampled_from(["a", "a b", "-a", "a OR b", "a -b", '"a b"', "/a+/ b"]))
def test_inverting_twice_changes_nothing(text: str, query: str) -> None:
    plain, inverted = numbers(text, query), numbers(text, query, invert=True)
    assert sorted(plain + inverted) == list(range(len(lines_of(text))))


def test_a_slow_pattern_is_stopped() -> None:
    asked = make_line_query(parse_query("(a|aa)+$", regex=True).node)
    budget = TimeBudget(0.05)
    with pytest.raises(OutOfTime):
        find_lines("a" * 50 + "b", asked, lambda _: None, budget)
    assert "/(a|aa)+$/ took too long" in budget.cut[0]
