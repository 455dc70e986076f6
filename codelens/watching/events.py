"""Yields paths that changed, in batches, from the file system's events. Only this module imports watchfiles. Each tick yields
an empty batch, so that the caller can check the clock."""

from __future__ import annotations

import os
from collections.abc import Generator, Sequence
from contextlib import closing
from importlib.util import find_spec
from pathlib import Path
from threading import Event
from typing import Any

from codelens.errors import MissingExtra

STEP_MS = 50  # watchfiles collects events in steps of this length; a batch ends with the first step that brings none
GROUP_MS = 400  # A batch that keeps growing is handed over after this time. Changes come in bursts.
TICK_SECONDS = 0.2  # Time between batches while nothing happens: an idle watch takes 0.2 % of a core


class NoEvents(Exception):
    """A fault: the file system sends no events, or the system's limit on watches is reached."""


def require_watchfiles(otherwise: str = "") -> None:
    """Raise UsageError if watchfiles is not installed; the hint ends with the alternative `otherwise`."""
    if find_spec("watchfiles") is None:
        raise MissingExtra("watching", ["watchfiles"], "watch", otherwise)


def yield_changes(folders: Sequence[Path], stop: Event) -> Generator[frozenset[str], None, None]:
    """Yield batches of absolute paths that changed in or below the folders, until `stop` is set. The first batch comes when the
    watch is set up. Raises NoEvents, FileNotFoundError for a folder that is gone, and UsageError without watchfiles."""
    require_watchfiles("walk the trees instead with --poll 2")
    from watchfiles import Change, watch
    from watchfiles._rust_notify import WatchfilesRustInternalError  # not exported elsewhere

    times = {"debounce": GROUP_MS, "step": STEP_MS, "rust_timeout": int(TICK_SECONDS * 1000), "yield_on_timeout": True}
    options: dict[str, Any] = times | {"watch_filter": None, "stop_event": stop, "force_polling": False}
    # A tolerant watch skips folders that cannot be read, but hides that a limit is reached.
    for is_tolerant in (False, True):
        try:
            with closing(watch(*folders, ignore_permission_denied=is_tolerant, **options)) as batches:
                for batch in batches:
                    # On Windows a folder's own entry changes with its files, whose events tell the same.
                    yield frozenset(p for kind, p in batch if kind is not Change.modified or not os.path.isdir(p))  # noqa: PTH112
            return
        except FileNotFoundError:
            raise
        except (OSError, WatchfilesRustInternalError) as fault:
            if is_tolerant or not isinstance(fault, PermissionError):
                cause = str(fault).partition(" about [")[0].strip(" .")  # without the list of all watched folders
                raise NoEvents(cause) from fault


def yield_ticks(stop: Event) -> Generator[frozenset[str], None, None]:
    """Yield empty batches until `stop` is set, in place of events."""
    yield frozenset()
    while not stop.wait(TICK_SECONDS):
        yield frozenset()
