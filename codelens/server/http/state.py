"""Which state an index file is in, without opening it where its stat says that it is the one of before."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from codelens.config import Settings
from codelens.index import Index

UNSURE_NS = 100_000_000
"""A file that was written this shortly before it was looked at may be written again without another time: file systems count
in steps of some milliseconds, the coarsest on a network in tens of them. Chosen."""

Stamp = tuple[tuple[int, int, int] | None, ...]


class State:
    """The snapshot of an index, and of which files it is known."""

    def __init__(self, index: Path, settings: Settings, now: Callable[[], int] = time.time_ns) -> None:
        self._files = (index, index.with_name(f"{index.name}-wal"))
        self._index = index
        self._settings = settings
        self._now = now
        self._known: tuple[Stamp, str] | None = None

    def known(self) -> str | None:
        """The snapshot, if nothing has been written since it was read; else `read` says it."""
        known = self._known
        return known[1] if known is not None and known[0] == self._stamp() else None

    def read(self) -> str:
        """Open the index and ask it. Raises what opening it raises."""
        now, before = self._now(), self._stamp()
        with Index.open(self._index, self._settings) as opened:
            snapshot = opened.info().snapshot
        settled = all(part is None or part[2] < now - UNSURE_NS for part in before)
        self._known = (before, snapshot) if settled else None
        return snapshot

    def _stamp(self) -> Stamp:
        """(inode, size, time of change) of the file and of its log, if it has one."""
        return tuple(map(_stat, self._files))


def _stat(path: Path) -> tuple[int, int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return (found.st_ino, found.st_size, found.st_mtime_ns)
