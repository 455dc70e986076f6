"""Writes the answer of `why` as JSON with every operand of every score, and recomputes the scores from that JSON as a check.

`recompute_scores` shares no code with the ranking, on purpose. It implements nine rules, exact summation and the order of hits.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from codelens.model.search import Candidate, Event, Explanation, Trace, WhyResult
from codelens.render.records import (
    SCHEMA,
    Record,
    build_candidate_record,
    build_ending,
    build_like_record,
    encode_path,
    pick_fields,
)
from codelens.render.why import group_families, list_option_flags

TOLERANCE = 1e-12
Parsed = Mapping[str, Any]  # A JSON object as json.loads returns it

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
"""Rule → its operand that must equal the sum of all contributions before."""


def build_why_record(why: WhyResult, exit_code: int, stats: bool = False) -> Record:
    """Build the object of `why --json`. `stats` adds the seconds of each step, which differ from run to run."""
    search, trace = why.search, why.search.trace
    names = "mode profile weights rrf_k fusion limit offset intent expand depth decay min_score sort reverse"
    record: Record = {
        "schema": SCHEMA,
        "query": search.query,
        "explanations": [_build_explanation_record(e, trace) for e in why.explanations],
        "terms": [{"tier": tier, "term": term, "origin": origin} for tier, term, origin in trace.terms],
        "intent": trace.intent and pick_fields(trace.intent, "name reason shares"),
        "channels": [
            {"name": name, "matches": len(matches), "cut": trace.cuts.get(name, 0)}
            for name, matches in sorted(trace.rankings.items())
        ],
        "common": list(trace.common),
        "events": [_build_event_record(event) for event in trace.events],
        "total": search.total,
        "options": pick_fields(search.options, names) | {"weights": dict(sorted(search.options.weights.items()))},
        "weights_file": trace.weights or None,
        **build_ending(search, exit_code, {e.candidate.unit.repository for e in why.explanations if e.candidate}),
    }
    return record | build_like_record(trace) | ({"stats": dict(trace.seconds)} if stats else {})


def _build_event_record(event: Event) -> Record:
    unit = event.unit
    place = {"start_byte": unit.span.start, "qualified_name": unit.qualified_name} | encode_path(unit.path)
    return {"stage": event.stage, "unit": pick_fields(unit, "repository path") | place, "text": event.text}


def _build_explanation_record(explanation: Explanation, trace: Trace) -> Record:
    rank, lost = explanation.rank, None
    if loss := explanation.loss:
        flags = [*list_option_flags(loss.remedy_options)] if loss.remedy_options else []
        lost = pick_fields(loss, "stage text remedy remedy_query") | {"remedy_flags": flags}
    return {
        "target": explanation.target,
        "rank": rank,
        "candidate": _build_candidate_record(explanation.candidate, rank, trace),
        "above": _build_candidate_record(explanation.above, rank - 1 if rank else None, trace),
        "below": _build_candidate_record(explanation.below, rank + 1 if rank else None, trace),
        "loss": lost,
    }


def _build_candidate_record(candidate: Candidate | None, rank: int | None, trace: Trace) -> Record | None:
    if candidate is None:
        return None
    record = build_candidate_record(candidate, rank)
    if (fused := trace.fused.get(candidate.unit.id)) is not None:
        record["fused"] = fused
    families = group_families(candidate.contributions)
    record["families"] = [{"family": f.name} | pick_fields(f, "amount share reasons") for f in families]
    record["matches"] = {}  # channel → what it found: its rank, its own score and its reason
    for name, place in sorted(candidate.channels.items()):
        if match := trace.find_match(name, place):
            record["matches"][name] = {"rank": place} | pick_fields(match, "raw_score reason")
    return record


def recompute_scores(why: Parsed) -> tuple[int, list[str]]:
    """Recompute the scores in an object of `why --json`; returns (number of scores, differences found)."""
    by_rank: dict[int, Parsed] = {}  # the targets and the hits next to them
    differences: list[str] = []
    for explanation in why["explanations"]:
        for candidate in (explanation["candidate"], explanation["above"], explanation["below"]):
            if candidate is None or candidate["rank"] is None:
                continue
            if by_rank.setdefault(candidate["rank"], candidate) != candidate:
                differences.append(f"#{candidate['rank']} {candidate['qualified_name']} has two different accounts")
    candidates = [by_rank[rank] for rank in sorted(by_rank)]
    differences += [line for candidate in candidates for line in _find_candidate_differences(candidate)]
    if why["options"]["sort"] == "score" and not why["options"]["reverse"]:
        for listed, expected in zip(candidates, sorted(candidates, key=_make_sort_key), strict=True):
            if listed is not expected:
                place = f"#{listed['rank']} {listed['qualified_name']}"
                differences.append(f"{place}: by its score {expected['qualified_name']} stands here")
    return len(candidates), differences


def _find_candidate_differences(candidate: Parsed) -> Iterator[str]:
    label = f"#{candidate['rank']} {candidate['qualified_name']}"
    before: list[float] = []
    for part in candidate["contributions"]:
        yield from (f"{label}: {fault}" for fault in _find_part_differences(part, before))
        before.append(part["amount"])
    if not _is_close(total := math.fsum(before), candidate["score"]):
        yield f"{label}: the contributions add up to {total!r}, the score is {candidate['score']!r}"
    if not _is_close(total := math.fsum(f["amount"] for f in candidate["families"]), candidate["score"]):
        yield f"{label}: the families add up to {total!r}, the score is {candidate['score']!r}"


def _find_part_differences(part: Parsed, before: Sequence[float]) -> Iterator[str]:
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


def _make_sort_key(candidate: Parsed) -> tuple[float, str, str, int, str, str]:
    """Make the key that sorts hits: by score, then by content."""
    score = math.fsum(part["amount"] for part in candidate["contributions"])
    c = candidate
    return (-score, c["repository"], c["path"], c["start_byte"], c["kind"], c["qualified_name"])


def _is_close(a: float, b: float) -> bool:
    return abs(a - b) <= TOLERANCE
