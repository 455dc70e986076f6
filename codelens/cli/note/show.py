"""codelens note show: one note, and where its places are now."""

from __future__ import annotations

from typing import Annotated

from codelens.cli.declare import argument, declare
from codelens.cli.flags import CommonFlags, JsonFlags
from codelens.cli.note.ground import ground_of, places_of
from codelens.cli.streams import say, write, write_json
from codelens.errors import UsageError


class ShowFlags(CommonFlags, JsonFlags):
    """Which one."""

    id: Annotated[str | None, argument("The note's id, or how it begins", "ID")] = None


def show(flags: ShowFlags) -> int:
    """Print a note. Places that moved are shown where they are now; what is lost is said."""
    from codelens.render.notes import note_lines, note_record

    if flags.id is None:
        raise UsageError("which note?", "`codelens note list` names them")
    ground = ground_of(flags)
    note = ground.notes.find(flags.id)
    places = places_of(ground, [note])
    if flags.quiet:
        return 0
    for fault in note.note.faults:
        say(f"warning: {note.path}: {fault}")
    if flags.json:
        from codelens.render.records import to_json

        write_json(
            [to_json({"schema": 1, **note_record(note, places.get(note.path)), "body": note.body, "exit_code": 0})]
        )
    else:
        write(note_lines(note, places.get(note.path)))
    return 0


command = declare("show", ShowFlags, show, epilog="Exit: 0 shown, 2 no such note.")
