"""The ranker of the profile `marketplace`: .50 of the fused ranks, and six signals of quality, each a contribution.

.15 rating / 10 + .10 ln(1 + stars) / ln(1 + most) + .08 the same of uses + .07 success + .05 exp(-.005 days) + .05 if pinned

A signal comes from the user's table of metadata, else from memory, else from the index and git's history. If the table has a
column of stars or installs, nothing else counts for that signal: a number of files and a number of stars have no common scale.
The present is the time of the indexed commit, or --now. Without vectors the score is 1 / (60 + rank) alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

from codelens.model.code import UnitId, UnitRow
from codelens.model.fast_dataclass import dataclass
from codelens.model.history import History
from codelens.model.memory import NOTHING as NOT_RECORDED
from codelens.model.memory import Remembered
from codelens.model.search import NOTHING_ASKED, Candidate, Contribution, Event, Match, Trace, in_order
from codelens.query.facts import UPDATED, Metadata, Scalar, load_metadata
from codelens.search.fuse import fuse
from codelens.search.rankers import Ranker
from codelens.search.recency import FADING, SECONDS_A_DAY
from codelens.search.run import SearchRun
from codelens.store.store import Store

MEANING, WORDS = "vector", "exact"  # The two channels that the formula joins
BEST_RATING = 10.0
NEUTRAL = 0.5  # Success of units without feedback
POOL = "pool"  # A stage in the trace's events: what the fusion ranks below those that are weighed


@dataclass(frozen=True, slots=True)
class Known:
    """A signal's raw value, and in a person's words where it is from."""

    value: float
    reason: str


@dataclass(frozen=True, slots=True)
class Standing:
    """The raw signals of one unit; None for what nothing says."""

    rating: Known | None = None  # From 0 to 10
    stars: Known | None = None
    uses: Known | None = None
    success: Known | None = None  # From 0 to 1
    days: Known | None = None  # Since its last change
    pinned: bool = False


NOTHING = Standing()


class QualityRanker:
    """Scores by fused ranks, ratings and the like, without features."""

    def rank(self, run: SearchRun, matches: Mapping[str, Sequence[Match]]) -> list[Candidate]:
        """Nothing but an error notice if neither channel could run; without vectors, the ranks by words alone."""
        if not {MEANING, WORDS} & matches.keys():
            run.notice(NOTHING_ASKED, "neither words nor vectors could be searched: the result is empty")
            return []
        fused = fuse(matches, run.profile.channels, run.profile.rrf_k, run.rows(matches))
        if MEANING not in matches:
            run.notice("words-alone", "no vector results: ranked by words only, without ratings and stars")
            return fused
        recorded = run.recollection.of(c.unit for c in fused) if run.recollection else {}
        standings = Standings(run.store, load_metadata(run.settings.metadata), recorded, run.options.now)
        return weigh(fused, run.profile.quality, standings.of, run.trace)


def weigh(
    fused: Sequence[Candidate],
    weights: Mapping[str, float],
    standings: Callable[[Sequence[UnitRow]], Mapping[UnitId, Standing]],
    trace: Trace,
) -> list[Candidate]:
    """The best `pool` candidates by fused ranks, with all parts of their scores.

    The greatest fused score, and the most stars and uses, are those of the pool.
    """
    ordered = in_order(fused)
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
        candidate.recorded[:] = [_share(part, weights["rrf"], best) for part in candidate.recorded]
        _add_rating(candidate, weights["rating"], standing.rating)
        _add_logarithm(candidate, "stars", weights["stars"], standing.stars, most_stars)
        _add_logarithm(candidate, "usage", weights["usage"], standing.uses, most_uses)
        success = standing.success or Known(NEUTRAL, "not judged yet, which is neutral")
        candidate.add_bonus("success", weights["success"], success.value, success.reason)
        _add_recency(candidate, weights["recency"], standing.days)
        state = "pinned" if standing.pinned else "not pinned"
        candidate.add_bonus("favorite", weights["favorite"], float(standing.pinned), state)
    return pool


def _share(part: Contribution, weight: float, best: float) -> Contribution:
    """A rank's part of the fused score → of the final one: `weight` for the best fused score of the pool."""
    operands = {"weight": weight, "of_channel": part.operands["weight"], "k": part.operands["k"]}
    operands |= {"rank": part.operands["rank"], "best": best}
    return Contribution(part.source, weight * part.amount / best, part.reason, "rrf_share", operands)


def _add_rating(candidate: Candidate, weight: float, rating: Known | None) -> None:
    if rating is None:
        candidate.add_bonus("rating", weight, 0.0, "nobody has rated it")
        return
    operands = {"weight": weight, "value": rating.value, "most": BEST_RATING}
    amount = weight * rating.value / BEST_RATING
    candidate.recorded.append(Contribution("rating", amount, rating.reason, "scaled", operands))


def _add_logarithm(candidate: Candidate, source: str, weight: float, known: Known | None, most: float) -> None:
    """weight · ln(1 + value) / ln(1 + most); 0 where all have none."""
    value, reason = (known.value, known.reason) if known else (0.0, "nothing is known of it")
    amount = weight * math.log1p(value) / math.log1p(most) if most else 0.0
    text = f"{reason}; {most:g} at most"
    operands = {"weight": weight, "value": value, "most": most}
    candidate.recorded.append(Contribution(source, amount, text, "log_share", operands))


def _add_recency(candidate: Candidate, weight: float, days: Known | None) -> None:
    if days is None:
        candidate.add_bonus("recency", weight, 0.0, "nothing says when it was changed")
        return
    operands = {"weight": weight, "rate": FADING, "days": days.value}
    amount = weight * math.exp(-FADING * days.value)
    candidate.recorded.append(Contribution("recency", amount, days.reason, "decay", operands))


class Standings:
    """Reads the signals of units. `now` is the value of --now, in unix seconds."""

    def __init__(
        self, store: Store, metadata: Metadata, remembered: Mapping[UnitId, Remembered], now: int | None = None
    ) -> None:
        self._store, self._metadata, self._remembered, self._now = store, metadata, remembered, now
        self._presents: dict[str, int] = {}

    def of(self, units: Sequence[UnitRow]) -> dict[UnitId, Standing]:
        """Unit → its signals."""
        using = {} if "stars" in self._metadata.columns else self._store.edges.files_using([u.id for u in units])
        histories = self._store.history.of({unit.document for unit in units})
        self._presents = self._read_presents()
        return {unit.id: self._one(unit, using.get(unit.id, 0), histories.get(unit.document)) for unit in units}

    def _read_presents(self) -> dict[str, int]:
        """Repository → its indexed commit's time, else the newest time that the table has."""
        self._store.foresee(*(("history.read", (row.id,)) for row in self._store.documents.repositories()))
        reads = {row.name: self._store.history.read(row.id) for row in self._store.documents.repositories()}
        return {
            name: self._now if self._now is not None else read.time if read and read.commits else self._metadata.newest
            for name, read in reads.items()
        }

    def _one(self, unit: UnitRow, using: int, history: History | None) -> Standing:
        known = self._metadata.of(unit.repository, unit.path)
        recorded = self._remembered.get(unit.id, NOT_RECORDED)
        return Standing(
            rating=_rating(recorded, known),
            stars=self._column("stars", known)
            or Known(using, f"connected with {using} other file{'s' * (using != 1)}, not counting tests"),
            uses=self._column("installs", known) or _uses(recorded),
            success=_success(recorded, known),
            days=self._days(unit, known, history),
            pinned=recorded.pinned,
        )

    def _column(self, name: str, known: Mapping[str, Scalar]) -> Known | None:
        """The value in the user's table; None if it has no such column."""
        if name not in self._metadata.columns:
            return None
        value = float(known.get(name, 0.0))
        return Known(value, f"{value:g} {name}")

    def _days(self, unit: UnitRow, known: Mapping[str, Scalar], history: History | None) -> Known | None:
        if UPDATED in known:
            changed = int(known[UPDATED])
        elif history is not None:
            changed = history.changed
        else:
            return None
        days = max(0, self._presents[unit.repository] - changed) / SECONDS_A_DAY
        when = "the time of --now" if self._now is not None else "the indexed commit"
        return Known(days, f"changed {days:.0f} day{'s' * (round(days) != 1)} before {when}")


def _uses(recorded: Remembered) -> Known:
    return Known(recorded.uses, f"used {recorded.uses} time{'s' * (recorded.uses != 1)}")


def _rating(recorded: Remembered, known: Mapping[str, Scalar]) -> Known | None:
    """One's own rating goes over the table's."""
    if recorded.rating is not None:
        return Known(recorded.rating, f"you rated it {recorded.rating:g} of 10")
    if "rating" in known:
        return Known(float(known["rating"]), f"rated {float(known['rating']):g} of 10")
    return None


def _success(recorded: Remembered, known: Mapping[str, Scalar]) -> Known | None:
    useful, judged = recorded.outcomes
    if judged:
        return Known(useful / judged, f"useful {useful} of {judged} times")
    if "success" in known:
        return Known(float(known["success"]), f"a success in {float(known['success']):.0%} of its uses")
    return None


RANKER: Ranker = QualityRanker()
