"""An entry comes into a settings file and goes again, and nothing else in the file changes."""

from __future__ import annotations

import json
import tomllib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codelens.text.entries import BEGIN, END, add_block, add_entry, find_entry, remove_block, remove_entry

ENTRY = {"command": "/bin/codelens", "args": ["mcp"]}
JSON = [
    "{}\n",
    '{"a": 1}',
    '{\n    "theme": "dark", // at night\n    /* nothing else, } */\n}\n',
    '{\n\t"mcpServers": {\n\t\t"other": {"command": "x"}, // ours, \\ "theirs"\n\t},\n}\n',
    '// settings\n{\n  "url": "http://a//b, }",\n  "mcpServers": {\n    "other": {}\n    // the last\n  }\n}\n',
    '{\r\n  "a": 1\r\n}\r\n',
    '{\n  "projects": {\n    "/p": {\n      "mcpServers": {"z": {}, "codelens": {"command": "old"}}\n    }\n  }\n}\n',
    '{"projects": {"/p": {"mcpServers": {}}}, "mcpServers": {"b": {}}}',
]
TOML = [
    "",
    '# mine\nmodel = "o"\n',
    '[mcp_servers.other]\ncommand = "x"\n\n[profiles.a]\nx = """\n[mcp_servers.other]\n"""\n',
]


@pytest.mark.parametrize("text", JSON)
def test_a_json_text_is_the_same_after_both_edits(text: str) -> None:
    added = add_entry(text, "mcpServers", ENTRY, is_toml=False)
    assert find_entry(added, "mcpServers", is_toml=False) == ENTRY
    assert set(text.splitlines()) - set(added.splitlines()) <= {"{}", text}
    assert add_entry(added, "mcpServers", ENTRY, is_toml=False) == added
    assert remove_entry(added, "mcpServers", is_toml=False) == text


@pytest.mark.parametrize("text", TOML)
def test_a_toml_text_is_the_same_after_both_edits(text: str) -> None:
    added = add_entry(text, "mcp_servers", ENTRY, is_toml=True)
    assert tomllib.loads(added)["mcp_servers"]["codelens"] == ENTRY
    assert add_entry(added, "mcp_servers", ENTRY, is_toml=True) == added
    assert remove_entry(added, "mcp_servers", is_toml=True) == text


def test_a_new_file_is_indented_json() -> None:
    assert add_entry("", "mcpServers", ENTRY, is_toml=False) == (
        json.dumps({"mcpServers": {"codelens": ENTRY}}, indent=2) + "\n"
    )


NESTED = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text() | st.just("mcpServers"), inner, max_size=3),
    max_leaves=10,
)


@given(st.dictionaries(st.text(), NESTED, max_size=4), st.sampled_from([None, 2, 4, "\t"]), st.booleans())
def test_any_object_gets_the_entry(document: dict[str, Any], indent: int | str | None, ascii_only: bool) -> None:
    if not isinstance(document.get("mcpServers", {}), dict):
        return
    text = json.dumps(document, indent=indent, ensure_ascii=ascii_only)
    added = add_entry(text, "mcpServers", ENTRY, is_toml=False)
    assert json.loads(added) == document | {"mcpServers": document.get("mcpServers", {}) | {"codelens": ENTRY}}
    rest = json.loads(remove_entry(added, "mcpServers", is_toml=False))
    assert rest == {name: value for name, value in document.items() if (name, value) != ("mcpServers", {})}


def test_fields_that_the_user_added_stay() -> None:
    text = '{"mcpServers": {"codelens": {"command": "old", "args": ["mcp"], "timeout": 9}, "b": {}}}'
    assert json.loads(add_entry(text, "mcpServers", ENTRY, is_toml=False))["mcpServers"] == {
        "codelens": ENTRY | {"timeout": 9},
        "b": {},
    }
    toml = (
        '[mcp_servers.codelens]\ncommand = "old"\nargs = ["mcp"]\ntimeout = 9\n\n'
        '[mcp_servers.codelens.tools.search]\napproval_mode = "approve"\n\n# others\n[profiles]\n'
    )
    changed = add_entry(toml, "mcp_servers", ENTRY, is_toml=True)
    assert tomllib.loads(changed)["mcp_servers"]["codelens"] == ENTRY | {
        "timeout": 9,
        "tools": {"search": {"approval_mode": "approve"}},
    }
    assert remove_entry(changed, "mcp_servers", is_toml=True).strip() == "# others\n[profiles]"


@pytest.mark.parametrize(
    ("text", "is_toml"),
    [
        ("{", False),
        ("[]", False),
        ('{"mcpServers": []}', False),
        ('{"mcpServers": {"codelens": 3}}', False),
        ("[" * 100_000, False),
        ("\ufeff{}", False),
        ("a =", True),
        ("mcp_servers = { other = { command = 'x' } }", True),
        ("[mcp_servers]\ncodelens.command = 'x'\n", True),
    ],
)
def test_what_cannot_be_edited_is_refused(text: str, is_toml: bool) -> None:
    with pytest.raises(ValueError):
        add_entry(text, "mcp_servers" if is_toml else "mcpServers", ENTRY, is_toml)


def test_line_ends_of_windows_stay() -> None:
    added = add_block("# Mine\r\n", "Use it.\nOften.")
    assert added == f"# Mine\r\n\r\n{BEGIN}\r\nUse it.\r\nOften.\r\n{END}\r\n"
    assert add_block(added, "Use it.\nOften.") == added
    assert remove_block(added) == "# Mine\r\n"


@pytest.mark.parametrize("text", ["", "# Mine\n", "# Mine\n\nText.\n\n"])
def test_a_markdown_text_is_the_same_after_both_edits(text: str) -> None:
    added = add_block(text, "Use it.\n")
    assert added.endswith(f"{BEGIN}\nUse it.\n{END}\n")
    assert add_block(added, "Use it.") == added
    assert remove_block(added) == text
    more = f"{added}\nMore.\n"
    assert add_block(more, "New.") == more.replace("Use it.", "New.")
    assert remove_block(more) == f"{text}\nMore.\n"


@pytest.mark.parametrize("text", [f"{BEGIN}\nx\n", f"{END}\n{BEGIN}\n", f"{BEGIN}\n{BEGIN}\nx\n{END}\n{END}\n"])
def test_markers_that_do_not_pair_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="do not pair"):
        add_block(text, "Use it.")


@pytest.mark.parametrize("text", ["\n", "  \n\n", "// nothing yet\n", "/* nothing */"])
def test_a_file_without_an_object_gets_one(text: str) -> None:
    found = add_entry(text, "mcpServers", {"command": "codelens"}, is_toml=False)
    assert found.startswith(text)
    assert find_entry(found, "mcpServers", is_toml=False) == {"command": "codelens"}
