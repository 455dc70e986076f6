"""Pages that became zeros: a writer cannot tell them from pages that were never written, and something else notices each."""

from __future__ import annotations

import os
import random
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

import apsw
import pytest

from codelens.config import Settings
from codelens.errors import IndexCorrupt
from codelens.index import Index
from codelens.indexing.build import update_file
from codelens.model.runs import Progress
from codelens.store.connection import open_reader
from codelens.worktree.place import BUILDING, COMPACTED
from tests.dump import dump
from tests.indexing.here import Tree

pytestmark = pytest.mark.slow

PAGE = 4096


class LostPage(NamedTuple):
    """A page by its place in the structure of the file: the first or last of a table's pages of a type."""

    table: str
    type: str
    order: str = "ASC"

    def lose(self, index: Path) -> int:
        """Overwrite the page with zeros, and return its number."""
        sql = f"SELECT pageno FROM dbstat WHERE name = ? AND pagetype = ? ORDER BY path {self.order} LIMIT 1"
        with closing(apsw.Connection(str(index), flags=apsw.SQLITE_OPEN_READONLY)) as plain:
            number = int(plain.execute(sql, (self.table, self.type)).get)
        with index.open("r+b") as file:
            file.seek((number - 1) * PAGE)
            assert any(file.read(PAGE))
            file.seek((number - 1) * PAGE)
            file.write(bytes(PAGE))
        return number


PAGES = (
    LostPage("snapshots", "overflow"),
    LostPage("snapshots", "overflow", "DESC"),  # the last of a chain: SQLite's own check passes without it
    LostPage("snapshots", "leaf"),
    LostPage("units", "internal"),
    LostPage("unit_terms_data", "leaf", "DESC"),
    LostPage("text_trigrams_data", "leaf", "DESC"),
    LostPage("vectors", "leaf"),
)


@pytest.fixture(params=PAGES, ids=str)
def page(request: pytest.FixtureRequest) -> LostPage:
    param: LostPage = request.param
    return param


@pytest.fixture
def some(tree: Tree) -> Tree:
    """A tree with texts of several pages, which do not compress well."""
    draw = random.Random(1)
    tree.write("notes.txt", "\n".join(draw.randbytes(40).hex() for _ in range(500)))
    for number in range(3):
        tree.write(f"m{number}.py", "\n\n".join(f"def f{number}_{line}(): pass" for line in range(150)))
    return tree


class Halt:
    """Raise at a phase of a run, or call a function there."""

    def __init__(self, phase: str) -> None:
        self._phase = phase

    def __call__(self, step: Progress) -> None:
        if step.phase == self._phase:
            self.act()

    def act(self) -> None:
        raise KeyboardInterrupt


def beside(tree: Tree, suffix: str) -> Path:
    return tree.index.with_name(tree.index.name + suffix)


def files(tree: Tree) -> list[str]:
    return sorted(file.name for file in tree.index.parent.iterdir())


def test_of_an_index_at_rest(some: Tree, page: LostPage) -> None:
    some.run()
    before = dump(some.index)
    number = page.lose(some.index)
    with (
        closing(open_reader(some.index)) as reader,
        pytest.raises(apsw.CorruptError, match=f"page {number} is damaged"),
    ):
        reader.execute(f"SELECT * FROM {page.table}").fetchall()
    (fault,) = Index.check(some.index, full=False)
    assert f"the first is {number}" in fault.text
    with pytest.raises(IndexCorrupt, match=f"the first is {number}"):
        update_file(some.index, some.root, "m0.py", Settings())
    (notice,) = some.run().notices
    assert notice.code == "rebuilt" and f"the first is {number}" in notice.text
    assert dump(some.index) == before


def test_of_a_build_that_was_interrupted(some: Tree, page: LostPage) -> None:
    with pytest.raises(KeyboardInterrupt):
        Index.build(some.index, [some.root], Settings(), progress=Halt("verify"))
    page.lose(beside(some, BUILDING))
    (report,) = Index.build(some.index, [some.root], Settings())
    assert not report.resumed
    some.equals_fresh()


@pytest.mark.parametrize("page", PAGES[:3], ids=str)  # of tables that the end of a build does not write
def test_during_a_build(some: Tree, page: LostPage) -> None:
    class Loss(Halt):
        def act(self) -> None:
            self.number = page.lose(beside(some, BUILDING))

    loss = Loss("verify")
    with pytest.raises(IndexCorrupt, match=r"page \d+ is damaged"):
        Index.build(some.index, [some.root], Settings(), progress=loss)
    assert files(some) == []
    some.run()


def test_of_a_copy_as_it_reaches_the_disk(some: Tree, page: LostPage, monkeypatch: pytest.MonkeyPatch) -> None:
    flush, numbers = os.fsync, list[int]()

    def lose(handle: int) -> None:
        flush(handle)
        numbers.append(page.lose(beside(some, COMPACTED)))

    with monkeypatch.context() as patch:
        patch.setattr("os.fsync", lose)
        with pytest.raises(IndexCorrupt, match=r"1 of \d+ pages are damaged"):
            some.run()
    assert numbers and files(some) == []
    some.run()
