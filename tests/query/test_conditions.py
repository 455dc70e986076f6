"""Conditions in three values: what is decided at which level, whom a False blames, what a text must hold."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from codelens.model.request import SearchOptions
from codelens.query.conditions import evaluate_node, join_alternatives, plan_literals
from codelens.query.facts import Facts, Matching
from codelens.query.filters import path_matches_glob
from codelens.query.nodes import And, Filter, Identifier, Node, Not, Or, Pattern, Phrase, Word, format_node
from codelens.query.parser import parse_query
from codelens.query.patterns import ANY, AllOf, AnyOf, Substring
from codelens.text.terms import fold
from tests.query.plans import admits
from tests.search.trees import QUICK, Tree
from tests.tiers import examples

DOCUMENT = Facts("src/flask/app.py", "flask", "python")
UNIT = Facts("src/flask/app.py", "flask", "python", frozenset(), {}, "method", "add_url_rule", "Flask.add_url_rule")
TEXT = Facts(
    "src/flask/app.py",
    "flask",
    "python",
    frozenset({"test"}),
    {},
    "method",
    "add_url_rule",
    "Flask.add_url_rule",
    "def add_url_rule(self):\n    raise SetupError('读取配置文件')\n",
)


def value(query: str, facts: Facts = TEXT, matching: Matching | None = None) -> bool | None:
    parsed = parse_query(query, strict=True)
    return evaluate_node(
        parsed.node, facts, matching or Matching(parsed.case, roots={facts.repository: f"/trees/{facts.repository}"})
    ).value


@pytest.mark.parametrize(
    ("query", "document", "unit", "text"),
    [
        ("anything at all `x`", True, True, True),
        ("lang:python", True, True, True),
        ("lang:go", False, False, False),
        ("lang:go,python", True, True, True),
        ("-lang:python", False, False, False),
        ("kind:method", None, True, True),
        ("kind:class", None, False, False),
        ('"SetupError"', None, None, True),
        ('"missing"', None, None, False),
        ("lang:go kind:method", False, False, False),
        ("lang:go OR kind:method", None, True, True),
        ("lang:python OR missing", True, True, True),
        ("lang:go OR missing", None, None, False),
        ("missing OR flask", True, True, True),
        ("missing OR add_url_rule", None, True, True),
        ("missing OR setuperror", None, None, True),
        ("missing OR setup", None, None, False),
        ("-missing", None, None, True),
        ("-flask", False, False, False),
        ("NOT NOT missing", None, None, False),
        ("missing OR 配置", None, None, True),
        ("-(missing lang:go)", True, True, True),
        ("-is:test", True, True, False),
        ("(missing word)", True, True, True),
        ("/raise.*配置/", None, None, True),
        ("-/raise/", None, None, False),
    ],
)
def test_a_condition_is_undecided_until_its_facts_are_known(
    query: str, document: bool | None, unit: bool | None, text: bool | None
) -> None:
    assert [value(query, facts) for facts in (DOCUMENT, UNIT, TEXT)] == [document, unit, text]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("path:flask", True),
        ("path:src/", True),
        ("path:/flask/", True),
        ("path:/lask", False),
        ("path:Flask", False),
        ("path:./src", True),
        ("path:*.py", True),
        ("path:src/*.py", False),
        ("path:src/**/*.py", True),
        ("path:/flask/*", False),
        ("path:/src/*", True),
        ("path:fl?sk", True),
        ("path:go,src", True),
        ("file:app", True),
        ("file:flask", False),
        ("file:*.py", True),
        ("file:[ab]pp.py", True),
        ("file:*.p", False),
        ("repo:fla", True),
        ("repo:fl*k", True),
        ("repo:django", False),
        ("sym:add_url", True),
        ("sym:Add_url", False),
        ("sym:Flask.add_url_rule", True),
        ("sym:Flask::add", True),
        ("sym:Flask#add_url_rule()", True),
        ("sym:Flask.", True),
        ("sym:lask.add_url_rule", False),
        ("sym:flask.add", True),
        ("sym:Flask.rule.add", False),
        ("content:setuperror", True),
        ("content:Setuperror", False),
        ('content:"def add"', True),
        ("case:no content:Setuperror", True),
        ('case:yes "setuperror"', False),
        ('"setuperror"', True),
        ('"SETUPerror"', False),
        ("/setup.rror/", True),
        ("/Setup.rrOr/", False),
        ("case:no /Setup.rrOr/", True),
        ("/SETUP/ OR /x{3}/", False),
        ("case:yes setuperror OR x9", False),
    ],
)
def test_values_of_filters_are_compared_by_smart_case(query: str, expected: bool) -> None:
    assert value(query) is expected


def test_whole_words() -> None:
    whole = Matching(whole_word=True)
    assert value('"add_url"') is True and value('"add_url"', matching=whole) is False
    assert value('"add_url_rule(self)"', matching=whole) is True
    assert value("/add_.*?l/") is True and value("/add_url/", matching=whole) is False
    assert value('"配置"', matching=whole) is True


def test_an_empty_query_holds_for_everything() -> None:
    assert evaluate_node(None, DOCUMENT, Matching()).value is True
    assert plan_literals(None) == ANY


@pytest.mark.parametrize(
    ("query", "blame"),
    [
        ("lang:python lang:go kind:class", "lang:go"),
        ("word -is:test", "-is:test"),
        ('lang:go OR "b c"', 'lang:go OR "b c"'),
        ("a (lang:python -(missing OR flask))", "-(missing OR flask)"),
        ("/nowhere/", "/nowhere/"),
    ],
)
def test_a_false_verdict_names_the_node_that_caused_it(query: str, blame: str) -> None:
    verdict = evaluate_node(parse_query(query).node, TEXT, Matching())
    assert verdict.value is False and verdict.blame is not None and format_node(verdict.blame) == blame


@pytest.mark.parametrize(
    ("path", "glob", "fits"),
    [
        ("a/b/c.py", "b", True),
        ("a/b/c.py", "/b", False),
        ("a/b/c.py", "a/**/c.py", True),
        ("a/c.py", "a/**/c.py", True),
        ("a/b/c.py", "**", True),
        ("a/b/c.py", "b/*/", True),
        ("a/b/c.py", "a/*.py", False),
        ("a/b/c.py", "[!x]/c.py", True),
        ("a" * 200, "*a" * 50 + "b", False),
        ("/".join("a" * 200), "**/a/" * 50 + "b", False),
    ],
)
def test_path_globs_match_components(path: str, glob: str, fits: bool) -> None:
    assert path_matches_glob(path, glob) is fits


@pytest.mark.parametrize(
    ("query", "plan"),
    [
        ("words only", ANY),
        ('"Foo Bar"', Substring("foo bar")),
        ('"ab"', ANY),
        ('"naïve idea"', Substring("ve idea")),
        ('"foo" content:bar /qux.?z/', AllOf((Substring("foo"), Substring("bar"), Substring("qux")))),
        ("content:foo,bar", AnyOf((Substring("foo"), Substring("bar")))),
        ('"foo" OR "bar"', AnyOf((Substring("foo"), Substring("bar")))),
        ('"foo" OR word', AnyOf((Substring("foo"), Substring("word")))),
        ('"foo" OR dotted.word', ANY),
        ("word OR (other stop*) OR -x", ANY),
        ("word OR (other stop*)", AnyOf((Substring("word"), AllOf((Substring("other"), Substring("stop")))))),
        ("word other", ANY),
        ('-"foo"', ANY),
        ('lang:go "foo" word', Substring("foo")),
    ],
)
def test_the_plan_lists_the_substrings_that_a_text_must_contain(query: str, plan: object) -> None:
    assert plan_literals(parse_query(query).node) == plan


small = st.text(st.sampled_from("abkKsSiſ\u212aİıéÉß中 _."), min_size=1, max_size=4)
leaf: st.SearchStrategy[Node] = st.one_of(
    small.map(Word),
    small.map(Identifier),
    small.map(Phrase),
    small.map(lambda s: Pattern(s.replace(".", ".?"))),
    small.map(lambda s: Filter("content", (s, s[::-1]))),
    st.sampled_from(["python", "go"]).map(lambda s: Filter("lang", (s,))),
    small.map(lambda s: Filter("sym", (s,))),
    small.map(lambda s: Filter("path", (s,))),
    st.just(Filter("is", ("test",))),
)
trees: st.SearchStrategy[Node] = st.recursive(
    leaf,
    lambda inner: st.one_of(
        inner.map(Not),
        st.lists(inner, min_size=2, max_size=3).map(lambda parts: And(tuple(parts))),
        st.lists(inner, min_size=2, max_size=3).map(lambda parts: Or(tuple(parts))),
    ),
    max_leaves=8,
)
longer = st.text(st.sampled_from("abkKsSiſ\u212aİıéÉß中 _.\n"), max_size=30)
facts = st.builds(
    Facts,
    path=small,
    repository=small,
    language=st.sampled_from(["python", "go"]),
    roles=st.sampled_from([frozenset(), frozenset({"test"})]),
    kind=st.just("class"),
    name=small,
    qualified_name=small,
    text=longer,
)
cases = st.sampled_from(["auto", "yes", "no"])


@settings(deadline=None, max_examples=examples(300))
@given(trees, facts, cases, st.booleans())
def test_knowing_more_never_changes_what_was_decided(node: Node, known: Facts, case: str, word: bool) -> None:
    matching = Matching(case, word)
    final = evaluate_node(node, known, matching)
    assert final.value is not None and (final.blame is None) is final.value
    for less in (known._replace(text=None), known._replace(text=None, kind=None)):
        assert evaluate_node(node, less, matching).value in (None, final.value)


@settings(deadline=None, max_examples=examples(300))
@given(trees, facts, cases, st.booleans())
def test_a_text_that_satisfies_the_query_satisfies_its_plan(node: Node, known: Facts, case: str, word: bool) -> None:
    if evaluate_node(node, known, Matching(case, word)).value:
        assert admits(plan_literals(node), fold(known.text))


@settings(deadline=None, max_examples=examples(100))
@given(trees, facts, cases)
def test_negation_turns_every_condition(node: Node, known: Facts, case: str) -> None:
    matching = Matching(case)
    once, twice = (evaluate_node(n, known, matching).value for n in (Not(node), Not(Not(node))))
    assert once is (not twice)


def test_many_alternatives_find_what_each_of_them_finds(tmp_path: Path) -> None:
    """They are decided for a document as a whole first; a list of two is decided unit by unit."""
    files = {
        f"part{n}.py": f'def take_{word}(x):\n    """{word} of {other}"""\n\n\nclass {word.title()}:\n    {other} = 1\n'
        for n, (word, other) in enumerate(
            pairwise(["apple", "pear", "plum", "fig", "quince", "cherry", "grape", "melon", "kiwi", "lime"])
        )
    }
    words = ["apple", "take_fig", "Plum", "part3", '"of grape"', "kiwi", "Cherry.grape", "nothing", "ELSE", "lim"]
    with Tree(tmp_path, files).index() as index:

        def found(query: str) -> set[tuple[str, int]]:
            hits = index.search(query, SearchOptions(limit=1000)).hits
            return {(hit.unit.path, hit.unit.span.start) for hit in hits}

        each = [found(f"{word} OR zzzzz") for word in words]
        assert found(" OR ".join(words)) == set().union(*each)
        assert all(each[:6])


ALPHABET = "aAbß_1éKſİ中文カ한 .-\n"


@settings(deadline=None, max_examples=examples(400))
@given(
    st.text(ALPHABET, max_size=12),
    st.lists(st.text("aAbß_1éKſİ中", min_size=1, max_size=3), min_size=4, max_size=6),
    st.sampled_from(("auto", "yes", "no")),
)
def test_joined_alternatives_decide_as_single_words_do(text: str, words: list[str], case: str) -> None:
    known = Facts("p/a_b.py", "r", "python", text=text)
    node = Or(tuple(map(Word, words)))
    together = join_alternatives(node, Matching(case))
    assert evaluate_node(together, known, Matching(case)).value is evaluate_node(node, known, Matching(case)).value


@pytest.mark.slow
@pytest.mark.parametrize("query", ["harbour OR zzzzz", "harb* OR zzzzz", "harbour OR zzzzz OR yyyyy OR xxxxx OR wwwww"])
def test_a_word_of_a_path_is_found_where_no_text_holds_it(tmp_path: Path, query: str) -> None:
    with Tree(tmp_path, {"harbour/ship.py": "def load(): pass\n", "b.py": "def other(): pass\n"}).index() as index:
        assert {hit.unit.path for hit in index.search(query, SearchOptions()).hits} == {"harbour/ship.py"}


def test_a_search_names_the_pattern_that_took_too_long(tmp_path: Path) -> None:
    files = {"slow.py": f"value = '{'a' * 60}!'\n", "z.py": "value = 1\n"}
    tree = Tree(tmp_path, files, replace(QUICK, query_seconds=0.5))
    with tree.index() as index:
        notices = index.search("value /(a|aa)+$/", SearchOptions()).notices
    assert [notice.code for notice in notices] == ["out-of-time"]
    assert "(setting query_seconds): the regular expression /(a|aa)+$/ took too long on one text" in notices[0].text
    assert "conditions were decided for" in notices[0].text
