"""Units → their raw signals of quality: a person's table first, then memory, then what index and history say.

Stars and installs are of one kind for all: where the table has such a column nothing else counts, for a number of files and
one of stars are on no common scale. The present is the indexed commit, or one that is named: no clock decides.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from codelens.model import UnitId, UnitRow
from codelens.past import History
from codelens.remembered import NOTHING as NOT_RECORDED
from codelens.remembered import Remembered
from codelens.search.age import SECONDS_A_DAY
from codelens.search.metadata import UPDATED, Metadata, Scalar
from codelens.search.quality import Known, Standing
from codelens.store.store import Store


class Standings:
    """What is known of the units of one index. `now` is a present that somebody named, in unix seconds."""

    def __init__(
        self, store: Store, metadata: Metadata, remembered: Mapping[UnitId, Remembered], now: int | None = None
    ) -> None:
        self._store, self._metadata, self._remembered, self._now = store, metadata, remembered, now
        self._presents: dict[str, int] = {}

    def of(self, units: Sequence[UnitRow]) -> dict[UnitId, Standing]:
        """Unit → its signals."""
        using = {} if "stars" in self._metadata.columns else self._store.edges.files_using([u.id for u in units])
        histories = self._store.history.of({unit.document for unit in units})
        self._presents = self._read_presents()
        return {unit.id: self._one(unit, using.get(unit.id, 0), histories.get(unit.document)) for unit in units}

    def _read_presents(self) -> dict[str, int]:
        """Repository → its indexed commit's time, else the newest time that the table has."""
        reads = {row.name: self._store.history.read(row.id) for row in self._store.documents.repositories()}
        return {
            name: self._now if self._now is not None else read.time if read and read.commits else self._metadata.newest
            for name, read in reads.items()
        }

    def _one(self, unit: UnitRow, using: int, history: History | None) -> Standing:
        known = self._metadata.of(unit.repository, unit.path)
        recorded = self._remembered.get(unit.id, NOT_RECORDED)
        return Standing(
            rating=_rating(recorded, known),
            stars=self._column("stars", known) or Known(using, f"used by {using} other file{'s' * (using != 1)}"),
            uses=self._column("installs", known) or _uses(recorded),
            success=_success(recorded, known),
            days=self._days(unit, known, history),
            pinned=recorded.pinned,
        )

    def _column(self, name: str, known: Mapping[str, Scalar]) -> Known | None:
        """Of the table; None where it has no such column at all."""
        if name not in self._metadata.columns:
            return None
        value = float(known.get(name, 0.0))
        return Known(value, f"{value:g} {name}")

    def _days(self, unit: UnitRow, known: Mapping[str, Scalar], history: History | None) -> Known | None:
        if UPDATED in known:
            changed = int(known[UPDATED])
        elif history is not None:
            changed = history.changed
        else:
            return None
        days = max(0, self._presents[unit.repository] - changed) / SECONDS_A_DAY
        when = "the present as named" if self._now is not None else "the present of its index"
        return Known(days, f"changed {days:.0f} day{'s' * (round(days) != 1)} before {when}")


def _uses(recorded: Remembered) -> Known:
    return Known(recorded.uses, f"used {recorded.uses} time{'s' * (recorded.uses != 1)}")


def _rating(recorded: Remembered, known: Mapping[str, Scalar]) -> Known | None:
    """One's own rating goes over the table's."""
    if recorded.rating is not None:
        return Known(recorded.rating, f"you rated it {recorded.rating:g} of 10")
    if "rating" in known:
        return Known(float(known["rating"]), f"rated {float(known['rating']):g} of 10")
    return None


def _success(recorded: Remembered, known: Mapping[str, Scalar]) -> Known | None:
    useful, judged = recorded.outcomes
    if judged:
        return Known(useful / judged, f"useful {useful} of {judged} times")
    if "success" in known:
        return Known(float(known["success"]), f"a success in {float(known['success']):.0%} of its uses")
    return None
