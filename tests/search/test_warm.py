"""A process that has answered many queries answers as a new one does."""

from __future__ import annotations

from pathlib import Path

import pytest

from codelens.config import Settings
from codelens.index import Index
from codelens.model.search import SearchOptions, SearchResult
from codelens.store import term_arrays

QUERIES = (
    *("price", "coupon", "Coupon.Apply", "reserve stock of several products atomically", "verify_password", "notes"),
    *("where are sessions stored", "pasword", "how is a discount calculated", "TODO", "kind:method lang:go price"),
    *("export notes to a file", "place an order", '"price of"', "Reserv", "error when a coupon has expired", "test"),
)


def told(result: SearchResult) -> list[object]:
    parts = [(c.unit, c.channels, c.score.hex(), c.contributions) for c in result.trace.candidates]
    return [result.hits, result.notices, result.total, parts, result.trace.rankings, result.trace.events]


@pytest.fixture(scope="module")
def cold(indexed: Path) -> dict[str, list[object]]:
    """Query → what a store that was just opened answers."""
    found = {}
    for query in QUERIES:
        with Index.open(indexed / ".codelens/index.db", Settings(query_seconds=0)) as index:
            found[query] = told(index.search(query, SearchOptions()))
    return found


@pytest.mark.parametrize("asked_before", [0, term_arrays.ASKED_BEFORE], ids=["at once", "after a while"])
def test_a_warm_process_answers_the_same(
    indexed: Path, cold: dict[str, list[object]], asked_before: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(term_arrays, "ASKED_BEFORE", asked_before)
    with Index.open(indexed / ".codelens/index.db", Settings(query_seconds=0)) as index:
        for query in (*QUERIES, *reversed(QUERIES)):
            assert told(index.search(query, SearchOptions())) == cold[query], query
        assert index._store.postings.arrays
        assert index._store.postings.arrays._numpy is not None
