"""Postings in memory answer as FTS5 does, to the last bit."""

from __future__ import annotations

import random
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codelens.config import Settings
from codelens.index import Index
from codelens.store import term_arrays
from codelens.store.postings import COLUMNS
from codelens.store.store import Store
from codelens.store.units import UnitSet
from tests.commands import SAMPLES
from tests.steps import statements

PLAIN = Settings(vector=False)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An index of the samples that was updated: files were changed, removed and added, so that FTS5 has several segments."""
    folder = tmp_path_factory.mktemp("arrays")
    root = folder / "tree"
    for name in ("notes", "shop"):
        shutil.copytree(SAMPLES / name / "repo", root / name)
    Index.build(folder / "i.db", [root], PLAIN)
    files = sorted(file for file in root.rglob("*") if file.suffix in (".py", ".go", ".ts"))
    for file in files[::5]:
        file.unlink()
    for file in files[1::5]:
        file.write_text(file.read_text(encoding="utf-8") + "\n# price of a note\n", encoding="utf-8")
    (root / "new.py").write_text("def price_of_note(note):\n    return note.price, note.price, note.title\n")
    Index.build(folder / "i.db", [root], PLAIN)
    return folder / "i.db"


@pytest.fixture(scope="module")
def stores(place: Path) -> Iterator[tuple[Store, Store]]:
    """One that asks FTS5, and one that answers from arrays."""
    with Store.read(place) as plain, Store.read(place) as warm:
        plain.postings.arrays = plain.occurrences._arrays = None
        assert warm.postings.arrays
        for _ in range(term_arrays.ASKED_BEFORE):
            assert warm.postings.arrays.find_postings(["note"]) is None
        yield plain, warm


WORDS = [
    "price",
    "pricing",
    "note",
    "notes",
    "total",
    "self",
    "user",
    "error",
    "cart",
    "nothing",
    "title",
    "test",
    "ab-cd",
    "or*",
]
TERMS = st.lists(st.sampled_from(WORDS), min_size=1, max_size=6)


@given(
    TERMS,
    st.lists(st.sampled_from([0.0, 0.5, 1.0, 1.5, 3.0, 10.0, 0.1]), min_size=7, max_size=7),
    st.sets(st.sampled_from(COLUMNS), max_size=3),
    st.integers(0, 2),
    st.sampled_from([0, 1, 3, 10, 1000]),
)
def test_scores_are_those_of_fts5(
    stores: tuple[Store, Store], terms: list[str], factors: list[float], columns: set[str], first: int, limit: int
) -> None:
    weights = dict(zip(COLUMNS, factors, strict=True))
    plain, warm = (
        store.postings.rank_by_bm25(
            terms, weights, None, limit, sorted(columns), terms[:first] if first < len(terms) else ()
        )
        for store in stores
    )
    assert plain == warm
    assert plain.keys == warm.keys  # type: ignore[attr-defined]


@given(TERMS, st.integers(0, 10_000))
def test_counts_are_those_of_fts5(stores: tuple[Store, Store], terms: list[str], seed: int) -> None:
    plain, warm = stores
    documents = [document.id for document in plain.documents.read_rows()]
    chosen = random.Random(seed).sample(documents, len(documents) // 2)
    units = UnitSet(sorted(unit.id for document in chosen for unit in plain.units.list_in_document(document)))
    expected, found = (store.occurrences.count_in_units(units, terms) for store in stores)
    assert list(expected.items()) == list(found.items())
    assert [[*held.counts] for held in expected.values()] == [[*held.counts] for held in found.values()]
    assert plain.occurrences.count_in_files(chosen, terms) == warm.occurrences.count_in_files(chosen, terms)


def test_a_word_is_read_once(place: Path) -> None:
    def ask(times: int) -> None:
        with Store.read(place) as store:
            assert store.postings.arrays
            store.postings.arrays._asked = term_arrays.ASKED_BEFORE
            documents = [row.id for row in store.documents.read_rows()]
            for _ in range(times):
                units = UnitSet(
                    sorted(unit for unit, _ in store.postings.rank_by_bm25(["note", "price"], {}, None, 10))
                )
                store.occurrences.count_in_units(units, ["note", "price"])
                store.occurrences.count_in_files(documents, ["note", "price"])

    further = statements(lambda: ask(10)) - statements(lambda: ask(1))
    assert further <= 9  # the order of ties, which depends on places


def test_memory_is_bounded(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(term_arrays, "MOST_BYTES", 2000)
    with Store.read(place) as store:
        arrays = store.postings.arrays
        assert arrays
        arrays._asked = term_arrays.ASKED_BEFORE
        for word in WORDS:
            arrays.find_postings([word])
            assert sum(map(term_arrays._measure_bytes, arrays._known.values())) == arrays._bytes
            assert arrays._bytes <= 2000 or len(arrays._known) == 1


def test_a_cold_search_needs_no_arrays(place: Path) -> None:
    from codelens.model.request import SearchOptions

    with Index.open(place, PLAIN) as index:
        index.search("price of a note", SearchOptions())
        assert index._store.postings.arrays
        assert index._store.postings.arrays._numpy is None
