"""Shards that Dask's workers build: what is built again, what is kept, and what is listed when something fails."""

from __future__ import annotations

import errno
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from codelens.config import Settings
from codelens.errors import IndexBusy, NoIndex, UsageError
from codelens.fleet.build import GRACE_SECONDS, find_next_writing, index_fleet, read_fleet_status
from codelens.fleet.manifest import FleetManifest, Member, group_into_shards
from codelens.fleet.open import FleetPlace
from codelens.fleet.sources import FleetSource, read_fleet
from codelens.fleet.stores import open_store
from codelens.fleet.workers import name_record, open_client
from codelens.index import Index
from codelens.model.fast_dataclass import replace
from codelens.model.request import SearchOptions
from codelens.store.store import Store
from tests.dump import dump
from tests.fleet.clones import clone, commit, git
from tools.campaign import Report
from tools.faults.fleet import run

pytestmark = pytest.mark.slow

UNLIMITED = Settings(query_seconds=0)


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    pytest.importorskip("distributed")
    before = os.environ.get("XDG_CACHE_HOME")
    os.environ["XDG_CACHE_HOME"] = str(tmp_path_factory.mktemp("cache"))
    with open_client("", workers=2) as client:
        yield client
    os.environ.pop("XDG_CACHE_HOME")
    if before is not None:
        os.environ["XDG_CACHE_HOME"] = before


class Fleet:
    """Clones in a folder, and the store that they are indexed into."""

    def __init__(self, client: Any, folder: Path, names: str = "abc") -> None:
        self.client, self.clones, self.url = client, folder / "clones", str(folder / "store")
        self.lines: list[str] = []
        for name in names:
            clone(self.clones / name)

    def index(
        self, fleet: list[FleetSource] | None = None, settings: Settings = UNLIMITED, **how: Any
    ) -> FleetManifest:
        self.lines.clear()
        sources = read_fleet(self.clones) if fleet is None else fleet
        manifest = index_fleet(self.client, sources, self.url, settings, report=self.lines.append, **how)
        assert FleetManifest.read(open_store(self.url)) == manifest
        stored = {file.name for file in open_store(self.url).list_files("shards")}
        assert {shard.file for shard in manifest.shards} <= stored
        return manifest

    def finds(self, word: str) -> list[str]:
        """Names of the repositories whose functions have the word in their names."""
        found = FleetPlace(self.url).open(UNLIMITED).search(f"kind:function name:{word}", SearchOptions(limit=50))
        return sorted({hit.unit.repository for hit in found.hits})


def _rows(index: Path) -> dict[str, list[tuple[object, ...]]]:
    """All rows but the one that names the folder of the index."""
    rows = dump(index)
    return rows | {"meta": [row for row in rows["meta"] if row[0] != "home"]}


@pytest.fixture
def fleet(client: Any, tmp_path: Path) -> Fleet:
    return Fleet(client, tmp_path)


def test_what_did_not_change_is_not_built_again(fleet: Fleet) -> None:
    manifest = fleet.index(most=1)
    assert [shard.repositories for shard in manifest.shards] == [("a",), ("b",), ("c",)]
    assert [(r.commit, r.files) for r in manifest.repositories] == [
        (git(fleet.clones / name, "rev-parse", "HEAD"), 1) for name in "abc"
    ]
    assert fleet.index(most=1) == manifest
    assert fleet.lines == ["3 repositories: 0 of 3 shards to build"]
    clone(fleet.clones / "aa", "newcomer")
    added = fleet.index(most=1)
    assert added.shards[:3] == manifest.shards
    assert [r.name for r in added.repositories] == ["a", "b", "c", "aa"]
    assert fleet.finds("newcomer") == ["aa"]


def test_a_changed_repository_is_updated_in_its_shard(fleet: Fleet) -> None:
    """The shard has what a new index of the same folders has, row by row."""
    before = fleet.index()
    (fleet.clones / "b/a.py").write_text("def b_second(items):\n    return items\n")
    commit(fleet.clones / "b")
    clone(fleet.clones / "d", "second")
    after = fleet.index()
    assert [shard.repositories for shard in after.shards] == [tuple("abcd")]
    assert fleet.finds("second") == ["b", "d"]
    assert after.repositories[0] == replace(before.repositories[0], shard=after.shards[0].file)  # a was not read
    assert list(after.superseded) == [before.shards[0].file]
    with Store.read(Path(fleet.url) / before.shards[0].file, accepted=True) as old:  # its readers go on
        assert old.documents.read_totals(old.documents.list_repositories()[0].id)[0] == 1
    fresh = Path(fleet.url).with_name("fresh.db")
    Index.build(fresh, [fleet.clones / name for name in "abcd"], UNLIMITED)
    updated = Path(shutil.copy(Path(fleet.url) / after.shards[0].file, fresh.with_name("updated.db")))
    assert _rows(updated) == _rows(fresh)


def test_a_repository_that_left_the_fleet_leaves_its_shard(fleet: Fleet) -> None:
    fleet.index()
    manifest = fleet.index(read_fleet(fleet.clones)[1:])
    assert [shard.repositories for shard in manifest.shards] == [("b", "c")]
    assert fleet.finds("first") == ["b", "c"]


def test_a_bad_repository_does_not_sink_those_that_share_its_shard(fleet: Fleet) -> None:
    """It is listed; once it is mended, it is indexed."""
    sources = [*read_fleet(fleet.clones), FleetSource("x", str(fleet.clones / "x"))]
    manifest = fleet.index(sources)
    assert fleet.finds("first") == ["a", "b", "c"]
    assert "no such folder" in manifest.failures["x"]
    clone(fleet.clones / "x")
    manifest = fleet.index(sources)
    assert (fleet.finds("first"), manifest.failures) == (["a", "b", "c", "x"], {})


def test_a_repository_that_cannot_be_read_any_more_keeps_its_last_state(fleet: Fleet) -> None:
    sources = read_fleet(fleet.clones)
    fleet.index(sources)
    (fleet.clones / "a").rename(fleet.clones.with_name("away"))
    (fleet.clones / "b/a.py").write_text("def b_second(): pass\n")
    manifest = fleet.index(sources)
    assert (fleet.finds("first"), fleet.finds("second")) == (["a", "c"], ["b"])
    assert list(manifest.failures) == ["a"]
    fleet.index(sources, settings=replace(UNLIMITED, hidden=True))  # all is built again, and a cannot be
    assert fleet.finds("first") == ["c"]


def test_a_repository_whose_folder_has_no_utf8_name_is_indexed(fleet: Fleet) -> None:
    sources = read_fleet(fleet.clones)
    odd = clone(fleet.clones / "odd").rename(fleet.clones / os.fsdecode(b"odd\xff"))
    fleet_of_four = [*sources[:1], FleetSource("odd", str(odd)), *sources[1:]]
    manifest = fleet.index(fleet_of_four)
    assert manifest.failures == {}
    assert fleet.finds("first") == ["a", "b", "c", "odd"]


def test_other_settings_build_all_shards_before_the_manifest_names_one(fleet: Fleet) -> None:
    """Shards that were built differently cannot be searched together."""
    before = fleet.index(most=1)
    seen = []

    def told(line: str) -> None:
        seen.append(FleetManifest.read(open_store(fleet.url)).shards == before.shards)

    settings = replace(UNLIMITED, fuzzy=False)
    after = index_fleet(fleet.client, read_fleet(fleet.clones), fleet.url, settings, most=1, report=told)
    assert seen == [True] * 4
    assert after.recipe != before.recipe
    assert not {shard.file for shard in after.shards} & {shard.file for shard in before.shards}


def test_superseded_shards_go_after_a_while(fleet: Fleet) -> None:
    first = fleet.index()
    (fleet.clones / "a/a.py").write_text("x = 1\n")
    second = fleet.index()
    shards = Path(fleet.url) / "shards"
    assert len(list(shards.glob("*.db"))) == 2
    longer = GRACE_SECONDS + 10
    replace(second, superseded={file: at - longer for file, at in second.superseded.items()}).write(
        open_store(fleet.url)
    )
    for file in shards.iterdir():
        os.utime(file, (file.stat().st_atime - longer, file.stat().st_mtime - longer))
    (shards / ".left.db.part").write_text("of a worker that was killed just now")
    last = fleet.index()
    assert last.superseded == {}
    names = {file.name for file in shards.iterdir() if file.suffix != ".sketch"}
    assert names == {Path(second.shards[0].file).name, Path(name_record(second.shards[0].file)).name, ".left.db.part"}
    assert first.shards[0].file not in names


def test_a_shard_that_is_gone_is_built_again(fleet: Fleet) -> None:
    manifest = fleet.index()
    (Path(fleet.url) / manifest.shards[0].file).unlink()
    assert [shard.repositories for shard in fleet.index().shards] == [("a", "b", "c")]
    assert fleet.finds("first") == ["a", "b", "c"]


def test_a_killed_run_leaves_its_plan(fleet: Fleet) -> None:
    """Where the last shard of three was stored first, and has room: the next run builds the others as they were planned."""
    size = sum(file.stat().st_size for file in (fleet.clones / "a").glob("*.py"))
    for name in "de":
        clone(fleet.clones / name)
    whole = fleet.index(most=2 * size)
    assert [shard.repositories for shard in whole.shards] == [("a", "b"), ("c", "d"), ("e",)]
    store = open_store(fleet.url)
    pending = [replace(r, shard="" if r.name != "e" else r.shard) for r in whole.repositories]
    replace(whole, repositories=tuple(pending), shards=whole.shards[2:]).write(store)
    again = fleet.index(most=2 * size)
    assert again.shards == whole.shards
    assert [r.name for r in again.repositories] == list("abcde")
    assert (
        len([file for file in store.list_files("shards") if file.name.endswith(".db")]) == 3
    )  # found, not built again


def test_a_damaged_shard_is_no_base_for_an_update(fleet: Fleet) -> None:
    file = Path(fleet.url) / fleet.index().shards[0].file
    with file.open("r+b") as opened:
        opened.seek(5000)
        opened.write(b"damage")
    (fleet.clones / "a/a.py").write_text("def a_second(): pass\n")
    fleet.index()
    assert (fleet.finds("first"), fleet.finds("second")) == (["b", "c"], ["a"])


def test_repositories_are_fetched_where_that_is_allowed(fleet: Fleet) -> None:
    """A changed one is fetched again; the others of its shard are not."""
    urls = [FleetSource(f"team/{name}", url=f"file://{fleet.clones}/{name}") for name in "abc"]
    with pytest.raises(UsageError, match="nobody has allowed") as told:
        fleet.index(urls)
    assert "--allow-network" in told.value.hint
    before = fleet.index(urls, allow_network=True)
    assert fleet.finds("first") == ["team/a", "team/b", "team/c"] or fleet.finds("first") == ["a", "b", "c"]
    assert not list((Path(os.environ["XDG_CACHE_HOME"]) / "codelens/fleet").glob("*/*"))
    assert fleet.index(urls, allow_network=True) == before
    (fleet.clones / "b/a.py").write_text("def b_second(): pass\n")
    head = commit(fleet.clones / "b")
    (fleet.clones / "a").rename(fleet.clones / "away")
    after = fleet.index(urls, allow_network=True)
    assert (after.repositories[1].commit, list(after.failures)) == (head, ["team/a"])
    assert len(fleet.finds("first")) == 2  # a as it was, and c


def test_repositories_of_different_groups_never_share_a_shard(fleet: Fleet) -> None:
    sources = [replace(source, group="x" if source.name == "b" else "") for source in read_fleet(fleet.clones)]
    assert [shard.repositories for shard in fleet.index(sources).shards] == [("a", "c"), ("b",)]
    manifest = fleet.index([replace(source, group=source.name) for source in sources])
    assert sorted(shard.repositories for shard in manifest.shards) == [("a",), ("b",), ("c",)]


def test_a_second_coordinator_is_refused(fleet: Fleet) -> None:
    with open_store(fleet.url).lock_for_writing(), pytest.raises(IndexBusy):
        fleet.index()
    manifest = fleet.index()
    manifest.write(open_store(fleet.url))
    with pytest.raises(IndexBusy, match="another"):  # as in a bucket, which has no lock
        manifest.write(open_store(fleet.url))


@pytest.mark.skipif(sys.platform == "win32", reason="limits of processes")
def test_a_disk_that_is_full_is_listed_and_the_next_run_goes_on(fleet: Fleet) -> None:
    """A limit for each file stands for the disk."""
    fleet.index()
    clone(fleet.clones / "d", "second")
    usual = fleet.client.run(resource.getrlimit, resource.RLIMIT_FSIZE)
    fleet.client.run(resource.setrlimit, resource.RLIMIT_FSIZE, (60_000, resource.RLIM_INFINITY))
    try:
        manifest = fleet.index()
    finally:
        fleet.client.run(resource.setrlimit, resource.RLIMIT_FSIZE, next(iter(usual.values())))
    assert list(manifest.failures) == ["d"]
    assert os.strerror(errno.EFBIG) in manifest.failures["d"] or "cannot be written" in manifest.failures["d"]
    assert fleet.finds("first") == ["a", "b", "c"]
    assert fleet.index().failures == {}
    assert fleet.finds("second") == ["d"]


@pytest.mark.skipif(sys.platform == "win32", reason="limits of processes")
def test_a_shard_that_fails_on_one_worker_is_built_on_another(fleet: Fleet) -> None:
    """Each of the two is the bad one once."""
    usual = fleet.client.run(resource.getrlimit, resource.RLIMIT_FSIZE)
    for address in usual:
        limit = (60_000, resource.RLIM_INFINITY)
        fleet.client.run(resource.setrlimit, resource.RLIMIT_FSIZE, limit, workers=[address])
        try:
            assert fleet.index(most=1).failures == {}
        finally:
            fleet.client.run(resource.setrlimit, resource.RLIMIT_FSIZE, usual[address], workers=[address])
        shutil.rmtree(fleet.url)


@pytest.mark.skipif(sys.platform == "win32", reason="needs signals")
def test_a_repository_that_kills_its_workers_is_listed(tmp_path: Path) -> None:
    """Whoever builds the shard of this one is killed; the shard before it is stored."""
    dask = pytest.importorskip("dask")
    clone(tmp_path / "clones/a")
    clone(tmp_path / "clones/z")
    for number in range(3000):
        (tmp_path / f"clones/z/more{number}.py").write_text(f"def more_{number}(): pass\n" * 20)
    with dask.config.set({"distributed.scheduler.allowed-failures": 1}), open_client("", workers=1) as client:
        begun, over = threading.Event(), threading.Event()

        def kill() -> None:
            begun.wait()
            while not over.wait(0.2):  # a worker that is killed while it starts is not started again
                busy = {address for address, tasks in client.processing().items() if tasks}
                for worker in client.cluster.workers.values():
                    if worker.pid and worker.worker_address in busy:
                        with suppress(ProcessLookupError):
                            os.kill(worker.pid, signal.SIGKILL)

        killer = threading.Thread(target=kill)
        killer.start()

        def told(line: str) -> None:
            if line.startswith("shard 1"):
                begun.set()

        try:
            fleet = read_fleet(tmp_path / "clones")
            manifest = index_fleet(client, fleet, str(tmp_path / "store"), UNLIMITED, most=1, report=told)
        finally:
            begun.set()
            over.set()
            killer.join()
    assert [shard.repositories for shard in manifest.shards] == [("a",)]
    assert "each worker that tried it died" in manifest.failures["z"]


def test_the_status_lists_what_a_store_holds(fleet: Fleet) -> None:
    with pytest.raises(NoIndex):
        read_fleet_status(fleet.url, UNLIMITED)
    fleet.index([*read_fleet(fleet.clones), FleetSource("x", str(fleet.clones / "x"))], most=1)
    (fleet.clones / "a/a.py").write_text("x = 1\n")
    shutil.rmtree(fleet.clones / "b")
    status = read_fleet_status(fleet.url, UNLIMITED)
    assert {r.name: r.stale for r in status.repositories} == {"a": "changed", "b": "gone", "c": "", "x": "gone"}
    assert (status.searched, status.failed, status.stale, len(status.shards)) == (3, 1, 3, 3)
    assert status.bytes == sum(file.stat().st_size for file in (Path(fleet.url) / "shards").glob("*.db"))
    assert status.recipe_is_current
    assert not read_fleet_status(fleet.url, replace(UNLIMITED, fuzzy=False)).recipe_is_current


def test_a_new_repository_leaves_other_shards_as_they_are() -> None:
    members = {name: Member(10) for name in "abcd"}
    assert group_into_shards(members, 20, [["a"], ["c"]]) == [["a"], ["c", "b"], ["d"]]
    assert group_into_shards(members | {"b": Member(10, "x")}, 40, [["a", "b"]]) == [["a", "c", "d"], ["b"]]
    assert group_into_shards({"a": Member(99), "b": Member(1)}, 20, []) == [["a"], ["b"]]


@pytest.mark.skipif(sys.platform == "win32", reason="needs signals")
def test_killed_workers_and_coordinators_lose_nothing(tmp_path: Path) -> None:
    """A few kills; `make faults ONLY=fleet` tries more."""
    pytest.importorskip("distributed")
    report = Report("fleet")
    run(2, 3, tmp_path, report)
    assert report.tried >= 2
    assert report.failures == []


_INTERRUPTED = """
import sys
from pathlib import Path
from codelens.config import Settings
from codelens.fleet.build import index_fleet
from codelens.fleet.sources import read_fleet
from codelens.fleet.workers import open_client
if __name__ == "__main__":
    try:
        with open_client("", workers=1) as client:
            told = lambda line: print(line, flush=True)
            index_fleet(client, read_fleet(Path(sys.argv[1])), sys.argv[2], Settings(), most=1, report=told)
    except KeyboardInterrupt as ending:
        print(ending, file=sys.stderr)
        sys.exit(130)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="needs signals")
def test_ctrl_c_ends_a_run_with_one_line_and_the_next_goes_on(fleet: Fleet, tmp_path: Path) -> None:
    """The signal reaches the workers, too, as on a terminal."""
    for name in "defghi":
        clone(fleet.clones / name, files=20)
    program = tmp_path / "program.py"
    program.write_text(_INTERRUPTED)
    command = [sys.executable, str(program), str(fleet.clones), fleet.url]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "start_new_session": True}
    with subprocess.Popen(command, **pipes) as running:
        assert running.stdout and running.stderr
        assert [running.stdout.readline() for _ in range(2)][1].startswith("shard 1 of 9")
        os.killpg(running.pid, signal.SIGINT)
        message = running.stderr.read()
    assert running.returncode == 130
    assert re.fullmatch(r"\d of 9 shards stored; `codelens cluster index` goes on from there\n", message)
    stored = len(FleetManifest.read(open_store(fleet.url)).shards)
    assert stored >= 1
    assert len(fleet.index(most=1).shards) == 9
    assert f"{9 - stored} of 9 shards to build" in fleet.lines[0]


def test_writing_the_manifest_takes_a_twentieth_of_the_time_at_most() -> None:
    """It grows with each shard: replaced after each, it would take most of the time in the end."""
    now, due, replaced = 0.0, 0.0, 0
    for shard in range(1000):
        now += 10.0
        if now >= due:
            replaced += 1
            begun, now = now, now + 0.01 * shard
            due = find_next_writing(begun, now)
    assert now <= 1.06 * 1000 * 10.0
    assert 50 < replaced < 1000
