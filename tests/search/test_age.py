"""Recency and churn: values from 0 to 1 that fall and rise as they should, and what they say."""

from __future__ import annotations

import math

import pytest

from codelens.model.history import FileHistory
from codelens.search.recency import measure_recency

DAY = 86_400
NOW = 1_700_000_000


@pytest.mark.parametrize(
    ("days", "value", "reason"),
    [
        (0, 1.0, "changed on the day of the indexed commit"),
        (0.9, math.exp(-0.0045), "changed on the day of the indexed commit"),
        (1, math.exp(-0.005), "changed 1 day before the indexed commit"),
        (12, math.exp(-0.06), "changed 12 days before the indexed commit"),
        (365, math.exp(-1.825), "changed 365 days before the indexed commit"),
    ],
)
def test_recency_fades_by_the_day(days: float, value: float, reason: str) -> None:
    found = measure_recency(FileHistory(1, NOW - int(days * DAY)), NOW)
    assert found is not None
    assert found.value == pytest.approx(value)
    assert found.reason == reason


def test_what_lies_after_the_present_is_as_recent_as_can_be() -> None:
    found = measure_recency(FileHistory(1, NOW + 70 * DAY), NOW)
    assert found is not None and found.value == 1.0


def test_a_file_without_history_has_no_reason() -> None:
    assert measure_recency(None, NOW) is None


def test_the_reason_says_that_the_present_was_named() -> None:
    found = measure_recency(FileHistory(1, NOW - 3 * DAY), NOW, named=True)
    assert found is not None and found.reason == "changed 3 days before the present as named"
