"""The walk's surroundings over a small tree that carries an index of a language server."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from codelens.config import Settings
from codelens.index import Index
from codelens.model import SearchOptions
from codelens.search.pipeline import load_profile
from codelens.search.spread import Spreading, Surroundings
from codelens.store.store import Store
from tests.precise.indexes import CASES


@pytest.mark.parametrize(("with_index", "share"), [(True, 0.5), (False, 1.0)])
def test_edges_by_an_index_weigh_a_share(tmp_path: Path, with_index: bool, share: float) -> None:
    shutil.copytree(CASES / "python", tmp_path / "tree")
    if not with_index:
        (tmp_path / "tree/index.scip").unlink()
    Index.build(tmp_path / "index.db", [tmp_path / "tree"], Settings(jobs=1))
    spreading = replace(Spreading(**load_profile(SearchOptions()).graph), precise=0.5, backward=1.0)
    with Store.read(tmp_path / "index.db") as store:
        (document,) = store.documents.by_path("shapes/main.py")
        places = {unit.name: unit.id for unit in store.units.of_document(document.id)}
        around = Surroundings(store, spreading)([places["report"]])
    assert dict(around[places["report"]])[places["größe"]] == spreading.kinds["calls"] * share
