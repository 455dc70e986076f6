"""A served index that a watch keeps fresh, without anybody who asks for it."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from codelens.config import Settings
from codelens.index import Index
from codelens.model.request import SearchOptions
from codelens.server.upkeep import ServedIndex, WatchedUpkeep

pytest.importorskip("watchfiles", reason="the extra `watch` is not installed")

PATIENCE = 60.0  # Seconds after which a change that is not heard of is a fault, on the slowest machine


def found(served: ServedIndex, name: str) -> list[str]:
    with served.open() as index:
        return [hit.unit.path for hit in index.search(f"sym:{name}", SearchOptions()).hits]


def until(served: ServedIndex, name: str, there: bool) -> bool:
    end = time.monotonic() + PATIENCE
    while bool(found(served, name)) != there:
        if time.monotonic() > end:
            return False
        time.sleep(0.1)
    return True


@pytest.mark.slow
def test_a_watched_change_is_indexed_without_a_call(tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / "cup.py").write_text("def pour():\n    return 1\n")
    served = ServedIndex(tree, tmp_path / "i.db", Settings(jobs=1))
    Index.build(served.index, [tree], served.settings)
    upkeep = WatchedUpkeep(served)
    try:
        upkeep.start_update(PATIENCE)
        (tree / "jug.py").write_text("def decant():\n    return 2\n")
        assert until(served, "decant", True)
        (tree / "jug.py").unlink()
        assert until(served, "decant", False)
    finally:
        upkeep.close()


def test_an_index_that_may_not_be_written_is_not_watched(tmp_path: Path) -> None:
    (tmp_path / "cup.py").write_text("def pour():\n    return 1\n")
    served = ServedIndex(tmp_path, tmp_path / "i.db", Settings(jobs=1))
    Index.build(served.index, [tmp_path], served.settings)
    upkeep = WatchedUpkeep(served, "a test forbids it")
    upkeep.start_update(PATIENCE)
    (tmp_path / "jug.py").write_text("def decant():\n    return 2\n")
    assert not upkeep.refresh(PATIENCE)
    assert found(served, "decant") == []
    upkeep.close()
