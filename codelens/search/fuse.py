"""Joins the channels' rankings: reciprocal rank fusion, Σ weight / (k + rank) with ranks from 1, or fusion by raw scores.

Raw scores of different channels cannot be compared, so each is divided: by the channel's best score (`weighted`), or by the
range from its worst to its best (`minmax`). A share of 1 counts as much as a first rank, so that features keep their weight.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from codelens.model.code import UnitId, UnitRow
from codelens.model.search import Candidate, Contribution, Match
from codelens.search.run import SearchRun

FUSIONS = ("rrf", "weighted", "minmax")


def normalise_weights(weights: Mapping[str, float], channels: Sequence[str]) -> dict[str, float]:
    """Divide the weights of these channels by their sum."""
    total = math.fsum(weights.get(c, 0.0) for c in channels)
    return {c: weights.get(c, 0.0) / total if total else 0.0 for c in channels}


def fuse_matches(run: SearchRun, matches: Mapping[str, Sequence[Match]]) -> list[Candidate]:
    """Fuse the channels' matches with the profile's weights and k, and the fusion that the options name."""
    weights = normalise_weights(run.profile.channels, sorted(matches))
    return fuse_rankings(matches, weights, run.profile.rrf_k, find_rows(run, matches), run.options.fusion)


def find_rows(run: SearchRun, matches: Mapping[str, Sequence[Match]]) -> dict[UnitId, UnitRow]:
    """Read the rows of all matched units."""
    return run.store.units.read_rows({match.unit for ranking in matches.values() for match in ranking})


def fuse_rankings(
    rankings: Mapping[str, Sequence[Match]],
    weights: Mapping[str, float],
    k: int,
    units: Mapping[UnitId, UnitRow],
    fusion: str = "rrf",
) -> list[Candidate]:
    """Make a candidate for each unit that a channel found, with a contribution from each of these channels, by name; their order
    does not matter, because sums are exact (fsum). `fusion` is one of FUSIONS."""
    candidates: dict[UnitId, Candidate] = {}
    for channel in sorted(rankings):
        weight, matches = weights.get(channel, 0.0), rankings[channel]
        shares = _compute_shares([match.raw_score for match in matches], fusion)
        for rank, (match, share) in enumerate(zip(matches, shares, strict=True), start=1):
            if match.unit not in units:
                continue  # the text that an editor has lacks it
            if (candidate := candidates.get(match.unit)) is None:
                candidate = candidates[match.unit] = Candidate(units[match.unit])
            candidate.channels[channel] = rank
            amount = weight / (k + rank) if share is None else weight * share / (k + 1)
            candidate.add(amount, _describe_part, channel, weight, k, rank, share, match.reason)
    return list(candidates.values())


def _describe_part(channel: str, weight: float, k: int, rank: int, share: float | None, said: str) -> Contribution:
    if share is None:
        ranks = {"weight": weight, "k": k, "rank": rank}
        return Contribution(channel, weight / (k + rank), f"rank {rank}: {said}", "rrf", ranks)
    reason, operands = f"{share:.1%} of the channel's best: {said}", {"weight": weight, "share": share, "k": k}
    return Contribution(channel, weight * share / (k + 1), reason, "share", operands)


def _compute_shares(scores: Sequence[float], fusion: str) -> Sequence[float | None]:
    """Compute the share of each raw score, from 0 to 1; None if only ranks count. If all scores are equal, each has share 1."""
    if fusion == "rrf" or not scores:
        return [None] * len(scores)
    best, worst = max(scores), min(scores) if fusion == "minmax" else 0.0
    reach = best - worst
    return [max(0.0, (score - worst) / reach) if reach > 0 else 1.0 for score in scores]
