"""Compare two saved runs over the same tasks: paired differences, p values and intervals.

A run is a file written by `codelens eval --out` or `score.py --out`. The p value is that of a two-sided
paired sign-flip permutation test on the differences per task; the interval is a percentile bootstrap. Both are seeded.
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
PLACES = 6  # Decimal places of printed and saved figures
SCORE_NAMES = {"sP@10": "strict_p@10", "sR@10": "strict_r@10", "sMRR": "strict_mrr", "snDCG@10": "strict_ndcg@10"}
"""Metric's name in the files of `score.py` → name here."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """A comparison of two runs over their common tasks: the means, and the significance of their difference."""

    tasks: int
    before: float
    after: float
    p_value: float
    low: float
    high: float  # 95 % interval of the mean difference
    better: int
    worse: int

    def make_record(self) -> dict[str, float]:
        """Return the mean difference with its interval and p value, rounded for output."""
        figures = {"difference": self.after - self.before, "low": self.low, "high": self.high, "p": self.p_value}
        return {name: round(value, PLACES) for name, value in figures.items()}


Values = Mapping[str, float]  # Task key → value of one metric


@dataclass(frozen=True, slots=True)
class SavedRun:
    """A run read from a file."""

    about: Mapping[str, Any]  # All keys of the file except `rows`
    repositories: Mapping[str, str]  # Task key → repository
    values: Mapping[str, Values]  # Metric → values of the tasks

    def compute_mean(self, metric: str, keys: Iterable[str]) -> float:
        """Compute the mean of a metric over repositories, each with the mean of its tasks among `keys`."""
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
    return {metric: compare_values(before.values[metric], after.values[metric]) for metric in metrics}


def compare_values(before: Values, after: Values) -> Comparison:
    """Compare two runs by one metric over their common tasks. Raises UsageError if they have no task in common."""
    common = sorted(before.keys() & after.keys())
    if not common:
        raise UsageError("the runs have no task in common")
    differences = [after[task] - before[task] for task in common]
    low, high = compute_interval(differences)
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


def compute_interval(values: Sequence[float]) -> tuple[float, float]:
    """Compute the 95 % interval of a mean by a percentile bootstrap (Efron 1979)."""
    generator, count = random.Random(SEED), len(values)
    means = sorted(sum(generator.choices(values, k=count)) / count for _ in range(TRIALS // 5))
    return means[int(0.025 * len(means))], means[int(0.975 * len(means))]
