"""Jobs → results, in the jobs' order, through worker processes that may be killed.

Each worker has a thread here that feeds it a few jobs ahead and takes its answers; a worker that dies or outlasts its
time is replaced, and the file it was on is derived again without its grammar. So a bad grammar costs one file its
symbols, and no file its text.
"""

from __future__ import annotations

import marshal
import os
import threading
import time
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import astuple, dataclass, field

from codelens.config import Settings, with_absolute_paths
from codelens.derived import DerivedPart, UnfinishedFile
from codelens.indexing.renames import Moved
from codelens.indexing.wire import LARGE_FRAME, Result, is_part, pack, unpack, unpack_part
from codelens.model import SeenFile, Skip, SkipReason
from codelens.processes.worker import WorkerProcess

AHEAD_JOBS = 256
"""Files that the workers may run ahead of who takes the results. Chosen."""
AHEAD_BYTES = 8_000_000
"""The same in bytes of source: a result is about four times its source, so some 32 MB wait at most. Chosen."""
PARTS_AHEAD = 2
"""Parts of a large file that wait for who takes them, each some megabytes. Chosen."""
QUEUED = 4
"""Jobs that a worker holds: it must not wait for us while we write to the database. Chosen, not measured."""
BYTES_A_WORKER = 400_000
"""Another worker starts when this much more source is known: about what one does in the time it takes to start."""
JOBS_A_WORKER = 100
"""The same in files, for trees of small ones."""
MOST_WORKERS = 8
"""Unless the setting `jobs` asks for more. One process writes; a prototype's was the limit from two or three workers on."""
WALL_FACTOR, WALL_EXTRA = 10.0, 20.0
"""Wall seconds before a worker is killed: parse_seconds × 10 + 20. The CPU limit comes first unless the file sleeps; so
both are chosen wide, for a machine that is busy with something else."""
WATCH_SECONDS = 0.25
"""Between two looks for an overdue worker; a quarter of the wall limit where that is shorter. Chosen."""
STOP_SECONDS = 0.05
"""Between two tries to end a worker: its thread may just have put another process in the place of the killed one. Chosen."""


@dataclass(frozen=True, slots=True)
class Job:
    """One file to derive."""

    root: str
    """Absolute path of the repository's root."""
    seen: SeenFile
    known_hash: bytes | None = None
    """Content that the index has of this path with the current recipe: if it is still that, the answer is Unchanged."""
    moved: Moved | None = None
    """What the index has of this content under another path: it is not parsed again if it is still that."""


def derive_all(jobs: Iterable[Job], settings: Settings, wall_seconds: float | None = None) -> Iterator[Result]:
    """One result for each job, in order. Closing the iterator early ends the workers.

    `jobs` is read in the caller's thread. Raises CodelensError where worker processes cannot be started at all; any
    other fault is one of its file.
    """
    pool = _Pool(settings, wall_seconds or settings.parse_seconds * WALL_FACTOR + WALL_EXTRA)
    try:
        yield from pool.run(jobs)
    finally:
        pool.close()


def worker_count(settings: Settings) -> int:
    """The most workers a run may have."""
    if settings.jobs:
        return settings.jobs
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(cores, MOST_WORKERS)


@dataclass(slots=True)
class _Task:
    job: Job
    fault: str = ""
    """Why its grammar must not be used: a worker died of it."""
    answer: bytes | None = None
    is_in_parts: bool = False
    """Whether the answer is of a large file."""
    parts: deque[bytes] = field(default_factory=deque)
    """Of a large file, frames that nobody has taken yet."""

    @property
    def weight(self) -> int:
        """Bytes of source that the task may hold in memory."""
        return min(self.job.seen.stamp.size, AHEAD_BYTES // 2)

    @property
    def is_large(self) -> bool:
        """Whether its message may be longer than a pipe holds (64 kB on Linux, 4 kB elsewhere)."""
        return self.job.moved is not None

    def message(self) -> tuple[object, ...]:
        job, seen = self.job, self.job.seen
        moved = (job.moved.content_hash, job.moved.old_path, job.moved.extraction) if job.moved else None
        return (job.root, seen.path, seen.os_path, astuple(seen.stamp), job.known_hash, moved, self.fault)


class _Pool:
    """The tasks between who gives jobs and the threads that own a worker each."""

    def __init__(self, settings: Settings, wall_seconds: float) -> None:
        self.settings = settings
        self.wall_seconds = wall_seconds
        self.closed = False
        self._waiting: deque[_Task] = deque()
        self._changed = threading.Condition()
        self._failure: BaseException | None = None
        self._workers: list[_Worker] = []
        self._jobs = self._bytes = 0

    def run(self, jobs: Iterable[Job]) -> Iterator[Result]:
        source, ahead, held = iter(jobs), deque[_Task](), 0
        while True:
            while (not ahead or (len(ahead) < AHEAD_JOBS and held < AHEAD_BYTES)) and (job := next(source, None)):
                ahead.append(_Task(job))
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
                deque(parts, maxlen=0)  # what nobody asked for would keep its worker waiting

    def _offer(self, task: _Task) -> None:
        with self._changed:
            self._waiting.append(task)
            self._changed.notify_all()
        self._jobs += 1
        self._bytes += task.weight
        wanted = 1 + max(self._jobs // JOBS_A_WORKER, self._bytes // BYTES_A_WORKER)
        if len(self._workers) < min(wanted, self._jobs, worker_count(self.settings)):
            self._workers.append(_Worker(self))
            if len(self._workers) == 1:
                threading.Thread(target=self._watch, name="codelens-watch", daemon=True).start()

    def _answer(self, task: _Task) -> bytes:
        with self._changed:
            while task.answer is None:
                if self._failure:
                    raise self._failure
                self._changed.wait()
        return task.answer

    def _parts(self, task: _Task) -> Iterator[DerivedPart]:
        """Of a large file, as they come. Raises UnfinishedFile."""
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

    def add_part(self, task: _Task, frame: bytes) -> None:
        """For a worker's thread: a part of a large file, or what ends them."""
        with self._changed:
            task.parts.append(frame)
            self._changed.notify_all()

    def wait_for_room(self, task: _Task) -> None:
        """For a worker's thread: wait until somebody takes the parts that were added."""
        with self._changed:
            while len(task.parts) >= PARTS_AHEAD and not self.closed:
                self._changed.wait()

    def next_task(self, idle: bool) -> _Task | None:
        """For a worker's thread: the next task. An idle worker waits for it until the pool closes.

        Any other gets None instead of waiting, and instead of a large task: while its process is writing an answer, nobody
        takes a large message from the pipe.
        """
        with self._changed:
            while idle and not self._waiting and not self.closed:
                self._changed.wait()
            if self.closed or not self._waiting or (self._waiting[0].is_large and not idle):
                return None
            return self._waiting.popleft()

    def finish(self, task: _Task, answer: bytes) -> None:
        with self._changed:
            task.answer = answer
            self._changed.notify_all()

    def fail(self, fault: BaseException) -> None:
        """End the run with this fault: no worker can be had."""
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


class _Worker:
    """A thread, the worker process that it owns, and the tasks that the process was given and has not answered."""

    def __init__(self, pool: _Pool) -> None:
        self._pool = pool
        self._given: deque[_Task] = deque()
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
        except BaseException as fault:  # the thread's edge: the run must hear of it
            self._pool.fail(fault)
        finally:
            if self._process:
                self._process.kill()
                self._process.bury()

    def _fill(self, process: WorkerProcess) -> bool:
        """Give the process up to QUEUED tasks, waiting for one if it has none; False when the pool has closed."""
        while len(self._given) < QUEUED and (task := self._pool.next_task(idle=not self._given)):
            self._given.append(task)
            process.send(task.message())
        return bool(self._given) and not self._pool.closed

    def _start(self) -> WorkerProcess:
        settings = self._pool.settings
        process = self._process = WorkerProcess(
            "codelens.indexing.worker",
            astuple(with_absolute_paths(settings)),
            settings.parse_seconds,
            self._pool.wall_seconds,
        )
        process.greet()
        return process

    def _collect(self, process: WorkerProcess) -> WorkerProcess:
        """Take one answer; without one, the process has ended, and another takes its place."""
        answer = process.receive(more=len(self._given) > 1)
        if answer == LARGE_FRAME:
            return self._collect_parts(process)
        if answer is not None:
            self._pool.finish(self._given.popleft(), answer)
        elif not self._pool.closed:
            return self._replace(f"grammar {process.bury()}")
        return process

    def _collect_parts(self, process: WorkerProcess) -> WorkerProcess:
        """Take the answer of a large file, part by part, no faster than they are stored."""
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
        """The process died of the first task it was given: that one once more without its grammar, then the others."""
        task = self._given[0]
        if task.is_in_parts:
            self._given.popleft()
            self._pool.add_part(task, marshal.dumps(f"a worker process ended while it was read: {cause}"))
        elif task.fault:
            skip = Skip(task.job.seen.path, SkipReason.UNREADABLE, f"{cause}, and again without its grammar")
            self._pool.finish(self._given.popleft(), marshal.dumps(pack(skip)))
        else:
            task.fault = cause
        process = self._start()
        for given in self._given:
            process.send(given.message())
        return process
