"""Jobs → results, in the jobs' order, through worker processes that may be killed.

A thread for each worker sends it a few jobs ahead and receives its results. A worker that dies or exceeds its time is
replaced, and its file is derived again without its grammar. So a bad grammar costs one file its symbols, and no file
its text.
"""

from __future__ import annotations

import marshal
import os
import threading
import time
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING

from codelens.config import Settings, with_absolute_paths
from codelens.indexing.derive import Job
from codelens.indexing.worker import LARGE_FRAME, Result, is_part, pack, pack_job, unpack, unpack_part
from codelens.model.code import Skip, SkipReason
from codelens.model.extraction import DerivedPart, UnfinishedFile
from codelens.model.fast_dataclass import dataclass, field, replace, values_of

if TYPE_CHECKING:
    from codelens.processes.worker import WorkerProcess

AHEAD_JOBS = 256  # Files that the workers may be ahead of the consumer
AHEAD_BYTES = 3_000_000  # The same in bytes of source: a result is about four times its source, so at most 12 MB wait
PARTS_AHEAD = 2  # Parts of a large file that may wait for the consumer, each a few megabytes
QUEUED = 4  # Jobs that a worker holds, so that it need not wait while this process writes to the database
BYTES_A_WORKER = 400_000
"""Bytes of source that justify another worker: about what one derives in the time a worker takes to start."""
JOBS_A_WORKER = 100  # The same in files, for trees of small ones
MOST_WORKERS = 8
"""Limit unless the setting `jobs` is larger. In a prototype the writing process was the limit from three workers on."""
WALL_FACTOR, WALL_EXTRA = 10.0, 20.0
"""Wall-clock seconds before a worker is killed: parse_seconds × 10 + 20. The CPU limit normally comes first, so both
are generous, for a busy machine."""
WATCH_SECONDS = 0.25  # Interval of checks for overdue workers, at most a quarter of the wall-clock limit
KEPT_BYTES = 1_000_000
"""Bytes of source of a repository after which workers are kept for the next one. After a larger one they are ended: linking needs
the memory, and starting them again costs little, compared with what they did. Chosen."""
STOP_SECONDS = 0.05  # Interval of attempts to end a worker, whose thread may just have replaced a killed process


class KeptWorkers:
    """Workers that go on from one small repository to the next; their CPU time is counted where they end. Close it."""

    def __init__(self, repositories: int) -> None:
        """After the last of so many repositories no workers are left."""
        self._left = repositories
        self._pool: _DerivePool | None = None

    def take(self, settings: Settings) -> _DerivePool | None:
        """The workers that were kept, if they have the same settings."""
        pool, self._pool = self._pool, None
        if pool and pool.settings != settings:
            pool.close()
            return None
        return pool

    def give_back(self, pool: _DerivePool) -> None:
        """Keep workers that have done all of their tasks, or end them."""
        self._left -= 1
        if self._left > 0 and pool.bytes_of_run <= KEPT_BYTES:
            self._pool = pool
        else:
            pool.close()

    def close(self) -> None:
        """End workers that nobody has taken."""
        if self._pool:
            self._pool.close()


def derive_all(
    jobs: Iterable[Job], settings: Settings, wall_seconds: float | None = None, kept: KeptWorkers | None = None
) -> Iterator[Result]:
    """One result for each job, in order. Closing the iterator early ends the workers.

    `jobs` is read in the caller's thread. Raises CodelensError if no worker process can be started; any other fault is
    the result of its file.
    """
    pool = kept.take(settings) if kept else None
    pool = pool or _DerivePool(settings, wall_seconds or settings.parse_seconds * WALL_FACTOR + WALL_EXTRA)
    try:
        yield from pool.run(jobs)
    except BaseException:
        pool.close()
        raise
    if kept:
        kept.give_back(pool)
    else:
        pool.close()


def worker_count(settings: Settings) -> int:
    """Maximum number of workers of a run."""
    if settings.jobs:
        return settings.jobs
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(cores, MOST_WORKERS)


@dataclass(slots=True)
class _DeriveTask:
    job: Job
    answer: bytes | None = None
    is_in_parts: bool = False  # True for a large file
    parts: deque[bytes] = field(default_factory=deque)  # Frames of a large file that wait for the consumer

    @property
    def weight(self) -> int:
        """Bytes of source that the task may keep in memory."""
        return min(self.job.seen.stamp.size, AHEAD_BYTES // 2)

    @property
    def is_large(self) -> bool:
        """True if its message may exceed the capacity of a pipe (64 kB on Linux, 4 kB elsewhere)."""
        return self.job.moved is not None


class _DerivePool:
    """The tasks between the consumer and the threads of the workers."""

    def __init__(self, settings: Settings, wall_seconds: float) -> None:
        self.settings = settings
        self.wall_seconds = wall_seconds
        self.closed = False
        self._waiting: deque[_DeriveTask] = deque()
        self._changed = threading.Condition()
        self._failure: BaseException | None = None
        self._workers: list[_DeriveWorker] = []
        self._jobs = self._bytes = 0
        self.bytes_of_run = 0
        """Bytes of source of the last run."""

    def run(self, jobs: Iterable[Job]) -> Iterator[Result]:
        self.bytes_of_run = 0
        source, ahead, held = iter(jobs), deque[_DeriveTask](), 0
        while True:
            while (not ahead or (len(ahead) < AHEAD_JOBS and held < AHEAD_BYTES)) and (job := next(source, None)):
                ahead.append(_DeriveTask(job))
                held += ahead[-1].weight
                self._offer(ahead[-1])
            if not ahead:
                return
            task = ahead.popleft()
            held -= task.weight
            answer = self._answer(task)
            if not task.is_in_parts:
                yield unpack(answer, task.job.seen)
                continue
            parts = self._parts(task)
            yield unpack(answer, task.job.seen, parts)
            with suppress(UnfinishedFile):
                deque(parts, maxlen=0)  # unread parts would keep the worker waiting

    def _offer(self, task: _DeriveTask) -> None:
        with self._changed:
            self._waiting.append(task)
            self._changed.notify_all()
        self._jobs += 1
        self._bytes += task.weight
        self.bytes_of_run += task.weight
        wanted = 1 + max(self._jobs // JOBS_A_WORKER, self._bytes // BYTES_A_WORKER)
        if len(self._workers) < min(wanted, self._jobs, worker_count(self.settings)):
            self._workers.append(_DeriveWorker(self))
            if len(self._workers) == 1:
                threading.Thread(target=self._watch, name="codelens-watch", daemon=True).start()

    def _answer(self, task: _DeriveTask) -> bytes:
        with self._changed:
            while task.answer is None:
                if self._failure:
                    raise self._failure
                self._changed.wait()
        return task.answer

    def _parts(self, task: _DeriveTask) -> Iterator[DerivedPart]:
        """The parts of a large file as they arrive. Raises UnfinishedFile."""
        while True:
            with self._changed:
                while not task.parts:
                    if self._failure:
                        raise self._failure
                    self._changed.wait()
                frame = task.parts.popleft()
                self._changed.notify_all()
            part = unpack_part(frame)
            if part is None:
                return
            yield part

    def add_part(self, task: _DeriveTask, frame: bytes) -> None:
        """For a worker's thread: add a part of a large file, or the frame that ends the parts."""
        with self._changed:
            task.parts.append(frame)
            self._changed.notify_all()

    def wait_for_room(self, task: _DeriveTask) -> None:
        """For a worker's thread: wait until the consumer has taken enough parts."""
        with self._changed:
            while len(task.parts) >= PARTS_AHEAD and not self.closed:
                self._changed.wait()

    def next_task(self, idle: bool) -> _DeriveTask | None:
        """For a worker's thread: the next task. An idle worker waits for it until the pool closes.

        A busy worker gets None instead of waiting, and instead of a large task: its process may be writing a result,
        and would then not read a large message from the pipe.
        """
        with self._changed:
            while idle and not self._waiting and not self.closed:
                self._changed.wait()
            if self.closed or not self._waiting or (self._waiting[0].is_large and not idle):
                return None
            return self._waiting.popleft()

    def finish(self, task: _DeriveTask, answer: bytes) -> None:
        with self._changed:
            task.answer = answer
            self._changed.notify_all()

    def fail(self, fault: BaseException) -> None:
        """End the run with this fault: no worker can be started."""
        with self._changed:
            self._failure = self._failure or fault
            self._changed.notify_all()

    def _watch(self) -> None:
        while not self.closed:
            time.sleep(min(WATCH_SECONDS, self.wall_seconds / 4))
            for worker in self._workers:
                worker.check()

    def close(self) -> None:
        with self._changed:
            self.closed = True
            self._changed.notify_all()
        for worker in self._workers:
            worker.stop()


class _DeriveWorker:
    """A thread, its worker process, and the tasks that the process has not finished."""

    def __init__(self, pool: _DerivePool) -> None:
        self._pool = pool
        self._given: deque[_DeriveTask] = deque()
        self._process: WorkerProcess | None = None
        self._thread = threading.Thread(target=self._serve, name="codelens-worker", daemon=True)
        self._thread.start()

    def check(self) -> None:
        if process := self._process:
            process.check()

    def stop(self) -> None:
        while self._thread.is_alive():
            if process := self._process:
                process.kill()
            self._thread.join(STOP_SECONDS)

    def _serve(self) -> None:
        try:
            process = self._start()
            while self._fill(process):
                process = self._collect(process)
        except BaseException as fault:  # passed on to the run
            self._pool.fail(fault)
        finally:
            if self._process:
                self._process.kill()
                self._process.bury()

    def _fill(self, process: WorkerProcess) -> bool:
        """Send up to QUEUED tasks, waiting for one if it has none; False when the pool is closed."""
        while len(self._given) < QUEUED and (task := self._pool.next_task(idle=not self._given)):
            self._given.append(task)
            process.send(pack_job(task.job))
        return bool(self._given) and not self._pool.closed

    def _start(self) -> WorkerProcess:
        from codelens.processes.worker import WorkerProcess  # a run without changes starts none

        settings = self._pool.settings
        process = self._process = WorkerProcess(
            "codelens.indexing.worker",
            values_of(with_absolute_paths(settings)),
            settings.parse_seconds,
            self._pool.wall_seconds,
        )
        process.greet()
        return process

    def _collect(self, process: WorkerProcess) -> WorkerProcess:
        """Receive one result; if the process has ended, replace it."""
        answer = process.receive(more=len(self._given) > 1)
        if answer == LARGE_FRAME:
            return self._collect_parts(process)
        if answer is not None:
            self._pool.finish(self._given.popleft(), answer)
        elif not self._pool.closed:
            return self._replace(f"grammar {process.bury()}")
        return process

    def _collect_parts(self, process: WorkerProcess) -> WorkerProcess:
        """Receive the parts of a large file, no faster than they are stored."""
        task = self._given[0]
        frame = process.receive(more=True)
        if frame is not None:
            task.is_in_parts = True
            self._pool.finish(task, frame)
        while frame is not None and not self._pool.closed:
            process.rest()
            self._pool.wait_for_room(task)
            frame = process.receive(more=len(self._given) > 1)
            if frame is not None:
                self._pool.add_part(task, frame)
                if not is_part(frame):
                    self._given.popleft()
                    return process
        return process if self._pool.closed else self._replace(process.bury())

    def _replace(self, cause: str) -> WorkerProcess:
        """Replace a process that died of its first task: repeat that one without its grammar, then the others."""
        task = self._given[0]
        if task.is_in_parts:
            self._given.popleft()
            self._pool.add_part(task, marshal.dumps(f"a worker process ended while it was read: {cause}"))
        elif task.job.grammar_fault:
            skip = Skip(task.job.seen.path, SkipReason.UNREADABLE, f"{cause}, and again without its grammar")
            self._pool.finish(self._given.popleft(), marshal.dumps(pack(skip)))
        else:
            task.job = replace(task.job, grammar_fault=cause)
        process = self._start()
        for given in self._given:
            process.send(pack_job(given.job))
        return process
