"""Front matter: what the dialect reads, what it says it does not, and the way back."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codelens.text.frontmatter import flow_list, read_front_matter, with_fields, write_field


def fields(lines: str) -> dict[str, object]:
    return dict(read_front_matter(f"---\n{lines}\n---\nbody\n").fields)


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ("title: Why we retry", {"title": "Why we retry"}),
        ("title: Why   # because", {"title": "Why"}),
        ("title: a#b: c", {"title": "a#b: c"}),
        ("title: one\n  two\n  three", {"title": "one two three"}),
        ('title: "a: \\"b\\"\\n"', {"title": 'a: "b"\n'}),
        ("title: 'it''s'", {"title": "it's"}),
        ("title: |\n  one\n   two\n\n  three", {"title": "one\n two\n\nthree"}),
        ("title: >-\n  one\n  two\n\n  three", {"title": "one two\nthree"}),
        ("tags: [a, \"b, c\", 'd'] # some", {"tags": ("a", "b, c", "d")}),
        ("tags:\n  - a # first\n  - 'b: c'\n- d", {"tags": ("a", "b: c", "d")}),
        ('links:\n  - {"path": "a.py", "line": 3}', {"links": ({"path": "a.py", "line": 3},)}),
        ("empty:\ntitle: x", {"empty": "", "title": "x"}),
        ("# a comment\n\ndone: yes\ncount: 12", {"done": "yes", "count": "12"}),
    ],
)
def test_reads(lines: str, expected: dict[str, object]) -> None:
    assert fields(lines) == expected


@pytest.mark.parametrize(
    ("lines", "unread"),
    [
        ("meta:\n  a: b\n  c: d", {"meta": 2}),
        ("meta: {a: b}", {"meta": 2}),
        ("meta: &anchor x", {"meta": 2}),
        ("meta: [a, [b]]", {"meta": 2}),
        ('meta: "open', {"meta": 2}),
    ],
)
def test_what_is_not_read_is_said_and_costs_nothing_else(lines: str, unread: dict[str, int]) -> None:
    front = read_front_matter(f"---\n{lines}\ntitle: x\n---\nbody\n")
    assert (front.unread, front.fields) == (unread, {"title": "x"})


def test_lines_that_are_no_fields_are_faults() -> None:
    front = read_front_matter("---\ntitle: x\n- y\ntitle: z\n---\n")
    assert front.faults == ("line 3: not `key: value`", "line 4: `title` is there twice")
    assert front.text("title") == "x"


def test_without_front_matter_all_is_body() -> None:
    for text in ("", "# Title\n", "--- \nno", "----\na: b\n---\n", "text\n---\na: b\n---\n"):
        front = read_front_matter(text)
        assert (front.body, dict(front.fields)) == (0, {})
    assert read_front_matter("---\na: b\n").faults == ("line 1: `---` is not closed by another",)


@given(st.text())
def test_any_text_is_read(text: str) -> None:
    for whole in (text, f"---\n{text}\n---\n", f"---\nkey: {text}\n---\n", f"---\nkey:\n  - {text}\n---\n"):
        front = read_front_matter(whole)
        assert 0 <= front.body <= len(whole)
        assert "".join(raw for _, raw in front.raw) in whole.replace("\r\n", "\n").replace("\r", "") or "\r" in whole
    flow_list("[" + text)


WORD = st.text(st.characters(exclude_categories=["Cs"]), min_size=1)


@given(st.one_of(WORD, st.lists(st.one_of(WORD, st.dictionaries(WORD, WORD, min_size=1)), min_size=1).map(tuple)))
def test_what_is_written_is_read_again(value: object) -> None:
    written = write_field("key", value)  # type: ignore[arg-type]
    assert fields(written.rstrip("\n"))["key"] == value


def test_written_scalars_are_strings_to_every_yaml() -> None:
    for text in ("true", "12", "1e3", "2026-01-01", "null", "- x", "a: b", "a #b", "@x", "", " x", "x:", "*x", "0x1f"):
        assert write_field("key", text) in ("", f"key: {json.dumps(text)}\n")


def test_fields_change_and_all_other_lines_stay() -> None:
    text = "---\n# mine\ntitle: x\nmeta:\n  a: b\nstatus: open\ntags:\n  - a\n---\n\nbody\n"
    changed = with_fields(text, {"status": "done", "tags": (), "created": "today"})
    assert changed == "---\n# mine\ntitle: x\nmeta:\n  a: b\nstatus: done\ncreated: today\n---\n\nbody\n"
    assert with_fields("body\n", {"title": "x"}) == "---\ntitle: x\n---\nbody\n"
    with pytest.raises(ValueError, match="not closed"):
        with_fields("---\ntitle: x\n", {"title": "y"})
