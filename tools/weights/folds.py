"""Fit weights to measured tasks of many repositories, and cross-validate them by folds of whole repositories.

Cross-validation reorders the measured candidates; it does not repeat the walk.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping, Sequence

from codelens.evaluation.fitting import COLUMNS, FittedWeights, Sample, Weights, fit_weights, score_candidates
from codelens.evaluation.metrics import CUTOFF, Judgement, compute_metrics

METRIC = "strict_ndcg@10"
PULL = 0.0007
"""Factor of the squared weights, added to the mean loss. .001 measured within .003 of it, .01 cost .015 on commits."""
COMMIT = "commit"
OUTSIDE_CODE = tuple(COLUMNS.index(role) for role in ("test", "docs", "example"))
"""Path features that are set only if the query does not mention them."""


def fit_shipped(measured: Sequence[Sample]) -> FittedWeights:
    """Weights that start at zero. Raises UsageError if no task teaches anything.

    Commits that change only tests or documents, without a word of it in the subject, are left out: they show a habit of the
    authors. (nDCG@10 of the development tasks / commits without these 214 of 5 426: .426 to .429, .400 to .405.)
    """
    return fit_weights([one for one in measured if not _is_outside_code(one)], {}, PULL)


def _is_outside_code(one: Sample) -> bool:
    if one.kind != COMMIT:
        return False
    in_code = (one.values[:, OUTSIDE_CODE] == 0).all(axis=1)
    return not ((one.credits >= 0) & in_code).any()


def cross_validate(measured: Sequence[Sample], folds: int) -> dict[str, float]:
    """Task → nDCG@10 with the weights learned from all other folds."""
    found: dict[str, float] = {}
    for held_out in fold_repositories(measured, folds):
        fitted = fit_shipped([one for one in measured if one.repository not in held_out])
        found |= ndcg_by_task([one for one in measured if one.repository in held_out], fitted.weights)
    return found


def fold_repositories(measured: Sequence[Sample], folds: int) -> Iterator[frozenset[str]]:
    """The repositories of each fold, dealt in turn by name."""
    names = sorted({one.repository for one in measured})
    for fold in range(min(folds, len(names))):
        yield frozenset(names[fold::folds])


def ndcg_by_task(measured: Sequence[Sample], weights: Weights) -> dict[str, float]:
    """Task → nDCG@10 of its candidates, ordered by these weights."""
    found = compute_metrics({one.task: _judged(one, weights) for one in measured})
    return {task: values[METRIC] for task, values in found.items()}


def mean_by_kind(measured: Sequence[Sample], values: Mapping[str, float]) -> dict[str, float]:
    """Kind → mean over its tasks, sorted by name."""
    kinds: dict[str, list[float]] = {}
    for one in measured:
        kinds.setdefault(one.kind, []).append(values[one.task])
    return {kind: statistics.mean(kinds[kind]) for kind in sorted(kinds)}


def _judged(one: Sample, weights: Weights) -> Judgement:
    """Ties keep the order in which the candidates were ranked."""
    import numpy as np

    top = (
        one.credits[np.argsort(-score_candidates(one, weights), kind="stable")[:CUTOFF]].tolist()
        if one.has_answer
        else []
    )
    credited: list[int | None] = []
    for entry in top:
        credited.append(None if entry < 0 or entry in credited else entry)
    right = tuple(entry is not None for entry in credited)
    entries = tuple(sorted({int(entry) for entry in one.credits.tolist() if entry >= 0}))
    return Judgement(one.entries, tuple(credited), right, tuple(e for e in entries if e in credited), None, entries)
