"""Answers that may be served again: for five minutes, and only from the state of the index that gave them.

What lies beside the index and decides answers too belongs to its state.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable

from codelens.nouns import dataclass

SECONDS = 300.0
"""The marketplace's."""
MOST_BYTES = 64_000_000
"""Of all answers together; the one that was asked for longest ago goes first. Chosen."""

Key = tuple[str, str, str]
"""(state, endpoint, question)."""


@dataclass(frozen=True, slots=True)
class Kept:
    """An answer's body, and when it was made, by the clock of the cache."""

    body: bytes
    made: float


class Answers:
    """Not for several threads: the event loop alone asks it."""

    def __init__(self, clock: Callable[[], float] = time.monotonic, most_bytes: int = MOST_BYTES) -> None:
        self._clock = clock
        self._most = most_bytes
        self._bytes = 0
        self._kept: OrderedDict[Key, Kept] = OrderedDict()

    def get(self, key: Key) -> tuple[bytes, int] | None:
        """(body, its age in whole seconds); None where there is none, or an old one."""
        found = self._kept.get(key)
        if found is None:
            return None
        age = self._clock() - found.made
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
        self._kept[key] = Kept(body, self._clock())
        self._bytes += len(body)
        while self._bytes > self._most:
            self._drop(next(iter(self._kept)))

    def _drop(self, key: Key) -> None:
        if (gone := self._kept.pop(key, None)) is not None:
            self._bytes -= len(gone.body)
