"""Candidates and a layout → a pack that, written out complete, counts no more tokens than its budget.

Costs of single entries are estimates: a tokenizer joins letters across borders. So the text is written and counted at
the end, and packed again into less until it fits. The counter is the judge, never the estimate.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from codelens.context.pack import Chosen, Item, Packing, nearness_exponent, pack
from codelens.errors import UsageError
from codelens.model import IndexInfo, Notice
from codelens.nouns import dataclass
from codelens.packed import ContextRequest, Cut, Entry, Form, Forms, Layout, Pack

CUT_SHARE = 0.05
"""Of the room, for the list of what found none. Chosen, not measured."""
MOST_CUT = 20
"""Symbols on that list; the others are a number. Chosen: enough to see what a larger budget would bring."""
BORDER = 1
"""Tokens added to each entry's estimate, for what joining it to its neighbours may cost."""
LIKELY_TOKENS, LIKELY_DENSITY = 999, 1.23e-05
"""As long as those that an entry will name, where its layout names them."""
MOST_ATTEMPTS = 200
"""At packing into less: each takes away as much as was too much, and at least this part of the room."""
MOST_ROUNDS = 8
"""Of counting a text that names its own count: each round but the first changes a digit at most."""


@dataclass(frozen=True, slots=True)
class Offer:
    """A candidate as it may be written: in both forms."""

    body: Entry
    signature: Entry
    nearness: float


@dataclass(frozen=True, slots=True)
class Offers:
    """All candidates of a pack, and what is known of where they come from."""

    offers: Sequence[Offer]
    phantoms: int
    notices: tuple[Notice, ...]
    index: IndexInfo


def fit(offers: Offers, request: ContextRequest, layout: Layout) -> Pack:
    """Raises UsageError where the budget does not even hold the frame of an empty pack."""
    exponent = nearness_exponent(offers.phantoms, len(offers.offers))
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
    while (made := _written(packing, empty, offers, request, layout)).tokens > request.budget:
        if spare >= room:
            raise _too_small(request, request.budget - made.tokens)
        spare = min(room, spare + max(made.tokens - request.budget, 1 + room // MOST_ATTEMPTS))
        packing = pack(items, room - spare, exponent, request.forms)
    return made


def _item(place: int, offer: Offer, request: ContextRequest, layout: Layout) -> Item:
    """What an offer costs in the forms that are allowed."""
    unit, allowed = offer.body.unit, allowed_forms(request.forms, layout)

    def cost(entry: Entry) -> int | None:
        if entry.form not in allowed:
            return None
        likely = replace(entry, tokens=LIKELY_TOKENS, density=LIKELY_DENSITY)
        return request.counter.count(layout.piece(likely)) + BORDER

    where = (unit.document, unit.span.start, unit.span.end)
    key = (*unit.content_order(), place)
    return Item(key, offer.body.score, offer.nearness, cost(offer.body), cost(offer.signature), where)


def allowed_forms(forms: Forms, layout: Layout) -> frozenset[Form]:
    """Those that the request wants and the layout shows. Raises UsageError where there is none."""
    wanted = {Forms.BODIES: {Form.BODY}, Forms.SIGNATURES: {Form.SIGNATURE}}.get(forms, set(Form))
    if not (allowed := layout.forms & wanted):
        raise UsageError("--format compact shows signatures alone", "leave --bodies out, or take --format markdown")
    return allowed


def _written(packing: Packing, empty: Pack, offers: Offers, request: ContextRequest, layout: Layout) -> Pack:
    """The pack of these choices, with as long a list of what was cut as there is room for."""
    made = replace(
        empty,
        entries=tuple(_entry(chosen, offers) for chosen in packing.chosen),
        covered=len(packing.covered),
        cut_total=len(packing.cut),
    )
    listed = tuple(_cut(chosen, offers) for chosen in packing.cut[:MOST_CUT])
    while True:
        settled = _settled(replace(made, cut=listed), request, layout)
        if settled.tokens <= request.budget or not listed:
            return settled
        listed = listed[: len(listed) // 2]


def _settled(made: Pack, request: ContextRequest, layout: Layout) -> Pack:
    """The pack with its own count in it. Where no number names itself, the larger of the two that name each other."""
    seen: list[int] = []
    for _ in range(MOST_ROUNDS):
        tokens = request.counter.count(layout.whole(made))
        if tokens == made.tokens:
            break
        seen.append(tokens)
        made = replace(made, tokens=max(seen[-2:]) if len(seen) > MOST_ROUNDS // 2 else tokens)
    return made


def _entry(chosen: Chosen, offers: Offers) -> Entry:
    offer = _offer(chosen, offers)
    entry = offer.body if chosen.form is Form.BODY else offer.signature
    return replace(entry, tokens=_tokens(chosen), density=chosen.density)


def _cut(chosen: Chosen, offers: Offers) -> Cut:
    entry = _offer(chosen, offers).body
    return Cut(entry.unit, entry.root, entry.score, _tokens(chosen), chosen.density)


def _offer(chosen: Chosen, offers: Offers) -> Offer:
    place = chosen.item.key[-1]
    assert isinstance(place, int)
    return offers.offers[place]


def _tokens(chosen: Chosen) -> int:
    cost = chosen.item.body if chosen.form is Form.BODY else chosen.item.signature
    assert cost is not None
    return cost


def _too_small(request: ContextRequest, room: int) -> UsageError:
    return UsageError(
        f"a budget of {request.budget} tokens does not hold an empty pack, which takes {request.budget - room}",
        "give --budget more, or take --format compact",
    )
