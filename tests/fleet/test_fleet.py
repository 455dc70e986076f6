"""Shards built and held by worker processes answer as one index does."""

from __future__ import annotations

import os
import shutil
import signal
from pathlib import Path

import pytest

from codelens.config import Settings
from codelens.fleet.build import index_fleet, read_fleet
from codelens.fleet.holding import DaskShards
from codelens.fleet.manifest import FleetManifest, FleetRepository, ShardEntry, grouped
from codelens.fleet.workers import client_of
from codelens.index import Index
from codelens.model.code import UnitRow
from codelens.model.search import SearchOptions
from codelens.store.store import Store
from tests.cluster.queries import answer_bytes, questions
from tests.commands import SAMPLES

UNLIMITED = Settings(query_seconds=0)


def test_workers_build_and_answer(tmp_path: Path) -> None:
    pytest.importorskip("distributed")
    for name in ("notes", "shop"):
        for copy in ("", "-again"):
            shutil.copytree(SAMPLES / name / "repo", tmp_path / "fleet" / f"{name}{copy}")
    roots, folder = read_fleet(tmp_path / "fleet"), tmp_path / "store"
    Index.build(tmp_path / "one.db", roots, UNLIMITED)
    with client_of("", workers=2) as client, Store.read(tmp_path / "one.db") as one:
        manifest = index_fleet(client, roots, folder, UNLIMITED, most=1)
        assert (len(manifest.shards), manifest.failures) == (4, {})
        assert FleetManifest.read(folder) == manifest
        files = [folder / shard.file for shard in manifest.shards]
        stamps = [file.stat().st_mtime_ns for file in files]
        assert index_fleet(client, roots, folder, UNLIMITED, most=1) == manifest
        assert [file.stat().st_mtime_ns for file in files] == stamps
        many = DaskShards(client, files, seconds=60).store(one.path, [r.root for r in manifest.repositories])
        units = sorted(
            (u for d in one.documents.rows() for u in one.units.of_document(d.id)), key=UnitRow.content_order
        )
        names = [row.name for row in one.documents.repositories()]
        for question in questions(units, names, 40, seed=4):
            assert answer_bytes(question, many, UNLIMITED) == answer_bytes(question, one, UNLIMITED), question


@pytest.mark.slow
def test_a_lost_worker_costs_its_shards_and_no_more(tmp_path: Path) -> None:
    """The answer is that of one index of the shards that are left."""
    pytest.importorskip("distributed")
    for name in ("notes", "shop"):
        shutil.copytree(SAMPLES / name / "repo", tmp_path / "fleet" / name)
    notes, shop = roots = read_fleet(tmp_path / "fleet")
    files = [tmp_path / "0.db", tmp_path / "1.db"]
    for file, root in zip(files, roots, strict=True):
        Index.build(file, [root], UNLIMITED)
    question = ("order of a note", SearchOptions(limit=50))
    with client_of("", workers=2) as client, Store.read(files[1]) as rest:
        shards, order = DaskShards(client, files, seconds=60), [str(notes), str(shop)]
        holder = sorted(client.scheduler_info(n_workers=-1)["workers"])[0]
        os.kill(client.run(os.getpid)[holder], signal.SIGKILL)
        found, lost = shards.answered(rest.path, order, lambda store: answer_bytes(question, store, UNLIMITED))
        assert list(lost) == [0]
        assert found == answer_bytes(question, rest, UNLIMITED)


def test_a_new_repository_leaves_other_shards_as_they_are() -> None:
    a, b, c, d = (FleetRepository(name, "1", 10) for name in "abcd")
    before = FleetManifest((a, c), (ShardEntry("x", ("a",), 1), ShardEntry("y", ("c",), 1)))
    assert grouped([a, b, c, d], 20, before) == [[a], [b, c], [d]]
