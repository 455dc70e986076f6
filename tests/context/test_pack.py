"""Packing alone: costs in, choices out."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from codelens.context.pack import Item, Offer, density, fit, nearness_exponent, pack
from codelens.errors import UsageError
from codelens.model.context import Counter, Form, Forms, Pack
from codelens.render.context import FORMATS
from tests.context.layouts import CHARS, LAYOUTS, LENGTHS, WORDS, offer, offers, request


def item(
    number: int,
    score: float,
    body: int | None,
    signature: int | None = 5,
    nearness: float = 1.0,
    place: tuple[int, int, int] | None = None,
) -> Item:
    return Item((number,), score, nearness, body, signature, place or (number, 0, 10))


def numbers(chosen: object) -> list[object]:
    return [c.item.key[0] for c in chosen]  # type: ignore[attr-defined]


def test_the_dense_go_before_the_large_and_what_does_not_fit_is_skipped() -> None:
    large, small, middle = item(1, 0.9, 95, None), item(2, 0.5, 10, None), item(3, 0.4, 60, None)
    packing = pack([large, small, middle], 100, 0.3, Forms.BODIES)
    assert numbers(packing.chosen) == [2, 3], "the large one is next in density, does not fit any more, and is skipped"
    assert numbers(packing.cut) == [1]
    assert packing.tokens == 70


def test_output_is_by_score() -> None:
    packing = pack([item(1, 0.1, 2), item(2, 0.9, 50), item(3, 0.5, 10)], 200, 0.3)
    assert numbers(packing.chosen) == [2, 3, 1]


def test_ties_of_density_go_by_score_then_by_content() -> None:
    same = [item(3, 0.2, 20, None), item(1, 0.1, 10, None), item(2, 0.1, 10, None)]
    assert numbers(pack(same, 20, 0.3, Forms.BODIES).chosen) == [3]
    assert numbers(pack(same[1:], 10, 0.3, Forms.BODIES).chosen) == [1]


def test_far_ones_give_way() -> None:
    near, far = item(1, 0.5, 50, None), item(2, 0.6, 50, None, nearness=0.01)
    assert numbers(pack([near, far], 60, 0.3, Forms.BODIES).chosen) == [1]
    assert density(0.6, 50, 0.01, 0.3) == pytest.approx(0.6 / 50 * 0.2512, rel=1e-3)


def test_exponent_grows_with_the_share_of_phantoms() -> None:
    assert nearness_exponent(0, 10) == nearness_exponent(0, 0) == 0.3
    assert nearness_exponent(10, 10) == pytest.approx(0.4)
    assert nearness_exponent(10, 0) == pytest.approx(0.5)


def test_a_body_too_large_for_the_room_comes_as_its_signature() -> None:
    packing = pack([item(1, 0.9, 400), item(2, 0.1, 20)], 100, 0.3)
    assert [(c.item.key[0], c.form) for c in packing.chosen] == [(1, Form.SIGNATURE), (2, Form.BODY)]


def test_signatures_come_first_then_bodies_of_the_best_then_more_signatures() -> None:
    """12 signatures of 10 fill six tenths of 200; the two best bodies of 40 cost 30 more each; two more signatures fit."""
    packing = pack([item(n, 1 / (n + 1), 40, 10) for n in range(30)], 200, 0.3)
    forms = [c.form for c in packing.chosen]
    assert forms == [Form.BODY] * 2 + [Form.SIGNATURE] * 12
    assert packing.tokens == 200


def test_what_lies_within_a_packed_body_costs_nothing() -> None:
    method, whole = item(1, 0.1, 20, place=(1, 10, 20)), item(2, 0.9, 25, place=(1, 0, 40))
    packing = pack([method, whole], 120, 0.3)
    assert numbers(packing.chosen) == [2]
    assert packing.covered == (method,)
    assert packing.tokens == 25


def test_what_holds_a_packed_body_comes_as_its_signature() -> None:
    method, whole = item(1, 0.9, 20, place=(1, 10, 20)), item(2, 0.5, 25, place=(1, 0, 40))
    packing = pack([method, whole], 120, 0.3)
    assert [(c.item.key[0], c.form) for c in packing.chosen] == [(1, Form.BODY), (2, Form.SIGNATURE)]
    assert not packing.covered


def test_two_at_one_place_are_packed_once() -> None:
    packing = pack([item(1, 0.9, 20, place=(1, 0, 9)), item(2, 0.8, 20, place=(1, 0, 9))], 200, 0.3)
    assert numbers(packing.chosen) == [1]
    assert packing.cut == ()
    assert len(packing.covered) == 1


def test_signatures_alone() -> None:
    packing = pack([item(n, 0.5, 2, 5) for n in range(4)], 16, 0.3, Forms.SIGNATURES)
    assert [c.form for c in packing.chosen] == [Form.SIGNATURE] * 3
    assert numbers(packing.cut) == [3]


def test_nothing_is_packed_into_nothing() -> None:
    assert pack([], 10, 0.3).chosen == ()
    assert pack([item(1, 0.5, 1, 1)], 0, 0.3).cut[0].item.key == (1,)


COST = st.integers(1, 60)
ITEMS = st.lists(
    st.tuples(
        st.floats(-1, 1, allow_nan=False), COST, COST, st.booleans(), st.floats(0, 1),
        st.tuples(st.integers(1, 3), st.integers(0, 20), st.integers(1, 20)),
    ),
    max_size=25,
)  # fmt: skip


@given(ITEMS, st.integers(0, 400), st.sampled_from(Forms), st.randoms(use_true_random=False))
def test_packing_keeps_to_its_room(rows: list[tuple], room: int, forms: Forms, shuffle: object) -> None:  # type: ignore[type-arg]
    items = [
        item(n, score, body, None if alone or forms is Forms.BODIES else signature, near, (file, start, start + length))
        for n, (score, body, signature, alone, near, (file, start, length)) in enumerate(rows)
    ]
    packing = pack(items, room, 0.3, forms)
    costs = [c.item.body if c.form is Form.BODY else c.item.signature for c in packing.chosen]
    assert sum(costs) == packing.tokens <= room
    everywhere = [c.item for c in (*packing.chosen, *packing.cut)] + list(packing.covered)
    assert sorted(i.key for i in everywhere) == [(n,) for n in range(len(items))], "each item has one fate"
    left = room - packing.tokens
    for cut in packing.cut:
        if cut.form is Form.SIGNATURE:
            assert cut.item.signature > left, "nothing is cut that still fits"
    bodies = [c.item.place for c in packing.chosen if c.form is Form.BODY]
    for one in packing.chosen:
        around = [
            b for b in bodies if b[0] == one.item.place[0] and b[1] <= one.item.place[1] and one.item.place[2] <= b[2]
        ]
        assert len(around) <= (one.form is Form.BODY), "no line is packed twice"
    shuffle.shuffle(items)  # type: ignore[attr-defined]
    assert pack(items, room, 0.3, forms) == packing, "the order of the items does not matter"


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
        pack = fit(offers(*made), request(budget, forms, counter), layout)
    except UsageError as fault:
        assert "an empty pack takes" in str(fault) or (format, forms) == ("compact", Forms.BODIES)
        return
    written = counter.count(layout.whole(pack))
    assert written <= pack.tokens <= budget
    assert counter is not CHARS or written == pack.tokens, "what it says of itself is true"
    assert len(pack.entries) + pack.covered + pack.cut_total == len(made)
    assert len(pack.cut) <= pack.cut_total
    assert [e.score for e in pack.entries] == sorted((e.score for e in pack.entries), reverse=True)
    assert all(e.form in layout.forms for e in pack.entries)


def packed(budget: int, format: str = "markdown", count: int = 12) -> Pack:
    made = [offer(n, 1 / n, f"def f{n}():\n" + "    pass\n" * 12, f"def f{n}():") for n in range(1, count + 1)]
    return fit(offers(*made), request(budget), LAYOUTS[format])


def test_all_that_is_there_comes_whole_where_there_is_room() -> None:
    pack = packed(50_000)
    assert [e.form for e in pack.entries] == [Form.BODY] * 12
    assert pack.cut == () and pack.cut_total == 0


def test_with_less_room_come_signatures_and_then_a_list_of_what_was_cut() -> None:
    pack = packed(400)
    assert {e.form for e in pack.entries} == {Form.BODY, Form.SIGNATURE}
    tight = packed(200)
    assert tight.cut_total > 0 and tight.cut
    assert [c.density for c in tight.cut] == sorted((c.density for c in tight.cut), reverse=True)
    assert "## Left out" in LAYOUTS["markdown"].whole(tight)


@pytest.mark.parametrize("format", FORMATS)
def test_a_budget_below_the_frame_is_refused_and_names_what_it_takes(format: str) -> None:
    with pytest.raises(UsageError, match="a budget of 1 tokens is too small: an empty pack takes"):
        packed(1, format)


def test_a_huge_budget_is_no_other_case() -> None:
    assert len(packed(10**15, "json").entries) == 12


def test_nothing_is_found() -> None:
    pack = packed(500, count=0)
    assert pack.exit_code == 1
    assert LAYOUTS["markdown"].whole(pack) == f"# 0 of 0 symbols, {pack.tokens} of 500 tokens by chars/4\n"
