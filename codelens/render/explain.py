"""The answer of `why` → an object that holds every operand of every score, so that another program can check it."""

from __future__ import annotations

from codelens.explained import Explanation, Loss, WhyResult
from codelens.model import Candidate, SearchOptions, Trace
from codelens.render.records import (
    SCHEMA,
    Record,
    candidate_record,
    index_record,
    like_record,
    notice_record,
    place_record,
)


def why_record(why: WhyResult, exit_code: int, stats: bool = False) -> Record:
    """`stats` adds the seconds of each channel, which differ from run to run."""
    search = why.search
    record: Record = {
        "schema": SCHEMA,
        "query": search.query,
        "explanations": [_explanation(e, search.trace) for e in why.explanations],
        "terms": [{"tier": tier, "term": term, "origin": origin} for tier, term, origin in search.trace.terms],
        "intent": _intent(search.trace),
        "channels": _channels(search.trace),
        "common": list(search.trace.common),
        "events": [{"stage": e.stage, "unit": place_record(e.unit), "text": e.text} for e in search.trace.events],
        "total": search.total,
        "options": _options(search.options),
        "weights_file": search.trace.weights or None,
        "notices": [notice_record(n) for n in search.notices],
        "index": index_record(search.index),
        "exit_code": exit_code,
    }
    record |= like_record(search.trace)
    return record | ({"stats": dict(search.trace.seconds)} if stats else {})


def _intent(trace: Trace) -> Record | None:
    intent = trace.intent
    return None if intent is None else {"name": intent.name, "reason": intent.reason, "shares": dict(intent.shares)}


def _explanation(explanation: Explanation, trace: Trace) -> Record:
    rank = explanation.rank
    return {
        "target": explanation.target,
        "rank": rank,
        "candidate": _candidate(explanation.candidate, rank, trace),
        "above": _candidate(explanation.above, rank - 1 if rank else None, trace),
        "below": _candidate(explanation.below, rank + 1 if rank else None, trace),
        "loss": _loss(explanation.loss),
    }


def _candidate(candidate: Candidate | None, rank: int | None, trace: Trace) -> Record | None:
    if candidate is None:
        return None
    return candidate_record(candidate, rank) | {"matches": matches_of(candidate, trace)}


def matches_of(candidate: Candidate, trace: Trace) -> dict[str, Record]:
    """Channel → what it found: its rank, its own score and its reason."""
    found: dict[str, Record] = {}
    for channel, rank in sorted(candidate.channels.items()):
        ranking = trace.rankings.get(channel, ())
        if rank <= len(ranking):
            match = ranking[rank - 1]
            found[channel] = {"rank": rank, "raw_score": match.raw_score, "reason": match.reason}
    return found


def _loss(loss: Loss | None) -> Record | None:
    if loss is None:
        return None
    return {"stage": loss.stage, "text": loss.text, "remedy": loss.remedy, "remedy_query": loss.remedy_query}


def _channels(trace: Trace) -> list[Record]:
    return [
        {"name": name, "matches": len(matches), "cut": trace.cuts.get(name, 0)}
        for name, matches in sorted(trace.rankings.items())
    ]


def _options(options: SearchOptions) -> Record:
    return {
        "mode": options.mode,
        "profile": options.profile,
        "weights": dict(sorted(options.weights.items())),
        "rrf_k": options.rrf_k,
        "fusion": options.fusion,
        "limit": options.limit,
        "offset": options.offset,
        "intent": options.intent,
        "expand": options.expand,
        "depth": options.depth,
        "decay": options.decay,
        "min_score": options.min_score,
        "sort": options.sort,
        "reverse": options.reverse,
    }
