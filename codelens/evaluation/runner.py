"""Run the queries of tasks against indexes, in this process or several, and judge the results.

`search.pipeline.rank` is timed: a whole search without rendering. The first query of a store runs once before it is timed, so
that times do not include the loading of a model.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

from codelens.config import Settings, resolve_paths
from codelens.errors import CodelensError, NoIndex, UsageError
from codelens.evaluation.metrics import CUTOFF, Judgement, NamedHit, Rule, judge_hits
from codelens.evaluation.tasks import Task
from codelens.index import Index
from codelens.model.code import IndexInfo
from codelens.model.fast_dataclass import frozen_dataclass, replace
from codelens.model.groups import group_pairs
from codelens.model.request import SearchOptions
from codelens.model.runs import Progress, ProgressSink
from codelens.model.search import Candidate
from codelens.processes.pool import WorkerPool
from codelens.search.pipeline import rank
from codelens.search.profiles import load_profile
from codelens.search.run import Profile
from codelens.store.store import Store

Change = Callable[[Profile], Profile]  # A function that changes a profile; it must be picklable for several processes


@frozen_dataclass
class Setup:
    """The options, settings and rule with which tasks are searched and judged."""

    options: SearchOptions
    settings: Settings
    rule: Rule
    change: Change | None = None  # A change of the profile that the options name


@frozen_dataclass
class TaskBatch:
    """Tasks of one index."""

    index: Path
    tasks: tuple[Task, ...]
    repositories: tuple[str, ...] = ()  # Repositories to search; empty means the whole index


@frozen_dataclass
class TaskResult:
    """The result of one task."""

    task: Task
    judged: Judgement
    top: tuple[tuple[str, str, int], ...]  # Qualified name, path and line of the first hits, best first
    candidates: int  # Number of candidates
    cpu_ms: float
    wall_ms: float
    fault: str = ""  # The error of a failed query, which is judged as one without hits


def batch_one_index(tasks: Sequence[Task], index: Path, info: IndexInfo) -> list[TaskBatch]:
    """Batch tasks for one index. If it has several repositories, each task searches only its own, if the index has it."""
    names = [row.name for row in info.repositories]
    by_scope: dict[tuple[str, ...], list[Task]] = {}
    for task in tasks:
        scope = (task.repository,) if len(names) > 1 and task.repository in names else ()
        by_scope.setdefault(scope, []).append(task)
    return [TaskBatch(index, tuple(by_scope[scope]), scope) for scope in sorted(by_scope)]


def batch_folder(tasks: Sequence[Task], folder: Path, suffix: str) -> tuple[list[TaskBatch], dict[str, int]]:
    """Batch each repository's tasks for FOLDER/REPO{suffix}.db; also return repository → number of tasks without an index."""
    by_repository = group_pairs((task.repository, task) for task in tasks)
    places = {name: folder / f"{name}{suffix}.db" for name in sorted(by_repository)}
    missing = {name: len(by_repository[name]) for name, place in places.items() if not place.is_file()}
    if len(missing) == len(places):
        examples = " or ".join(places[name].name for name in list(missing)[:2])
        raise NoIndex(f"no {examples} in {folder}", "name the folder of REPO.db")
    batches = [TaskBatch(place, tuple(by_repository[name])) for name, place in places.items() if name not in missing]
    return batches, missing


def read_index_infos(batches: Sequence[TaskBatch], settings: Settings) -> dict[str, IndexInfo]:
    """Read the info of each index, by the stem of its file name. Raises IndexCorrupt and SchemaTooNew."""
    infos = {}
    for place in dict.fromkeys(batch.index for batch in batches):
        with Index.open(place, settings) as index:
            infos[place.stem] = index.info()
    return infos


def open_workers(jobs: int) -> AbstractContextManager[WorkerPool | None]:
    """Open a worker pool; None for one job."""
    return nullcontext() if jobs == 1 else WorkerPool(jobs)


def run_tasks(
    batches: Sequence[TaskBatch], setup: Setup, pool: WorkerPool | None, progress: ProgressSink | None = None
) -> list[TaskResult]:
    """Run all tasks and return their results, in the order of batches and tasks."""
    load_profile(setup.options, setup.settings.weights)  # raises early if the options have a fault
    if pool is None:
        results_by_batch = (run_batch(batch, setup) for batch in batches)
    else:
        absolute = replace(setup, settings=resolve_paths(setup.settings))
        jobs = [pool.submit(run_batch, replace(batch, index=batch.index.absolute()), absolute) for batch in batches]
        results_by_batch = (job.result() for job in jobs)
    results, total = list[TaskResult](), sum(len(batch.tasks) for batch in batches)
    for batch, results_of_batch in zip(batches, results_by_batch, strict=True):
        results += results_of_batch
        if progress:
            progress(Progress("ask", len(results), total, batch.index.name))
    return results


def run_batch(batch: TaskBatch, setup: Setup) -> list[TaskResult]:
    """Run the tasks of one index. A failed query gives an error and no hits; an index that cannot be opened raises."""
    options = replace(setup.options, repositories=batch.repositories)
    with Store.read(batch.index, setup.settings.trust_indexes) as store, store.reading():
        for task in batch.tasks[:1]:
            _run_task(task, store, options, setup)
        return [_run_task(task, store, options, setup) for task in batch.tasks]


def _run_task(task: Task, store: Store, options: SearchOptions, setup: Setup) -> TaskResult:
    profile = setup.change(load_profile(options, setup.settings.weights)) if setup.change else None
    candidates, fault = list[Candidate](), ""
    wall, cpu = time.perf_counter(), time.process_time()
    try:
        candidates = rank(task.query, store, options, setup.settings, profile).candidates
    except UsageError:
        raise  # a fault of the options, which are the same for all tasks
    except CodelensError as error:
        fault = f"{type(error).__name__}: {error}"
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    hits = [NamedHit(c.unit.qualified_name, c.unit.path) for c in candidates]
    top = tuple((c.unit.qualified_name, c.unit.path, c.unit.start_line) for c in candidates[:CUTOFF])
    judged = judge_hits(task, hits, setup.rule)
    return TaskResult(task, judged, top, len(candidates), 1000 * cpu, 1000 * wall, fault)
