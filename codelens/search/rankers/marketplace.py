"""The ranker of the profile `marketplace`: .50 of the fused ranks, and six signals of quality, each a contribution.

.15 rating / 10 + .10 ln(1 + stars) / ln(1 + most) + .08 the same for uses + .07 success + .05 exp(-.005 days) + .05 if pinned

Signals come from the user's table of metadata, from memory, or from the index and git's history. If the table has a column of
stars or installs, only the table counts for that signal, because numbers of files and of stars cannot be compared.
The present is the time of the indexed commit, or --now. Without vectors the score is only 1 / (60 + rank).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from codelens.model.code import UnitId, UnitRow
from codelens.model.memory import NOTHING as NOT_RECORDED
from codelens.model.memory import PlaceRecord
from codelens.model.search import NOTHING_ASKED, Candidate, Contribution, Event, Trace, rank_candidates
from codelens.query.facts import UPDATED, Metadata, Scalar, load_metadata
from codelens.search.channels import Findings
from codelens.search.fuse import find_rows, fuse_rankings
from codelens.search.rankers import Ranking
from codelens.search.recency import FADING, SECONDS_A_DAY, ExplainedValue
from codelens.search.run import SearchRun
from codelens.store.store import Store

MEANING, WORDS = "vector", "exact"  # The two channels that the formula joins
BEST_RATING = 10.0
NEUTRAL = 0.5  # Success of units without feedback
POOL = "pool"  # Stage of the trace's events for candidates that the fusion ranks too low to be weighed


class UnitQuality(NamedTuple):
    """The raw signals of one unit; None for unknown ones."""

    rating: ExplainedValue | None = None  # From 0 to 10
    stars: ExplainedValue | None = None
    uses: ExplainedValue | None = None
    success: ExplainedValue | None = None  # From 0 to 1
    days: ExplainedValue | None = None  # Since its last change
    pinned: bool = False


def rank(run: SearchRun, findings: Findings) -> Ranking:
    """Rank by fused ranks and signals of quality; without vectors only by words. If neither could run, only add a notice."""
    matches = findings.matches
    if not {MEANING, WORDS} & matches.keys():
        run.add_notice(NOTHING_ASKED, "neither words nor vectors could be searched: the result is empty")
        return Ranking(run, findings, [])
    fused = fuse_rankings(matches, run.profile.channels, run.profile.rrf_k, find_rows(run, matches))
    if MEANING not in matches:
        run.add_notice("words-alone", "no vector results: ranked by words only, without ratings and stars")
        return Ranking(run, findings, fused)
    recollection = run.recollection
    recorded = recollection.find_records(c.unit for c in fused) if recollection else {}
    metadata = load_metadata(run.settings.metadata)
    read = partial(read_signals, store=run.store, metadata=metadata, recorded=recorded, now=run.options.now)
    return Ranking(run, findings, weigh_quality(fused, run.profile.quality, read, run.trace))


def weigh_quality(
    fused: Sequence[Candidate],
    weights: Mapping[str, float],
    read_quality: Callable[[Sequence[UnitRow]], Mapping[UnitId, UnitQuality]],
    trace: Trace,
) -> list[Candidate]:
    """Select the best candidates by fused ranks, `weights["pool"]` of them, and add all parts of their scores.

    Fused scores, stars and uses are divided by the largest of this pool.
    """
    ordered = rank_candidates(fused)
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
        _add_parts(candidate, quality, weights, best, {"stars": most_stars, "usage": most_uses})
    return pool


def _add_parts(
    candidate: Candidate, quality: UnitQuality, weights: Mapping[str, float], best: float, most: Mapping[str, float]
) -> None:
    """Add the parts of a candidate's score; a rank counts as a share of the best fused score. `most`: signal → largest value."""

    def add(source: str, amount: float, reason: str, rule: str, **operands: float) -> None:
        candidate.recorded.append(Contribution(source, amount, reason, rule, operands))

    parts, weight = list(candidate.recorded), weights["rrf"]
    candidate.recorded.clear()
    for part in parts:
        of_channel, k, rank = (part.operands[name] for name in ("weight", "k", "rank"))
        operands = {"weight": weight, "of_channel": of_channel, "k": k, "rank": rank, "best": best}
        add(part.source, weight * part.amount / best, part.reason, "rrf_share", **operands)
    weight = weights["rating"]
    if quality.rating is None:
        candidate.add_bonus("rating", weight, 0.0, "nobody has rated it")
    else:
        value, reason = quality.rating
        add("rating", weight * value / BEST_RATING, reason, "scaled", weight=weight, value=value, most=BEST_RATING)
    for source, signal in (("stars", quality.stars), ("usage", quality.uses)):
        (value, reason), weight, largest = signal or (0.0, "nothing is known of it"), weights[source], most[source]
        amount = weight * math.log1p(value) / math.log1p(largest) if largest else 0.0  # 0 where all have none
        add(source, amount, f"{reason}; {largest:g} at most", "log_share", weight=weight, value=value, most=largest)
    success = quality.success or ExplainedValue(NEUTRAL, "not judged yet, which is neutral")
    candidate.add_bonus("success", weights["success"], *success)
    weight = weights["recency"]
    if quality.days is None:
        candidate.add_bonus("recency", weight, 0.0, "nothing says when it was changed")
    else:
        days, reason = quality.days
        add("recency", weight * math.exp(-FADING * days), reason, "decay", weight=weight, rate=FADING, days=days)
    reason = "pinned" if quality.pinned else "not pinned"
    candidate.add_bonus("favorite", weights["favorite"], float(quality.pinned), reason)


def read_signals(
    units: Sequence[UnitRow],
    store: Store,
    metadata: Metadata,
    recorded: Mapping[UnitId, PlaceRecord],
    now: int | None = None,
) -> dict[UnitId, UnitQuality]:
    """Read the signals of each unit. `now` is the value of --now, in unix seconds."""
    columns = metadata.columns
    using = {} if "stars" in columns else store.edges.count_using_files([u.id for u in units])
    histories = store.history.find_changes({unit.document for unit in units})
    reads, repositories = store.history.read_all(), store.documents.list_repositories()
    presents = {row.name: reads[row.id].time if row.id in reads else metadata.newest for row in repositories}
    when = "the indexed commit" if now is None else "the time of --now"
    qualities = {}
    for unit in units:
        row, known = metadata.find_values(unit.repository, unit.path), recorded.get(unit.id, NOT_RECORDED)
        files, uses = using.get(unit.id, 0), known.uses
        rating = _read_column(row, "rating", "rated {:g} of 10")
        success = _read_column(row, "success", "a success in {:.0%} of its uses")
        if known.rating is not None:  # one's own goes over the table's
            rating = ExplainedValue(known.rating, f"you rated it {known.rating:g} of 10")
        useful, judged = known.outcomes
        if judged:
            success = ExplainedValue(useful / judged, f"useful {useful} of {judged} times")
        stars = ExplainedValue(files, f"connected with {files} other file{'s' * (files != 1)}, not counting tests")
        used = ExplainedValue(uses, f"used {uses} time{'s' * (uses != 1)}")
        if "stars" in columns:
            stars = _read_column(row, "stars", "{:g} stars") or ExplainedValue(0.0, "0 stars")
        if "installs" in columns:
            used = _read_column(row, "installs", "{:g} installs") or ExplainedValue(0.0, "0 installs")
        history, days = histories.get(unit.document), None
        changed = int(row[UPDATED]) if UPDATED in row else history.changed if history else None
        if changed is not None:
            age = max(0, (presents[unit.repository] if now is None else now) - changed) / SECONDS_A_DAY
            days = ExplainedValue(age, f"changed {age:.0f} day{'s' * (round(age) != 1)} before {when}")
        qualities[unit.id] = UnitQuality(rating, stars, used, success, days, known.pinned)
    return qualities


def _read_column(row: Mapping[str, Scalar], name: str, reason: str) -> ExplainedValue | None:
    """Read a value of the user's table as a signal, with the value filled into the reason; None if there is no value."""
    if name not in row:
        return None
    value = float(row[name])
    return ExplainedValue(value, reason.format(value))
