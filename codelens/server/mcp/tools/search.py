"""search, files: a query → hits with their place and the lines that say most; of files with what they define."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from codelens.config import load_weights
from codelens.model.code import Freshness
from codelens.model.search import Explanation, Hit, Loss, WhyResult
from codelens.render.families import families
from codelens.render.paths import PathStyle
from codelens.render.records import fields_of
from codelens.render.visible import for_line
from codelens.render.why import SAME_PLACE, WhyView, account_rows, format_title, loss_lines, position_lines
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
    remember,
    reword_for_client,
    search_options,
    target_in_index,
)
from codelens.text.counts import quantity

MOST_SHOWN = 10  # Hits of a search without `limit`. An agent reads fewer than a person.
HIT = {
    "rank": int,
    "path": str,
    "line": int,
    "start_line": int,
    "end_line": int,
    "kind": str,
    "name": str,
    "language": str,
    "score": float,
    "freshness": str,
    "lines": [{"line": int, "text": str}],
}


def units(call: ToolCall) -> ToolAnswer:
    """Answer with units: as many of the requested hits as the budget holds."""
    around = call.arguments["context"]
    return _answer(call, context_before=around, context_after=around, kinds=tuple(call.arguments.get("kinds", ())))


def files(call: ToolCall) -> ToolAnswer:
    """Answer with files."""
    return _answer(call, files_only=True)


def _answer(call: ToolCall, **more: Any) -> ToolAnswer:
    given = call.arguments
    info = call.index.info()
    options = search_options(
        given,
        info,
        call.served.settings,
        limit=given.get("limit") or _default_limit(given.get("profile", call.served.settings.profile)),
        offset=given["offset"],
        reasons=False,
        **more,
    )
    result = call.index.search(given["query"], options)
    notices = [n.text for n in result.notices]
    if old := sum(hit.freshness is not Freshness.FRESH for hit in result.hits):
        notices.append(
            f"{quantity(old, 'hit')} in files that changed since they were indexed; `fresh` waits for the update"
        )
    notices += remember(call, given["query"], [(hit.rank, hit.unit, hit.line) for hit in result.hits])
    note_texts = format_notices(notices, call.tool)

    def answer_of(count: int) -> ToolAnswer:
        hits = result.hits[:count]
        cut = len(result.hits) - count
        head = f"{len(hits)} of {quantity(result.total, 'result')}"
        remedy = f"raise `budget`, narrow the query, or go on with offset {given['offset'] + count}"
        blocks = [line for hit in hits for line in _lines(hit, call)]
        footer = [*cut_line(cut, "results", remedy), *(f"note: {notice}" for notice in note_texts)]
        record = {
            "results": [_record(hit, call) for hit in hits],
            "total": result.total,
            "cut": cut,
            "notices": note_texts,
            "snapshot": info.snapshot,
        }
        return ToolAnswer("\n".join([head, *blocks, *footer]), record)

    return fit_budget(len(result.hits), answer_of, call)


def _default_limit(profile: str) -> int:
    """The number of hits that a profile shows by itself, else MOST_SHOWN."""
    return int(load_weights()[profile].get("results", MOST_SHOWN))


def _lines(hit: Hit, call: ToolCall) -> Iterator[str]:
    unit = hit.unit
    old = "" if hit.freshness is Freshness.FRESH else f"  [{hit.freshness} since it was indexed]"
    place = f"{call.paths.of_hit(hit)}:{hit.line}"
    yield for_line(f"{hit.rank}. {place}  {unit.kind} {unit.qualified_name} ({unit.start_line}-{unit.end_line}){old}")
    yield from (f"{line.number:>6}| {code_line(line.text)}" for line in hit.snippet)


def _record(hit: Hit, call: ToolCall) -> Record:
    unit = hit.unit
    return {
        "rank": hit.rank,
        "path": for_line(call.paths.of_hit(hit)),
        "line": hit.line,
        **fields_of(unit, "start_line end_line kind"),
        "name": unit.qualified_name,
        "language": unit.language,
        "score": round(hit.score, 6),
        "freshness": str(hit.freshness),
        "lines": [{"line": line.number, "text": code_line(line.text)} for line in hit.snippet],
    }


FOUND = {"results": [HIT], "total": int, "cut": int, "notices": [str], "snapshot": str}
SEARCH = Tool(
    name="search",
    title="Search the code",
    description="Find code by name, words or meaning: functions, classes, sections of documents, each with its place and the "
    "lines that say most. Start here when you do not know where something is. For all that one task needs, with "
    "whole bodies, `context` saves calls; for the uses of a symbol, `refs` is exact.",
    takes=schema.closed(
        {
            "query": schema.QUERY,
            "limit": schema.integer("Most results; left out, 10, or as many as the profile shows", 1, 100),
            "offset": schema.integer("Skip this many results", 0, 10_000, 0),
            "kinds": schema.of_option("kinds"),
            **schema.NARROW,
            **schema.RANKED,
            "context": schema.integer("Lines before and after the place, instead of those that say most", 0, 30, 0),
            "fresh": schema.FRESH,
            "budget": schema.budget(3000),
        },
        ["query"],
    ),
    gives=FOUND,
    answer=units,
)
FILES = Tool(
    name="files",
    title="Search for files",
    description="Find files: by name and path, by what they define and import, and by meaning. Ask when you want whole files to "
    "read or to change; `search` finds the places within them.",
    takes=schema.closed(
        {
            "query": schema.QUERY,
            "limit": schema.integer("Most files", 1, 100, 10),
            "offset": schema.integer("Skip this many files", 0, 10_000, 0),
            **schema.NARROW,
            "mode": schema.choice("Which channels take part; hybrid is all", ("hybrid", "keyword", "vector")),
            "profile": schema.RANKED["profile"],
            "min_score": schema.RANKED["min_score"],
            "fresh": schema.FRESH,
            "budget": schema.budget(2000),
        },
        ["query"],
    ),
    gives=FOUND,
    answer=files,
)


def answer(call: ToolCall) -> ToolAnswer:
    """One account for each target; the budget cuts whole accounts, then none is left to cut."""
    given = call.arguments
    info = call.index.info()
    options = search_options(given, info, call.served.settings, limit=given["limit"])
    targets = [target_in_index(target, info) for target in given.get("targets", ())]
    result = call.index.why(given["query"], targets, options)
    note_texts = format_notices([n.text for n in result.search.notices], call.tool)
    accounts = result.explanations

    def answer_of(count: int) -> ToolAnswer:
        cut = len(accounts) - count
        lines = [line for account in accounts[:count] for line in _account_lines(account, result, call.paths)]
        footer = [*cut_line(cut, "accounts", "raise `budget`, or ask about fewer"), *(f"note: {n}" for n in note_texts)]
        record = {
            "explanations": [_account_record(account, call.paths) for account in accounts[:count]],
            "intent": result.search.trace.intent.name if result.search.trace.intent else "",
            "total": result.search.total,
            "cut": cut,
            "notices": note_texts,
        }
        return ToolAnswer("\n".join([*lines, *footer]) or "no results, so there is nothing to explain", record)

    return fit_budget(len(accounts), answer_of, call)


def _account_lines(account: Explanation, result: WhyResult, paths: PathStyle) -> list[str]:
    candidate = account.candidate
    lost = [f"  {code_line(line)}" for line in _loss_lines(account, result)]
    if candidate is None:
        return [for_line(f"{account.target}: not among the results"), *lost]
    view = WhyView(paths)
    return [
        format_title(candidate, account.rank, paths),
        *(f"  {row.label} {row.figures}: {code_line(row.reason)}" for row in account_rows(candidate, view)),
        f"  score {candidate.score:.4f}",
        *(f"  {code_line(line)}" for line in position_lines(account, result.search.trace, view)),
        *lost,
    ]


def _loss_lines(account: Explanation, result: WhyResult) -> Iterator[str]:
    for line in loss_lines(account, result.search.options, SAME_PLACE):
        if line.startswith("try: ") and account.loss:
            yield f"try: `search` with the query {account.loss.remedy_query}"
        else:
            yield reword_for_client(line, SEARCH)


def _account_record(account: Explanation, paths: PathStyle) -> Record:
    candidate, loss = account.candidate, account.loss or Loss("", "", "")
    contributions = candidate.contributions if candidate else []
    return {
        "target": account.target,
        "rank": account.rank or 0,
        "name": candidate.unit.qualified_name if candidate else "",
        "place": for_line(paths.of_unit(candidate.unit)) if candidate else "",
        "score": round(candidate.score, 6) if candidate else 0.0,
        "families": [
            {"family": f.name, "share": round(f.share, 3), "reasons": list(map(code_line, f.reasons))}
            for f in families(contributions)
        ],
        "contributions": [
            {"source": c.source, "amount": round(c.amount, 6), "reason": code_line(c.reason)} for c in contributions
        ],
        "lost_at": loss.stage,
        "because": code_line(loss.text),
        "remedy": code_line(loss.remedy),
        "remedy_query": code_line(loss.remedy_query),
    }


ACCOUNT = {
    "target": str,
    "rank": int,
    "name": str,
    "place": str,
    "score": float,
    "families": [{"family": str, "share": float, "reasons": [str]}],
    "contributions": [{"source": str, "amount": float, "reason": str}],
    "lost_at": str,
    "because": str,
    "remedy": str,
    "remedy_query": str,
}
WHY = Tool(
    name="why",
    title="Why a result has its rank",
    description="Account for a search: what the score of each target is made of; for something that was not found, which stage "
    "lost it and the query that brings it in. Ask when a search misses what you know is there.",
    takes=schema.closed(
        {
            "query": schema.QUERY,
            "targets": schema.several("What is asked about; left out, the first results are", schema.TARGET, 5),
            "limit": schema.integer("Results of the search that is accounted for", 1, 100, 5),
            **schema.NARROW,
            **schema.RANKED,
            "budget": schema.budget(3000),
        },
        ["query"],
    ),
    gives={"explanations": [ACCOUNT], "intent": str, "total": int, "cut": int, "notices": [str]},
    answer=answer,
)
