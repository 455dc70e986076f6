"""What the commands of `note` that write print, and which notes are meant."""

from __future__ import annotations

from collections.abc import Sequence

from codelens.cli.flags import JsonFlags
from codelens.cli.note.ground import Ground, places_of
from codelens.cli.streams import write, write_json
from codelens.notes.folder import NoteFile
from codelens.notes.note import Note


def is_wanted(note: Note, task: bool, status: str | None, tags: Sequence[str]) -> bool:
    """Whether a note is one of those that the options ask for."""
    if task and note.kind != "task":
        return False
    return (status is None or note.status == status) and set(tags) <= set(note.tags)


def show_written(flags: JsonFlags, ground: Ground, note: NoteFile) -> None:
    """One line of what was written, or the record of it."""
    from codelens.render.notes import list_lines, note_record

    if getattr(flags, "quiet", False):
        return
    places = places_of(ground, [note])
    if flags.json:
        from codelens.render.records import to_json

        write_json([to_json({"schema": 1, **note_record(note, places.get(note.path)), "exit_code": 0})])
    else:
        write(list_lines([note], places))
