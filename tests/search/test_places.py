"""Queries that point at something: PATH:LINE, PATH:LINE:COLUMN and PATH at a place, TODO at comments."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from codelens.index import Index
from codelens.model.search import Hit
from tests.search.trees import Tree, checked, find

FILES = {
    "src/dam.py": (
        "GATES = 4\n\n\nclass Dam:\n    '''Holds water.'''\n\n    def open(self):\n        # TODO: count the boats\n"
        "        return GATES\n\n    def close(self):\n        return 0\n\n\ndef overflow():\n    return 1\n"
    ),
    "old/dam.py": "def open():\n    return 2  # FIXME: never\n",
    "notes.md": "# Dam\n\nThe file src/dam.py is TODO. See dam.py:8, line 8.\n",
    "app.ts": "export function todo(x: number) {\n  return x\n}\n// HACK: dam.py\n",
}


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Tree:
    return Tree(tmp_path_factory.mktemp("places"), FILES)


@pytest.fixture(scope="module")
def index(tree: Tree) -> Iterator[Index]:
    with tree.index() as opened:
        yield opened


def first(index: Index, query: str) -> Hit:
    return find(index, query).hits[0]


@pytest.mark.parametrize(
    ("query", "name", "line", "column"),
    [
        ("src/dam.py:9", "Dam.open", 9, 1),
        ("src/dam.py:9:16", "Dam.open", 9, 16),
        ("src/dam.py:9:", "Dam.open", 9, 1),  # as grep prints it
        ("./src/dam.py:9", "Dam.open", 9, 1),
        ("src/dam.py#L12", "Dam.close", 12, 1),
        ("src/dam.py:5", "Dam", 5, 1),
        ("src/dam.py:1", "GATES", 1, 1),
        ("src/dam.py:13", "Dam.close", 11, 9),  # a line between two: the nearest
        ("old/dam.py:1", "open", 1, 1),
        ("app.ts:2", "todo", 2, 1),
        ("dam.py:16", "overflow", 16, 1),  # of two files the one that has something there
    ],
)
def test_a_query_like_path_line_goes_to_that_place(query: str, name: str, line: int, column: int, index: Index) -> None:
    hit = first(index, query)
    assert (hit.unit.qualified_name, hit.line, hit.column) == (name, line, column)


def test_the_innermost_goes_first_then_what_is_around_it_then_its_file(index: Index) -> None:
    hits = find(index, "src/dam.py:9").hits
    own = [hit.unit.qualified_name for hit in hits if hit.unit.path == "src/dam.py"]
    assert own == ["Dam.open", "Dam", "Dam.close", "overflow", "GATES"]
    assert [hit.unit.path for hit in hits[: len(own)]] == ["src/dam.py"] * len(own)


def test_an_absolute_path_is_one_too(tree: Tree, index: Index) -> None:
    assert first(index, f"{tree.root}/old/dam.py:2").unit.path == "old/dam.py"


def test_a_bare_path_goes_to_its_file(index: Index) -> None:
    assert {hit.unit.path for hit in find(index, "src/dam.py").hits[:4]} == {"src/dam.py"}
    assert first(index, "notes.md").unit.path == "notes.md"
    assert {hit.unit.path for hit in find(index, "dam.py").hits[:6]} == {"src/dam.py", "old/dam.py"}


def test_why_accounts_for_the_place(index: Index) -> None:
    record = checked(index, "src/dam.py:9", "Dam.open", "Dam")
    parts = [
        part for e in record["explanations"] for part in e["candidate"]["contributions"] if part["source"] == "place"
    ]
    assert [(part["reason"], part["operands"]["value"]) for part in parts] == [
        ("line 9 is in it", 1.0),
        ("line 9 is in it", 0.9),
    ]


def test_a_notice_says_that_a_line_does_not_exist(index: Index) -> None:
    result = find(index, "old/dam.py:99")
    assert [notice.text for notice in result.notices] == ["old/dam.py has 2 lines"]
    assert result.hits[0].unit.path == "old/dam.py"


@pytest.mark.parametrize("query", ["lock:8", "Dam.open", "dam", "src/nowhere.py:9", "open:1", "src/dam.py is here"])
def test_any_other_query_is_of_words(query: str, index: Index) -> None:
    sources = {part.source for hit in find(index, query).hits for part in hit.contributions}
    assert "place" not in sources


def test_conditions_hold_for_places_too(index: Index) -> None:
    assert {hit.unit.path for hit in find(index, "dam.py:1", globs=("old/*",)).hits} == {"old/dam.py"}


@pytest.mark.parametrize(
    ("mark", "lines"), [("TODO", ["src/dam.py:8", "app.ts:4", "old/dam.py:2"]), ("FIXME", ["old/dam.py:2"])]
)
def test_a_mark_finds_the_comments_that_it_opens(mark: str, lines: list[str], index: Index) -> None:
    found = find(index, mark).hits
    todos = [f"{hit.unit.path}:{hit.line}" for hit in found if hit.unit.kind == "todo"]
    asked = {f"{hit.unit.path}:{hit.line}" for hit in find(index, "kind:todo").hits}
    assert todos[: len(lines)] == lines
    assert set(todos) == asked
    assert [hit.unit.kind for hit in found[: len(todos)]] == ["todo"] * len(todos)


def test_the_word_todo_in_small_letters_is_a_word(index: Index) -> None:
    assert first(index, "todo").unit.qualified_name == "todo"


def test_a_definition_is_shown_by_its_own_line(tmp_path: Path) -> None:
    """The lines that say most stand below it; lines of a method are the method's and not its class's."""
    text = (
        "class Sluice:\n    '''Where barges wait.'''\n\n    def step(self, level):\n        pump = level\n"
        "        return self.drain_chamber(pump)  # drains the chamber slowly\n\n\ndef drain_chamber(pump):\n    return pump\n"
    )
    with Tree(tmp_path, {"sluice.py": text}).index() as index:
        lines = {hit.unit.qualified_name: hit.line for hit in find(index, "drain chamber slowly").hits}
        assert lines == {"Sluice.step": 4, "drain_chamber": 9, "Sluice": 1}  # the class by a related word
        assert {h.unit.qualified_name: h.line for h in find(index, "sluice").hits}["Sluice"] == 1
        assert {h.unit.qualified_name: h.line for h in find(index, "waiting barges").hits}["Sluice"] == 1
        hit = next(h for h in find(index, "drain chamber slowly").hits if h.unit.qualified_name == "Sluice.step")
        assert [line.number for line in hit.snippet] == [4, 6]
        line = hit.snippet[1]
        assert [line.text[slice(*span)] for span in line.matches] == ["drain_chamber", "drains", "chamber", "slowly"]


def test_a_text_that_was_asked_for_is_shown(tmp_path: Path) -> None:
    text = (
        "def close(gate):\n    if gate.locked:\n        raise GateFault('the gate is locked for the night')\n"
        "    gate.swing(--gate_steps)\n"
    )
    with Tree(tmp_path, {"gate.py": text}).index() as index:
        for query, line in (
            ("the gate is locked for the night", 3),
            ("GateFault: the gate is locked for the night", 3),
            ('"for the night"', 3),
            ("ate_st", 4),
            ("how is the gate closed", 1),
        ):
            assert find(index, query).hits[0].line == line, query
        assert find(index, "night", mode="exact").hits[0].line == 3
