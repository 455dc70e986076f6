"""Arbitrary, cut and altered bytes through the reader of SCIP: a PreciseIndexError, or facts that make sense."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.linking.precise.indexes import CASES, INDEXES
from tests.tiers import examples
from tools.fuzz.readers import survives

ROUNDS = 300


@settings(max_examples=examples(300))
@given(st.sampled_from(INDEXES), st.binary(max_size=200))
def test_arbitrary_bytes(index: str, content: bytes) -> None:
    survives(index, content)


@pytest.mark.slow
@pytest.mark.parametrize("index", INDEXES)
def test_cut_off_anywhere(index: str) -> None:
    whole = (CASES / index).read_bytes()
    taken = [survives(index, whole[:end]) for end in range(0, len(whole), 7)]
    assert not all(taken)
    assert survives(index, whole)


@pytest.mark.parametrize("index", INDEXES)
def test_altered_bytes(index: str) -> None:
    whole = (CASES / index).read_bytes()
    luck = random.Random(index)
    for _ in range(ROUNDS):
        content = bytearray(whole)
        for _ in range(luck.randint(1, 4)):
            content[luck.randrange(len(content))] = luck.randrange(256)
        survives(index, bytes(content))
