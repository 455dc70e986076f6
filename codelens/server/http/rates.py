"""How much a key may ask: a bucket of tokens that fills up evenly."""

from __future__ import annotations

import math
import time
from collections.abc import Callable


class Buckets:
    """One bucket a name; it holds `per_minute` tokens, and gets as many back in a minute. 0 sets no limit."""

    def __init__(self, per_minute: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._most = float(per_minute)
        self._clock = clock
        self._left: dict[str, tuple[float, float]] = {}

    def take(self, name: str) -> int:
        """Take a token; 0, or the whole seconds until there is one."""
        if not self._most:
            return 0
        now = self._clock()
        tokens, then = self._left.get(name, (self._most, now))
        tokens = min(self._most, tokens + (now - then) * self._most / 60)
        if tokens < 1:
            self._left[name] = (tokens, now)
            return max(1, math.ceil((1 - tokens) * 60 / self._most))
        self._left[name] = (tokens - 1, now)
        return 0
