"""A unit's place in the graph → a score: knowing's base mode, as contributions whose sum it is.

blast radius × .40 + confidence × .25 + recency × .20 + distance × .15, tests × .3 where nobody asked for them.
"""

from __future__ import annotations

from codelens.model import Candidate, Contribution, UnitRow
from codelens.search.runtime import Running

BLAST_RADIUS, CONFIDENCE, RECENCY, DISTANCE = 0.40, 0.25, 0.20, 0.15
"""knowing's weights without HITS."""
STATIC_RECENCY = 0.3
"""knowing's for what no run-time trace has seen."""
TEST_FACTOR = 0.3
"""knowing's, for tests that were found and not named."""


def composite(
    unit: UnitRow, blast: float, reason: str, confidence: float, hops: int, running: Running | None = None
) -> Candidate:
    """The candidate with its reasons. `blast` is 0 to 1, a share of the largest; `hops` counts edges from what was asked for.

    `running` is what traces saw of it.
    """
    sure, recent = (confidence, f"its surest edge has {confidence:g}"), (STATIC_RECENCY, "no trace has seen it run")
    if running:
        sure, recent = max(sure, running.confidence, key=lambda known: known[0]), running.recency
    parts = [
        _part("blast_radius", BLAST_RADIUS, blast, reason),
        _part("confidence", CONFIDENCE, *sure),
        _part("recency", RECENCY, *recent),
        _part("distance", DISTANCE, 1.0 / (1 + hops), f"{hops} edges away"),
    ]
    made = Candidate(unit, told=parts)
    if hops and "test" in unit.roles:
        operands = {"factor": TEST_FACTOR, "of": made.score}
        amount = (TEST_FACTOR - 1.0) * operands["of"]
        made.told.append(Contribution("test", amount, "test path", "factor", operands))
    return made


def _part(source: str, weight: float, value: float, reason: str) -> Contribution:
    return Contribution(source, weight * value, reason, "bonus", {"weight": weight, "value": value})
