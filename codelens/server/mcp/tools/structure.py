"""refs, callers, callees, impact: a target → relations of the symbol graph, each with the line that it stems from; read and
symbols: a target → its lines, a file → its outline."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from codelens.errors import UsageError
from codelens.index import GraphTopic
from codelens.model.code import Freshness, UnitRow
from codelens.model.graph import IMPLIED_KINDS, KINDS, NamedNode, Relation, RelationAnswer, RelationOptions
from codelens.model.request import SearchOptions
from codelens.render.outline import outline_lines, symbols_of
from codelens.render.records import fields_of
from codelens.render.relations import format_step
from codelens.render.visible import for_line
from codelens.server.mcp import schema
from codelens.server.mcp.tool import (
    Record,
    Tool,
    ToolAnswer,
    ToolCall,
    code_line,
    cut_line,
    fit_budget,
    format_notices,
    path_in_index,
    scope_options,
    split_repository,
    target_in_index,
)
from codelens.text.counts import quantity

Ask = Callable[[GraphTopic, str, RelationOptions], RelationAnswer]

NODE = {"name": str, "kind": str, "path": str, "line": int}
RELATION = {
    "kind": str,
    "depth": int,
    "name": str,
    "symbol_kind": str,
    "defined_in": str,
    "path": str,
    "line": int,
    "text": str,
    "confidence": float,
    "certainty": str,
    "test": bool,
    "freshness": str,
}
DEPTH = schema.integer("Hops to follow", 1, 10)
ALL_KINDS = tuple(dict.fromkeys([*KINDS, *IMPLIED_KINDS]))


def make_answer(ask: Ask) -> Callable[[ToolCall], ToolAnswer]:
    """The function of a tool that puts one question to the graph."""

    def answer(call: ToolCall) -> ToolAnswer:
        given = call.arguments
        info = call.index.info()
        where = scope_options(given, info)
        options = RelationOptions(
            kinds=tuple(given.get("kinds", ())),
            min_confidence=given.get("min_confidence"),
            depth=given.get("depth"),
            limit=given["limit"],
            sure=given.get("sure", False),
            text=given.get("text", False),
            where=SearchOptions(**where) if any(where.values()) else None,
        )
        return _format_answer(ask(call.index.graph, target_in_index(given["target"], info), options), call)

    return answer


def _format_answer(result: RelationAnswer, call: ToolCall) -> ToolAnswer:
    found = result.relations
    notices = [n.text for n in result.notices]
    if old := sum(r.place.freshness is not Freshness.FRESH for r in found):
        notices.append(
            f"{quantity(old, 'line')} in files that changed since they were indexed; `fresh` waits for the update"
        )
    note_texts = format_notices(notices, call.tool)

    def answer_of(count: int) -> ToolAnswer:
        cut = result.total - count
        head = f"{result.question} of {', '.join(_describe_node(n, call) for n in result.targets[:3])}: {result.total}"
        lines = [_line(relation, result.question, call) for relation in found[:count]]
        ways = [f"`{name}`" for name in ("paths", "depth") if name in call.tool.takes["properties"]]
        remedy = f"raise `budget` or `limit`, or narrow with {', '.join(ways)} or `min_confidence`"
        footer = [*cut_line(cut, "relations", remedy), *(f"note: {notice}" for notice in note_texts)]
        record = {
            "targets": [_node(n, call) for n in result.targets[:3]],
            "relations": [_record(relation, call) for relation in found[:count]],
            "total": result.total,
            "cut": cut,
            "notices": note_texts,
        }
        return ToolAnswer("\n".join([head, *lines, *footer]), record)

    return fit_budget(len(found), answer_of, call)


def _describe_node(named: NamedNode, call: ToolCall) -> str:
    place = f" ({_path(named, call)}:{named.line})" if named.path else ""
    return for_line(f"{named.kind} {named.qualified_name}{place}")


def _path(named: NamedNode, call: ToolCall) -> str:
    return for_line(call.paths.of(named.root, named.path)) if named.path else ""


def _line(relation: Relation, question: str, call: ToolCall) -> str:
    place = relation.place
    head = f"{call.paths.of(place.root, place.path)}:{place.line}: " if place.line else ""
    indent = "  " * (relation.depth - 1) if question in ("callers", "callees") else ""
    text = f"  | {code_line(place.text.strip())}" if place.text.strip() else ""
    again = " (listed above)" if relation.again else ""
    return for_line(f"{indent}{head}{format_step(relation, question)}{again}{text}")


def _node(named: NamedNode, call: ToolCall) -> Record:
    return {"name": named.qualified_name, "kind": named.kind, "path": _path(named, call), "line": named.line}


def _record(relation: Relation, call: ToolCall) -> Record:
    place, listed = relation.place, relation.listed
    return {
        "kind": relation.kind,
        "depth": relation.depth,
        "name": listed.qualified_name,
        "symbol_kind": listed.kind,
        "defined_in": _path(listed, call),
        "path": for_line(call.paths.of(place.root, place.path)) if place.line else "",
        "line": place.line,
        "text": code_line(place.text.strip()),
        **fields_of(relation, "confidence certainty test"),
        "freshness": str(place.freshness),
    }


def _tool(name: str, title: str, description: str, ask: Ask, more: Mapping[str, Any]) -> Tool:
    takes: dict[str, schema.Schema] = {
        "target": schema.TARGET,
        **more,
        "min_confidence": schema.share("Only edges at least this sure: .5 and above are resolved, below are guesses"),
        "limit": schema.integer("Most relations", 1, 1000, 100),
        **schema.NARROW,
        "fresh": schema.FRESH,
        "budget": schema.budget(3000),
    }
    gives = {"targets": [NODE], "relations": [RELATION], "total": int, "cut": int, "notices": [str]}
    return Tool(name, title, description, schema.closed(takes, ["target"]), gives, make_answer(ask))


_KINDS = {"kinds": schema.several("Only these kinds of edges", schema.choice("", ALL_KINDS), len(ALL_KINDS))}

REFS = _tool(
    "refs",
    "Where a symbol is used",
    "Every place that names a symbol or file, the surest first, each with its certainty: `resolved` by scopes, imports or types, "
    "`likely` where nothing else has the name, or `by name`. More exact than a text search.",
    GraphTopic.refs,
    {
        **_KINDS,
        "sure": schema.flag("Only places that are resolved"),
        "text": schema.flag("Also the name in comments, strings and documents"),
    },
)
CALLERS = _tool(
    "callers",
    "Who calls a function",
    "Who calls a function or method, as a tree of as many hops as `depth` says.",
    GraphTopic.callers,
    {"depth": DEPTH},
)
CALLEES = _tool(
    "callees",
    "What a function calls",
    "What a function or method calls, as a tree of as many hops as `depth` says.",
    GraphTopic.callees,
    {"depth": DEPTH},
)
IMPACT = _tool(
    "impact",
    "What a change may reach",
    "All that a change of a symbol or file may reach: callers, subclasses, overriding methods, importers, nearest first, tests "
    "last. Ask before you change a signature or behaviour, and to know which tests to run.",
    GraphTopic.impact,
    {"depth": DEPTH, **_KINDS},
)


RANGE = re.compile(r"(.+):(\d{1,9})-(\d{1,9})")
LONGEST_READ = 2000  # Characters of a line that is read: source has none so long, minified files do


def answer_read(call: ToolCall) -> ToolAnswer:
    """The lines of a symbol or file, as they were indexed."""
    target = call.arguments["target"]
    part = RANGE.fullmatch(target)
    source, unit, first = call.index.passage(target_in_index(part[1] if part else target, call.index.info()))
    total = len(source.lines)
    path = for_line(call.paths.of(source.file.root, source.file.path))
    if part:
        unit, first, last = None, int(part[2]), min(int(part[3]), total)
        if not 1 <= first <= last:
            raise UsageError(f"{path} has lines 1 to {total}, not {part[2]} to {part[3]}", "give `target` as PATH:1-50")
    else:
        last = unit.end_line if unit else total
    lines = [code_line(line, LONGEST_READ) for line in source.lines[first - 1 : last]]
    name = for_line(f"  {unit.kind} {unit.qualified_name}") if unit else ""
    is_old = source.freshness is not Freshness.FRESH
    old = [f"note: {source.freshness} since it was indexed; `fresh` waits for the update"] if is_old else []

    def answer_of(count: int) -> ToolAnswer:
        end = first + count - 1
        cut = len(lines) - count
        head = f"{path}:{first}-{end}{name} (the file has {total} lines)"
        body = [f"{number}| {line}" for number, line in enumerate(lines[:count], first)]
        footer = cut_line(cut, "lines", f"raise `budget`, or read {path}:{end + 1}-{last}")
        record = {"path": path, "first": first, "last": end, "total": total, "cut": cut}
        record |= {"text": "\n".join(lines[:count]), "freshness": str(source.freshness)}
        return ToolAnswer("\n".join([head, *body, *footer, *old]), record)

    return fit_budget(len(lines), answer_of, call)


READ = Tool(
    name="read",
    title="Read code",
    description="The body of a symbol, or lines of a file, with line numbers. Give the name of a function, method or class instead "
    "of reading a whole file; `search` and `refs` give the places.",
    takes=schema.closed(
        {
            "target": schema.text(
                "A symbol's name (Class.method, function), PATH:LINE for the symbol there, PATH:FIRST-LAST, or PATH",
                most=schema.LONGEST_PATH,
            ),
            "fresh": schema.FRESH,
            "budget": schema.budget(4000),
        },
        ["target"],
    ),
    gives={"path": str, "text": str, "freshness": str, "first": int, "last": int, "total": int, "cut": int},
    answer=answer_read,
)


def answer_outline(call: ToolCall) -> ToolAnswer:
    """The symbols of a file in the order of their places."""
    info = call.index.info()
    path = path_in_index(call.arguments["file"], info)
    names, below = split_repository(path, info)
    units = symbols_of([u for u in call.index.symbols(below) if u.repository in names])
    lines = [code_line(line) for line in outline_lines(units)]

    def answer_of(count: int) -> ToolAnswer:
        cut = len(units) - count
        footer = cut_line(cut, "symbols", "raise `budget`, or search with path:")
        record = {"path": path, "symbols": [_outline_record(u) for u in units[:count]], "cut": cut}
        return ToolAnswer("\n".join([path, *lines[:count], *footer]), record)

    return fit_budget(len(units), answer_of, call)


def _outline_record(unit: UnitRow) -> Record:
    place = {"line": unit.name_line or unit.start_line, "end_line": unit.end_line}
    signature = code_line(" ".join(unit.signature.split()))
    return {"name": unit.qualified_name, "kind": unit.kind, **place, "signature": signature}


SYMBOL = {"name": str, "kind": str, "line": int, "end_line": int, "signature": str}
SYMBOLS = Tool(
    name="symbols",
    title="Outline of a file",
    description="The outline of one file: its classes, functions and headings with their lines and signatures. Cheaper than "
    "reading the file.",
    takes=schema.closed(
        {
            "file": schema.text("Path relative to the root, as other tools tell it", most=schema.LONGEST_PATH),
            "fresh": schema.FRESH,
            "budget": schema.budget(3000),
        },
        ["file"],
    ),
    gives={"path": str, "symbols": [SYMBOL], "cut": int},
    answer=answer_outline,
)
