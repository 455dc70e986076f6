"""Reads and replaces fields of the YAML front matter between `---` lines at the start of a Markdown file.

PyYAML parses each field separately, so that a mistake affects only one. A field is a text or a list; numbers, dates and `yes`
stay text. Because the files may be hostile, tags build no objects, aliases are refused, and size, depth and number of nodes
are limited.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any

from codelens.model.fast_dataclass import frozen_dataclass

Item = str | Mapping[str, object]
Value = str | tuple[Item, ...]

MOST_CHARACTERS, MOST_NODES, MOST_CHUNKS = 60_000, 3_000, 200
"""Limits on the front matter, chosen: enough for a note with 100 long links. PyYAML takes 0.2 s for 3,000 nodes."""
MOST_FAULTS = 20
DEEPEST = 8  # Maximum nesting of lists and mappings. A valid field is at most a list of mappings.
_OPENING = re.compile(r"\ufeff?---[ \t]*\r?\n")
_CLOSING = re.compile(r"^(?:---|\.\.\.)[ \t]*\r?(?:\n|\Z)", re.MULTILINE)
_KEY = re.compile(r"""^["']?([A-Za-z_][\w-]{0,60})["']?[ \t]*:(?:[ \t]+|$)""", re.MULTILINE)
_BREAKS = re.compile(r"\\x85|\\u202[89]")  # Line breaks that only YAML knows, as `repr` escapes them
_TEXT_TAGS = frozenset(f"tag:yaml.org,2002:{name}" for name in ("str", "int", "float", "bool", "timestamp", "value"))
_NULL = "tag:yaml.org,2002:null"


@frozen_dataclass
class FrontMatter:
    """The fields in one document's front matter."""

    fields: Mapping[str, Value]
    lines: Mapping[str, int]  # Key → its line, from 1
    body: int  # Character offset of the text below; 0 if there is no front matter
    faults: tuple[str, ...]  # Messages about stray lines, repeated fields and invalid YAML, with line numbers
    unread: Mapping[str, int]  # Key → line of the fields whose value is neither a text nor a list of texts and mappings
    raw: tuple[tuple[str, str], ...]
    """(key, its lines as written), in order; the key is empty for comments and unreadable lines."""

    def get_text(self, key: str) -> str:
        """Return a field as one text; empty if it is missing or a list."""
        value = self.fields.get(key, "")
        return value if isinstance(value, str) else ""

    def get_words(self, key: str) -> tuple[str, ...]:
        """Return a field as a list of texts. A single text is split at commas; mappings are left out."""
        value = self.fields.get(key, ())
        parts = value.split(",") if isinstance(value, str) else [item for item in value if isinstance(item, str)]
        return tuple(part.strip() for part in parts if part.strip())

    def get_items(self, key: str) -> tuple[Item, ...]:
        """Return a field as a list. A single text becomes a list of one item."""
        value = self.fields.get(key, ())
        return ((value,) if value else ()) if isinstance(value, str) else value


NO_FRONT_MATTER = FrontMatter({}, {}, 0, (), {}, ())


def read_front_matter(text: str) -> FrontMatter:
    """Read the front matter at the start of a text; NO_FRONT_MATTER if there is no front matter."""
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
    """Split front matter into runs of lines: a field each, or the blank lines and comments between fields."""
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
    """Parse a field's lines into (key, value, fault). Plain text that is not valid YAML, as in `title: a: b`, is kept as text."""
    found = _KEY.match(chunk)
    if not found:
        return "", None, "not `key: value`" if chunk.strip() and chunk.lstrip()[0] != "#" else ""
    key, first = found[1], chunk[found.end() : found.end() + 1]
    try:
        return key, _read_value(_parse_node(chunk)), ""
    except ValueError as fault:
        if first.strip() and first not in "\"'[{|>&*!%@`#":
            value = " ".join(chunk[found.end() :].split())
            return key, value, f"`{key}` is not valid YAML, read as plain text: {fault}"
        return key, None, f"`{key}` is not valid YAML: {fault}"


def _parse_node(field: str) -> Any:
    """Parse a field into the YAML node of its value. Raises ValueError if it is not valid YAML or exceeds the limits."""
    import yaml  # takes 20 ms, so it is imported only when needed

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
    """Return a scalar as text; None for other nodes and for tags that would build an object."""
    if node.id != "scalar" or node.tag not in (*_TEXT_TAGS, _NULL):
        return None
    text = "" if node.tag == _NULL else str(node.value)
    return text.strip() if node.style in ("|", ">") else text


def _read_mapping(node: Any) -> Mapping[str, object] | None:
    """Read a mapping with YAML's own types; None for other nodes and for values that cannot be read."""
    from yaml import YAMLError
    from yaml.constructor import SafeConstructor

    try:
        found = SafeConstructor().construct_document(node) if node.id == "mapping" else None
    except (YAMLError, ValueError, ArithmeticError):
        return None
    return found if isinstance(found, dict) and all(isinstance(key, str) for key in found) else None


def write_field(key: str, value: Value) -> str:
    """Format a field as lines of YAML; empty for an empty value."""
    import yaml

    if not value:
        return ""
    plain = value if isinstance(value, str) else [item if isinstance(item, str) else dict(item) for item in value]
    flow = None if any(isinstance(item, dict) for item in plain) else False
    quotes = '"' if _BREAKS.search(repr(plain)) else None  # PyYAML writes these wrong in other styles
    options: dict[str, Any] = {"allow_unicode": True, "sort_keys": False, "width": 1 << 30, "default_style": quotes}
    return str(yaml.safe_dump({key: plain}, default_flow_style=flow, **options))


def replace_fields(text: str, changes: Mapping[str, Value]) -> str:
    """Change or add fields of a document's front matter; an empty value removes a field. All other lines stay unchanged."""
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
