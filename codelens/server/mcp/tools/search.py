"""The tools search (hits with their best lines), files (files with their definitions), why (explains the results of a search)
and context (the code that a task, files or a change needs, in one answer)."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from codelens.config import load_weights
from codelens.context.counters import CHARS_PER_TOKEN
from codelens.context.parts import LONGEST_TOKEN, resume_request
from codelens.errors import TargetError, UsageError
from codelens.model.code import Freshness
from codelens.model.context import CHANGE, EVERYTHING, FILES, TASK, ContextRequest, Counter, Forms
from codelens.model.request import SearchOptions
from codelens.model.search import Explanation, Hit, Loss, WhyResult
from codelens.render.context import make_layout
from codelens.render.paths import PathStyle
from codelens.render.records import pick_fields
from codelens.render.visible import escape_text
from codelens.render.why import WhyView, format_loss, format_position, format_title, group_families, list_account_rows
from codelens.server.mcp import schema
from codelens.server.mcp.schema import parse_fields
from codelens.server.mcp.tool import Record, Tool, ToolAnswer, ToolCall, describe_stale, format_code_line, format_footer
from codelens.text.counts import quantity

MOST_SHOWN = 10  # Most hits of a search without `limit`. Agents read fewer than people.


def answer_search(call: ToolCall) -> ToolAnswer:
    """Search for units, or for files if that is the tool; answer with as many hits as fit the budget."""
    given, profile = call.arguments, call.arguments.get("profile", call.served.settings.profile)
    limit = given.get("limit") or int(load_weights()[profile].get("results", MOST_SHOWN))
    shape: dict[str, Any] = {"files_only": True}
    if call.tool.name == "search":
        around = given["context"]
        shape = {"context_before": around, "context_after": around, "kinds": tuple(given.get("kinds", ()))}
    options = call.make_search_options(limit=limit, offset=given["offset"], reasons=False, **shape)
    result = call.index.search(given["query"], options)
    notices = [n.text for n in result.notices]
    notices += describe_stale(sum(hit.freshness is not Freshness.FRESH for hit in result.hits), "hit")
    notices += call.record_answer(given["query"], [(hit.rank, hit.unit, hit.line) for hit in result.hits])
    note_texts = call.format_notices(notices)

    def make_answer(hits: Sequence[Hit], cut: int) -> ToolAnswer:
        head = f"{len(hits)} of {quantity(result.total, 'result')}"
        remedy = f"raise `budget`, narrow the query, or go on with offset {given['offset'] + len(hits)}"
        blocks = [line for hit in hits for line in _format_hit(hit, call)]
        record = {"results": [_build_hit_record(hit, call) for hit in hits], "total": result.total, "cut": cut}
        record |= {"notices": note_texts, "snapshot": call.info.snapshot}
        return ToolAnswer("\n".join([head, *blocks, *format_footer(cut, "results", remedy, note_texts)]), record)

    return call.fit_budget(result.hits, make_answer)


def _format_hit(hit: Hit, call: ToolCall) -> Iterator[str]:
    unit = hit.unit
    old = "" if hit.freshness is Freshness.FRESH else f"  [{hit.freshness} since it was indexed]"
    place, name = f"{call.paths.format_hit_path(hit)}:{hit.line}", f"{unit.kind} {unit.qualified_name}"
    yield escape_text(f"{hit.rank}. {place}  {name} ({unit.start_line}-{unit.end_line}){old}")
    yield from (f"{line.number:>6}| {format_code_line(line.text)}" for line in hit.snippet)


def _build_hit_record(hit: Hit, call: ToolCall) -> Record:
    unit = hit.unit
    record: Record = {"rank": hit.rank, "path": escape_text(call.paths.format_hit_path(hit)), "line": hit.line}
    record |= pick_fields(unit, "start_line end_line kind") | {"name": unit.qualified_name, "language": unit.language}
    lines = [{"line": line.number, "text": format_code_line(line.text)} for line in hit.snippet]
    return record | {"score": round(hit.score, 6), "freshness": str(hit.freshness), "lines": lines}


HIT = parse_fields("rank:int path line:int start_line:int end_line:int kind name language score:float freshness")
HIT["lines"] = [parse_fields("line:int text")]
FOUND = {"results": [HIT]} | parse_fields("total:int cut:int notices:texts snapshot")
SEARCH = Tool(
    "search",
    "Search the code",
    "Find code by name, words or meaning: functions, classes, sections of documents, each with its place and the "
    "lines that say most. Start here when you do not know where something is. For all that one task needs, with "
    "whole bodies, `context` saves calls; for the uses of a symbol, `refs` is exact.",
    takes={
        "query": schema.QUERY,
        "limit": schema.integer("Most results; left out, 10, or as many as the profile shows", 1, 100),
        "offset": schema.integer("Skip this many results", 0, 10_000, 0),
        "kinds": schema.make_option_schema("kinds"),
        **schema.NARROW,
        **schema.RANKED,
        "context": schema.integer("Lines before and after the place, instead of those that say most", 0, 30, 0),
        **schema.make_common_arguments(3000),
    },
    gives=FOUND,
    answer=answer_search,
    required=("query",),
)
FILE_SEARCH = Tool(
    "files",
    "Search for files",
    "Find files: by name and path, by what they define and import, and by meaning. Ask when you want whole files to "
    "read or to change; `search` finds the places within them.",
    takes={
        "query": schema.QUERY,
        "limit": schema.integer("Most files", 1, 100, 10),
        "offset": schema.integer("Skip this many files", 0, 10_000, 0),
        **schema.NARROW,
        "mode": schema.choice("Which channels take part; hybrid is all", ("hybrid", "keyword", "vector")),
        "profile": schema.RANKED["profile"],
        "min_score": schema.RANKED["min_score"],
        **schema.make_common_arguments(2000),
    },
    gives=FOUND,
    answer=answer_search,
    required=("query",),
)


def answer_why(call: ToolCall) -> ToolAnswer:
    """Explain the rank of each target. Accounts that do not fit the budget are left out as a whole."""
    given = call.arguments
    options = call.make_search_options(limit=given["limit"])
    targets = [call.resolve_target(target) for target in given.get("targets", ())]
    result = call.index.why(given["query"], targets, options)
    note_texts = call.format_notices([n.text for n in result.search.notices])

    def make_answer(accounts: Sequence[Explanation], cut: int) -> ToolAnswer:
        lines = [line for account in accounts for line in _format_account(account, result, call)]
        lines += format_footer(cut, "accounts", "raise `budget`, or ask about fewer", note_texts)
        record: Record = {"explanations": [_build_account_record(account, call.paths) for account in accounts]}
        record["intent"] = result.search.trace.intent.name if result.search.trace.intent else ""
        record |= {"total": result.search.total, "cut": cut, "notices": note_texts}
        return ToolAnswer("\n".join(lines) or "no results, so there is nothing to explain", record)

    return call.fit_budget(result.explanations, make_answer)


def _format_account(account: Explanation, result: WhyResult, call: ToolCall) -> Iterator[str]:
    view = WhyView(call.paths)
    if (candidate := account.candidate) is None:
        yield escape_text(f"{account.target}: not among the results")
    else:
        yield format_title(candidate, account.rank, call.paths)
        rows = list_account_rows(candidate, view)
        yield from (f"  {row.label} {row.figures}: {format_code_line(row.reason)}" for row in rows)
        yield f"  score {candidate.score:.4f}"
        yield from (f"  {format_code_line(line)}" for line in format_position(account, result.search.trace, view))
    for line in format_loss(account, result.search.options, view):
        if line.startswith("try: ") and account.loss:
            line = f"try: `search` with the query {account.loss.remedy_query}"
        else:
            line = SEARCH.reword_message(line)
        yield f"  {format_code_line(line)}"


def _build_account_record(account: Explanation, paths: PathStyle) -> Record:
    candidate, loss = account.candidate, account.loss or Loss("", "", "")
    contributions = candidate.contributions if candidate else []
    return {
        "target": account.target,
        "rank": account.rank or 0,
        "name": candidate.unit.qualified_name if candidate else "",
        "place": escape_text(paths.format_unit_place(candidate.unit)) if candidate else "",
        "score": round(candidate.score, 6) if candidate else 0.0,
        "families": [
            {"family": f.name, "share": round(f.share, 3), "reasons": list(map(format_code_line, f.reasons))}
            for f in group_families(contributions)
        ],
        "contributions": [
            {"source": c.source, "amount": round(c.amount, 6), "reason": format_code_line(c.reason)}
            for c in contributions
        ],
        "lost_at": loss.stage,
        "because": format_code_line(loss.text),
        "remedy": format_code_line(loss.remedy),
        "remedy_query": format_code_line(loss.remedy_query),
    }


ACCOUNT = {
    **parse_fields("target rank:int name place score:float"),
    "families": [parse_fields("family share:float reasons:texts")],
    "contributions": [parse_fields("source amount:float reason")],
    **parse_fields("lost_at because remedy remedy_query"),
}
WHY = Tool(
    "why",
    "Why a result has its rank",
    "Account for a search: what the score of each target is made of; for something that was not found, which stage "
    "lost it and the query that brings it in. Ask when a search misses what you know is there.",
    takes={
        "query": schema.QUERY,
        "targets": schema.several("What is asked about; left out, the first results are", schema.TARGET, 5),
        "limit": schema.integer("Results of the search that is accounted for", 1, 100, 5),
        **schema.NARROW,
        **schema.RANKED,
        **schema.make_common_arguments(3000, fresh=False),
    },
    gives={"explanations": [ACCOUNT]} | parse_fields("intent total:int cut:int notices:texts"),
    answer=answer_why,
    required=("query",),
)


SOURCES = ("task", "files", "revisions", "diff", "more")
FRAME = 150  # Tokens reserved for the rest of the answer: numbers, and one or two notices
LONGEST_DIFF = 200_000  # Most characters of a diff. Diffs that people review are shorter.


def answer_context(call: ToolCall) -> ToolAnswer:
    """Pack code within the budget. Tokens are counted in the JSON that is sent, where a line break takes two characters."""
    layout = make_layout("markdown", call.paths, "context with more: {}")
    packed = call.index.context(_make_context_request(call, call.arguments["budget"] - FRAME), layout)
    places = [(rank, unit, unit.name_line or unit.start_line) for rank, unit in enumerate(packed.units, start=1)]
    notices = call.record_answer(call.arguments.get("task", ""), places)
    note_texts = call.format_notices([*(n.text for n in packed.notices), *notices])

    def make_answer(shown: Sequence[str], cut: int) -> ToolAnswer:
        record = pick_fields(packed, "symbols total") | {"changed": list(shown), "notices": note_texts}
        files = f"{', '.join(map(escape_text, shown))}{f' and {cut} more' if cut else ''}"
        changed = [f"changed since indexed: {files}; `fresh` waits for the update"] if packed.changed else []
        footer = "\n".join(f"note: {notice}" for notice in (*changed, *note_texts))
        return ToolAnswer(f"{packed.text}{footer}", {"pack": packed.text} | record)

    return call.fit_budget(packed.changed, make_answer)


def _make_context_request(call: ToolCall, room: int) -> ContextRequest:
    given = call.arguments
    sources = [source for source in SOURCES if source in given]
    if len(sources) != 1:
        what = "a pack is for one of task, files, revisions, diff and more"
        raise UsageError(what, "give exactly one of these arguments")
    counter = Counter("characters of JSON / 4", count_escaped)
    if sources == ["more"]:
        if set(given) & set(schema.NARROW):
            hint = "give the token alone, with a budget if you like"
            raise UsageError("`more` goes on with the filters of its pack", hint)
        return resume_request(given["more"], counter, room, str(call.served.folder))
    source = {"task": TASK, "files": FILES}.get(sources[0], CHANGE)
    where = call.resolve_scope()
    if source == FILES:
        places = [call.split_repository(call.resolve_path(path)) for path in given["files"]]
        if not all(below for _, below in places):
            raise TargetError("the root is a folder, not a file", hint="name files relative to the root")
        where |= {"paths": tuple(below for _, below in places)}
        where |= {"repositories": tuple(sorted({name for names, _ in places for name in names}))}
    options = SearchOptions(limit=EVERYTHING, **pick_fields(call.served.settings, "mode profile memory"), **where)
    diff = given["diff"].encode("utf-8", "replace") if "diff" in given else None
    cwd = call.info.repositories[0].root if call.info.repositories else str(call.served.folder)
    task: dict[str, Any] = {"query": given.get("task", ""), "diff": diff, "revisions": given.get("revisions", "")}
    return ContextRequest(source, counter, options, room, Forms(given["forms"]), cwd=cwd, **task)


def count_escaped(text: str) -> int:
    """Count the tokens of a text when it is escaped for JSON."""
    return -(-(len(json.dumps(text, ensure_ascii=False)) - 2) // CHARS_PER_TOKEN)


CONTEXT = Tool(
    "context",
    "Code for a task",
    "The code that a task, some files or a change is about, packed into a budget: bodies of the "
    "best symbols, signatures of the next, and a token for more. One call instead of a search and many reads.",
    takes={
        "task": schema.text("The task, in a sentence or more"),
        "files": schema.several("Files: their symbols, and who calls them", schema.text(most=schema.LONGEST_PATH), 50),
        "revisions": schema.text("BASE..HEAD: what lies between two commits, and what it touches", most=300),
        "diff": schema.text("A unified diff: what it changes, and what that touches", most=LONGEST_DIFF),
        "more": schema.text("The token at the end of a pack: its next part, in place of a task", most=LONGEST_TOKEN),
        "forms": schema.choice("Bodies, signatures, or bodies as far as they fit", [str(f) for f in Forms], "auto"),
        **schema.NARROW,
        **schema.make_common_arguments(8000),
    },
    gives=parse_fields("pack symbols:int total:int changed:texts notices:texts"),
    answer=answer_context,
)
