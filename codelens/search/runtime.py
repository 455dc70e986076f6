"""What traces saw of a unit → how recently it ran and how sure that it is in use, by knowing's bands and range.

The present is the newest observation, or one that somebody names: the clock would give another answer every day.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping
from typing import NamedTuple

from codelens.errors import TracesFault
from codelens.model import Notice, UnitId, UnitRow
from codelens.remembered import place_of
from codelens.search.age import SECONDS_A_DAY, Aged
from codelens.store.store import Store
from codelens.store.traces import Traces
from codelens.traced import Observed
from codelens.worktree.place import traces_place

BANDS = ((1, 1.0), (7, 0.8), (30, 0.5))
"""(days, recency) up to and with so many days; knowing's figures, as the next."""
OLD = 0.2
LEAST, MOST = 0.2, 0.95
"""Confidence of one observation, and of MANY and more; knowing's range."""
MANY = 1000
"""Chosen: knowing names the range alone. Between, confidence grows with the logarithm: ten times as many are as much surer."""


class Running(NamedTuple):
    """What the traces say of one unit."""

    recency: Aged
    confidence: Aged


RunningOf = Callable[[Collection[UnitRow]], Mapping[UnitId, Running]]


def running_by(store: Store, now: int | None, notices: list[Notice]) -> RunningOf:
    """Asks the traces beside an index; without any, of every unit nothing is known. A damaged file is a notice."""
    path = traces_place(store.path)

    def nothing(units: Collection[UnitRow]) -> Mapping[UnitId, Running]:
        return {}

    def asked(units: Collection[UnitRow]) -> Mapping[UnitId, Running]:
        try:
            with Traces.reading(path) as traces:
                held, newest = traces.of({unit.path for unit in units}), traces.newest()
        except TracesFault as fault:
            notices.append(Notice("traces", f"searched without traces: {fault}; {fault.hint}"))
            return {}
        present = newest if now is None else now
        seen = {unit.id: held.get(place_of(unit)) for unit in units}
        return {unit: running(one, present, now is not None) for unit, one in seen.items() if one}

    return asked if path.is_file() else nothing


def running(seen: Observed, present: int, named: bool = False) -> Running:
    """1 within a day of the present, .8 within 7, .5 within 30, then .2; .2 for one observation to .95 for 1000 and more."""
    days = max(0, present - seen.last) / SECONDS_A_DAY
    recency = next((value for most, value in BANDS if days <= most), OLD)
    whole = int(days)
    before = f"{whole} day{'' if whole == 1 else 's'} before" if whole else "within a day of"
    told = f"last seen to run {before} {'the present as named' if named else 'the newest trace'}"
    share = min(1.0, math.log(seen.times) / math.log(MANY))
    times = f"seen to run {seen.times} time{'' if seen.times == 1 else 's'}"
    return Running(Aged(recency, told), Aged(LEAST + (MOST - LEAST) * share, times))
