"""The CPU seconds that all parts of one query share, and what each part that ended early left out."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from types import TracebackType

CONDITIONS, TERMS, CHANNELS, FEATURES, WALK, ORDER, SHOWN = 0.4, 0.45, 0.65, 0.8, 0.85, 0.9, 0.95
"""Shares of the whole by which the parts of a search must end; the rest is for what cannot be cut. Chosen: where nothing is
slow none of them matters, and where one part is, the others still have what they usually take."""


class OutOfTime(Exception):
    """The time of a part of the query is spent. It never leaves a search: the part ends, and the answer says so."""


class TimeBudget:
    """CPU seconds of this thread from now on; without a number, as many as it takes.

    Parts follow each other, each with a share of the whole by which it must end: what one leaves is there for the next. A
    `clock` may count something else than CPU seconds.
    """

    def __init__(self, seconds: float = math.inf, clock: Callable[[], float] = time.thread_time) -> None:
        self.seconds = seconds
        self.cut: list[str] = []
        """What parts that ended early left out, in order."""
        self.limits: list[str] = []
        """What a limit by count left out, which is the same however fast the machine is."""
        self._clock = clock
        self._began = clock()
        self.share = 1.0
        """Of the whole: by when the present part must end."""

    @property
    def limited(self) -> bool:
        """Whether there is a limit at all."""
        return self.seconds != math.inf

    @property
    def left(self) -> float:
        """Seconds until the present part must end; below 0 where it is overdue."""
        if not self.limited:
            return math.inf
        return self._began + self.seconds * self.share - self._clock()

    def over(self) -> bool:
        """Whether the present part must end."""
        return self.left <= 0

    def check(self) -> None:
        """Raises OutOfTime if the present part must end."""
        if self.over():
            raise OutOfTime

    def rest(self) -> TimeBudget:
        """What is left before the end of the last part, for a query of its own."""
        rest = TimeBudget(0.0, self._clock)
        rest.seconds = self._began + self.seconds * min(self.share, SHOWN) - rest._began
        return rest

    def part(self, share: float, left_out: str = "") -> Part:
        """A part that must end at this share of the whole. Where OutOfTime ends it, `left_out` is noted, and the query goes on.

        Without `left_out` the part notes itself what it did not do.
        """
        return Part(self, share, left_out)


class Part:
    """A context manager; see `TimeBudget.part`."""

    def __init__(self, budget: TimeBudget, share: float, left_out: str) -> None:
        self._budget, self._share, self._left_out = budget, share, left_out

    def __enter__(self) -> None:
        self._before, self._budget.share = self._budget.share, self._share

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> bool:
        self._budget.share = self._before
        if not isinstance(fault, OutOfTime):
            return False
        if self._left_out:
            self._budget.cut.append(self._left_out)
        return True
