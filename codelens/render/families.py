"""The contributions to a score → families of them, with the reasons that count: what `why` shows first."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from codelens.model.fast_dataclass import dataclass
from codelens.model.search import FAMILIES, FUSION, Contribution, family_of

MOST_REASONS = 3
LEAST_PART = 0.2  # A reason counts if its amount is at least this share of the family's largest
_PLACE = {name: place for place, name in enumerate((*FAMILIES, "other"))}


@dataclass(frozen=True, slots=True)
class Family:
    """The contributions of one kind: fusion, words, names, meaning, file, graph, history, shape."""

    name: str
    amount: float  # Exact sum (fsum) of its contributions
    share: float  # Its part of all that raises the score, as a fraction; negative if the family lowers the score
    parts: tuple[Contribution, ...]  # In the order of the account

    @property
    def reasons(self) -> list[str]:
        """At most three, the strongest first; those that work against the rest of the family are marked."""
        strongest = sorted(self.parts, key=lambda part: -abs(part.amount))
        least = abs(strongest[0].amount) * LEAST_PART
        found: list[str] = []
        for part in strongest:
            repeated = any(part.reason.startswith(reason) for reason in found)
            if part.amount and abs(part.amount) >= least and not repeated and len(found) < MOST_REASONS:
                against = part.amount * self.amount < 0
                found.append(f"{'but ' if against else ''}{part.reason}")
        return found


def families(contributions: Sequence[Contribution]) -> list[Family]:
    """The families that have contributions, the largest amount first."""
    parts: dict[str, list[Contribution]] = {}
    for part in contributions:
        parts.setdefault(family_of(part), []).append(part)
    amounts = {name: math.fsum(part.amount for part in held) for name, held in parts.items()}
    raised = math.fsum(amount for amount in amounts.values() if amount > 0)
    whole = raised or math.fsum(abs(amount) for amount in amounts.values()) or 1.0
    order = sorted(parts, key=lambda name: (-amounts[name], _PLACE[name]))
    return [Family(name, amounts[name], amounts[name] / whole, tuple(parts[name])) for name in order]


def family_amounts(contributions: Sequence[Contribution]) -> Mapping[str, float]:
    """Family → its amount, for comparing two candidates."""
    return {family.name: family.amount for family in families(contributions)}


def first_reason(contributions: Sequence[Contribution], channels: Mapping[str, int]) -> str:
    """The first sentence of the account that `why` gives: the strongest reason of the largest family, else the ranks."""
    found = [family for family in families(contributions) if family.name != FUSION and family.amount > 0]
    return found[0].reasons[0] if found else describe_ranks(contributions, channels)


def describe_ranks(contributions: Sequence[Contribution], channels: Mapping[str, int]) -> str:
    """The rank in each channel that counts, as `RRF of exact #7 · vector #3`; empty if none does."""
    rules = {part.source: part.rule for part in contributions if part.amount}
    ranks = " · ".join(f"{name} #{rank}" for name, rank in sorted(channels.items()) if name in rules)
    return f"{'shares of the scores' if 'share' in rules.values() else 'RRF'} of {ranks}" if ranks else ""
