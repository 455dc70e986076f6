"""The ranker of the profile `marketplace`: .50 of the fused ranks, and six signals of quality, each a contribution.

.15 rating / 10 + .10 ln(1 + stars) / ln(1 + most) + .08 the same of uses + .07 success + .05 exp(-.005 days) + .05 if pinned

A signal comes from the user's table of metadata, else from memory, else from the index and git's history. If the table has a
column of stars or installs, nothing else counts for that signal: a number of files and a number of stars have no common scale.
The present is the time of the indexed commit, or --now. Without vectors the score is 1 / (60 + rank) alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from codelens.model.code import UnitId, UnitRow
from codelens.model.history import History
from codelens.model.memory import NOTHING as NOT_RECORDED
from codelens.model.memory import PlaceRecord
from codelens.model.search import NOTHING_ASKED, Candidate, Contribution, Event, Trace, in_order
from codelens.query.facts import UPDATED, Metadata, Scalar, load_metadata
from codelens.search.channels import Findings
from codelens.search.fuse import find_rows, fuse
from codelens.search.rankers import Ranker, Ranking
from codelens.search.recency import FADING, SECONDS_A_DAY
from codelens.search.run import SearchRun
from codelens.store.store import Store

MEANING, WORDS = "vector", "exact"  # The two channels that the formula joins
BEST_RATING = 10.0
NEUTRAL = 0.5  # Success of units without feedback
POOL = "pool"  # A stage in the trace's events: what the fusion ranks below those that are weighed


class Signal(NamedTuple):
    """The raw value of a signal, and in a person's words where it is from."""

    value: float
    reason: str


class UnitQuality(NamedTuple):
    """The raw signals of one unit; None for what nothing says."""

    rating: Signal | None = None  # From 0 to 10
    stars: Signal | None = None
    uses: Signal | None = None
    success: Signal | None = None  # From 0 to 1
    days: Signal | None = None  # Since its last change
    pinned: bool = False


class QualityRanker:
    """Scores by fused ranks, ratings and the like, without features."""

    def rank(self, run: SearchRun, findings: Findings) -> Ranking:
        """Nothing but an error notice if neither channel could run; without vectors, the ranks by words alone."""
        matches = findings.matches
        if not {MEANING, WORDS} & matches.keys():
            run.notice(NOTHING_ASKED, "neither words nor vectors could be searched: the result is empty")
            return Ranking(run, findings, [])
        fused = fuse(matches, run.profile.channels, run.profile.rrf_k, find_rows(run, matches))
        if MEANING not in matches:
            run.notice("words-alone", "no vector results: ranked by words only, without ratings and stars")
            return Ranking(run, findings, fused)
        recollection = run.recollection
        recorded = recollection.of(c.unit for c in fused) if recollection else {}
        signals = SignalReader(run.store, load_metadata(run.settings.metadata), recorded, run.options.now)
        return Ranking(run, findings, weigh(fused, run.profile.quality, signals.read, run.trace))


def weigh(
    fused: Sequence[Candidate],
    weights: Mapping[str, float],
    read_quality: Callable[[Sequence[UnitRow]], Mapping[UnitId, UnitQuality]],
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
    qualities = read_quality([candidate.unit for candidate in pool])
    most_stars = max((quality.stars.value for quality in qualities.values() if quality.stars), default=0.0)
    most_uses = max((quality.uses.value for quality in qualities.values() if quality.uses), default=0.0)
    for candidate in pool:
        quality = qualities.get(candidate.unit.id, UnitQuality())
        candidate.recorded[:] = [_share_of_fusion(part, weights["rrf"], best) for part in candidate.recorded]
        _add_rating(candidate, weights["rating"], quality.rating)
        _add_logarithm(candidate, "stars", weights["stars"], quality.stars, most_stars)
        _add_logarithm(candidate, "usage", weights["usage"], quality.uses, most_uses)
        success = quality.success or Signal(NEUTRAL, "not judged yet, which is neutral")
        candidate.add_bonus("success", weights["success"], *success)
        _add_recency(candidate, weights["recency"], quality.days)
        state = "pinned" if quality.pinned else "not pinned"
        candidate.add_bonus("favorite", weights["favorite"], float(quality.pinned), state)
    return pool


def _share_of_fusion(part: Contribution, weight: float, best: float) -> Contribution:
    """A rank's part of the fused score → of the final one: `weight` for the best fused score of the pool."""
    operands = {"weight": weight, "of_channel": part.operands["weight"], "k": part.operands["k"]}
    operands |= {"rank": part.operands["rank"], "best": best}
    return Contribution(part.source, weight * part.amount / best, part.reason, "rrf_share", operands)


def _add_rating(candidate: Candidate, weight: float, rating: Signal | None) -> None:
    if rating is None:
        candidate.add_bonus("rating", weight, 0.0, "nobody has rated it")
        return
    operands = {"weight": weight, "value": rating.value, "most": BEST_RATING}
    amount = weight * rating.value / BEST_RATING
    candidate.recorded.append(Contribution("rating", amount, rating.reason, "scaled", operands))


def _add_logarithm(candidate: Candidate, source: str, weight: float, signal: Signal | None, most: float) -> None:
    """weight · ln(1 + value) / ln(1 + most); 0 where all have none."""
    value, reason = signal or (0.0, "nothing is known of it")
    amount = weight * math.log1p(value) / math.log1p(most) if most else 0.0
    operands = {"weight": weight, "value": value, "most": most}
    candidate.recorded.append(Contribution(source, amount, f"{reason}; {most:g} at most", "log_share", operands))


def _add_recency(candidate: Candidate, weight: float, days: Signal | None) -> None:
    if days is None:
        candidate.add_bonus("recency", weight, 0.0, "nothing says when it was changed")
        return
    operands = {"weight": weight, "rate": FADING, "days": days.value}
    amount = weight * math.exp(-FADING * days.value)
    candidate.recorded.append(Contribution("recency", amount, days.reason, "decay", operands))


class SignalReader:
    """Reads the signals of units. `now` is the value of --now, in unix seconds."""

    def __init__(
        self, store: Store, metadata: Metadata, remembered: Mapping[UnitId, PlaceRecord], now: int | None = None
    ) -> None:
        self._store, self._metadata, self._remembered, self._now = store, metadata, remembered, now

    def read(self, units: Sequence[UnitRow]) -> dict[UnitId, UnitQuality]:
        """Unit → its signals."""
        columns = self._metadata.columns
        using = {} if "stars" in columns else self._store.edges.files_using([u.id for u in units])
        histories = self._store.history.of({unit.document for unit in units})
        presents = self._read_presents()
        qualities = {}
        for unit in units:
            row = self._metadata.of(unit.repository, unit.path)
            recorded = self._remembered.get(unit.id, NOT_RECORDED)
            files, uses = using.get(unit.id, 0), recorded.uses
            connected = Signal(files, f"connected with {files} other file{'s' * (files != 1)}, not counting tests")
            used = Signal(uses, f"used {uses} time{'s' * (uses != 1)}")
            qualities[unit.id] = UnitQuality(
                rating=_rating(recorded, row),
                stars=_column("stars", row) if "stars" in columns else connected,
                uses=_column("installs", row) if "installs" in columns else used,
                success=_success(recorded, row),
                days=self._days(row, histories.get(unit.document), presents[unit.repository]),
                pinned=recorded.pinned,
            )
        return qualities

    def _read_presents(self) -> dict[str, int]:
        """Repository → --now, else its indexed commit's time, else the newest time that the table has."""
        repositories = self._store.documents.repositories()
        self._store.foresee(*(("history.read", (row.id,)) for row in repositories))
        reads = {row.name: self._store.history.read(row.id) for row in repositories}
        return {
            name: self._now if self._now is not None else read.time if read and read.commits else self._metadata.newest
            for name, read in reads.items()
        }

    def _days(self, row: Mapping[str, Scalar], history: History | None, present: int) -> Signal | None:
        if UPDATED in row:
            changed = int(row[UPDATED])
        elif history is not None:
            changed = history.changed
        else:
            return None
        days = max(0, present - changed) / SECONDS_A_DAY
        when = "the time of --now" if self._now is not None else "the indexed commit"
        return Signal(days, f"changed {days:.0f} day{'s' * (round(days) != 1)} before {when}")


def _column(name: str, row: Mapping[str, Scalar]) -> Signal:
    """The value in the user's table."""
    value = float(row.get(name, 0.0))
    return Signal(value, f"{value:g} {name}")


def _rating(recorded: PlaceRecord, row: Mapping[str, Scalar]) -> Signal | None:
    """One's own rating goes over the table's."""
    if recorded.rating is not None:
        return Signal(recorded.rating, f"you rated it {recorded.rating:g} of 10")
    rating = row.get("rating")
    return None if rating is None else Signal(float(rating), f"rated {float(rating):g} of 10")


def _success(recorded: PlaceRecord, row: Mapping[str, Scalar]) -> Signal | None:
    useful, judged = recorded.outcomes
    if judged:
        return Signal(useful / judged, f"useful {useful} of {judged} times")
    success = row.get("success")
    return None if success is None else Signal(float(success), f"a success in {float(success):.0%} of its uses")


RANKER: Ranker = QualityRanker()
