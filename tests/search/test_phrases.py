"""A pasted message with quoted values: phrases that nothing holds are read as words, unless the query is to be taken strictly."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from codelens.index import Index
from codelens.query.nodes import format_node, split_phrases
from codelens.query.parser import parse_query
from tests.commands import Run
from tests.search.trees import QUICK, STORE, Tree, ask_one, find, names

pytestmark = pytest.mark.usefixtures("plain_environment")

FILES = {
    **STORE,
    "web/options.py": 'def refuse(name):\n    raise UsageError(f"no such option: {name!r}, did you mean help?")\n',
}
PASTED = 'no such option "--frobnicate" did you mean'


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Tree:
    made = Tree(tmp_path_factory.mktemp("phrases"), FILES)
    made.index().close()
    return made


@pytest.fixture(scope="module")
def index(tree: Tree) -> Iterator[Index]:
    with Index.open(tree.db, QUICK) as opened:
        yield opened


@pytest.mark.parametrize(
    ("query", "loose"),
    [
        ('open "a b" file', "open a b file"),
        ('"a b" file lang:go', "a b file lang:go"),
        ('"a" "b c" file', "a b c file"),
        ('"a b"', None),  # all that was asked for
        ('"a b" lang:go', None),
        ('-"a b" file', None),
        ('("a b" OR c) file', None),
        ("open file", None),
        ("", None),
    ],
)
def test_phrases_are_words_next_to_words(query: str, loose: str | None) -> None:
    found = split_phrases(parse_query(query))
    assert (found and " ".join(format_node(part) for part in found.node.parts)) == loose  # type: ignore[union-attr]


def test_a_value_in_quotes_that_nothing_holds_is_read_as_words(index: Index) -> None:
    result = find(index, PASTED)
    assert names(result)[0] == "refuse"
    [notice] = [notice for notice in result.notices if notice.code == "phrase"]
    assert (
        notice.text == 'nothing contains "--frobnicate" and meets all other conditions; its words are searched instead'
    )


def test_a_phrase_that_something_holds_stays_a_condition(index: Index) -> None:
    result = find(index, 'what does "no such option" mean', limit=100)
    assert names(result) == ["refuse"]
    assert "phrase" not in [notice.code for notice in result.notices]


def test_other_conditions_still_hold(index: Index) -> None:
    result = find(index, 'journal entry "of 17 May" path:ledger -is:test', limit=100)
    assert {hit.unit.path for hit in result.hits} == {"store/ledger.py"}
    assert find(index, 'journal entry "of 17 May" lang:go').hits == ()


def test_a_phrase_alone_is_what_was_asked_for(index: Index) -> None:
    for query in ('"no such thing"', '"no such thing" lang:py'):
        result = find(index, query)
        assert (result.hits, "phrase" in [n.code for n in result.notices]) == ((), False), query


def test_a_strict_query_keeps_its_demand(index: Index, tree: Tree, run: Run) -> None:
    result = find(index, PASTED, strict_query=True)
    assert (result.hits, "phrase" in [n.code for n in result.notices]) == ((), False)
    ran = run("search", "--db", str(tree.db), "--strict-query", PASTED, cwd=tree.root)
    assert (ran.code, ran.out) == (1, "")
    ran = run("search", "--db", str(tree.db), PASTED, cwd=tree.root)
    assert (ran.code, ran.out.startswith("web/options.py:")) == (0, True)
    assert (
        'note: nothing contains "--frobnicate" and meets all other conditions; its words are searched instead'
        in ran.err
    )


def test_why_explains_the_search_that_ran(index: Index) -> None:
    explanation = ask_one(index, PASTED, "refuse")
    assert (explanation.rank, explanation.loss) == (1, None)
    lost = ask_one(index, PASTED, "refuse", strict_query=True)
    assert lost.loss is not None
    assert lost.loss.stage == "filtered"
    assert names(find(index, lost.loss.remedy_query, strict_query=True))[0] == "refuse"
