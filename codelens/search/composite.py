"""What the walk and the graph say of a unit → knowing's score: a sum of shares, each with its reason.

.35 blast radius + .20 confidence + .15 recency + .15 distance + what authority and hub add      with HITS
.40 blast radius + .25 confidence + .20 recency + .15 distance                                   without

and in both a little for a recent commit, where git's history is known: knowing names that part without its weight.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

from codelens.graph.hits import KNOWING, Adjustments, Hits, adjustment
from codelens.model import Candidate
from codelens.nouns import dataclass
from codelens.search.signals import add_bonus

if TYPE_CHECKING:
    from codelens.search.age import Aged
    from codelens.search.runtime import Running

STATIC = 0.3
"""Recency of what no run-time trace has seen; knowing's figure."""
UNCONFIRMED = 0.7
"""Confidence of what no edge leads to: found by syntax; knowing's figure."""
STEPS = 100
"""knowing keeps the walk's mass as a whole number from 0 to 100."""


@dataclass(frozen=True, slots=True)
class Composite:
    """A profile's weights of the parts, from weights.toml."""

    blast_radius: float
    confidence: float
    recency: float
    distance: float
    commits: float
    """Of how recent its file's last commit is, where a history is known."""
    hits: bool
    """Whether authority and hub take part."""


@dataclass(frozen=True, slots=True)
class Standing:
    """What is known of one candidate when its score is made."""

    share: float
    """Of the most mass that a candidate holds."""
    way: str
    confidence: float | None
    """Of the surest edge that leads to it; None if there is none."""
    seed: str
    """Why it is a seed; empty for what only the walk found."""
    running: Running | None = None
    """What traces saw of it; None for what none saw."""
    changed: Aged | None = None
    """How recent the last commit of its file is; None where no history says it."""


def add_composite(
    candidate: Candidate, standing: Standing, weights: Composite, hits: Hits, table: Adjustments = KNOWING
) -> None:
    """Write the parts of one candidate's score, in place."""
    radius = math.floor(standing.share * STEPS + 1e-9) / STEPS
    told = f"{radius:.0%} of the walk's most: {standing.way}"
    if (node := int(candidate.unit.id)) in hits.authority:
        told += f" (authority {hits.authority[node]:.3f}, hub {hits.hub[node]:.3f})"
    add_bonus(candidate, "blast_radius", weights.blast_radius, radius, told)
    sure, why_sure = UNCONFIRMED, "no edge leads to it"
    if standing.confidence is not None:
        sure, why_sure = standing.confidence, "of the surest edge to it"
    recent, why_recent = STATIC, "known from its text alone"
    if standing.running:
        recent, why_recent = standing.running.recency
        sure, why_sure = max((sure, why_sure), standing.running.confidence, key=lambda known: known[0])
    add_bonus(candidate, "confidence", weights.confidence, sure, why_sure)
    add_bonus(candidate, "recency", weights.recency, recent, why_recent)
    if standing.seed:
        add_bonus(candidate, "distance", weights.distance, 1.0, f"0 hops: {standing.seed}")
    else:
        add_bonus(candidate, "distance", weights.distance, 1 / 2, "1 hop: the walk found it")
    if standing.changed and weights.commits:
        add_bonus(candidate, "commits", weights.commits, *standing.changed)
    _add_adjustments(candidate, bool(standing.seed), hits, table)


def _add_adjustments(candidate: Candidate, is_seed: bool, hits: Hits, table: Adjustments = KNOWING) -> None:
    node = int(candidate.unit.id)
    authority, hub = hits.authority.get(node, 0.0), hits.hub.get(node, 0.0)
    for part in adjustment(authority, hub, is_seed, table):
        score = "hub" if part.name.endswith("hub") else "authority"
        source = part.name.replace(" ", "_")
        add_bonus(candidate, source, part.factor, part.score, f"{score} {part.score:.3f} among the walk's best")


def no_hits() -> Hits:
    """For a score without them."""
    nothing: Mapping[int, float] = {}
    return Hits(dict(nothing), dict(nothing))
