"""Summarise the results of a run in groups, make the record of the run, and compare two saved runs over the same tasks.

ALL is the mean over tasks, MACRO the mean over repositories. Intervals are percentile bootstraps over tasks, for MACRO over the
means of the repositories.

A saved run is a file written by `codelens eval --out` or `score.py --out`. The p value of a difference is that of a two-sided
paired sign-flip permutation test on the differences per task. All random draws are seeded.
"""

from __future__ import annotations

import json
import random
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import xxhash

from codelens import __version__
from codelens.errors import UsageError
from codelens.evaluation.metrics import METRICS, Values
from codelens.evaluation.runner import Setup, TaskBatch, TaskResult, read_index_infos
from codelens.evaluation.tasks import Task
from codelens.model.fast_dataclass import frozen_dataclass
from codelens.model.groups import group_pairs
from codelens.model.request import SearchOptions
from codelens.query.parser import parse_query
from codelens.search.intent import detect_intent
from codelens.search.profiles import load_profile
from codelens.text.notation import parse_json

# Metrics with a confidence interval. Bootstrapping all of them takes longer than searching some repositories.
HEADLINES = ("P@10", "strict_ndcg@10", "strict_hit@10", "file@10", "candidates")
SCHEMA = 1  # Version of the record, raised if a field is removed, renamed or redefined
TIERS = ("easy", "medium", "hard")

TRIALS = 10_000
SEED = 20_261_121
PLACES = 6  # Decimal places of printed and saved figures
SCORE_NAMES = {"sP@10": "strict_p@10", "sR@10": "strict_r@10", "sMRR": "strict_mrr", "snDCG@10": "strict_ndcg@10"}
"""Metric's name in the files of `score.py` → name here."""

Record = dict[str, Any]
MetricValues = Mapping[str, float]  # Task key → value of one metric


def detect_shape(query: str) -> str:
    """Return the query's shape as the ranking detects it; 'conditions' for a query of filters only."""
    intent = detect_intent(parse_query(query))
    return intent.name if intent else "conditions"


SPLITS: Mapping[str, Callable[[Task], str]] = {
    "tier": lambda task: task.tier,
    "repo": lambda task: task.repository,
    "kind": lambda task: task.kind,
    "shape": lambda task: detect_shape(task.query),
}  # Key of a split → function that names a task's group; empty if it is in no group


def summarise_results(results: Sequence[TaskResult], values: Values) -> list[Record]:
    """Make the records of ALL and MACRO, then of the groups of each split, sorted by name.

    `by` is all, macro, tier, repo, kind or shape, `n` the number of tasks, `metrics` each metric's mean with the interval of
    HEADLINES; `cpu_ms` and `wall_ms` have p50 and p95.
    """
    by_task = [(result, values[result.task.key]) for result in results]
    groups: list[Record] = []
    for by, name_of in SPLITS.items():
        parts = group_pairs((name_of(row[0].task), row) for row in by_task)
        if by == "repo":
            means = [average_metrics([metrics for _, metrics in part]) for part in parts.values()]
            groups.insert(0, _make_group("macro", "MACRO", results, means))
        names = sorted(filter(None, parts), key=lambda name: (name in TIERS and TIERS.index(name), name))
        groups += [_make_group(by, name, *zip(*parts[name], strict=True)) for name in names]
    return [_make_group("all", "ALL", results, [metrics for _, metrics in by_task]), *groups]


def _make_group(by: str, name: str, results: Sequence[TaskResult], rows: Sequence[Mapping[str, float]]) -> Record:
    metrics: dict[str, dict[str, float]] = {}
    for metric, mean in average_metrics(rows).items():
        column = [row[metric] for row in rows if metric in row]
        metrics[metric] = {"mean": round(mean, PLACES)}
        if metric in HEADLINES and len(column) > 1:
            low, high = compute_interval(column)
            metrics[metric] |= {"low": round(low, PLACES), "high": round(high, PLACES)}
    times = {
        "cpu_ms": compute_percentiles([result.cpu_ms for result in results]),
        "wall_ms": compute_percentiles([result.wall_ms for result in results]),
    }
    return {"by": by, "name": name, "n": len(results), "metrics": metrics, **times}


def average_metrics(rows: Sequence[Mapping[str, float]], metrics: Sequence[str] = METRICS) -> dict[str, float]:
    """Compute the mean of each metric over the rows that have it."""
    columns = {metric: [row[metric] for row in rows if metric in row] for metric in metrics}
    return {metric: statistics.mean(column) for metric, column in columns.items() if column}


def compute_percentiles(values: Sequence[float]) -> dict[str, float]:
    """Compute p50 and p95 by the nearest rank, as in `score.py`, rounded to tenths."""
    ordered = sorted(values)
    ranks = {"p50": len(ordered) // 2, "p95": min(len(ordered) - 1, int(0.95 * len(ordered)))}
    return {name: round(ordered[rank], 1) for name, rank in ranks.items()}


def hash_tasks(tasks: Sequence[Task]) -> str:
    """Hash tasks independently of their order and files."""
    lines = sorted(json.dumps(asdict(task), ensure_ascii=True, sort_keys=True) for task in tasks)
    return xxhash.xxh3_64_hexdigest("\n".join(lines).encode())


def describe_run(
    batches: Sequence[TaskBatch],
    setup: Setup,
    missing: Mapping[str, int],
    command: Sequence[str],
    groups: Sequence[Record],
) -> Record:
    """Make the JSON record of a run without its rows: the tasks, the indexes, and all numbers of the profile."""
    tasks = [task for batch in batches for task in batch.tasks]
    options, defaults = setup.options, SearchOptions()
    given = {name: value for name, value in asdict(options).items() if name != "limit"}
    changed = {name: value for name, value in given.items() if value != getattr(defaults, name)}
    indexes = {
        name: {
            "snapshot": info.snapshot,
            "schema": info.schema,
            "embedder": info.embedder,
            "documents": sum(row.documents for row in info.repositories),
        }
        for name, info in read_index_infos(batches, setup.settings).items()
    }
    configuration = {
        "rule": setup.rule.__name__,
        "model": setup.settings.model,
        "profile_name": options.profile,
        "options": changed,
        "profile": asdict(load_profile(options, setup.settings.weights)),
    }
    return {
        "schema": SCHEMA,
        "version": __version__,
        "command": list(command),
        "tasks": {"count": len(tasks), "hash": hash_tasks(tasks)},
        "indexes": indexes,
        "missing": dict(missing),
        "configuration": configuration,
        "groups": list(groups),
    }


def make_task_rows(results: Sequence[TaskResult], values: Values) -> list[Record]:
    """Make a JSON object per task, in order, with metrics as keys, as in the files of `score.py --out`."""
    return [
        {
            "id": result.task.id,
            "repo": result.task.repository,
            "tier": result.task.tier or None,
            "kind": result.task.kind or None,
            "shape": detect_shape(result.task.query),
            "query": result.task.query,
            **{name: round(value, PLACES) for name, value in values[result.task.key].items()},
            "candidate_count": result.candidates,
            "cpu_ms": round(result.cpu_ms, 1),
            "ms": round(result.wall_ms, 1),
            "error": result.fault or None,
            "top": [list(hit) for hit in result.top],
        }
        for result in results
    ]


@frozen_dataclass
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


@frozen_dataclass
class SavedRun:
    """A run read from a file."""

    about: Mapping[str, Any]  # All keys of the file except `rows`
    repositories: Mapping[str, str]  # Task key → repository
    values: Mapping[str, MetricValues]  # Metric → values of the tasks

    def compute_mean(self, metric: str, keys: Iterable[str]) -> float:
        """Compute the mean of a metric over repositories, each with the mean of its tasks among `keys`."""
        by_repository = group_pairs((self.repositories[key], self.values[metric][key]) for key in keys)
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


def compare_values(before: MetricValues, after: MetricValues) -> Comparison:
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
