"""A time limit for a query: its parts share the CPU seconds, and a part that is cut short records what it left out."""

from __future__ import annotations

import gc
import math
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from threading import Event  # 2 ms, which a search on the command line saves

CONDITIONS, TERMS, CHANNELS, FEATURES, WALK, ORDER, SHOWN = 0.4, 0.45, 0.65, 0.8, 0.85, 0.9, 0.95
"""The share of the budget at which each part of a search must end; the rest is for work that cannot be cut short. Chosen so
that, if one part is slow, the others still get the time they usually need."""

CHECK_SECONDS = 0.01  # Time between two looks at the clock in `check_now_and_then`


@contextmanager
def pause_collector() -> Iterator[None]:
    """Disable the garbage collector during work that makes hardly any cycles; it would take a tenth of a search's time."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


CANCELLED: ContextVar[Event | None] = ContextVar("cancelled", default=None)
"""The event that is set when the client no longer wants this thread's answer; its time budgets then end. None if the work cannot
be cancelled."""


def read_cpu_time() -> float:
    """Read the CPU seconds that this thread has used; a number beyond every limit if its work was cancelled."""
    cancelled = CANCELLED.get()
    if cancelled is not None and cancelled.is_set():
        return sys.float_info.max
    return time.thread_time()


class OutOfTime(Exception):
    """A part has used up its time. A search catches the exception, ends the part and adds a notice."""


class TimeBudget:
    """A budget of this thread's CPU seconds, counted from its creation; unlimited by default.

    Parts run one after another. Each must end at a share of the whole budget, and leaves unused time to the next. `clock`
    replaces the count of CPU seconds.
    """

    def __init__(self, seconds: float = math.inf, clock: Callable[[], float] = read_cpu_time) -> None:
        self.seconds = seconds
        self.cut: list[str] = []  # What each part that was cut short left out, in order
        self.limits: list[str] = []  # What limits on counts left out; the same on every machine
        self._clock = clock
        self._began = clock()
        self._next_check = 0.0  # By the monotonic clock
        self.share = 1.0  # Share of the budget at which the current part must end

    @property
    def limited(self) -> bool:
        """True if there is a limit."""
        return self.seconds != math.inf

    @property
    def left(self) -> float:
        """Seconds until the current part must end; negative if it is overdue."""
        return self._began + self.seconds * self.share - self._clock()

    def is_over(self) -> bool:
        """Test whether the current part must end."""
        return self.left <= 0

    def check(self) -> None:
        """Raise OutOfTime if the current part must end."""
        if self.seconds != math.inf and self._began + self.seconds * self.share <= self._clock():
            raise OutOfTime

    def check_now_and_then(self) -> None:
        """Check the budget if that was not done in the last CHECK_SECONDS: for loops whose steps are faster than the clock."""
        if time.monotonic() >= self._next_check:
            self.check()
            self._next_check = time.monotonic() + CHECK_SECONDS

    def grant(self, seconds: float) -> None:
        """Give time back, at most what has been spent."""
        self._began = min(self._began + seconds, self._clock())

    @contextmanager
    def pause(self) -> Iterator[None]:
        """Do not count the time of this block."""
        before = self._clock()
        try:
            yield
        finally:
            self.grant(self._clock() - before)

    def make_remainder(self) -> TimeBudget:
        """Make a new budget of the time that is left until the end of the last part."""
        rest = TimeBudget(0.0, self._clock)
        rest.seconds = self._began + self.seconds * min(self.share, SHOWN) - rest._began
        return rest

    def copy_for_task(self) -> TimeBudget:
        """Copy the budget for a task that runs concurrently with others and enters its own parts."""
        copy = TimeBudget(self.seconds, self._clock)
        copy._began, copy.share = self._began, self.share
        return copy

    def add_cuts(self, other: TimeBudget) -> None:
        """Add what a task with a copy of the budget (`copy_for_task`) left out."""
        self.cut += other.cut
        self.limits += other.limits

    def part(self, share: float, left_out: str = "") -> BudgetPart:
        """Make a context manager for a part that must end at a share of the budget. It catches OutOfTime and records `left_out`.

        Without `left_out`, the part itself records what it left out.
        """
        return BudgetPart(self, share, left_out)


class BudgetPart:
    """The context manager that `TimeBudget.part` returns."""

    def __init__(self, budget: TimeBudget, share: float, left_out: str) -> None:
        self._budget, self._share, self._left_out = budget, share, left_out

    def __enter__(self) -> None:
        self._before, self._budget.share = self._budget.share, self._share

    def __exit__(self, kind: object, fault: object, trace: object) -> bool:
        self._budget.share = self._before
        is_overdue = isinstance(fault, OutOfTime)
        if is_overdue and self._left_out:
            self._budget.cut.append(self._left_out)
        return is_overdue
