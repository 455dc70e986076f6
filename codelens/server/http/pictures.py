"""The account of a rank → what the page draws: bars of the contributions, and the ways through the graph."""

from __future__ import annotations

import re
from collections.abc import Sequence

from codelens.nouns import dataclass
from codelens.render.records import Record

_ARROW = re.compile(r" (←[^ ]*─|─[^ ]*→) ")
"""As `search.spread` writes an edge of a way: 'a ─calls→ b ←imports─ c'."""


@dataclass(frozen=True, slots=True)
class Step:
    """A node of a way, or the edge behind it."""

    text: str
    edge: bool
    backwards: bool = False


@dataclass(frozen=True, slots=True)
class Bar:
    """A contribution as it is drawn: `start` and `width` are shares of the picture, in percent."""

    source: str
    amount: float
    reason: str
    start: float
    width: float
    way: tuple[Step, ...]


def bars(contributions: Sequence[Record]) -> list[Bar]:
    """On one scale, with one zero; a negative amount lies left of it."""
    most = max((c["amount"] for c in contributions), default=0.0)
    least = min((c["amount"] for c in contributions), default=0.0)
    zero, whole = max(0.0, -least), max(0.0, most) + max(0.0, -least)
    scale = 100 / whole if whole else 0.0
    return [
        Bar(
            source=c["source"],
            amount=c["amount"],
            reason=c["reason"],
            start=round(scale * (zero + min(0.0, c["amount"])), 2),
            width=round(max(0.4, scale * abs(c["amount"])), 2),  # what is almost nothing is still to be seen
            way=way(c["reason"]),
        )
        for c in contributions
    ]


def way(reason: str) -> tuple[Step, ...]:
    """The nodes and edges that a reason names; empty where it names no way."""
    parts = _ARROW.split(reason.rpartition(": ")[2])
    if len(parts) < 3:
        return ()
    return tuple(
        Step(part.strip("←─→"), True, part.startswith("←")) if i % 2 else Step(part, False)
        for i, part in enumerate(parts)
    )
