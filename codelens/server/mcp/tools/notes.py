"""notes: what people wrote beside the code → one note in full, or a list with the places that each follows."""

from __future__ import annotations

from pathlib import Path

from codelens.errors import TargetError
from codelens.notes.finding import Found, Standing
from codelens.notes.folder import NoteFile, NoteFolder
from codelens.nouns import dataclass
from codelens.render.visible import for_line, for_terminal
from codelens.server.mcp.asked import LONGEST_PATH, budget
from codelens.server.mcp.fit import code_line, cut_line, fitted
from codelens.server.mcp.schema import BOOLEAN, INTEGER, STRING, choice, closed, flag, rows, text
from codelens.server.mcp.tool import Answer, Asked, Record, Tool


@dataclass(frozen=True, slots=True)
class Linked:
    """A note with the places that it is linked to, as they are now."""

    file: NoteFile
    repository: str
    places: tuple[Found, ...]


def answer(asked: Asked) -> Answer:
    """With `id` one note and its text, in lines, as far as the budget holds; else the notes that are asked for."""
    given = asked.arguments
    known = _known(asked)
    if "id" in given:
        return _one(known, asked)
    wanted = [note for note in known if _fits(note, asked)]

    def made(count: int) -> Answer:
        cut = len(wanted) - count
        said = cut_line(cut, "notes", "raise `budget`, or ask by kind, status or tag")
        head = f"{len(wanted)} notes"
        lines = [line for note in wanted[:count] for line in _lines(note)]
        return Answer("\n".join([head, *lines, *said]), {"notes": [_record(n, "") for n in wanted[:count]], "cut": cut})

    return fitted(len(wanted), made, given["budget"])


def _known(asked: Asked) -> list[Linked]:
    """The notes of all repositories, in the order of these and of ids."""
    found = []
    for repository in asked.index.info().repositories:
        root = Path(repository.root)
        for note in NoteFolder(root).notes() if root.is_dir() else ():
            places = asked.index.find_places(root, note.note.links) if note.note.links else []
            found.append(Linked(note, repository.name, tuple(places)))
    return found


def _fits(linked: Linked, asked: Asked) -> bool:
    given, note = asked.arguments, linked.file.note
    lost = any(place.standing is Standing.LOST for place in linked.places)
    return (
        given.get("kind", note.kind) == note.kind
        and given.get("status", note.status) == note.status
        and ("tag" not in given or given["tag"] in note.tags)
        and (lost or not given["lost"])
    )


def _one(known: list[Linked], asked: Asked) -> Answer:
    wanted = asked.arguments["id"]
    found = [n for n in known if n.file.note.id == wanted] or [n for n in known if n.file.note.id.startswith(wanted)]
    if len(found) != 1:
        some = tuple(f"{n.repository}: {n.file.note.id}" for n in found or known)
        raise TargetError(f"{len(found) or 'no'} notes are called {wanted}", some, "give an id that `notes` lists")
    body = [for_terminal(line) for line in found[0].file.body.splitlines()]

    def made(count: int) -> Answer:
        said = cut_line(len(body) - count, "lines", "raise `budget`")
        written = "\n".join(body[:count])
        record = {"notes": [_record(found[0], written)], "cut": len(body) - count}
        return Answer("\n".join([*_lines(found[0]), written, *said]), record)

    return fitted(len(body), made, asked.arguments["budget"])


def _lines(linked: Linked) -> list[str]:
    note = linked.file.note
    status = f" [{note.status}]" if note.status else ""
    tags = "".join(f" #{tag}" for tag in note.tags)
    told = [code_line(f"  {place.told}") for place in linked.places]
    return [code_line(f"{note.id}: {note.kind} {note.title}{status}{tags}"), *told]


def _record(linked: Linked, written: str) -> Record:
    note = linked.file.note
    return {
        "id": for_line(note.id),
        "kind": note.kind,
        "title": code_line(note.title),
        "status": code_line(note.status),
        "tags": [code_line(tag) for tag in note.tags],
        "repository": linked.repository,
        "path": for_line(linked.file.path),
        "places": [
            {"path": for_line(p.path), "line": p.line, "symbol": p.symbol, "lost": p.standing is Standing.LOST}
            for p in linked.places
        ],
        "text": written,
    }


PLACE = closed({"path": STRING, "line": INTEGER, "symbol": STRING, "lost": BOOLEAN})
NOTE = closed(
    {
        "id": STRING,
        "kind": STRING,
        "title": STRING,
        "status": STRING,
        "tags": rows(STRING),
        "repository": STRING,
        "path": STRING,
        "places": rows(PLACE),
        "text": STRING,
    }
)
NOTES = Tool(
    name="notes",
    title="Notes and tasks",
    description="Notes and tasks that people keep beside the code, with the places that they follow; with `id` one of them in "
    "full. `search` with kind:note, kind:task or kind:skill finds them by what they say.",
    takes=closed(
        {
            "id": text("One note: its id, or how that begins", most=LONGEST_PATH),
            "kind": choice("Only notes, or only tasks", ("note", "task")),
            "status": text("Only of this status: open, doing, done …", most=100),
            "tag": text("Only with this tag", most=100),
            "lost": flag("Only those with a place that is not found any more"),
            "budget": budget(2000),
        },
        [],
    ),
    gives=closed({"notes": rows(NOTE), "cut": INTEGER}),
    answer=answer,
)
