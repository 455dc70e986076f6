"""The ways to find units. Each channel ranks by itself and knows nothing of the others; a ranker joins them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from codelens.model.code import UnitId
from codelens.model.search import Match, QueryTarget
from codelens.search.run import SearchRun
from codelens.search.verbatim import VerbatimMatch


class TextEvidence(NamedTuple):
    """Facts about the units that hold the query, or words of it, as they were typed, or nearly."""

    verbatim: Mapping[UnitId, VerbatimMatch] = {}  # Unit → what of the query it holds as it was typed
    resembling: Mapping[UnitId, float] = {}  # Unit → how near its name is to one of the query's, below 1
    fragments: Mapping[UnitId, Match] = {}
    """Units that hold the query as a part of their name or a line; in the mode `fuzzy` any of its words."""


class ChannelResult(NamedTuple):
    """The matches of a channel, best first, each unit once; and what features read, if they read more than ranks."""

    matches: Sequence[Match]
    evidence: TextEvidence = TextEvidence()


class Channel(NamedTuple):
    """One way to find units."""

    name: str  # weights.toml has its weight and its cut
    modes: Sequence[str]  # The values of --mode with which it runs
    retrieve: Callable[[SearchRun, int], ChannelResult]
    """Run and limit → the best matches, at most so many."""


class Findings(NamedTuple):
    """The matches of all channels."""

    matches: Mapping[str, Sequence[Match]] = {}  # Channel → its matches, best first, after its cut
    evidence: TextEvidence = TextEvidence()
    literal: frozenset[UnitId] = frozenset()
    """Units that are found because they satisfy the conditions, whatever their words; empty unless that suffices."""
    left_out: Mapping[UnitId, int] = {}  # Unit → its place, of those that satisfy the conditions and had no room
    targets: Mapping[UnitId, QueryTarget] = {}
    """Units that the query points at: the place or the mark that it is; empty for a query of words."""

    @property
    def channels(self) -> tuple[str, ...]:
        """The channels that ran."""
        return tuple(sorted(self.matches))

    @property
    def units(self) -> set[UnitId]:
        """All matched units."""
        return {match.unit for matches in self.matches.values() for match in matches}
