"""Packs symbols into a token budget: bodies of the best first, signatures of the next.

Bodies go in by score until only a small share of the room is left, which signatures get, also by score. Room that then
remains goes to more bodies. A symbol inside a packed body costs nothing, and a symbol around one is packed as its signature:
no line is packed twice. A next part leaves out what was sent before; what was sent as a signature may follow with its body.

Costs of single entries are estimates, because tokens cross borders. So the text is written and counted, and packed again
into less room until it fits: the count decides, never the estimate.
"""

from __future__ import annotations

from collections.abc import Sequence

from codelens.context.parts import write_token
from codelens.errors import UsageError
from codelens.model.code import IndexInfo
from codelens.model.context import ContextRequest, Entry, Form, Forms, Pack, PackLayout, SentParts
from codelens.model.fast_dataclass import frozen_dataclass, replace
from codelens.model.search import Notice

SIGNATURES_SHARE = 0.2
"""Share of the room that the first bodies leave to signatures. With less, packs of 8,000 tokens name fewer of the symbols that a
task needs; with more, packs of 2,000 tokens show fewer of them whole (`python -m tools.bench.packs`)."""
LARGEST_SHARE = 0.5  # Share of the room for a single body, unless room remains in the end

Place = tuple[int, int, int]  # (document, start, end) in bytes


@frozen_dataclass
class Item:
    """A symbol to pack, with the costs of its forms in tokens."""

    number: int  # Its position among the offers, which breaks ties
    score: float
    body: int | None  # Tokens of the body; None if the body may not be packed
    signature: int | None  # Tokens of the signature; None if it may not be packed
    heading: int  # Tokens of the line above the signatures of one file
    place: Place

    def order(self) -> tuple[float, int]:
        """Make a sort key by which the best item is first."""
        return -self.score, self.number


@frozen_dataclass
class ChosenItem:
    """An item in the form that was chosen for it."""

    item: Item
    form: Form

    @property
    def tokens(self) -> int:
        """Its cost in that form."""
        cost = self.item.body if self.form is Form.BODY else self.item.signature
        assert cost is not None, "the form is one that the item has"
        return cost


class Packing:
    """Items chosen for `room` tokens, best first; items that do not fit are skipped, and later ones are still tried.

    `chosen` are bodies, then signatures, each by descending score; `covered` lie inside a chosen body; `left` had no room.
    """

    def __init__(self, items: Sequence[Item], room: int) -> None:
        self._items, self.tokens = sorted(items, key=Item.order), 0
        self._chosen: dict[int, list[ChosenItem]] = {}  # By document, since only symbols of one file lie in each other
        self._add_bodies(room - int(room * SIGNATURES_SHARE), int(room * LARGEST_SHARE))
        self._add_signatures(room)
        self._add_bodies(room, room)
        self._add_signatures(room)
        chosen = [chosen for of_document in self._chosen.values() for chosen in of_document]
        self.chosen = sorted(chosen, key=lambda chosen: (chosen.form is not Form.BODY, chosen.item.order()))
        numbers = {chosen.item.number for chosen in chosen}
        self.covered, self.left = list[Item](), list[Item]()
        for item in self._items:
            if item.number not in numbers:
                (self.covered if self._is_covered(item) else self.left).append(item)

    @property
    def is_incomplete(self) -> bool:
        """True if a next part could add a symbol, or the body of one whose signature is chosen."""
        return bool(self.left) or any(c.form is Form.SIGNATURE and c.item.body is not None for c in self.chosen)

    def _add_bodies(self, room: int, largest: int) -> None:
        """Add the bodies of at most `largest` tokens that fit, in place of the signatures within them."""
        for item in self._items:
            if item.body is None or item.body > largest or self._is_covered(item):
                continue
            neighbours = self._chosen.get(item.place[0], [])
            bodies = [c for c in neighbours if c.form is Form.BODY and is_within(c.item.place, item.place)]
            if not bodies:
                outside = [c for c in neighbours if not is_within(c.item.place, item.place)]
                self._replace(item.place[0], [*outside, ChosenItem(item, Form.BODY)], room)

    def _add_signatures(self, room: int) -> None:
        """Add the signatures that fit, of items that no packed body contains."""
        for item in self._items:
            neighbours = self._chosen.get(item.place[0], [])
            is_chosen = any(chosen.item is item for chosen in neighbours)
            if item.signature is not None and not is_chosen and not self._is_covered(item):
                self._replace(item.place[0], [*neighbours, ChosenItem(item, Form.SIGNATURE)], room)

    def _is_covered(self, item: Item) -> bool:
        neighbours = self._chosen.get(item.place[0], ())
        return any(c.form is Form.BODY and is_within(item.place, c.item.place) for c in neighbours)

    def _replace(self, document: int, chosen: list[ChosenItem], room: int) -> None:
        """Replace the items chosen for a document if the new choice fits into the room."""
        tokens = self.tokens - _count_tokens(self._chosen.get(document, ())) + _count_tokens(chosen)
        if tokens <= room:
            self.tokens, self._chosen[document] = tokens, chosen


def is_within(inner: Place, outer: Place) -> bool:
    """Decide if `inner` lies within `outer`; two places at the same position lie within each other."""
    return inner[0] == outer[0] and outer[1] <= inner[1] and inner[2] <= outer[2]


def _count_tokens(chosen: Sequence[ChosenItem]) -> int:
    """Count the tokens of the items chosen for one document, with the heading above signatures."""
    heading = max((c.item.heading for c in chosen if c.form is Form.SIGNATURE), default=0)
    return sum(c.tokens for c in chosen) + heading


BORDER = 1  # Tokens added to each body's estimate for joining it to its neighbours
LIKELY_TOKENS = 999  # A number as long as the one that an entry will print, for layouts that print it
MOST_ATTEMPTS = 200
"""Most attempts at packing into less room. Each removes the excess, at least one part in this many of the room."""
MOST_ROUNDS = 8
"""Most rounds of counting a text that prints its own count; after the first, a round changes a digit at most."""


@frozen_dataclass
class Offer:
    """A candidate as two entries, body and signature, of which one is packed."""

    body: Entry
    signature: Entry

    @property
    def place(self) -> Place:
        """Document and bytes of the symbol."""
        unit = self.body.unit
        return (unit.document, unit.span.start, unit.span.end)


@frozen_dataclass
class Offers:
    """All candidates of a pack in order of content, with notices about their source."""

    offers: Sequence[Offer]
    notices: tuple[Notice, ...]
    index: IndexInfo
    state: bytes = b""  # A hash of the index's content and of the candidates, the same for all parts of a pack


def fit_pack(offers: Offers, request: ContextRequest, layout: PackLayout) -> Pack:
    """Make a pack that fits the request's budget when written. Raises UsageError if not even an empty pack fits."""
    sent = request.sent or SentParts(offers.state, (0,) * len(offers.offers))
    items = _estimate_costs(offers, sent, request, layout)
    empty = Pack(
        request.source,
        request.budget,
        request.counter.name,
        tokens=request.budget,
        entries=(),
        covered=0,
        cut_total=len(items),
        sent=len(offers.offers) - len(items),
        notices=offers.notices,
        index=offers.index,
    )
    room = request.budget - _count_pack(empty, request, layout).tokens
    too_small = f"a budget of {request.budget} tokens is too small: an empty pack takes"
    hint = "use a larger --budget, or --format compact"
    if room < 0:
        raise UsageError(f"{too_small} {request.budget - room}", hint)
    packing, spare = Packing(items, room), 0
    if packing.is_incomplete:
        longest = replace(empty, more=write_token(request, sent))
        spare = min(room, request.counter.count(layout.format_pack(longest)) - request.budget + room)
        packing = Packing(items, room - spare)
    while (packed := _render_pack(packing, empty, offers, sent, request, layout)).tokens > request.budget:
        if spare >= room:
            raise UsageError(f"{too_small} {packed.tokens}", hint)
        spare = min(room, spare + max(packed.tokens - request.budget, 1 + room // MOST_ATTEMPTS))
        packing = Packing(items, room - spare)
    return packed


NAMED, WHOLE = 1, 2  # Forms in which a symbol was sent: as a signature; as a body or inside of one


def _estimate_costs(offers: Offers, sent: SentParts, request: ContextRequest, layout: PackLayout) -> list[Item]:
    """Make items from the offers, with their costs in the allowed forms, without forms that were sent before."""
    allowed, count = select_forms(request.forms, layout), request.counter.count
    whole = [offer.place for offer, form in zip(offers.offers, sent.forms, strict=True) if form == WHOLE]
    items = []
    for number, (offer, form) in enumerate(zip(offers.offers, sent.forms, strict=True)):
        body = signature = None
        if Form.BODY in allowed and form != WHOLE and not any(is_within(place, offer.place) for place in whole):
            body = count(layout.format_entry(replace(offer.body, tokens=LIKELY_TOKENS))) + BORDER
        if Form.SIGNATURE in allowed and not form:
            signature = count(layout.format_entry(replace(offer.signature, tokens=LIKELY_TOKENS)))
        if body is not None or signature is not None:
            heading = count(layout.format_heading(offer.signature))
            items.append(Item(number, offer.body.score, body, signature, heading, offer.place))
    return items


def select_forms(forms: Forms, layout: PackLayout) -> frozenset[Form]:
    """Select the forms that the request wants and the layout shows. Raises UsageError if no form is left."""
    wanted = {Forms.BODIES: {Form.BODY}, Forms.SIGNATURES: {Form.SIGNATURE}}.get(forms, set(Form))
    if not (allowed := layout.forms & wanted):
        raise UsageError("--format compact shows only signatures", "leave out --bodies, or use --format markdown")
    return allowed


def _render_pack(
    packing: Packing, empty: Pack, offers: Offers, sent: SentParts, request: ContextRequest, layout: PackLayout
) -> Pack:
    """Make the pack of the chosen items, with the token of the next part if there is more."""
    forms, entries = list(sent.forms), []
    for item in packing.covered:
        forms[item.number] = WHOLE
    for chosen in packing.chosen:
        offer, is_body = offers.offers[chosen.item.number], chosen.form is Form.BODY
        forms[chosen.item.number] = WHOLE if is_body else NAMED
        entries.append(replace(offer.body if is_body else offer.signature, tokens=chosen.tokens))
    more = packing.chosen and packing.is_incomplete
    pack = replace(
        empty,
        entries=tuple(entries),
        covered=len(packing.covered),
        cut_total=len(packing.left),
        more=write_token(request, SentParts(sent.state, tuple(forms))) if more else "",
    )
    return _count_pack(pack, request, layout)


def _count_pack(pack: Pack, request: ContextRequest, layout: PackLayout) -> Pack:
    """Set the pack's own token count, which the pack may print. If no count is stable, use the larger of the two that alternate."""
    seen: list[int] = []
    for _ in range(MOST_ROUNDS):
        tokens = request.counter.count(layout.format_pack(pack))
        if tokens == pack.tokens:
            break
        seen.append(tokens)
        pack = replace(pack, tokens=max(seen[-2:]) if len(seen) > MOST_ROUNDS // 2 else tokens)
    return pack
