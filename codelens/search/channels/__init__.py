"""Channels: the ways to find units. Each channel ranks units independently of the others, and a ranker joins the rankings."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from codelens.model.code import UnitId
from codelens.model.search import Match, QueryTarget
from codelens.search.run import SearchRun
from codelens.search.verbatim import VerbatimMatch


class TextEvidence(NamedTuple):
    """Units that contain the query, or words of it, exactly or nearly as typed."""

    verbatim: Mapping[UnitId, VerbatimMatch] = {}  # Unit → the best part of the query that it contains as typed
    resembling: Mapping[UnitId, float] = {}  # Unit → likeness of its name to a name of the query, below 1
    fragments: Mapping[UnitId, Match] = {}
    """Units with the query as a part of their name or of a line; in the mode `fuzzy`, with any word of the query."""


class ChannelResult(NamedTuple):
    """The matches of a channel, best first, each unit once, with evidence that features use in addition to ranks."""

    matches: Sequence[Match]
    evidence: TextEvidence = TextEvidence()


class Channel(NamedTuple):
    """One way to find units."""

    name: str  # weights.toml has its weight and its cut
    modes: Sequence[str]  # The values of --mode with which it runs
    retrieve: Callable[[SearchRun, int], ChannelResult]
    """A function of a run and a limit that finds the best matches, at most `limit`."""


class Findings(NamedTuple):
    """The matches of all channels."""

    matches: Mapping[str, Sequence[Match]] = {}  # Channel → its matches, best first, after its cut
    evidence: TextEvidence = TextEvidence()
    literal: frozenset[UnitId] = frozenset()
    """Units that are found because they satisfy the conditions, regardless of words; empty if words are needed."""
    left_out: Mapping[UnitId, int] = {}  # Unit → its place, if it satisfies the conditions but exceeds the limit
    targets: Mapping[UnitId, QueryTarget] = {}
    """Units that the query points at, by a place such as PATH:LINE or a mark such as TODO; empty for a query of words."""

    @property
    def channels(self) -> tuple[str, ...]:
        """Names of the channels that ran, sorted."""
        return tuple(sorted(self.matches))

    @property
    def units(self) -> set[UnitId]:
        """All matched units."""
        return {match.unit for matches in self.matches.values() for match in matches}
