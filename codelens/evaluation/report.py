"""Summarise the results of a run: groups with means, confidence intervals and times, and the record of the run.

ALL is the mean over tasks, MACRO the mean over repositories. Intervals are percentile bootstraps over tasks, for MACRO over the
means of the repositories.
"""

from __future__ import annotations

import json
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

import xxhash

from codelens import __version__
from codelens.evaluation.compare import PLACES, compute_interval
from codelens.evaluation.metrics import METRICS, Values
from codelens.evaluation.runner import Setup, TaskBatch, TaskResult, read_index_infos
from codelens.evaluation.tasks import Task
from codelens.model.request import SearchOptions
from codelens.query.parser import parse_query
from codelens.search.intent import detect_intent
from codelens.search.profiles import load_profile

# Metrics with a confidence interval. Bootstrapping all of them takes longer than searching some repositories.
HEADLINES = ("P@10", "strict_ndcg@10", "strict_hit@10", "file@10", "candidates")
SCHEMA = 1  # Version of the record, raised if a field is removed, renamed or redefined
TIERS = ("easy", "medium", "hard")

Record = dict[str, Any]


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
        parts: dict[str, list[tuple[TaskResult, Mapping[str, float]]]] = {}
        for result, metrics in by_task:
            parts.setdefault(name_of(result.task), []).append((result, metrics))
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
