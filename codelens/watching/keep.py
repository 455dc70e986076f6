"""Changes of the trees → runs of the index, one after each pause; the seam for whatever wants an index that stays fresh.

Events only say when to look: each update is an ordinary incremental run that walks the tree, so a lost event costs time and
never truth. A first update begins as soon as the watch is set up, hence nothing falls between the two.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from threading import Event, Thread

from codelens.config import LoadedSettings, Settings
from codelens.errors import (
    CodelensError,
    IndexBusy,
    IndexCorrupt,
    IndexNotTrusted,
    NoIndex,
    NoVectors,
    SchemaTooNew,
    UsageError,
)
from codelens.index import Index
from codelens.runs import IndexReport, ProgressSink, WatchEvent, WatchSink, WatchStep
from codelens.watching.changed import Roots
from codelens.watching.events import NoEvents, changes, ticks
from codelens.worktree.place import own_files

DEBOUNCE_SECONDS = 0.5
"""How long nothing must have changed before an update begins (knowing's figure)."""
LONGEST_SECONDS = 10.0
"""Files that never rest, or a git that left its lock, hold an update up for this long at most. Chosen."""
RETRY_SECONDS = 0.5
"""Between two tries while another process writes the index. Chosen."""
FAULT_SECONDS = 30.0
"""After which an update that failed is tried again though nothing has changed: a disk may have room again. Chosen."""
RECHECK_SECONDS = 300.0
"""After which the trees are walked though no event came, and the watch is set up anew. Chosen: a walk of 10 000 files takes
0.06 CPU seconds, and not every file system sends every event."""
STORM = 4000
"""Changes in one pause above which the watch is set up anew: the kernel's queue holds 16 384 events and drops the others, among
them new folders, of which nothing would ever be heard."""
POLL_SECONDS = 2.0
"""Between two walks where there are no events."""
POLL_SHARE = 20
"""Of a walk's CPU time go by at least between two: a large tree is walked more rarely, and takes 5 % of a core. Chosen."""
ENDING = (NoIndex, IndexCorrupt, IndexNotTrusted, NoVectors, SchemaTooNew)
"""Faults that no waiting mends."""


class Watch:
    """Keeps one index fresh until it is stopped. `run` in this thread, or `start` in another of this process.

    Without `settings_of` each root is walked as in its last run. `poll` above 0 walks so often instead of hearing events.
    """

    def __init__(
        self,
        index: Path,
        roots: Sequence[Path],
        settings: Settings,
        *,
        settings_of: Callable[[Path], LoadedSettings] | None = None,
        debounce: float = DEBOUNCE_SECONDS,
        poll: float = 0.0,
        tell: WatchSink = lambda event: None,
        progress: ProgressSink | None = None,
    ) -> None:
        self._index, self._settings, self._settings_of = index.resolve(), settings, settings_of
        self._debounce, self._poll = debounce, poll
        self._tell, self._progress = tell, progress
        self._roots = Roots(
            [root.resolve() for root in roots],
            own_files(self._index),
            lambda root: Index.sight(self._index, root, settings, settings_of),
        )
        self._stop = Event()
        self._thread: Thread | None = None
        self._begun = self._said = False
        self._renew = False
        self._first = self._last = self._next = 0.0
        """When the oldest change that waits was heard of (0: none), when the newest, and when to look whatever happens."""
        self._heard = 0
        self._not_before = 0.0
        self._told_fault = ""

    def start(self) -> None:
        """In a thread of its own; a fault that ends it is told as an event."""
        self._thread = Thread(target=self._run_and_tell, name="codelens-watch-tree", daemon=True)
        self._thread.start()

    def stop(self, wait: float | None = 5.0) -> None:
        """End it; an update that is under way is finished first. Waits so many seconds for the thread, None for ever."""
        self._stop.set()
        if self._thread:
            self._thread.join(wait)

    def run(self) -> None:
        """Until `stop`. Raises what no waiting mends: the index is removed, damaged or newer, or no root is left."""
        if not self._roots.present():
            raise UsageError(f"no such folder: {self._roots.all[0] if self._roots.all else '-'}")
        while not self._stop.is_set():
            self._renew, self._heard = False, 0
            self._first = self._last = time.monotonic() - LONGEST_SECONDS  # so that the first batch begins an update
            try:
                with closing(self._batches()) as batches:
                    self._follow(batches)
            except NoEvents as fault:
                self._poll = POLL_SECONDS
                self._say(WatchStep.POLLING, f"no events ({fault}): walking every {POLL_SECONDS:g} s instead")
            except FileNotFoundError:  # a root went between our look and the system's
                self._stop.wait(RETRY_SECONDS)
                self._look_at_roots()

    def _run_and_tell(self) -> None:
        try:
            self.run()
        except CodelensError as fault:
            self._say(WatchStep.ENDED, str(fault))

    def _batches(self) -> Generator[frozenset[str], None, None]:
        return ticks(self._stop) if self._poll else changes(self._roots.present(), self._stop)

    def _follow(self, batches: Iterator[frozenset[str]]) -> None:
        """Listen until the watch has to be set up anew."""
        for batch in batches:
            if self._begun and not self._index.exists():
                raise NoIndex(f"{self._index} was removed", "`codelens index` makes it anew, or `codelens watch`")
            self._look_at_roots()
            if self._renew:
                return
            now = time.monotonic()
            self._hear(batch, now)
            if self._first and now >= self._not_before and self._is_quiet(now):
                if self._heard > STORM:
                    return
                self._update()
            if not self._first and now > self._next:
                return

    def _look_at_roots(self) -> None:
        gone, came = self._roots.look()
        for root in gone:
            self._say(WatchStep.GONE, f"{root} is gone; what the index has of it stays")
        for root in came:
            self._say(WatchStep.BACK, f"{root} is there again")
        if gone and not self._roots.present():
            raise UsageError("nothing is left to watch", "name the folder that is to be watched in its place")
        self._renew = self._renew or bool(gone or came)

    def _hear(self, batch: frozenset[str], now: float) -> None:
        self._heard = self._heard + len(batch) if batch or self._first else 0
        polled = bool(self._poll) and now > self._next
        if polled or self._roots.head_moved() or self._heard > STORM or self._roots.concern(batch):
            self._first, self._last = self._first or now, now

    def _is_quiet(self, now: float) -> bool:
        if now - self._first >= LONGEST_SECONDS or (self._poll and now > self._next):
            return True
        return now - self._last >= self._debounce and not self._roots.git_is_at_work()

    def _update(self) -> None:
        """One run over what is there. What it cannot do now stays to be done."""
        started = time.thread_time()
        try:
            reports = Index.build(
                self._index,
                self._roots.present(),
                self._settings,
                progress=self._progress,
                settings_of=self._settings_of,
                as_indexed=self._settings_of is None,
            )
        except IndexBusy as fault:
            self._not_before = time.monotonic() + RETRY_SECONDS
            self._say_once(WatchStep.WAITING, str(fault))
            return
        except ENDING:
            raise
        except (CodelensError, OSError) as fault:
            self._first, self._next = 0.0, time.monotonic() + FAULT_SECONDS
            self._say_once(WatchStep.FAULT, str(fault))
            return
        finally:
            self._roots.forget_rules()
        self._first, self._heard, self._told_fault = 0.0, 0, ""
        wrote = any(report.wrote for report in reports)
        pause = max(self._poll, 0 if wrote else POLL_SHARE * (time.thread_time() - started))
        self._next = time.monotonic() + (pause if self._poll else RECHECK_SECONDS)
        self._report(reports, wrote)

    def _report(self, reports: tuple[IndexReport, ...], wrote: bool) -> None:
        if not self._begun:
            self._begun = True
            names = ", ".join(str(root) for root in self._roots.present())
            self._say(WatchStep.WATCHING, names, reports)
        else:
            self._say(WatchStep.UPDATED if wrote else WatchStep.LOOKED, "", reports)

    def _say(self, step: WatchStep, text: str, reports: tuple[IndexReport, ...] = ()) -> None:
        self._tell(WatchEvent(step, text, reports))

    def _say_once(self, step: WatchStep, text: str) -> None:
        if text != self._told_fault:
            self._told_fault = text
            self._say(step, text)
