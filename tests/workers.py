"""Worker processes for the builds of many tests: one takes six times as long to start as to derive the files of a small tree."""

from __future__ import annotations

import sys
from concurrent.futures import Future
from dataclasses import replace
from typing import Any

from codelens.config import Settings
from codelens.indexing.derive import Job
from codelens.indexing.workers import KeptWorkers
from codelens.processes.pool import CallStream

_idle: dict[tuple[object, ...], KeptWorkers] = {}


class LentWorkers:
    """The workers of one build, which it leaves to the next one with the same settings, unless something went wrong."""

    def __init__(self, repositories: int) -> None:
        self._answers: list[Future[Any]] = []
        self._workers: KeptWorkers | None = None
        self._kind: tuple[object, ...] = ()

    def submit_job(self, job: Job, settings: Settings) -> Future[Any]:
        settings = replace(settings, classes="", aliases="", query_seconds=0)  # what only searches read
        if self._workers is None:
            self._kind = (settings, sys.executable, *sys.path)
            self._workers = _idle.pop(self._kind, None) or KeptWorkers(sys.maxsize)
        self._answers.append(self._workers.submit_job(job, settings))
        return self._answers[-1]

    def end_repository(self, size: int) -> None:
        if self._workers:
            self._workers.end_repository(size)

    def close(self) -> None:
        workers, self._workers = self._workers, None
        unharmed = all(a.done() and not a.exception() and not isinstance(a.result(), CallStream) for a in self._answers)
        if workers and not (unharmed and _idle.setdefault(self._kind, workers) is workers):
            workers.close()
        while len(_idle) > 3:
            _idle.pop(next(iter(_idle))).close()


def close_idle_workers() -> None:
    while _idle:
        _idle.popitem()[1].close()
