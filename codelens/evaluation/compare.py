"""Compare two saved runs over the same tasks: paired differences, p values and intervals.

A run is a file written by `codelens eval --out` or `score.py --out`. The test is a two-sided paired sign-flip permutation test
on the differences per task, the interval a percentile bootstrap over tasks. Both are seeded.
"""

from __future__ import annotations

import random
import statistics
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from codelens.errors import UsageError
from codelens.evaluation.metrics import METRICS
from codelens.model.fast_dataclass import dataclass
from codelens.text.notation import parse_json

TRIALS = 10_000
SEED = 20_261_121
PLACES = 6  # Decimals of figures that are printed or saved
SCORE_NAMES = {"sP@10": "strict_p@10", "sR@10": "strict_r@10", "sMRR": "strict_mrr", "snDCG@10": "strict_ndcg@10"}
"""Metrics as the files of `score.py` name them, and our names."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """Means of two runs over their common tasks, and the significance of the difference."""

    tasks: int
    before: float
    after: float
    p_value: float
    low: float
    high: float  # 95 % interval of the mean difference
    better: int
    worse: int

    def make_record(self) -> dict[str, float]:
        """The mean difference with its interval and p value, rounded for output."""
        figures = {"difference": self.after - self.before, "low": self.low, "high": self.high, "p": self.p_value}
        return {name: round(value, PLACES) for name, value in figures.items()}


Values = Mapping[str, float]  # Task key → value of one metric


@dataclass(frozen=True, slots=True)
class SavedRun:
    """A saved run."""

    about: Mapping[str, Any]  # The keys of the file other than rows
    repositories: Mapping[str, str]  # Task key → repository
    values: Mapping[str, Values]  # By metric

    def average(self, metric: str, keys: Iterable[str]) -> float:
        """The mean over the repositories of these tasks."""
        by_repository: dict[str, list[float]] = {}
        for key in keys:
            by_repository.setdefault(self.repositories[key], []).append(self.values[metric][key])
        return statistics.mean(map(statistics.mean, by_repository.values()))


def load_run(path: Path) -> SavedRun:
    """Read a saved run. Raises UsageError if the file is not one."""
    try:
        record = parse_json(path.read_text(encoding="utf-8"))
        rows = {f"{row['repo']}/{row['id']}": row for row in record["rows"]}
    except OSError as fault:
        raise UsageError(f"{path}: {fault.strerror}") from None
    except (ValueError, KeyError, TypeError):
        raise UsageError(f"{path} is not a saved run", "`codelens eval TASKS... --out FILE` writes one") from None
    for row in rows.values():
        row.update({name: row[short] for short, name in SCORE_NAMES.items() if short in row})
    values = {
        metric: {key: float(row[metric]) for key, row in rows.items() if isinstance(row.get(metric), int | float)}
        for metric in METRICS
    }
    return SavedRun(
        {name: value for name, value in record.items() if name != "rows"},
        {key: str(row["repo"]) for key, row in rows.items()},
        {metric: by_task for metric, by_task in values.items() if by_task},
    )


def compare_runs(before: SavedRun, after: SavedRun) -> dict[str, Comparison]:
    """Compare each metric that both runs have. Raises UsageError if they have no task in common."""
    metrics = [metric for metric in METRICS if metric in before.values and metric in after.values]
    if not metrics:
        raise UsageError("the runs have no metric in common")
    return {metric: compare(before.values[metric], after.values[metric]) for metric in metrics}


def compare(before: Values, after: Values) -> Comparison:
    """Compare the common tasks. Raises UsageError without a common task."""
    common = sorted(before.keys() & after.keys())
    if not common:
        raise UsageError("the runs have no task in common")
    differences = [after[task] - before[task] for task in common]
    low, high = bootstrap(differences)
    generator, observed = random.Random(SEED), abs(sum(differences)) - 1e-12
    nonzero = [d for d in differences if d]  # the p value: random sign flips whose mean is at least as far from zero
    extreme = sum(abs(sum(d if generator.random() < 0.5 else -d for d in nonzero)) >= observed for _ in range(TRIALS))
    return Comparison(
        tasks=len(common),
        before=statistics.mean(before[task] for task in common),
        after=statistics.mean(after[task] for task in common),
        p_value=(extreme + 1) / (TRIALS + 1),
        low=low,
        high=high,
        better=sum(difference > 0 for difference in differences),
        worse=sum(difference < 0 for difference in differences),
    )


def bootstrap(values: Sequence[float]) -> tuple[float, float]:
    """The 95 % interval of a mean, by percentiles of the means of samples drawn with replacement (Efron 1979)."""
    generator, count = random.Random(SEED), len(values)
    means = sorted(sum(generator.choices(values, k=count)) / count for _ in range(TRIALS // 5))
    return means[int(0.025 * len(means))], means[int(0.975 * len(means))]
