"""The default ranker: fused ranks, features with learned weights, and a walk over the symbol graph."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from codelens.model.budget import FEATURES
from codelens.model.budget import WALK as WALK_SHARE
from codelens.model.search import Candidate, Match, with_scores
from codelens.search.company import add_company
from codelens.search.confidence import confidence
from codelens.search.evidence import Evidence
from codelens.search.features import measure
from codelens.search.fuse import fuse_matches
from codelens.search.intent import EVERYDAY, with_everyday
from codelens.search.rankers import Ranker
from codelens.search.retrieve import ALONE
from codelens.search.run import SearchRun
from codelens.search.walk import WALK, Spreading, add_walk, joining, nearness, spread


class LearnedRanker:
    """score = Σ weight / (k + rank) + Σ weight · feature, also of the walk and of the company of the best hits."""

    def rank(self, run: SearchRun, matches: Mapping[str, Sequence[Match]]) -> list[Candidate]:
        """If there is no time to measure the features, the ranks alone decide."""
        if not any(matches.values()):
            return []
        evidence = run.evidence = Evidence(run, matches, run.query_vector() if matches.get("vector") else b"")
        weights = run.weights
        run.foresee(match.unit for found in matches.values() for match in found)
        candidates = fuse_matches(run, matches)
        with run.budget.part(FEATURES, "features were left out, so that ranks of channels alone decide"):
            if weights:
                evidence.gather(candidate.unit for candidate in candidates)
                if run.trace.intent and not run.options.intent and run.profile.weighs(EVERYDAY):
                    run.trace.intent = with_everyday(run.trace.intent, evidence.best_found)
                    weights = run.weights
            measure(candidates, evidence, weights, run.budget)
            candidates = _with_walk(run, candidates, evidence)
            evidence.company = add_company(candidates, weights, run.store if run.profile.graph else None)
            if weights and (of_signs := run.profile.confidence):
                judge = partial(confidence, e=evidence, weights=of_signs)
                for candidate in candidates:
                    candidate.judge = judge
            return candidates
        for candidate in candidates:
            candidate.forget_features()
        return candidates


def _with_walk(run: SearchRun, candidates: list[Candidate], evidence: Evidence) -> list[Candidate]:
    """Add the walk's contributions to the candidates that it reached, and candidates that only the walk found."""
    weights = run.weights
    if not run.profile.graph or not weights.get(WALK):
        return candidates
    run.trace.lap("features")
    spreading = Spreading(**run.profile.graph)
    with run.budget.part(WALK_SHARE, "the walk was left out"):
        if (found := spread(with_scores(candidates), spreading, run.store, evidence.reading)) is not None:
            alone = run.options.mode in ALONE
            joined = [] if alone else joining(found, candidates, spreading, run.store, run.within)
            evidence.gather(candidate.unit for candidate in joined)
            measure(joined, evidence, weights, run.budget)
            candidates = [*candidates, *joined]
            evidence.ways = add_walk(candidates, found, spreading.restart, weights[WALK], run.store)
            run.trace.nearness = nearness(found)
    run.trace.lap("walk")
    return candidates


RANKER: Ranker = LearnedRanker()
