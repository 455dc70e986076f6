"""Runs an index update after each pause in the changes of its trees. Events only tell when to look: each update is an ordinary
incremental run, so a lost event costs time, not correctness. The first update starts once the watch is set up."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from stat import S_ISDIR
from threading import Event
from typing import Any

from codelens import errors
from codelens.config import Settings, SettingsLoader
from codelens.index import Index
from codelens.model.runs import IndexReport, ProgressSink, WatchEvent, WatchSink, WatchStep
from codelens.watching.events import NoEvents, yield_changes, yield_ticks
from codelens.worktree.place import INDEX_FOLDER, list_own_files
from codelens.worktree.repository import find_enclosing_repository

_MARKS = ("HEAD", "logs/HEAD")  # Files that git writes whenever HEAD moves; the second only by default
_AT_WORK = "index.lock"  # Exists while a checkout, merge or add changes files and git's index

SETTINGS_FILE = ".codelens.toml"  # Controls how a tree is walked; a hidden file itself


class Roots:
    """The watched trees of one index: which exist, which of their files matter, and what git does in them."""

    def __init__(
        self, roots: Sequence[Path], own: frozenset[str], filter_of: Callable[[Path], Callable[[str], bool]]
    ) -> None:
        """`own` holds the absolute paths that an index run writes, except those in .codelens folders."""
        self.all = tuple(roots)
        self._own = own
        self._filter_of = filter_of
        self._filters: dict[Path, Callable[[str], bool]] = {}
        self._repositories = {root: find_enclosing_repository(root) for root in roots}
        self._heads = self._read_heads()
        self._identities = self._read_identities()

    def list_present(self) -> list[Path]:
        """List the roots that existed at the last check."""
        return [root for root in self.all if root in self._identities]

    def find_root_changes(self) -> tuple[list[Path], list[Path]]:
        """Find roots that disappeared, and roots that appeared or were replaced, since the last call. Both need a new watch."""
        before, now = self._identities, self._read_identities()
        self._identities = now
        gone = [root for root in self.all if root in before and root not in now]
        came = [root for root in self.all if root in now and before.get(root) != now[root]]
        for root in came:
            self._repositories[root] = find_enclosing_repository(root)
        return gone, came

    def has_head_moved(self) -> bool:
        """True if a commit, reset or checkout moved HEAD in a root since the last call."""
        before, self._heads = self._heads, self._read_heads()
        return before != self._heads

    def is_git_at_work(self) -> bool:
        """True while git holds the lock of a root. A killed git leaves its lock behind, so do not wait for it forever."""
        repositories = (self._repositories[root] for root in self.list_present())
        return any(repository and (repository.git_folder / _AT_WORK).exists() for repository in repositories)

    def forget_rules(self) -> None:
        """Read the walk's rules again when they are next needed: a run may have changed them."""
        self._filters.clear()

    def has_relevant_path(self, paths: Iterable[str]) -> bool:
        """True if one of these absolute paths is indexed or controls what is indexed."""
        present = {root: str(root).rstrip(os.sep) + os.sep for root in self.list_present()}
        for path in paths:
            for root, lead in present.items() if path not in self._own else ():
                if path.startswith(lead):
                    below = path.removeprefix(lead).replace(os.sep, "/")
                    if INDEX_FOLDER in below.split("/"):
                        break
                    if below.rpartition("/")[2] == SETTINGS_FILE or self._find_filter(root)(below):
                        return True
        return False

    def _find_filter(self, root: Path) -> Callable[[str], bool]:
        """Find the filter of a root's paths; if its rules cannot be read, every path passes."""
        if root not in self._filters:
            try:
                self._filters[root] = self._filter_of(root)
            except errors.CodelensError:  # the update will report what is wrong with the settings or the root
                self._filters[root] = lambda path: True
        return self._filters[root]

    def _read_heads(self) -> list[tuple[int, int]]:
        """Read times and sizes of the files that change when HEAD moves."""
        folders = [repository.git_folder for repository in self._repositories.values() if repository]
        stats = [_read_stat(folder / name) for folder in folders for name in _MARKS]
        return [(stat.st_mtime_ns, stat.st_size) if stat else (0, 0) for stat in stats]

    def _read_identities(self) -> dict[Path, tuple[int, int]]:
        """Read the device and inode of each existing root."""
        stats = {root: _read_stat(root) for root in self.all}
        return {root: (stat.st_dev, stat.st_ino) for root, stat in stats.items() if stat and S_ISDIR(stat.st_mode)}


def _read_stat(path: Path) -> os.stat_result | None:
    try:
        return path.stat()
    except OSError:
        return None


DEBOUNCE_SECONDS = 0.5  # Seconds without a change before an update starts (the figure of the tool `knowing`)
LONGEST_SECONDS = 10.0  # Longest delay of an update by files that keep changing, or by a lock that git left behind
RETRY_SECONDS = 0.5  # Time between two attempts while another process writes the index
FAULT_SECONDS = 30.0  # Time after which a failed update is tried again without a change: the disk may have room again
RECHECK_SECONDS = 300.0  # Time after which trees are walked without an event: not every file system sends all
STORM = 4000  # Changes in one pause above which the watch is set up again: the kernel drops some after 16 384
POLL_SECONDS = 2.0  # Time between two walks if there are no events
POLL_SHARE = 20  # A pause is at least this many times a walk's CPU time: 5 % of a core
ENDING = (errors.NoIndex, errors.IndexCorrupt, errors.IndexNotTrusted, errors.NoVectors, errors.SchemaTooNew)
"""Faults that waiting cannot fix."""


@dataclass(frozen=True, slots=True)
class WatchOptions:
    """When a watch updates its index, and by which rules it walks the trees."""

    debounce: float = DEBOUNCE_SECONDS  # Seconds without a change before an update
    poll: float = 0.0  # Seconds between two walks of the trees; 0 waits for events of the file system instead
    settings_of: SettingsLoader | None = None
    """Loads the settings of a root; if it is None, each root is walked by the rules of its last run."""


DEFAULTS = WatchOptions()


class Watch:
    """A watch that keeps one index fresh: `run` returns after another thread or a signal handler calls `stop`."""

    def __init__(
        self,
        index: Path,
        roots: Sequence[Path],
        settings: Settings,
        options: WatchOptions = DEFAULTS,
        *,
        report: WatchSink = lambda event: None,
        progress: ProgressSink | None = None,
    ) -> None:
        from codelens.indexing.status import build_walk_filter

        self._index, self._settings = index.resolve(), settings
        self._options, self._poll = options, options.poll
        self._report_event, self._progress = report, progress
        self._roots = Roots(
            [root.resolve() for root in roots],
            list_own_files(self._index),
            lambda root: build_walk_filter(self._index, root, settings, options.settings_of),
        )
        self._stop = Event()
        self._begun = False
        self._renew = False
        self._first = self._last = self._next = 0.0
        """Times of the oldest pending change (0 without one), of the newest, and of the next look without an event."""
        self._heard = 0
        self._not_before = 0.0
        self._last_problem = ""

    def stop(self) -> None:
        """Make `run` return, after an update in progress has finished."""
        self._stop.set()

    def run(self) -> None:
        """Watch until `stop`. Raises faults that waiting cannot fix: an unusable index, or no root is left."""
        if not self._roots.list_present():
            raise errors.UsageError(f"no such folder: {self._roots.all[0] if self._roots.all else '-'}")
        while not self._stop.is_set():
            self._renew, self._heard = False, 0
            self._first = self._last = time.monotonic() - LONGEST_SECONDS  # lets the first batch start an update
            batches = yield_ticks(self._stop) if self._poll else yield_changes(self._roots.list_present(), self._stop)
            try:
                with closing(batches):
                    self._update_after_changes(batches)
            except NoEvents as fault:
                self._poll = POLL_SECONDS
                self._emit(WatchStep.POLLING, f"no file events ({fault}): walking every {POLL_SECONDS:g} s instead")
            except FileNotFoundError:  # a root disappeared after we checked
                self._stop.wait(RETRY_SECONDS)
                self._check_roots()

    def _update_after_changes(self, batches: Iterator[frozenset[str]]) -> None:
        """Update after changes, until the watch must be set up again."""
        for batch in batches:
            if self._begun and not self._index.exists():
                raise errors.NoIndex(
                    f"{self._index} was removed", "create it again with `codelens index` or `codelens watch`"
                )
            self._check_roots()
            if self._renew:
                return
            now = time.monotonic()
            is_due = bool(self._poll) and now > self._next
            self._heard = self._heard + len(batch) if batch or self._first else 0
            if is_due or self._roots.has_head_moved() or self._heard > STORM or self._roots.has_relevant_path(batch):
                self._first, self._last = self._first or now, now
            is_overdue = is_due or now - self._first >= LONGEST_SECONDS
            is_quiet = now - self._last >= self._options.debounce
            is_pending = self._first and now >= self._not_before
            if is_pending and (is_overdue or (is_quiet and not self._roots.is_git_at_work())):
                if self._heard > STORM:
                    return
                self._update()
            if not self._first and now > self._next:
                return

    def _check_roots(self) -> None:
        """Report roots that disappeared or came back. Raises UsageError if no root is left."""
        gone, came = self._roots.find_root_changes()
        for root in gone:
            self._emit(WatchStep.GONE, f"{root} is gone; the index keeps its files")
        for root in came:
            self._emit(WatchStep.BACK, f"{root} is back")
        if gone and not self._roots.list_present():
            raise errors.UsageError("no folders left to watch", "name another folder to watch")
        self._renew = self._renew or bool(gone or came)

    def _update(self) -> None:
        """Run one update. What it cannot do now stays pending."""
        started = time.thread_time()
        try:
            settings_of = self._options.settings_of
            rules: dict[str, Any] = {"settings_of": settings_of, "as_indexed": settings_of is None}
            roots = self._roots.list_present()
            reports = Index.build(self._index, roots, self._settings, progress=self._progress, **rules)
        except errors.IndexBusy as fault:
            self._not_before = time.monotonic() + RETRY_SECONDS
            self._emit_once(WatchStep.WAITING, str(fault))
            return
        except ENDING:
            raise
        except (errors.CodelensError, OSError) as fault:
            self._first, self._next = 0.0, time.monotonic() + FAULT_SECONDS
            self._emit_once(WatchStep.FAULT, str(fault))
            return
        finally:
            self._roots.forget_rules()
        self._first, self._heard, self._last_problem = 0.0, 0, ""
        wrote = any(report.wrote for report in reports)
        pause = max(self._poll, 0 if wrote else POLL_SHARE * (time.thread_time() - started))
        self._next = time.monotonic() + (pause if self._poll else RECHECK_SECONDS)
        if self._begun:
            self._emit(WatchStep.UPDATED if wrote else WatchStep.LOOKED, "", reports)
        else:
            self._begun = True
            self._emit(WatchStep.WATCHING, ", ".join(map(str, self._roots.list_present())), reports)

    def _emit(self, step: WatchStep, text: str, reports: tuple[IndexReport, ...] = ()) -> None:
        self._report_event(WatchEvent(step, text, reports))

    def _emit_once(self, step: WatchStep, text: str) -> None:
        if text != self._last_problem:
            self._last_problem = text
            self._emit(step, text)
