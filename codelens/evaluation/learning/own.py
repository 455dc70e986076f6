"""A repository of one's own → weights that its older tasks teach, and what they gain on its newest: the story of `codelens tune`.

What little is known of one repository moves the shipped weights little, and what is kept is what was measured: nothing is fitted
again with the newest tasks.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from codelens.config import Settings, load_weights
from codelens.evaluation.compare import Comparison, compare
from codelens.evaluation.judging import same_file
from codelens.evaluation.learning.batches import make_batches
from codelens.evaluation.learning.file import features_text
from codelens.evaluation.learning.fitting import Fitted, Weights, fit_weights
from codelens.evaluation.learning.measured import Measured, measure_tasks
from codelens.evaluation.learning.recipe import OWN_PULL, OWN_TASKS
from codelens.evaluation.learning.split import kinds_of, split
from codelens.evaluation.made.making import Made
from codelens.evaluation.metrics import Values, figures
from codelens.evaluation.runner import Asked, Batch, Setup, ask
from codelens.model import SearchOptions
from codelens.nouns import dataclass
from codelens.runs import Progress, ProgressSink
from codelens.search.profiles import Profile
from codelens.worktree.repository import Repository

METRICS: Mapping[str, str] = {"nDCG@10": "snDCG@10", "hit@10": "shit@10"}
"""What is shown → the metric, which credits each answer once."""
DECIDES = "nDCG@10"
"""The metric whose mean over all newest tasks says whether it is a gain."""
FEWEST_TO_LEARN, FEWEST_TO_ASK = 24, 6
"""Tasks below which nothing is learned. Chosen: fewer say nothing even of themselves."""
ALL = "all"


@dataclass(frozen=True, slots=True)
class Group:
    """The newest tasks of a kind, or all of them: metric → shipped weights against learned ones."""

    kind: str
    metrics: Mapping[str, Comparison]


@dataclass(frozen=True, slots=True)
class Tuned:
    """What was learned, from what, and what it gained."""

    made: Made
    older: Mapping[str, int]
    newest: Mapping[str, int]
    """Kind → tasks."""
    fitted: Fitted | None
    """None where there are too few tasks."""
    weights: Weights
    """As a file has them, rounded: those that were measured."""
    groups: tuple[Group, ...]
    """ALL first; empty where there are too few tasks."""

    @property
    def gained(self) -> bool:
        """Whether the newest tasks are answered better than by the shipped weights, by chance or not."""
        return bool(self.groups) and self.deciding.after > self.deciding.before

    @property
    def deciding(self) -> Comparison:
        """The difference that says so, with its interval and p."""
        return self.groups[0].metrics[DECIDES]


@dataclass(frozen=True, slots=True)
class Weighing:
    """A change of a profile that a runner makes: other weights of its features."""

    features: Weights

    def __call__(self, profile: Profile) -> Profile:
        """The profile with them."""
        return replace(profile, features=self.features)


def tune_own(
    repository: Repository,
    name: str,
    head: str,
    folder: Path,
    settings: Settings,
    progress: ProgressSink | None = None,
) -> Tuned:
    """Tasks, trees and indexes are made in `folder`, which the caller removes. Raises GitError, OSError and CodelensError."""
    settings = replace(settings, weights="", query_seconds=0.0)
    made, batches = make_batches(repository, name, folder, OWN_TASKS, settings, head, progress)
    older, newest = split([task for batch in batches for task in batch.tasks])
    learning, asking = _only(batches, {t.key for t in older}), _only(batches, {t.key for t in newest})
    counts = kinds_of(older), kinds_of(newest)
    if len(older) < FEWEST_TO_LEARN or len(newest) < FEWEST_TO_ASK:
        return Tuned(made, *counts, None, {}, ())
    fitted = _fitted(learning, settings, len(older), progress)
    weights = tomllib.loads(features_text(fitted.weights))["codelens"]["features"]
    return Tuned(made, *counts, fitted, weights, tuple(_groups(asking, settings, weights, len(newest), progress)))


def _only(batches: Sequence[Batch], keys: set[str]) -> list[Batch]:
    parted = [replace(b, tasks=tuple(task for task in b.tasks if task.key in keys)) for b in batches]
    return [batch for batch in parted if batch.tasks]


def _fitted(batches: Sequence[Batch], settings: Settings, total: int, progress: ProgressSink | None) -> Fitted:
    measured = list[Measured]()
    for batch in batches:
        before = len(measured)

        def told(done: int, before: int = before, index: str = batch.index.name) -> None:
            if progress:
                progress(Progress("measure", before + done, total, index))

        measured += measure_tasks(batch.tasks, batch.index, settings, told)
    answered = sum(one.answered for one in measured)
    return fit_weights(measured, load_weights()["codelens"]["features"], OWN_PULL / max(1, answered))


def _groups(
    batches: Sequence[Batch], settings: Settings, weights: Weights, total: int, progress: ProgressSink | None
) -> list[Group]:
    shipped = Setup(SearchOptions(), settings, same_file)
    before, after = list[Asked](), list[Asked]()
    for batch in batches:
        for found, setup in ((before, shipped), (after, replace(shipped, change=Weighing(weights)))):
            found += ask(batch, setup)
            if progress:
                progress(Progress("ask", len(before) + len(after), 2 * total, batch.index.name))
    values = [figures({answer.task.key: answer.judged for answer in asked}) for asked in (before, after)]
    kinds = {answer.task.key: answer.task.kind for answer in before}
    named = [ALL, *sorted(set(kinds.values()))]
    return [_group(kind, [k for k, own in kinds.items() if kind in (ALL, own)], *values) for kind in named]


def _group(kind: str, keys: Sequence[str], before: Values, after: Values) -> Group:
    def of(values: Values, metric: str) -> dict[str, float]:
        return {key: values[key][metric] for key in keys}

    return Group(kind, {shown: compare(of(before, m), of(after, m)) for shown, m in METRICS.items()})
