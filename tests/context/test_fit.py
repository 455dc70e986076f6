"""A pack keeps to its budget with all that is written around it, whatever counts and whatever the texts."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from codelens.context.fit import Offer, fit
from codelens.errors import UsageError
from codelens.packed import Counter, Form, Forms, Pack
from codelens.render.context import FORMATS
from tests.context.made import CHARS, LAYOUTS, LENGTHS, WORDS, offer, offers, request

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
        assert "does not hold an empty pack" in str(fault) or (format, forms) == ("compact", Forms.BODIES)
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
    with pytest.raises(UsageError, match="a budget of 1 tokens does not hold an empty pack, which takes"):
        packed(1, format)


def test_a_huge_budget_is_no_other_case() -> None:
    assert len(packed(10**15, "json").entries) == 12


def test_nothing_is_found() -> None:
    pack = packed(500, count=0)
    assert pack.exit_code == 1
    assert LAYOUTS["markdown"].whole(pack) == f"# 0 of 0 symbols, {pack.tokens} of 500 tokens by chars/4\n"
