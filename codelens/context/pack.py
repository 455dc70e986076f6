"""Symbols with their costs → those that fit into a budget, each whole or as its signature: a greedy knapsack by density.

Density = score / tokens × nearness^e (knowing's formula). Whole bodies may take three quarters of the room, so that
signatures of the rest find some; what is left at the end makes bodies of signatures. What lies within a body that is
packed costs nothing, and what holds a packed symbol comes as its signature: no line is packed twice.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from codelens.nouns import dataclass
from codelens.packed import Form, Forms

BODIES_SHARE = 0.75
"""Of the room, for bodies in the first round. Chosen, not measured."""
LARGEST_SHARE = 0.25
"""Of the room, for a single body: a longer one comes as its signature. Chosen, not measured."""
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
    rounds = _Rounds(room, exponent)
    order = sorted((_first_form(item, room, exponent, forms) for item in items), key=_by_density)
    for wish in order:
        rounds.place(wish, BODIES_SHARE if forms is Forms.AUTO else 1.0)
    if forms is not Forms.SIGNATURES:
        rounds.upgrade()
    return rounds.packing()


def _by_density(chosen: Chosen) -> tuple[float, float, tuple[object, ...]]:
    return (-chosen.density, -chosen.item.score, chosen.item.key)


def _by_score(chosen: Chosen) -> tuple[float, tuple[object, ...]]:
    return (-chosen.item.score, chosen.item.key)


def _first_form(item: Item, room: int, exponent: float, forms: Forms) -> Chosen:
    """The form in which an item asks for room, with its density in that form."""
    largest = room * LARGEST_SHARE if forms is Forms.AUTO and item.signature is not None else room
    wants_body = item.body is not None and (
        item.signature is None or (forms is not Forms.SIGNATURES and item.body <= largest)
    )
    return _in_form(item, Form.BODY if wants_body else Form.SIGNATURE, exponent)


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

    def __init__(self, room: int, exponent: float) -> None:
        self._room, self._exponent = room, exponent
        self._spent = self._spent_on_bodies = 0
        self._chosen: dict[int, list[Chosen]] = {}
        """By document, since only symbols of one file lie in each other."""
        self._cut: list[Chosen] = []
        self._covered: list[Item] = []

    def place(self, wish: Chosen, bodies_share: float) -> None:
        """One item in the form that it asks for, else as its signature, else not."""
        item = wish.item
        if self._is_covered(item):
            self._covered.append(item)
        elif wish.form is Form.BODY and self._takes_body(item, bodies_share):
            self._spent_on_bodies += _cost(item, Form.BODY)
            self._take(wish)
        elif item.signature is not None and self._spent + item.signature <= self._room:
            self._take(_in_form(item, Form.SIGNATURE, self._exponent))
        else:
            short = Form.BODY if item.signature is None else Form.SIGNATURE
            self._cut.append(_in_form(item, short, self._exponent))

    def upgrade(self) -> None:
        """Room that is left makes bodies of signatures, the densest first."""
        for now in sorted(self._all(), key=_by_density):
            item = now.item
            if now.form is Form.BODY or item.body is None or self._holds_any(item):
                continue
            spent = self._spent - _cost(item, Form.SIGNATURE) + item.body
            if spent <= self._room:
                self._spent = spent
                beside = self._chosen[item.place[0]]
                beside[beside.index(now)] = _in_form(item, Form.BODY, self._exponent)
        cut, self._cut = sorted(self._cut, key=_by_density), []
        for wish in cut:  # a body that is shorter than its signature has made room
            self.place(wish, 0.0)

    def packing(self) -> Packing:
        """The end result, in order; what was cut before its surroundings were packed is covered all the same."""
        covered = [*self._covered, *(c.item for c in self._cut if self._is_covered(c.item))]
        cut = [c for c in self._cut if not self._is_covered(c.item)]
        return Packing(
            tuple(sorted(self._all(), key=_by_score)),
            tuple(sorted(cut, key=_by_density)),
            tuple(sorted(covered, key=lambda item: item.key)),
            self._spent,
        )

    def _takes_body(self, item: Item, bodies_share: float) -> bool:
        """An item without any other form may take all the room."""
        cost, share = _cost(item, Form.BODY), bodies_share if item.signature is not None else 1.0
        fits = self._spent + cost <= self._room and self._spent_on_bodies + cost <= self._room * share
        return fits and not self._holds_any(item)

    def _take(self, chosen: Chosen) -> None:
        self._spent += _cost(chosen.item, chosen.form)
        self._chosen.setdefault(chosen.item.place[0], []).append(chosen)

    def _all(self) -> list[Chosen]:
        return [c for beside in self._chosen.values() for c in beside]

    def _is_covered(self, item: Item) -> bool:
        beside = self._chosen.get(item.place[0], ())
        return any(c.form is Form.BODY and _within(item, c.item) for c in beside)

    def _holds_any(self, item: Item) -> bool:
        return any(_within(c.item, item) for c in self._chosen.get(item.place[0], ()))
