"""A process that has answered many queries answers as a new one does."""

from __future__ import annotations

from pathlib import Path

import pytest

from codelens.config import Settings
from codelens.graph import surroundings
from codelens.index import Index
from codelens.model.request import SearchOptions
from codelens.model.search import SearchResult
from codelens.store import term_arrays, units, vectors
from codelens.store.store import Store
from codelens.text import terms
from tests.steps import calls

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
    if not asked_before:
        monkeypatch.setattr(vectors, "ASKED_BEFORE", 0)
        monkeypatch.setattr(terms, "READ_BEFORE", 0)
    with Index.open(indexed / ".codelens/index.db", Settings(query_seconds=0)) as index:
        for query in (*QUERIES, *reversed(QUERIES)):
            assert told(index.search(query, SearchOptions())) == cold[query], query
        assert index._store.postings.arrays
        assert index._store.postings.arrays._numpy is not None
        assert index._store.vectors._array
        assert index._store.filters
        assert asked_before or index._store.filters._kept


def test_little_memory_changes_no_answer(
    indexed: Path, cold: dict[str, list[object]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(term_arrays, "ASKED_BEFORE", 0)
    monkeypatch.setattr(term_arrays, "MOST_BYTES", 1)
    monkeypatch.setattr(surroundings, "MOST_NODES", 3)
    monkeypatch.setattr(units, "MOST_ROWS", 3)
    monkeypatch.setattr(vectors, "ASKED_BEFORE", 0)
    monkeypatch.setattr(vectors, "MOST_BYTES", 1)
    monkeypatch.setattr(terms, "READ_BEFORE", 0)
    monkeypatch.setattr(terms, "MOST_OF_FILTERS", 1)
    with Index.open(indexed / ".codelens/index.db", Settings(query_seconds=0)) as index:
        for query in QUERIES:
            assert told(index.search(query, SearchOptions())) == cold[query], query


def test_a_text_that_lacks_a_phrase_is_read_once(indexed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its trigrams are there, apart from each other."""
    monkeypatch.setattr(terms, "READ_BEFORE", 0)
    (root := indexed / "apart").mkdir()
    for n in range(3):
        (root / f"s{n}.py").write_text(f"def says_{n}():\n    return 'gate', 'te i e is', 'is s s sh', 'shut'\n")
    Index.build(root / "i.db", [root], Settings())
    with Index.open(root / "i.db", Settings()) as index:
        asked = [calls(lambda: index.search("gate is shut", SearchOptions())) for _ in range(3)]
    assert [counts["verbatim.__init__"] for counts in asked] == [3, 0, 0]


def test_a_changed_index_is_read_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    resting: list[Store] = []
    monkeypatch.setattr("codelens.index._RESTING", resting)
    monkeypatch.setattr(term_arrays, "ASKED_BEFORE", 0)
    root, place = tmp_path / "tree", tmp_path / "i.db"
    root.mkdir()
    (root / "harbour.py").write_text("def anchor(ship):\n    return ship\n")

    def find() -> list[tuple[str, int]]:
        with Index.reopen(place, Settings()) as index:
            hits = index.search("anchor", SearchOptions()).hits
        return sorted((hit.unit.qualified_name, hit.line) for hit in hits)

    Index.build(place, [root], Settings())
    assert find() == find() == [("anchor", 1)]
    (root / "harbour.py").write_text(
        "\n\ndef anchor(ship):\n    return ship\n\n\ndef anchor_of(boat):\n    return boat\n"
    )
    Index.build(place, [root], Settings())
    assert find() == find() == [("anchor", 3), ("anchor_of", 7)]
    for store in resting:
        store.close()
