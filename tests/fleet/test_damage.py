"""Stores with damaged files: what is said of them, and that the next run makes them whole."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

pytest.importorskip("distributed", reason="the extra `cluster` is not installed")

from distributed.deploy.local import LocalCluster

from codelens.cli.main import main
from codelens.errors import CodelensError, FleetIncomplete, NoIndex, UsageError
from codelens.fleet.build import index_fleet, read_fleet_status
from codelens.fleet.manifest import FleetManifest
from codelens.fleet.open import FleetPlace
from codelens.fleet.sources import read_fleet
from codelens.fleet.stores import open_store
from codelens.fleet.workers import name_record, name_sketch, open_client
from codelens.model.request import SearchOptions
from codelens.server.http.keys import add_key, read_keys
from tests.fleet.clones import clone
from tests.fleet.test_fleet import UNLIMITED, Fleet, client, fleet
from tools.campaign import Report
from tools.faults.fleet import run_damage

pytestmark = pytest.mark.slow
__all__ = ("client", "fleet")


def _flip(file: Path, place: float) -> None:
    """Change a byte at a share of the file's length. The file keeps its length and its time, as on a failing disk."""
    times = file.stat()
    content = bytearray(file.read_bytes())
    content[int(place * (len(content) - 1))] ^= 0x41
    file.write_bytes(content)
    os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns))


def _list_damaged(fleet: Fleet, **how: bool) -> list[str]:
    return [shard.file for shard in read_fleet_status(fleet.url, UNLIMITED, **how).shards if shard.missing]


@pytest.mark.parametrize("place", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("name_file", [lambda shard: shard, name_sketch], ids=["shard", "sketch"])
def test_a_shard_with_a_damaged_byte_is_built_again(
    fleet: Fleet, name_file: Callable[[str], str], place: float
) -> None:
    before = fleet.index(most=1)
    damaged = before.shards[1]
    _flip(Path(fleet.url) / name_file(damaged.file), place)
    assert _list_damaged(fleet) == []
    assert _list_damaged(fleet, verify=True) == [damaged.file]
    after = fleet.index(most=1)
    assert fleet.lines[0] == f"{name_file(damaged.file)} is damaged or missing: it is built again"
    assert (after.shards[0], after.shards[2]) == (before.shards[0], before.shards[2])
    assert _list_damaged(fleet, verify=True) == []
    for _ in range(4):  # sketches are read at the third question
        assert fleet.finds("first") == ["a", "b", "c"]


def test_shards_in_each_others_place_are_not_taken_for_each_other(fleet: Fleet) -> None:
    first, second, _ = (Path(fleet.url) / shard.file for shard in fleet.index(most=1).shards)
    contents = [first.read_bytes(), second.read_bytes()]
    second.write_bytes(contents[0])
    first.write_bytes(contents[1])
    found = FleetPlace(fleet.url).open(UNLIMITED).search("kind:function name:first", SearchOptions())
    assert {hit.unit.repository for hit in found.hits} == {"c"}
    texts = [notice.text for notice in found.notices if notice.code == "missing"]
    assert len(texts) == 2
    assert all("has changed since it was stored (`codelens cluster index FLEET --verify`" in text for text in texts)
    fleet.index(most=1)
    assert fleet.finds("first") == ["a", "b", "c"]


def test_a_sketch_of_another_shard_hides_nothing(fleet: Fleet) -> None:
    """It is whole, but says that words are missing which are there."""
    clone(fleet.clones / "d", "zebra")
    first, *_, last = (Path(fleet.url) / name_sketch(shard.file) for shard in fleet.index(most=1).shards)
    last.write_bytes(first.read_bytes())
    for _ in range(4):  # sketches are read at the third question
        with FleetPlace(fleet.url).open(UNLIMITED) as index:
            found = index.search("zebra", SearchOptions(mode="exact"))
        assert {hit.unit.repository for hit in found.hits} == {"d"}


@pytest.mark.parametrize("place", [0.0, 0.3, 0.5, 0.9, 1.0])
def test_a_damaged_record_is_not_believed(fleet: Fleet, place: float) -> None:
    before = fleet.index(most=1)
    _flip(Path(fleet.url) / name_record(before.shards[0].file), place)
    (Path(fleet.url) / "manifest.json").unlink()
    after = fleet.index(most=1)
    assert after.failures == {}
    assert [r.path for r in after.repositories] == [r.path for r in before.repositories]
    assert fleet.finds("first") == ["a", "b", "c"]


@pytest.mark.parametrize("change", [b"", b"{", b"[]", b"null", b'{"shard": {}, "indexed": []}', "other"])
def test_a_record_of_something_else_is_not_believed(fleet: Fleet, change: bytes | str) -> None:
    first, second, _ = (Path(fleet.url) / name_record(shard.file) for shard in fleet.index(most=1).shards)
    first.write_bytes(second.read_bytes() if isinstance(change, str) else change)
    (Path(fleet.url) / "manifest.json").unlink()
    assert fleet.index(most=1).failures == {}
    assert fleet.finds("first") == ["a", "b", "c"]


def test_a_manifest_with_any_damaged_byte_is_refused_and_written_again(fleet: Fleet) -> None:
    before = fleet.index(most=1)
    manifest = Path(fleet.url) / "manifest.json"
    whole = manifest.read_bytes()
    for place in range(0, 100, 7):
        _flip(manifest, place / 100)
        with pytest.raises(NoIndex, match=r"damaged|version") as told:
            FleetManifest.read(open_store(fleet.url))
        assert "`codelens cluster index`" in told.value.hint
        manifest.write_bytes(whole)
    _flip(manifest, 0.5)
    assert fleet.index(most=1).shards == before.shards  # found by their records
    assert fleet.finds("first") == ["a", "b", "c"]


def test_a_store_of_before_there_were_digests_is_read(fleet: Fleet) -> None:
    manifest = Path(fleet.url) / "manifest.json"
    fleet.index()
    content, _, _ = manifest.read_bytes().rpartition(b', "seal": "')
    manifest.write_bytes(content + b"}\n")
    assert fleet.finds("first") == ["a", "b", "c"]


def test_a_question_that_nothing_answers_names_the_shard_that_is_missing(
    fleet: Fleet, capsys: pytest.CaptureFixture[str]
) -> None:
    (Path(fleet.url) / fleet.index(most=1).shards[1].file).write_bytes(b"")
    for command in (("symbols", "b/a.py"), ("refs", "b_first"), ("symbols", "a/a.py")):
        main(["cluster", *command, "--store", fleet.url])
        err = capsys.readouterr().err
        assert "shard 2 of 3 (b) did not answer" in err
        assert "`codelens cluster index FLEET --verify`" in err
    with pytest.raises(FleetIncomplete) as told:
        FleetPlace(fleet.url, require_complete=True).open(UNLIMITED)
    assert "cluster status --verify" in told.value.hint


def test_a_damaged_list_of_keys_opens_nothing(tmp_path: Path) -> None:
    """A bit may turn one repository's name into another's."""
    keys = tmp_path / "keys.json"
    add_key(keys, "anna", ["a"])
    keys.write_bytes(keys.read_bytes().replace(b'"a"', b'"b"'))
    with pytest.raises(UsageError) as told:
        read_keys(keys)
    assert "`codelens serve keys add NAME`" in told.value.hint
    keys.write_text('{"keys": [{"name": "anna", "sha256": "0"}]}')  # as earlier versions wrote it
    assert [row.name for row in read_keys(keys)] == ["anna"]


class _Killer:
    """Kills the workers of this process that start from now on, up to a number of them."""

    def __init__(self, most: int) -> None:
        self._most, self._known = most, self._list_workers()
        self.killed: list[int] = []
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> _Killer:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    @staticmethod
    def _list_workers() -> set[int]:
        import psutil

        found = set()
        for child in psutil.Process().children():
            with suppress(psutil.Error):  # it has just ended
                if "spawn_main" in " ".join(child.cmdline()):
                    found.add(child.pid)
        return found

    def _run(self) -> None:
        while not self._over.is_set() and len(self.killed) < self._most:
            for pid in sorted(self._list_workers() - self._known)[: self._most - len(self.killed)]:
                self._known.add(pid)
                os.kill(pid, signal.SIGKILL)
                self.killed.append(pid)
            time.sleep(0.01)


def _list_running_clusters() -> list[str]:
    return sorted(cluster.name for cluster in LocalCluster._instances if cluster.status.name == "running")


@pytest.mark.skipif(os.name == "nt", reason="needs signals")
def test_workers_that_die_as_they_start_are_started_again() -> None:
    with _Killer(1) as killer, open_client("", workers=2) as started:
        assert len(started.nthreads()) == 2
    assert len(killer.killed) == 1


@pytest.mark.skipif(os.name == "nt", reason="needs signals")
def test_workers_that_cannot_start_are_one_error() -> None:
    before = _list_running_clusters()
    failing = pytest.raises(CodelensError, match="no workers can be started")
    with _Killer(100) as killer, failing as told, open_client("", workers=1):
        pass
    assert "--workers" in told.value.hint
    assert len(killer.killed) >= 3
    assert set(_list_running_clusters()) <= set(before)  # one of another test may end meanwhile


@pytest.mark.skipif(os.name == "nt", reason="needs signals")
def test_a_worker_that_dies_as_it_is_started_again_is_replaced(tmp_path: Path) -> None:
    """The only worker is killed after the first shard, and so is the next process."""
    for name in "abc":
        clone(tmp_path / f"clones/{name}", files=20)
    with open_client("", workers=1) as started:
        killers: list[_Killer] = []

        def told(line: str) -> None:
            if line.startswith("shard 1"):
                killer = _Killer(1)
                for pid in killer._known:
                    os.kill(pid, signal.SIGKILL)
                killers.append(killer.__enter__())

        manifest = index_fleet(
            started, read_fleet(tmp_path / "clones"), str(tmp_path / "store"), UNLIMITED, most=1, report=told
        )
        killers[0].__exit__()
    assert len(killers[0].killed) == 1
    assert (manifest.failures, len(manifest.shards)) == ({}, 3)


def test_damaged_stores_answer_right_or_name_what_mends_them(tmp_path: Path) -> None:
    """A few; `make faults ONLY=fleet-damage` tries more."""
    report = Report("fleet-damage")
    run_damage(3, 5, tmp_path, report)
    assert report.failures == []
