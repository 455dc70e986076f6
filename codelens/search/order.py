"""Scored candidates → their final order. Whatever changes an order adds a contribution, or an event to the trace."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from codelens.errors import EmbedderFault, UsageError
from codelens.model.budget import ORDER
from codelens.model.code import NOTE_KINDS, TODO, UnitId, UnitRow
from codelens.model.request import SearchOptions
from codelens.model.search import WEAK, Candidate, Contribution, Event, ExpandedQuery, QueryTarget, in_order
from codelens.search.confidence import FLOOR, chance_of_weakness
from codelens.search.features import ROLE_WORDS
from codelens.search.run import BELOW_MINIMUM, NOT_REACHED, SearchRun
from codelens.search.scope import SearchScope
from codelens.search.terms import words_said
from codelens.search.walk import Expanding, add_expansion
from codelens.store.units import UnitSet
from codelens.store.vectors import cosine

NEAR = 0.5
"""Share of the chance from which on an answer is called weak: below it, hits are shown though no word of the query is found, as
`login` for "authentication flow"; "garbage collector pause" is above it in the sample repositories. Chosen."""
MOST_FURTHER = 4  # Further hits of one file after which the penalty no longer grows
PLACE = 50.0
"""Weight of a place, in best scores: the least difference between two units at a place is above all other parts. Chosen."""
POOL = 50
"""Candidates that `--rerank` compares; knowing's figure. It is fixed, so that the limit of a search changes no score."""
PROSE = ("section", "text", *NOTE_KINDS, TODO)
"""Kinds of units that are not code: Graph Memory's profile has another minimum for them."""


def adjust(run: SearchRun, candidates: list[Candidate]) -> list[Candidate]:
    """Best first, after memory, factors of paths, the penalty for further hits of a file, and the expansion."""
    profile = run.profile
    if profile.memory and run.recollection:
        run.recollection.add(candidates, run.terms, profile.of_memory)
    add_factors(candidates, run.terms, profile.factors)
    add_targets(candidates, run.targets)
    candidates = spread_files(candidates, run.weights.get("further", 0.0))
    if not profile.expansion:
        return candidates
    run.trace.lap("order")
    with run.budget.part(ORDER, "the expansion was left out"):
        expanding = Expanding(**profile.expansion)
        candidates, reached = add_expansion(candidates, expanding, run.store, run.within)
        if expanding.closed:
            candidates = _only(run, candidates, reached | run.literal | run.targets.keys())
    run.trace.lap("walk")
    return candidates


def _only(run: SearchRun, candidates: Sequence[Candidate], reached: frozenset[UnitId]) -> list[Candidate]:
    """The candidates that an expansion began with or came to, and those that are found whatever their words."""
    lost = [candidate.unit for candidate in candidates if candidate.unit.id not in reached]
    said = f"neither one of the first {run.profile.expansion['seeds']} nor a neighbour of theirs"
    run.trace.events += [Event(NOT_REACHED, unit, said) for unit in lost]
    return [candidate for candidate in candidates if candidate.unit.id in reached]


def final_order(run: SearchRun, candidates: list[Candidate]) -> list[Candidate]:
    """The candidates after --rerank, the minimum score, --sort and --reverse. Raises UsageError."""
    if run.options.rerank:
        with run.budget.part(ORDER, "hits were not ranked again"):
            run.budget.check()
            candidates = rerank(run, candidates)
    candidates = drop_low_scores(run, candidates)
    note_weakness(run, candidates)
    return sort(candidates, run.options, run.scope)


def note_weakness(run: SearchRun, candidates: Sequence[Candidate]) -> None:
    """A notice if the answer to a query in prose, ranked by all channels, is probably none."""
    chance = find_chance_of_none(run, candidates)
    if chance is not None and chance >= run.profile.weakness["least"]:
        run.notice(
            WEAK, "probably none of these hits is what you mean: few of your words occur here, even with synonyms"
        )


def find_chance_of_none(run: SearchRun, candidates: Sequence[Candidate]) -> float | None:
    """The probability that no candidate is what a query in prose asks for; None for other queries."""
    weights, intent = run.profile.weakness, run.trace.intent
    if not (weights and candidates and run.evidence and intent) or run.options.mode != "hybrid" or run.options.rerank:
        return None
    if run.literal or run.targets or run.likeness or "identifier" in intent.shares or "vector" not in run.channels:
        return None
    if run.within is not None and candidates[0].unit.kind in PROSE:
        return None  # documents were asked for, whose scores are lower than those of code
    return chance_of_weakness(candidates[0], run.evidence, 1.0 / (run.profile.rrf_k + 1), weights)


def add_factors(candidates: Sequence[Candidate], terms: ExpandedQuery, factors: Mapping[str, float]) -> None:
    """Multiply each score so far by the factor of each role of its path, unless the query asks for that role.

    It suits sums that are never negative, such as ranks; a profile with features has features for this.
    """
    words = words_said(terms) if factors else frozenset()
    for candidate in candidates if factors else ():
        for role, asking in ROLE_WORDS.items():
            if role in factors and role in candidate.unit.roles and not asking & words:
                score, factor = candidate.score, factors[role]
                operands = {"factor": factor, "of": score}
                part = Contribution(role, (factor - 1.0) * score, f"{role} path", "factor", operands)
                candidate.recorded.append(part)


def add_targets(candidates: Sequence[Candidate], targets: Mapping[UnitId, QueryTarget]) -> None:
    """Put the units that the query points at above all others, whatever their words say."""
    weight = PLACE * max((c.score for c in candidates), default=0.0) if targets else 0.0
    for candidate in candidates if weight > 0 else ():
        if at := targets.get(candidate.unit.id):
            candidate.add_bonus("place", weight, at.value, at.reason)
            candidate.judge = candidate.judge and _certain


def _certain(_: UnitRow) -> float:
    return 1.0


def spread_files(candidates: Sequence[Candidate], further: float) -> list[Candidate]:
    """Best first. Each further hit of a file gets `further` (below 0) once more, so that one file does not fill the page."""
    ordered = in_order(candidates)
    if not further:
        return ordered
    seen: dict[tuple[str, str], int] = {}
    for candidate in ordered:
        file = (candidate.unit.repository, candidate.unit.path)
        before = seen.get(file, 0)
        seen[file] = before + 1
        if before:
            candidate.add_bonus("further", further, min(before, MOST_FURTHER), f"hit {before + 1} of its file")
    return in_order(ordered)


def rerank(run: SearchRun, candidates: Sequence[Candidate]) -> list[Candidate]:
    """The best candidates by their cosine with the query, then the others: knowing's optional re-rank by embedding.

    The best POOL get the score best · (1 + cosine), so they stay first. Without vectors the order stays, with a notice.
    """
    ordered = in_order(candidates)
    best = ordered[:POOL]
    try:
        vector = run.query_vector() if "vector" in run.abilities and best else b""
    except EmbedderFault as fault:
        run.notice("no-rerank", f"not reranked: {fault}")
        return ordered
    if not vector:
        run.notice("no-rerank", "not reranked: the query has no vector")
        return ordered
    distances = run.store.vectors.distances(UnitSet(sorted(candidate.unit.id for candidate in best)), vector)
    near = {unit: max(0.0, cosine(distance)) for unit, distance in distances.items()}
    most = best[0].score
    for candidate in best:
        share, had = near.get(candidate.unit.id, 0.0), candidate.score
        # A sum that is not positive has no multiple above it: then the cosine itself is the score.
        of, kept = (most, 1.0 + share) if most > 0 else (1.0, share)
        reason = f"cosine {share:.3f}" if candidate.unit.id in near else "no vector of it"
        operands = {"of": of, "kept": kept, "had": had}
        part = Contribution(
            "rerank", of * kept - had, f"{reason}, so {kept:.3f} times the best score", "inherit", operands
        )
        candidate.recorded.append(part)
    return in_order(ordered)


def drop_low_scores(run: SearchRun, candidates: list[Candidate]) -> list[Candidate]:
    """Drop candidates below --min-score: their confidence, or their share of the best score in a profile that has no confidence.

    Without the option, all are dropped if none reaches the profile's floor, and in other profiles those below its minimum. What
    satisfies conditions whatever its words is spared then.
    """
    given = run.options.min_score
    if any(candidate.judge for candidate in candidates):
        return _confident(run, candidates, given)
    least = {"text": given, "code": given} if given is not None else run.profile.minimum
    best = max((c.score for c in candidates), default=0.0)
    if not least or (best <= 0 and given is None):
        return candidates
    kept = []
    for candidate in candidates:
        share = candidate.score / best if best > 0 else 0.0
        spared = given is None and candidate.unit.id in run.literal
        kind = candidate.unit.kind
        if spared or share >= least.get(kind, least["text" if kind in PROSE else "code"]):
            kept.append(candidate)
        else:
            _leave_out(run, candidate, share)
    return kept


def _confident(run: SearchRun, candidates: list[Candidate], least: float | None) -> list[Candidate]:
    if least is None:
        floor, chance = run.profile.confidence[FLOOR], find_chance_of_none(run, candidates)
        if (
            run.literal
            or "exact" not in run.channels
            or any((candidate.confidence or 0.0) >= floor for candidate in candidates)
            or (chance is not None and chance < NEAR * run.profile.weakness["least"])
        ):
            return candidates
        many = f"the nearest {len(candidates)}" if len(candidates) > 1 else "the nearest"
        run.notice("nothing-likely", f"no hit is likely to be relevant; --min-score 0 shows {many}")
        least = floor
    for candidate in candidates:
        if (candidate.confidence or 0.0) < least:
            _leave_out(run, candidate, candidate.confidence or 0.0)
    return [candidate for candidate in candidates if (candidate.confidence or 0.0) >= least]


def _leave_out(run: SearchRun, candidate: Candidate, value: float) -> None:
    rounded = math.floor(value * 1000) / 1000  # down, so that this minimum lets it pass
    run.trace.events.append(Event(BELOW_MINIMUM, candidate.unit, f"{rounded:.3f}"))


def sort(candidates: list[Candidate], options: SearchOptions, scope: SearchScope) -> list[Candidate]:
    """Candidates, given in the order of their scores, as --sort and --reverse demand. Raises UsageError."""
    if options.sort == "path":
        candidates = sorted(candidates, key=lambda c: c.unit.content_order())
    elif options.sort == "modified":
        candidates = sorted(candidates, key=lambda c: (-scope.modified(c.unit.document), c.unit.content_order()))
    elif options.sort != "score":
        raise UsageError(f"cannot sort by '{options.sort}'", "sort by score, path or modified")
    return candidates[::-1] if options.reverse else candidates
