"""Estimates the probability that a hit is what the query asks for; its score only orders the candidates of one query.

The weights come from a logistic regression (tools/weights/confidence.py) on synthetic tasks, some of them queries without any
word of the repository. Hits below the floor are dropped, because corrections and nearest vectors find something for any query.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

from codelens.model.code import UnitRow
from codelens.model.search import Candidate
from codelens.text.identifiers import fold_identifier

if TYPE_CHECKING:
    from codelens.search.evidence import Evidence

BIAS, FLOOR = "bias", "floor"  # Rows of `[codelens.confidence]` that are not signs
LEAST_RELATED = 0.5
"""Least share of the query's words that a unit must contain to be a hit by related words; these count in part."""
SIGNS = ("words", "named", "part", "resemblance", "verbatim", "instead")


def measure_signs(unit: UnitRow, e: Evidence) -> dict[str, float]:
    """Measure the signs that a unit is what the query asks for, which the regression adds up: name → value, 0 to 1.

    The values do not depend on the other candidates.
    """
    folded = fold_identifier(unit.name)
    find = e.verbatim.get(unit.id)
    part = max((len(p) for p in e.parts if p in folded), default=0)
    is_related = e.related.get(unit.id, 0.0) > 0.0 and e.said[unit.id] >= LEAST_RELATED
    return {
        "words": e.share_in_file[unit.document],
        "named": float(folded in e.names or folded == e.folded),
        "part": part / len(folded) if folded else 0.0,
        "resemblance": e.resemblance.get(unit.id, 0.0),
        "verbatim": min(1.0, 2 * find.value) if find else 0.0,
        "instead": float(unit.id in e.concepts or e.has_stand_in(unit.id) or is_related),
    }


def estimate_weakness(first: Candidate, e: Evidence, unit: float, weights: Mapping[str, float]) -> float:
    """Estimate the probability that no hit answers a query in prose, from the first hit's score and the best cosine.

    `unit` is the best score that ranks alone can give; the score is divided by it.
    """
    odds = weights[BIAS] + weights["score"] * first.score / unit + weights["nearness"] * e.best_cosine
    return 1.0 / (1.0 + math.exp(-odds))


def estimate_confidence(unit: UnitRow, e: Evidence, weights: Mapping[str, float]) -> float:
    """Estimate the probability, 0 to 1, that a unit is what the query asks for."""
    signs = measure_signs(unit, e).items()
    odds = math.fsum([weights[BIAS], *(weights.get(name, 0.0) * value for name, value in signs)])
    return 1.0 / (1.0 + math.exp(-odds))
