"""The query parser, by case files; and what files cannot show: options, positions, size."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from codelens.errors import QueryError
from codelens.query.nodes import And, Filter, Identifier, Node, Not, Or, Pattern, Phrase, Query, Word, format_node
from codelens.query.parser import parse_query
from tests.conftest import case_files

LANGUAGES = {"python": "python", "py": "python", "go": "go", "c": "c", "rust": "rust", "java": "java"}


def outline(node: Node | None, depth: int = 1) -> list[str]:
    """A tree, a node a line."""
    indent = "    " * depth
    match node:
        case None:
            return [f"{indent}nothing"]
        case And(parts) | Or(parts):
            return [f"{indent}{type(node).__name__}", *(line for part in parts for line in outline(part, depth + 1))]
        case Not(part):
            return [f"{indent}Not", *outline(part, depth + 1)]
        case Filter(field, values):
            return [f"{indent}Filter {field}: {' | '.join(values)}"]
        case Pattern(source):
            return [f"{indent}Pattern {source}"]
    return [f"{indent}{type(node).__name__} {node.text}"]


def report(query: Query) -> str:
    case = [f"    case {query.case}"] if query.case != "auto" else []
    notices = [f"    ! {notice.code}: {notice.text}" for notice in query.notices]
    return "\n".join([query.text, *outline(query.node), *case, *notices]) + "\n"


@pytest.mark.parametrize("path", case_files("query"), ids=lambda p: p.stem)
def test_case(path: Path, case: Callable[[Path, Callable[[str], str]], None]) -> None:
    case(path, lambda source: "".join(report(parse(line)) for line in source.splitlines()))


@pytest.mark.parametrize("path", case_files("query"), ids=lambda p: p.stem)
def test_strict_raises_exactly_where_there_is_a_notice(path: Path) -> None:
    for line in path.read_text(encoding="utf-8").partition("\n---\n")[0].splitlines():
        if not parse(line).notices:
            parse(line, strict=True)
            continue
        with pytest.raises(QueryError) as caught:
            parse(line, strict=True)
        assert 0 <= caught.value.position <= len(line) and caught.value.query == line


def parse(text: str, strict: bool = False) -> Query:
    return parse_query(text, strict=strict, known_languages=LANGUAGES)


@pytest.mark.parametrize(
    ("text", "position"),
    [
        ('say "hello', 4),
        ("foo OR", 4),
        ("a (b", 2),
        ("a b) c", 3),
        ("x pth:y", 2),
        ("x lang:klingon", 2),
        ("x /a(b/", 4),
        ("a - b", 2),
        ("a ( ) b", 2),
        ('a) "b', 1),
    ],
)
def test_a_fault_is_pointed_at(text: str, position: int) -> None:
    with pytest.raises(QueryError) as caught:
        parse(text, strict=True)
    assert caught.value.position == position


def test_literal_takes_all_as_one_phrase() -> None:
    assert parse_query('a OR "b', literal=True, strict=True) == Query('a OR "b', Phrase('a OR "b'))


def test_regex_takes_all_as_one_pattern() -> None:
    assert parse_query("a OR b", regex=True).node == Pattern("a OR b")
    with pytest.raises(QueryError) as caught:
        parse_query("ab(c", regex=True)
    assert caught.value.position == 2


@pytest.mark.parametrize("text", ["", "  ", "\n\t"])
def test_an_empty_query(text: str) -> None:
    query = parse_query(text, strict=True)
    assert query.node is None and query.plain and query.ranking_texts == ()


def test_texts_that_rank_are_listed_in_order() -> None:
    query = parse_query('fast parse `getUser` "exact words" lang:go -slow -"no way" (a OR `b`) content:"x y" -(-(c))')
    assert query.words == ("fast", "parse", "a", "c")
    assert query.identifiers == ("getUser", "b")
    assert query.phrases == ("exact words",)
    assert [part.text for part in query.ranking_texts] == ["fast parse", "exact words", "a", "c"]
    assert query.words[0] == query.text[0:4]


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("a b `c`", True),
        ("(a b)", True),
        ("note: a (", True),
        ("-ab", False),
        ("-连", False),
        ("-a", True),
        ("tar -x -f", True),
        ("a OR b", False),
        ('"a"', False),
        ("lang:x", False),
    ],
)
def test_plain_has_no_condition(text: str, plain: bool) -> None:
    assert parse_query(text).plain is plain


def test_words_know_their_start_in_the_query() -> None:
    query = parse_query("  ab (cd OR ef)")
    assert query.node == And((Word("ab", 2), Or((Word("cd", 6), Word("ef", 12)))))


def test_case_of_the_option_yields_to_the_query() -> None:
    assert parse_query("a", case="no").case == "no"
    assert parse_query("a case:yes", case="no").case == "yes"


def test_languages_that_are_not_known_are_taken_as_they_are_if_none_is_given() -> None:
    assert parse_query("lang:klingon").node == Filter("lang", ("klingon",))
    assert parse_query("lang:GO", known_languages=["go"]).node == Filter("lang", ("go",))


@pytest.mark.parametrize(
    "text",
    [
        "a b",
        "a OR b c",
        '"p \\" \\\\" -`x`',
        "(a OR b) -(c d)",
        "NOT -x",
        "NOT x",
        "-xy -连",
        "-/a.b/ lang:python,go",
        'path:"a b"',
        "NOT --x",
    ],
)
def test_a_description_reads_back(text: str) -> None:
    query = parse_query(text, strict=True)
    assert query.node is not None
    assert format_node(query.node) == text


def test_a_description_is_one_line() -> None:
    assert format_node(Phrase("a\nb\x00\ud800")) == '"a\\nb\\x00\\ud800"'
    assert format_node(And((Identifier("x"), Or((Word("a"), Not(Word("bc"))))))) == "`x` (a OR -bc)"


HUGE = [
    "(" * 10_000 + "a" + ")" * 10_000,
    "( " * 10_000 + "a" + " )" * 10_000,
    "(" * 10_000,
    ")" * 10_000,
    "()" * 50_000,
    "(a OR " * 10_000,
    "NOT " * 25_000 + "a",
    "-(" * 30_000,
    '"' * 100_000,
    '("\\" ' * 20_000,
    "`" * 100_000,
    "` " * 50_000,
    "/[ " * 33_000,
    "/(/ " * 25_000,
    "/a " * 33_000,
    "aa: " * 25_000,
    'path:"' * 16_000,
    "lang:x," * 14_000,
    "a OR " * 20_000,
    "OR " * 33_000,
    "a" * 100_000,
    "a-" * 50_000 + ":",
    "word " * 20_000,
    "\0\ud800 " * 30_000,
    "[" * 100_000,
    "/" + "[" * 100_000 + "/",
    "/" + "(" * 5_000 + "/",
]


@pytest.mark.slow
@pytest.mark.parametrize("text", HUGE, ids=lambda t: t[:8].encode("unicode_escape").decode())
def test_queries_of_any_size_and_depth_are_parsed(text: str) -> None:
    query = parse_query(text, known_languages=LANGUAGES)
    assert query.node is not None and len(query.notices) <= 8
    assert format_node(query.node)
    repr(query), hash(query)
