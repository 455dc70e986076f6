"""A watch over a tree in a thread of this process, with the events it has reported."""

from __future__ import annotations

import queue
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread

from codelens.config import Settings
from codelens.errors import NoIndex
from codelens.index import Index
from codelens.model.request import SearchOptions
from codelens.model.runs import WatchEvent, WatchStep
from codelens.watching.watch import DEFAULTS, Watch, WatchOptions

PATIENCE = 300.0  # Seconds after which a test gives up: on a busy machine an update may take long
SMALL = Settings(vector=False, fuzzy=False, jobs=1)


class Heard:
    """Events in order; `until` removes them from the queue."""

    def __init__(self) -> None:
        self.all: list[WatchEvent] = []
        self._waiting: queue.Queue[WatchEvent] = queue.Queue()

    def __call__(self, event: WatchEvent) -> None:
        self.all.append(event)
        self._waiting.put(event)

    def until(self, *steps: WatchStep) -> WatchEvent:
        """The next event of one of these kinds; drops those before it."""
        while True:
            event = self._waiting.get(timeout=PATIENCE)
            if event.step in steps:
                return event

    def until_fresh(self, index: Path) -> None:
        """Wait until the disk and the index agree."""
        await_true(lambda: is_fresh(index))

    def count(self, step: WatchStep) -> int:
        return sum(event.step is step for event in self.all)


@contextmanager
def watching(
    index: Path, *roots: Path, settings: Settings = SMALL, options: WatchOptions = DEFAULTS
) -> Iterator[Heard]:
    """The events of a watch that has made its first update."""
    heard = Heard()
    watch = Watch(index, roots, settings, options, report=heard)
    thread = Thread(target=watch.run, daemon=True)
    thread.start()
    try:
        heard.until(WatchStep.WATCHING)
        yield heard
    finally:
        watch.stop()
        thread.join(PATIENCE)


def await_true(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, "the condition did not become true"
        time.sleep(0.05)


def is_fresh(index: Path) -> bool:
    with Index.open(index) as opened:
        return not any(repository.is_stale for repository in opened.status(check=True).repositories)


def finds(index: Path, query: str) -> list[str]:
    """Paths of the hits; empty if there is no index."""
    try:
        with Index.open(index) as opened:
            return [hit.unit.path for hit in opened.search(query, SearchOptions(mode="exact")).hits]
    except NoIndex:
        return []
