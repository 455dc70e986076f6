"""What moves a score once it has been summed, each as a contribution: factors of paths, and the order within a file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from codelens.model import Candidate, Contribution
from codelens.search.evidence import words_said
from codelens.search.expand import ExpandedQuery
from codelens.search.features import ROLE_WORDS

MOST_FURTHER = 4
"""Hits of one file after which a further one counts no less than the last. Chosen."""


def add_factors(candidates: Sequence[Candidate], query: ExpandedQuery, factors: Mapping[str, float]) -> None:
    """Write what multiplies each candidate's score so far for the part that its path plays, in place; 1 changes nothing.

    It suits sums that are never negative, such as ranks; a profile with features has features for this.
    """
    said = words_said(query)
    for candidate in candidates if factors else ():
        for role, words in ROLE_WORDS.items():
            if role in factors and role in candidate.unit.roles and not words & said:
                _add_factor(candidate, role, factors[role], f"{role} path")


def spread_files(candidates: Sequence[Candidate], further: float) -> list[Candidate]:
    """Best first; each further hit of a file gets `further` (below 0) once more, so that one file does not fill the page."""
    ordered = sorted(candidates, key=Candidate.order)
    if not further:
        return ordered
    seen: dict[tuple[str, str], int] = {}
    for candidate in ordered:
        place = (candidate.unit.repository, candidate.unit.path)
        before = seen.get(place, 0)
        seen[place] = before + 1
        if before:
            add_bonus(candidate, "further", further, min(before, MOST_FURTHER), f"hit {before + 1} of its file")
    return sorted(ordered, key=Candidate.order)


def add_bonus(candidate: Candidate, source: str, weight: float, value: float, reason: str) -> None:
    """Write one part of a sum: `weight` times a value, mostly from 0 to 1."""
    operands = {"weight": weight, "value": value}
    candidate.told.append(Contribution(source, weight * value, reason, "bonus", operands))


def _add_factor(candidate: Candidate, source: str, factor: float, reason: str) -> None:
    score = candidate.score
    operands = {"factor": factor, "of": score}
    candidate.told.append(Contribution(source, (factor - 1.0) * score, reason, "factor", operands))
