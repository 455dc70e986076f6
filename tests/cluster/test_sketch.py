"""A sketch finds all that was put in, and little else."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codelens.cluster.sketch import Sketch

TERMS = [f"term{number}" for number in range(20_000)]
OTHERS = [f"other{number}" for number in range(50_000)]
MOST_FALSE = {8: 0.026, 10: 0.011, 12: 0.0045}
"""Bits a term → greatest part of absent terms that seem to be there: a fifth above the theory of Bloom filters."""


@given(st.sets(st.text(max_size=30)), st.integers(1, 16))
def test_nothing_that_was_put_in_is_missed(terms: set[str], bits: int) -> None:
    sketch = Sketch.make(terms, bits)
    assert all(map(sketch.may_hold, terms))
    assert all(map(Sketch.from_bytes(sketch.to_bytes()).may_hold, terms))


@pytest.mark.parametrize("bits", sorted(MOST_FALSE))
def test_few_absent_terms_seem_to_be_there(bits: int) -> None:
    sketch = Sketch.make(TERMS, bits)
    assert all(map(sketch.may_hold, TERMS))
    assert 0 < sum(map(sketch.may_hold, OTHERS)) / len(OTHERS) <= MOST_FALSE[bits]


def test_the_order_of_terms_does_not_matter() -> None:
    mixed = random.Random(1).sample(TERMS, len(TERMS))
    assert Sketch.make(mixed).to_bytes() == Sketch.make(TERMS).to_bytes()


def test_the_bytes_stay_as_they_are() -> None:
    """Sketches lie in stores: another rule needs another mark at their beginning."""
    assert Sketch.make(["parse", "total"], 8).to_bytes().hex() == "434c53310600000010000000000000" + "0017ea"


def test_its_size_is_that_of_its_bits() -> None:
    assert len(Sketch.make(TERMS, 10).to_bytes()) == 16 + len(TERMS) * 10 // 8


def test_an_empty_shard_holds_nothing() -> None:
    assert not any(map(Sketch.make([]).may_hold, OTHERS))


@pytest.mark.parametrize("cut", [0, 5, 15, 16, -1])
def test_other_bytes_are_refused(cut: int) -> None:
    with pytest.raises(ValueError, match="not a sketch"):
        Sketch.from_bytes(Sketch.make(TERMS[:100]).to_bytes()[:cut])


def test_bytes_of_another_kind_are_refused() -> None:
    with pytest.raises(ValueError, match="not a sketch"):
        Sketch.from_bytes(b"SQLite format 3\0" + bytes(100))
