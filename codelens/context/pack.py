"""Symbols with their costs → those that fit into a budget, each whole or as its signature: a greedy knapsack by density.

Density = score / tokens × nearness^e (knowing's formula, whose tokens are those of the signature). Signatures come first,
the densest until six tenths of the room are spent; then the best of them are given their bodies; what is left goes to more
signatures. So much of what matters is named, and the best of it shown. What lies within a body that is packed costs
nothing, and what holds a packed body comes as its signature: no line is packed twice.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from codelens.nouns import dataclass
from codelens.packed import Form, Forms

SIGNATURES_SHARE = 0.6
"""Of the room, for the first round. Of the symbols wanted by 78 development tasks, packs of 8 000 tokens name .842 and
show .594 whole; with .4 of the room .801 and .629, with bodies at once .750 and .575."""
LARGEST_SHARE = 0.25
"""Of the room, for a single body. With .1 packs of 2 000 tokens name as many and show .322 whole in place of .366."""
LEAST_EXPONENT, MOST_EXPONENT, EXPONENT_STEP = 0.3, 0.7, 0.2
"""knowing's: .3 was the best of nine tried, more where many candidates are phantoms."""

Place = tuple[int, int, int]
"""(document, start, end) in bytes."""


@dataclass(frozen=True, slots=True)
class Item:
    """A symbol that wants room. `key` breaks ties, and is its own."""

    key: tuple[object, ...]
    score: float
    nearness: float
    """0 to 1; seeds have 1."""
    body: int | None
    """Tokens; None where there is no such form."""
    signature: int | None
    place: Place


@dataclass(frozen=True, slots=True)
class Chosen:
    """An item with the form that it comes in."""

    item: Item
    form: Form
    density: float


@dataclass(frozen=True, slots=True)
class Packing:
    """What fits: `chosen` by descending score, `cut` by descending density, `covered` within a chosen body."""

    chosen: tuple[Chosen, ...]
    cut: tuple[Chosen, ...]
    covered: tuple[Item, ...]
    tokens: int


def nearness_exponent(phantoms: int, items: int) -> float:
    """e = .3 + .2 × the share of phantoms (nodes outside of the repository) in all candidates, at least .3, at most .7."""
    ratio = phantoms / (phantoms + items) if phantoms else 0.0
    return min(max(LEAST_EXPONENT + EXPONENT_STEP * ratio, LEAST_EXPONENT), MOST_EXPONENT)


def density(score: float, tokens: int, nearness: float, exponent: float) -> float:
    """Score by token, less where it is far; 0 for what has no positive score."""
    return max(score, 0.0) / max(tokens, 1) * math.pow(max(nearness, 0.0), exponent)


def pack(items: Sequence[Item], room: int, exponent: float, forms: Forms = Forms.AUTO) -> Packing:
    """Give `room` tokens to the densest items first; what does not fit is skipped, and later ones are still tried."""
    rounds = _Rounds(exponent)
    shortest = sorted((_in_form(item, _shortest(item), exponent) for item in items), key=_by_density)
    if forms is Forms.AUTO:
        rounds.place(shortest, int(room * SIGNATURES_SHARE))
        rounds.show_bodies(room)
        shortest = rounds.take_cut()
    rounds.place(shortest, room)
    return rounds.packing()


def _by_density(chosen: Chosen) -> tuple[float, float, tuple[object, ...]]:
    return (-chosen.density, -chosen.item.score, chosen.item.key)


def _by_score(chosen: Chosen) -> tuple[float, tuple[object, ...]]:
    return (-chosen.item.score, chosen.item.key)


def _shortest(item: Item) -> Form:
    return Form.BODY if item.signature is None else Form.SIGNATURE


def _in_form(item: Item, form: Form, exponent: float) -> Chosen:
    return Chosen(item, form, density(item.score, _cost(item, form), item.nearness, exponent))


def _cost(item: Item, form: Form) -> int:
    cost = item.body if form is Form.BODY else item.signature
    assert cost is not None, "the form is one that the item has"
    return cost


def _within(inner: Item, outer: Item) -> bool:
    """Whether one lies in the other; two at the same place lie in each other."""
    (document, start, end), (other, first, last) = inner.place, outer.place
    return inner is not outer and document == other and first <= start and end <= last


class _Rounds:
    """The choice while it is made."""

    def __init__(self, exponent: float) -> None:
        self._exponent = exponent
        self._spent = 0
        self._chosen: dict[int, list[Chosen]] = {}
        """By document, since only symbols of one file lie in each other."""
        self._cut: list[Chosen] = []
        self._covered: list[Item] = []

    def place(self, wishes: Sequence[Chosen], room: int) -> None:
        """Each item in the form that it asks for, where it still fits."""
        for wish in wishes:
            cost, beside = _cost(wish.item, wish.form), self._chosen.setdefault(wish.item.place[0], [])
            if _is_covered(wish.item, beside):
                self._covered.append(wish.item)
            elif self._spent + cost <= room and not (wish.form is Form.BODY and _inside(wish.item, beside)):
                self._spent += cost
                beside.append(wish)
            else:
                self._cut.append(wish)

    def show_bodies(self, room: int) -> None:
        """The best of the signatures become bodies; signatures within them need no room of their own any more."""
        for now in sorted(self._all(), key=_by_score):
            item, beside = now.item, self._chosen[now.item.place[0]]
            if now not in beside or item.body is None or item.signature is None or item.body > room * LARGEST_SHARE:
                continue
            inside = _inside(item, beside)
            spent = self._spent - item.signature - sum(_cost(c.item, c.form) for c in inside) + item.body
            if spent > room or any(c.form is Form.BODY for c in inside):
                continue
            self._spent = spent
            self._covered += [c.item for c in inside]
            kept = [c for c in beside if c is not now and c not in inside]
            self._chosen[item.place[0]] = [*kept, _in_form(item, Form.BODY, self._exponent)]

    def take_cut(self) -> list[Chosen]:
        """What found no room yet, the densest first, to be placed again."""
        cut, self._cut = sorted(self._cut, key=_by_density), []
        return cut

    def packing(self) -> Packing:
        """The end result, in order."""
        return Packing(
            tuple(sorted(self._all(), key=_by_score)),
            tuple(sorted(self._cut, key=_by_density)),
            tuple(sorted(self._covered, key=lambda item: item.key)),
            self._spent,
        )

    def _all(self) -> list[Chosen]:
        return [c for beside in self._chosen.values() for c in beside]


def _is_covered(item: Item, beside: Sequence[Chosen]) -> bool:
    return any(c.form is Form.BODY and _within(item, c.item) for c in beside)


def _inside(item: Item, beside: Sequence[Chosen]) -> list[Chosen]:
    return [c for c in beside if _within(c.item, item)]
