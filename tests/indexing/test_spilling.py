"""Transactions that outgrow the page cache: SQLite writes pages early, and reads pages that nobody has written yet."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from codelens.config import Settings
from codelens.index import Index
from codelens.model.request import SearchOptions
from codelens.store.store import Store
from tests.dump import dump
from tests.indexing.here import Tree

FILES = 100
"""FTS5 merges so many segments in two steps: pages of the first are freed and used again in one transaction."""
SETTINGS = Settings(commit_bytes=1)  # Each file is a batch, with a segment of its own


@pytest.fixture(autouse=True)
def few_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    """A writer caches four pages."""
    monkeypatch.setattr("codelens.store.connection.WRITER_CACHE_KIB", 16)


def write_files(tree: Tree, seed: int, step: int = 1) -> None:
    draw = random.Random(seed)
    words = ["".join(draw.choices("abcdefghijklmnop", k=9)) for _ in range(2_000)]
    for number in range(0, FILES, step):
        functions = [
            f"def {draw.choice(words)}_{n}({draw.choice(words)}):\n    return {' + '.join(draw.choices(words, k=8))}\n"
            for n in range(2)
        ]
        tree.write(f"module{number}.py", f"def seed_{seed}_{number}(): pass\n\n\n" + "\n\n".join(functions))


def check(tree: Tree) -> None:
    """Check each page and row, and find functions of some files."""
    assert Index.check(tree.index, full=True) == []
    with Index.open(tree.index) as index:
        for file in sorted(tree.root.iterdir())[::10]:
            name = file.read_text().partition("(")[0].removeprefix("def ")
            hits = index.search(name, SearchOptions(mode="keyword", limit=1)).hits
            assert [(hit.unit.path, hit.unit.name) for hit in hits] == [(file.name, name)]


def test_an_index_larger_than_the_cache_is_built_updated_copied_and_shrunk(tree: Tree, tmp_path: Path) -> None:
    write_files(tree, 1)
    tree.run(settings=SETTINGS)
    check(tree)
    write_files(tree, 2, step=2)
    tree.run(settings=SETTINGS)
    check(tree)

    copy, compacted = tmp_path / "copy.db", tmp_path / "compacted.db"
    with Store.read(tree.index) as store:
        store.copy(copy)
    with Store.write(copy, accepted=True) as store:
        store.copy_compacted(compacted)
    assert dump(compacted) == dump(tree.index)

    size = tree.index.stat().st_size
    for file in sorted(tree.root.iterdir())[5:]:
        file.unlink()
    tree.run(settings=SETTINGS)
    assert tree.index.stat().st_size < size * 2 / 3, "vacuumed"
    check(tree)
