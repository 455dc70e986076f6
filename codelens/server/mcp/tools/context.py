"""context: a task, files or a change → the code that it is about, in one answer."""

from __future__ import annotations

import json

from codelens.context.counters import CHARS_PER_TOKEN
from codelens.context.parts import LONGEST_TOKEN, resume_request
from codelens.errors import TargetError, UsageError
from codelens.model.context import CHANGE, EVERYTHING, FILES, TASK, ContextRequest, Counter, Forms
from codelens.model.request import SearchOptions
from codelens.render.context import make_layout
from codelens.render.visible import for_line
from codelens.server.mcp import schema
from codelens.server.mcp.tool import (
    Tool,
    ToolAnswer,
    ToolCall,
    fit_budget,
    format_notices,
    path_in_index,
    remember,
    scope_options,
    split_repository,
)

SOURCES = ("task", "files", "revisions", "diff", "more")
FRAME = 150  # Tokens kept for the rest of the answer: numbers, and a notice or two
LONGEST_DIFF = 200_000  # Characters. The diffs that people review are shorter.


def answer(call: ToolCall) -> ToolAnswer:
    """One pack, measured as it is sent: as a text within JSON, where a line break is two characters."""
    room = call.arguments["budget"] - FRAME
    packed = call.index.context(_request(call, room), make_layout("markdown", call.paths, "context with more: {}"))
    places = [(rank, unit, unit.name_line or unit.start_line) for rank, unit in enumerate(packed.units, start=1)]
    notices = remember(call, call.arguments.get("task", ""), places)
    note_texts = format_notices([*(n.text for n in packed.notices), *notices], call.tool)

    def answer_of(count: int) -> ToolAnswer:
        record = {
            "pack": packed.text,
            "symbols": packed.symbols,
            "total": packed.total,
            "changed": list(packed.changed[:count]),
            "notices": note_texts,
        }
        more = f" and {len(packed.changed) - count} more" if count < len(packed.changed) else ""
        named = f"{', '.join(map(for_line, packed.changed[:count]))}{more}"
        changed = [f"note: changed since indexed: {named}; `fresh` waits for the update"] if packed.changed else []
        footer = "\n".join([*changed, *(f"note: {n}" for n in note_texts)])
        return ToolAnswer(f"{packed.text}{footer}", record)

    return fit_budget(len(packed.changed), answer_of, call)


def _request(call: ToolCall, room: int) -> ContextRequest:
    given = call.arguments
    named = [source for source in SOURCES if source in given]
    if len(named) != 1:
        raise UsageError(
            "a pack is for one of task, files, revisions, diff and more", "give exactly one of these arguments"
        )
    counter = Counter("characters of JSON / 4", count_escaped)
    if named == ["more"]:
        if set(given) & set(schema.NARROW):
            raise UsageError(
                "`more` goes on with the filters of its pack", "give the token alone, with a budget if you like"
            )
        return resume_request(given["more"], counter, room, str(call.served.folder))
    source = {"task": TASK, "files": FILES}.get(named[0], CHANGE)
    info = call.index.info()
    where = scope_options(given, info)
    if source == FILES:
        places = [split_repository(path_in_index(path, info), info) for path in given["files"]]
        if not all(below for _, below in places):
            raise TargetError("the root is a folder, not a file", hint="name files relative to the root")
        where |= {"paths": tuple(below for _, below in places)}
        where |= {"repositories": tuple(sorted({name for names, _ in places for name in names}))}
    settings = call.served.settings
    return ContextRequest(
        source=source,
        counter=counter,
        options=SearchOptions(
            limit=EVERYTHING, mode=settings.mode, profile=settings.profile, memory=settings.memory, **where
        ),
        budget=room,
        forms=Forms(given["forms"]),
        query=given.get("task", ""),
        diff=given["diff"].encode("utf-8", "replace") if "diff" in given else None,
        revisions=given.get("revisions", ""),
        cwd=info.repositories[0].root if info.repositories else str(call.served.folder),
    )


def count_escaped(written: str) -> int:
    """Tokens of a text as a part of JSON."""
    return -(-(len(json.dumps(written, ensure_ascii=False)) - 2) // CHARS_PER_TOKEN)


CONTEXT = Tool(
    name="context",
    title="Code for a task",
    description="The code that a task, some files or a change is about, packed into a budget: bodies of the "
    "best symbols, signatures of the next, and a token for more. One call instead of a search and many reads.",
    takes=schema.closed(
        {
            "task": schema.text("The task, in a sentence or more"),
            "files": schema.several(
                "Files: their symbols, and who calls them", schema.text(most=schema.LONGEST_PATH), 50
            ),
            "revisions": schema.text("BASE..HEAD: what lies between two commits, and what it touches", most=300),
            "diff": schema.text("A unified diff: what it changes, and what that touches", most=LONGEST_DIFF),
            "more": schema.text(
                "The token at the end of a pack: its next part, in place of a task", most=LONGEST_TOKEN
            ),
            "forms": schema.choice("Bodies, signatures, or bodies as far as they fit", [str(f) for f in Forms], "auto"),
            **schema.NARROW,
            "fresh": schema.FRESH,
            "budget": schema.budget(8000),
        },
        [],
    ),
    gives={"pack": str, "symbols": int, "total": int, "changed": [str], "notices": [str]},
    answer=answer,
)
