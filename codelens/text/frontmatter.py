"""The YAML between `---` lines at the start of a Markdown file: reads its fields, and replaces some of them in place.

Each field is parsed alone by PyYAML, so that one mistake costs one field. A field is a text or a list, and numbers, dates
and `yes` stay the words that were written. Any file of a repository may hold such a block, so tags build no objects, aliases
are refused, and size, depth and number of nodes have limits.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any

from codelens.model.fast_dataclass import dataclass

Item = str | Mapping[str, object]
Value = str | tuple[Item, ...]

MOST_CHARACTERS, MOST_NODES, MOST_CHUNKS = 60_000, 3_000, 200
"""Chosen: enough for a note with 100 long links. PyYAML is slow: 3,000 nodes take it 0.2 s."""
MOST_FAULTS = 20
DEEPEST = 8  # Nested lists and mappings. A field is at most a list of mappings.
_OPENING = re.compile(r"\ufeff?---[ \t]*\r?\n")
_CLOSING = re.compile(r"^(?:---|\.\.\.)[ \t]*\r?(?:\n|\Z)", re.MULTILINE)
_KEY = re.compile(r"""^["']?([A-Za-z_][\w-]{0,60})["']?[ \t]*:(?:[ \t]+|$)""", re.MULTILINE)
_BREAKS = re.compile(r"\\x85|\\u202[89]")  # Line breaks that only YAML knows, as `repr` escapes them
_TEXT_TAGS = frozenset(f"tag:yaml.org,2002:{name}" for name in ("str", "int", "float", "bool", "timestamp", "value"))
_NULL = "tag:yaml.org,2002:null"


@dataclass(frozen=True, slots=True)
class FrontMatter:
    """The fields in one document's front matter."""

    fields: Mapping[str, Value]
    lines: Mapping[str, int]  # Key → its line, from 1
    body: int  # Character at which the text below begins; 0 if there is no front matter
    faults: tuple[str, ...]  # Lines that are not a field, repeated fields and invalid YAML, each with its line
    unread: Mapping[str, int]  # Key → line of the fields whose value is neither a text nor a list of texts and mappings
    raw: tuple[tuple[str, str], ...]
    """(key, its lines as written), in order; the key is empty for comments and unreadable lines."""

    def text(self, key: str) -> str:
        """A field as one text; empty if it is missing or a list."""
        value = self.fields.get(key, "")
        return value if isinstance(value, str) else ""

    def words(self, key: str) -> tuple[str, ...]:
        """A field as a list of texts; a single text is split at commas, and mappings are left out."""
        value = self.fields.get(key, ())
        parts = value.split(",") if isinstance(value, str) else [item for item in value if isinstance(item, str)]
        return tuple(part.strip() for part in parts if part.strip())

    def items(self, key: str) -> tuple[Item, ...]:
        """A field as a list; a single text is a list of one."""
        value = self.fields.get(key, ())
        return ((value,) if value else ()) if isinstance(value, str) else value


NO_FRONT_MATTER = FrontMatter({}, {}, 0, (), {}, ())


def read_front_matter(text: str) -> FrontMatter:
    """The front matter at the start of a text; NO_FRONT_MATTER if it has none."""
    opening = _OPENING.match(text)
    if not opening:
        return NO_FRONT_MATTER
    closing = _CLOSING.search(text, opening.end())
    if closing is None or closing.start() - opening.end() > MOST_CHARACTERS:
        return FrontMatter({}, {}, 0, ("line 1: `---` is not closed by another",), {}, ())
    fields, lines, unread = dict[str, Value](), dict[str, int](), dict[str, int]()
    faults, raw, line = list[str](), list[tuple[str, str]](), 2
    for chunk in _split_chunks(text[opening.end() : closing.start()].replace("\r\n", "\n")):
        key, value, fault = _parse_field(chunk) if len(raw) < MOST_CHUNKS else ("", None, "too many fields")
        if fault or key in fields:
            faults.append(f"line {line}: {fault or f'`{key}` is there twice'}")
        if key and key not in fields and value is not None:
            fields[key], lines[key] = value, line
        elif key and value is None and not fault:
            unread[key] = line
        raw.append((key, chunk))
        line += chunk.count("\n")
    return FrontMatter(fields, lines, closing.end(), tuple(faults[:MOST_FAULTS]), unread, tuple(raw))


def _split_chunks(source: str) -> Iterator[str]:
    """Runs of lines: a field each, and the blank lines and comments around fields."""
    starts = [found.start() for found in _KEY.finditer(source)]
    for start, end in pairwise((0, *starts, len(source))):
        kept = end
        while kept > start:
            last = source.rfind("\n", start, kept - 1) + 1 or start
            if source[last:kept].strip() and source[last] != "#":
                break
            kept = last
        yield from filter(None, (source[start:kept], source[kept:end]))


def _parse_field(chunk: str) -> tuple[str, Value | None, str]:
    """(key, value, fault) of a field's lines. A plain text that is not valid YAML, such as `title: a: b`, is taken as written."""
    found = _KEY.match(chunk)
    if not found:
        return "", None, "not `key: value`" if chunk.strip() and chunk.lstrip()[0] != "#" else ""
    key, first = found[1], chunk[found.end() : found.end() + 1]
    try:
        return key, _read_value(_parse_node(chunk)), ""
    except ValueError as fault:
        if first.strip() and first not in "\"'[{|>&*!%@`#":
            return (
                key,
                " ".join(chunk[found.end() :].split()),
                f"`{key}` is not valid YAML, read as plain text: {fault}",
            )
        return key, None, f"`{key}` is not valid YAML: {fault}"


def _parse_node(field: str) -> Any:
    """The YAML node of a field's value. Raises ValueError for invalid YAML and beyond the limits."""
    import yaml  # 20 ms that only front matter should cost

    depth = nodes = 0
    try:
        for event in yaml.parse(field, Loader=yaml.SafeLoader):
            if isinstance(event, yaml.AliasEvent):
                raise ValueError("aliases are not supported")
            opens = isinstance(event, yaml.CollectionStartEvent)
            depth += opens - isinstance(event, yaml.CollectionEndEvent)
            nodes += opens or isinstance(event, yaml.ScalarEvent)
            if depth > DEEPEST or nodes > MOST_NODES:
                raise ValueError("too many nodes, or nested too deeply")
        root = yaml.compose(field, Loader=yaml.SafeLoader)
    except (yaml.YAMLError, OverflowError) as fault:
        raise ValueError(getattr(fault, "problem", None) or "it has characters that YAML does not allow") from None
    if not isinstance(root, yaml.MappingNode) or len(root.value) != 1:
        raise ValueError("it is not one field")
    return root.value[0][1]


def _read_value(node: Any) -> Value | None:
    if node.tag != "tag:yaml.org,2002:seq":
        return _read_text(node)
    items = [_read_text(item) if item.id == "scalar" else _read_mapping(item) for item in node.value]
    return None if None in items else tuple(item for item in items if item) or ""


def _read_text(node: Any) -> str | None:
    """A scalar as it is written; None for other nodes and for tags that ask for an object."""
    if node.id != "scalar" or node.tag not in (*_TEXT_TAGS, _NULL):
        return None
    text = "" if node.tag == _NULL else str(node.value)
    return text.strip() if node.style in ("|", ">") else text


def _read_mapping(node: Any) -> Mapping[str, object] | None:
    """A mapping with its values as YAML reads them; None for other nodes, and for values that cannot be read."""
    from yaml import YAMLError
    from yaml.constructor import SafeConstructor

    try:
        found = SafeConstructor().construct_document(node) if node.id == "mapping" else None
    except (YAMLError, ValueError, ArithmeticError):
        return None
    return found if isinstance(found, dict) and all(isinstance(key, str) for key in found) else None


def write_field(key: str, value: Value) -> str:
    """The lines of one field; none for an empty value."""
    import yaml

    if not value:
        return ""
    plain = value if isinstance(value, str) else [item if isinstance(item, str) else dict(item) for item in value]
    flow = None if any(isinstance(item, dict) for item in plain) else False
    quotes = '"' if _BREAKS.search(repr(plain)) else None  # PyYAML writes these wrong in other styles
    options: dict[str, Any] = {"allow_unicode": True, "sort_keys": False, "width": 1 << 30, "default_style": quotes}
    return str(yaml.safe_dump({key: plain}, default_flow_style=flow, **options))


def replace_fields(text: str, changes: Mapping[str, Value]) -> str:
    """A document with these fields changed or added; an empty value removes one. All other lines stay as they are."""
    front = read_front_matter(text)
    if not front.body and front.faults:
        raise ValueError(front.faults[0])
    done: set[str] = set()
    parts: list[str] = []
    for key, raw in front.raw:
        if key in changes:
            parts += [] if key in done else [write_field(key, changes[key])]
            done.add(key)
        else:
            parts.append(raw)
    parts += [write_field(key, value) for key, value in changes.items() if key not in done]
    return f"---\n{''.join(parts)}---\n{text[front.body :]}"
