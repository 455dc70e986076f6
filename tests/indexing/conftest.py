from __future__ import annotations

from pathlib import Path

import pytest

from tests.indexing.here import Tree, derive_here


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Tree:
    """An empty tree next to its index's place; files are derived in this process."""
    (tmp_path / "tree").mkdir()
    (tmp_path / "at").mkdir()
    return Tree(tmp_path / "tree", tmp_path / "at" / "index.db", derive_here(monkeypatch))
