"""The answer of `why` as JSON with every operand of every score, and the check that computes the scores again from it.

`recompute` shares no code with the ranking, on purpose: it knows nine rules, exact summation and the order of the hits.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from codelens.model.request import SearchOptions
from codelens.model.search import Candidate, Contribution, Explanation, Loss, Trace, WhyResult
from codelens.render.families import families
from codelens.render.records import (
    SCHEMA,
    Record,
    candidate_record,
    fields_of,
    index_record,
    like_record,
    notice_record,
    place_record,
)
from codelens.render.why import option_flags

TOLERANCE = 1e-12
Parsed = Mapping[str, Any]  # An object as json.loads returns it

RULES: Mapping[str, Callable[[Mapping[str, float]], float]] = {
    "rrf": lambda o: o["weight"] / (o["k"] + o["rank"]),
    "share": lambda o: o["weight"] * o["share"] / (o["k"] + 1),
    "factor": lambda o: (o["factor"] - 1.0) * o["of"],
    "bonus": lambda o: o["weight"] * o["value"],
    "rrf_share": lambda o: o["weight"] * o["of_channel"] / (o["k"] + o["rank"]) / o["best"],
    "scaled": lambda o: o["weight"] * o["value"] / o["most"],
    "log_share": lambda o: o["weight"] * math.log1p(o["value"]) / math.log1p(o["most"]) if o["most"] else 0.0,
    "decay": lambda o: o["weight"] * math.exp(-o["rate"] * o["days"]),
    "inherit": lambda o: o["of"] * o["kept"] - o["had"],
}

ON_SUM: Mapping[str, str] = {"factor": "of", "inherit": "had"}
"""Rule → which of its operands is the sum of all contributions before."""


def why_record(why: WhyResult, exit_code: int, stats: bool = False) -> Record:
    """`stats` adds the seconds of each step, which differ from run to run."""
    search = why.search
    record: Record = {
        "schema": SCHEMA,
        "query": search.query,
        "explanations": [_explanation_record(e, search.trace) for e in why.explanations],
        "terms": [{"tier": tier, "term": term, "origin": origin} for tier, term, origin in search.trace.terms],
        "intent": _intent_record(search.trace),
        "channels": _channel_records(search.trace),
        "common": list(search.trace.common),
        "events": [{"stage": e.stage, "unit": place_record(e.unit), "text": e.text} for e in search.trace.events],
        "total": search.total,
        "options": _options_record(search.options),
        "weights_file": search.trace.weights or None,
        "notices": [notice_record(n) for n in search.notices],
        "index": index_record(search.index, {e.candidate.unit.repository for e in why.explanations if e.candidate}),
        "exit_code": exit_code,
    }
    record |= like_record(search.trace)
    return record | ({"stats": dict(search.trace.seconds)} if stats else {})


def _intent_record(trace: Trace) -> Record | None:
    return None if trace.intent is None else fields_of(trace.intent, "name reason shares")


def _explanation_record(explanation: Explanation, trace: Trace) -> Record:
    rank = explanation.rank
    return {
        "target": explanation.target,
        "rank": rank,
        "candidate": _candidate_record(explanation.candidate, rank, trace),
        "above": _candidate_record(explanation.above, rank - 1 if rank else None, trace),
        "below": _candidate_record(explanation.below, rank + 1 if rank else None, trace),
        "loss": _loss_record(explanation.loss),
    }


def _candidate_record(candidate: Candidate | None, rank: int | None, trace: Trace) -> Record | None:
    if candidate is None:
        return None
    record = candidate_record(candidate, rank)
    if (fused := trace.fused.get(candidate.unit.id)) is not None:
        record["fused"] = fused
    return record | {"families": families_record(candidate.contributions), "matches": matches_of(candidate, trace)}


def families_record(contributions: Sequence[Contribution]) -> list[Record]:
    """The families of a score, the largest amount first."""
    return [{"family": f.name} | fields_of(f, "amount share reasons") for f in families(contributions)]


def matches_of(candidate: Candidate, trace: Trace) -> dict[str, Record]:
    """Channel → what it found: its rank, its own score and its reason."""
    matches = {channel: (rank, trace.match(channel, rank)) for channel, rank in sorted(candidate.channels.items())}
    return {
        name: {"rank": rank} | fields_of(match, "raw_score reason") for name, (rank, match) in matches.items() if match
    }


def _loss_record(loss: Loss | None) -> Record | None:
    if loss is None:
        return None
    lost = fields_of(loss, "stage text remedy remedy_query")
    return lost | {"remedy_flags": [*option_flags(loss.remedy_options)] if loss.remedy_options else []}


def _channel_records(trace: Trace) -> list[Record]:
    return [
        {"name": name, "matches": len(matches), "cut": trace.cuts.get(name, 0)}
        for name, matches in sorted(trace.rankings.items())
    ]


def _options_record(options: SearchOptions) -> Record:
    names = "mode profile weights rrf_k fusion limit offset intent expand depth decay min_score sort reverse"
    return fields_of(options, names) | {"weights": dict(sorted(options.weights.items()))}


def recompute(why: Parsed) -> tuple[int, list[str]]:
    """(scores recomputed, differences found) of the object that `why --json` prints."""
    candidates, differences = _candidates(why)
    differences += [line for candidate in candidates for line in _candidate_differences(candidate)]
    if why["options"]["sort"] == "score" and not why["options"]["reverse"]:
        differences += _order_differences(candidates)
    return len(candidates), differences


def _candidates(why: Parsed) -> tuple[list[Parsed], list[str]]:
    """Each candidate once, by rank: targets and their neighbours; and a line for each that has two accounts."""
    found: dict[int, Parsed] = {}
    differences: list[str] = []
    for explanation in why["explanations"]:
        for key in ("candidate", "above", "below"):
            candidate = explanation[key]
            if candidate is None or candidate["rank"] is None:
                continue
            if found.setdefault(candidate["rank"], candidate) != candidate:
                differences.append(f"#{candidate['rank']} {candidate['qualified_name']} has two different accounts")
    return [found[rank] for rank in sorted(found)], differences


def _candidate_differences(candidate: Parsed) -> Iterator[str]:
    label = f"#{candidate['rank']} {candidate['qualified_name']}"
    before: list[float] = []
    for part in candidate["contributions"]:
        yield from (f"{label}: {fault}" for fault in _part_differences(part, before))
        before.append(part["amount"])
    if not _is_close(total := math.fsum(before), candidate["score"]):
        yield f"{label}: the contributions add up to {total!r}, the score is {candidate['score']!r}"
    if not _is_close(total := math.fsum(f["amount"] for f in candidate["families"]), candidate["score"]):
        yield f"{label}: the families add up to {total!r}, the score is {candidate['score']!r}"


def _part_differences(part: Parsed, before: Sequence[float]) -> Iterator[str]:
    rule = RULES.get(part["rule"])
    if rule is None:
        yield f"{part['source']} names no known rule: '{part['rule']}'"
        return
    try:
        amount = rule(part["operands"])
    except (KeyError, ZeroDivisionError) as fault:
        yield f"{part['source']}: operands do not fit rule '{part['rule']}': {fault!r}"
        return
    if not _is_close(amount, part["amount"]):
        yield f"{part['source']} computes to {amount!r}, was {part['amount']!r}"
    if (on := ON_SUM.get(part["rule"])) and not _is_close(so_far := math.fsum(before), part["operands"][on]):
        yield f"{part['source']} is computed on {part['operands'][on]!r}, the sum so far is {so_far!r}"


def _order_differences(candidates: Sequence[Parsed]) -> Iterator[str]:
    """Ranks must follow the total order: score, then content."""
    ordered = sorted(candidates, key=_sort_key)
    for listed, expected in zip(candidates, ordered, strict=True):
        if listed is not expected:
            yield f"#{listed['rank']} {listed['qualified_name']}: by its score {expected['qualified_name']} stands here"


def _sort_key(candidate: Parsed) -> tuple[float, str, str, int, str, str]:
    score = math.fsum(part["amount"] for part in candidate["contributions"])
    c = candidate
    return (-score, c["repository"], c["path"], c["start_byte"], c["kind"], c["qualified_name"])


def _is_close(a: float, b: float) -> bool:
    return abs(a - b) <= TOLERANCE
