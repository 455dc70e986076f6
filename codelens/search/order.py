"""Puts scored candidates in their final order. Each step records its changes as contributions or as events of the trace."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from codelens.errors import EmbedderFault, UsageError
from codelens.model.budget import ORDER
from codelens.model.code import NOTE_KINDS, TODO
from codelens.model.fast_dataclass import replace
from codelens.model.search import WEAK, Candidate, Contribution, Event, ExpandedQuery, Trace, rank_candidates
from codelens.search.confidence import FLOOR, estimate_weakness
from codelens.search.features import ROLE_WORDS
from codelens.search.rankers import Ranking
from codelens.search.run import BELOW_MINIMUM, NOT_REACHED, SearchRun, limit_notices
from codelens.search.terms import collect_words
from codelens.search.walk import ExpansionSettings, add_expansion
from codelens.store.units import UnitSet
from codelens.store.vectors import compute_cosine

NEAR = 0.5
"""Hits are shown, even if none contains a word of the query, if the chance that none is right is below this share of the one at
which an answer is called weak: `login` for "authentication flow" is shown, "garbage collector pause" finds nothing."""
MOST_FURTHER = 4  # Number of further hits of one file after which the penalty no longer grows
PLACE = 50.0
"""Weight of a place as a multiple of the best score, so large that places alone decide the order of units at a place."""
POOL = 50  # Candidates that `--rerank` compares; fixed, so that a search's limit does not change scores
PROSE = ("section", "text", *NOTE_KINDS, TODO)
"""Kinds of units that are not code, for which Graph Memory's profile has a minimum of its own."""


def adjust_scores(ranking: Ranking) -> Ranking:
    """Apply memory, factors of paths, places, the penalty for further hits of a file, and the expansion; best first."""
    run, candidates, profile = ranking.run, ranking.candidates, ranking.run.profile
    if profile.memory and (recollection := run.recollection):
        recollection.add_to_scores(candidates, run.terms, profile.of_memory)
    add_factors(candidates, run.terms, profile.factors)
    targets = ranking.findings.targets  # these go above all others, regardless of their words
    weight = PLACE * max((c.score for c in candidates), default=0.0) if targets else 0.0
    for candidate in candidates if weight > 0 else ():
        if target := targets.get(candidate.unit.id):
            candidate.add_bonus("place", weight, target.value, target.reason)
            candidate.judge = candidate.judge and (lambda _: 1.0)
    candidates = penalize_further_hits(candidates, run.weights.get("further", 0.0))
    if profile.expansion:
        run.trace.count_lap("order")
        with run.budget.part(ORDER, "the expansion was left out"):
            expanding = ExpansionSettings(**profile.expansion)
            candidates, reached = add_expansion(candidates, expanding, run.store, run.make_scope_test())
            if expanding.closed:
                kept = reached | ranking.findings.literal | targets.keys()
                reason = f"neither one of the first {profile.expansion['seeds']} nor a neighbour of theirs"
                run.trace.events += [Event(NOT_REACHED, c.unit, reason) for c in candidates if c.unit.id not in kept]
                candidates = [candidate for candidate in candidates if candidate.unit.id in kept]
        run.trace.count_lap("walk")
    return replace(ranking, candidates=candidates)


def put_in_order(ranking: Ranking) -> Ranking:
    """Apply --rerank, the minimum score, --sort and --reverse. Raises UsageError."""
    run, candidates = ranking.run, ranking.candidates
    if run.options.rerank:
        with run.budget.part(ORDER, "hits were not ranked again"):
            run.budget.check()
            candidates = order_by_cosine(run, candidates)
    candidates = drop_low_scores(replace(ranking, candidates=candidates))
    chance = estimate_chance_of_none(replace(ranking, candidates=candidates))
    if chance is not None and chance >= run.profile.weakness["least"]:
        text = "probably none of these hits is what you mean: few of your words occur here, even with synonyms"
        run.add_notice(WEAK, text)
    return finish_ranking(ranking, sort_candidates(run, candidates))


def finish_ranking(ranking: Ranking, candidates: list[Candidate]) -> Ranking:
    """Set the final order of a ranking, record it in the trace, and add notices about what limits and time left out."""
    run = ranking.run
    run.trace.candidates = candidates
    run.notices.extend(limit_notices(run.budget))
    return replace(ranking, candidates=candidates)


def estimate_chance_of_none(ranking: Ranking) -> float | None:
    """Estimate the probability that no candidate answers a query in prose; None for other queries."""
    run, candidates, findings = ranking.run, ranking.candidates, ranking.findings
    weights, intent = run.profile.weakness, run.trace.intent
    if not (weights and candidates and ranking.evidence and intent and run.options.mode == "hybrid"):
        return None
    if run.options.rerank or findings.literal or findings.targets or run.likeness or "identifier" in intent.shares:
        return None
    if "vector" not in findings.matches or (run.within is not None and candidates[0].unit.kind in PROSE):
        return None  # scores of documents, which conditions may ask for, are lower than those of code
    return estimate_weakness(candidates[0], ranking.evidence, 1.0 / (run.profile.rrf_k + 1), weights)


def add_factors(candidates: Sequence[Candidate], terms: ExpandedQuery, factors: Mapping[str, float]) -> None:
    """Multiply each score so far by the factor of each role of its path, unless the query asks for that role.

    This suits scores that are never negative, such as sums of ranks; other profiles have features for the roles.
    """
    words = collect_words(terms) if factors else frozenset()
    counting = [role for role, asking in ROLE_WORDS.items() if role in factors and not asking & words]
    for candidate in candidates if counting else ():
        for role in counting:
            if role in candidate.unit.roles:
                operands = {"factor": factors[role], "of": candidate.score}
                amount = (factors[role] - 1.0) * candidate.score
                candidate.recorded.append(Contribution(role, amount, f"{role} path", "factor", operands))


def penalize_further_hits(candidates: Sequence[Candidate], further: float) -> list[Candidate]:
    """Rank the candidates, with `further` (below 0) added for each earlier hit of the file, so that no file fills the page."""
    ordered = rank_candidates(candidates)
    if not further:
        return ordered
    hits_of_file = Counter[tuple[str, str]]()
    for candidate in ordered:
        file = (candidate.unit.repository, candidate.unit.path)
        if before := hits_of_file[file]:
            candidate.add_bonus("further", further, min(before, MOST_FURTHER), f"hit {before + 1} of its file")
        hits_of_file[file] += 1
    return rank_candidates(ordered)


def order_by_cosine(run: SearchRun, candidates: Sequence[Candidate]) -> list[Candidate]:
    """Order the best POOL candidates by their cosine with the query; the others follow.

    The score becomes best · (1 + cosine), so that these stay first. Without vectors, keep the order and add a notice.
    """
    ordered = rank_candidates(candidates)
    best = ordered[:POOL]
    vector, why = b"", "the query has no vector"
    try:
        vector = run.embed_query() if "vector" in run.abilities and best else b""
    except EmbedderFault as fault:
        why = str(fault)
    if not vector:
        run.add_notice("no-rerank", f"not reranked: {why}")
        return ordered
    distances = run.store.vectors.measure_units(UnitSet(sorted(candidate.unit.id for candidate in best)), vector)
    most = best[0].score
    for candidate in best:
        distance, had = distances.get(candidate.unit.id), candidate.score
        share = 0.0 if distance is None else max(0.0, compute_cosine(distance))
        # A sum that is not positive has no multiple above it: then the cosine itself is the score.
        of, share_kept = (most, 1.0 + share) if most > 0 else (1.0, share)
        what = "no vector of it" if distance is None else f"cosine {share:.3f}"
        reason = f"{what}, so {share_kept:.3f} times the best score"
        operands = {"of": of, "kept": share_kept, "had": had}
        candidate.recorded.append(Contribution("rerank", of * share_kept - had, reason, "inherit", operands))
    return rank_candidates(ordered)


def drop_low_scores(ranking: Ranking) -> list[Candidate]:
    """Drop candidates below --min-score by their confidence, or in profiles without confidence by their share of the best score.

    Without the option, drop all if none reaches the profile's floor, or those below its minimum; literal matches stay."""
    run, candidates, given = ranking.run, ranking.candidates, ranking.run.options.min_score
    if any(candidate.judge for candidate in candidates):
        least = 0.0 if given is None else given
        if given is None and is_unlikely(ranking):
            many = f"the nearest {len(candidates)}" if len(candidates) > 1 else "the nearest"
            run.add_notice("nothing-likely", f"no hit is likely to be relevant; --min-score 0 shows {many}")
            least = run.profile.confidence[FLOOR]
        return drop_below(run.trace, candidates, lambda c: c.confidence or 0.0, lambda _: least)
    minimum = {"text": given, "code": given} if given is not None else run.profile.minimum
    best = max((c.score for c in candidates), default=0.0)
    if not minimum or (best <= 0 and given is None):
        return candidates

    def find_least_share(candidate: Candidate) -> float:
        kind = candidate.unit.kind
        is_spared = given is None and candidate.unit.id in ranking.findings.literal
        return -math.inf if is_spared else minimum.get(kind, minimum["text" if kind in PROSE else "code"])

    return drop_below(run.trace, candidates, lambda c: c.score / best if best > 0 else 0.0, find_least_share)


def is_unlikely(ranking: Ranking) -> bool:
    """Decide if the answer is not worth showing: no candidate reaches the floor of confidence, and likely none is right."""
    profile, candidates, findings = ranking.run.profile, ranking.candidates, ranking.findings
    if findings.literal or "exact" not in findings.matches:
        return False
    if any((candidate.confidence or 0.0) >= profile.confidence[FLOOR] for candidate in candidates):
        return False
    chance = estimate_chance_of_none(ranking)
    return chance is None or chance >= NEAR * profile.weakness["least"]


def drop_below(
    trace: Trace,
    candidates: Sequence[Candidate],
    value_of: Callable[[Candidate], float],
    least_of: Callable[[Candidate], float],
    unit: float = 1.0,
) -> list[Candidate]:
    """Keep the candidates whose value is not below the least; add an event for each other, with its value divided by `unit`."""
    kept = []
    for candidate in candidates:
        if (value := value_of(candidate)) >= least_of(candidate):
            kept.append(candidate)
        else:
            rounded = math.floor(value / unit * 1000) / 1000  # down, so that this minimum lets it pass
            trace.events.append(Event(BELOW_MINIMUM, candidate.unit, f"{rounded:.3f}"))
    return kept


def sort_candidates(run: SearchRun, candidates: list[Candidate]) -> list[Candidate]:
    """Order the candidates, given by descending score, as --sort and --reverse demand. Raises UsageError."""
    options = run.options
    if options.sort == "path":
        candidates = sorted(candidates, key=lambda c: c.unit.content_order())
    elif options.sort == "modified":
        rows = run.store.documents.read_rows({c.unit.document for c in candidates})
        written = {row.id: row.stamp.mtime_ns for row in rows}
        candidates = sorted(candidates, key=lambda c: (-written[c.unit.document], c.unit.content_order()))
    elif options.sort != "score":
        raise UsageError(f"cannot sort by '{options.sort}'", "sort by score, path or modified")
    return candidates[::-1] if options.reverse else candidates
