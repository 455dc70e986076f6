"""why: a query and targets → what each of their scores is made of, or which stage lost them."""

from __future__ import annotations

from codelens.explained import Explanation, WhyResult
from codelens.model import Candidate
from codelens.render.explain_text import HERE, Show, loss_lines, neighbour_lines, raw_scores, title
from codelens.render.visible import for_line
from codelens.server.mcp.asked import MODE, NARROW, QUERY, TARGET, budget, search_options, target_inside
from codelens.server.mcp.fit import code_line, cut_line, fitted, notices_told
from codelens.server.mcp.schema import INTEGER, NUMBER, STRING, closed, rows, several, whole
from codelens.server.mcp.tool import Answer, Asked, Record, Tool


def answer(asked: Asked) -> Answer:
    """One account for each target; the budget cuts whole accounts, then none is left to cut."""
    given = asked.arguments
    info = asked.index.info()
    options = search_options(given, info, asked.served.settings, limit=given["limit"])
    targets = [target_inside(target, info) for target in given.get("targets", ())]
    result = asked.index.why(given["query"], targets, options)
    told = notices_told([n.text for n in result.search.notices])
    accounts = result.explanations
    roots = {r.name: r.root for r in info.repositories}

    def place(candidate: Candidate) -> str:
        unit = candidate.unit
        return f"{asked.paths.of(roots.get(unit.repository, ''), unit.path)}:{unit.name_line or unit.start_line}"

    def made(count: int) -> Answer:
        cut = len(accounts) - count
        lines = [line for account in accounts[:count] for line in _lines(account, result, place)]
        said = [*cut_line(cut, "accounts", "raise `budget`, or ask about fewer"), *(f"note: {n}" for n in told)]
        record = {
            "explanations": [_record(account, place) for account in accounts[:count]],
            "intent": _intent(result),
            "total": result.search.total,
            "cut": cut,
            "notices": told,
        }
        return Answer("\n".join([*lines, *said]) or "nothing was found, so there is nothing to explain", record)

    return fitted(len(accounts), made, given["budget"])


def _intent(result: WhyResult) -> str:
    return result.search.trace.intent.name if result.search.trace.intent else ""


def _lines(account: Explanation, result: WhyResult, place: Show) -> list[str]:
    candidate = account.candidate
    lost = [f"  {code_line(line)}" for line in loss_lines(account, result.search.options, HERE)]
    if candidate is None:
        return [for_line(f"{account.target}: not among the results"), *lost]
    parts = [f"  {c.amount:+.6f}  {c.source}: {code_line(c.reason)}" for c in candidate.contributions]
    return [
        title(candidate, account.rank, place),
        *parts,
        f"  {candidate.score:.6f}  the sum",
        *(f"  {code_line(line)}" for line in (*raw_scores(candidate, result.search.trace), *neighbour_lines(account))),
        *lost,
    ]


def _record(account: Explanation, place: Show) -> Record:
    candidate, loss = account.candidate, account.loss
    return {
        "target": account.target,
        "rank": account.rank or 0,
        "name": candidate.unit.qualified_name if candidate else "",
        "place": for_line(place(candidate)) if candidate else "",
        "score": round(candidate.score, 6) if candidate else 0.0,
        "contributions": [
            {"source": c.source, "amount": round(c.amount, 6), "reason": code_line(c.reason)}
            for c in (candidate.contributions if candidate else ())
        ],
        "lost_at": loss.stage if loss else "",
        "because": code_line(loss.text) if loss else "",
        "remedy": code_line(loss.remedy) if loss else "",
        "remedy_query": code_line(loss.remedy_query) if loss else "",
    }


ACCOUNT = closed(
    {
        "target": STRING,
        "rank": INTEGER,
        "name": STRING,
        "place": STRING,
        "score": NUMBER,
        "contributions": rows(closed({"source": STRING, "amount": NUMBER, "reason": STRING})),
        "lost_at": STRING,
        "because": STRING,
        "remedy": STRING,
        "remedy_query": STRING,
    }
)
WHY = Tool(
    name="why",
    title="Why a result has its rank",
    description="Account for a search: what the score of each target is made of; for something that was not found, which stage "
    "lost it and the query that brings it in. Ask when a search misses what you know is there.",
    takes=closed(
        {
            "query": QUERY,
            "targets": several("What is asked about; left out, the first results are", TARGET, 5),
            "limit": whole("Results of the search that is accounted for", 1, 100, 5),
            **NARROW,
            "mode": MODE,
            "budget": budget(3000),
        },
        ["query"],
    ),
    gives=closed(
        {
            "explanations": rows(ACCOUNT),
            "intent": STRING,
            "total": INTEGER,
            "cut": INTEGER,
            "notices": rows(STRING),
        }
    ),
    answer=answer,
)
