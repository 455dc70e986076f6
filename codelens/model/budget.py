"""A time limit for a query: all its parts share the CPU seconds, and a part that ends early records what it left out."""

from __future__ import annotations

import gc
import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import TracebackType

CONDITIONS, TERMS, CHANNELS, FEATURES, WALK, ORDER, SHOWN = 0.4, 0.45, 0.65, 0.8, 0.85, 0.9, 0.95
"""Shares of the whole by which each part of a search must end; the rest is for work that cannot be cut. Chosen so that if
one part is slow, the others still get the time they usually need."""


@contextmanager
def pausing_collector() -> Iterator[None]:
    """Switch the garbage collector off, for work that makes many objects and hardly any cycles: it takes a tenth of a search."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


class OutOfTime(Exception):
    """The time of a part is spent. A search catches it: the part ends, and a notice reports it."""


class TimeBudget:
    """A budget of CPU seconds of this thread, from now on; unlimited by default.

    Parts follow each other. Each must end at a share of the whole, and leaves the rest to the next. `clock` replaces the
    count of CPU seconds.
    """

    def __init__(self, seconds: float = math.inf, clock: Callable[[], float] = time.thread_time) -> None:
        self.seconds = seconds
        self.cut: list[str] = []  # Descriptions of what parts that ended early left out, in order
        self.limits: list[str] = []  # Descriptions of what limits by count left out; the same on every machine
        self._clock = clock
        self._began = clock()
        self.share = 1.0  # Share of the whole at which the current part must end

    @property
    def limited(self) -> bool:
        """True if there is a limit."""
        return self.seconds != math.inf

    @property
    def left(self) -> float:
        """Seconds until the current part must end; negative if it is overdue."""
        return self._began + self.seconds * self.share - self._clock()

    def over(self) -> bool:
        """True if the current part must end."""
        return self.left <= 0

    def check(self) -> None:
        """Raise OutOfTime if the current part must end."""
        if self.seconds != math.inf and self._began + self.seconds * self.share <= self._clock():
            raise OutOfTime

    def rest(self) -> TimeBudget:
        """A new budget with the time left before the end of the last part."""
        rest = TimeBudget(0.0, self._clock)
        rest.seconds = self._began + self.seconds * min(self.share, SHOWN) - rest._began
        return rest

    def apart(self) -> TimeBudget:
        """The same budget for a task that goes on next to others, which enter parts of their own."""
        one = TimeBudget(self.seconds, self._clock)
        one._began, one.share = self._began, self.share
        return one

    def take(self, other: TimeBudget) -> None:
        """Add what such a task noted."""
        self.cut += other.cut
        self.limits += other.limits

    def part(self, share: float, left_out: str = "") -> BudgetPart:
        """A context in which OutOfTime is raised at this share of the whole, and caught at its end; `left_out` is then recorded.

        Without `left_out` the part itself records what it did not do.
        """
        return BudgetPart(self, share, left_out)


class BudgetPart:
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
