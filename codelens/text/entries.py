"""Adds one entry to a hand-written settings file, or removes it, and leaves the rest of the text unchanged.

An entry is a table named NAME below one key: `{"mcpServers": {"codelens": {…}}}` in JSON, with or without comments, and
`[mcp_servers.codelens]` in TOML. A block is text between two marker lines of a Markdown file. Each edit
is parsed and compared with the intended result. A text that cannot be parsed or edited raises ValueError.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import islice
from typing import Any

from codelens.text.notation import parse_json, parse_toml

NAME = "codelens"
BEGIN, END = "<!-- codelens: begin -->", "<!-- codelens: end -->"
MOST_TRIED = 50  # Places of the key that are tried, least indented first: nested objects may have the key, too
_COMMENT = re.compile(r'"(?:\\.|[^"\\\n])*+"|//[^\n]*|/\*.*?\*/', re.DOTALL)
_LAST_COMMA = re.compile(r'"(?:\\.|[^"\\\n])*+"|,(?=\s*[}\]])')
_BLOCK = re.compile(rf"((?<=\n)\r?\n)?{BEGIN}\r?\n.*?\n{END}(?:\r?\n)?", re.DOTALL)

Table = dict[str, Any]


def find_entry(text: str, key: str, is_toml: bool) -> Table | None:
    """Find the entry in a settings text; None if the text has no entry. Raises ValueError."""
    holder = _parse(text, is_toml).get(key, {})
    if not isinstance(holder, dict) or not isinstance(holder.get(NAME, {}), dict):
        raise ValueError(f"`{key}` is not a table of servers")
    return holder.get(NAME)


def add_entry(text: str, key: str, entry: Table, is_toml: bool) -> str:
    """Add the entry to the text, or update it. Other fields of an existing entry stay."""
    before, old = _parse(text, is_toml), find_entry(text, key, is_toml) or {}
    merged = old | entry
    for name, table in entry.items():
        if isinstance(table, dict) and isinstance(old.get(name), dict):
            merged[name] = old[name] | table
    if old == merged:
        return text
    meant = before | {key: before.get(key, {}) | {NAME: merged}}
    if is_toml:
        # A table of its own, such as [mcp_servers.codelens.env], stays where it is
        inline = {name: value for name, value in merged.items() if f"[{key}.{NAME}.{name}" not in text}
        rows = "".join(f"{name} = {_format_toml(value)}\n" for name, value in inline.items())
        table = f"{_end_with_blank_line(_remove_table(text, key, ''))}[{key}.{NAME}]\n{rows}"
        return _choose_intended([table], meant, is_toml)
    whole = text if _blank_comments(text).strip() else f"{text}{{}}\n"
    return _choose_intended(_set_member(whole, key, merged), meant, is_toml)


def _format_toml(value: Any) -> str:
    if not isinstance(value, dict):
        return json.dumps(value, ensure_ascii=False)
    pairs = (f"{json.dumps(name)} = {_format_toml(inner)}" for name, inner in value.items())
    return f"{{ {', '.join(pairs)} }}"


def remove_entry(text: str, key: str, is_toml: bool) -> str:
    """Remove the entry from the text, and the key too if nothing else is below it."""
    before = _parse(text, is_toml)
    if find_entry(text, key, is_toml) is None:
        return text
    rest = {name: value for name, value in before[key].items() if name != NAME}
    meant = {name: rest if name == key else value for name, value in before.items() if name != key or rest}
    if is_toml:
        return _choose_intended([_remove_table(text, key, r"(?:\.[^\]\n]+)?")], meant, is_toml)
    members = _find_members(_blank_comments(text), NAME if rest else key)
    return _choose_intended((_cut_member(text, member) for member in members), meant, is_toml)


def add_block(text: str, block: str) -> str:
    """Append the block to a Markdown text, or replace an older block."""
    marked = _detect_newline(text).join([BEGIN, *block.strip().splitlines(), END, ""])
    if remove_block(text) != text:
        return _BLOCK.sub(lambda found: f"{found[1] or ''}{marked}", text)
    return f"{_end_with_blank_line(text)}{marked}"


def remove_block(text: str) -> str:
    """Remove the block from a Markdown text. Raises ValueError if its marker lines do not pair."""
    rest = _BLOCK.sub("", text)
    if BEGIN in rest or END in rest:
        raise ValueError(f"the lines `{BEGIN}` and `{END}` do not pair")
    return rest


def _end_with_blank_line(text: str) -> str:
    """Append an empty line to the text unless it is empty."""
    newline = _detect_newline(text)
    return f"{text}{'' if text.endswith(newline) else newline}{newline}" if text else ""


def _parse(text: str, is_toml: bool) -> Table:
    plain = text if is_toml else _blank_comments(text)
    found = (parse_toml if is_toml else parse_json)(plain) if plain.strip() else {}
    if not isinstance(found, dict):
        raise ValueError("it is not a JSON object")
    return found


def _choose_intended(candidates: Iterator[str] | list[str], meant: Table, is_toml: bool) -> str:
    for text in islice(candidates, MOST_TRIED):
        try:
            if _parse(text, is_toml) == meant:
                return text
        except ValueError:
            continue
    raise ValueError("its layout cannot be edited safely")


def _remove_table(text: str, key: str, below: str) -> str:
    return re.sub(rf"(?m)(?:^\n)?^\[{key}\.{NAME}{below}\][^\n]*\n(?:[\w-]+ *=[^\n]*(?:\n|\Z))*", "", text)


def _blank_match(found: re.Match[str]) -> str:
    return found[0] if found[0][0] == '"' else re.sub(r"[^\n]", " ", found[0])


def _blank_comments(text: str) -> str:
    """Replace comments and trailing commas of a JSON text by spaces, so that offsets stay the same."""
    return _LAST_COMMA.sub(_blank_match, _COMMENT.sub(_blank_match, text))


def _get_indent(text: str, at: int) -> str:
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _find_members(plain: str, name: str) -> list[re.Match[str]]:
    """Find the object members of this name, least indented first; each match ends where the value begins."""
    found = re.finditer(rf'"{name}"\s*:\s*', plain)
    return sorted(found, key=lambda match: len(_get_indent(plain, match.start())))


def _set_member(text: str, key: str, entry: Table) -> Iterator[str]:
    plain, decode = _blank_comments(text), json.JSONDecoder().raw_decode
    for at in _find_members(plain, NAME):
        if plain[at.end()] == "{":
            lines = _format_json_lines(text, at.start(), entry)
            yield f"{text[: at.end()]}{_detect_newline(text).join(lines)}{text[decode(plain, at.end())[1] :]}"
    for at in _find_members(plain, key):
        yield _insert_member(text, at.end(), NAME, entry)
    yield _insert_member(text, plain.index("{"), key, {NAME: entry})


def _format_json_lines(text: str, at: int, value: object) -> list[str]:
    """Format a value as lines of JSON, indented like the line at the offset `at`."""
    step = re.search(r"\n([ \t]+)\S", text)
    first, *lines = json.dumps(value, indent=step[1] if step else "  ", ensure_ascii=False).split("\n")
    return [first, *(f"{_get_indent(text, at)}{line}" for line in lines)]


def _insert_member(text: str, brace: int, name: str, value: object) -> str:
    """Insert a member at the start of the object whose brace is at the offset `brace`."""
    _, *member, closing = _format_json_lines(text, brace, {name: value})
    rest = text[brace + 1 :]
    if _blank_comments(text)[brace + 1 :].lstrip().startswith("}"):
        rest = f"{_detect_newline(text)}{closing[:-1]}{rest.lstrip() if rest.lstrip().startswith('}') else rest}"
    else:
        rest = f",{rest}"
    return f"{text[: brace + 1]}{_detect_newline(text)}{_detect_newline(text).join(member)}{rest}"


def _detect_newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _cut_member(text: str, at: re.Match[str]) -> str:
    """Cut a member out of an object, together with the comma before or after it."""
    begin = len(text[: at.start()].rstrip())
    end = json.JSONDecoder().raw_decode(_blank_comments(text), at.end())[1]
    bare = _COMMENT.sub(_blank_match, text)
    after = len(bare) - len(bare[end:].lstrip())
    if bare[after] == ",":
        return text[:begin] + text[after + 1 :]
    before = len(bare[:begin].rstrip()) - 1
    if bare[before] == ",":
        return text[:before] + text[before + 1 : begin] + text[end:]
    return text[:begin] + text[after:]
