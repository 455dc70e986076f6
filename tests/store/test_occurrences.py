"""Word counts by field, from FTS5's own postings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from codelens.config import Settings
from codelens.index import Index
from codelens.model.code import UnitId
from codelens.store.postings import COLUMNS
from codelens.store.store import Store
from codelens.store.units import UnitSet

SOURCES = {
    "harbour/ship.py": '''
class Ship:
    """A ship, and what a ship carries."""

    def load(self, cargo):
        cargo.check(cargo.weight)
        return cargo
''',
    "crane.py": "def lift(cargo):\n    return cargo\n",
}


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    root = tmp_path / "tree"
    for path, text in SOURCES.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    Index.build(tmp_path / "i.db", [root], Settings())
    store = Store.read(tmp_path / "i.db")
    with store.reading():
        yield store
    store.close()


def units(store: Store) -> dict[str, UnitId]:
    return {u.qualified_name: u.id for d in store.documents.read_rows() for u in store.units.list_in_document(d.id)}


def test_counts_are_by_word_and_field(store: Store) -> None:
    names = units(store)
    pool = UnitSet(sorted(names.values()))
    found = store.occurrences.count_in_units(pool, ["ship", "cargo"])
    ship, load = found[names["Ship"]], found[names["Ship.load"]]

    def counted(counts: Mapping[int, bytes], word: int) -> dict[str, int]:
        return {c: n for c, n in zip(COLUMNS, counts.get(word, bytes(len(COLUMNS))), strict=True) if n}

    assert counted(ship.counts, 0)["name"] == 1
    assert counted(ship.counts, 0)["doc"] == 2
    assert counted(load.counts, 0)["container"] == 1
    assert counted(load.counts, 1)["body"] >= 3
    assert names["lift"] in found
    assert counted(found[names["lift"]].counts, 0) == {}
    assert ship.lengths[COLUMNS.index("doc")] > load.lengths[COLUMNS.index("doc")] == 0


def test_only_the_pool_is_counted(store: Store) -> None:
    names = units(store)
    pool = UnitSet([names["lift"]])
    assert set(store.occurrences.count_in_units(pool, ["cargo"])) == {names["lift"]}
    assert store.occurrences.count_in_units(pool, []) == {}
    assert store.occurrences.count_in_units(pool, ["nowhere"]) == {}


def test_totals_are_of_all_units(store: Store) -> None:
    names = units(store)
    rows, tokens = store.postings.read_totals()
    pool = UnitSet(sorted(names.values()))
    lengths = [o.lengths for o in store.occurrences.count_in_units(pool, ["ship", "cargo"]).values()]
    doc = COLUMNS.index("doc")
    assert (rows, tokens[doc]) == (store.units.count(), sum(length[doc] for length in lengths))


def test_files_are_counted_by_their_units(store: Store) -> None:
    documents = {d.path: d.id for d in store.documents.read_rows()}
    lengths, (holding, nowhere) = store.occurrences.count_in_files(documents.values(), ["lift", "nowhere"])
    assert (holding, nowhere) == ({documents["crane.py"]: 1}, {})
    assert store.occurrences.count_files() == len(SOURCES)
    assert sum(lengths.values()) == store.units.count()
    assert lengths[documents["crane.py"]] == 1
    others = [document for path, document in documents.items() if path != "crane.py"]
    assert store.occurrences.count_in_files(others, ["lift"])[1] == [{}]
