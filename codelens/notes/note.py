"""Notes, tasks and skills: reads one from a Markdown file, with its links to places in the code (Anchor).

The path decides the kind: files below .codelens/notes are notes, or tasks if their front matter says so; any SKILL.md is a skill.
Faulty front matter costs its fields, never the text. Anybody may have written the file, so a path that leads out of the tree
is refused.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Sequence

import xxhash

from codelens.lang.registry import PLAIN_TEXT, detect_language
from codelens.model.fast_dataclass import dataclass
from codelens.text.frontmatter import FrontMatter, Item, read_front_matter

WINDOW = 5  # Non-blank lines that are hashed from the anchored line on: enough to distinguish two `return None`
MOST_TEXT = 200  # Most characters of the line that are kept
_NAME = re.compile(r"[^\W\d][\w$]*(?:(?:\.|::|#)[^\W\d][\w$]*)*(?:\(\))?")
_DRIVE = re.compile(r"[A-Za-z]:")


class BadPlaceError(ValueError):
    """An anchor in a note cannot be parsed. The message is one line."""


@dataclass(frozen=True, slots=True)
class Anchor:
    """A place in the code as a note stores it; unknown fields are empty or 0."""

    path: str = ""  # Relative to the repository's root; empty if only a symbol is named
    line: int = 0
    symbol: str = ""  # Qualified name of the innermost definition around the line
    digest: str = ""  # Hash of the WINDOW lines at the place (`digest_of`)
    text: str = ""  # The line, stripped

    @property
    def label(self) -> str:
        """Text for people: 'src/app.py:12', or the symbol's name."""
        return f"{self.path}:{self.line}" if self.line else self.path or self.symbol

    def item(self) -> Item:
        """The mapping for front matter, with the known fields only."""
        fields = {"path": self.path, "line": self.line, "symbol": self.symbol, "hash": self.digest, "text": self.text}
        return {key: value for key, value in fields.items() if value}


def anchor_of(item: Item) -> Anchor:
    """Parse `path:line`, a path, a symbol's name, or a mapping with those fields. Raises BadPlaceError."""
    if isinstance(item, str):
        path, line = path_and_line(item)
        if line or is_path(path):
            return Anchor(path=safe_path(path), line=line)
        if _NAME.fullmatch(item) and len(item) <= MOST_TEXT:
            return Anchor(symbol=item.replace("::", ".").replace("#", ".").removesuffix("()"))
        raise BadPlaceError(f"{item[:80]!r} is neither a path nor a name")
    texts: list[str] = []
    for key in ("path", "symbol", "hash", "text"):
        text = item.get(key, "")
        if not isinstance(text, str) or len(text) > 1000 or any(ord(c) < 32 for c in text):
            raise BadPlaceError(f"`{key}` must be a short string on one line")
        texts.append(text)
    path, symbol, digest, text = texts
    number = item.get("line", 0)
    if not isinstance(number, int) or isinstance(number, bool) or not 0 <= number < 1 << 31:
        raise BadPlaceError("`line` is not a line number")
    if not path and not symbol:
        raise BadPlaceError("it has neither `path` nor `symbol`")
    return Anchor(safe_path(path) if path else "", number, symbol, digest, text)


def path_and_line(text: str) -> tuple[str, int]:
    """Split 'src/app.py:12'; the line is 0 if missing."""
    head, colon, tail = text.rpartition(":")
    if colon and head and tail.isascii() and tail.isdigit() and len(tail) < 9:
        return head, int(tail)
    return text, 0


def is_path(text: str) -> bool:
    """True if a text without a line is a path instead of a symbol: it has a slash, or a known language's extension."""
    return "/" in text or ("." in text and detect_language(text) != PLAIN_TEXT)


def safe_path(path: str) -> str:
    """The normalised path below the root. Raises BadPlaceError for a path that is absolute or leads out of the root."""
    tidy = posixpath.normpath(path)
    if path.startswith("/") or "\\" in path or "\0" in path or _DRIVE.match(path):
        raise BadPlaceError(f"{path[:80]!r} is not a path below the root")
    if tidy in (".", "..") or tidy.startswith("../"):
        raise BadPlaceError(f"{path[:80]!r} leads out of the tree")
    return tidy


def digest_of(lines: Sequence[str], line: int) -> str:
    """Hash of the text at a line (from 1) in 16 hex digits: WINDOW non-blank lines, stripped.

    Empty if the line does not exist.
    """
    if not 0 < line <= len(lines):
        return ""
    stripped = (text.strip() for text in lines[line - 1 : line - 1 + WINDOW * 4])
    window = [text for text in stripped if text][:WINDOW]
    return xxhash.xxh3_64_hexdigest("\n".join(window).encode("utf-8", "surrogatepass")) if window else ""


def text_at(lines: Sequence[str], line: int) -> str:
    """The line (from 1) as stored in an anchor."""
    return "".join(c for c in lines[line - 1].strip() if ord(c) >= 32)[:MOST_TEXT] if 0 < line <= len(lines) else ""


FOLDER = ".codelens/notes/"
SKILL_FILE = "SKILL.md"
KINDS = ("note", "task")
FIELDS = ("title", "name", "kind", "status", "tags", "links", "created", "description", "triggers")
"""Fields that are read. Others are left to other tools."""
OPEN = "open"  # Status of a task without one
MOST_LINKS = 100  # Most links of a note
_HEADING = re.compile(r"^ {0,3}#{1,6}[ \t]+(\S[^\n]{0,200})$", re.MULTILINE)
_IN_FOLDER = re.compile(r"(?:.*/)?\.codelens/notes/(.+)\.(?:md|markdown)$", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Note:
    """A note, task or skill."""

    id: str  # Its path below the notes folder, without extension; the full path for a skill
    kind: str  # note, task or skill
    title: str
    description: str  # When to use a skill
    status: str  # Status of a task; empty for other kinds without one
    tags: tuple[str, ...]
    triggers: tuple[str, ...]  # Phrases that call for a skill
    created: str
    links: tuple[Anchor, ...]
    links_line: int  # Line of the field `links`; 0 if missing
    body: int  # Character at which the text begins
    faults: tuple[str, ...]  # Faults of the front matter


def kind_of_path(path: str) -> str:
    """note or skill by a file's path relative to the root; empty for other files."""
    if path.rpartition("/")[2] == SKILL_FILE:
        return "skill"
    return "note" if _IN_FOLDER.fullmatch(path) else ""


def read_note(text: str, path: str) -> Note:
    """Read a file whose path has a kind (`kind_of_path`)."""
    front = read_front_matter(text)
    faults = [
        *front.faults,
        *(f"line {n}: the value of `{key}` is not read" for key, n in front.unread.items() if key in FIELDS),
    ]
    kind, given = kind_of_path(path), front.text("kind")
    if kind != "skill" and given in KINDS:
        kind = given
    elif kind != "skill" and given:
        faults.append(f"line {front.lines['kind']}: kind is note or task, not {given[:40]!r}")
    links, links_line = front.items("links"), front.lines.get("links", 0)
    if len(links) > MOST_LINKS:
        faults.append(f"line {links_line}: {len(links)} links, of which {MOST_LINKS} are read")
    anchors: list[Anchor] = []
    for link in links[:MOST_LINKS]:
        try:
            anchors.append(anchor_of(link))
        except BadPlaceError as fault:
            faults.append(f"line {links_line}: {fault}")
    below = _IN_FOLDER.fullmatch(path)
    return Note(
        id=below[1] if below else path,
        kind=kind,
        title=_find_title(front, text, path),
        description=front.text("description"),
        status=front.text("status") or (OPEN if kind == "task" else ""),
        tags=front.words("tags"),
        triggers=front.words("triggers"),
        created=front.text("created"),
        links=tuple(anchors),
        links_line=links_line,
        body=front.body,
        faults=tuple(faults),
    )


def _find_title(front: FrontMatter, text: str, path: str) -> str:
    """The title in the front matter, else the first heading, else the name of the file or of a skill's folder."""
    heading = _HEADING.search(text, front.body)
    folder, _, name = path.rpartition("/")
    file = folder.rpartition("/")[2] if name == SKILL_FILE else ""
    title = front.text("title") or front.text("name") or (heading[1].strip().rstrip("#").strip() if heading else "")
    return " ".join(title.split())[:200] or file or name.rpartition(".")[0]
