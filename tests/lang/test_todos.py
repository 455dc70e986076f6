"""Comments that say what is to be done."""

from __future__ import annotations

import pytest

from codelens.indexing.extract import extract, list_own_texts
from codelens.lang.comments import find_todos
from codelens.model.extraction import DecodedText, Unit
from codelens.text.lines import TextMap


def todos(text: str, path: str, language: str) -> list[Unit]:
    found = extract(TextMap(DecodedText(text, "utf-8", 1.0, 0)), path, language)
    return [unit for unit in found.units if unit.kind == "todo"]


def names(text: str, path: str = "a.py", language: str = "python") -> list[str]:
    return [unit.name for unit in todos(text, path, language)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("# TODO: retry\n", ["TODO: retry"]),
        ("# FIXME(ann) a\n# XXX b\n# HACK\n", ["FIXME(ann) a", "XXX b", "HACK"]),
        ("# TODO one\n#   two\n#\n# three\n", ["TODO one two"]),
        ("# TODO one\n\n# two\n", ["TODO one"]),
        ("x = 1  # TODO: trailing\n# not of it\n", ["TODO: trailing"]),
        ("# see the TODO list\n# TODOS\n# todo small\n# A-TODO\n", []),
        ("x = 'TODO: text'\n", []),
        ('"""TODO: a docstring"""\n', []),
    ],
)
def test_which_comments_count_and_how_far_they_go(text: str, expected: list[str]) -> None:
    assert names(text) == expected


def test_a_block_comment_may_hold_several_todos() -> None:
    text = "/* TODO one\n * more\n *\n * HACK two */\nint main(void) { return 0; }\n"
    assert names(text, "a.c", "c") == ["TODO one more", "HACK two"]
    assert [text[u.span.start : u.span.end] for u in todos(text, "a.c", "c")] == [
        "/* TODO one\n * more",
        "* HACK two */",
    ]


def test_todos_are_found_in_many_languages() -> None:
    for path, language, text in (
        ("a.go", "go", "package p\n// TODO x\nfunc F() {}\n"),
        ("a.rs", "rust", "// TODO x\nfn f() {}\n"),
        ("a.js", "javascript", "/** @TODO x */\nfunction f() {}\n"),
        ("a.rb", "ruby", "# TODO x\ndef f; end\n"),
        ("a.lua", "lua", "-- TODO x\nlocal a = 1\n"),
        ("a.java", "java", "class A {\n  // TODO x\n}\n"),
        ("a.sh", "bash", "# TODO x\nls\n"),
    ):
        assert names(text, path, language) == ["TODO x"], language


def test_a_todo_has_its_place_and_container() -> None:
    text = "class K:\n    def m(self):\n        a()\n        # TODO: ä\n        return 1\n"
    source = TextMap(DecodedText(text, "utf-8", 1.0, 0))
    found = extract(source, "a.py", "python")
    (todo,) = [u for u in found.units if u.kind == "todo"]
    assert (todo.container, todo.parent, todo.start_line, todo.name_line, todo.name_column) == ("K.m", None, 4, 4, 11)
    own = dict(zip((u.name for u in found.units), list_own_texts(source, found.units), strict=True))
    assert "TODO: ä" in own["m"], "a comment stays of the code around it"


def test_references_keep_their_unit_next_to_comments() -> None:
    text = "# TODO: a\n\n\ndef f():\n    # TODO: b\n    g()\n\n\ndef h():\n    i()\n"
    found = extract(TextMap(DecodedText(text, "utf-8", 1.0, 0)), "a.py", "python")
    calls = {r.name: found.units[r.unit].name for r in found.references if r.kind == "call" and r.unit is not None}
    assert calls == {"g": "f", "i": "h"}


def test_a_long_run_of_blanks_in_a_comment_takes_linear_time() -> None:
    blanks = " " * 200_000
    text = f"/* TODO first{blanks}then */\nint x; // FIXME later{blanks}\n"
    source = TextMap(DecodedText(text, "utf-8", 1.0, 0))
    assert [todo.name for todo in find_todos(source, "c", ())] == ["TODO first then", "FIXME later"]
