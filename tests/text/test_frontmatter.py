"""Front matter: the values that are read, the faults that are reported, and edits that keep all other lines."""

from __future__ import annotations

from itertools import pairwise

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from codelens.text.frontmatter import MOST_CHUNKS, read_front_matter, replace_fields, write_field


def fields(lines: str) -> dict[str, object]:
    return dict(read_front_matter(f"---\n{lines}\n---\nbody\n").fields)


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ("title: Why we retry", {"title": "Why we retry"}),
        ("title: Why   # because", {"title": "Why"}),
        ("title: a#b", {"title": "a#b"}),
        ("title: one\n  two\n  three", {"title": "one two three"}),
        ('title: "a: \\"b\\"\\n"', {"title": 'a: "b"\n'}),
        ("title: 'it''s'", {"title": "it's"}),
        ("title: |\n  one\n   two\n\n  three", {"title": "one\n two\n\nthree"}),
        ("title: >-\n  one\n  two\n\n  three", {"title": "one two\nthree"}),
        ("tags: [a, \"b, c\", 'd'] # some", {"tags": ("a", "b, c", "d")}),
        ("tags:\n- a # first\n- 'b: c'\n-", {"tags": ("a", "b: c")}),
        ('links:\n  - {"path": "a.py", "line": 3}', {"links": ({"path": "a.py", "line": 3},)}),
        ("empty:\ntitle: x", {"empty": "", "title": "x"}),
        ("links:\n  - path: a.py\n    line: 3\n  - b.py:4", {"links": ({"path": "a.py", "line": 3}, "b.py:4")}),
        ('name: a-skill\n"quoted-key": x\nnothing: ~', {"name": "a-skill", "quoted-key": "x", "nothing": ""}),
        ('tags: [a,\n  b]\ntitle: "one\n  # two"', {"tags": ("a", "b"), "title": "one # two"}),
        ("# a comment\n\ndone: yes\ncount: 12", {"done": "yes", "count": "12"}),
    ],
)
def test_reads(lines: str, expected: dict[str, object]) -> None:
    assert fields(lines) == expected


@pytest.mark.parametrize(
    "lines",
    [
        "meta:\n  a: b\n  c: d",
        "meta: {a: b}",
        "meta: [a, [b]]",
        "meta: !!python/object/apply:os.system [ls]",
        "meta: [!!python/name:os.system x]",
        "meta: [{a: !!python/name:os.system x}]",
        "meta: !own x",
        "meta: !!set {a}",
        "meta: !!binary eA==",
    ],
)
def test_other_values_are_reported_as_unread(lines: str) -> None:
    front = read_front_matter(f"---\n{lines}\ntitle: x\n---\nbody\n")
    assert (front.unread, front.fields, front.faults) == ({"meta": 2}, {"title": "x"}, ())


@pytest.mark.parametrize(
    ("lines", "fault"),
    [
        ('meta: "open', "`meta` is not valid YAML: found unexpected end of stream"),
        ("meta: *anchor", "`meta` is not valid YAML: aliases are not supported"),
        ("meta: " + "[" * 20 + "]" * 20, "`meta` is not valid YAML: too many nodes, or nested too deeply"),
        ('meta: "\\UFFFFFFFF"', "`meta` is not valid YAML: it has characters that YAML does not allow"),
        ("- item", "not `key: value`"),
    ],
)
def test_invalid_yaml_costs_one_field(lines: str, fault: str) -> None:
    front = read_front_matter(f"---\n{lines}\ntitle: x\n---\nbody\n")
    assert (front.faults, front.fields) == ((f"line 2: {fault}",), {"title": "x"})


def test_a_plain_text_with_a_colon_is_read_with_a_fault() -> None:
    front = read_front_matter("---\nname: pdf\ndescription: Use it when: a PDF\n  is at hand\n---\n")
    assert front.fields == {"name": "pdf", "description": "Use it when: a PDF is at hand"}
    assert front.faults == (
        "line 3: `description` is not valid YAML, read as plain text: mapping values are not allowed here",
    )


def test_a_repeated_field_is_a_fault() -> None:
    front = read_front_matter("---\ntitle: x\n# two\ntitle: z\n---\n")
    assert (front.faults, front.get_text("title")) == (("line 4: `title` is there twice",), "x")


def test_aliases_cannot_multiply_values() -> None:
    bomb = "a: &a [x, x]\n" + "".join(f"{b}: &{b} [*{a}, *{a}]\n" for a, b in pairwise("abcdefghij"))
    front = read_front_matter(f"---\n{bomb}---\n")
    assert front.fields == {"a": ("x", "x")}
    assert front.faults[0] == "line 3: `b` is not valid YAML: aliases are not supported"


def test_size_is_limited() -> None:
    many = "".join(f"key{number}: [{'x, ' * 20}]\n" for number in range(MOST_CHUNKS + 50))
    front = read_front_matter(f"---\n{many}---\n")
    assert (len(front.fields), front.faults[0]) == (MOST_CHUNKS, f"line {MOST_CHUNKS + 2}: too many fields")
    assert not read_front_matter(f"---\nkey: {'x' * 100_000}\n---\n").fields


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
        assert "".join(raw for _, raw in front.raw).replace("\r", "") in whole.replace("\r", "")


WORD = st.text(st.characters(exclude_categories=["Cs"]), min_size=1)


@given(st.one_of(WORD, st.lists(st.one_of(WORD, st.dictionaries(WORD, WORD, min_size=1)), min_size=1).map(tuple)))
def test_what_is_written_is_read_again(value: object) -> None:
    written = write_field("key", value)  # type: ignore[arg-type]
    assert fields(written.rstrip("\n"))["key"] == value


@pytest.mark.parametrize("text", ["true", "12", "1e3", "2026-01-01", "null", "- x", "a: b", "a #b", "*x", "0x1f", "~"])
def test_written_scalars_are_strings_to_every_yaml(text: str) -> None:
    assert yaml.safe_load(write_field("key", text)) == {"key": text}


def test_fields_change_and_all_other_lines_stay() -> None:
    text = "---\n# mine\ntitle: x\nmeta:\n  a: b\nstatus: open\ntags:\n  - a\n---\n\nbody\n"
    changed = replace_fields(text, {"status": "done", "tags": (), "created": "today"})
    assert changed == "---\n# mine\ntitle: x\nmeta:\n  a: b\nstatus: done\ncreated: today\n---\n\nbody\n"
    assert replace_fields("body\n", {"title": "x"}) == "---\ntitle: x\n---\nbody\n"
    with pytest.raises(ValueError, match="not closed"):
        replace_fields("---\ntitle: x\n", {"title": "y"})
