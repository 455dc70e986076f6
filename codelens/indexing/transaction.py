"""A transaction that begins with the first write, so that a run that finds nothing to do touches no file.

It holds a run's repositories together: readers see all of them as they were, or all as they are.
"""

from __future__ import annotations

from types import TracebackType

from codelens.store.store import Store


class LazyTransaction:
    """All of an update at once, or a build in batches of `batch_bytes` source bytes.

    Left by an exception, an update is rolled back. A build keeps its finished documents: it goes on from there.
    """

    def __init__(self, store: Store, batch_bytes: int | None) -> None:
        self.writes = 0
        """How often something was about to be written."""
        self._store = store
        self._batch_bytes = batch_bytes
        self._open = False
        self._pending = 0

    def begin(self) -> None:
        """Call before each write."""
        self.writes += 1
        if self._open:
            return
        if self._batch_bytes is None and self.writes == 1:
            self._store.begin_work()
        self._store.begin()
        self._open = True

    def batch(self, size: int) -> None:
        """A document of this many bytes is complete: in a build, commit where enough have come together."""
        self._pending += size
        if self._batch_bytes is not None and self._pending >= self._batch_bytes:
            self.commit()

    def commit(self) -> None:
        """Keep what was written so far."""
        if self._open:
            self._store.commit()
        self._open, self._pending = False, 0

    def __enter__(self) -> LazyTransaction:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self.commit()
        else:
            # The document in hand may be half written: in a build too, only whole batches count.
            self._store.rollback()
            self._open = False
