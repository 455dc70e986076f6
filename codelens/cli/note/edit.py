"""codelens note edit: change what a note says of itself, or its text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from codelens.cli.declare import argument, declare, option
from codelens.cli.flags import CommonFlags, JsonFlags
from codelens.cli.note.add import Places, Tags, one_line
from codelens.cli.note.ground import Ground, anchors_at, ground_of, take_in
from codelens.cli.note.shown import show_written
from codelens.cli.note.writing import has_editor, open_editor, said_text
from codelens.errors import TargetError, UsageError
from codelens.notes.folder import NoteFile
from codelens.notes.places import Anchor
from codelens.text.frontmatter import Value, with_fields


class EditFlags(CommonFlags, JsonFlags):
    """Which note, and what of it is to change."""

    id: Annotated[str | None, argument("The note's id, or how it begins", "ID")] = None
    title: Annotated[str | None, option("--title", metavar="TEXT", help="Another title; the id stays")] = None
    status: Annotated[
        str | None, option("--status", metavar="WORD", help="open, doing, done …; makes a note a task")
    ] = None
    tag: Tags = None
    untag: Annotated[list[str] | None, option("--untag", metavar="TAG", help="Take a tag away; repeatable")] = None
    at: Places = None
    unlink: Annotated[
        list[str] | None,
        option("--unlink", metavar="PLACE", help="Take a place away, as `note show` names it; repeatable"),
    ] = None
    message: Annotated[
        str | None, option("-m", "--message", metavar="TEXT", help="Another text in place of the old one; `-` is stdin")
    ] = None


def edit(flags: EditFlags) -> int:
    """Change a note. Places that moved are written down anew. Without an option $EDITOR opens the file."""
    if flags.id is None:
        raise UsageError("which note?", "`codelens note list` names them")
    ground = ground_of(flags)
    note = ground.notes.find(flags.id)
    asked = (flags.title, flags.status, flags.tag, flags.untag, flags.at, flags.unlink, flags.message)
    if all(one is None for one in asked):
        if not has_editor():
            raise UsageError("what is to change?", f"give an option, or set $EDITOR on a terminal, or edit {note.path}")
        open_editor(note.file)
        note = ground.notes.find(note.note.id)
    else:
        note = ground.notes.change(note, _changed(ground, note, flags))
    take_in(ground, note, flags.quiet)
    show_written(flags, ground, note)
    return 0


def _changed(ground: Ground, note: NoteFile, flags: EditFlags) -> str:
    text = note.text
    if flags.message is not None:
        text = f"{text[: note.note.body]}{(said_text(flags.message) or '').strip()}\n"
    fields: dict[str, Value] = {}
    if flags.title is not None:
        fields["title"] = one_line(flags.title)
    if flags.status is not None:
        fields |= {"kind": "task", "status": one_line(flags.status)}
    if flags.tag or flags.untag:
        kept = [tag for tag in note.note.tags if tag not in (flags.untag or ())]
        fields["tags"] = tuple(dict.fromkeys([*kept, *map(one_line, flags.tag or ())]))
    if note.note.links or flags.at:
        fields["links"] = tuple(anchor.item() for anchor in _links(ground, note, flags.at or (), flags.unlink or ()))
    try:
        return with_fields(text, fields)
    except ValueError as fault:
        raise UsageError(f"{note.path}: {fault}", "mend its front matter first") from None


def _links(ground: Ground, note: NoteFile, more: Sequence[str], unlinked: Sequence[str]) -> list[Anchor]:
    with ground.opened() as index:
        links = list(note.note.links)
        now = index.find_places(ground.root, links) if index is not None else None
        renewed = index.renewed_places(ground.root, links) if index is not None else links
    names = [{a.shown, a.symbol} | ({f"{now[i].path}:{now[i].line}"} if now else set()) for i, a in enumerate(links)]
    for place in unlinked:
        if not any(place in known for known in names):
            raise TargetError(
                f"{note.note.id} is not linked to {place}", tuple(a.shown for a in links), "name one of its places"
            )
    kept = [renewed[i] for i, known in enumerate(names) if known.isdisjoint(unlinked)]
    return list(dict.fromkeys([*kept, *anchors_at(ground, more)]))


command = declare("edit", EditFlags, edit, epilog="Exit: 0 written, 2 no such note or place, or it cannot be written.")
