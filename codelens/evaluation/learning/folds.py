"""Measured tasks of many repositories → how well weights do that never saw the repository they are asked of.

Folds are of whole repositories. The candidates are those that were measured, ordered anew: the walk is not walked again.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping, Sequence

from codelens.evaluation.judging import CUTOFF, Judged
from codelens.evaluation.learning.fitting import Weights, fit_weights, scores
from codelens.evaluation.learning.measured import Measured
from codelens.evaluation.metrics import figures

METRIC = "snDCG@10"


def crossed(measured: Sequence[Measured], start: Weights, pull: float, folds: int) -> dict[str, float]:
    """Task → nDCG@10 by the weights that all other folds teach. Raises UsageError where they teach nothing."""
    found: dict[str, float] = {}
    for held in parted(measured, folds):
        fitted = fit_weights([one for one in measured if one.repository not in held], start, pull, for_all=True)
        asked = [one for one in measured if one.repository in held]
        found |= values_of(asked, fitted.weights)
    return found


def parted(measured: Sequence[Measured], folds: int) -> Iterator[frozenset[str]]:
    """The repositories of each fold: by name, dealt out in turn."""
    names = sorted({one.repository for one in measured})
    for fold in range(min(folds, len(names))):
        yield frozenset(names[fold::folds])


def values_of(measured: Sequence[Measured], weights: Weights) -> dict[str, float]:
    """Task → nDCG@10 of its candidates in the order of these weights."""
    found = figures({one.task: _judged(one, weights) for one in measured})
    return {task: values[METRIC] for task, values in found.items()}


def means(measured: Sequence[Measured], values: Mapping[str, float]) -> dict[str, float]:
    """Kind → the mean over its tasks, by name."""
    kinds: dict[str, list[float]] = {}
    for one in measured:
        kinds.setdefault(one.kind, []).append(values[one.task])
    return {kind: statistics.mean(kinds[kind]) for kind in sorted(kinds)}


def _judged(one: Measured, weights: Weights) -> Judged:
    """Ties stay in the order that the candidates were ranked in, which content decides."""
    import numpy as np

    top = one.credits[np.argsort(-scores(one, weights), kind="stable")[:CUTOFF]].tolist() if one.answered else []
    credited: list[int | None] = []
    for entry in top:
        credited.append(None if entry < 0 or entry in credited else entry)
    right = tuple(entry is not None for entry in credited)
    entries = tuple(sorted({int(entry) for entry in one.credits.tolist() if entry >= 0}))
    return Judged(one.entries, tuple(credited), right, tuple(e for e in entries if e in credited), None, entries)
