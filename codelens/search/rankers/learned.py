"""The default ranker: fused ranks, features with learned weights, and a walk over the symbol graph."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from codelens.model.budget import FEATURES
from codelens.model.budget import WALK as WALK_SHARE
from codelens.model.code import UnitRow
from codelens.model.search import Candidate, rank_with_scores
from codelens.search.channels import Findings
from codelens.search.company import COMPANY, add_company_features
from codelens.search.confidence import estimate_confidence
from codelens.search.evidence import Evidence
from codelens.search.features import measure_features
from codelens.search.fuse import fuse_matches
from codelens.search.intent import EVERYDAY, add_everyday_share
from codelens.search.rankers import Ranking
from codelens.search.retrieve import ALONE
from codelens.search.run import SearchRun
from codelens.search.walk import WALK, SpreadSettings, SymbolWalk, walk_from_candidates

Explainers = dict[str, Callable[[UnitRow], str]]  # Feature that is not in FEATURES → function that explains its value


def rank(run: SearchRun, findings: Findings) -> Ranking:
    """Score by Σ weight / (k + rank) + Σ weight · feature, with features of the walk and of the company of the best hits.

    If the profile has no features, or there is no time to measure them, only the ranks count.
    """
    weights = run.weights
    if not weights or not findings.units:
        return Ranking(run, findings, fuse_matches(run, findings.matches))
    evidence = Evidence(run, findings, run.embed_query() if findings.matches.get("vector") else b"")
    run.prefetch(match.unit for matches in findings.matches.values() for match in matches)
    candidates, explainers = fuse_matches(run, findings.matches), Explainers()
    with run.budget.part(FEATURES, "features were left out, so that ranks of channels alone decide"):
        evidence.add_units(candidate.unit for candidate in candidates)
        if run.trace.intent and not run.options.intent and run.profile.has_weights_for(EVERYDAY):
            run.trace.intent = add_everyday_share(run.trace.intent, evidence.best_found)
            weights = run.weights
        measure_features(candidates, evidence, weights, run.budget, explainers)
        candidates, walk = _add_walk(run, candidates, evidence, explainers)
        if company := add_company_features(candidates, weights, run.store if run.profile.graph else None):
            explainers |= {name: partial(company.describe, name) for name in COMPANY}
        if run.profile.confidence:
            judge = partial(estimate_confidence, e=evidence, weights=run.profile.confidence)
            for candidate in candidates:
                candidate.judge = judge
        return Ranking(run, findings, candidates, evidence, walk)
    for candidate in candidates:
        candidate.forget_features()
    return Ranking(run, findings, candidates, evidence)


def _add_walk(
    run: SearchRun, candidates: list[Candidate], evidence: Evidence, explainers: Explainers
) -> tuple[list[Candidate], SymbolWalk | None]:
    """Add the walk's feature to candidates that it reached, and new candidates that only the walk found."""
    weights = run.weights
    if not run.profile.graph or not weights.get(WALK):
        return candidates, None
    run.trace.count_lap("features")
    walk, spreading = None, SpreadSettings(**run.profile.graph)
    with run.budget.part(WALK_SHARE, "the walk was left out"):
        walked = walk_from_candidates(rank_with_scores(candidates), spreading, run.store, evidence.reading)
        if walked is not None:
            joined = [] if run.options.mode in ALONE else walked.find_candidates(candidates, run.make_scope_test())
            evidence.add_units(candidate.unit for candidate in joined)
            measure_features(joined, evidence, weights, run.budget, explainers)
            candidates = [*candidates, *joined]
            walked.add_feature(candidates, weights[WALK])
            explainers[WALK] = walked.describe_path
            run.trace.nearness, walk = walked.measure_nearness(), walked
    run.trace.count_lap("walk")
    return candidates, walk
