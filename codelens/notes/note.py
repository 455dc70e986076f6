"""Notes, tasks and skills: reads them from Markdown files, with their links to places in the code (Anchor).

The path decides the kind: files below .codelens/notes are notes, or tasks if their front matter says so; any SKILL.md is a skill.
Of faulty front matter only the fields are lost, not the text. Anybody may have written the file, so a path out of the tree
is refused. Notes in .codelens/notes are found by an id, which is never used as a path.
"""

from __future__ import annotations

import os
import posixpath
import re
import unicodedata
from collections.abc import Iterator, Sequence
from itertools import chain, count
from pathlib import Path

import xxhash

from codelens.errors import CannotWrite, TargetError, UnsafePath, UsageError
from codelens.files import is_link, make_folder, replace_file
from codelens.lang.registry import PLAIN_TEXT, detect_language
from codelens.model.fast_dataclass import dataclass
from codelens.text.frontmatter import FrontMatter, Item, read_front_matter
from codelens.worktree.place import INDEX_FOLDER, keep_out_of_git, locate_notes

WINDOW = 5  # Non-blank lines that are hashed, beginning with the anchored line: enough to distinguish two `return None`
MOST_TEXT = 200  # Most characters of an anchored line that are stored
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
    digest: str = ""  # Hash of the WINDOW lines at the place (`compute_digest`)
    text: str = ""  # The line, stripped

    @property
    def label(self) -> str:
        """Text for people: 'src/app.py:12', or the symbol's name."""
        return f"{self.path}:{self.line}" if self.line else self.path or self.symbol

    def build_item(self) -> Item:
        """Make the mapping for front matter, with the known fields only."""
        fields = {"path": self.path, "line": self.line, "symbol": self.symbol, "hash": self.digest, "text": self.text}
        return {key: value for key, value in fields.items() if value}


def parse_anchor(item: Item) -> Anchor:
    """Parse `path:line`, a path, a symbol's name, or a mapping with those fields. Raises BadPlaceError."""
    if isinstance(item, str):
        path, line = split_line_number(item)
        if line or is_path(path):
            return Anchor(path=normalize_path(path), line=line)
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
    return Anchor(normalize_path(path) if path else "", number, symbol, digest, text)


def split_line_number(text: str) -> tuple[str, int]:
    """Split 'src/app.py:12'; the line is 0 if missing."""
    head, colon, tail = text.rpartition(":")
    if colon and head and tail.isascii() and tail.isdigit() and len(tail) < 9:
        return head, int(tail)
    return text, 0


def is_path(text: str) -> bool:
    """True if a text without a line is a path instead of a symbol: it has a slash, or a known language's extension."""
    return "/" in text or ("." in text and detect_language(text) != PLAIN_TEXT)


def normalize_path(path: str) -> str:
    """Normalise a path below the root. Raises BadPlaceError for a path that is absolute or leads out of the root."""
    tidy = posixpath.normpath(path)
    if path.startswith("/") or "\\" in path or "\0" in path or _DRIVE.match(path):
        raise BadPlaceError(f"{path[:80]!r} is not a path below the root")
    if tidy in (".", "..") or tidy.startswith("../"):
        raise BadPlaceError(f"{path[:80]!r} leads out of the tree")
    return tidy


def compute_digest(lines: Sequence[str], line: int) -> str:
    """Hash the text at a line (from 1) in 16 hex digits: WINDOW non-blank lines, stripped; empty if there is no such line."""
    if not 0 < line <= len(lines):
        return ""
    stripped = (text.strip() for text in lines[line - 1 : line - 1 + WINDOW * 4])
    window = [text for text in stripped if text][:WINDOW]
    return xxhash.xxh3_64_hexdigest("\n".join(window).encode("utf-8", "surrogatepass")) if window else ""


def extract_text(lines: Sequence[str], line: int) -> str:
    """Extract the line (from 1) as stored in an anchor."""
    return "".join(c for c in lines[line - 1].strip() if ord(c) >= 32)[:MOST_TEXT] if 0 < line <= len(lines) else ""


FOLDER = ".codelens/notes/"
SKILL_FILE = "SKILL.md"
KINDS = ("note", "task")
FIELDS = ("title", "name", "kind", "status", "tags", "links", "created", "description", "triggers")
"""Fields that are read; all others belong to other tools."""
OPEN = "open"  # Status of a task that states none
MOST_LINKS = 100  # Most links of a note
_HEADING = re.compile(r"^ {0,3}#{1,6}[ \t]+(\S[^\n]{0,200})$", re.MULTILINE)
_IN_FOLDER = re.compile(r"(?:.*/)?\.codelens/notes/(.+)\.(?:md|markdown)$", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Note:
    """A note, task or skill."""

    id: str  # Path below the notes folder, without extension; for a skill the path below the root
    kind: str  # note, task or skill
    title: str
    description: str  # When to use a skill
    status: str  # Status; empty for notes and skills that state none
    tags: tuple[str, ...]
    triggers: tuple[str, ...]  # Phrases that tell when a skill applies
    created: str
    links: tuple[Anchor, ...]
    links_line: int  # Line of the field `links`; 0 if missing
    body: int  # Index of the character at which the text begins
    faults: tuple[str, ...]  # Faults of the front matter


def classify_path(path: str) -> str:
    """Classify a file by its path relative to the root: 'note', 'skill' or, for other files, ''."""
    if path.rpartition("/")[2] == SKILL_FILE:
        return "skill"
    return "note" if _IN_FOLDER.fullmatch(path) else ""


def read_note(text: str, path: str) -> Note:
    """Read a note, task or skill; `classify_path` tells which paths are one."""
    front = read_front_matter(text)
    unread = (f"line {n}: the value of `{key}` is not read" for key, n in front.unread.items() if key in FIELDS)
    faults = [*front.faults, *unread]
    kind, given = classify_path(path), front.get_text("kind")
    if kind != "skill" and given in KINDS:
        kind = given
    elif kind != "skill" and given:
        faults.append(f"line {front.lines['kind']}: kind is note or task, not {given[:40]!r}")
    links, links_line = front.get_items("links"), front.lines.get("links", 0)
    if len(links) > MOST_LINKS:
        faults.append(f"line {links_line}: {len(links)} links, of which {MOST_LINKS} are read")
    anchors: list[Anchor] = []
    for link in links[:MOST_LINKS]:
        try:
            anchors.append(parse_anchor(link))
        except BadPlaceError as fault:
            faults.append(f"line {links_line}: {fault}")
    below = _IN_FOLDER.fullmatch(path)
    return Note(
        id=below[1] if below else path,
        kind=kind,
        title=_find_title(front, text, path),
        description=front.get_text("description"),
        status=front.get_text("status") or (OPEN if kind == "task" else ""),
        tags=front.get_words("tags"),
        triggers=front.get_words("triggers"),
        created=front.get_text("created"),
        links=tuple(anchors),
        links_line=links_line,
        body=front.body,
        faults=tuple(faults),
    )


def _find_title(front: FrontMatter, text: str, path: str) -> str:
    """Find the title in the front matter, else use the first heading, else the name of the file or the skill's folder."""
    heading = _HEADING.search(text, front.body)
    folder, _, name = path.rpartition("/")
    file = folder.rpartition("/")[2] if name == SKILL_FILE else ""
    first = heading[1].strip().rstrip("#").strip() if heading else ""
    title = front.get_text("title") or front.get_text("name") or first
    return " ".join(title.split())[:200] or file or name.rpartition(".")[0]


MOST_SLUG = 60  # Most characters of an id made from a title
MOST_BYTES = 2_000_000  # Most bytes of a note. The walk leaves out longer files too.


@dataclass(frozen=True, slots=True)
class NoteFile:
    """A note with its file and full text."""

    file: Path
    path: str  # Relative to the root
    text: str
    note: Note

    @property
    def body(self) -> str:
        """The text after the front matter, without blank lines around it."""
        return self.text[self.note.body :].strip("\n")


class NoteFolder:
    """The notes folder of one tree."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.folder = locate_notes(root)

    def read_notes(self) -> Iterator[NoteFile]:
        """Read all readable notes, by path. Symbolic links are not followed."""
        if self._is_linked():
            return
        for here, folders, names in os.walk(self.folder):
            folders[:] = sorted(f for f in folders if not f.startswith("."))
            for name in sorted(names):
                if (note := self._read_file(Path(here, name))) is not None:
                    yield note

    def _read_file(self, file: Path) -> NoteFile | None:
        path = FOLDER + file.relative_to(self.folder).as_posix()
        if not classify_path(path) or file.name.startswith(".") or file.is_symlink() or not file.is_file():
            return None
        if file.stat().st_size > MOST_BYTES:
            return None
        text = file.read_bytes().decode("utf-8", "replace").replace("\r\n", "\n")
        return NoteFile(file, path, text, read_note(text, path))

    def find(self, name: str) -> NoteFile:
        """Find the note with an id, or the only one whose id starts with it. Raises TargetError."""
        known = list(self.read_notes())
        if exact := [n for n in known if n.note.id == name]:
            return exact[0]
        near = [n for n in known if n.note.id.startswith(name)] if name else []
        if len(near) == 1:
            return near[0]
        listed = tuple(n.note.id for n in (near or [n for n in known if name.lower() in n.note.id.lower()])[:20])
        if near:
            raise TargetError(f"{len(near)} notes begin with {name}", listed, "give more of the id")
        raise TargetError(f"no note is called {name or '(empty)'}", listed, "`codelens note list` names them")

    def add(self, title: str, text: str) -> NoteFile:
        """Write a new note under a free id: the words of the title in lower case, joined by dashes. Raises CannotWrite."""
        plain = unicodedata.normalize("NFKD", title).encode("ascii", "ignore").decode()
        words: list[str] = re.findall(r"[a-z0-9]+", plain.lower())
        first, *others = words or ["note"]
        slug = first[:MOST_SLUG]
        for word in others if len(first) <= MOST_SLUG else ():
            if len(slug) + len(word) > MOST_SLUG:
                break
            slug += f"-{word}"
        files = chain([self.folder / f"{slug}.md"], (self.folder / f"{slug}-{number}.md" for number in count(2)))
        return self.write(next(file for file in files if not os.path.lexists(file)), text)

    def write(self, file: Path, text: str) -> NoteFile:
        """Write a note's file in one step, and read it again. Raises CannotWrite and UsageError."""
        self._refuse_links()
        content = text.encode("utf-8", "surrogateescape")
        if len(content) > MOST_BYTES:
            raise UsageError(f"a note has at most {MOST_BYTES} bytes, not {len(content)}", "link to a file: --at PATH")
        try:
            make_folder(file.parent)
            keep_out_of_git(self.folder.parent)
            with replace_file(file) as to:
                to.write(content)
        except OSError as fault:
            message = f"{fault.filename or file}: {fault.strerror or fault}"
            raise CannotWrite(message, f"check that you may write to {self.folder}, and free space") from None
        if (note := self._read_file(file)) is None:
            raise CannotWrite(f"{file} is not a note any more", "restore it, or remove it")
        return note

    def remove(self, note: NoteFile) -> None:
        """Delete a note's file. Raises CannotWrite."""
        self._refuse_links()
        try:
            note.file.unlink()
        except OSError as fault:
            raise CannotWrite(f"{note.file}: {fault.strerror or fault}", "remove the file yourself") from None

    def _is_linked(self) -> bool:
        return is_link(self.folder) or is_link(self.folder.parent)

    def _refuse_links(self) -> None:
        """Raise UnsafePath if the notes folder is a link, which could lead anywhere."""
        if self._is_linked():
            raise UnsafePath(f"{INDEX_FOLDER}/notes is a link", "notes are kept in the tree that they describe")
