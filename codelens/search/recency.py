"""Measures how recent the last change of a file or unit is, from 0 to 1, with the reason.

The present is the time of the indexed commit, or the value of --now. With the clock, the answer would change every day.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

from codelens.errors import TracesFault
from codelens.model.code import DocumentId, UnitId, UnitRow
from codelens.model.history import FileHistory
from codelens.model.memory import ObservedRuns, make_place
from codelens.model.search import Notice
from codelens.query.facts import LastChanges
from codelens.search.run import SearchRun
from codelens.store.records import Traces
from codelens.store.store import Store
from codelens.text.counts import quantity
from codelens.worktree.place import locate_traces

SECONDS_A_DAY = 86_400
FADING = 0.005  # Recency is exp(-.005 days), half after 139 days, as in the marketplace's ranking


class ExplainedValue(NamedTuple):
    """A value with the reason for it in words."""

    value: float
    reason: str


def measure_recency(history: FileHistory | None, present: int, named: bool = False) -> ExplainedValue | None:
    """Compute exp(-.005 days) from the last commit to the present (unix seconds); 1 if the commit is later.

    None if no known commit changed the file. `named` is true if the present comes from --now.
    """
    if history is None:
        return None
    days = max(0, present - history.changed) / SECONDS_A_DAY
    when = f"{quantity(int(days), 'day')} before" if days >= 1 else "on the day of"
    what = "the present as named" if named else "the indexed commit"
    return ExplainedValue(math.exp(-FADING * days), f"changed {when} {what}")


def measure_recency_of_units(run: SearchRun, units: Iterable[UnitRow]) -> dict[UnitId, ExplainedValue]:
    """Map each unit to the recency of the last change of its lines, or of its file if the lines' history is unknown.

    Units of repositories whose history was not read are left out. Raises OutOfTime.
    """
    changes, store, now = LastChanges(run.store, run.texts), run.store, run.options.now
    by_file: dict[DocumentId, list[UnitRow]] = {}
    for unit in units:
        by_file.setdefault(unit.document, []).append(unit)
    values: dict[UnitId, ExplainedValue] = {}
    read, documents = store.history.read_all(), store.documents.read_rows(by_file)
    store.prefetch_answers(
        *(("lines.read_by_path", (document.repository, [document.path])) for document in documents),
        *(("lines.read_commits", (document.repository,)) for document in documents),
        *(("documents.read_snapshot", (document.id,)) for document in documents),
    )
    for document in documents:
        if (known := read.get(document.repository)) is None:
            continue
        run.budget.check()
        for unit_id, last in changes.find_for_units(document, by_file[document.id]).items():
            history = FileHistory(last.commits, last.time)
            if aged := measure_recency(history, known.time if now is None else now, now is not None):
                what = "its lines were changed" if last.commits else "its file was changed"
                values[unit_id] = aged._replace(reason=aged.reason.replace("changed", what, 1))
    return values


BANDS = ((1, 1.0), (7, 0.8), (30, 0.5))  # (most days, recency) for each band
OLD = 0.2  # Recency after the last band
LEAST, MOST = 0.2, 0.95  # Confidence of one observation, and of MANY or more
MANY = 1000
"""Observations with the highest confidence; below, it grows with the logarithm. Chosen, as knowing gives only the range."""


class RuntimeSignals(NamedTuple):
    """The recency and confidence of one unit according to run-time traces."""

    recency: ExplainedValue
    confidence: ExplainedValue


def read_runtime_signals(
    units: Collection[UnitRow], store: Store, now: int | None, notices: list[Notice]
) -> Mapping[UnitId, RuntimeSignals]:
    """Read the units' signals from the traces next to an index, if there are any; add a notice if the file is damaged."""
    path = locate_traces(store.path)
    if not path.is_file():
        return {}
    try:
        with Traces.open_for_reading(path) as traces:
            observed, newest = traces.find_runs({unit.path for unit in units}), traces.find_newest_time()
    except TracesFault as fault:
        notices.append(Notice("traces", f"searched without traces: {fault}; {fault.hint}"))
        return {}
    present = newest if now is None else now
    seen = {unit.id: observed.get(make_place(unit)) for unit in units}
    return {unit: summarize_runs(one, present, now is not None) for unit, one in seen.items() if one}


def summarize_runs(seen: ObservedRuns, present: int, named: bool = False) -> RuntimeSignals:
    """Compute recency (1 within a day, .8 within 7, .5 within 30, then .2) and confidence (.2 to .95) of observed runs."""
    days = max(0, present - seen.last) / SECONDS_A_DAY
    before = f"{quantity(int(days), 'day')} before" if days >= 1 else "within a day of"
    reason = f"last seen to run {before} {'the present as named' if named else 'the newest trace'}"
    recency = ExplainedValue(next((value for most, value in BANDS if days <= most), OLD), reason)
    sure = LEAST + (MOST - LEAST) * min(1.0, math.log(seen.times) / math.log(MANY))
    return RuntimeSignals(recency, ExplainedValue(sure, f"seen to run {quantity(seen.times, 'time')}"))
