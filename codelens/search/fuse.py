"""Joining the channels: reciprocal rank fusion, Σ weight / (k + rank), ranks from 1."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from codelens.model import Candidate, Contribution, Match, UnitId, UnitRow


def normalised(weights: Mapping[str, float], channels: Sequence[str]) -> dict[str, float]:
    """The weights of these channels, divided by their sum."""
    total = math.fsum(weights.get(c, 0.0) for c in channels)
    return {c: weights.get(c, 0.0) / total if total else 0.0 for c in channels}


def fuse(
    rankings: Mapping[str, Sequence[Match]], weights: Mapping[str, float], k: int, units: Mapping[UnitId, UnitRow]
) -> list[Candidate]:
    """One candidate for each unit that any channel found, with a contribution for each channel that did.

    The order of the channels changes nothing: sums are exact (fsum), and contributions are kept in order of name.
    """
    candidates: dict[UnitId, Candidate] = {}
    for channel in sorted(rankings):
        for rank, match in enumerate(rankings[channel], start=1):
            candidate = candidates.setdefault(match.unit, Candidate(units[match.unit]))
            candidate.channels[channel] = rank
            candidate.contributions.append(_contribution(channel, rank, match, weights.get(channel, 0.0), k))
    return list(candidates.values())


def _contribution(channel: str, rank: int, match: Match, weight: float, k: int) -> Contribution:
    return Contribution(
        source=channel,
        amount=weight / (k + rank),
        reason=f"rank {rank}: {match.reason}",
        rule="rrf",
        operands={"weight": weight, "k": k, "rank": rank},
    )
