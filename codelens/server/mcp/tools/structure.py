"""The tools refs, callers, callees and impact (relations in the symbol graph, each with its source line), read (lines of a
target), symbols (outline of a file) and status (what is indexed, and which files have changed since)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from codelens.errors import UsageError
from codelens.model.code import Freshness
from codelens.model.graph import IMPLIED_KINDS, KINDS, NamedNode, Relation, RelationAnswer, RelationOptions
from codelens.model.request import SearchOptions
from codelens.model.runs import RepositoryStatus
from codelens.render.outline import format_outline, select_symbols
from codelens.render.records import pick_fields
from codelens.render.relations import format_step
from codelens.render.visible import escape_text
from codelens.server.mcp import schema
from codelens.server.mcp.schema import parse_fields
from codelens.server.mcp.tool import Record, Tool, ToolAnswer, ToolCall, describe_stale, format_code_line, format_footer
from codelens.text.counts import quantity

NODE = parse_fields("name kind path line:int")
RELATION = parse_fields(
    "kind depth:int name symbol_kind defined_in path line:int text confidence:float certainty test:bool freshness"
)
DEPTH = schema.integer("Hops to follow", 1, 10)
ALL_KINDS = tuple(dict.fromkeys([*KINDS, *IMPLIED_KINDS]))


def answer_relations(call: ToolCall) -> ToolAnswer:
    """Put the question that the tool is named for to the graph."""
    given, where = call.arguments, call.resolve_scope()
    scope = SearchOptions(**where) if any(where.values()) else None
    asked = {name: given[name] for name in ("min_confidence", "depth", "limit", "sure", "text") if name in given}
    options = RelationOptions(tuple(given.get("kinds", ())), where=scope, **asked)
    result: RelationAnswer = getattr(call.index.graph, call.tool.name)(call.resolve_target(given["target"]), options)
    targets, old = result.targets[:3], sum(r.place.freshness is not Freshness.FRESH for r in result.relations)
    note_texts = call.format_notices([*(n.text for n in result.notices), *describe_stale(old, "line")])
    target_records: list[Record] = [
        {"name": n.qualified_name, "kind": n.kind, "path": _format_node_path(n, call), "line": n.line} for n in targets
    ]
    places = [f" ({_format_node_path(named, call)}:{named.line})" if named.path else "" for named in targets]
    named_targets = zip(targets, places, strict=True)
    subject = ", ".join(escape_text(f"{named.kind} {named.qualified_name}{place}") for named, place in named_targets)
    ways = [f"`{name}`" for name in ("paths", "depth") if name in call.tool.takes]
    remedy = f"raise `budget` or `limit`, or narrow with {', '.join(ways)} or `min_confidence`"

    def make_answer(relations: Sequence[Relation], _: int) -> ToolAnswer:
        cut = result.total - len(relations)
        lines = [_format_relation(relation, result.question, call) for relation in relations]
        footer = format_footer(cut, "relations", remedy, note_texts)
        record: Record = {"targets": target_records, "relations": [_build_relation_record(r, call) for r in relations]}
        record |= {"total": result.total, "cut": cut, "notices": note_texts}
        return ToolAnswer("\n".join([f"{result.question} of {subject}: {result.total}", *lines, *footer]), record)

    return call.fit_budget(result.relations, make_answer)


def _format_node_path(named: NamedNode, call: ToolCall) -> str:
    return escape_text(call.paths.format_path(named.root, named.path)) if named.path else ""


def _format_relation(relation: Relation, question: str, call: ToolCall) -> str:
    place = relation.place
    head = f"{call.paths.format_path(place.root, place.path)}:{place.line}: " if place.line else ""
    indent = "  " * (relation.depth - 1) if question in ("callers", "callees") else ""
    text = f"  | {format_code_line(place.text.strip())}" if place.text.strip() else ""
    again = " (listed above)" if relation.again else ""
    return escape_text(f"{indent}{head}{format_step(relation, question)}{again}{text}")


def _build_relation_record(relation: Relation, call: ToolCall) -> Record:
    place, listed = relation.place, relation.listed
    path = escape_text(call.paths.format_path(place.root, place.path)) if place.line else ""
    record = pick_fields(relation, "kind depth") | {"name": listed.qualified_name, "symbol_kind": listed.kind}
    record |= {"defined_in": _format_node_path(listed, call), "path": path, "line": place.line}
    record |= {"text": format_code_line(place.text.strip())} | pick_fields(relation, "confidence certainty test")
    return record | {"freshness": str(place.freshness)}


def _make_relation_tool(name: str, title: str, description: str, more: Mapping[str, Any]) -> Tool:
    takes: dict[str, schema.Schema] = {
        "target": schema.TARGET,
        **more,
        "min_confidence": schema.share("Only edges at least this sure: .5 and above are resolved, below are guesses"),
        "limit": schema.integer("Most relations", 1, 1000, 100),
        **schema.NARROW,
        **schema.make_common_arguments(3000),
    }
    gives = {"targets": [NODE], "relations": [RELATION]} | parse_fields("total:int cut:int notices:texts")
    return Tool(name, title, description, takes, gives, answer_relations, required=("target",))


_KINDS = {"kinds": schema.several("Only these kinds of edges", schema.choice("", ALL_KINDS), len(ALL_KINDS))}

REFS = _make_relation_tool(
    "refs",
    "Where a symbol is used",
    "Every place that names a symbol or file, the surest first, each with its certainty: `resolved` by scopes, imports or types, "
    "`likely` where nothing else has the name, or `by name`. More exact than a text search.",
    {
        **_KINDS,
        "sure": schema.flag("Only places that are resolved"),
        "text": schema.flag("Also the name in comments, strings and documents"),
    },
)
CALLERS = _make_relation_tool(
    "callers",
    "Who calls a function",
    "Who calls a function or method, as a tree of as many hops as `depth` says.",
    {"depth": DEPTH},
)
CALLEES = _make_relation_tool(
    "callees",
    "What a function calls",
    "What a function or method calls, as a tree of as many hops as `depth` says.",
    {"depth": DEPTH},
)
IMPACT = _make_relation_tool(
    "impact",
    "What a change may reach",
    "All that a change of a symbol or file may reach: callers, subclasses, overriding methods, importers, nearest first, tests "
    "last. Ask before you change a signature or behaviour, and to know which tests to run.",
    {"depth": DEPTH, **_KINDS},
)


RANGE = re.compile(r"(.+):(\d{1,9})-(\d{1,9})")
LONGEST_READ = 2000  # Most characters of a line that `read` shows; only minified files have longer ones


def answer_read(call: ToolCall) -> ToolAnswer:
    """Read the lines of a symbol or file as they were indexed."""
    target = call.arguments["target"]
    part = RANGE.fullmatch(target)
    source, unit, first = call.index.find_passage(call.resolve_target(part[1] if part else target))
    total = len(source.lines)
    path = escape_text(call.paths.format_path(source.file.root, source.file.path))
    if part:
        unit, first, last = None, int(part[2]), min(int(part[3]), total)
        if not 1 <= first <= last:
            raise UsageError(f"{path} has lines 1 to {total}, not {part[2]} to {part[3]}", "give `target` as PATH:1-50")
    else:
        last = unit.end_line if unit else total
    lines = [format_code_line(line, LONGEST_READ) for line in source.lines[first - 1 : last]]
    name = escape_text(f"  {unit.kind} {unit.qualified_name}") if unit else ""
    is_old = source.freshness is not Freshness.FRESH
    notices = [f"{source.freshness} since it was indexed; `fresh` waits for the update"] if is_old else []

    def make_answer(shown: Sequence[str], cut: int) -> ToolAnswer:
        end = first + len(shown) - 1
        head = f"{path}:{first}-{end}{name} (the file has {total} lines)"
        body = [f"{number}| {line}" for number, line in enumerate(shown, first)]
        footer = format_footer(cut, "lines", f"raise `budget`, or read {path}:{end + 1}-{last}", notices)
        record = {"path": path, "first": first, "last": end, "total": total, "cut": cut}
        record |= {"text": "\n".join(shown), "freshness": str(source.freshness)}
        return ToolAnswer("\n".join([head, *body, *footer]), record)

    return call.fit_budget(lines, make_answer)


READ = Tool(
    "read",
    "Read code",
    "The body of a symbol, or lines of a file, with line numbers. Give the name of a function, method or class instead "
    "of reading a whole file; `search` and `refs` give the places.",
    takes={
        "target": schema.text(
            "A symbol's name (Class.method, function), PATH:LINE for the symbol there, PATH:FIRST-LAST, or PATH",
            most=schema.LONGEST_PATH,
        ),
        **schema.make_common_arguments(4000),
    },
    gives=parse_fields("path text freshness first:int last:int total:int cut:int"),
    answer=answer_read,
    required=("target",),
)


def answer_outline(call: ToolCall) -> ToolAnswer:
    """List the symbols of a file in the order of their places."""
    path = call.resolve_path(call.arguments["file"])
    names, below = call.split_repository(path)
    units = select_symbols([u for u in call.index.symbols(below) if u.repository in names])
    lines = [format_code_line(line) for line in format_outline(units)]
    symbols = [
        {"name": u.qualified_name, "kind": u.kind, "line": u.name_line or u.start_line, "end_line": u.end_line}
        | {"signature": format_code_line(" ".join(u.signature.split()))}
        for u in units
    ]

    def make_answer(shown: Sequence[Record], cut: int) -> ToolAnswer:
        footer = format_footer(cut, "symbols", "raise `budget`, or search with path:")
        record = {"path": path, "symbols": shown, "cut": cut}
        return ToolAnswer("\n".join([path, *lines[: len(shown)], *footer]), record)

    return call.fit_budget(symbols, make_answer)


SYMBOLS = Tool(
    "symbols",
    "Outline of a file",
    "The outline of one file: its classes, functions and headings with their lines and signatures. Cheaper than "
    "reading the file.",
    takes={
        "file": schema.text("Path relative to the root, as other tools tell it", most=schema.LONGEST_PATH),
        **schema.make_common_arguments(3000),
    },
    gives={"path": str, "symbols": [parse_fields("name kind line:int end_line:int signature")], "cut": int},
    answer=answer_outline,
    required=("file",),
)


MOST_NAMED = 20  # Most changed files that are listed, by kind of change
MOST_FAULT = 400  # Most characters of the error of an index run
CHANGES = ("new", "changed", "deleted")


def answer_status(call: ToolCall) -> ToolAnswer:
    """Describe the index, or how far the making of a missing one is."""
    status = call.opened.status(check=call.arguments["check"]) if call.opened else None
    work = call.work
    state = f"index of {call.served.folder}: {'ready' if status else 'not there yet'}"
    doing = f", {work.doing}: {work.text}" if work.doing else ""
    fault = f", the last run failed: {work.fault[:MOST_FAULT]}" if work.fault else ""

    def make_answer(repositories: Sequence[RepositoryStatus], cut: int) -> ToolAnswer:
        lines = [_format_repository(r) for r in repositories]
        record = {"folder": str(call.served.folder), "ready": status is not None}
        record |= {"work": pick_fields(work, "doing phase done total")}
        record |= {"fault": "; ".join(filter(None, (work.fault, work.hint)))[:MOST_FAULT]}
        record |= pick_fields(status.index, "snapshot embedder") if status else {"snapshot": "", "embedder": ""}
        record |= {"repositories": [_build_repository_record(r) for r in repositories], "cut": cut}
        more = [f"{cut} more repositories"] if cut else []
        return ToolAnswer("\n".join([f"{state}{doing}{fault}", *lines, *more]), record)

    return call.fit_budget(status.repositories if status else (), make_answer)


def _format_repository(repository: RepositoryStatus) -> str:
    kinds = ", ".join(f"{n} {name}" for name, n in list(repository.languages.items())[:8])
    files, skipped = quantity(repository.documents, "file"), sum(repository.skipped.values())
    line = f"{repository.name} at {repository.root}: {files} ({kinds}), {skipped} skipped"
    if repository.gone:
        return f"{line}, its folder is gone"
    if repository.changes is not None and not repository.changes:
        return f"{line}, fresh"
    for kind in CHANGES if repository.changes else ():
        if paths := getattr(repository.changes, kind):
            more = f" and {len(paths) - MOST_NAMED} more" if len(paths) > MOST_NAMED else ""
            line += f", {len(paths)} {kind}: {', '.join(map(escape_text, paths[:MOST_NAMED]))}{more}"
    return line


def _build_repository_record(repository: RepositoryStatus) -> Record:
    record = pick_fields(repository, "name root documents languages skipped gone")
    record["languages"] = dict(list(repository.languages.items())[:MOST_NAMED])
    changed_paths = {kind: list(getattr(repository.changes, kind, ())[:MOST_NAMED]) for kind in CHANGES}
    return record | {"checked": repository.changes is not None} | changed_paths


REPOSITORY = {
    **parse_fields("name root documents:int"),
    "languages": {str: int},
    "skipped": {str: int},
    **parse_fields("gone:bool checked:bool new:texts changed:texts deleted:texts"),
}
STATUS = Tool(
    "status",
    "State of the index",
    "What is indexed and where its root is, how far indexing is, and with `check` which files changed since.",
    takes={
        "check": schema.flag("Walk the trees for new, changed and deleted files"),
        **schema.make_common_arguments(2000, fresh=False),
    },
    gives={
        **parse_fields("folder ready:bool"),
        "work": parse_fields("doing phase done:int total:int"),
        **parse_fields("fault snapshot embedder"),
        "repositories": [REPOSITORY],
        "cut": int,
    },
    answer=answer_status,
    waits=False,
)
