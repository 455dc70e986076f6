"""Runs jobs in worker processes, which may be killed, and yields the results in the jobs' order. If a worker dies or exceeds
its time, its file is derived again without its grammar: it loses its symbols, never its text."""

from __future__ import annotations

import gc
import signal
import sys
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from codelens.config import Settings, resolve_paths
from codelens.embed.base import Embedder
from codelens.indexing.derive import LARGE_SIZE, Job, Result, derive, derive_large
from codelens.indexing.embedding import open_worker_embedder
from codelens.indexing.files import ReadText, read_text, skip_unreadable
from codelens.model.code import Skip, SkipReason
from codelens.model.extraction import DerivedDocument, DerivedPart, UnfinishedFile
from codelens.model.fast_dataclass import replace
from codelens.processes.python import count_cores

if TYPE_CHECKING:
    from concurrent.futures import Future

    from codelens.processes.pool import WorkerPool

AHEAD_JOBS = 256  # Files that workers may derive before their results are consumed
AHEAD_BYTES = 3_000_000  # The same limit in bytes of source: results are four times as long, so at most 12 MB wait
QUEUED = 4  # Jobs that a worker holds, so that it need not wait while this process writes to the database
BYTES_A_WORKER = 400_000  # Bytes of source that one worker derives in the time that another takes to start
JOBS_A_WORKER = 100  # The same in number of files, for trees of small files
MOST_WORKERS = 8  # Limit unless the setting `jobs` is larger; with more, the writing process is the limit
WALL_FACTOR, WALL_EXTRA = 10.0, 20.0  # A worker is killed after parse_seconds × 10 + 20 s; the CPU limit comes first
KEPT_BYTES = 1_000_000  # Bytes of a repository after which workers stay for the next; else linking needs the memory


class KeptWorkers:
    """The worker processes of a run, which serve one small repository after another. Close them at the end."""

    def __init__(self, repositories: int = 1, wall_seconds: float | None = None) -> None:
        """Keep the workers until this number of repositories has ended."""
        self._left, self._wall_seconds = repositories, wall_seconds
        self._settings: Settings | None = None
        self._pool: WorkerPool | None = None
        self._jobs = self._bytes = 0  # Jobs and bytes of source that the pool has got

    def submit_job(self, job: Job, settings: Settings) -> Future[Any]:
        """Let a worker with these settings call `derive_job`."""
        if self._pool is None or self._settings != settings:
            from codelens.processes.pool import WorkerPool, WorkerRules  # a run without changes starts none

            self.close()
            rules = WorkerRules(
                purpose="derive",
                initializer=partial(prepare_worker, resolve_paths(settings)),
                calls_ahead=QUEUED,
                cpu_seconds=settings.parse_seconds,
                wall_seconds=self._wall_seconds or settings.parse_seconds * WALL_FACTOR + WALL_EXTRA,
                trusted=False,
            )
            self._pool, self._settings = WorkerPool(1, rules), settings
        self._jobs += 1
        self._bytes += _weigh_job(job)
        wanted = 1 + max(self._jobs // JOBS_A_WORKER, self._bytes // BYTES_A_WORKER)
        self._pool.most = min(wanted, count_workers(settings))
        return self._pool.submit(derive_job, job)

    def end_repository(self, size: int) -> None:
        """Keep the workers for the next repository, unless this one had many bytes of source or was the last."""
        self._left -= 1
        if self._left <= 0 or size > KEPT_BYTES:
            self.close()

    def close(self) -> None:
        """End the workers, whatever they are doing."""
        if self._pool:
            self._pool.close()
        self._pool = None
        self._jobs = self._bytes = 0


def _weigh_job(job: Job) -> int:
    """Count the bytes of source that a job may keep in memory."""
    return min(job.seen.stamp.size, AHEAD_BYTES // 2)


def count_workers(settings: Settings) -> int:
    return settings.jobs or min(count_cores(), MOST_WORKERS)


def derive_all(jobs: Iterable[Job], settings: Settings, kept: KeptWorkers | None = None) -> Iterator[Result]:
    """Yield one result for each job, in order. Closing the iterator early ends the workers. `jobs` is read in the caller's
    thread. Raises CodelensError if no worker process can be started; any other fault is the result of its file."""
    workers = kept or KeptWorkers()
    source, ahead, bytes_ahead, total = iter(jobs), deque[tuple[Job, "Future[Any]"]](), 0, 0
    try:
        while True:
            while not ahead or (len(ahead) < AHEAD_JOBS and bytes_ahead < AHEAD_BYTES):
                if (job := next(source, None)) is None:
                    break
                ahead.append((job, workers.submit_job(job, settings)))
                bytes_ahead += _weigh_job(job)
                total += _weigh_job(job)
            if not ahead:
                break
            job, future = ahead.popleft()
            bytes_ahead -= _weigh_job(job)
            yield from _collect_results(job, future, workers, settings)
        workers.end_repository(total)
    except BaseException:
        workers.close()
        raise


def _collect_results(job: Job, future: Future[Any], workers: KeptWorkers, settings: Settings) -> Iterator[Result]:
    """Yield the result of one job. If its worker dies, repeat the job without the grammar."""
    from codelens.processes.pool import CallStream, WorkerDied

    try:
        answer = future.result()
    except WorkerDied as death:
        try:
            answer = workers.submit_job(replace(job, grammar_fault=f"grammar {death.ending}"), settings).result()
        except WorkerDied as second:
            fault = f"grammar {second.ending}, and again without its grammar"
            answer = Skip(job.seen.path, SkipReason.UNREADABLE, fault, job.seen.stamp)
    if not isinstance(answer, CallStream):
        yield answer
        return
    values = iter(answer)
    document, parts = next(values), _receive_parts(values)
    yield replace(document, parts=parts)
    with suppress(UnfinishedFile):
        deque(parts, maxlen=0)  # unread parts would keep the worker waiting


def _receive_parts(values: Iterator[DerivedPart]) -> Iterator[DerivedPart]:
    """Yield the parts of a large file as they arrive. Raises UnfinishedFile."""
    from codelens.processes.pool import WorkerDied

    try:
        yield from values
    except WorkerDied as death:
        raise UnfinishedFile(f"a worker process ended while it was read: {death.ending}") from None


_prepared: tuple[Settings, Embedder | None]


def prepare_worker(settings: Settings) -> None:
    """Prepare a worker process, before its first job. The model is opened once: if it vanished later, every file would fail."""
    global _prepared
    with suppress(ImportError, ValueError, OSError):  # no core files from aborts in grammars
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    gc.freeze()
    gc.set_threshold(200_000, 20, 100)  # collecting cycles took an eighth of a worker's time, and results hold none
    _prepared = settings, open_worker_embedder(settings)


def derive_job(job: Job) -> Result | Iterator[DerivedDocument | DerivedPart]:
    """Derive one file in a worker process. Returns its result, or for a large file an iterator over its document and its parts."""
    settings, embedder = _prepared
    try:
        with _limit_cpu_time(settings.parse_seconds * max(1.0, job.seen.stamp.size / LARGE_SIZE)):
            result = derive_file(job, settings, embedder)
    except OSError as error:
        return skip_unreadable(job.seen, error)
    except Exception as error:  # a fault costs this file, never the run
        return Skip(job.seen.path, SkipReason.UNREADABLE, f"{type(error).__name__}: {error}", job.seen.stamp)
    if isinstance(result, DerivedDocument) and result.parts:
        return _stream_parts(result, settings.parse_seconds)
    return result


def _stream_parts(document: DerivedDocument, seconds: float) -> Iterator[DerivedDocument | DerivedPart]:
    """Yield the document, then each part, derived within its own CPU limit. Raises UnfinishedFile."""
    yield replace(document, parts=())
    parts = iter(document.parts)
    while True:
        try:
            with _limit_cpu_time(seconds):
                part = next(parts, None)
        except UnfinishedFile:
            raise
        except Exception as error:  # a fault costs this file, never the run
            raise UnfinishedFile(f"{type(error).__name__}: {error}") from None
        if part is None:
            return
        yield part


@contextmanager
def _limit_cpu_time(seconds: float) -> Iterator[None]:
    """End the process by SIGPROF after this CPU time, even inside C code. Windows has only the wall-clock limit."""
    if sys.platform == "win32":
        yield
        return
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def derive_file(job: Job, settings: Settings, embedder: Embedder | None) -> Result:
    """Read and derive one file. Raises OSError."""
    if (large := derive_large(job, settings, embedder)) is not None:
        return large
    read = read_text(Path(job.root), job.seen, settings, job.known_hash)
    if not isinstance(read, ReadText):
        return read
    return derive(job, read, settings, embedder)
