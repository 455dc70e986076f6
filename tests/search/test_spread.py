"""The walk's surroundings over a small tree that carries an index of a language server."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from codelens.config import Settings
from codelens.graph.surroundings import WeightedNeighbours
from codelens.index import Index
from codelens.store.store import Store
from tests.linking.precise.indexes import CASES


@pytest.mark.parametrize(("with_index", "share"), [(True, 0.5), (False, 1.0)])
def test_edges_by_an_index_weigh_a_share(tmp_path: Path, with_index: bool, share: float) -> None:
    shutil.copytree(CASES / "python", tmp_path / "tree")
    if not with_index:
        (tmp_path / "tree/index.scip").unlink()
    Index.build(tmp_path / "index.db", [tmp_path / "tree"], Settings(jobs=1))
    with Store.read(tmp_path / "index.db") as store:
        (document,) = store.documents.find_by_path("shapes/main.py")
        places = {unit.name: unit.id for unit in store.units.list_in_document(document.id)}
        around = WeightedNeighbours(store, {"calls": 0.8}, backward=1.0, precise=0.5)([places["report"]])
    assert dict(around[places["report"]])[places["größe"]] == 0.8 * share
