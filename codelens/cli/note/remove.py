"""codelens note remove: take notes away."""

from __future__ import annotations

from typing import Annotated

from codelens.cli.declare import argument, declare
from codelens.cli.flags import CommonFlags
from codelens.cli.note.ground import ground_of, take_in
from codelens.cli.streams import say
from codelens.errors import UsageError


class RemoveFlags(CommonFlags):
    """Which ones."""

    ids: Annotated[list[str] | None, argument("Ids of notes, in full", "ID...")] = None


def remove(flags: RemoveFlags) -> int:
    """Delete the files of notes, and take them out of the index. git has them still, where they were committed."""
    if not flags.ids:
        raise UsageError("which note?", "`codelens note list` names them")
    ground = ground_of(flags)
    known = {note.note.id: note for note in ground.notes.notes()}
    for name in flags.ids:
        note = known.get(name) or ground.notes.find(name)
        if note.note.id != name:  # a beginning is enough to look, not to delete
            raise UsageError(f"no note is called {name}", f"the only one that begins so is {note.note.id}")
    for name in dict.fromkeys(flags.ids):
        ground.notes.remove(known[name])
        take_in(ground, known[name], flags.quiet)
        if not flags.quiet:
            say(f"removed {known[name].path}")
    return 0


command = declare("remove", RemoveFlags, remove, epilog="Exit: 0 removed, 2 no such note, or it cannot be removed.")
