from __future__ import annotations

from pathlib import Path

import pytest

from codelens.config import Settings
from codelens.index import Index
from codelens.store.store import Store
from tools.bench.lookups import main, single_names

DOCKS = '''
def moor(boat):
    """Tie it up."""
    knot = boat.rope
    return knot


def launch(boat):
    return moor(boat)


class Ship:
    def launch(self):
        return launch(self)

    def anchor(self):
        return self
'''


@pytest.fixture
def index(tmp_path: Path) -> Path:
    root = tmp_path / "tree"
    root.mkdir()
    (root / "docks.py").write_text(DOCKS)
    Index.build(tmp_path / "docks.db", [root], Settings())
    return tmp_path / "docks.db"


def test_only_names_of_a_single_definition_are_queried(index: Path) -> None:
    store = Store.read(index)
    with store.reading():
        names = {unit.name for unit in single_names(store)}
    store.close()
    assert names == {"moor", "Ship", "anchor"}


def test_a_row_for_each_index(index: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for profile in ("codelens", "rrf", "codexlens"):
        assert main([str(index), "--profile", profile]) == 0
        assert capsys.readouterr().out.splitlines()[-1] == "| docks | 3 | 1.000 |"
    with pytest.raises(SystemExit):
        main([])
