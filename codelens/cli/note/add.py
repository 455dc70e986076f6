"""codelens note add: a new note or task, linked to places in the code."""

from __future__ import annotations

from datetime import date
from typing import Annotated

from codelens.cli.declare import argument, declare, option
from codelens.cli.flags import CommonFlags, JsonFlags
from codelens.cli.note.ground import anchors_at, ground_of, take_in
from codelens.cli.note.shown import show_written
from codelens.cli.note.writing import has_editor, open_editor, said_text, utf8
from codelens.errors import UsageError
from codelens.notes.folder import NoteFile
from codelens.notes.note import OPEN
from codelens.text.frontmatter import Value, with_fields

Places = Annotated[
    list[str] | None,
    option("--at", metavar="PLACE", help="Link it to PATH:LINE, a file or a symbol, and follow it there; repeatable"),
]
Tags = Annotated[list[str] | None, option("--tag", metavar="TAG", help="A word to find it by; repeatable")]
Message = Annotated[
    str | None,
    option("-m", "--message", metavar="TEXT", help="The text; `-` is stdin [default: what is piped in, else $EDITOR]"),
]

MOST_LETTERS = 500
"""Of a title, status or tag; a much longer line of front matter is not read. Chosen."""


class AddFlags(CommonFlags, JsonFlags):
    """What the note says."""

    title: Annotated[str | None, argument("What it is about, in a few words", "TITLE")] = None
    task: Annotated[bool, option("--task", help="Something to be done, with a status")] = False
    status: Annotated[str | None, option("--status", metavar="WORD", help="Of a task: open, doing, done … [open]")] = (
        None
    )
    tag: Tags = None
    at: Places = None
    message: Message = None


def add(flags: AddFlags) -> int:
    """Write a new note into .codelens/notes, under an id made of its title, and take it into the index."""
    title = " ".join((flags.title or "").split())
    if not title:
        raise UsageError("what is it about?", '`codelens note add "TITLE"`')
    if flags.status is not None and not flags.task:
        raise UsageError("--status is for tasks", "add --task")
    ground = ground_of(flags)
    anchors = anchors_at(ground, flags.at or ())
    text = said_text(flags.message)
    fields: dict[str, Value] = {
        "title": one_line(title),
        "kind": "task" if flags.task else "note",
        "status": one_line(flags.status or OPEN) if flags.task else "",
        "tags": tuple(one_line(tag) for tag in flags.tag or ()),
        "links": tuple(anchor.item() for anchor in anchors),
        "created": date.today().isoformat(),
    }
    note: NoteFile = ground.notes.add(title, with_fields(f"{(text or '').strip()}\n", fields))
    if text is None and has_editor():
        open_editor(note.file)
        note = ground.notes.find(note.note.id)
    take_in(ground, note, flags.quiet)
    show_written(flags, ground, note)
    return 0


def one_line(word: str) -> str:
    """A word for the front matter. Raises UsageError for one that is empty, or could not be read again."""
    plain = " ".join(utf8(word).split())
    if not plain:
        raise UsageError("an empty word says nothing")
    if len(plain) > MOST_LETTERS:
        raise UsageError(f"{plain[:20]}… has more than {MOST_LETTERS} letters", "say the rest in the text: -m TEXT")
    return plain


command = declare("add", AddFlags, add, epilog="Exit: 0 written, 2 no such place, or it cannot be written.")
