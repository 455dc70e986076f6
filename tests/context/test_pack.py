"""Packing alone: costs in, choices out."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from codelens.context.pack import Item, Offer, Packing, fit_pack, is_within
from codelens.errors import UsageError
from codelens.model.context import Counter, Form, Forms, Pack
from codelens.render.context import FORMATS
from tests.context.layouts import CHARS, LAYOUTS, LENGTHS, WORDS, offer, offers, request


def item(
    number: int,
    score: float,
    body: int | None,
    signature: int | None = 5,
    place: tuple[int, int, int] | None = None,
    heading: int = 0,
) -> Item:
    return Item(number, score, body, signature, heading, place or (number, 0, 10))


def forms(packing: Packing) -> list[tuple[object, Form]]:
    return [(c.item.number, c.form) for c in packing.chosen]


BODY, SIGNATURE = Form.BODY, Form.SIGNATURE


def test_the_best_come_first_and_what_does_not_fit_is_skipped() -> None:
    packing = Packing([item(1, 0.9, 50, None), item(2, 0.5, 45, None), item(3, 0.4, 30, None)], 100)
    assert forms(packing) == [(1, BODY), (3, BODY)]
    assert [left.number for left in packing.left] == [2]
    assert packing.tokens == 80


def test_bodies_by_score_then_signatures_by_score() -> None:
    """Eight tenths of 200 hold the four best bodies, the rest of the room eight signatures."""
    packing = Packing([item(n, 1 / (n + 1), 40, 5) for n in range(30)], 200)
    assert forms(packing) == [*((n, BODY) for n in range(4)), *((n, SIGNATURE) for n in range(4, 12))]
    assert packing.tokens == 200


def test_ties_of_score_go_by_content() -> None:
    assert forms(Packing([item(2, 0.1, 10, None), item(1, 0.1, 10, None)], 10)) == [(1, BODY)]


def test_a_body_of_over_half_of_the_room_comes_as_its_signature() -> None:
    assert forms(Packing([item(1, 0.9, 70), item(2, 0.1, 20)], 80)) == [(2, BODY), (1, SIGNATURE)]


def test_a_large_body_comes_if_room_remains() -> None:
    assert forms(Packing([item(1, 0.9, 70), item(2, 0.1, 20)], 100)) == [(1, BODY), (2, BODY)]


def test_what_lies_within_a_packed_body_costs_nothing() -> None:
    method, whole = item(1, 0.1, 20, place=(1, 10, 20)), item(2, 0.9, 25, place=(1, 0, 40))
    packing = Packing([method, whole], 120)
    assert forms(packing) == [(2, BODY)]
    assert packing.covered == [method]
    assert packing.tokens == 25


def test_what_holds_a_packed_body_comes_as_its_signature() -> None:
    packing = Packing([item(1, 0.9, 20, place=(1, 10, 20)), item(2, 0.5, 25, place=(1, 0, 40))], 120)
    assert forms(packing) == [(1, BODY), (2, SIGNATURE)]
    assert not packing.covered


def test_two_at_one_place_are_packed_once() -> None:
    packing = Packing([item(1, 0.9, 20, place=(1, 0, 9)), item(2, 0.8, 20, place=(1, 0, 9))], 200)
    assert forms(packing) == [(1, BODY)]
    assert (packing.left, len(packing.covered)) == ([], 1)


def test_a_heading_is_paid_once_for_all_signatures_of_a_file() -> None:
    same_file = [item(n, 0.5, None, 5, (1, n * 10, n * 10 + 9), heading=7) for n in range(3)]
    assert Packing(same_file, 100).tokens == 22


def test_signatures_alone() -> None:
    packing = Packing([item(n, 0.5, None, 5) for n in range(4)], 16)
    assert forms(packing) == [(0, SIGNATURE), (1, SIGNATURE), (2, SIGNATURE)]
    assert [left.number for left in packing.left] == [3]


def test_nothing_is_packed_into_nothing() -> None:
    assert Packing([], 10).chosen == []
    assert Packing([item(1, 0.5, 1, 1)], 0).left[0].number == 1


COST = st.integers(1, 60)
ITEMS = st.lists(
    st.tuples(
        st.floats(-1, 1, allow_nan=False), COST, COST, st.booleans(), st.integers(0, 9),
        st.tuples(st.integers(1, 3), st.integers(0, 20), st.integers(1, 20)),
    ),
    max_size=25,
)  # fmt: skip


@given(ITEMS, st.integers(0, 400), st.booleans(), st.randoms(use_true_random=False))
def test_packing_keeps_to_its_room(rows: list[tuple], room: int, bodies: bool, shuffle: object) -> None:  # type: ignore[type-arg]
    items = [
        item(n, score, body, None if alone or bodies else signature, (file, start, start + length), heading)
        for n, (score, body, signature, alone, heading, (file, start, length)) in enumerate(rows)
    ]
    packing = Packing(items, room)
    headings: dict[int, int] = {}
    for one in packing.chosen:
        if one.form is SIGNATURE:
            headings[one.item.place[0]] = max(headings.get(one.item.place[0], 0), one.item.heading)
    assert sum(c.tokens for c in packing.chosen) + sum(headings.values()) == packing.tokens <= room
    everywhere = [*(c.item for c in packing.chosen), *packing.left, *packing.covered]
    assert sorted(i.number for i in everywhere) == list(range(len(items))), "each item has one fate"
    for left in packing.left:
        if left.signature is not None:
            assert left.signature + left.heading > room - packing.tokens, "nothing is left out that still fits"
    places = [c.item.place for c in packing.chosen if c.form is BODY]
    for one in packing.chosen:
        around = [place for place in places if is_within(one.item.place, place)]
        assert len(around) <= (one.form is BODY), "no line is packed twice"
    shuffle.shuffle(items)  # type: ignore[attr-defined]
    assert Packing(items, room).chosen == packing.chosen, "the order of the items does not matter"


TEXT = st.one_of(
    st.text(max_size=200),
    st.sampled_from(["", "```\n````\n", "]]> & <a> \"q\"", "\x1b[31m\x00\ufffe", "  \n\n  \n\n", "x" * 400, "\ud800"]),
)  # fmt: skip
OFFERS = st.lists(
    st.builds(
        lambda number, score, body, signature, doc: offer(number, score, body, signature, doc),
        st.integers(1, 1000), st.floats(-1, 1), TEXT, TEXT, TEXT,
    ),
    max_size=15, unique_by=lambda made: made.body.unit.id,
)  # fmt: skip


@pytest.mark.slow
@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    OFFERS,
    st.integers(1, 2000),
    st.sampled_from(FORMATS),
    st.sampled_from(Forms),
    st.sampled_from([CHARS, WORDS, LENGTHS]),
)
@example([offer(n, 0.5, "body of it\n" * n) for n in range(1, 15)], 299, "markdown", Forms.AUTO, CHARS)
@example([offer(n, 0.5, "body of it\n" * n) for n in range(1, 15)], 1000, "json", Forms.AUTO, CHARS)
def test_never_over_budget(made: list[Offer], budget: int, format: str, forms: Forms, counter: Counter) -> None:
    layout = LAYOUTS[format]
    try:
        pack = fit_pack(offers(*made), request(budget, forms, counter), layout)
    except UsageError as fault:
        assert "an empty pack takes" in str(fault) or (format, forms) == ("compact", Forms.BODIES)
        return
    written = counter.count(layout.format_pack(pack))
    assert written <= pack.tokens <= budget
    assert counter is not CHARS or written == pack.tokens, "what it says of itself is true"
    assert len(pack.entries) + pack.covered + pack.cut_total == len(made)
    ranks = [(e.form is SIGNATURE, -e.score) for e in pack.entries]
    assert ranks == sorted(ranks), "bodies by score, then signatures by score"
    assert all(e.form in layout.forms for e in pack.entries)
    assert bool(pack.more) >= (pack.cut_total > 0 and bool(pack.entries))


def packed(budget: int, format: str = "markdown", count: int = 12) -> Pack:
    made = [offer(n, 1 / n, f"def f{n}():\n" + "    pass\n" * 12, f"def f{n}():") for n in range(1, count + 1)]
    return fit_pack(offers(*made), request(budget), LAYOUTS[format])


def test_all_that_is_there_comes_whole_where_there_is_room() -> None:
    pack = packed(50_000)
    assert [e.form for e in pack.entries] == [Form.BODY] * 12
    assert (pack.more, pack.cut_total) == ("", 0)


def test_with_less_room_come_signatures_and_a_token_for_more() -> None:
    pack = packed(400)
    assert [e.form for e in pack.entries] == sorted((e.form for e in pack.entries), key=[BODY, SIGNATURE].index)
    assert {e.form for e in pack.entries} == {BODY, SIGNATURE}
    tight = packed(200)
    assert tight.cut_total > 0
    assert LAYOUTS["markdown"].format_pack(tight).endswith(f"\nNext part: `codelens context --more {tight.more}`\n")


@pytest.mark.parametrize("format", FORMATS)
def test_a_budget_below_the_frame_is_refused_and_names_what_it_takes(format: str) -> None:
    with pytest.raises(UsageError, match="a budget of 1 tokens is too small: an empty pack takes"):
        packed(1, format)


def test_a_huge_budget_takes_everything() -> None:
    assert len(packed(10**15, "json").entries) == 12


def test_nothing_is_found() -> None:
    pack = packed(500, count=0)
    assert pack.exit_code == 1
    assert LAYOUTS["markdown"].format_pack(pack) == f"# 0 of 0 symbols, {pack.tokens} of 500 tokens by chars/4\n"
