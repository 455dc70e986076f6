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
from codelens.evaluation.runner import Setup, TaskBatch, TaskResult, ask_one
from codelens.evaluation.tasks import Task
from codelens.memory.notebook import MemoryNotebook
from codelens.model.fast_dataclass import dataclass, replace
from codelens.model.request import SearchOptions
from codelens.model.search import Candidate
from codelens.query.parser import parse_query
from codelens.search.recollection import learnable
from codelens.store.store import Store

PAUSE = 86_400  # Seconds between two rounds
BETWEEN = 30  # Seconds between two tasks of a round


@dataclass(frozen=True, slots=True)
class Round:
    """The results of the tasks of all repositories after some rounds of feedback; round 0 is before any."""

    number: int
    taught: list[TaskResult]
    others: list[TaskResult]


def replay(batches: Sequence[TaskBatch], setup: Setup, rounds: int, done: Callable[[str], None]) -> list[Round]:
    """All rounds. `done` is called with the name of each index once it is through."""
    found = [Round(number, [], []) for number in range(rounds + 1)]
    for batch in batches:
        with tempfile.TemporaryDirectory() as folder:
            index = Path(folder) / batch.index.name
            try:
                index.symlink_to(batch.index.absolute())
            except OSError as fault:
                raise UsageError(f"{folder}: {fault.strerror}", "--rounds needs a folder that can hold links") from None
            for one, (taught, others) in zip(
                found, _rounds_of(replace(batch, index=index), setup, rounds), strict=True
            ):
                one.taught.extend(taught)
                one.others.extend(others)
        done(batch.index.name)
    return found


def _rounds_of(batch: TaskBatch, setup: Setup, rounds: int) -> Iterator[tuple[list[TaskResult], list[TaskResult]]]:
    taught, others = batch.tasks[::2], batch.tasks[1::2]
    options = replace(setup.options, repositories=batch.repositories, memory=True)
    with Store.read(batch.index, setup.settings.trust_indexes) as store, store.reading():
        now = max((read.time for read in store.history.all().values()), default=0)
        for number in range(rounds + 1):
            for task in taught if number else ():
                now += BETWEEN
                _teach(task, store, replace(options, now=now), setup)
            now += PAUSE
            asked = replace(options, now=now)
            first, second = ([ask_one(task, store, asked, setup)[0] for task in part] for part in (taught, others))
            yield first, second


def _teach(task: Task, store: Store, options: SearchOptions, setup: Setup) -> None:
    """Search, record the answer, and report what is right of it as used."""
    result, candidates = ask_one(task, store, options, setup)
    shown: Sequence[Candidate] = candidates[:CUTOFF]
    notebook = MemoryNotebook(store, on=True, now=options.now)
    words = learnable(part.text for part in parse_query(task.query).ranking_texts)
    notebook.record(task.query, words, [(rank, c.unit, c.unit.start_line) for rank, c in enumerate(shown, start=1)])
    for rank, entry in enumerate(result.judged.credited, start=1):
        if entry is not None:
            notebook.opened(rank)
