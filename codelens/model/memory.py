"""Memory and traces: feedback on results by people and programs, and observed runs of symbols.

Row numbers change when an index is rebuilt, so a place is identified by repository, path, qualified name and kind.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from codelens.model.code import UnitRow
from codelens.model.fast_dataclass import frozen_dataclass

FILE = "file"  # The kind of a place that is a whole file and has no name
NEUTRAL_SUCCESS = 0.5  # Success rate of a place that was never judged


class Place(NamedTuple):
    """A unit or a file, identified by name. Units with the same file, name and kind share one place."""

    repository: str
    path: str  # Relative to the repository's root
    name: str  # Qualified; empty for a file
    kind: str

    def format_label(self) -> str:
        """Format the place for people: `src/app.py Flask.run`."""
        return f"{self.path} {self.name}".rstrip()


def make_place(unit: UnitRow) -> Place:
    """Make the place of a unit."""
    return Place(unit.repository, unit.path, unit.qualified_name, unit.kind)


def make_file_place(place: Place) -> Place:
    """Make the place of the file that contains a place."""
    return Place(place.repository, place.path, "", FILE)


class Feedback(NamedTuple):
    """One judgement of a place as useful or not."""

    useful: bool
    digest: str  # Digest of the place's neighbourhood then. If it changes, the judgement expires.
    implied: bool = False  # True if it was inferred from use instead of given by a person
    query: str = ""  # The query whose answer was judged; empty if the place itself was judged


@frozen_dataclass
class PlaceRecord:
    """All records about one place, except learned words."""

    pinned: bool = False
    rating: float | None = None  # From 0 to 10
    uses: int = 0
    feedback: tuple[Feedback, ...] = ()  # Oldest first
    stamps: tuple[int, ...] = ()  # Times in unix seconds of the last 20 answers that contained the place, oldest first

    @property
    def outcomes(self) -> tuple[int, int]:
        """(number of useful judgements, number of judgements), including expired ones."""
        return sum(one.useful for one in self.feedback), len(self.feedback)

    @property
    def success(self) -> float:
        """The share of judgements that are useful; .5 if there are no judgements."""
        useful, judged = self.outcomes
        return useful / judged if judged else NEUTRAL_SUCCESS


NOTHING = PlaceRecord()  # The record of a place about which nothing is recorded


class LearnedWord(NamedTuple):
    """A query word with a place that was used for it, and how often."""

    word: str
    place: Place
    times: int


class AnsweredPlace(NamedTuple):
    """One place of a recorded answer."""

    rank: int  # From 1
    place: Place
    line: int
    used: bool = False


@frozen_dataclass
class RecordedAnswer:
    """A search or a context pack that was recorded."""

    query: str
    words: tuple[str, ...]  # Words of the query that may be learned
    at: int  # Unix seconds
    places: tuple[AnsweredPlace, ...]
    session: str = ""  # Session of a server's client; empty for the command line
    number: int = 0  # Number in the memory file, from 1; 0 if not recorded yet


@frozen_dataclass
class PlaceRecords:
    """The records about some places. A unit without records of its own takes those of its file."""

    places: Mapping[Place, PlaceRecord]

    def find(self, place: Place) -> PlaceRecord:
        """Find the records about a place; pin, rating and uses come from its file if the place lacks them."""
        own, around = self.places.get(place, NOTHING), self.places.get(make_file_place(place), NOTHING)
        if around is NOTHING or place.kind == FILE:
            return own
        rating = own.rating if own.rating is not None else around.rating
        return PlaceRecord(own.pinned or around.pinned, rating, own.uses or around.uses, own.feedback, own.stamps)


class SpanRun(NamedTuple):
    """The code that one OpenTelemetry span names, and when it ran."""

    name: str  # Name of the function, with or without its containers
    namespace: str
    path: str  # Path on the machine where it ran; only its end may match an indexed path
    line: int | None
    at: int  # Unix seconds of the span's end


class ObservedRuns(NamedTuple):
    """Number of observed runs of a symbol, and time of the last."""

    times: int
    last: int  # Unix seconds


class IngestResult(NamedTuple):
    """The result of importing files of spans."""

    spans: int
    matched: int
    symbols: int  # Number of distinct symbols among the matched spans
    nameless: int  # Spans without the name of a function or without a time
    unknown: int  # Spans whose code is not indexed or matches several symbols
    known: tuple[str, ...]  # Files with the same bytes as one imported before; skipped
