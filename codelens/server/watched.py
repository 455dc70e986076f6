"""An index that a watch keeps fresh while it is served: no look at the trees is needed as long as the watch lives."""

from __future__ import annotations

from codelens.server.upkeep import Upkeep
from codelens.watching.process import WatchProcess


class WatchedUpkeep(Upkeep):
    """Upkeep that leaves updates to a watch in a process of its own, once there is an index to watch."""

    _watch: WatchProcess | None = None

    def tend(self, seconds: float) -> None:
        """The first call with an index starts the watch, and looks itself: what changed before is not waited for twice."""
        if self._watch is not None and self._watch.is_alive():
            return
        self._start_watch()
        super().tend(seconds)

    def close(self) -> None:
        """End the watch too."""
        super().close()
        with self._lock:
            watch, self._watch = self._watch, None
        if watch is not None:
            watch.stop()

    def _start_watch(self) -> None:
        """At most once: a watch that ended by itself had its reason, and the looks go on without it."""
        with self._lock:
            if self._watch is None and not self._closed and not self.refused and self._served.index.is_file():
                self._watch = WatchProcess(self._served.index)
