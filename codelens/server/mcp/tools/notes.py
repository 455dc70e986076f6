"""The tools notes (one note in full, or a list with linked places) and feedback (records which results were useful)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from codelens.errors import TargetError, UsageError
from codelens.index import select_learnable_words
from codelens.notes.finder import AnchorPlace, AnchorState
from codelens.notes.note import NoteFile, NoteFolder
from codelens.render.visible import escape_text
from codelens.server.mcp import schema
from codelens.server.mcp.schema import parse_fields
from codelens.server.mcp.tool import Record, Tool, ToolAnswer, ToolCall, format_code_line, format_footer
from codelens.text.counts import quantity


class LinkedNote(NamedTuple):
    """A note with the current places of the code that it is linked to."""

    file: NoteFile
    repository: str
    places: tuple[AnchorPlace, ...]

    def is_wanted(self, call: ToolCall) -> bool:
        """True if the note matches the call's kind, status and tag, and has a lost place if the call asks for that."""
        given, note = call.arguments, self.file.note
        lost = any(place.state is AnchorState.LOST for place in self.places)
        return (
            given.get("kind", note.kind) == note.kind
            and given.get("status", note.status) == note.status
            and ("tag" not in given or given["tag"] in note.tags)
            and (lost or not given["lost"])
        )


def answer_notes(call: ToolCall) -> ToolAnswer:
    """List the notes that match the arguments; with `id`, show one note with as much of its text as fits the budget."""
    notes = list[LinkedNote]()
    for repository in call.info.repositories:
        root = Path(repository.root)
        with call.index.open_anchors(root) as finder:
            files = NoteFolder(root).read_notes() if root.is_dir() else ()
            notes += [LinkedNote(f, repository.name, tuple(map(finder.find_place, f.note.links))) for f in files]
    if "id" in call.arguments:
        return _answer_one_note(notes, call)
    wanted = [note for note in notes if note.is_wanted(call)]

    def make_answer(shown: Sequence[LinkedNote], cut: int) -> ToolAnswer:
        footer = format_footer(cut, "notes", "raise `budget`, or ask by kind, status or tag")
        lines = [line for note in shown for line in _format_note(note)]
        record = {"notes": [_build_note_record(note, "") for note in shown], "cut": cut}
        return ToolAnswer("\n".join([quantity(len(wanted), "note"), *lines, *footer]), record)

    return call.fit_budget(wanted, make_answer)


def _answer_one_note(notes: list[LinkedNote], call: ToolCall) -> ToolAnswer:
    wanted = call.arguments["id"]
    matching = [n for n in notes if n.file.note.id == wanted] or [n for n in notes if n.file.note.id.startswith(wanted)]
    if len(matching) != 1:
        candidates = tuple(f"{n.repository}: {n.file.note.id}" for n in matching or notes)
        what = f"{len(matching) or 'no'} notes are called {wanted}"
        raise TargetError(what, candidates, "use an id that `notes` lists")
    note = matching[0]
    body = [escape_text(line) for line in note.file.body.splitlines()]

    def make_answer(shown: Sequence[str], cut: int) -> ToolAnswer:
        text = "\n".join(shown)
        footer = format_footer(cut, "lines", "raise `budget`")
        record = {"notes": [_build_note_record(note, text)], "cut": cut}
        return ToolAnswer("\n".join([*_format_note(note), text, *footer]), record)

    return call.fit_budget(body, make_answer)


def _format_note(linked: LinkedNote) -> list[str]:
    note = linked.file.note
    status = f" [{note.status}]" if note.status else ""
    tags = "".join(f" #{tag}" for tag in note.tags)
    places = [format_code_line(f"  {place.description}") for place in linked.places]
    return [format_code_line(f"{note.id}: {note.kind} {note.title}{status}{tags}"), *places]


def _build_note_record(linked: LinkedNote, text: str) -> Record:
    note = linked.file.note
    record: Record = {"id": escape_text(note.id), "kind": note.kind, "title": format_code_line(note.title)}
    record |= {"status": format_code_line(note.status), "tags": list(map(format_code_line, note.tags))}
    record |= {"repository": linked.repository, "path": escape_text(linked.file.path)}
    places = [
        {"path": escape_text(p.path), "line": p.line, "symbol": p.symbol, "lost": p.state is AnchorState.LOST}
        for p in linked.places
    ]
    return record | {"places": places, "text": text}


NOTE = {
    **parse_fields("id kind title status tags:texts repository path"),
    "places": [parse_fields("path line:int symbol lost:bool")],
    "text": str,
}
NOTES = Tool(
    "notes",
    "Notes and tasks",
    "Notes and tasks that people keep next to the code, with the places that they follow; with `id` one of them in "
    "full. `search` with kind:note, kind:task or kind:skill finds them by what they say.",
    takes={
        "id": schema.text("One note: its id, or how that begins", most=schema.LONGEST_PATH),
        "kind": schema.choice("Only notes, or only tasks", ("note", "task")),
        "status": schema.text("Only of this status: open, doing, done …", most=100),
        "tag": schema.text("Only with this tag", most=100),
        "lost": schema.flag("Only those with a place that is not found any more"),
        **schema.make_common_arguments(2000, fresh=False),
    },
    gives={"notes": [NOTE], "cut": int},
    answer=answer_notes,
)


MOST_LABELS = 10  # Most places that an answer names, because this tool has no budget argument
LONGEST_LABEL = 200  # Most characters of a place


def answer_feedback(call: ToolCall) -> ToolAnswer:
    """Record what of the last answer was useful: all that `used` names, or `verdict` on the place `hit`. Raises MemoryOff."""
    given = call.arguments
    if ("used" in given) == ("hit" in given) or ("hit" in given) != ("verdict" in given):
        raise UsageError("nothing to record", "give `used`, or `hit` with `verdict`")
    notebook = call.index.open_notebook(call.session)
    verdict = given.get("verdict", "useful")
    if "used" in given:
        places = notebook.record_use([call.resolve_target(target) for target in given["used"]])
    else:
        hit = given["hit"] if given["hit"].isdigit() else call.resolve_target(given["hit"])
        query = given.get("query")
        words = select_learnable_words(query) if query is not None else ()
        places = [notebook.judge(hit, verdict == "useful", query, words)]
    labels = [escape_text(place.format_label())[:LONGEST_LABEL] for place in places[:MOST_LABELS]]
    lines = [f"{verdict}: {label}" for label in labels]
    return ToolAnswer("\n".join(lines) or "the last answer has no hit there", {"verdict": verdict, "places": labels})


FEEDBACK = Tool(
    "feedback",
    "Say what was of use",
    "Record that results were useful or useless, so that later searches rank by it. Only where the user has switched "
    "memory on. After a task, name in `used` the files and symbols of the last answer that you read or changed.",
    takes={
        "used": schema.several("Files, PATH:LINE or symbols of the last answer that were used", schema.TARGET, 50),
        "hit": schema.text("A result's rank in the last answer, PATH:LINE, or a symbol", most=schema.LONGEST_PATH),
        "verdict": schema.choice("What that hit was", ("useful", "useless")),
        "query": {**schema.QUERY, "description": "For what it was; left out, for the last query"},
    },
    gives=parse_fields("verdict places:texts"),
    answer=answer_feedback,
    records=True,
)
