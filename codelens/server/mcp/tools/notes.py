"""notes: one note in full, or a list with the places that each follows; feedback: results that were of use."""

from __future__ import annotations

from pathlib import Path

from codelens.errors import TargetError, UsageError
from codelens.model.fast_dataclass import dataclass
from codelens.notes.finder import AnchorPlace, AnchorState
from codelens.notes.folder import NoteFile, NoteFolder
from codelens.render.visible import for_line, for_terminal
from codelens.server.mcp import schema
from codelens.server.mcp.tool import (
    Record,
    Tool,
    ToolAnswer,
    ToolCall,
    code_line,
    cut_line,
    fit_budget,
    target_in_index,
)
from codelens.text.counts import quantity


@dataclass(frozen=True, slots=True)
class LinkedNote:
    """A note with the places that it is linked to, as they are now."""

    file: NoteFile
    repository: str
    places: tuple[AnchorPlace, ...]


def answer(call: ToolCall) -> ToolAnswer:
    """With `id` one note and its text, in lines, as far as the budget holds; else the notes that are asked for."""
    given = call.arguments
    known = _read_notes(call)
    if "id" in given:
        return _answer_one(known, call)
    wanted = [note for note in known if _is_wanted(note, call)]

    def answer_of(count: int) -> ToolAnswer:
        cut = len(wanted) - count
        footer = cut_line(cut, "notes", "raise `budget`, or ask by kind, status or tag")
        head = quantity(len(wanted), "note")
        lines = [line for note in wanted[:count] for line in _lines(note)]
        return ToolAnswer(
            "\n".join([head, *lines, *footer]), {"notes": [_record(n, "") for n in wanted[:count]], "cut": cut}
        )

    return fit_budget(len(wanted), answer_of, call)


def _read_notes(call: ToolCall) -> list[LinkedNote]:
    """The notes of all repositories, in the order of these and of ids."""
    found = []
    for repository in call.index.info().repositories:
        root = Path(repository.root)
        for note in NoteFolder(root).notes() if root.is_dir() else ():
            places = call.index.notes.find(root, note.note.links) if note.note.links else []
            found.append(LinkedNote(note, repository.name, tuple(places)))
    return found


def _is_wanted(linked: LinkedNote, call: ToolCall) -> bool:
    given, note = call.arguments, linked.file.note
    lost = any(place.state is AnchorState.LOST for place in linked.places)
    return (
        given.get("kind", note.kind) == note.kind
        and given.get("status", note.status) == note.status
        and ("tag" not in given or given["tag"] in note.tags)
        and (lost or not given["lost"])
    )


def _answer_one(known: list[LinkedNote], call: ToolCall) -> ToolAnswer:
    wanted = call.arguments["id"]
    found = [n for n in known if n.file.note.id == wanted] or [n for n in known if n.file.note.id.startswith(wanted)]
    if len(found) != 1:
        some = tuple(f"{n.repository}: {n.file.note.id}" for n in found or known)
        raise TargetError(f"{len(found) or 'no'} notes are called {wanted}", some, "use an id that `notes` lists")
    body = [for_terminal(line) for line in found[0].file.body.splitlines()]

    def answer_of(count: int) -> ToolAnswer:
        footer = cut_line(len(body) - count, "lines", "raise `budget`")
        written = "\n".join(body[:count])
        record = {"notes": [_record(found[0], written)], "cut": len(body) - count}
        return ToolAnswer("\n".join([*_lines(found[0]), written, *footer]), record)

    return fit_budget(len(body), answer_of, call)


def _lines(linked: LinkedNote) -> list[str]:
    note = linked.file.note
    status = f" [{note.status}]" if note.status else ""
    tags = "".join(f" #{tag}" for tag in note.tags)
    places = [code_line(f"  {place.description}") for place in linked.places]
    return [code_line(f"{note.id}: {note.kind} {note.title}{status}{tags}"), *places]


def _record(linked: LinkedNote, written: str) -> Record:
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
            {"path": for_line(p.path), "line": p.line, "symbol": p.symbol, "lost": p.state is AnchorState.LOST}
            for p in linked.places
        ],
        "text": written,
    }


PLACE = {"path": str, "line": int, "symbol": str, "lost": bool}
NOTE = {
    "id": str,
    "kind": str,
    "title": str,
    "status": str,
    "tags": [str],
    "repository": str,
    "path": str,
    "places": [PLACE],
    "text": str,
}
NOTES = Tool(
    name="notes",
    title="Notes and tasks",
    description="Notes and tasks that people keep next to the code, with the places that they follow; with `id` one of them in "
    "full. `search` with kind:note, kind:task or kind:skill finds them by what they say.",
    takes=schema.closed(
        {
            "id": schema.text("One note: its id, or how that begins", most=schema.LONGEST_PATH),
            "kind": schema.choice("Only notes, or only tasks", ("note", "task")),
            "status": schema.text("Only of this status: open, doing, done …", most=100),
            "tag": schema.text("Only with this tag", most=100),
            "lost": schema.flag("Only those with a place that is not found any more"),
            "budget": schema.budget(2000),
        },
        [],
    ),
    gives={"notes": [NOTE], "cut": int},
    answer=answer,
)


VERDICTS = ("useful", "useless")
MOST_TOLD = 10  # Places that an answer names. Chosen, because this tool has no budget argument.
LONGEST_TOLD = 200  # Characters of each


def answer_feedback(call: ToolCall) -> ToolAnswer:
    """`used` names what was used of the last answer; `hit` and `verdict` judge one place. Raises MemoryOff."""
    given = call.arguments
    if ("used" in given) == ("hit" in given) or ("hit" in given) != ("verdict" in given):
        raise UsageError("nothing to record", "give `used`, or `hit` with `verdict`")
    info = call.index.info()
    notebook = call.index.memory.notebook(call.session)
    if "used" in given:
        places = notebook.used([target_in_index(target, info) for target in given["used"]])
        verdict = "useful"
    else:
        hit = given["hit"] if given["hit"].isdigit() else target_in_index(given["hit"], info)
        verdict, query = given["verdict"], given.get("query")
        words = call.index.memory.learnable(query) if query is not None else ()
        places = [notebook.judge(hit, verdict == "useful", query, words)]
    labels = [for_line(place.label())[:LONGEST_TOLD] for place in places[:MOST_TOLD]]
    lines = [f"{verdict}: {place}" for place in labels]
    return ToolAnswer("\n".join(lines) or "the last answer has no hit there", {"verdict": verdict, "places": labels})


FEEDBACK = Tool(
    name="feedback",
    title="Say what was of use",
    description="Record that results were useful or useless, so that later searches rank by it. Only where the user has switched "
    "memory on. After a task, name in `used` the files and symbols of the last answer that you read or changed.",
    takes=schema.closed(
        {
            "used": schema.several("Files, PATH:LINE or symbols of the last answer that were used", schema.TARGET, 50),
            "hit": schema.text("A result's rank in the last answer, PATH:LINE, or a symbol", most=schema.LONGEST_PATH),
            "verdict": schema.choice("What that hit was", VERDICTS),
            "query": {**schema.QUERY, "description": "For what it was; left out, for the last query"},
        },
        [],
    ),
    gives={"verdict": str, "places": [str]},
    answer=answer_feedback,
    records=True,
)
