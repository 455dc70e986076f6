"""Two ranked lists → the marketplace's score: .50 of the fused ranks, and six signals of quality, each a contribution.

.15 rating / 10 + .10 ln(1 + stars) / ln(1 + most) + .08 the same of uses + .07 success + .05 exp(-.005 days) + .05 if pinned

Where the signals of code are from is said in standings.py. Without vectors the score is 1 / (60 + rank) alone, as there.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

from codelens.model import Candidate, Contribution, Event, Match, Trace, UnitId, UnitRow
from codelens.nouns import dataclass
from codelens.search.age import FADING
from codelens.search.fuse import fuse
from codelens.search.signals import add_bonus

MEANING, WORDS = "vector", "exact"
"""The two channels that the formula joins."""
BEST_RATING = 10.0
NEUTRAL = 0.5
"""Success of what nobody has judged."""
POOL = "pool"
"""A stage in the trace's events: what the fusion ranks below those that are weighed."""


@dataclass(frozen=True, slots=True)
class Known:
    """A signal's raw value, and in a person's words where it is from."""

    value: float
    reason: str


@dataclass(frozen=True, slots=True)
class Standing:
    """The raw signals of one unit; None for what nothing says."""

    rating: Known | None = None
    """From 0 to 10."""
    stars: Known | None = None
    uses: Known | None = None
    success: Known | None = None
    """From 0 to 1."""
    days: Known | None = None
    """Since its last change."""
    pinned: bool = False


NOTHING = Standing()


def rank_by_quality(
    rankings: Mapping[str, Sequence[Match]],
    units: Mapping[UnitId, UnitRow],
    channels: Mapping[str, float],
    k: int,
    weights: Mapping[str, float],
    standings: Callable[[Sequence[UnitRow]], Mapping[UnitId, Standing]],
    trace: Trace,
) -> list[Candidate]:
    """Candidates with all parts of their scores: at most `pool` of the weights, the best by fused ranks.

    `channels` are the weights of the ranks, not normalised; the greatest fused score, of stars and of uses are the pool's.
    """
    if MEANING not in rankings:
        return fuse(rankings, channels, k, units)
    fused = fuse(rankings, channels, k, units)
    ordered = sorted(fused, key=Candidate.order)
    pool = ordered[: int(weights["pool"])]
    for place, candidate in enumerate(ordered[len(pool) :], start=len(pool) + 1):
        text = f"its ranks put it at place {place}, and the best {len(pool)} are weighed"
        trace.events.append(Event(POOL, candidate.unit, text))
    best = pool[0].score if pool and pool[0].score > 0 else 1.0
    known = standings([candidate.unit for candidate in pool])
    most_stars, most_uses = (
        max((found.value for unit in known.values() if (found := getattr(unit, name)) is not None), default=0.0)
        for name in ("stars", "uses")
    )
    for candidate in pool:
        standing = known.get(candidate.unit.id, NOTHING)
        candidate.told = [_share(part, weights["rrf"], best) for part in candidate.told]
        _add_rating(candidate, weights["rating"], standing.rating)
        _add_logarithm(candidate, "stars", weights["stars"], standing.stars, most_stars)
        _add_logarithm(candidate, "usage", weights["usage"], standing.uses, most_uses)
        success = standing.success or Known(NEUTRAL, "nobody has judged it, which is neutral")
        add_bonus(candidate, "success", weights["success"], success.value, success.reason)
        _add_recency(candidate, weights["recency"], standing.days)
        said = "pinned" if standing.pinned else "not pinned"
        add_bonus(candidate, "favorite", weights["favorite"], float(standing.pinned), said)
    return pool


def _share(part: Contribution, weight: float, best: float) -> Contribution:
    """A rank's part of the fused score → of the final one: `weight` for the best fused score of the pool."""
    operands = {"weight": weight, "of_channel": part.operands["weight"], "k": part.operands["k"]}
    operands |= {"rank": part.operands["rank"], "best": best}
    return Contribution(part.source, weight * part.amount / best, part.reason, "rrf_share", operands)


def _add_rating(candidate: Candidate, weight: float, rating: Known | None) -> None:
    if rating is None:
        add_bonus(candidate, "rating", weight, 0.0, "nobody has rated it")
        return
    operands = {"weight": weight, "value": rating.value, "most": BEST_RATING}
    amount = weight * rating.value / BEST_RATING
    candidate.told.append(Contribution("rating", amount, rating.reason, "scaled", operands))


def _add_logarithm(candidate: Candidate, source: str, weight: float, known: Known | None, most: float) -> None:
    """weight · ln(1 + value) / ln(1 + most); 0 where all have none."""
    value, reason = (known.value, known.reason) if known else (0.0, "nothing is known of it")
    amount = weight * math.log1p(value) / math.log1p(most) if most else 0.0
    told = f"{reason}; {most:g} at most"
    operands = {"weight": weight, "value": value, "most": most}
    candidate.told.append(Contribution(source, amount, told, "log_share", operands))


def _add_recency(candidate: Candidate, weight: float, days: Known | None) -> None:
    if days is None:
        add_bonus(candidate, "recency", weight, 0.0, "nothing says when it was changed")
        return
    operands = {"weight": weight, "rate": FADING, "days": days.value}
    amount = weight * math.exp(-FADING * days.value)
    candidate.told.append(Contribution("recency", amount, days.reason, "decay", operands))
