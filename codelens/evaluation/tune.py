"""`codelens eval tune`: learn weights from a repository's older tasks, and measure the gain on its newest ones.

The kept weights are those that were measured: nothing is fitted again with the newest tasks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from codelens.config import Settings, load_weights
from codelens.evaluation.compare import Comparison, compare
from codelens.evaluation.fitting import OWN_PULL, OWN_TASKS, Fitted, Sample, Weights, fit_weights, sample_tasks
from codelens.evaluation.make_tasks import KINDS, TREES, MadeTasks, make_tasks
from codelens.evaluation.metrics import Values, compute_metrics, same_file
from codelens.evaluation.runner import Setup, TaskBatch, TaskResult, run_batch
from codelens.evaluation.tasks import Task, read_tasks
from codelens.index import Index
from codelens.model.fast_dataclass import dataclass, replace
from codelens.model.request import SearchOptions
from codelens.model.runs import Progress, ProgressSink
from codelens.search.intent import SHAPES
from codelens.search.profiles import NAMES, Profile
from codelens.text.notation import parse_toml
from codelens.worktree.repository import Repository

TABLE = "[codelens.features]"
DECIMALS = 3  # Decimals of a weight. More would be noise.


def features_text(weights: Weights) -> str:
    """The TOML table of the weights; zeros are left out."""
    lines = [TABLE]
    for name in NAMES:
        weight = weights.get(name, 0.0)
        if isinstance(weight, float | int):
            if rounded := _rounded(weight):
                lines.append(f"{name} = {rounded}")
        elif held := {shape: value for shape in SHAPES if (value := _rounded(weight.get(shape, 0.0)))}:
            lines.append(f"{name} = {{ {', '.join(f'{shape} = {value}' for shape, value in held.items())} }}")
    return "\n".join(lines) + "\n"


def _rounded(weight: float) -> float:
    return round(float(weight), DECIMALS) + 0.0  # no minus before a zero


def own_text(weights: Weights, origin: Sequence[str]) -> str:
    """A weights file: comments on the origin, then the table."""
    return "".join(f"# {line}\n" for line in origin) + features_text(weights)


WITHOUT_DOCUMENTATION = frozenset(("docs", "concepts", "behaviours"))
"""Kinds of tasks whose words come from documentation. They are evaluated on the tree without documentation."""


def batches_of(name: str, folder: Path, settings: Settings, progress: ProgressSink | None = None) -> list[TaskBatch]:
    """Batches of tasks made earlier; their indexes are brought up to date."""
    found = []
    for tree in TREES:
        tasks = _tasks(name, folder, [kind for kind in KINDS if _tree_of(kind) == tree])
        if tasks:
            index = folder / f"{tree}.db"
            Index.build(index, [folder / "tasks" / f"{name}-{tree}"], settings, progress=progress)
            found.append(TaskBatch(index, tuple(tasks)))
    return found


def _tree_of(kind: str) -> str:
    return "docs" if kind in WITHOUT_DOCUMENTATION else "commits"


def _tasks(name: str, folder: Path, kinds: Sequence[str]) -> list[Task]:
    files = [folder / "tasks" / f"{name}-{kind}.jsonl" for kind in kinds]
    return read_tasks([file for file in files if file.is_file()])


NEWEST = 0.2  # Share of held-out tasks, as in `codelens model train`
EXPLAINED = "-task-"  # Part of the id of a task made from a commit's explanation


def split(tasks: Sequence[Task]) -> tuple[list[Task], list[Task]]:
    """Older and newest tasks, each in the given order, which has the oldest commit first.

    A commit's subject and its explanation stay on one side, because they have the same answers. Tasks without a date are split
    by their place in the file, which a hash decides.
    """
    kinds: dict[str, list[Task]] = {}
    for task in tasks:
        kinds.setdefault(task.kind, []).append(task)
    newest = {
        task.key
        for kind, own in kinds.items()
        for task in own[_older(own) :]
        if not (kind == "task" and kinds.get("commit"))
    }
    newest |= {task.key for task in tasks if _subject(task) in newest}
    return [task for task in tasks if task.key not in newest], [task for task in tasks if task.key in newest]


def _older(tasks: Sequence[Task]) -> int:
    return len(tasks) - round(len(tasks) * NEWEST)


def _subject(task: Task) -> str:
    """Key of the task made from the same commit's subject."""
    name, explained, commit = task.id.rpartition(EXPLAINED)
    return f"{task.repository}/{name}-{commit}" if task.kind == "task" and explained else ""


def kinds_of(tasks: Sequence[Task]) -> Mapping[str, int]:
    """Kind → number of tasks, sorted by name."""
    names = sorted({task.kind for task in tasks})
    return {name: sum(task.kind == name for task in tasks) for name in names}


METRICS: Mapping[str, str] = {"nDCG@10": "strict_ndcg@10", "hit@10": "strict_hit@10"}  # Column title → metric
DECIDES = "nDCG@10"  # The metric that decides whether the weights are a gain
FEWEST_TO_LEARN, FEWEST_TO_ASK = 24, 6  # Minimum number of tasks
ALL = "all"


@dataclass(frozen=True, slots=True)
class TuneGroup:
    """The newest tasks of one kind, or of all: metric → shipped weights compared with learned ones."""

    kind: str
    metrics: Mapping[str, Comparison]


@dataclass(frozen=True, slots=True)
class TunedWeights:
    """Learned weights, the tasks they come from, and their gain."""

    tasks: MadeTasks
    older: Mapping[str, int]
    newest: Mapping[str, int]  # Kind → number of tasks
    fitted: Fitted | None  # None if there are too few tasks
    weights: Weights  # The weights as written, rounded; these were measured
    groups: tuple[TuneGroup, ...]  # ALL first; empty if there are too few tasks

    @property
    def gained(self) -> bool:
        """True if the newest tasks rank better than with the shipped weights, significantly or not."""
        return bool(self.groups) and self.deciding.after > self.deciding.before

    @property
    def deciding(self) -> Comparison:
        """The comparison that decides."""
        return self.groups[0].metrics[DECIDES]


@dataclass(frozen=True, slots=True)
class FeatureWeights:
    """A change of a profile: other feature weights."""

    features: Weights

    def __call__(self, profile: Profile) -> Profile:
        return replace(profile, features=self.features)


def tune_own(
    repository: Repository,
    name: str,
    head: str,
    folder: Path,
    settings: Settings,
    progress: ProgressSink | None = None,
) -> TunedWeights:
    """Make tasks, learn from the older and measure the newest. The caller removes `folder`. Raises GitError, OSError and
    CodelensError."""
    settings = replace(settings, weights="", query_seconds=0.0)
    tasks = make_tasks(repository, name, folder / "tasks", OWN_TASKS, head, progress)
    batches = batches_of(name, folder, settings, progress)
    older, newest = split([task for batch in batches for task in batch.tasks])
    learning, asking = _only(batches, {t.key for t in older}), _only(batches, {t.key for t in newest})
    counts = kinds_of(older), kinds_of(newest)
    if len(older) < FEWEST_TO_LEARN or len(newest) < FEWEST_TO_ASK:
        return TunedWeights(tasks, *counts, None, {}, ())
    fitted = _fitted(learning, settings, len(older), progress)
    weights = parse_toml(features_text(fitted.weights))["codelens"]["features"]
    return TunedWeights(
        tasks, *counts, fitted, weights, tuple(_groups(asking, settings, weights, len(newest), progress))
    )


def _only(batches: Sequence[TaskBatch], keys: set[str]) -> list[TaskBatch]:
    parted = [replace(b, tasks=tuple(task for task in b.tasks if task.key in keys)) for b in batches]
    return [batch for batch in parted if batch.tasks]


def _fitted(batches: Sequence[TaskBatch], settings: Settings, total: int, progress: ProgressSink | None) -> Fitted:
    measured = list[Sample]()
    for batch in batches:
        before = len(measured)

        def report(done: int, before: int = before, index: str = batch.index.name) -> None:
            if progress:
                progress(Progress("measure", before + done, total, index))

        measured += sample_tasks(batch.tasks, batch.index, settings, report)
    answered = sum(one.answered for one in measured)
    return fit_weights(measured, load_weights()["codelens"]["features"], OWN_PULL / max(1, answered))


def _groups(
    batches: Sequence[TaskBatch], settings: Settings, weights: Weights, total: int, progress: ProgressSink | None
) -> list[TuneGroup]:
    shipped = Setup(SearchOptions(), settings, same_file)
    before, after = list[TaskResult](), list[TaskResult]()
    for batch in batches:
        for found, setup in ((before, shipped), (after, replace(shipped, change=FeatureWeights(weights)))):
            found += run_batch(batch, setup)
            if progress:
                progress(Progress("ask", len(before) + len(after), 2 * total, batch.index.name))
    values = [compute_metrics({answer.task.key: answer.judged for answer in results}) for results in (before, after)]
    kinds = {answer.task.key: answer.task.kind for answer in before}
    named = [ALL, *sorted(set(kinds.values()))]
    return [_group(kind, [k for k, own in kinds.items() if kind in (ALL, own)], *values) for kind in named]


def _group(kind: str, keys: Sequence[str], before: Values, after: Values) -> TuneGroup:
    def of(values: Values, metric: str) -> dict[str, float]:
        return {key: values[key][metric] for key in keys}

    return TuneGroup(kind, {name: compare(of(before, m), of(after, m)) for name, m in METRICS.items()})
