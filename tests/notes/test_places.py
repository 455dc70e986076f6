"""The places that front matter may contain."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codelens.notes.note import (
    Anchor,
    BadPlaceError,
    classify_path,
    compute_digest,
    normalize_path,
    parse_anchor,
    read_note,
)


@pytest.mark.parametrize(
    ("item", "expected"),
    [
        ("src/app.py:12", Anchor("src/app.py", 12)),
        ("./src/../src/app.py", Anchor("src/app.py")),
        ("app.py", Anchor("app.py")),
        ("Makefile:3", Anchor("Makefile", 3)),
        ("Flask.run", Anchor(symbol="Flask.run")),
        ("std::vec#push()", Anchor(symbol="std.vec.push")),
        ({"path": "a b.py", "line": 3, "symbol": "f", "other": 1}, Anchor("a b.py", 3, "f")),
    ],
)
def test_each_form_of_a_place_is_parsed(item: str | dict[str, object], expected: Anchor) -> None:
    assert parse_anchor(item) == expected


@pytest.mark.parametrize(
    "item",
    [
        "/etc/passwd:1",
        "../x.py:1",
        "src/../../x.py",
        "C:/x.py",
        "..\\x.py:2",
        "a\0b/c.py",
        "not a name",
        "",
        {"path": "../x"},
        {"path": "/x"},
        {"line": 3},
        {"path": "a.py", "line": -1},
        {"path": "a.py", "line": True},
        {"path": "a.py", "line": "3"},
        {"path": ["a"]},
        {"symbol": "a\nb"},
    ],
)
def test_nothing_leads_out_of_the_tree(item: str | dict[str, object]) -> None:
    with pytest.raises(BadPlaceError):
        parse_anchor(item)


@given(st.text(st.sampled_from("./\\a:~ C\0")))
def test_no_path_leads_out_of_the_tree(path: str) -> None:
    try:
        tidy = normalize_path(path)
    except BadPlaceError:
        return
    assert not tidy.startswith("/")
    assert ".." not in tidy.split("/")


def test_a_digest_is_of_lines_with_words_alone() -> None:
    lines = ["a", "", "  b", "c", "d", "e", "f"]
    assert compute_digest(lines, 1) == compute_digest(["a", "b", "c  ", "d", "e", "x"], 1) != compute_digest(lines, 2)
    assert compute_digest(lines, 0) == compute_digest(lines, 8) == compute_digest([""], 1) == ""


def test_kinds_are_by_place_and_front_matter() -> None:
    assert classify_path(".codelens/notes/a.md") == classify_path("lib/.codelens/notes/b/c.md") == "note"
    assert classify_path("skills/x/SKILL.md") == classify_path("SKILL.md") == "skill"
    assert (
        classify_path("docs/a.md")
        == classify_path(".codelens/notes/a.txt")
        == classify_path("x.codelens/notes/a.md")
        == ""
    )
    task = read_note("---\nkind: task\n---\n# Do it ##\nx\n", ".codelens/notes/sub/do.md")
    assert (task.id, task.kind, task.title, task.status) == ("sub/do", "task", "Do it", "open")
    odd = read_note("---\nkind: song\nmeta:\n  a: b\ntags:\n  a: b\nlinks: [../x.py:1]\n---\n", ".codelens/notes/a.md")
    assert (odd.kind, odd.title, odd.links) == ("note", "a", ())
    assert odd.faults == (
        "line 5: the value of `tags` is not read",
        "line 2: kind is note or task, not 'song'",
        "line 7: '../x.py' leads out of the tree",
    )
    skill = read_note(
        "---\nname: deploy\ndescription: >\n  How to\n  ship\ntriggers: [ship it]\nkind: task\n---\nx", "a/SKILL.md"
    )
    assert (skill.kind, skill.title, skill.description, skill.triggers) == (
        "skill",
        "deploy",
        "How to ship",
        ("ship it",),
    )
