"""For any input, the parser raises only QueryError, and only if the query is strict; no character is lost."""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from codelens.errors import QueryError
from codelens.query.conditions import evaluate_node, plan_literals
from codelens.query.facts import Facts, Matching
from codelens.query.nodes import And, Filter, Node, Not, Or, Word, format_node
from codelens.query.parser import Faults, Lexer, parse_query
from tests.tiers import examples

PIECES = [
    *'()"`/-:,\\ \t\n\0\ud800*+[]{}|?.',
    *(
        "OR",
        "AND",
        "NOT",
        "a",
        "Foo",
        "x.y",
        "()",
        '"a b"',
        "`n`",
        "/r+/",
        "/(/",
        "lang:",
        "lang:go",
        "lang:xx",
        "case:no",
    ),
    *("path:", "pth:", "is:test", "kind:def", 'content:"', "-", "--", "ſ", "中文", "note:", "::", "//"),
]
prose = st.one_of(st.lists(st.sampled_from(PIECES), max_size=25).map("".join), st.text(max_size=60))
LANGUAGES = ("go", "python")
FACTS = Facts("a/b.go", "r", "go", frozenset(), {}, "class", "Foo", "Foo", "class Foo: n a b r")


def leaf_count(node: Node | None) -> int:
    if isinstance(node, And | Or):
        return sum(map(leaf_count, node.parts))
    return leaf_count(node.part) if isinstance(node, Not) else int(node is not None)


@settings(deadline=None, max_examples=examples(500))
@given(prose)
@example('(("a" OR')
@example('-path:(a,"b')
@example("NOT (case:yes)")
@example("-(-((")
def test_prose_never_fails(text: str) -> None:
    query = parse_query(text, known_languages=LANGUAGES)
    assert (query.node is None) == (not text.strip()) or query.case != "auto" or "case:" in text
    assert query.case in ("auto", "yes", "no")
    assert all("\n" not in notice.text for notice in query.notices)
    if query.node is not None:
        assert format_node(query.node).isprintable()
        assert evaluate_node(query.node, FACTS, Matching(query.case)).value in (True, False)
        plan_literals(query.node)
    assert all(text[0:].find(word) >= 0 for word in query.words)


@settings(deadline=None, max_examples=examples(500))
@given(prose)
def test_strict_raises_exactly_for_what_is_noticed(text: str) -> None:
    notices = parse_query(text, known_languages=LANGUAGES).notices
    if not notices:
        parse_query(text, strict=True, known_languages=LANGUAGES)
        return
    with pytest.raises(QueryError) as caught:
        parse_query(text, strict=True, known_languages=LANGUAGES)
    assert 0 <= caught.value.position <= len(text)
    assert str(caught.value) == notices[0].text.removesuffix("; searched as text")


@settings(deadline=None, max_examples=examples(500))
@given(prose)
def test_every_character_belongs_to_one_leaf_or_operator(text: str) -> None:
    tokens = Lexer(text, Faults(text), LANGUAGES).split()
    place = 0
    for token in tokens:
        assert place <= token.start < token.end <= len(text)
        assert not text[place : token.start].strip()
        if isinstance(token.leaf, Word):
            assert token.leaf == Word(text[token.start : token.end], token.start)
        place = token.end
    assert not text[place:].strip()


@settings(deadline=None, max_examples=examples(500))
@given(prose)
def test_no_leaf_is_lost_between_lexer_and_tree(text: str) -> None:
    query = parse_query(text, known_languages=LANGUAGES)
    if query.notices:
        return
    leaves = [token.leaf for token in Lexer(text, Faults(text), LANGUAGES).split() if token.leaf is not None]
    assert leaf_count(query.node) == sum(not (isinstance(x, Filter) and x.field == "case") for x in leaves)


@settings(deadline=None, max_examples=examples(300))
@given(st.text(st.sampled_from(r"ab()[]{}*+?|\.^$-,0123:<>=!Pixwsd "), max_size=30))
def test_regex_raises_only_query_errors(text: str) -> None:
    try:
        query = parse_query(text, regex=True)
    except QueryError as fault:
        assert 0 <= fault.position <= len(text)
        return
    if query.node is not None:
        assert evaluate_node(query.node, FACTS, Matching()).value in (True, False)
        plan_literals(query.node)


@given(st.text(max_size=30))
def test_literal_never_fails(text: str) -> None:
    assert parse_query(text, literal=True, strict=True).phrases == ((text,) if text else ())
