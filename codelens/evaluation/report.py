"""Results of a run → groups with means, confidence intervals and latency; JSON records of them; a plot.

ALL is the mean over tasks, MACRO the mean over repositories. Intervals are percentile bootstraps over tasks, for MACRO over the
means of the repositories.
"""

from __future__ import annotations

import json
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import xxhash

from codelens import __version__
from codelens.errors import CannotWrite, MissingExtra, UsageError
from codelens.evaluation.compare import bootstrap
from codelens.evaluation.metrics import METRICS, Values
from codelens.evaluation.runner import Setup, TaskResult
from codelens.evaluation.tasks import Task
from codelens.model.code import IndexInfo
from codelens.model.fast_dataclass import dataclass
from codelens.model.request import SearchOptions
from codelens.query.parser import parse_query
from codelens.search.intent import intent_of
from codelens.search.profiles import load_profile

HEADLINES = ("P@10", "strict_ndcg@10", "strict_hit@10", "file@10", "candidates")
"""Metrics with a confidence interval. Bootstrapping all of them takes longer than searching some repositories."""
PERCENTILES = {"p50": 0.5, "p95": 0.95}


@dataclass(frozen=True, slots=True)
class Mean:
    """Mean of one metric over a group."""

    mean: float
    low: float | None
    high: float | None  # 95 % interval of a HEADLINES metric; None for others and for a single value


@dataclass(frozen=True, slots=True)
class ScoreGroup:
    """One row of the table."""

    by: str  # One of all, macro, tier, repo, kind, shape
    name: str
    tasks: int
    means: Mapping[str, Mean]
    cpu_ms: Mapping[str, float]  # p50 and p95, like wall_ms
    wall_ms: Mapping[str, float]

    @property
    def title(self) -> str:
        """'ALL', 'MACRO', 'tier easy'."""
        return self.name if self.by in ("all", "macro") else f"{self.by} {self.name}"


def shape(query: str) -> str:
    """The query's shape as the ranking sees it; 'conditions' for a query of filters only."""
    intent = intent_of(parse_query(query))
    return intent.name if intent else "conditions"


SPLITS: Mapping[str, Callable[[Task], str]] = {
    "tier": lambda task: task.tier,
    "repo": lambda task: task.repository,
    "kind": lambda task: task.kind,
    "shape": lambda task: shape(task.query),
}
"""Group key → name of a task's group; an empty name means none."""


def summarise(results: Sequence[TaskResult], values: Values) -> list[ScoreGroup]:
    """ALL and MACRO first, then the groups of each split, sorted by name."""
    groups = [_group("all", "ALL", results, values), _macro(results, values)]
    for by, name_of in SPLITS.items():
        parted: dict[str, list[TaskResult]] = {}
        for answer in results:
            parted.setdefault(name_of(answer.task), []).append(answer)
        groups += [_group(by, name, parted[name], values) for name in sorted(parted, key=_in_order) if name]
    return groups


TIERS = ("easy", "medium", "hard")


def _in_order(name: str) -> tuple[int, str]:
    """Sort key: tiers and number ranges in ascending order, other names alphabetically."""
    digits = name.split("-")[0].split("+")[0]
    return (TIERS.index(name) if name in TIERS else int(digits) if digits.isdecimal() else 0, name)


def _group(by: str, name: str, results: Sequence[TaskResult], values: Values) -> ScoreGroup:
    rows = [values[answer.task.key] for answer in results]
    found = {metric: [row[metric] for row in rows if metric in row] for metric in METRICS}
    return _of(by, name, results, found)


def _macro(results: Sequence[TaskResult], values: Values) -> ScoreGroup:
    by_repository: dict[str, list[Mapping[str, float]]] = {}
    for answer in results:
        by_repository.setdefault(answer.task.repository, []).append(values[answer.task.key])
    found = {
        metric: [
            statistics.mean(own) for rows in by_repository.values() if (own := [r[metric] for r in rows if metric in r])
        ]
        for metric in METRICS
    }
    return _of("macro", "MACRO", results, found)


def _of(by: str, name: str, results: Sequence[TaskResult], found: Mapping[str, Sequence[float]]) -> ScoreGroup:
    return ScoreGroup(
        by,
        name,
        len(results),
        {metric: _mean(metric, values) for metric, values in found.items() if values},
        percentiles([answer.cpu_ms for answer in results]),
        percentiles([answer.wall_ms for answer in results]),
    )


def _mean(metric: str, values: Sequence[float]) -> Mean:
    low, high = bootstrap(values) if metric in HEADLINES and len(values) > 1 else (None, None)
    return Mean(statistics.mean(values), low, high)


def percentiles(values: Sequence[float]) -> dict[str, float]:
    """p50 and p95 by the nearest rank, as in `score.py`."""
    ordered = sorted(values)
    return {name: ordered[min(len(ordered) - 1, int(share * len(ordered)))] for name, share in PERCENTILES.items()}


SCHEMA = 1  # Version of the record, raised when a field is removed, renamed or changes its meaning
PLACES = 6  # Decimals of what is printed or kept; the reckoning has all of them

Record = dict[str, Any]


def digest(tasks: Sequence[Task]) -> str:
    """A hash of the tasks that does not depend on their order or files."""
    task_rows = sorted(json.dumps(asdict(task), ensure_ascii=True, sort_keys=True) for task in tasks)
    return xxhash.xxh3_64_hexdigest("\n".join(task_rows).encode())


def configuration(setup: Setup) -> Record:
    """The options that differ from the defaults, and every number of the profile."""
    options, usual = setup.options, SearchOptions()
    changed = {
        name: value for name, value in asdict(options).items() if value != getattr(usual, name) and name != "limit"
    }
    return {
        "rule": setup.rule.__name__,
        "model": setup.settings.model,
        "profile_name": options.profile,
        "options": changed,
        "profile": asdict(load_profile(options, setup.settings.weights)),
    }


def measurement(
    setup: Setup,
    command: Sequence[str],
    tasks: Sequence[Task],
    indexes: Mapping[str, IndexInfo],
    missing: Mapping[str, int],
    groups: Sequence[ScoreGroup],
) -> Record:
    """The JSON record of a run without its rows."""
    return {
        "schema": SCHEMA,
        "version": __version__,
        "command": list(command),
        "tasks": {"count": len(tasks), "hash": digest(tasks)},
        "indexes": {name: _index(info) for name, info in indexes.items()},
        "missing": dict(missing),
        "configuration": configuration(setup),
        "groups": [_group_record(group) for group in groups],
    }


def _index(info: IndexInfo) -> Record:
    return {
        "snapshot": info.snapshot,
        "schema": info.schema,
        "embedder": info.embedder,
        "documents": sum(row.documents for row in info.repositories),
    }


def _group_record(group: ScoreGroup) -> Record:
    return {
        "by": group.by,
        "name": group.name,
        "n": group.tasks,
        "metrics": {
            name: {"mean": _rounded(mean.mean)}
            | ({"low": _rounded(mean.low), "high": _rounded(mean.high)} if mean.low is not None else {})
            for name, mean in group.means.items()
        },
        "cpu_ms": {name: round(value, 1) for name, value in group.cpu_ms.items()},
        "wall_ms": {name: round(value, 1) for name, value in group.wall_ms.items()},
    }


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, PLACES)


def task_rows(results: Sequence[TaskResult], values: Values) -> list[Record]:
    """One object per task, in order, with metrics as keys, like the files of `score.py --out`."""
    return [
        {
            "id": answer.task.id,
            "repo": answer.task.repository,
            "tier": answer.task.tier or None,
            "kind": answer.task.kind or None,
            "shape": shape(answer.task.query),
            "query": answer.task.query,
            **{name: round(value, PLACES) for name, value in values[answer.task.key].items()},
            "candidate_count": answer.candidates,
            "cpu_ms": round(answer.cpu_ms, 1),
            "ms": round(answer.wall_ms, 1),
            "error": answer.fault or None,
            "top": [list(hit) for hit in answer.top],
        }
        for answer in results
    ]


PLOTTED_METRIC = "strict_ndcg@10"
PLOTTED = ("repo", "tier")
COLORS = {"repo": "#33658a", "tier": "#c8553d"}
GAP = 0.6  # Gap between repositories and tiers, in rows
INK, PALE = "#333333", "#999999"


def drawing() -> Any:
    """matplotlib's Figure. Raises UsageError if it is not installed."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtra("--plot", ["matplotlib"], "eval") from None
    return Figure


def plot(groups: Sequence[dict[str, Any]], path: Path, title: str) -> None:
    """Plot nDCG@10 of each repository and tier with its interval, and the mean as a line. The ending of `path` decides the
    format.

    `groups` are those of the record. Raises CannotWrite and UsageError.
    """
    plotted = [group for by in PLOTTED for group in groups if group["by"] == by] or [
        g for g in groups if g["by"] == "all"
    ]
    figure = drawing()(figsize=(7.5, 1.6 + 0.3 * len(plotted)), layout="constrained")
    axes = figure.subplots()
    places = [
        place + GAP * PLOTTED.index(group["by"]) if group["by"] in PLOTTED else place
        for place, group in enumerate(plotted)
    ]
    for place, group in zip(places, plotted, strict=True):
        _mark(axes, place, group)
    whole = next(group for group in groups if group["by"] == "all")["metrics"][PLOTTED_METRIC]["mean"]
    axes.axvline(whole, color=PALE, linewidth=1, linestyle="--", zorder=0)
    axes.annotate(f"all {whole:.3f}", (whole, 1), xycoords=("data", "axes fraction"), xytext=(4, 3), textcoords="offset points",
                  color=INK, fontsize=9)  # fmt: skip
    _dress(axes, plotted, places, title)
    figure.get_layout_engine().set(w_pad=0.12, h_pad=0.08)
    try:
        figure.savefig(path, dpi=150)
    except OSError as fault:
        raise CannotWrite(f"{path}: {fault.strerror}", "name a file in an existing folder") from None
    except ValueError as fault:
        raise UsageError(f"--plot {path}: {fault}", "name a file that ends in .png or .svg") from None


def _mark(axes: Any, place: float, group: dict[str, Any]) -> None:
    found, color = group["metrics"][PLOTTED_METRIC], COLORS.get(group["by"], INK)
    if "low" in found:
        axes.plot(
            [found["low"], found["high"]], [place, place], color=color, linewidth=2, alpha=0.45, solid_capstyle="butt"
        )
    axes.plot(found["mean"], place, "o", color=color, markersize=6)


def _dress(axes: Any, plotted: Sequence[dict[str, Any]], places: Sequence[float], title: str) -> None:
    labels = [f"{'tier ' * (group['by'] == 'tier')}{group['name']} ({group['n']})" for group in plotted]
    axes.set_yticks(places, labels, parse_math=False)
    for label, group in zip(axes.get_yticklabels(), plotted, strict=True):
        label.set_color(COLORS.get(group["by"], INK))
    axes.invert_yaxis()
    axes.set_xlim(0, 1)
    axes.set_xlabel("nDCG@10, strict; bars are 95 % intervals (bootstrap over tasks)", color=INK)
    axes.set_title(title, loc="left", fontsize=11, color=INK, pad=20, parse_math=False)
    axes.grid(axis="x", color="#dddddd", linewidth=0.6)
    axes.set_axisbelow(True)
    axes.tick_params(length=0)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
