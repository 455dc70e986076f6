"""The nouns of memory: what people and programs said about results, by what a place is called.

Row numbers change when an index is made anew, so a place is known by its repository, path, qualified name and kind.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from codelens.model import UnitRow
from codelens.nouns import dataclass

FILE = "file"
"""The kind of a place that is a whole file; its name is empty."""
NEUTRAL_SUCCESS = 0.5
"""The rate of success of what nobody has judged (the marketplace's figure)."""


class Place(NamedTuple):
    """A unit, or a file, by what it is called. Units of one name, kind and file are one place."""

    repository: str
    path: str
    """Relative to the repository's root."""
    name: str
    """Qualified; empty for a file."""
    kind: str

    def told(self) -> str:
        """In a person's words: `src/app.py Flask.run`."""
        return f"{self.path} {self.name}".rstrip()


def place_of(unit: UnitRow) -> Place:
    """What a unit is known by."""
    return Place(unit.repository, unit.path, unit.qualified_name, unit.kind)


def file_of(place: Place) -> Place:
    """The file that a place lies in, as a place."""
    return Place(place.repository, place.path, "", FILE)


class Feedback(NamedTuple):
    """One judgement of a place."""

    useful: bool
    digest: str
    """Of its neighbourhood when it was given; one of another digest has expired."""
    implied: bool = False
    """Whether it was concluded from what was used, not said."""


@dataclass(frozen=True, slots=True)
class Remembered:
    """All that is recorded of one place, but for the words that lead to it."""

    pinned: bool = False
    rating: float | None = None
    """From 0 to 10."""
    uses: int = 0
    feedback: tuple[Feedback, ...] = ()
    """Oldest first."""
    stamps: tuple[int, ...] = ()
    """Unix seconds at which an answer held it, oldest first; the newest 20 are kept."""

    @property
    def outcomes(self) -> tuple[int, int]:
        """(times it was useful, times it was judged), whether or not the code has changed since."""
        return sum(one.useful for one in self.feedback), len(self.feedback)

    @property
    def success(self) -> float:
        """The share of its judgements that found it useful; .5 where there is none."""
        useful, judged = self.outcomes
        return useful / judged if judged else NEUTRAL_SUCCESS


NOTHING = Remembered()
"""What is known of a place that nothing was recorded of."""


class Learned(NamedTuple):
    """A word of queries and a place that was used for it so many times."""

    word: str
    place: Place
    times: int


class Answered(NamedTuple):
    """One place of a recorded answer."""

    rank: int
    """From 1."""
    place: Place
    line: int
    used: bool = False


@dataclass(frozen=True, slots=True)
class Answer:
    """A search or a context pack that was recorded."""

    query: str
    words: tuple[str, ...]
    """Those of the query that vocabulary may be learned from."""
    at: int
    """Unix seconds."""
    places: tuple[Answered, ...]
    session: str = ""
    """Whose: empty for the command line; a server names each of its clients' sessions."""
    number: int = 0
    """In the memory file, from 1; 0 for one that is not recorded yet."""


@dataclass(frozen=True, slots=True)
class Recalled:
    """What was recorded of some places. What is said of a file holds for all in it, but for what is said of the place itself."""

    places: Mapping[Place, Remembered]

    def of(self, place: Place) -> Remembered:
        """Of the place itself; its pin, rating and uses from its file where it has none of its own."""
        own, around = self.places.get(place, NOTHING), self.places.get(file_of(place), NOTHING)
        if around is NOTHING or place.kind == FILE:
            return own
        rating = own.rating if own.rating is not None else around.rating
        return Remembered(own.pinned or around.pinned, rating, own.uses or around.uses, own.feedback, own.stamps)
