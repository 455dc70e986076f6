"""`word*`: what begins so, in texts and names; and every star that is only a star."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from codelens.index import Index
from codelens.search.terms import expand_query
from codelens.text.terms import find_prefix, split_prefix
from tests.search.trees import QUICK, Tree, ask, checked, find, names
from tests.tiers import examples

WORDS = (
    "deployment", "deploy", "deployer", "authentication", "configuration", "configurable", "happiness", "relational",
    "uses", "users", "classes", "policies", "running", "mapper", "gross", "grossly",
)  # fmt: skip
FILES = {f"{i:02}.py": f"# {word}\nx_{i} = 1\n" for i, word in enumerate(WORDS)} | {
    "names.py": "def rollback_all():\n    return 1\n\n\ndef rollForward():\n    return 2\n\n\ndef enroll():\n    return 3\n",
    "body.py": "def do(it):\n    # no\n    return rebuildEngine(engine)\n",
    "stars.py": "def pointers(text):\n    return 'char* text'\n",
}


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Index]:
    tree = Tree(tmp_path_factory.mktemp("prefixes"), FILES, replace(QUICK, vector=False))
    with tree.index() as opened:
        yield opened


def found_words(index: Index, query: str, **options: object) -> set[str]:
    """The comments of the files that the words of a query find."""
    hits = find(index, query, mode="exact", limit=100, **options).hits
    return {WORDS[int(hit.unit.path[:2])] for hit in hits if hit.unit.path[:2].isdigit()}


def by_symbol(index: Index, query: str) -> dict[str, str]:
    """Name → reason, of what the symbol channel found."""
    result = find(index, query, limit=100)
    reasons = {match.unit: match.reason for match in result.trace.rankings["symbol"]}
    return {hit.unit.name: reasons[hit.unit.id] for hit in result.hits if hit.unit.id in reasons}


@pytest.mark.parametrize("word", WORDS)
def test_every_beginning_of_a_word_finds_it(word: str, index: Index) -> None:
    """The index holds stems (deploi, deploy, authent, configur, …), which no reader of the query needs to know."""
    lost = [word[:end] for end in range(4, len(word) + 1) if word not in found_words(index, f"{word[:end]}*")]
    assert lost == []


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("deploy*", {"deployment", "deploy", "deployer"}),
        ("deploy", {"deploy"}),
        ("deployme*", {"deployment"}),  # not deployer, which has the same stem
        ("us*", {"uses", "users"}),
        ("uses*", {"uses"}),
        ("zebra*", set()),
        ("q*", set()),
        ("*", set()),
    ],
)
def test_a_star_finds_words_and_names_that_begin_so(query: str, words: set[str], index: Index) -> None:
    assert found_words(index, query) == words


def test_names_that_begin_so(index: Index) -> None:
    assert by_symbol(index, "roll*") == {
        "rollForward": "its name begins with roll",
        "rollback_all": "its name begins with roll",
    }
    assert by_symbol(index, "rollF*")["rollForward"] == "its name begins with rollF"
    assert by_symbol(index, "enroll*")["enroll"] == "its name is enroll"
    checked(index, "roll*")
    checked(index, "deploy* roll*")


def test_the_flag_makes_all_words_beginnings(index: Index) -> None:
    assert found_words(index, "deploy, polic", prefix=True) == {"deployment", "deploy", "deployer", "policies"}
    phrase = ask(index, '"deploy" polic', prefix=True).search.trace.terms
    assert [term for tier, term, _ in phrase if tier == "prefix"] == ["polic*"], "a phrase stands as it is"
    terms = ask(index, "the deploy of a.rollForw", prefix=True).search.trace.terms
    assert [t for t in terms if t[0] == "prefix"] == [
        ("prefix", "rollforw", "a.rollForw"),
        ("prefix", "deploy*", "deploy"),
    ]


def test_a_star_in_a_condition_demands_a_beginning(index: Index) -> None:
    assert set(names(find(index, "roll* OR policies"))) >= {"rollback_all", "rollForward"}
    assert "enroll" not in names(find(index, "roll* OR policies"))
    assert "rollback_all" not in names(find(index, "return -rollb*"))
    assert "rollForward" in names(find(index, "return -rollb*"))


def test_a_star_that_ends_no_word_is_a_character(index: Index) -> None:
    assert names(find(index, '"char* text"')) == ["pointers"]
    assert names(find(index, "char* text"))[0] == "pointers"
    assert names(find(index, "char* text", literal=True)) == ["pointers"]
    for query in ("*", "* *", "a * b", "2*3", "**bold**", "/* x */", "f(*args)", "*.py", '"*"', "`*`"):
        plain = query.replace("*", " ")
        tiers = {tier for tier, _, _ in ask(index, query).search.trace.terms}
        assert "prefix" not in tiers, query
        assert find(index, query, strict_query=False) is not None
        assert find_prefix(plain) == ""


def test_marked_lines_say_what_begins_so(index: Index) -> None:
    hit = next(h for h in find(index, "rebui* engi*").hits if h.unit.path == "body.py")
    assert hit.snippet[-1].matches == ((11, 24), (25, 31))


def test_a_compound_goes_on_at_its_end() -> None:
    assert split_prefix("getUs") == ["getus*", "get", "us*"]
    assert split_prefix("k8s") == ["k8s*"]
    query = expand_query(["Store.getUs* x"], [], "")
    assert [(t.text, t.tier) for t in query.names] == [("getus", "prefix")]


@settings(max_examples=examples(150), deadline=None)
@given(st.text(alphabet='ab*"`() -:OR/\\\x00é漢_', max_size=24))
def test_prose_with_stars_never_fails(index: Index, text: str) -> None:
    for prefix in (False, True):
        find(index, text, prefix=prefix, mode="keyword")
