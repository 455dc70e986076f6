"""What stands in the code as it was typed: runs of words and tokens, the definitions that hold them, and what is read for it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from codelens.config import Settings
from codelens.indexing import derive
from codelens.model.request import SearchOptions
from codelens.search.pipeline import rank
from codelens.search.rankers import Ranking
from codelens.search.verbatim import (
    AROUND,
    INSIDE,
    MOST_DOCUMENTS,
    MOST_OF_PASTED,
    MOST_TOKENS,
    MOST_WINDOWS,
    OTHER_CASE,
    USUAL_LINES,
    VerbatimMatch,
    find_tokens,
    find_verbatim,
    find_windows,
)
from codelens.store.store import Store
from codelens.store.texts import DocumentText
from tests.indexing.here import derive_here
from tests.search.trees import QUICK, Tree

LOCK = """\
class Lock:
    def open_gate(self, boat):
        raise TideError("the gate stays shut until the water is level")

    def headers(self):
        return {"X-Request-Id": 1}

    def routes(self):
        self.add("/boats/:id/moor", moor)
        self.flag("--smart-case")


def warn():
    log("no boat may enter "
    "while the bridge is down")


def released():
    return "4.17.1"


def older():
    return "4.17.12"


def cleaned(mode):
    return mode == "PURGE_ALL"


MOST_BOATS = 12


def count():
    return MOST_BOATS


def outer():
    words = "anchors aweigh at seven"

    def inner():
        return "all hands on deck"

    return inner, words
"""
LONG = "def long():\n" + "    pass\n" * 149 + '    raise TideError("the gate stays shut until noon")\n'
FILES: dict[str, str | bytes] = {
    "src/lock.py": LOCK,
    "src/long.py": LONG,
    "src/flags.go": 'package main\n\nfunc bind(set *Flags) {\n\tset.Bool("dry-run", false)\n}\n',
    "src/wide.cs": '\ufeffclass Wide {\n  void Send() { Log("größe of the cargo is unknown"); }\n}\n'.encode(
        "utf-16-le"
    ),
    "tests/test_lock.py": 'PURGE_ALL = 1\n\n\ndef test_gate():\n    assert "stays shut until the water is level"\n',
}


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    tree = Tree(tmp_path_factory.mktemp("verbatim"), FILES)
    tree.index().close()
    with Store.read(tree.db) as opened:
        yield opened


def asked(store: Store, query: str, **options: Any) -> Ranking:
    return rank(query, store, SearchOptions(**options), QUICK)


def finds(store: Store, query: str, **options: Any) -> dict[str, VerbatimMatch]:
    """Qualified name → what it holds."""
    found = asked(store, query, **options).findings.evidence.verbatim
    rows = store.units.read_rows(found)
    return {rows[unit].qualified_name: find for unit, find in found.items()}


def value(share: float, lines: int) -> float:
    return pytest.approx(share / math.sqrt(1 + lines / USUAL_LINES))


# Runs of words


def test_a_whole_run_counts_in_full(store: Store) -> None:
    found = finds(store, "the gate stays shut until the water is level")
    said = "the gate stays shut until the water is level"
    assert found["Lock.open_gate"] == VerbatimMatch(value(1.0, 2), said, False)
    assert found["Lock"] == VerbatimMatch(value(AROUND, 10), said, False, AROUND), (
        "the class around it holds half of it"
    )


def test_a_part_counts_as_much_as_it_is_of_the_query(store: Store) -> None:
    found = finds(store, "error 17: gate stays shut until sunset")
    assert found["Lock.open_gate"] == VerbatimMatch(
        value(4 / 7, 2), "gate stays shut until", False, pytest.approx(4 / 7)
    )
    assert "warn" not in found
    assert finds(store, "the gate stays open until")["Lock.open_gate"].text == "the gate stays"


def test_marks_around_words_and_their_case_do_not_count(store: Store) -> None:
    found = finds(store, "(Gate: 'Stays', no) Gate Stays Shut, until.")
    assert found["Lock.open_gate"].text == "Gate Stays Shut until"


def test_a_run_is_of_whole_words(store: Store) -> None:
    for query in ("ate stays shut", "gate stays shu"):
        assert all(find.token for find in finds(store, query).values()), query
    assert finds(store, "gate stays shut unti")["Lock.open_gate"].text == "gate stays shut"


def test_a_string_may_go_on_in_the_next_line(store: Store) -> None:
    found = finds(store, "boat may enter while the bridge is down")["warn"]
    assert (found.text, found.value) == ("boat may enter while the bridge is down", value(1.0, 3))


def test_two_words_are_a_run_only_if_they_are_all_of_the_query(store: Store) -> None:
    assert finds(store, "stays shut")["Lock.open_gate"].value == value(1.0, 2)
    assert "Lock.open_gate" not in finds(store, "stays shut forever")
    assert not finds(store, "shut")


def test_stop_words_alone_are_no_run(store: Store) -> None:
    assert find_windows(["is", "it", "on", "the", "gate"]) == [(2, 3)]
    assert find_windows(["is", "it", "on", "the"]) == []
    assert find_windows(["gate"]) == find_windows([]) == []
    assert len(find_windows([f"word{n}" for n in range(500)])) == MOST_WINDOWS


def test_a_long_definition_says_less(store: Store) -> None:
    found = finds(store, "gate stays shut until")
    assert found["long"].value == value(1.0, 151)
    assert found["Lock.open_gate"].value == value(1.0, 2)


def test_what_a_function_defines_inside_is_its_own_text(store: Store) -> None:
    assert finds(store, "all hands on deck")["outer"].value == value(1.0, 7)
    assert finds(store, "anchors aweigh at seven")["outer"].value == value(1.0, 7)


def test_text_in_utf_16_is_read_as_such(store: Store) -> None:
    found = finds(store, "größe of the cargo")
    assert found["Wide.Send"] == VerbatimMatch(value(1.0, 1), "größe of the cargo", False)
    assert found["Wide"].value == value(AROUND, 3)


def test_a_flag_is_found_as_libraries_define_it(store: Store) -> None:
    assert finds(store, "what does --dry-run leave out")["bind"] == VerbatimMatch(value(1.0, 3), '"dry-run"', True)
    assert "bind" not in finds(store, "--dry-runs of the boat")


def test_a_large_file_is_read_by_the_parts_that_may_hold_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(derive, "LARGE_SIZE", 5_000)
    monkeypatch.setattr(derive, "PART_SIZE", 3_000)
    monkeypatch.setattr("codelens.indexing.files.BLOCK", 1_000)
    derive_here(monkeypatch)
    lines = [f"line {n} says nothing of note" for n in range(2_000)]
    lines[1_500] = "here größe lies and a purple elephant sleeps"
    tree = Tree(tmp_path, {"log.txt": "\n".join(lines)}, Settings(jobs=1, include_vendored=True))
    tree.index().close()
    read = set[int]()
    part = DocumentText.read_part

    def noted(self: DocumentText, number: int) -> bytes:
        read.add(number)
        return part(self, number)

    with Store.read(tree.db) as store:
        monkeypatch.setattr(DocumentText, "read_part", noted)
        found = asked(store, "a purple elephant sleeps").findings.evidence.verbatim
        rows = store.units.read_rows(found)
        [(unit, find)] = found.items()
        assert rows[unit].start_line <= 1_501 <= rows[unit].end_line
        assert find.text == "a purple elephant sleeps"
        assert len(read) < len(store.parts.list_places(rows[unit].document)) / 5


# Tokens


@pytest.mark.parametrize(
    ("token", "holder"),
    [
        ("4.17.1", "released"),
        ("4.17.12", "older"),
        ("X-Request-Id", "Lock.headers"),
        ("/boats/:id/moor", "Lock.routes"),
        ("--smart-case", "Lock.routes"),
    ],
)
def test_a_token_is_found_where_it_stands(token: str, holder: str, store: Store) -> None:
    found = finds(store, token)
    lines = {"released": 2, "older": 2, "Lock.headers": 2, "Lock.routes": 3}
    assert found[holder] == VerbatimMatch(value(1.0, lines[holder]), token, True)
    assert found.keys() <= {holder, "Lock"}


def test_a_version_is_not_the_beginning_of_another(store: Store) -> None:
    assert finds(store, "4.17.1").keys() == {"released"}
    assert finds(store, "4.17").keys() == {"released", "older"}, "nowhere whole: then inside of others"
    assert finds(store, "4.17")["older"].value == value(INSIDE, 2)


def test_other_case_is_a_little_less(store: Store) -> None:
    assert finds(store, "x-request-id")["Lock.headers"].value == value(1.0, 2), (
        "typed without capitals: they are not meant"
    )
    assert finds(store, "X-REQUEST-ID")["Lock.headers"].value == value(OTHER_CASE, 2)


def test_a_letters_run_inside_a_name_is_a_token_if_no_name_or_word_is_so(store: Store) -> None:
    found = finds(store, "elea")
    assert found["released"] == VerbatimMatch(value(INSIDE, 2), "elea", True, INSIDE)
    assert not finds(store, "level")
    assert not finds(store, "cleaned")


def test_a_name_in_capitals_is_a_token_only_where_nothing_but_tests_defines_it(store: Store) -> None:
    assert finds(store, "PURGE_ALL")["cleaned"] == VerbatimMatch(value(1.0, 2), "PURGE_ALL", True)
    assert not finds(store, "MOST_BOATS")
    assert not finds(store, "Lock.open_gate")
    assert not finds(store, "Lock#open_gate()")


def test_a_word_with_a_star_is_no_token(store: Store) -> None:
    assert find_tokens(["rele*", "4.17.1"], asked(store, "gate").run) == ["4.17.1"]


def test_a_token_in_a_sentence_counts_in_full(store: Store) -> None:
    assert finds(store, "where is --smart-case handled")["Lock.routes"] == VerbatimMatch(
        value(1.0, 3), "--smart-case", True
    )


def test_text_that_is_no_token_finds_nothing(store: Store) -> None:
    for query in ("", "*", "...", "gate", "of"):
        assert not finds(store, query), query


# What limits it


def test_only_what_the_conditions_allow_holds_anything(store: Store) -> None:
    query = "stays shut until the water is level"
    assert finds(store, query).keys() == {"Lock.open_gate", "Lock", "long", "test_gate"}
    assert finds(store, f"{query} is:test").keys() == {"test_gate"}
    assert finds(store, f"{query} kind:class").keys() == {"Lock"}
    assert not finds(store, f"{query} lang:go")


@pytest.mark.parametrize("options", [{"literal": True}, {"regex": True}, {"mode": "keyword"}, {"mode": "vector"}])
def test_literal_queries_and_patterns_find_no_tokens(store: Store, options: dict[str, Any]) -> None:
    assert not finds(store, "stays shut until", **options)


def test_without_trigrams_there_is_nothing(tmp_path: Path) -> None:
    tree = Tree(tmp_path, {"a.py": LOCK}, Settings(jobs=1, fuzzy=False))
    tree.index().close()
    with Store.read(tree.db) as store:
        assert not find_verbatim(asked(store, "stays shut until").run).finds


@pytest.mark.slow
def test_it_is_the_same_each_time_and_in_any_tree(store: Store, tmp_path: Path) -> None:
    query = "gate stays shut until 4.17.1 X-Request-Id"
    assert finds(store, query) == finds(store, query)
    tree = Tree(tmp_path)
    for path in reversed(FILES):  # other numbers for the same units
        tree.write({path: FILES[path]})
        tree.index().close()
    with Store.read(tree.db) as other:
        assert finds(other, query) == finds(store, query)


COPY = 'def says_{0}():\n    version = "4.17.1"\n    raise TideError("the gate stays shut until {0} boats leave")\n'


def copies(folder: Path, number: int) -> Store:
    tree = Tree(folder, {f"src/s{n:03}.py": COPY.format(n) for n in range(number)})
    tree.index().close()
    return Store.read(tree.db)


@pytest.fixture
def reading(monkeypatch: pytest.MonkeyPatch) -> Callable[[Store, str], int]:
    """Returns how many documents are opened to look for a query in them."""
    from codelens.search import verbatim

    opened: list[DocumentText] = []
    begin = verbatim._Document.__init__

    def noted(self: verbatim._Document, text: DocumentText, *more: Any) -> None:
        opened.append(text)
        begin(self, text, *more)

    monkeypatch.setattr(verbatim._Document, "__init__", noted)

    def count(store: Store, query: str) -> int:
        run = asked(store, query).run
        opened.clear()
        find_verbatim(run)
        return len(opened)

    return count


@pytest.mark.slow
def test_no_more_documents_are_read_in_a_larger_tree(tmp_path: Path, reading: Callable[[Store, str], int]) -> None:
    run, both, pasted = "gate stays shut", "gate stays shut 4.17.1", "gate stays shut until"
    with copies(tmp_path / "small", MOST_DOCUMENTS // 2) as few, copies(tmp_path / "large", 4 * MOST_DOCUMENTS) as many:
        assert reading(few, run) == MOST_DOCUMENTS // 2
        assert reading(many, run) == MOST_DOCUMENTS
        assert reading(many, both) == 2 * MOST_DOCUMENTS
        assert reading(many, pasted) == MOST_DOCUMENTS + MOST_OF_PASTED
        page = " ".join(f"gate stays shut until 4.17.{n}" for n in range(100))
        assert reading(many, page) <= (MOST_TOKENS + 1) * MOST_DOCUMENTS
        assert len(find_tokens([f"4.17.{n}" for n in range(100)], asked(many, run).run)) == MOST_TOKENS


def test_documents_that_hold_most_windows_are_read(tmp_path: Path) -> None:
    with copies(tmp_path, 2 * MOST_DOCUMENTS) as store:
        last = f"says_{2 * MOST_DOCUMENTS - 1}"
        query = f"the gate stays shut until {2 * MOST_DOCUMENTS - 1} boats leave"
        found = finds(store, query)
        assert max(found, key=lambda name: found[name].value) == last
        assert found[last].text == query
        assert len(found) == MOST_DOCUMENTS


PASTED: dict[str, str | bytes] = {
    "src/server.py": 'def start(base):\n    fail("Lock keepers should use this BASE path")\n\n\ndef stop(code):\n    return code\n',
    "src/lock.py": "class Lock:\n    base = None\n\n    def keepers(self, path):\n        return self.base / path\n",
    "src/joined.py": 'def tell():\n    fail("all the boats must "\n         "leave before the tide turns")\n',
    "src/maths.py": 'def turn(deg):\n    if (deg.x - half) * 2 >= limit["x"]:\n        return -deg\n    return deg\n',
    "src/boats.py": (
        "def leave_before_tide(boats):\n    # boats must leave before the tide\n"
        "    return [boat for boat in boats if boat.must_leave]\n"
    ),
    "src/deg.py": (
        "class Deg:\n    limit = {}\n\n    def half(self, x):\n        return self.limit[x] / 2\n\n"
        "    def deg_half_limit(self, x):\n        return x\n"
    ),
    "tests/test_server.py": 'def test_start():\n    assert said("Lock keepers should use this BASE path")\n',
}


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("Lock keepers should use this BASE path", "start"),
        ("lang:py Lock keepers should use this BASE path", "start"),
        ("all the boats must leave before the tide turns", "tell"),
        ('if (deg.x - half) * 2 >= limit["x"]:', "turn"),
        ('assert said("Lock keepers should use this BASE path")', "test_start"),
    ],
)
def test_a_pasted_text_is_found_first_whatever_it_has(query: str, first: str, tmp_path: Path) -> None:
    tree = Tree(tmp_path, PASTED)
    tree.index().close()
    with Store.read(tree.db) as store:
        assert asked(store, query).candidates[0].unit.qualified_name == first
