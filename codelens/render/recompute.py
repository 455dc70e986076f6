"""`why --check`: every score of an explanation computed again from its JSON alone.

It shares no code with the ranking, on purpose: it knows nine rules, exact summation and the order of the hits.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

TOLERANCE = 1e-12

Record = Mapping[str, Any]

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


def recompute(why: Record) -> tuple[int, list[str]]:
    """(scores recomputed, differences found) of the object that `why --json` prints."""
    shown, differences = _candidates(why)
    differences += [line for candidate in shown for line in _differences(candidate)]
    if why["options"]["sort"] == "score" and not why["options"]["reverse"]:
        differences += _order_differences(shown)
    return len(shown), differences


def _candidates(why: Record) -> tuple[list[Record], list[str]]:
    """Each candidate once, by rank: targets and their neighbours; and a line for each that is told in two ways."""
    found: dict[int, Record] = {}
    differences: list[str] = []
    for explanation in why["explanations"]:
        for key in ("candidate", "above", "below"):
            candidate = explanation[key]
            if candidate is None or candidate["rank"] is None:
                continue
            if found.setdefault(candidate["rank"], candidate) != candidate:
                differences.append(f"#{candidate['rank']} {candidate['qualified_name']} is told in two ways")
    return [found[rank] for rank in sorted(found)], differences


def _differences(candidate: Record) -> Iterator[str]:
    label = f"#{candidate['rank']} {candidate['qualified_name']}"
    before: list[float] = []
    for part in candidate["contributions"]:
        yield from (f"{label}: {fault}" for fault in _part_differences(part, before))
        before.append(part["amount"])
    if not _equal(total := math.fsum(before), candidate["score"]):
        yield f"{label}: the contributions add up to {total!r}, the score is {candidate['score']!r}"


def _part_differences(part: Record, before: Sequence[float]) -> Iterator[str]:
    rule = RULES.get(part["rule"])
    if rule is None:
        yield f"{part['source']} names no known rule: '{part['rule']}'"
        return
    try:
        amount = rule(part["operands"])
    except (KeyError, ZeroDivisionError) as fault:
        yield f"{part['source']}: operands do not fit rule '{part['rule']}': {fault!r}"
        return
    if not _equal(amount, part["amount"]):
        yield f"{part['source']} computes to {amount!r}, was {part['amount']!r}"
    if (on := ON_SUM.get(part["rule"])) and not _equal(so_far := math.fsum(before), part["operands"][on]):
        yield f"{part['source']} is reckoned on {part['operands'][on]!r}, the sum so far is {so_far!r}"


def _order_differences(shown: Sequence[Record]) -> Iterator[str]:
    """Ranks must follow the total order: score, then content."""
    ordered = sorted(shown, key=_order)
    for listed, expected in zip(shown, ordered, strict=True):
        if listed is not expected:
            yield f"#{listed['rank']} {listed['qualified_name']}: by its score {expected['qualified_name']} stands here"


def _order(candidate: Record) -> tuple[float, str, str, int, str, str]:
    score = math.fsum(part["amount"] for part in candidate["contributions"])
    c = candidate
    return (-score, c["repository"], c["path"], c["start_byte"], c["kind"], c["qualified_name"])


def _equal(a: float, b: float) -> bool:
    return abs(a - b) <= TOLERANCE
