"""search, files: a query → hits with their place and the lines that say most; of files with what they define."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from codelens.model import Freshness, Hit
from codelens.render.visible import for_line
from codelens.server.mcp.asked import FRESH, MODE, NARROW, QUERY, budget, remember, search_options
from codelens.server.mcp.fit import code_line, cut_line, fitted, notices_told
from codelens.server.mcp.schema import INTEGER, NUMBER, STRING, choice, closed, rows, several, text, whole
from codelens.server.mcp.tool import Answer, Asked, Record, Tool

HIT = closed(
    {
        "rank": INTEGER,
        "path": STRING,
        "line": INTEGER,
        "start_line": INTEGER,
        "end_line": INTEGER,
        "kind": STRING,
        "name": STRING,
        "language": STRING,
        "score": NUMBER,
        "freshness": STRING,
        "lines": rows(closed({"line": INTEGER, "text": STRING})),
    }
)


def units(asked: Asked) -> Answer:
    """As many of the asked-for hits as the budget holds."""
    around = asked.arguments["context"]
    return _answer(asked, context_before=around, context_after=around, kinds=tuple(asked.arguments.get("kinds", ())))


def files(asked: Asked) -> Answer:
    """The same of files."""
    return _answer(asked, files_only=True)


def _answer(asked: Asked, **more: Any) -> Answer:
    given = asked.arguments
    info = asked.index.info()
    options = search_options(
        given,
        info,
        asked.served.settings,
        limit=given["limit"],
        offset=given["offset"],
        **more,
    )
    result = asked.index.search(given["query"], options)
    notices = [n.text for n in result.notices]
    if old := sum(hit.freshness is not Freshness.FRESH for hit in result.hits):
        notices.append(f"{old} hits are of files that changed since they were indexed; `fresh` waits for the update")
    notices += remember(asked, given["query"], [(hit.rank, hit.unit, hit.line) for hit in result.hits])
    told = notices_told(notices)

    def made(count: int) -> Answer:
        hits = result.hits[:count]
        cut = len(result.hits) - count
        head = f"{len(hits)} of {result.total} results"
        remedy = f"raise `budget`, narrow the query, or go on with offset {given['offset'] + count}"
        blocks = [line for hit in hits for line in _lines(hit, asked)]
        said = [*cut_line(cut, "results", remedy), *(f"note: {notice}" for notice in told)]
        record = {
            "results": [_record(hit, asked) for hit in hits],
            "total": result.total,
            "cut": cut,
            "notices": told,
            "snapshot": info.snapshot,
        }
        return Answer("\n".join([head, *blocks, *said]), record)

    return fitted(len(result.hits), made, given["budget"])


def _lines(hit: Hit, asked: Asked) -> Iterator[str]:
    unit = hit.unit
    old = "" if hit.freshness is Freshness.FRESH else f"  [{hit.freshness} since it was indexed]"
    place = f"{asked.paths.of_hit(hit)}:{hit.line}"
    yield for_line(f"{hit.rank}. {place}  {unit.kind} {unit.qualified_name} ({unit.start_line}-{unit.end_line}){old}")
    yield from (f"{line.number:>6}| {code_line(line.text)}" for line in hit.snippet)


def _record(hit: Hit, asked: Asked) -> Record:
    unit = hit.unit
    return {
        "rank": hit.rank,
        "path": for_line(asked.paths.of_hit(hit)),
        "line": hit.line,
        "start_line": unit.start_line,
        "end_line": unit.end_line,
        "kind": unit.kind,
        "name": unit.qualified_name,
        "language": unit.language,
        "score": round(hit.score, 6),
        "freshness": str(hit.freshness),
        "lines": [{"line": line.number, "text": code_line(line.text)} for line in hit.snippet],
    }


FOUND = closed({"results": rows(HIT), "total": INTEGER, "cut": INTEGER, "notices": rows(STRING), "snapshot": STRING})
SEARCH = Tool(
    name="search",
    title="Search the code",
    description="Find code by name, words or meaning: functions, classes, sections of documents, each with its place and the "
    "lines that say most. Start here when you do not know where something is. For all that one task needs, with "
    "whole bodies, `context` saves calls; for who uses a symbol, `refs` and `callers` are exact.",
    takes=closed(
        {
            "query": QUERY,
            "limit": whole("Most results", 1, 100, 10),
            "offset": whole("Leave the first ones out", 0, 10_000, 0),
            "kinds": several("Only these kinds: function, class, method, doc (documents) …", text(most=40)),
            **NARROW,
            "mode": MODE,
            "context": whole("Lines before and after the place, instead of those that say most", 0, 30, 0),
            "fresh": FRESH,
            "budget": budget(3000),
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
    takes=closed(
        {
            "query": QUERY,
            "limit": whole("Most files", 1, 100, 10),
            "offset": whole("Leave the first ones out", 0, 10_000, 0),
            **NARROW,
            "mode": choice("Which channels take part; hybrid is all", ("hybrid", "keyword", "vector")),
            "fresh": FRESH,
            "budget": budget(2000),
        },
        ["query"],
    ),
    gives=FOUND,
    answer=files,
)
