"""Writes notes as lines for people, and as JSON objects."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from codelens.notes.finder import AnchorPlace, AnchorState
from codelens.notes.note import NoteFile
from codelens.render.context import escape_lines
from codelens.render.records import Record, pick_fields
from codelens.render.visible import escape_text

Places = Mapping[str, Sequence[AnchorPlace]]


def format_note_list(notes: Sequence[NoteFile], places: Places) -> Iterator[str]:
    """Write `path: title [status] #tag` for each note, and below it where its linked places are now."""
    for note in notes:
        status = f" [{note.note.status}]" if note.note.status else ""
        tags = "".join(f" #{tag}" for tag in note.note.tags)
        yield f"{escape_text(f'{note.note.id}: {note.note.title}{status}{tags}')}\n"
        yield from (f"  {escape_text(place)}\n" for place in _describe_places(note, places.get(note.path)))


def _describe_places(note: NoteFile, found: Sequence[AnchorPlace] | None) -> list[str]:
    return [anchor.label for anchor in note.note.links] if found is None else [place.description for place in found]


def format_note(note: NoteFile, found: Sequence[AnchorPlace] | None) -> Iterator[str]:
    """Write the fields of a note, one a line; then a blank line and its text."""
    fields = note.note
    shown = {"id": fields.id, "file": note.path} | pick_fields(fields, "title kind status tags created")
    shown["tags"] = ", ".join(fields.tags)
    yield from (f"{key + ':':9}{escape_text(str(value))}\n" for key, value in shown.items() if value)
    for place, link in zip(_describe_places(note, found), fields.links, strict=True):
        symbol = f"  {link.symbol}" if link.symbol and link.symbol != place else ""
        yield f"{'at:':9}{escape_text(f'{place}{symbol}')}\n"
    if note.body:
        yield f"\n{escape_lines(note.body)}\n"


def build_note_list_record(notes: Sequence[NoteFile], places: Places, exit_code: int) -> Record:
    """Build the object of a list of notes: `schema`, `notes`, `exit_code`."""
    return {"schema": 1, "notes": [build_note_record(n, places.get(n.path)) for n in notes], "exit_code": exit_code}


def build_note_record(note: NoteFile, found: Sequence[AnchorPlace] | None) -> Record:
    """Build the object of a note without its text. `places` say where its code is; `standing` is `unknown` without an index."""
    fields, links = note.note, note.note.links
    if found is None:
        found = [AnchorPlace(link, AnchorState.UNKNOWN, link.path, link.line, link.symbol) for link in links]
    places = [
        {"standing": place.state.value}
        | pick_fields(place, "path line symbol")
        | {"was": pick_fields(place.anchor, "path line symbol text")}
        for place in found
    ]
    record = {"id": fields.id, "path": note.path} | pick_fields(fields, "title kind status tags created")
    return record | {"places": places, "faults": list(fields.faults)}
