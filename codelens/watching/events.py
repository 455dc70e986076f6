"""The file system's events → the paths that changed, a batch at a time. The one door to watchfiles.

An empty batch comes at every tick, so that who listens can look at the clock and at what sends no events.
"""

from __future__ import annotations

import os
from collections.abc import Generator, Sequence
from contextlib import closing
from importlib.util import find_spec
from pathlib import Path
from threading import Event

from codelens.errors import UsageError

STEP_MS = 50
"""watchfiles looks for events this often; a batch is what came until one such time went by without more."""
GROUP_MS = 400
"""A batch that goes on growing is handed over after this time. Chosen: a storm comes in parts, and none is huge."""
TICK_SECONDS = 0.2
"""Between two batches where nothing happens. Chosen; at this rate an idle watch takes 0.2 % of a core (measured over a minute)."""


class NoEvents(Exception):
    """The operating system gives no events, or no more of them: its limit is reached, or the file system has none."""


def need_watchfiles(otherwise: str = "") -> None:
    """Raises UsageError, with a hint of what to install `otherwise`, where nothing can hear of changes."""
    if find_spec("watchfiles") is None:
        raise UsageError("watching needs watchfiles", f"pip install 'codelens[watch]'{otherwise}")


def changes(folders: Sequence[Path], stop: Event) -> Generator[frozenset[str], None, None]:
    """Absolute paths that changed in or below the folders, from the first batch on, which comes when the watch is set up.

    Ends when `stop` is set. Raises NoEvents, FileNotFoundError for a folder that is gone, UsageError without watchfiles.
    """
    need_watchfiles(", or walk again with --poll 2")
    from watchfiles._rust_notify import WatchfilesRustInternalError  # it is exported nowhere else

    try:
        try:
            yield from _heard(folders, stop, tolerant=False)
        except PermissionError:  # what nobody may read need not be watched
            yield from _heard(folders, stop, tolerant=True)
    except FileNotFoundError:
        raise
    except (OSError, WatchfilesRustInternalError) as fault:
        raise NoEvents(_told(fault)) from fault


def _heard(folders: Sequence[Path], stop: Event, tolerant: bool) -> Generator[frozenset[str], None, None]:
    """A tolerant watch leaves out the folders that it cannot hear of, and says nothing of a limit that is reached either."""
    from watchfiles import Change, watch

    seen = watch(
        *folders,
        watch_filter=None,
        debounce=GROUP_MS,
        step=STEP_MS,
        rust_timeout=int(TICK_SECONDS * 1000),
        yield_on_timeout=True,
        stop_event=stop,
        force_polling=False,
        ignore_permission_denied=tolerant,
    )
    with closing(seen):
        for batch in seen:
            # Where a folder's own entry changes with its files (Windows), that says nothing that they do not say.
            yield frozenset(p for kind, p in batch if kind is not Change.modified or not os.path.isdir(p))  # noqa: PTH112


def ticks(stop: Event) -> Generator[frozenset[str], None, None]:
    """The same without events: empty batches until `stop` is set."""
    yield frozenset()
    while not stop.wait(TICK_SECONDS):
        yield frozenset()


def _told(fault: Exception) -> str:
    """The cause without the paths of all folders that were asked for."""
    return str(fault).partition(" about [")[0].strip(" .")
