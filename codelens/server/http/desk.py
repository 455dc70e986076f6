"""Answers questions from the cache, from an equal question that is being answered, or by a worker.

Workers are processes by default, because Python computes in one thread at a time. A cached answer is sent only while the
index, and the other files that answers depend on, are unchanged.
"""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from concurrent.futures import BrokenExecutor, ThreadPoolExecutor
from math import inf
from pathlib import Path

from codelens.config import Settings, resolve_paths
from codelens.errors import CodelensError
from codelens.fleet.open import FleetPlace
from codelens.index import Index
from codelens.processes.pool import WorkerPool
from codelens.processes.python import count_cores
from codelens.server.http.answers import ApiRequest, Endpoint, Outcome, answer_question
from codelens.server.http.faults import Fault, make_fault
from codelens.server.http.gate import RETRY_SECONDS, VISIBLE
from codelens.worktree.place import locate_traces

MOST_WAITING = 200  # Questions that may wait for a worker; for further ones the server is busy
MOST_WORKERS = 4  # Default number of workers: each holds some 100 MB
THREADS = 2  # Threads if there are no worker processes: one can compute while the other reads
ATTEMPTS = 2  # A question fails after this many workers died while answering it


SECONDS = 300.0  # How long an answer is cached, as in the marketplace
MOST_BYTES = 64_000_000  # Most bytes of all cached answers; the least recently used is dropped first
UNSURE_NS = 100_000_000
"""A file that changed this recently may change again without a new timestamp, because timestamps advance in steps of some
milliseconds, on network file systems in tens of them."""

Key = tuple[str, str, str]  # (state of the index and of the files next to it, endpoint, question)
Stamp = tuple[tuple[int, int, int] | None, ...]
"""(inode, size, time of change) of each file; None for a missing file."""


class AnswerCache:
    """Cached answers, each kept for five minutes. Not thread-safe: only the event loop uses it."""

    def __init__(self, clock: Callable[[], float] = time.monotonic, most_bytes: int = MOST_BYTES) -> None:
        self._clock = clock
        self._most = most_bytes
        self._bytes = 0
        self._answers: OrderedDict[Key, tuple[bytes, float]] = OrderedDict()  # (body, time when it was made)

    def get(self, key: Key) -> tuple[bytes, int] | None:
        """Look an answer up; returns (body, its age in whole seconds), or None if it is missing or too old."""
        body, made = self._answers.get(key, (b"", -inf))
        age = self._clock() - made
        if age >= SECONDS:
            self._drop(key)
            return None
        self._answers.move_to_end(key)
        return body, int(age)

    def put(self, key: Key, body: bytes) -> None:
        """Cache an answer, and drop the least recently used ones if there is too little room."""
        self._drop(key)
        if len(body) > self._most:
            return
        self._answers[key] = body, self._clock()
        self._bytes += len(body)
        while self._bytes > self._most:
            self._drop(next(iter(self._answers)))

    def _drop(self, key: Key) -> None:
        self._bytes -= len(self._answers.pop(key, (b"", 0.0))[0])


def stamp_files(files: Sequence[Path], now: Callable[[], int] = time.time_ns) -> tuple[Stamp, bool]:
    """Return (stamp that differs after a change of a file, True if the next change is sure to give a different one)."""
    looked = now()
    parts = list[tuple[int, int, int] | None]()
    for file in files:
        try:
            stat = file.stat()
            parts.append((stat.st_ino, stat.st_size, stat.st_mtime_ns))
        except OSError:
            parts.append(None)
    return tuple(parts), all(part is None or part[2] < looked - UNSURE_NS for part in parts)


def list_deciding_files(index: Path, settings: Settings) -> list[Path]:
    """List the files besides the index that answers depend on: recorded traces, and files that the settings name."""
    return [locate_traces(index), *map(Path, filter(None, (settings.metadata, settings.aliases, settings.classes)))]


class IndexState:
    """The snapshot of an index file, remembered until the file changes."""

    def __init__(self, index: Path, settings: Settings, now: Callable[[], int] = time.time_ns) -> None:
        self._index, self._settings, self._now = index, settings, now
        self._known: tuple[Stamp, str] | None = None

    def _stamp(self) -> tuple[Stamp, bool]:
        return stamp_files((self._index, self._index.with_name(f"{self._index.name}-wal")), self._now)

    def find_cached_snapshot(self) -> str | None:
        """Return the remembered snapshot, or None if the index may have changed since `read_snapshot`."""
        known = self._known
        return known[1] if known is not None and known[0] == self._stamp()[0] else None

    def read_snapshot(self) -> str:
        """Read the snapshot from the index. Raises the errors of `Index.open`."""
        before, is_settled = self._stamp()
        with Index.open(self._index, self._settings) as opened:
            snapshot = opened.info().snapshot
        self._known = (before, snapshot) if is_settled else None
        return snapshot


class FleetState:
    """The snapshot of a fleet, read from its manifest."""

    def __init__(self, fleet: FleetPlace) -> None:
        self._fleet = fleet
        self._known = ("", "")

    def find_cached_snapshot(self) -> None:
        """Return None, because checking a remote store takes too long here."""

    def read_snapshot(self) -> str:
        stamp = self._fleet.compute_stamp()
        if self._known[0] != stamp:
            self._known = stamp, self._fleet.compute_snapshot()
        return self._known[1]


class QueryDesk:
    """Answers questions about one index file or fleet. It must be closed."""

    def __init__(
        self, index: Path | FleetPlace, settings: Settings, workers: int = 0, answers: AnswerCache | None = None
    ) -> None:
        self._place = index.absolute() if isinstance(index, Path) else index
        self.settings = resolve_paths(settings)
        self._workers = WorkerPool(workers) if workers else None
        self._threads = ThreadPoolExecutor(THREADS, "codelens-search")
        self._quick = ThreadPoolExecutor(1, "codelens-snapshot")
        self._state = IndexState(index, settings) if isinstance(index, Path) else FleetState(index)
        place = index if isinstance(index, Path) else Path(index.store)
        self._deciding_files = list_deciding_files(place, settings)
        self._answers = answers if answers is not None else AnswerCache()
        self._underway: dict[Key, asyncio.Task[Outcome]] = {}

    def close(self) -> None:
        """End the workers, and drop the questions that wait for them."""
        self._quick.shutdown(wait=False, cancel_futures=True)
        self._threads.shutdown(wait=True, cancel_futures=True)
        if self._workers:
            self._workers.close()

    async def ask(self, endpoint: Endpoint, request: ApiRequest) -> tuple[bytes, int | None]:
        """Answer a request from the cache or by a worker. Raises Fault.

        Returns the JSON text, and the seconds since it was cached; None if it was made for this request.
        """
        text = request.model_dump_json(exclude_defaults=True)
        # Read before the answer is made, so that an answer is never older than its key.
        stamp, settled = stamp_files(self._deciding_files)
        may_keep, visible = endpoint.may_be_cached and settled, VISIBLE.get()
        try:
            if (snapshot := self._state.find_cached_snapshot()) is None:
                snapshot = await asyncio.get_running_loop().run_in_executor(self._quick, self._state.read_snapshot)
        except CodelensError as error:
            raise make_fault(error) from None
        key = (f"{snapshot} {stamp} {visible}", endpoint.name, text)
        if may_keep and (cached := self._answers.get(key)):
            return cached
        outcome = await self._ask_once(key, visible)
        if outcome.fault is not None:
            raise outcome.fault
        if may_keep and outcome.complete:
            self._answers.put((f"{outcome.snapshot} {stamp} {visible}", endpoint.name, text), outcome.body)
        return outcome.body, None

    async def _ask_once(self, key: Key, visible: tuple[str, ...]) -> Outcome:
        """Answer equal questions about one state of the index once. A client that disconnects does not cancel the others'."""
        task = self._underway.get(key)
        if task is None:
            if len(self._underway) >= MOST_WAITING:
                raise Fault(503, "too many requests at once", "try again later", retry_after=RETRY_SECONDS)
            task = asyncio.create_task(self._ask_worker(key[1], key[2], visible))
            self._underway[key] = task
            task.add_done_callback(lambda _: self._underway.pop(key, None))
        return await asyncio.shield(task)

    async def _ask_worker(self, name: str, text: str, visible: tuple[str, ...]) -> Outcome:
        """Let a worker answer. If the worker dies, the pool starts another, which gets the question once more."""
        pool = self._workers or self._threads
        for _ in range(ATTEMPTS):
            try:
                asked = pool.submit(answer_question, self._place, self.settings, name, text, visible)
                return await asyncio.wrap_future(asked)
            except (BrokenExecutor, OSError):  # killed or not started, for example for lack of memory
                continue
            except CodelensError as error:  # the worker failed to start
                return Outcome(b"", "", make_fault(error))
        text = f"{ATTEMPTS} worker processes died while they answered this request"
        fault = Fault(503, text, "try again later; the server may lack memory", retry_after=RETRY_SECONDS)
        return Outcome(b"", "", fault)


def count_default_workers() -> int:
    """Count a worker for each core, up to MOST_WORKERS."""
    return min(MOST_WORKERS, count_cores())
