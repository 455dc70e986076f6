"""Tasks and indexes → answers: every query asked in this process or several, one open store for each repository.

What is measured is `search.pipeline.rank`, the whole way from a query to its order; rendering is not. Before the first
query of a store one is asked that does not count, so that no figure holds the loading of a model.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from codelens.config import Settings, with_absolute_paths
from codelens.errors import CodelensError, NoIndex, UsageError
from codelens.evaluation.judging import CUTOFF, Answer, Judged, Rule, judge
from codelens.evaluation.qrels import Task
from codelens.index import Index
from codelens.model import Candidate, IndexInfo, SearchOptions
from codelens.nouns import dataclass
from codelens.processes.pool import WorkerPool
from codelens.runs import Progress, ProgressSink
from codelens.search.pipeline import rank
from codelens.search.profiles import Profile, load_profile
from codelens.store.store import Store

Change = Callable[[Profile], Profile]
"""A profile → another; what goes to other processes must be picklable."""


@dataclass(frozen=True, slots=True)
class Setup:
    """How every task is asked and judged."""

    options: SearchOptions
    settings: Settings
    rule: Rule
    change: Change | None = None
    """What is changed in the profile that the options name."""


@dataclass(frozen=True, slots=True)
class Batch:
    """The tasks that one index is asked."""

    index: Path
    tasks: tuple[Task, ...]
    repositories: tuple[str, ...] = ()
    """The search is limited to these; empty means the whole index."""


@dataclass(frozen=True, slots=True)
class Asked:
    """One task with its answer."""

    task: Task
    judged: Judged
    top: tuple[tuple[str, str, int], ...]
    """(qualified name, path, line) of the first hits, best first."""
    candidates: int
    """How many the whole order has."""
    cpu_ms: float
    wall_ms: float
    fault: str = ""
    """Why there is no answer; such a task is judged as one without hits."""


def batches_of_one(tasks: Sequence[Task], index: Path, info: IndexInfo) -> list[Batch]:
    """All tasks to one index; where it holds several repositories, each task to its own, if that is among them."""
    names = [row.name for row in info.repositories]
    parted: dict[tuple[str, ...], list[Task]] = {}
    for task in tasks:
        own = (task.repository,) if len(names) > 1 and task.repository in names else ()
        parted.setdefault(own, []).append(task)
    return [Batch(index, tuple(parted[own]), own) for own in sorted(parted)]


def batches_of_folder(tasks: Sequence[Task], folder: Path, suffix: str) -> tuple[list[Batch], dict[str, int]]:
    """Each repository's tasks to FOLDER/REPO{suffix}.db; and repository → number of tasks that have no index."""
    parted: dict[str, list[Task]] = {}
    for task in tasks:
        parted.setdefault(task.repository, []).append(task)
    places = {repository: folder / f"{repository}{suffix}.db" for repository in sorted(parted)}
    missing = {repository: len(parted[repository]) for repository, place in places.items() if not place.is_file()}
    if len(missing) == len(places):
        raise NoIndex(
            f"no {' or '.join(places[r].name for r in list(missing)[:2])} in {folder}", "name the folder of REPO.db"
        )
    return [Batch(place, tuple(parted[name])) for name, place in places.items() if name not in missing], missing


def infos(batches: Sequence[Batch], settings: Settings) -> dict[str, IndexInfo]:
    """What each index says of itself, by its file's name. Raises IndexCorrupt and SchemaTooNew."""
    found = {}
    for place in dict.fromkeys(batch.index for batch in batches):
        with Index.open(place, settings) as index:
            found[place.stem] = index.info()
    return found


@contextmanager
def workers(jobs: int) -> Iterator[WorkerPool | None]:
    """Processes to ask in; None where one job does it all here."""
    if jobs == 1:
        yield None
        return
    with WorkerPool(jobs) as pool:
        yield pool


def ask_all(
    batches: Sequence[Batch], setup: Setup, pool: WorkerPool | None, progress: ProgressSink | None = None
) -> list[Asked]:
    """All answers, in the order of the batches and of their tasks, whoever was done first."""
    load_profile(
        setup.options, setup.settings.weights
    )  # a fault in the options is the caller's, not that of the first task
    asked, total = list[Asked](), sum(len(batch.tasks) for batch in batches)
    for batch, found in zip(batches, _answers(batches, setup, pool), strict=True):
        asked += found
        if progress:
            progress(Progress("ask", len(asked), total, batch.index.name))
    return asked


def _answers(batches: Sequence[Batch], setup: Setup, pool: WorkerPool | None) -> Iterator[list[Asked]]:
    if pool is None:
        return (ask(batch, setup) for batch in batches)
    there = replace(setup, settings=with_absolute_paths(setup.settings))
    waiting = [pool.submit(ask, replace(batch, index=batch.index.absolute()), there) for batch in batches]
    return (one.result() for one in waiting)


def ask(batch: Batch, setup: Setup) -> list[Asked]:
    """The tasks of one index. A query that fails has no hits and says why; an index that cannot be opened raises."""
    options = replace(setup.options, repositories=batch.repositories)
    with Store.read(batch.index, setup.settings.trust_indexes) as store, store.reading():
        for task in batch.tasks[:1]:
            _ask_one(task, store, options, setup)
        return [_ask_one(task, store, options, setup) for task in batch.tasks]


def _ask_one(task: Task, store: Store, options: SearchOptions, setup: Setup) -> Asked:
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
    answers = [Answer(c.unit.qualified_name, c.unit.path) for c in candidates]
    return Asked(
        task,
        judge(task, answers, setup.rule, answers),
        tuple((c.unit.qualified_name, c.unit.path, c.unit.start_line) for c in candidates[:CUTOFF]),
        len(candidates),
        1000 * cpu,
        1000 * wall,
        fault,
    )


def counts(missing: Mapping[str, int]) -> str:
    """'12 of flask, 3 of zod', for notes."""
    return ", ".join(f"{count} of {name or 'no repository'}" for name, count in missing.items())
