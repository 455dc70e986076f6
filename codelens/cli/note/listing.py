"""codelens note list: the notes of this tree, with the places that they are linked to."""

from __future__ import annotations

from typing import Annotated

from codelens.cli.declare import declare, option
from codelens.cli.flags import CommonFlags, JsonFlags
from codelens.cli.note.ground import ground_of, places_of
from codelens.cli.note.shown import is_wanted
from codelens.cli.streams import say, write, write_json


class ListFlags(CommonFlags, JsonFlags):
    """Which ones."""

    task: Annotated[bool, option("--task", help="Tasks alone")] = False
    status: Annotated[str | None, option("--status", metavar="WORD", help="Of this status")] = None
    tag: Annotated[list[str] | None, option("--tag", metavar="TAG", help="With this tag; repeatable: all of them")] = (
        None
    )
    lost: Annotated[bool, option("--lost", help="With a place that is lost")] = False


def list_notes(flags: ListFlags) -> int:
    """List the notes in .codelens/notes by id: one a line, and a line below it for each place."""
    from codelens.render.notes import list_lines, list_record

    ground = ground_of(flags)
    notes = [n for n in ground.notes.notes() if is_wanted(n.note, flags.task, flags.status, flags.tag or ())]
    places = places_of(ground, notes)
    if flags.lost:
        notes = [n for n in notes if any(p.standing == "lost" for p in places.get(n.path, ()))]
    exit_code = 0 if notes else 1
    if flags.quiet:
        return exit_code
    for note in notes:
        for fault in note.note.faults:
            say(f"warning: {note.path}: {fault}")
    if flags.json:
        from codelens.render.records import to_json

        write_json([to_json(list_record(notes, places, exit_code))])
    else:
        write(list_lines(notes, places))
    return exit_code


command = declare("list", ListFlags, list_notes, epilog="Exit: 0 some, 1 none.")
