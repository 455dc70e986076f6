"""`codelens eval tune`: learn weights from a repository's older tasks, and measure the gain on its newest ones.

The kept weights are the measured ones: they are not fitted again with the newest tasks.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

from codelens.config import Settings, load_weights
from codelens.evaluation.fitting import OWN_PULL, OWN_TASKS, FittedWeights, Sample, Weights, fit_weights, sample_tasks
from codelens.evaluation.make_tasks import KINDS, MadeTasks, make_tasks
from codelens.evaluation.metrics import compute_metrics, same_file
from codelens.evaluation.report import Comparison, compare_values
from codelens.evaluation.runner import Setup, TaskBatch, TaskResult, run_batch
from codelens.evaluation.tasks import Task, read_tasks
from codelens.index import Index
from codelens.model.fast_dataclass import frozen_dataclass, replace
from codelens.model.groups import group_pairs
from codelens.model.request import SearchOptions
from codelens.model.runs import Progress, ProgressSink
from codelens.search.intent import SHAPES
from codelens.search.profiles import NAMES
from codelens.text.notation import parse_toml
from codelens.worktree.repository import Repository

TABLE = "[codelens.features]"
DECIMALS = 3  # Decimal places of a weight. More would be noise.
NEWEST = 0.2  # Share of held-out tasks, as in `codelens model train`
EXPLAINED = "-task-"  # Infix in the ids of tasks made from a commit's explanation
METRICS: Mapping[str, str] = {"nDCG@10": "strict_ndcg@10", "hit@10": "strict_hit@10"}  # Column title → metric
DECIDES = "nDCG@10"  # The metric that decides whether the weights are a gain
FEWEST_TO_LEARN, FEWEST_TO_ASK = 24, 6  # Minimum number of tasks
ALL = "all"


def format_features(weights: Weights) -> str:
    """Format the weights as a TOML table without zeros."""
    lines = [TABLE]
    for name in NAMES:
        weight = weights.get(name, 0.0)
        if isinstance(weight, float | int):
            if rounded := _round_weight(weight):
                lines.append(f"{name} = {rounded}")
        elif by_shape := {shape: value for shape in SHAPES if (value := _round_weight(weight.get(shape, 0.0)))}:
            lines.append(f"{name} = {{ {', '.join(f'{shape} = {value}' for shape, value in by_shape.items())} }}")
    return "\n".join(lines) + "\n"


def _round_weight(weight: float) -> float:
    return round(float(weight), DECIMALS) + 0.0  # turns -0.0 into 0.0


def index_tasks(name: str, folder: Path, settings: Settings, progress: ProgressSink | None = None) -> list[TaskBatch]:
    """Index the trees of tasks made earlier, and return the tasks in batches by index."""
    batches = []
    for tree in ("commits", "docs"):
        kinds = [kind for kind in KINDS if (kind == "docs") == (tree == "docs")]
        files = [folder / "tasks" / f"{name}-{kind}.jsonl" for kind in kinds]
        if tasks := read_tasks([file for file in files if file.is_file()]):
            index = folder / f"{tree}.db"
            Index.build(index, [folder / "tasks" / f"{name}-{tree}"], settings, progress=progress)
            batches.append(TaskBatch(index, tuple(tasks)))
    return batches


def split_by_age(tasks: Sequence[Task]) -> tuple[list[Task], list[Task]]:
    """Split tasks into older and newest ones, in the given order, in which the oldest commit is first.

    Tasks from a commit's subject and from its explanation stay together, because they have the same answers. Tasks without a
    date are split by their position in the file, which is random.
    """
    by_kind = group_pairs((task.kind, task) for task in tasks)
    if by_kind.get("commit"):
        by_kind.pop("task", None)  # they follow the commit's subject
    newest = {task.key for same in by_kind.values() for task in same[len(same) - round(len(same) * NEWEST) :]}
    for task in tasks:
        name, explained, commit = task.id.rpartition(EXPLAINED)
        if task.kind == "task" and explained and f"{task.repository}/{name}-{commit}" in newest:
            newest.add(task.key)
    older = [task for task in tasks if task.key not in newest]
    return older, [task for task in tasks if task.key in newest]


@frozen_dataclass
class TunedWeights:
    """Learned weights with their tasks and their gain on the newest tasks."""

    tasks: MadeTasks
    older: Mapping[str, int]
    newest: Mapping[str, int]  # Kind → number of tasks, sorted by name
    fitted: FittedWeights | None = None  # None if there are too few tasks
    weights: Weights | None = None  # The rounded weights that are written, which were measured
    groups: Mapping[str, Mapping[str, Comparison]] | None = None
    """ALL or kind → column title → comparison of shipped and learned weights on the newest tasks; None if these are too few."""

    @property
    def has_gained(self) -> bool:
        """True if the learned weights rank the newest tasks better than the shipped ones, significantly or not."""
        return self.groups is not None and self.deciding_comparison.after > self.deciding_comparison.before

    @property
    def deciding_comparison(self) -> Comparison:
        """The comparison that decides whether the weights are a gain."""
        assert self.groups is not None
        return self.groups[ALL][DECIDES]


def tune_weights(
    repository: Repository, name: str, head: str, folder: Path, settings: Settings, progress: ProgressSink | None = None
) -> TunedWeights:
    """Make tasks, learn from the older and measure on the newest ones. The caller removes `folder`. Raises GitError, OSError
    and CodelensError."""
    settings = replace(settings, weights="", query_seconds=0.0)
    made = make_tasks(repository, name, folder / "tasks", OWN_TASKS, head, progress)
    batches = index_tasks(name, folder, settings, progress)
    older, newest = split_by_age([task for batch in batches for task in batch.tasks])
    of_older, of_newest = (dict(sorted(Counter(task.kind for task in part).items())) for part in (older, newest))
    if len(older) < FEWEST_TO_LEARN or len(newest) < FEWEST_TO_ASK:
        return TunedWeights(made, of_older, of_newest)
    samples = list[Sample]()

    def report(before: int, index: str, done: int) -> None:
        if progress:
            progress(Progress("measure", before + done, len(older), index))

    for batch in _select_tasks(batches, older):
        samples += sample_tasks(batch.tasks, batch.index, settings, partial(report, len(samples), batch.index.name))
    answered = sum(sample.has_answer for sample in samples)
    fitted = fit_weights(samples, load_weights()["codelens"]["features"], OWN_PULL / max(1, answered))
    weights = parse_toml(format_features(fitted.weights))["codelens"]["features"]
    groups = _compare_weights(_select_tasks(batches, newest), settings, weights, progress)
    return TunedWeights(made, of_older, of_newest, fitted, weights, groups)


def _select_tasks(batches: Sequence[TaskBatch], tasks: Sequence[Task]) -> list[TaskBatch]:
    keys = {task.key for task in tasks}
    selected = [replace(b, tasks=tuple(task for task in b.tasks if task.key in keys)) for b in batches]
    return [batch for batch in selected if batch.tasks]


def _compare_weights(
    batches: Sequence[TaskBatch], settings: Settings, weights: Weights, progress: ProgressSink | None
) -> dict[str, dict[str, Comparison]]:
    shipped = Setup(SearchOptions(), settings, same_file)
    before, after, total = list[TaskResult](), list[TaskResult](), 2 * sum(len(batch.tasks) for batch in batches)
    for batch in batches:
        for results, setup in ((before, shipped), (after, replace(shipped, change=partial(replace, features=weights)))):
            results += run_batch(batch, setup)
            if progress:
                progress(Progress("ask", len(before) + len(after), total, batch.index.name))
    values = [compute_metrics({result.task.key: result.judged for result in results}) for results in (before, after)]
    groups = {}
    for kind in (ALL, *sorted({result.task.kind for result in before})):
        keys = [result.task.key for result in before if kind in (ALL, result.task.kind)]
        groups[kind] = {
            title: compare_values(*({key: side[key][metric] for key in keys} for side in values))
            for title, metric in METRICS.items()
        }
    return groups
