"""Replay tasks in rounds with simulated feedback: does what was found useful come first later, and does it harm other tasks?

Of each repository every second task is taught: its right hits among the first ten are reported as used, which judges the others of
that answer useless (knowing's test of ten rounds). The other tasks are only measured, after each round, with the same memory. The
memory lies in a temporary folder, next to a link to the index. Between two rounds lies a day, so that a session has faded.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from codelens.errors import UsageError
from codelens.evaluation.metrics import CUTOFF
from codelens.evaluation.runner import Setup, TaskBatch, TaskResult, run_task
from codelens.evaluation.tasks import Task
from codelens.memory.notebook import MemoryNotebook
from codelens.model.fast_dataclass import replace
from codelens.model.request import SearchOptions
from codelens.query.parser import parse_query
from codelens.search.recollection import learnable
from codelens.store.store import Store

PAUSE = 86_400  # Seconds between two rounds
BETWEEN = 30  # Seconds between two tasks of a round


RoundResults = tuple[list[TaskResult], list[TaskResult]]  # Of the taught tasks, and of the others


def replay_rounds(
    batches: Sequence[TaskBatch], setup: Setup, rounds: int, done: Callable[[str], None]
) -> list[RoundResults]:
    """The results of all tasks after each round of feedback; round 0 is before any.

    `done` is called with the name of each index once it is through.
    """
    results: list[RoundResults] = [([], []) for _ in range(rounds + 1)]
    for batch in batches:
        with tempfile.TemporaryDirectory() as folder:
            index = Path(folder) / batch.index.name
            try:
                index.symlink_to(batch.index.absolute())
            except OSError as fault:
                raise UsageError(f"{folder}: {fault.strerror}", "--rounds needs a folder that can hold links") from None
            of_batch = _replay_batch(replace(batch, index=index), setup, rounds)
            for (taught, others), (more_taught, more_others) in zip(results, of_batch, strict=True):
                taught.extend(more_taught)
                others.extend(more_others)
        done(batch.index.name)
    return results


def _replay_batch(batch: TaskBatch, setup: Setup, rounds: int) -> Iterator[RoundResults]:
    taught, others = batch.tasks[::2], batch.tasks[1::2]
    options = replace(setup.options, repositories=batch.repositories, memory=True)
    with Store.read(batch.index, setup.settings.trust_indexes) as store, store.reading():
        now = max((read.time for read in store.history.all().values()), default=0)
        for number in range(rounds + 1):
            for task in taught if number else ():
                now += BETWEEN
                _teach(task, store, replace(options, now=now), setup)
            now += PAUSE
            current = replace(options, now=now)
            first, second = ([run_task(task, store, current, setup)[0] for task in part] for part in (taught, others))
            yield first, second


def _teach(task: Task, store: Store, options: SearchOptions, setup: Setup) -> None:
    """Search, record the answer, and report what is right of it as used."""
    result, candidates = run_task(task, store, options, setup)
    notebook = MemoryNotebook(store, on=True, now=options.now)
    words = learnable(part.text for part in parse_query(task.query).ranking_texts)
    shown = enumerate(candidates[:CUTOFF], start=1)
    notebook.record(task.query, words, [(rank, c.unit, c.unit.start_line) for rank, c in shown])
    for rank, entry in enumerate(result.judged.credited, start=1):
        if entry is not None:
            notebook.opened(rank)
