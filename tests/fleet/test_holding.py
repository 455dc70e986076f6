"""Shards that Dask's workers hold open answer as one index does, and without those that are lost."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from codelens.config import Settings
from codelens.errors import FleetIncomplete, UsageError
from codelens.fleet.build import index_fleet
from codelens.fleet.open import FleetConnection, FleetPlace
from codelens.fleet.sources import read_fleet
from codelens.fleet.workers import open_client
from codelens.index import Index
from codelens.model.code import UnitRow
from codelens.model.request import SearchOptions
from codelens.store.store import Store
from tests.cluster.queries import answer_bytes, questions, why_bytes
from tests.commands import SAMPLES
from tests.fleet.clones import clone

pytestmark = pytest.mark.slow

UNLIMITED = Settings(query_seconds=0)
OPTIONS = SearchOptions(limit=50)


class Held(NamedTuple):
    """A store of a shard each for `copy`, `notes` and `shop`, one index of all, and the address of two workers."""

    folder: Path
    scheduler: str
    client: Any

    @property
    def store(self) -> str:
        return str(self.folder / "store")

    def place(self, seconds: float = 60.0) -> FleetPlace:
        return FleetPlace(self.store, self.scheduler, seconds)

    @contextmanager
    def connected(self, seconds: float = 60.0) -> Iterator[FleetConnection]:
        connection = FleetConnection(self.place(seconds), UNLIMITED)
        yield connection
        connection.shards.close()


@pytest.fixture(scope="module")
def held(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Held]:
    pytest.importorskip("distributed")
    folder = tmp_path_factory.mktemp("held")
    for name, source in (("copy", "shop"), ("notes", "notes"), ("shop", "shop")):
        shutil.copytree(SAMPLES / source / "repo", folder / "clones" / name)
    with open_client("", workers=2) as client:
        manifest = index_fleet(client, read_fleet(folder / "clones"), str(folder / "store"), UNLIMITED, most=1)
        Index.build(folder / "one.db", [Path(r.path) for r in manifest.searched], UNLIMITED)
        yield Held(folder, client.scheduler.address, client)


def test_answers_and_accounts_are_the_same_bytes(held: Held) -> None:
    with held.connected() as connection, Store.read(held.folder / "one.db") as one:
        many = connection.store(held.place())
        rows = (unit for d in one.documents.read_rows() for unit in one.units.list_in_document(d.id))
        units = sorted(rows, key=UnitRow.content_order)
        names = [row.name for row in one.documents.list_repositories()]
        for number, question in enumerate(questions(units, names, 40, seed=4)):
            assert answer_bytes(question, many, UNLIMITED) == answer_bytes(question, one, UNLIMITED), question
            if number % 4 == 0:
                target = f"{units[number].repository}/{units[number].path}:{units[number].start_line}"
                expected = why_bytes(question, target, one, UNLIMITED)
                assert why_bytes(question, target, many, UNLIMITED) == expected, question


@contextmanager
def stopped(held: Held, worker: int) -> Iterator[None]:
    """One of the workers, in order of their addresses, answers nothing."""
    address = sorted(held.client.scheduler_info(n_workers=-1)["workers"])[worker]
    process = held.client.run(os.getpid)[address]
    os.kill(process, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(process, signal.SIGCONT)


@pytest.mark.skipif(not hasattr(signal, "SIGSTOP"), reason="processes cannot be stopped here")
def test_a_shard_that_is_too_slow_is_left_out_in_the_midst_of_a_session(held: Held, tmp_path: Path) -> None:
    """Shards 1 and 3 are the first worker's, shard 2 is the other's. What answers is an index of the rest."""
    question = ("order of a note", OPTIONS)
    Index.build(tmp_path / "rest.db", [held.folder / "clones/copy", held.folder / "clones/shop"], UNLIMITED)
    place = held.place(seconds=3)
    index = place.open(UNLIMITED)
    assert not index.search(*question).notices
    with stopped(held, worker=1):
        found = index.search(*question)
        with Index.open(tmp_path / "rest.db") as rest:
            expected = rest.search(*question)
        assert [(hit.unit.repository, hit.unit.path, hit.score) for hit in found.hits] == [
            (hit.unit.repository, hit.unit.path, hit.score) for hit in expected.hits
        ]
        (notice,) = (notice.text for notice in found.notices if notice.code == "missing")
        assert notice.startswith("shard 2 of 3 (notes) did not answer: no answer in 3 s; the answer is without it")
        with pytest.raises(FleetIncomplete, match=r"shard 2 of 3 \(notes\)"):
            place._replace(require_complete=True).open(UNLIMITED).search(*question)
    index.close()


def test_an_open_fleet_shows_one_state_and_the_next_question_the_new_one(held: Held, tmp_path: Path) -> None:
    store = str(tmp_path / "store")
    clone(tmp_path / "clones/a", "first")
    index_fleet(held.client, read_fleet(tmp_path / "clones"), store, UNLIMITED)
    place = FleetPlace(store, held.scheduler)
    open_before = place.open(UNLIMITED)
    clone(tmp_path / "clones/b", "second")
    index_fleet(held.client, read_fleet(tmp_path / "clones"), store, UNLIMITED)
    assert {hit.unit.repository for hit in open_before.search("items", OPTIONS).hits} == {"a"}
    open_before.close()
    with place.open(UNLIMITED) as after:
        assert {hit.unit.repository for hit in after.search("items", OPTIONS).hits} == {"a", "b"}


def test_a_scheduler_that_is_not_there_is_named(held: Held) -> None:
    with pytest.raises(UsageError, match=r"no scheduler at tcp://127\.0\.0\.1:1"):
        FleetPlace(held.store, "tcp://127.0.0.1:1", 1.0).open(UNLIMITED)
