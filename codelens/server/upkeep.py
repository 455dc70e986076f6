"""Keeps an index fresh while it is served: builds it if it is missing, and updates it if files have changed.

A process of its own does the work, so that answers do not wait for it. This module starts it and follows its progress.
One decision to question: trees are checked for changes when a request comes, not by a clock, and at most a twentieth of the
time. `--watch` uses the subclass WatchedUpkeep.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import threading
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

from codelens.config import Settings, resolve_paths
from codelens.errors import IndexCorrupt, NoIndex
from codelens.fleet.open import FleetPlace
from codelens.index import Index
from codelens.model.fast_dataclass import frozen_dataclass
from codelens.processes.python import start
from codelens.watching.process import WatchProcess
from codelens.worktree.place import BUILDING, LOCK, prepare_index_folder


@frozen_dataclass
class ServedIndex:
    """The index that a server serves: its files and settings."""

    folder: Path  # Absolute; a new index is built from this folder
    index: Path  # Absolute; the file may not exist yet
    settings: Settings
    fleet: FleetPlace | None = None  # A fleet's store, which is served instead of the file

    def open(self) -> Index:
        """Open the index for one call. Raises NoIndex, IndexCorrupt or SchemaTooNew."""
        if self.fleet:
            return self.fleet.open(self.settings)
        return Index.reopen(self.index, self.settings)


PAUSE_SECONDS = 1.0  # Least time between two checks of the trees; agents edit and ask about as fast
PAUSE_SHARE = 20
"""Pause after a check, as a multiple of its duration, so that checks of large trees take no larger share of the time."""
BUSY_SECONDS = 5.0  # Pause after a run that failed, or found another process writing
IDLE_SECONDS = 60.0
"""Pause after a run that wrote nothing although the trees looked stale, so that such runs do not repeat without end."""
END_SECONDS = 1.0  # Most seconds that a closing server waits for the process to finish its batch; clients wait two
NICER = 10  # Niceness added to the process, so that answers come first on a machine with few cores


class WorkStatus(NamedTuple):
    """The current work on the index; `doing` is empty if nothing runs."""

    doing: str = ""  # building, updating or elsewhere (by another process)
    phase: str = ""
    done: int = 0
    total: int = 0  # 0 if it is not known yet
    fault: str = ""  # The error of the last run and a hint; empty if it succeeded
    hint: str = ""

    @property
    def text(self) -> str:
        """The progress, worded as a part of a sentence."""
        share = f" {self.done} of {self.total} ({100 * self.done // self.total} %)" if self.total else ""
        return f"{self.phase}{share}"


class Upkeep:
    """Keeps one index fresh. All methods are thread-safe, and wait at most as long as their argument says."""

    def __init__(self, served: ServedIndex, refused: str = "") -> None:
        """`refused` is the reason why the index may not be written; empty if it may."""
        self._served, self.refused = served, refused
        self._lock = threading.RLock()  # reentrant, because a signal handler may run while its thread holds the lock
        self._process: subprocess.Popen[bytes] | None = None
        self._work = WorkStatus()
        self._ended = threading.Event()
        self._ended.set()
        self._looking: threading.Thread | None = None
        self._next_look = 0.0
        self._closed = False

    def describe_work(self) -> WorkStatus:
        """Return the current work, as far as this process knows it."""
        index = self._served.index
        begun = all(index.with_name(index.name + suffix).is_file() for suffix in (LOCK, BUILDING))
        if begun and not self._work.doing and not index.is_file():
            return WorkStatus("elsewhere", "by another process")
        return self._work

    def start_update(self, seconds: float) -> None:
        """Start to build a missing index or update a stale one. Waits at most `seconds` for the check of the trees."""
        if look := self._begin_check(always=False):
            look.join(seconds)

    def refresh(self, seconds: float) -> bool:
        """Wait at most `seconds` until the index is up to date; returns True if it is."""
        until = time.monotonic() + seconds
        self.wait(seconds)  # a check that began before now may have missed a change
        if look := self._begin_check(always=True):
            self.wait(until - time.monotonic())
        return look is not None and not look.is_alive() and self._ended.is_set() and not self._work.fault

    def _begin_check(self, always: bool) -> threading.Thread | None:
        """Return the running check, or start one if it is due or with `always`; None if checks are not possible now."""
        with self._lock:
            is_due = always or time.monotonic() >= self._next_look
            if self._looking is None and is_due and self._ended.is_set() and not self.refused and not self._closed:
                self._looking = threading.Thread(target=self._check_trees, name="codelens look", daemon=True)
                self._looking.start()
            return self._looking

    def wait(self, seconds: float) -> None:
        """Wait at most `seconds` until a running check, and the process that it may start, have ended."""
        until = time.monotonic() + seconds
        if look := self._looking:
            look.join(max(0.0, seconds))
        self._ended.wait(max(0.0, until - time.monotonic()))

    def close(self) -> None:
        """Stop the process. Its work so far is kept, and a later process continues it."""
        self._closed = True
        with self._lock:
            process = self._process
        if process is not None and process.poll() is None:
            with contextlib.suppress(OSError, ValueError):
                process.send_signal(signal.SIGINT if os.name != "nt" else signal.SIGTERM)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(END_SECONDS)

    def _check_trees(self) -> None:
        started = time.monotonic()
        pause = PAUSE_SECONDS
        try:
            if (roots := self._find_stale_roots()) is not None and not self._closed:
                self._start_builder(roots)
        except Exception as fault:  # no caller waits for this thread: the next answer reports it
            self._work = WorkStatus(fault=f"{type(fault).__name__}: {fault}")
            pause = BUSY_SECONDS
        finally:
            with self._lock:
                self._next_look = time.monotonic() + max(pause, PAUSE_SHARE * (time.monotonic() - started))
                self._looking = None

    def _find_stale_roots(self) -> list[Path] | None:
        """Find the roots to index; None if all are fresh. The next run also updates an index with an older schema."""
        try:
            with self._served.open() as index:
                present = [root for root in index.roots() if root.is_dir()]
                return present if present and index.is_stale() else None
        except (NoIndex, IndexCorrupt) as fault:
            was_tried = isinstance(fault, IndexCorrupt) and self._work.fault
            return None if was_tried else [self._served.folder]

    def _start_builder(self, roots: list[Path]) -> None:
        new = not self._served.index.is_file()
        if new:
            prepare_index_folder(self._served.index)
        order = {
            "index": str(self._served.index),
            "roots": [str(root) for root in roots],
            "settings": asdict(resolve_paths(self._served.settings)),
            "as_indexed": not new,
        }
        with self._lock:
            if self._closed:
                return
            self._work = WorkStatus("building" if new else "updating", "starting")
            self._ended.clear()
            # Nothing is written to stdin: the process ends when the pipe closes.
            pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
            self._process = process = start("codelens.server.builder:main", json.dumps(order), **pipes)
        if hasattr(os, "setpriority"):
            with contextlib.suppress(OSError):
                os.setpriority(os.PRIO_PROCESS, process.pid, NICER)
        threading.Thread(target=self._follow_builder, args=(process,), name="codelens upkeep", daemon=True).start()

    def _follow_builder(self, process: subprocess.Popen[bytes]) -> None:
        doing, end = self._work.doing, dict[str, Any]()
        assert process.stdout is not None
        with process.stdout as lines:
            for record in map(json.loads, lines):
                if record.get("ended"):
                    end = record
                else:
                    self._work = WorkStatus(doing, record["phase"], record["done"], record["total"])
        code = process.wait()
        if process.stdin:
            process.stdin.close()
        busy = end.get("busy", False)
        ended = "" if code == 0 or self._closed else f"the process that indexes ended with {code}"
        fault = "" if busy else end.get("error", ended)
        self._work = WorkStatus(fault=fault, hint=end.get("hint", ""))
        pause = BUSY_SECONDS if busy or fault else PAUSE_SECONDS if end.get("wrote") else IDLE_SECONDS
        with self._lock:
            self._next_look = max(self._next_look, time.monotonic() + pause)
        self._ended.set()


class WatchedUpkeep(Upkeep):
    """Upkeep that leaves updates to a watch process, once there is an index to watch."""

    _watch: WatchProcess | None = None

    def start_update(self, seconds: float) -> None:
        """Start the watch on the first call with an index. Check the trees then, and whenever the watch does not run."""
        if self._watch is not None and self._watch.is_alive():
            return
        with self._lock:  # at most once: a watch that ended by itself is not restarted, and checks go on without it
            if self._watch is None and not self._closed and not self.refused and self._served.index.is_file():
                self._watch = WatchProcess(self._served.index)
        super().start_update(seconds)

    def close(self) -> None:
        super().close()
        with self._lock:
            watch, self._watch = self._watch, None
        if watch is not None:
            watch.stop()
