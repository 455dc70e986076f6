"""A Markdown file → the note, task or skill that it is.

Where it lies says what it is: all below .codelens/notes are notes, tasks where their front matter says so; any SKILL.md is a
skill. Front matter that is not understood costs its fields, never the text.
"""

from __future__ import annotations

import re

from codelens.notes.places import Anchor, BadPlaceError, anchor_of
from codelens.nouns import dataclass
from codelens.text.frontmatter import FrontMatter, read_front_matter

FOLDER = ".codelens/notes/"
SKILL_FILE = "SKILL.md"
KINDS = ("note", "task")
FIELDS = ("title", "name", "kind", "status", "tags", "links", "created", "description", "triggers")
"""What is read; a document may say more of itself for others."""
OPEN = "open"
"""The status of a task that says none."""
MOST_LINKS = 100
"""Places of one note. Chosen; a guard."""
_HEADING = re.compile(r"^ {0,3}#{1,6}[ \t]+(\S[^\n]{0,200})$", re.MULTILINE)
_IN_FOLDER = re.compile(r"(?:.*/)?\.codelens/notes/(.+)\.(?:md|markdown)$", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Note:
    """What one file says."""

    id: str
    """Its path below the folder of notes, without the ending; the path itself for a skill."""
    kind: str
    """note, task or skill."""
    title: str
    description: str
    """Of a skill: when it is of use."""
    status: str
    """Of a task; empty for others that say none."""
    tags: tuple[str, ...]
    triggers: tuple[str, ...]
    """Of a skill: what people say who want it."""
    created: str
    links: tuple[Anchor, ...]
    links_line: int
    """The line of the file that `links` begins at; 0 where there is none."""
    body: int
    """Character at which the text begins."""
    faults: tuple[str, ...]
    """What of the front matter could not be read."""


def kind_of_path(path: str) -> str:
    """note or skill by where a file lies, relative to the root; empty for all others."""
    if path.rpartition("/")[2] == SKILL_FILE:
        return "skill"
    return "note" if _IN_FOLDER.fullmatch(path) else ""


def read_note(text: str, path: str) -> Note:
    """`path` is one that `kind_of_path` knows."""
    front = read_front_matter(text)
    faults = [
        *front.faults,
        *(f"line {n}: the value of `{key}` is not read" for key, n in front.unread.items() if key in FIELDS),
    ]
    kind = _kind(front, path, faults)
    below = _IN_FOLDER.fullmatch(path)
    return Note(
        id=below[1] if below else path,
        kind=kind,
        title=_title(front, text, path),
        description=front.text("description"),
        status=front.text("status") or (OPEN if kind == "task" else ""),
        tags=front.words("tags"),
        triggers=front.words("triggers"),
        created=front.text("created"),
        links=_links(front, faults),
        links_line=front.lines.get("links", 0),
        body=front.body,
        faults=tuple(faults),
    )


def _kind(front: FrontMatter, path: str, faults: list[str]) -> str:
    kind, said = kind_of_path(path), front.text("kind")
    if kind == "skill" or not said:
        return kind
    if said in KINDS:
        return said
    faults.append(f"line {front.lines['kind']}: kind is note or task, not {said[:40]!r}")
    return kind


def _title(front: FrontMatter, text: str, path: str) -> str:
    """Of the front matter, else the first heading, else the name of the file, or of a skill's folder."""
    heading = _HEADING.search(text, front.body)
    folder, _, name = path.rpartition("/")
    file = folder.rpartition("/")[2] if name == SKILL_FILE else ""
    said = front.text("title") or front.text("name") or (heading[1].strip().rstrip("#").strip() if heading else "")
    return " ".join(said.split())[:200] or file or name.rpartition(".")[0]


def _links(front: FrontMatter, faults: list[str]) -> tuple[Anchor, ...]:
    found: list[Anchor] = []
    line = front.lines.get("links", 0)
    items = front.items("links")
    if len(items) > MOST_LINKS:
        faults.append(f"line {line}: {len(items)} links, of which {MOST_LINKS} are read")
    for item in items[:MOST_LINKS]:
        try:
            found.append(anchor_of(item))
        except BadPlaceError as fault:
            faults.append(f"line {line}: {fault}")
    return tuple(found)
