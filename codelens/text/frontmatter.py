"""The lines between `---` that a Markdown file may begin with → fields, read by a small dialect of YAML, and back.

    key: words                  a scalar; lines that are indented below it go on with it, ` #` begins a comment
    key: "words"                with JSON's escapes, or in '…', where two quotes are one
    key: | or key: >            the indented lines below, as they are or joined
    key: [one, "two"]           a list; so are lines `- one` below the key
    - {"path": "a.py"}          an item that is an object, as JSON has it

Numbers, dates and `yes` stay the words that they are. Anything else (maps, anchors, tags) is not read and said by line, never
guessed: a full YAML is a large language for notes that people write by hand. What is written here is YAML that others read.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence

from codelens.notation import parse_json
from codelens.nouns import dataclass

Item = str | Mapping[str, object]
Value = str | tuple[Item, ...]

MOST_LINES = 1000
"""Chosen: front matter is short, and what is longer is something else that begins with a rule."""
LONGEST_LINE = 4000
"""Characters. The patterns here may take the square of a line's length."""
_KEY = re.compile(r"([A-Za-z_][\w-]{0,60})[ \t]*:(?:[ \t]+(.*))?$")
_BLOCK = re.compile(r"[|>][+-]?[ \t]*(?:#.*)?$")
_PLAIN = re.compile(r"[A-Za-z0-9_./(][^\n\r\t\x00-\x1f\x7f]*")
_AMBIGUOUS = re.compile(r"(?i)(?:true|false|null|yes|no|on|off|y|n|[-+.]*\d\S*)$")
_COMMENT = re.compile(r"(?:^|[ \t]+)#.*$")


@dataclass(frozen=True, slots=True)
class FrontMatter:
    """What a document says of itself."""

    fields: Mapping[str, Value]
    lines: Mapping[str, int]
    """Key → the line that it stands on, from 1."""
    body: int
    """Character at which the text under it begins; 0 where there is none."""
    faults: tuple[str, ...]
    """Lines that are no field at all, and fields that are there twice, each with its line."""
    unread: Mapping[str, int]
    """Key → line of the fields whose value is of no kind that is read here."""
    raw: tuple[tuple[str, str], ...]
    """(key, its lines as written) in order; the key is empty for comments and what could not be read."""

    def text(self, key: str) -> str:
        """A field as one text; empty where it is not there, or a list."""
        value = self.fields.get(key, "")
        return value if isinstance(value, str) else ""

    def words(self, key: str) -> tuple[str, ...]:
        """A field as a list of texts: also one text, where commas part it; objects are left out."""
        value = self.fields.get(key, ())
        parts = value.split(",") if isinstance(value, str) else [item for item in value if isinstance(item, str)]
        return tuple(part.strip() for part in parts if part.strip())

    def items(self, key: str) -> tuple[Item, ...]:
        """A field as a list; one text is a list of one."""
        value = self.fields.get(key, ())
        return ((value,) if value else ()) if isinstance(value, str) else value


NOTHING = FrontMatter({}, {}, 0, (), {}, ())


def read_front_matter(text: str) -> FrontMatter:
    """The front matter that a text begins with; without fields where there is none. Linear in the text."""
    if not re.match(r"\ufeff?---[ \t]*\r?\n", text):
        return NOTHING
    lines = text.split("\n", MOST_LINES + 1)[: MOST_LINES + 1]
    ends = (i for i in range(1, len(lines)) if lines[i].rstrip() in ("---", "..."))
    end = next(ends, None)
    if end is None:
        return FrontMatter({}, {}, 0, ("line 1: `---` is not closed by another",), {}, ())
    body = min(sum(len(line) + 1 for line in lines[: end + 1]), len(text))
    reader = _Reader([line.rstrip("\r") for line in lines[:end]])
    reader.read()
    return FrontMatter(reader.fields, reader.at, body, tuple(reader.faults), reader.unread, tuple(reader.raw))


class _Reader:
    """Goes through the lines once; `place` is the next one."""

    def __init__(self, lines: Sequence[str]) -> None:
        self.lines, self.place = lines, 1
        self.fields: dict[str, Value] = {}
        self.at: dict[str, int] = {}
        self.faults: list[str] = []
        self.unread: dict[str, int] = {}
        self.raw: list[tuple[str, str]] = []

    def read(self) -> None:
        while self.place < len(self.lines):
            start, line = self.place, self.lines[self.place]
            self.place += 1
            found = _KEY.match(line) if len(line) <= LONGEST_LINE else None
            key = found[1] if found else ""
            if found:
                self._field(key, (found[2] or "").strip(), start + 1)
            elif line.strip() and not line.lstrip().startswith("#"):
                self.faults.append(f"line {start + 1}: not `key: value`")
            self.raw.append((key, "\n".join(self.lines[start : self.place]) + "\n"))

    def _field(self, key: str, said: str, line: int) -> None:
        value = self._value(said)
        if value is None:
            self.unread[key] = line
        elif key in self.fields:
            self.faults.append(f"line {line}: `{key}` is there twice")
        else:
            self.fields[key], self.at[key] = value, line

    def _value(self, said: str) -> Value | None:
        if _BLOCK.match(said):
            inside = [line.strip() if said[0] == ">" else line for line in self._indented()]
            return _folded(inside) if said[0] == ">" else _dedented(inside)
        if not _COMMENT.sub("", said):
            return self._listed()
        if said[0] == "[":
            return flow_list(said)
        if said[0] in "\"'":
            return _quoted(said)
        if said[0] in "{&*!%@`":
            self._indented()
            return None
        return " ".join(
            [_COMMENT.sub("", said), *(_COMMENT.sub("", line).strip() for line in self._indented())]
        ).strip()

    def _indented(self) -> list[str]:
        """The lines below that are indented or blank; blank ones at the end are of nothing."""
        start = self.place
        while self.place < len(self.lines) and (
            not self.lines[self.place].strip() or self.lines[self.place][0] in " \t"
        ):
            self.place += 1
        while self.place > start and not self.lines[self.place - 1].strip():
            self.place -= 1
        return [line[:LONGEST_LINE] for line in self.lines[start : self.place]]

    def _listed(self) -> Value | None:
        """`- one` lines below; an empty text where there are none, None where something else is indented there."""
        items: list[Item] = []
        while self.place < len(self.lines):
            line = self.lines[self.place].strip()
            if line and not re.match(r"-(?:[ \t]|$)|#", line):
                break
            self.place += 1
            if line and line[0] == "-" and (item := _item(line[1:].strip()[:LONGEST_LINE])):
                items.append(item)
            elif line and line[0] == "-" and line != "-":
                self.faults.append(f"line {self.place}: the item is not read")
        if self.place < len(self.lines) and self.lines[self.place][:1] in (" ", "\t"):
            self._indented()
            return None
        return tuple(items) if items else ""


def _item(said: str) -> Item | None:
    if said[:1] in ("{", "["):
        found = _json(said)
        return found if isinstance(found, dict) else None
    if said[:1] in ('"', "'"):
        return _quoted(said)
    return _COMMENT.sub("", said)


def _json(said: str) -> object:
    try:
        return parse_json(said)
    except ValueError:
        return None


def _quoted(said: str) -> str | None:
    """The text of a scalar in quotes, with nothing but a comment behind it."""
    if said[0] == "'":
        found = re.match(r"'((?:[^']|'')*)'[ \t]*(?:#.*)?$", said)
        return found[1].replace("''", "'") if found else None
    whole = re.match(r"(\"(?:[^\"\\]|\\.)*\")[ \t]*(?:#.*)?$", said)
    text = _json(whole[1]) if whole else None
    return text if isinstance(text, str) else None


_PART = re.compile(r"[ \t]*(\"(?:[^\"\\]|\\.)*\"|'(?:[^']|'')*'|[^,\[\]{}\"'][^,\[\]{}]*|)[ \t]*(,|\]|$)")


def flow_list(said: str) -> tuple[Item, ...] | None:
    """`[one, "two"]` on one line → its texts; None where it is something else."""
    items: list[Item] = []
    place = 1
    while found := _PART.match(said, place):
        part = found[1].strip()
        text = _quoted(part) if part[:1] in ('"', "'") else part
        if text is None or not found[2]:
            return None
        if text:
            items.append(text)
        place = found.end()
        if found[2] == "]":
            return tuple(items) if not _COMMENT.sub("", said[place:]).strip() else None
    return None


def _folded(lines: Sequence[str]) -> str:
    paragraphs = "\n".join(lines).split("\n\n")
    return "\n".join(" ".join(paragraph.split("\n")) for paragraph in paragraphs).strip()


def _dedented(lines: Sequence[str]) -> str:
    indent = min((len(line) - len(line.lstrip()) for line in lines if line.strip()), default=0)
    return "\n".join(line[indent:] for line in lines).strip()


def write_field(key: str, value: Value) -> str:
    """The lines of one field; none for an empty value."""
    if not value:
        return ""
    if isinstance(value, str):
        return f"{key}: {_scalar(value)}\n"
    items = (_scalar(item) if isinstance(item, str) else json.dumps(dict(item), ensure_ascii=False) for item in value)
    return f"{key}:\n" + "".join(f"  - {item}\n" for item in items)


def _scalar(text: str) -> str:
    """As it is where every YAML reads it as this text, else in double quotes."""
    plain = _PLAIN.fullmatch(text) and not _AMBIGUOUS.match(text) and text == text.strip()
    return (
        text
        if plain and ": " not in text and " #" not in text and text[-1] != ":"
        else json.dumps(text, ensure_ascii=False)
    )


def with_fields(text: str, changes: Mapping[str, Value]) -> str:
    """A document with these fields in the place of its own; an empty value takes one away. All other lines stay as they are."""
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
