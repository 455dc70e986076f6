"""The answer of `why`: nouns that a search does without."""

from __future__ import annotations

from codelens.model import Candidate, SearchResult
from codelens.nouns import dataclass

NO_SUCH_FILE = "not on disk"
"""The stage of `why` that lost a target which is not there at all."""


@dataclass(frozen=True, slots=True)
class Loss:
    """Why a unit is not among the hits: the first stage that lost it."""

    stage: str
    """not on disk, ignored, hidden, skipped, not indexed, parse failed, not a symbol, filtered, below minimum, cut,
    no channel, beaten, offset, out of time."""
    text: str
    remedy: str
    """The smallest change of the query, the options or the tree that brings it in; empty if none was found."""
    remedy_query: str = ""
    """The changed query, where the remedy is one: searching it does bring the target in."""


@dataclass(frozen=True, slots=True)
class Explanation:
    """The answer of `why` for one target: its hit, or what lost it; and the hits right above and below."""

    target: str
    candidate: Candidate | None
    rank: int | None
    """From 1, in the whole order before the limit; None if it is no candidate."""
    above: Candidate | None
    below: Candidate | None
    loss: Loss | None


@dataclass(frozen=True, slots=True)
class WhyResult:
    """The search that was asked about, with an account of each rank."""

    search: SearchResult
    explanations: tuple[Explanation, ...]
    """One for each target; without targets, one for each hit shown."""
