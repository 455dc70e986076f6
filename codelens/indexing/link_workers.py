"""Documents → their links, in the documents' order, through worker processes that read what the build has committed."""

from __future__ import annotations

import marshal
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

from codelens.errors import CodelensError
from codelens.linking.link import Links
from codelens.model import DocumentId, RepositoryId
from codelens.processes.worker import WorkerProcess

AT_ONCE = 64
"""Documents that a worker is given together: neighbours look up the same things. Chosen."""
AHEAD = 3
"""Such lists that a worker may be ahead of who takes the results: a bound on memory. Chosen."""


def link_all(index: Path, repository: RepositoryId, documents: Sequence[DocumentId], count: int) -> Iterator[Links]:
    """Link documents by `count` processes. Closing the iterator early ends them. Raises CodelensError where one dies."""
    pool = _Pool(documents, count * AHEAD)
    workers = [
        _Worker(pool, WorkerProcess("codelens.indexing.link_worker", (str(index.absolute()), repository)))
        for _ in range(count)
    ]
    try:
        yield from pool.results()
    finally:
        pool.close()
        for worker in workers:
            worker.stop()


class _Pool:
    """Lists of documents, and the links of those that are done."""

    def __init__(self, documents: Sequence[DocumentId], ahead: int) -> None:
        self._lists = [documents[at : at + AT_ONCE] for at in range(0, len(documents), AT_ONCE)]
        self._ahead = ahead
        self._given = self._taken = 0
        self._done: dict[int, list[Links]] = {}
        self._failure: BaseException | None = None
        self._closed = False
        self._changed = threading.Condition()

    def results(self) -> Iterator[Links]:
        while self._taken < len(self._lists):
            with self._changed:
                while self._taken not in self._done:
                    if self._failure:
                        raise self._failure
                    self._changed.wait()
                found = self._done.pop(self._taken)
            yield from found
            with self._changed:
                self._taken += 1
                self._changed.notify_all()

    def next_list(self) -> tuple[int, Sequence[DocumentId]] | None:
        """For a worker's thread: what to do next; None when there is nothing left."""
        with self._changed:
            while not self._closed and self._given < len(self._lists) and self._given >= self._taken + self._ahead:
                self._changed.wait()
            if self._closed or self._given == len(self._lists):
                return None
            self._given += 1
            return self._given - 1, self._lists[self._given - 1]

    def finish(self, number: int, found: list[Links]) -> None:
        with self._changed:
            self._done[number] = found
            self._changed.notify_all()

    def fail(self, fault: BaseException) -> None:
        with self._changed:
            self._failure = self._failure or fault
            self._changed.notify_all()

    def close(self) -> None:
        with self._changed:
            self._closed = True
            self._changed.notify_all()


class _Worker:
    """A thread and the process that it owns."""

    def __init__(self, pool: _Pool, process: WorkerProcess) -> None:
        self._pool, self._process = pool, process
        self._thread = threading.Thread(target=self._serve, name="codelens-linker", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        self._process.kill()
        self._thread.join()

    def _serve(self) -> None:
        try:
            self._process.greet()
            while given := self._pool.next_list():
                number, documents = given
                self._process.send(list(documents))
                self._pool.finish(
                    number, [self._receive(last=at == len(documents) - 1) for at in range(len(documents))]
                )
        except BaseException as fault:  # the thread's edge: the run must hear of it
            self._pool.fail(fault)
        finally:
            self._process.kill()
            self._process.bury()

    def _receive(self, last: bool) -> Links:
        answer = self._process.receive(more=not last)
        if answer is None:
            raise CodelensError("a process that links documents ended before its time", "run `codelens index` again")
        return Links(*marshal.loads(answer))
