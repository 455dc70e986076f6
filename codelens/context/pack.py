"""Packs symbols into a token budget, each with its body or as its signature: a greedy knapsack by density.

Density = score / tokens × nearness^e (knowing's formula, whose tokens are those of the signature). First signatures are
packed by density until six tenths of the room are spent. Then the best of them get their bodies, and the rest of the room
goes to more signatures. A symbol inside a packed body costs nothing, and a symbol around one is packed as its signature: no
line is packed twice.

Costs of single entries are estimates, because tokens cross borders. So the text is written and counted, and packed again
into less room until it fits: the count decides, never the estimate.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from codelens.errors import UsageError
from codelens.model.code import IndexInfo
from codelens.model.context import ContextRequest, Cut, Entry, Form, Forms, Pack, PackLayout
from codelens.model.fast_dataclass import dataclass, replace
from codelens.model.search import Notice

SIGNATURES_SHARE = 0.6
"""Share of the room for the first round. Of the symbols wanted by 78 development tasks, packs of 8,000 tokens name .842 and
show .594 whole; with .4 of the room .801 and .629, with bodies at once .750 and .575."""
LARGEST_SHARE = 0.25
"""Share of the room for a single body. With .1, packs of 2,000 tokens name as many symbols and show .322 whole instead of
.366."""
LEAST_EXPONENT, MOST_EXPONENT, EXPONENT_STEP = 0.3, 0.7, 0.2
"""knowing's: .3 was the best of nine tried, more where many candidates are phantoms."""

Place = tuple[int, int, int]  # (document, start, end) in bytes


@dataclass(frozen=True, slots=True)
class Item:
    """A symbol to pack. `key` is unique and breaks ties."""

    key: tuple[object, ...]
    score: float
    nearness: float
    """0 to 1; seeds have 1."""
    body: int | None
    """Tokens; None if it has no such form."""
    signature: int | None
    place: Place


@dataclass(frozen=True, slots=True)
class ChosenItem:
    """An item in one form."""

    item: Item
    form: Form
    density: float


@dataclass(frozen=True, slots=True)
class Packing:
    """The result: `chosen` by descending score, `cut` by descending density, `covered` inside a chosen body."""

    chosen: tuple[ChosenItem, ...]
    cut: tuple[ChosenItem, ...]
    covered: tuple[Item, ...]
    tokens: int


def nearness_exponent(phantoms: int, items: int) -> float:
    """e = .3 + .2 × the share of phantoms (what the candidates use from outside of the repository), at least .3, at most .7."""
    ratio = phantoms / (phantoms + items) if phantoms else 0.0
    return min(max(LEAST_EXPONENT + EXPONENT_STEP * ratio, LEAST_EXPONENT), MOST_EXPONENT)


def density(score: float, tokens: int, nearness: float, exponent: float) -> float:
    """Score per token, reduced by distance; 0 without a positive score."""
    return max(score, 0.0) / max(tokens, 1) * math.pow(max(nearness, 0.0), exponent)


def pack(items: Sequence[Item], room: int, exponent: float, forms: Forms = Forms.AUTO) -> Packing:
    """Give `room` tokens to the densest items first. Items that do not fit are skipped; later ones are still tried."""
    rounds = _Rounds(exponent)
    shortest = sorted((_in_form(item, _shortest(item), exponent) for item in items), key=_by_density)
    if forms is Forms.AUTO:
        rounds.place(shortest, int(room * SIGNATURES_SHARE))
        rounds.show_bodies(room)
        shortest = rounds.take_cut()
    rounds.place(shortest, room)
    return rounds.packing()


def _by_density(chosen: ChosenItem) -> tuple[float, float, tuple[object, ...]]:
    return (-chosen.density, -chosen.item.score, chosen.item.key)


def _by_score(chosen: ChosenItem) -> tuple[float, tuple[object, ...]]:
    return (-chosen.item.score, chosen.item.key)


def _shortest(item: Item) -> Form:
    return Form.BODY if item.signature is None else Form.SIGNATURE


def _in_form(item: Item, form: Form, exponent: float) -> ChosenItem:
    return ChosenItem(item, form, density(item.score, _cost(item, form), item.nearness, exponent))


def _cost(item: Item, form: Form) -> int:
    cost = item.body if form is Form.BODY else item.signature
    assert cost is not None, "the form is one that the item has"
    return cost


def _within(inner: Item, outer: Item) -> bool:
    """True if `inner` lies in `outer`; two at the same position lie in each other."""
    (document, start, end), (other, first, last) = inner.place, outer.place
    return inner is not outer and document == other and first <= start and end <= last


class _Rounds:
    """The choice while it is made."""

    def __init__(self, exponent: float) -> None:
        self._exponent = exponent
        self._spent = 0
        self._chosen: dict[int, list[ChosenItem]] = {}
        """By document, since only symbols of one file lie in each other."""
        self._cut: list[ChosenItem] = []
        self._covered: list[Item] = []

    def place(self, wishes: Sequence[ChosenItem], room: int) -> None:
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

    def take_cut(self) -> list[ChosenItem]:
        """Take the items without room, densest first, to be placed again."""
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

    def _all(self) -> list[ChosenItem]:
        return [c for beside in self._chosen.values() for c in beside]


def _is_covered(item: Item, beside: Sequence[ChosenItem]) -> bool:
    return any(c.form is Form.BODY and _within(item, c.item) for c in beside)


def _inside(item: Item, beside: Sequence[ChosenItem]) -> list[ChosenItem]:
    return [c for c in beside if _within(c.item, item)]


CUT_SHARE = 0.05  # Share of the room for the list of cut symbols
MOST_CUT = 20  # Most symbols on that list; the others are counted. Enough to show what a larger budget would add.
BORDER = 1  # Tokens added to each entry's estimate for joining it to its neighbours
LIKELY_TOKENS, LIKELY_DENSITY = 999, 1.23e-05
"""Figures as long as those that an entry will print, for layouts that print them."""
MOST_ATTEMPTS = 200
"""Most attempts at packing into less room. Each removes the excess, at least one part in this many of the room."""
MOST_ROUNDS = 8
"""Most rounds of counting a text that prints its own count; after the first, a round changes a digit at most."""


@dataclass(frozen=True, slots=True)
class Offer:
    """A candidate in both forms."""

    body: Entry
    signature: Entry
    nearness: float


@dataclass(frozen=True, slots=True)
class Offers:
    """All candidates of a pack, with notices about their source."""

    offers: Sequence[Offer]
    exponent: float
    """Exponent of nearness in the density."""
    notices: tuple[Notice, ...]
    index: IndexInfo


def fit(offers: Offers, request: ContextRequest, layout: PackLayout) -> Pack:
    """The pack that fits the request's budget when written. Raises UsageError if not even an empty pack fits."""
    exponent = offers.exponent
    empty = Pack(
        request.source,
        request.budget,
        request.counter.name,
        tokens=request.budget,
        exponent=exponent,
        entries=(),
        covered=0,
        cut=(),
        cut_total=len(offers.offers),
        notices=offers.notices,
        index=offers.index,
    )
    room = request.budget - _settled(empty, request, layout).tokens
    if room < 0:
        raise _too_small(request, room)
    items = [_item(place, offer, request, layout) for place, offer in enumerate(offers.offers)]
    packing, spare = pack(items, room, exponent, request.forms), 0
    if packing.cut:
        spare = int(room * CUT_SHARE)
        packing = pack(items, room - spare, exponent, request.forms)
    while (packed := _written(packing, empty, offers, request, layout)).tokens > request.budget:
        if spare >= room:
            raise _too_small(request, request.budget - packed.tokens)
        spare = min(room, spare + max(packed.tokens - request.budget, 1 + room // MOST_ATTEMPTS))
        packing = pack(items, room - spare, exponent, request.forms)
    return packed


def _item(place: int, offer: Offer, request: ContextRequest, layout: PackLayout) -> Item:
    """An offer with its cost in the allowed forms."""
    unit, allowed = offer.body.unit, allowed_forms(request.forms, layout)

    def cost(entry: Entry) -> int | None:
        if entry.form not in allowed:
            return None
        likely = replace(entry, tokens=LIKELY_TOKENS, density=LIKELY_DENSITY)
        return request.counter.count(layout.piece(likely)) + BORDER

    where = (unit.document, unit.span.start, unit.span.end)
    key = (*unit.content_order(), place)
    return Item(key, offer.body.score, offer.nearness, cost(offer.body), cost(offer.signature), where)


def allowed_forms(forms: Forms, layout: PackLayout) -> frozenset[Form]:
    """The forms that the request wants and the layout shows. Raises UsageError if no form is left."""
    wanted = {Forms.BODIES: {Form.BODY}, Forms.SIGNATURES: {Form.SIGNATURE}}.get(forms, set(Form))
    if not (allowed := layout.forms & wanted):
        raise UsageError("--format compact shows only signatures", "leave out --bodies, or use --format markdown")
    return allowed


def _written(packing: Packing, empty: Pack, offers: Offers, request: ContextRequest, layout: PackLayout) -> Pack:
    """The pack of these choices, with as many cut symbols listed as fit."""
    pack = replace(
        empty,
        entries=tuple(_entry(chosen, offers) for chosen in packing.chosen),
        covered=len(packing.covered),
        cut_total=len(packing.cut),
    )
    listed = tuple(_cut(chosen, offers) for chosen in packing.cut[:MOST_CUT])
    while True:
        settled = _settled(replace(pack, cut=listed), request, layout)
        if settled.tokens <= request.budget or not listed:
            return settled
        listed = listed[: len(listed) // 2]


def _settled(pack: Pack, request: ContextRequest, layout: PackLayout) -> Pack:
    """The pack with its own token count. If no count is stable, the larger of the two that alternate."""
    seen: list[int] = []
    for _ in range(MOST_ROUNDS):
        tokens = request.counter.count(layout.whole(pack))
        if tokens == pack.tokens:
            break
        seen.append(tokens)
        pack = replace(pack, tokens=max(seen[-2:]) if len(seen) > MOST_ROUNDS // 2 else tokens)
    return pack


def _entry(chosen: ChosenItem, offers: Offers) -> Entry:
    offer = _offer(chosen, offers)
    entry = offer.body if chosen.form is Form.BODY else offer.signature
    return replace(entry, tokens=_tokens(chosen), density=chosen.density)


def _cut(chosen: ChosenItem, offers: Offers) -> Cut:
    entry = _offer(chosen, offers).body
    return Cut(entry.unit, entry.root, entry.score, _tokens(chosen), chosen.density)


def _offer(chosen: ChosenItem, offers: Offers) -> Offer:
    place = chosen.item.key[-1]
    assert isinstance(place, int)
    return offers.offers[place]


def _tokens(chosen: ChosenItem) -> int:
    cost = chosen.item.body if chosen.form is Form.BODY else chosen.item.signature
    assert cost is not None
    return cost


def _too_small(request: ContextRequest, room: int) -> UsageError:
    return UsageError(
        f"a budget of {request.budget} tokens is too small: an empty pack takes {request.budget - room}",
        "use a larger --budget, or --format compact",
    )
