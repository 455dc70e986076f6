"""Answers → a table's groups: means of every metric with their confidence, and how long a query takes.

ALL is the mean over tasks, MACRO that over repositories, so that none outweighs the others. The interval is a percentile
bootstrap, over tasks and for MACRO over the repositories' means: few repositories give a wide one, as they should.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence

from codelens.evaluation.compare import bootstrap
from codelens.evaluation.metrics import METRICS, Values
from codelens.evaluation.qrels import Task
from codelens.evaluation.runner import Asked
from codelens.nouns import dataclass
from codelens.search.intent import intent_of
from codelens.search.query import parse_query

HEADLINES = ("P@10", "snDCG@10", "shit@10", "file@10", "candidates")
"""Metrics whose mean gets an interval: to bootstrap all of them takes longer than asking some repositories."""
PERCENTILES = {"p50": 0.5, "p95": 0.95}


@dataclass(frozen=True, slots=True)
class Mean:
    """Of one metric over a group."""

    mean: float
    low: float | None
    high: float | None
    """The 95 % interval, of HEADLINES; None of the others, and where there is one value alone."""


@dataclass(frozen=True, slots=True)
class Group:
    """One row: which tasks, and their figures."""

    by: str
    """all, macro, tier, repo, kind, shape."""
    name: str
    tasks: int
    means: Mapping[str, Mean]
    cpu_ms: Mapping[str, float]
    """p50 and p95, as wall_ms."""
    wall_ms: Mapping[str, float]

    @property
    def title(self) -> str:
        """'ALL', 'MACRO', 'tier easy'."""
        return self.name if self.by in ("all", "macro") else f"{self.by} {self.name}"


def shape(query: str) -> str:
    """What kind of query the ranking takes it for; what asks by conditions alone has none."""
    intent = intent_of(parse_query(query))
    return intent.name if intent else "conditions"


SPLITS: Mapping[str, Callable[[Task], str]] = {
    "tier": lambda task: task.tier,
    "repo": lambda task: task.repository,
    "kind": lambda task: task.kind,
    "shape": lambda task: shape(task.query),
}
"""What tasks are grouped by; an empty name is in no group."""


def summarise(asked: Sequence[Asked], values: Values) -> list[Group]:
    """ALL and MACRO first, then each split's groups by name."""
    groups = [_group("all", "ALL", asked, values), _macro(asked, values)]
    for by, name_of in SPLITS.items():
        parted: dict[str, list[Asked]] = {}
        for answer in asked:
            parted.setdefault(name_of(answer.task), []).append(answer)
        groups += [_group(by, name, parted[name], values) for name in sorted(parted, key=_in_order) if name]
    return groups


TIERS = ("easy", "medium", "hard")


def _in_order(name: str) -> tuple[int, str]:
    """Tiers and bands of numbers as they rise, other names by their letters."""
    digits = name.split("-")[0].split("+")[0]
    return (TIERS.index(name) if name in TIERS else int(digits) if digits.isdecimal() else 0, name)


def _group(by: str, name: str, asked: Sequence[Asked], values: Values) -> Group:
    rows = [values[answer.task.key] for answer in asked]
    found = {metric: [row[metric] for row in rows if metric in row] for metric in METRICS}
    return _of(by, name, asked, found)


def _macro(asked: Sequence[Asked], values: Values) -> Group:
    by_repository: dict[str, list[Mapping[str, float]]] = {}
    for answer in asked:
        by_repository.setdefault(answer.task.repository, []).append(values[answer.task.key])
    found = {
        metric: [
            statistics.mean(own) for rows in by_repository.values() if (own := [r[metric] for r in rows if metric in r])
        ]
        for metric in METRICS
    }
    return _of("macro", "MACRO", asked, found)


def _of(by: str, name: str, asked: Sequence[Asked], found: Mapping[str, Sequence[float]]) -> Group:
    return Group(
        by,
        name,
        len(asked),
        {metric: _mean(metric, values) for metric, values in found.items() if values},
        percentiles([answer.cpu_ms for answer in asked]),
        percentiles([answer.wall_ms for answer in asked]),
    )


def _mean(metric: str, values: Sequence[float]) -> Mean:
    low, high = bootstrap(values) if metric in HEADLINES and len(values) > 1 else (None, None)
    return Mean(statistics.mean(values), low, high)


def percentiles(values: Sequence[float]) -> dict[str, float]:
    """p50 and p95: the value below which such a share lies, by the nearest rank, as `score.py` has it."""
    ordered = sorted(values)
    return {name: ordered[min(len(ordered) - 1, int(share * len(ordered)))] for name, share in PERCENTILES.items()}
