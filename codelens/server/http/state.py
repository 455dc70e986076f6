"""Which state an index is in, and what else decides an answer: told by stats where they say that nothing was written."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from codelens.config import Settings
from codelens.index import Index
from codelens.worktree.place import traces_place

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
        self._known = (before, snapshot) if _settled(before, now) else None
        return snapshot

    def _stamp(self) -> Stamp:
        """(inode, size, time of change) of the file and of its log, if it has one."""
        return tuple(map(_stat, self._files))


class Beside:
    """The files that decide an answer as the index does: what was seen to run, and those that the settings name."""

    def __init__(self, index: Path, settings: Settings, now: Callable[[], int] = time.time_ns) -> None:
        named = (settings.metadata, settings.aliases, settings.classes)
        self._files = (traces_place(index), *(Path(name) for name in named if name))
        self._now = now

    def stamp(self) -> tuple[Stamp, bool]:
        """(another value after each change of one of them, whether the next change is sure to give another)."""
        now, stamp = self._now(), tuple(map(_stat, self._files))
        return stamp, _settled(stamp, now)


def _settled(stamp: Stamp, now: int) -> bool:
    return all(part is None or part[2] < now - UNSURE_NS for part in stamp)


def _stat(path: Path) -> tuple[int, int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return (found.st_ino, found.st_size, found.st_mtime_ns)
