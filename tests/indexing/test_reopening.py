"""An index that is opened again and again: a reader is reused while its file is as it was, and never longer."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from threading import Thread

import pytest

from codelens import index as facade
from codelens.errors import IndexNotTrusted
from codelens.index import Index
from codelens.model.request import SearchOptions
from codelens.store.store import Store
from tests.search.trees import QUICK, Tree

FILES = {"tide.py": "def rising_tide():\n    return 1\n", "gate.py": "def harbour_gate():\n    return 2\n"}


@pytest.fixture
def tree(tmp_path: Path) -> Iterator[Tree]:
    made = Tree(tmp_path, FILES)
    made.index().close()
    close_all()  # those of commands that ran in this process
    yield made
    close_all()


def close_all() -> None:
    while facade._RESTING:
        facade._RESTING.pop().close()


def names(tree: Tree, query: str) -> list[str]:
    with Index.reopen(tree.db, QUICK) as index:
        return [hit.unit.name for hit in index.search(query, SearchOptions(mode="keyword")).hits]


def test_an_unchanged_index_is_not_opened_again(tree: Tree) -> None:
    assert names(tree, "tide") == ["rising_tide"]
    (resting,) = facade._RESTING
    assert names(tree, "gate") == ["harbour_gate"]
    assert [resting] == facade._RESTING


def test_a_resting_reader_blocks_no_writer_and_sees_its_writes(tree: Tree) -> None:
    assert names(tree, "lighthouse") == []
    (tree.root / "new.py").write_text("def lighthouse_keeper():\n    return 3\n")
    tree.index().close()
    assert not tree.db.with_name(tree.db.name + "-wal").exists()
    assert names(tree, "lighthouse") == ["lighthouse_keeper"]


def test_a_replaced_index_is_opened_again(tree: Tree) -> None:
    assert names(tree, "tide") == ["rising_tide"]
    (tree.root / "tide.py").write_text("def falling_tide():\n    return 1\n")
    tree.db.unlink()
    tree.index().close()
    assert names(tree, "tide") == ["falling_tide"]


def test_a_reader_in_wal_mode_is_not_kept(tree: Tree) -> None:
    with Store.write(tree.db) as writer:
        writer.begin_work()
        with writer.writing():
            writer.set_meta("remark", "yes")
        assert names(tree, "tide") == ["rising_tide"]
        assert facade._RESTING == []
        assert writer.end_work()


def test_an_index_that_is_not_trusted_any_more_is_not_reused(tree: Tree) -> None:
    trusting = replace(QUICK, trust_indexes=True)
    (tree.root / "other").mkdir()
    copied = tree.root / "other/index.db"
    shutil.copy2(tree.db, copied)
    with Index.reopen(copied, trusting) as index:
        assert index.search("tide", SearchOptions(mode="keyword")).hits
    assert len(facade._RESTING) == 1
    with pytest.raises(IndexNotTrusted):
        Index.reopen(copied, QUICK)


def test_a_reader_that_failed_is_not_kept(tree: Tree) -> None:
    with pytest.raises(ZeroDivisionError), Index.reopen(tree.db, QUICK):
        raise ZeroDivisionError
    assert facade._RESTING == []


def test_threads_have_separate_readers_and_few_are_kept(tree: Tree) -> None:
    found: list[list[str]] = []
    threads = [Thread(target=lambda: found.append(names(tree, "tide"))) for _ in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [["rising_tide"]] * 12
    assert len(facade._RESTING) <= facade.MOST_RESTING
