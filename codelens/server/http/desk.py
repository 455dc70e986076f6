"""Questions → answers: from what is kept, from an equal question that is being answered, or by a worker.

Searching is computing, and Python computes in one thread at a time: so workers are processes, unless none are wanted.
"""

from __future__ import annotations

import asyncio
import os
from concurrent.futures import BrokenExecutor, ThreadPoolExecutor
from pathlib import Path

from codelens.config import Settings, with_absolute_paths
from codelens.errors import CodelensError
from codelens.fleet.open import FleetPlace
from codelens.model.fast_dataclass import dataclass
from codelens.processes.pool import WorkerPool
from codelens.server.http.answers import Endpoint, Outcome, outcome
from codelens.server.http.cache import Answers, Beside, FleetState, IndexState, Key
from codelens.server.http.faults import Fault, RequestRefused, fault_of
from codelens.server.http.gate import VISIBLE
from codelens.server.http.questions import ApiRequest

MOST_WAITING = 200  # Questions that may wait for a worker; further ones hear that the server is busy
MOST_WORKERS = 4  # Default number of workers: each holds some 100 MB
THREADS = 2  # Threads if there are no worker processes: one computes while another reads
RETRY_SECONDS = 2
ATTEMPTS = 2  # Workers that may die of one question before it fails


@dataclass(frozen=True, slots=True)
class ServedAnswer:
    """The JSON text of an answer, and for how many seconds it has been kept."""

    body: bytes
    age: int | None = None  # None where it was made for this question


class QueryDesk:
    """Answers questions about one index file or fleet. Close it."""

    def __init__(
        self, index: Path | FleetPlace, settings: Settings, workers: int = 0, answers: Answers | None = None
    ) -> None:
        self._place = index.absolute() if isinstance(index, Path) else index
        self.settings = with_absolute_paths(settings)
        self._workers = WorkerPool(workers) if workers else None
        self._threads = ThreadPoolExecutor(THREADS, "codelens-search")
        self._quick = ThreadPoolExecutor(1, "codelens-snapshot")
        self._state = IndexState(index, settings) if isinstance(index, Path) else FleetState(index)
        self._beside = Beside(Path(index) if isinstance(index, Path) else Path(index.store), settings)
        self._answers = answers if answers is not None else Answers()
        self._underway: dict[Key, asyncio.Task[Outcome]] = {}

    def close(self) -> None:
        """Questions that wait are given up."""
        self._quick.shutdown(wait=False, cancel_futures=True)
        self._threads.shutdown(wait=True, cancel_futures=True)
        if self._workers:
            self._workers.close()

    async def ask(self, endpoint: Endpoint, request: ApiRequest) -> ServedAnswer:
        """Raises Refused with what went wrong."""
        text = request.model_dump_json(exclude_defaults=True)
        beside, settled = self._beside.stamp()  # before the answer is made: so it is never older than its key
        may_keep, visible = endpoint.kept and settled, VISIBLE.get()
        key = (f"{await self._snapshot()} {beside} {visible}", endpoint.name, text)
        if may_keep and (kept := self._answers.get(key)):
            return ServedAnswer(*kept)
        found = await self._shared(key, visible)
        if found.fault is not None:
            raise RequestRefused(found.fault)
        if may_keep and found.complete:
            self._answers.put((f"{found.snapshot} {beside} {visible}", endpoint.name, text), found.body)
        return ServedAnswer(found.body)

    async def _snapshot(self) -> str:
        try:
            if (known := self._state.known()) is not None:
                return known
            return await asyncio.get_running_loop().run_in_executor(self._quick, self._state.read)
        except CodelensError as error:
            raise RequestRefused(fault_of(error)) from None

    async def _shared(self, key: Key, visible: tuple[str, ...]) -> Outcome:
        """Equal questions about one state of the index are answered once. Whoever goes away takes nothing from the others."""
        task = self._underway.get(key)
        if task is None:
            if len(self._underway) >= MOST_WAITING:
                raise RequestRefused(
                    Fault(503, "too many requests at once", "try again later", retry_after=RETRY_SECONDS)
                )
            task = asyncio.create_task(self._worked(key[1], key[2], visible))
            self._underway[key] = task
            task.add_done_callback(lambda _: self._underway.pop(key, None))
        return await asyncio.shield(task)

    async def _worked(self, name: str, text: str, visible: tuple[str, ...]) -> Outcome:
        """The outcome from a worker. If the worker dies, the pool starts another, which gets the question once more."""
        pool = self._workers or self._threads
        for _ in range(ATTEMPTS):
            try:
                asked = pool.submit(outcome, self._place, self.settings, name, text, visible)
                return await asyncio.wrap_future(asked)
            except (BrokenExecutor, OSError):  # killed or not started, for example for lack of memory
                continue
            except CodelensError as error:  # it ended at its start
                return Outcome(b"", "", fault_of(error))
        text = f"{ATTEMPTS} worker processes died while they answered this request"
        fault = Fault(503, text, "try again later; the server may lack memory", retry_after=RETRY_SECONDS)
        return Outcome(b"", "", fault)


def workers_here() -> int:
    """A worker for each core, up to MOST_WORKERS."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(MOST_WORKERS, cores)
