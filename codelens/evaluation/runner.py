"""Run the queries of tasks against indexes, in this process or several, and judge the results.

`search.pipeline.rank` is measured, the whole way from a query to its order, without rendering. The first query of a store runs
once before it is measured, so that no figure includes the loading of a model.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from codelens.config import Settings, with_absolute_paths
from codelens.errors import CodelensError, NoIndex, UsageError
from codelens.evaluation.metrics import CUTOFF, Judgement, NamedHit, Rule, judge
from codelens.evaluation.tasks import Task
from codelens.index import Index
from codelens.model.code import IndexInfo
from codelens.model.fast_dataclass import dataclass, replace
from codelens.model.request import SearchOptions
from codelens.model.runs import Progress, ProgressSink
from codelens.model.search import Candidate
from codelens.processes.pool import WorkerPool
from codelens.search.pipeline import rank
from codelens.search.profiles import Profile, load_profile
from codelens.store.store import Store

Change = Callable[[Profile], Profile]  # A change of a profile; picklable if there are several processes


@dataclass(frozen=True, slots=True)
class Setup:
    """How tasks are searched and judged."""

    options: SearchOptions
    settings: Settings
    rule: Rule
    change: Change | None = None  # A change of the profile that the options name


@dataclass(frozen=True, slots=True)
class TaskBatch:
    """Tasks of one index."""

    index: Path
    tasks: tuple[Task, ...]
    repositories: tuple[str, ...] = ()  # Repositories to search; empty means the whole index


@dataclass(frozen=True, slots=True)
class TaskResult:
    """The result of one task."""

    task: Task
    judged: Judgement
    top: tuple[tuple[str, str, int], ...]  # Qualified name, path and line of the first hits, best first
    candidates: int  # Number of candidates
    cpu_ms: float
    wall_ms: float
    fault: str = ""  # The error of a failed query, which is judged as one without hits


def batches_of_one(tasks: Sequence[Task], index: Path, info: IndexInfo) -> list[TaskBatch]:
    """All tasks in one index; if it holds several repositories, each task searches its own if that is among them."""
    names = [row.name for row in info.repositories]
    parted: dict[tuple[str, ...], list[Task]] = {}
    for task in tasks:
        own = (task.repository,) if len(names) > 1 and task.repository in names else ()
        parted.setdefault(own, []).append(task)
    return [TaskBatch(index, tuple(parted[own]), own) for own in sorted(parted)]


def batches_of_folder(tasks: Sequence[Task], folder: Path, suffix: str) -> tuple[list[TaskBatch], dict[str, int]]:
    """Each repository's tasks in FOLDER/REPO{suffix}.db, and repository → number of tasks without an index."""
    parted: dict[str, list[Task]] = {}
    for task in tasks:
        parted.setdefault(task.repository, []).append(task)
    places = {repository: folder / f"{repository}{suffix}.db" for repository in sorted(parted)}
    missing = {repository: len(parted[repository]) for repository, place in places.items() if not place.is_file()}
    if len(missing) == len(places):
        raise NoIndex(
            f"no {' or '.join(places[r].name for r in list(missing)[:2])} in {folder}", "name the folder of REPO.db"
        )
    return [TaskBatch(place, tuple(parted[name])) for name, place in places.items() if name not in missing], missing


def infos(batches: Sequence[TaskBatch], settings: Settings) -> dict[str, IndexInfo]:
    """File stem → info of each index. Raises IndexCorrupt and SchemaTooNew."""
    found = {}
    for place in dict.fromkeys(batch.index for batch in batches):
        with Index.open(place, settings) as index:
            found[place.stem] = index.info()
    return found


@contextmanager
def workers(jobs: int) -> Iterator[WorkerPool | None]:
    """A worker pool, or None for one job."""
    if jobs == 1:
        yield None
        return
    with WorkerPool(jobs) as pool:
        yield pool


def ask_all(
    batches: Sequence[TaskBatch], setup: Setup, pool: WorkerPool | None, progress: ProgressSink | None = None
) -> list[TaskResult]:
    """All results, in the order of batches and tasks."""
    load_profile(
        setup.options, setup.settings.weights
    )  # a fault in the options is the caller's, not that of the first task
    results, total = list[TaskResult](), sum(len(batch.tasks) for batch in batches)
    for batch, found in zip(batches, _answers(batches, setup, pool), strict=True):
        results += found
        if progress:
            progress(Progress("ask", len(results), total, batch.index.name))
    return results


def _answers(batches: Sequence[TaskBatch], setup: Setup, pool: WorkerPool | None) -> Iterator[list[TaskResult]]:
    if pool is None:
        return (ask(batch, setup) for batch in batches)
    there = replace(setup, settings=with_absolute_paths(setup.settings))
    waiting = [pool.submit(ask, replace(batch, index=batch.index.absolute()), there) for batch in batches]
    return (one.result() for one in waiting)


def ask(batch: TaskBatch, setup: Setup) -> list[TaskResult]:
    """Run the tasks of one index. A failed query has no hits and an error; an index that cannot be opened raises."""
    options = replace(setup.options, repositories=batch.repositories)
    with Store.read(batch.index, setup.settings.trust_indexes) as store, store.reading():
        for task in batch.tasks[:1]:
            ask_one(task, store, options, setup)
        return [ask_one(task, store, options, setup)[0] for task in batch.tasks]


def ask_one(task: Task, store: Store, options: SearchOptions, setup: Setup) -> tuple[TaskResult, Sequence[Candidate]]:
    """The result of one task, and all its candidates, best first."""
    profile = setup.change(load_profile(options, setup.settings.weights)) if setup.change else None
    candidates, fault = list[Candidate](), ""
    wall, cpu = time.perf_counter(), time.process_time()
    try:
        candidates = rank(task.query, store, options, setup.settings, profile).candidates
    except UsageError:
        raise  # of the options, which are the same for all tasks
    except CodelensError as said:
        fault = f"{type(said).__name__}: {said}"
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    answers = [NamedHit(c.unit.qualified_name, c.unit.path) for c in candidates]
    result = TaskResult(
        task,
        judge(task, answers, setup.rule, answers),
        tuple((c.unit.qualified_name, c.unit.path, c.unit.start_line) for c in candidates[:CUTOFF]),
        len(candidates),
        1000 * cpu,
        1000 * wall,
        fault,
    )
    return result, candidates


def counts(missing: Mapping[str, int]) -> str:
    """A list such as '12 of flask, 3 of zod'."""
    return ", ".join(f"{count} of {name or 'no repository'}" for name, count in missing.items())
