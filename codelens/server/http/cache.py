"""Answers that may be served again: for five minutes, and only from the state of the index that gave them.

Other files that decide answers, such as traces and metadata, belong to that state.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path

from codelens.config import Settings
from codelens.fleet.open import FleetPlace
from codelens.index import Index
from codelens.model.fast_dataclass import dataclass
from codelens.worktree.place import traces_place

SECONDS = 300.0  # The marketplace's
MOST_BYTES = 64_000_000  # Total size of the cached answers; the least recently used goes first

Key = tuple[str, str, str]  # (state, endpoint, question)


@dataclass(frozen=True, slots=True)
class CachedAnswer:
    """An answer's body, and when it was made, by the clock of the cache."""

    body: bytes
    time: float


class Answers:
    """Not for several threads: the event loop alone asks it."""

    def __init__(self, clock: Callable[[], float] = time.monotonic, most_bytes: int = MOST_BYTES) -> None:
        self._clock = clock
        self._most = most_bytes
        self._bytes = 0
        self._kept: OrderedDict[Key, CachedAnswer] = OrderedDict()

    def get(self, key: Key) -> tuple[bytes, int] | None:
        """(body, its age in whole seconds); None if it is missing or too old."""
        found = self._kept.get(key)
        if found is None:
            return None
        age = self._clock() - found.time
        if age >= SECONDS:
            self._drop(key)
            return None
        self._kept.move_to_end(key)
        return found.body, int(age)

    def put(self, key: Key, body: bytes) -> None:
        """Keep an answer, in place of the oldest ones if need be."""
        self._drop(key)
        if len(body) > self._most:
            return
        self._kept[key] = CachedAnswer(body, self._clock())
        self._bytes += len(body)
        while self._bytes > self._most:
            self._drop(next(iter(self._kept)))

    def _drop(self, key: Key) -> None:
        if (gone := self._kept.pop(key, None)) is not None:
            self._bytes -= len(gone.body)


UNSURE_NS = 100_000_000
"""A file that was written this shortly before it was looked at may be written again without another time: file systems count
in steps of some milliseconds, the coarsest on a network in tens of them. Chosen."""

Stamp = tuple[tuple[int, int, int] | None, ...]


class IndexState:
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


class FleetState:
    """The snapshot of a fleet: its manifest says it."""

    def __init__(self, fleet: FleetPlace) -> None:
        self._fleet = fleet
        self._known = ("", "")

    def known(self) -> None:
        """Nothing: a store may be far away."""

    def read(self) -> str:
        """Raises what opening the fleet raises."""
        stamp = self._fleet.stamp()
        if self._known[0] != stamp:
            self._known = stamp, self._fleet.snapshot()
        return self._known[1]


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
