"""status: what is indexed, how far a run is, and what the trees say against the index."""

from __future__ import annotations

from collections.abc import Sequence

from codelens.model.runs import RepositoryStatus, Status
from codelens.render.records import fields_of
from codelens.render.visible import for_line
from codelens.server.mcp import schema
from codelens.server.mcp.tool import Record, Tool, ToolAnswer, ToolCall, fit_budget
from codelens.text.counts import quantity

MOST_NAMED = 20  # Changed files that are named, of each kind


def answer(call: ToolCall) -> ToolAnswer:
    """Describe the index, or how far the making of a missing one is."""
    status = call.opened.status(check=call.arguments["check"]) if call.opened else None
    repositories = status.repositories if status else ()

    def answer_of(count: int) -> ToolAnswer:
        first = repositories[:count]
        cut = len(repositories) - count
        lines = [_work_line(call, status), *(_line(r) for r in first), *([f"{cut} more repositories"] if cut else [])]
        work = call.work
        record = {
            "folder": str(call.served.folder),
            "ready": status is not None,
            "work": fields_of(work, "doing phase done total"),
            "fault": "; ".join(filter(None, (work.fault, work.hint)))[:MOST_FAULT],
            "snapshot": status.index.snapshot if status else "",
            "embedder": status.index.embedder if status else "",
            "repositories": [_record(r) for r in first],
            "cut": cut,
        }
        return ToolAnswer("\n".join(lines), record)

    return fit_budget(len(repositories), answer_of, call)


MOST_FAULT = 400  # Characters of what a run ended with


def _work_line(call: ToolCall, status: Status | None) -> str:
    work = call.work
    state = f"index of {call.served.folder}: {'ready' if status else 'not there yet'}"
    doing = f", {work.doing}: {work.text}" if work.doing else ""
    fault = f", the last run failed: {work.fault[:MOST_FAULT]}" if work.fault else ""
    return f"{state}{doing}{fault}"


def _line(repository: RepositoryStatus) -> str:
    kinds = ", ".join(f"{n} {name}" for name, n in list(repository.languages.items())[:8])
    skipped = sum(repository.skipped.values())
    files = quantity(repository.documents, "file")
    return f"{repository.name} at {repository.root}: {files} ({kinds}), {skipped} skipped{_state(repository)}"


def _state(repository: RepositoryStatus) -> str:
    if repository.gone:
        return ", its folder is gone"
    changes = repository.changes
    if changes is None:
        return ""
    if not changes:
        return ", fresh"
    parts = (("new", changes.new), ("changed", changes.changed), ("deleted", changes.deleted))
    return "".join(f", {len(paths)} {word}: {_name_first(paths)}" for word, paths in parts if paths)


def _name_first(paths: Sequence[str]) -> str:
    more = f" and {len(paths) - MOST_NAMED} more" if len(paths) > MOST_NAMED else ""
    return f"{', '.join(map(for_line, paths[:MOST_NAMED]))}{more}"


def _record(repository: RepositoryStatus) -> Record:
    changes = repository.changes
    languages = dict(list(repository.languages.items())[:MOST_NAMED])
    first = {kind: list(getattr(changes, kind, ())[:MOST_NAMED]) for kind in ("new", "changed", "deleted")}
    record = fields_of(repository, "name root documents") | {"languages": languages}
    return record | fields_of(repository, "skipped gone") | {"checked": changes is not None} | first


REPOSITORY = {
    "name": str,
    "root": str,
    "documents": int,
    "languages": {str: int},
    "skipped": {str: int},
    "gone": bool,
    "checked": bool,
    "new": [str],
    "changed": [str],
    "deleted": [str],
}
STATUS = Tool(
    name="status",
    title="State of the index",
    description="What is indexed and where its root is, how far indexing is, and with `check` which files changed since.",
    takes=schema.closed(
        {"check": schema.flag("Walk the trees for new, changed and deleted files"), "budget": schema.budget(2000)}, []
    ),
    gives={
        "folder": str,
        "ready": bool,
        "work": {"doing": str, "phase": str, "done": int, "total": int},
        "fault": str,
        "snapshot": str,
        "embedder": str,
        "repositories": [REPOSITORY],
        "cut": int,
    },
    answer=answer,
    waits=False,
)
