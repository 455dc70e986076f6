"""Regular expressions: what is compiled, what is refused, what is found in time, and what a match must contain."""

from __future__ import annotations

import re
import time
from unicodedata import category

import apsw
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from codelens.errors import QueryError
from codelens.model.budget import OutOfTime, TimeBudget
from codelens.query.patterns import (
    ANY,
    AllOf,
    AnyOf,
    Plan,
    Substring,
    compile_pattern,
    find_matches,
    has_upper,
    is_safe,
    require_literals,
)
from codelens.text.terms import fold
from tests.query.plans import admits
from tests.tiers import examples

LETTERS = "abkKsSiIſ\u212aİıéÉßΣς中_ (){}[]:|"


def ranges(source: str, text: str, ignore_case: bool = False, whole_word: bool = False) -> list[str]:
    found = find_matches(compile_pattern(source, ignore_case, whole_word), text, TimeBudget(5))
    return [text[start:end] for start, end in found]


@pytest.mark.parametrize(
    ("source", "position"), [("a(b", 1), ("a[b", 1), ("*a", 0), ("a**", 2), (r"\p{Lu}", 0), (r"a\Q", 1), ("(?P<a", 4)]
)
def test_bad_syntax_is_pointed_at(source: str, position: int) -> None:
    with pytest.raises(QueryError) as caught:
        compile_pattern(source, False)
    assert caught.value.position == position


@pytest.mark.parametrize(
    "source", ["a" * 20_000, "(" * 5_000 + ")" * 5_000, "a{99999999999}", "(?:" * 400 + "a" + ")+" * 400]
)
def test_a_pattern_that_is_too_large_raises_a_query_error(source: str) -> None:
    with pytest.raises(QueryError):
        compile_pattern(source, False)


def test_lines_and_line_ends() -> None:
    assert ranges("^b$", "a\nb\nc") == ["b"]
    assert ranges("a.b", "a\nb a-b") == ["a-b"]
    assert ranges("a(?s:.)b", "a\nb a-b") == ["a\nb", "a-b"]


def test_ignoring_case_folds_as_python_does() -> None:
    assert ranges("straße", "STRAßE", ignore_case=True) == ["STRAßE"]
    assert ranges("init", "İNIT ınıt Init", ignore_case=True) == ["Init"]
    assert ranges("(?i:init)", "İNIT Init") == ["Init"]
    assert ranges("ınıt", "ınıt", ignore_case=True) == ["ınıt"]
    assert ranges(r"\u0131", "ı", ignore_case=True) == ["ı"]
    assert ranges(r"\w+", "dıř", ignore_case=True) == ["dıř"]


@pytest.mark.parametrize(
    ("source", "upper"),
    [("foo", False), ("Foo", True), (r"\S\W\B", False), (r"(?P<Name>a)(?P=Name)", False), ("É", True)],
)
def test_smart_case_looks_past_escapes(source: str, upper: bool) -> None:
    assert has_upper(source) is upper


def test_whole_words() -> None:
    assert ranges("fo+", "food foo xfoo foo_", whole_word=True) == ["foo"]
    assert ranges("foo|food", "food", whole_word=True) == ["food"]
    assert ranges("(?x) foo # bar", "foo food", whole_word=True) == ["foo"]
    assert ranges("(?i)foo", "FOO food", whole_word=True) == ["FOO"]


def test_braces_that_repeat_nothing_are_text() -> None:
    assert ranges("(?:foo){e<=1}", "fxo foo{e<=1}") == ["foo{e<=1}"]
    assert ranges(r"a{} \{e} {[{e}]", "a{} {e} {{") == ["a{} {e} {{"]


def test_find_all_stops_at_its_limit() -> None:
    assert find_matches(compile_pattern("a", False), "aaaa", TimeBudget(5), limit=2) == ((0, 1), (1, 2))


SLOW = [("(a|a)*$", "a" * 40 + "!"), ("(a|aa)+$", "a" * 60 + "!"), ("(?:ab|a[b-d])*$", "ab" * 40 + "!")]
"""Patterns of exponential time that the engine's own guards do not see; it answers (a+)+$ quickly."""


@pytest.mark.parametrize(("source", "text"), SLOW)
def test_a_pattern_of_exponential_time_is_stopped_and_named(source: str, text: str) -> None:
    budget = TimeBudget(0.2)
    program = compile_pattern(source, False)
    started = time.thread_time()
    with pytest.raises(OutOfTime):
        find_matches(program, text, budget)
    assert time.thread_time() - started < 2
    assert budget.cut == [f"the regular expression /{source}/ took too long on one text and was stopped"]


def test_no_pattern_starts_once_the_time_of_all_texts_is_spent() -> None:
    budget = TimeBudget(1e-9)
    with pytest.raises(OutOfTime):
        find_matches(compile_pattern("b", False), "b", budget)


@pytest.mark.parametrize(
    ("source", "plan"),
    [
        ("foobar", Substring("foobar")),
        ("FooBar", Substring("foobar")),
        ("ab", ANY),
        (r"foo\.bar", Substring("foo.bar")),
        ("foo.*bar", AllOf((Substring("foo"), Substring("bar")))),
        ("foo|bar", AnyOf((Substring("foo"), Substring("bar")))),
        ("foo|ba", ANY),
        ("get_(user|name)s?", AllOf((Substring("get_"), AnyOf((Substring("user"), Substring("name")))))),
        ("(?:foo)?bar", Substring("bar")),
        ("(?:foo)+bar", AllOf((Substring("foo"), Substring("bar")))),
        ("(foo)bar", Substring("foobar")),
        ("[Ff]oo[bc]", Substring("foo")),
        (r"\bfoo\b$", Substring("foo")),
        ("naïve", ANY),
        ("éprint abcd", Substring("nt abcd")),
        ("配置文件", Substring("配置文件")),
        ("(?!foo)", ANY),
        ("a{e<=1}bc", Substring("a{e<=1}bc")),
        ("[[:alpha:]]foo", ANY),
        ("a(", ANY),
        ("|".join(f"abc{i:03}x" for i in range(200)), Substring("abc")),
    ],
)
def test_the_plan_of_a_pattern_lists_required_literals(source: str, plan: Plan) -> None:
    assert require_literals(source) == plan


@pytest.mark.slow
def test_only_characters_with_one_folding_are_required() -> None:
    """To the engine, no other character is the same as a safe one, but for those that fold as SQLite's index folds."""
    everything = [chr(code) for code in range(1, 0x110000) if not 0xD800 <= code < 0xE000]
    safe = "".join(filter(is_safe, everything))
    assert "中" in safe and "é" not in safe
    for character in everything:
        if not is_safe(character) and category(character) not in ("Cn", "Co"):
            others = find_matches(compile_pattern(re.escape(character), True), safe, TimeBudget(5), limit=1)
            assert not others or character in "ſ\u212aİı"  # for the last two see Tree.dotted


def test_the_index_folds_as_the_plan_does() -> None:
    database = apsw.Connection(":memory:")
    database.execute("create virtual table t using fts5(x, tokenize='trigram', detail=none)")
    for text, literal in [("aſb", "asb"), ("a\u212ab", "akb"), ("AIB", "aib"), ("配置文", "配置文")]:
        database.execute("insert into t values (?)", (text,))
        rows = database.execute("select x from t where t match ?", (f'"{literal}"',)).fetchall()
        assert (text,) in rows and fold(text) == literal


pieces = st.one_of(
    st.text(st.sampled_from("abkiiiıs\u212aS中ſéß_{e}"), min_size=1, max_size=6).map(re.escape),
    st.sampled_from(
        [".", r"\w", r"\b", "^", "$", "[ab]", "[^a]", "[Ss]", "[a-k]", "{", "}", "{e}", "{2}", "(?i:kis)", r"\d"]
    ),
)
sources = st.recursive(
    pieces,
    lambda inner: st.one_of(
        st.lists(inner, min_size=1, max_size=3).map("".join),
        st.tuples(inner, inner).map(lambda p: f"(?:{p[0]}|{p[1]})"),
        st.tuples(inner, st.sampled_from(["?", "*", "+", "{2}", "{1,3}", "*?", "{,2}"])).map(
            lambda p: f"(?:{p[0]}){p[1]}"
        ),
        inner.map(lambda p: f"({p})"),
        inner.map(lambda p: f"(?={p})"),
    ),
    max_leaves=8,
)
texts = st.text(st.sampled_from(LETTERS), max_size=12)  # Python's engine has no time limit


@settings(deadline=None, max_examples=examples(400))
@given(sources, texts, st.booleans(), st.booleans())
def test_a_text_with_a_match_satisfies_the_plan(source: str, text: str, ignore_case: bool, whole_word: bool) -> None:
    try:
        compiled = compile_pattern(source, ignore_case, whole_word)
    except QueryError:
        assume(False)
    if find_matches(compiled, text, TimeBudget(5), limit=1):
        assert admits(require_literals(source), fold(text))


@settings(deadline=None, max_examples=examples(400))
@given(sources, texts)
def test_the_engine_reads_what_python_reads(source: str, text: str) -> None:
    try:
        compiled = compile_pattern(source, False)
    except QueryError:
        assume(False)
    expected = tuple(m.span() for m in re.finditer(source, text, re.MULTILINE))
    assert bool(find_matches(compiled, text, TimeBudget(5))) == bool(expected)


@settings(deadline=None)
@given(st.text())
def test_folding_keeps_positions(text: str) -> None:
    assert len(fold(text)) == len(text) and fold(fold(text)) == fold(text)
