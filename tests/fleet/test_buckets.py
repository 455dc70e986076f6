"""A store in a bucket, behind a real server: moto's, in a process of its own. Copies of its shards on a worker's disk."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.request import urlopen

import pytest

from codelens.config import Settings
from codelens.errors import CannotWrite, IndexBusy, IndexCorrupt, NoIndex, UsageError
from codelens.fleet.build import index_fleet, read_fleet_status
from codelens.fleet.holding import copy_shard, release_copy
from codelens.fleet.manifest import FleetManifest, ShardEntry
from codelens.fleet.sources import FleetSource, read_fleet
from codelens.fleet.stores import FleetStore, compute_file_digest, open_store
from codelens.fleet.workers import open_client
from codelens.index import Index
from codelens.model.request import SearchOptions
from tests.fleet.clones import clone

pytestmark = pytest.mark.slow

TRUSTING = Settings(trust_indexes=True)
WAIT_SECONDS = 60


@pytest.fixture(scope="module")
def bucket(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URL of an empty bucket."""
    pytest.importorskip("moto")
    s3fs = pytest.importorskip("s3fs")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [str(Path(sys.executable).with_name("moto_server")), "-H", "127.0.0.1", "-p", str(port)]
    log = (tmp_path_factory.mktemp("moto") / "log").open("wb")
    server = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT)
    patch = pytest.MonkeyPatch()
    patch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{port}")
    patch.setenv("AWS_ACCESS_KEY_ID", "test")
    patch.setenv("AWS_SECRET_ACCESS_KEY", "test")
    patch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    try:
        _wait_for(f"http://127.0.0.1:{port}/", server)
        s3fs.S3FileSystem(skip_instance_cache=True).mkdir("fleets")
        yield "s3://fleets"
    finally:
        patch.undo()
        server.terminate()
        server.wait(WAIT_SECONDS)
        log.close()


def _wait_for(url: str, server: subprocess.Popen[bytes]) -> None:
    until = time.monotonic() + WAIT_SECONDS
    while time.monotonic() < until and server.poll() is None:
        try:
            urlopen(url, timeout=5).close()
        except HTTPError:
            return
        except (URLError, OSError):
            time.sleep(0.2)
        else:
            return
    raise AssertionError("the server of the bucket did not start")


def test_a_fleet_is_indexed_into_a_bucket_and_read_from_it(bucket: str, tmp_path: Path) -> None:
    """Built on workers, updated, listed and copied, all through the server."""
    pytest.importorskip("distributed")
    url = f"{bucket}/whole"
    for name in "abc":
        clone(tmp_path / "clones" / name)
    with open_client("", workers=2) as client:
        with pytest.raises(NoIndex):
            FleetManifest.read(open_store(url))
        first = index_fleet(client, read_fleet(tmp_path / "clones"), url, Settings(), most=1)
        assert (len(first.shards), first.failures) == (3, {})
        assert index_fleet(client, read_fleet(tmp_path / "clones"), url, Settings(), most=1) == first
        (tmp_path / "clones/a/a.py").write_text("def a_second(): pass\n")
        clone(tmp_path / "clones/d", "second")
        again = index_fleet(client, read_fleet(tmp_path / "clones"), url, Settings())
    assert [shard.repositories for shard in again.shards] == [("a",), ("b",), ("c", "d")]
    store = open_store(url)
    assert FleetManifest.read(store) == again
    assert {shard.file for shard in first.shards} < {file.name for file in store.list_files("shards")}
    assert read_fleet_status(url, Settings()).stale == 0
    words = []
    for shard in again.shards:
        copy = copy_shard(store, shard, tmp_path / "cache", 10**9)
        assert (copy.stat().st_size, compute_file_digest(copy)) == (shard.bytes, shard.digest)
        with Index.open(copy, TRUSTING) as index:
            words += [hit.unit.name for hit in index.search("kind:function second", SearchOptions()).hits]
        release_copy(copy)
    assert {"a_second", "d_second"} <= set(words)
    again.write(store)
    with pytest.raises(IndexBusy):
        again.write(store)


def test_damage_in_a_bucket_is_found_where_all_of_it_is_read(bucket: str, tmp_path: Path) -> None:
    pytest.importorskip("distributed")
    url = f"{bucket}/damaged"
    for name in "ab":
        clone(tmp_path / "clones" / name)
    fleet, settings = read_fleet(tmp_path / "clones"), Settings()
    with open_client("", workers=1) as client:
        first = index_fleet(client, fleet, url, settings, most=1)
        store = open_store(url)
        content = store.read(first.shards[0].file) or b""
        store.write(first.shards[0].file, content[:5000] + b"damage" + content[5006:])
        assert index_fleet(client, fleet, url, settings, most=1) == first
        for verify in (False, True):
            shards = read_fleet_status(url, settings, verify=verify).shards
            assert [shard.missing for shard in shards] == [verify, False]
        with pytest.raises(IndexCorrupt):
            copy_shard(store, first.shards[0], tmp_path / "cache", 10**9)
        again = index_fleet(client, fleet, url, settings, most=1, verify=True)
    assert again.shards[1] == first.shards[1]
    assert again.shards[0].file != first.shards[0].file
    assert not any(shard.missing for shard in read_fleet_status(url, settings, verify=True).shards)


def test_an_upload_to_a_bucket_that_does_not_exist_is_listed(bucket: str, tmp_path: Path) -> None:
    pytest.importorskip("distributed")
    clone(tmp_path / "clones/a")
    store = open_store(bucket.replace("fleets", "none-of-that-name"))
    assert store.read("manifest.json") is None
    with open_client("", workers=1) as client, pytest.raises(CannotWrite):
        index_fleet(client, [FleetSource("a", str(tmp_path / "clones/a"))], store.url, Settings())


@pytest.fixture
def stored(bucket: str, tmp_path: Path) -> tuple[FleetStore, list[ShardEntry]]:
    """Four files of 1000 bytes in a bucket."""
    store = open_store(f"{bucket}/{tmp_path.name}")
    entries = []
    for number in range(4):
        file = tmp_path / "made"
        file.write_bytes(bytes([number]) * 1000)
        entry = ShardEntry(f"shards/{number}.db", (), 1000, compute_file_digest(file))
        store.upload(file, entry.file)
        entries.append(entry)
    return store, entries


def _held(folder: Path) -> list[str]:
    return sorted(file.stem for file in folder.glob("*.db"))


def test_the_least_recently_used_copy_goes_first(stored: Any, tmp_path: Path) -> None:
    store, entries = stored
    folder = tmp_path / "cache"
    for entry in (*entries[:2], entries[0], entries[2]):  # 0 is used again before 2 needs its room
        release_copy(copy_shard(store, entry, folder, 2500))
        time.sleep(0.02)
    assert _held(folder) == ["0", "2"]


def test_a_copy_that_is_open_stays(stored: Any, tmp_path: Path) -> None:
    """In this process, and in another."""
    store, entries = stored
    folder = tmp_path / "cache"
    here = copy_shard(store, entries[0], folder, 2500)
    release_copy(copy_shard(store, entries[1], folder, 2500))
    program = "import fcntl, sys\nlock = open(sys.argv[1])\nfcntl.flock(lock, fcntl.LOCK_SH)\nprint('held', flush=True)\ninput()"
    command = [sys.executable, "-c", program, str(folder / "1.lock")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdin and other.stdout
        other.stdout.readline()
        with pytest.raises(CannotWrite, match="leave no room"):
            copy_shard(store, entries[2], folder, 2500)
        assert _held(folder) == ["0", "1"]
        other.stdin.close()
    copy_shard(store, entries[2], folder, 2500)
    assert _held(folder) == ["0", "2"]
    assert here.read_bytes() == bytes(1000)


@pytest.mark.parametrize("damage", [b"", b"x" * 1000, b"x" * 999, b"x" * 2000])
def test_a_shard_that_is_not_as_it_was_stored_is_refused(stored: Any, damage: bytes, tmp_path: Path) -> None:
    store, entries = stored
    store.write(entries[0].file, damage)
    with pytest.raises(IndexCorrupt, match="has changed since it was stored"):
        copy_shard(store, entries[0], tmp_path / "cache", 10**6)
    store.remove(entries[1].file)
    with pytest.raises(NoIndex, match="no index at "):
        copy_shard(store, entries[1], tmp_path / "cache", 10**6)
    assert [file.name for file in (tmp_path / "cache").iterdir() if file.suffix != ".lock"] == []


def test_many_processes_share_one_cache(stored: Any, tmp_path: Path) -> None:
    """Each takes and releases all shards in an order of its own; the limit holds, and no copy is seen half."""
    store, entries = stored
    program = f"""
import random, sys
from pathlib import Path
from codelens.fleet.holding import _lock_file, copy_shard, release_copy
from codelens.fleet.manifest import ShardEntry
from codelens.fleet.stores import compute_file_digest, open_store
store = open_store({store.url!r})
entries = [ShardEntry(f"shards/{{n}}.db", (), 1000, digest) for n, digest in enumerate({[e.digest for e in entries]!r})]
luck = random.Random(int(sys.argv[1]))
for _ in range(30):
    entry = luck.choice(entries)
    copy = copy_shard(store, entry, Path({str(tmp_path / "cache")!r}), 3500)
    assert compute_file_digest(copy) == entry.digest
    with _lock_file(copy.parent / "room.lock"):  # copies come and go while a folder is listed
        copies = {{file.stem for file in copy.parent.iterdir() if file.suffix in (".db", ".room")}}
    assert len(copies) <= 3, copies
    release_copy(copy)
"""
    others = [subprocess.Popen([sys.executable, "-c", program, str(n)], stderr=subprocess.PIPE) for n in range(3)]
    for other in others:
        _, err = other.communicate(timeout=WAIT_SECONDS * 3)
        assert other.returncode == 0, err.decode()


def test_a_folder_needs_no_copy(tmp_path: Path) -> None:
    entry = ShardEntry("shards/0.db", (), 0, "")
    assert copy_shard(open_store(f"file://{tmp_path}"), entry, tmp_path / "cache", 0) == tmp_path / entry.file
    assert not (tmp_path / "cache").exists()


def test_an_address_that_is_no_store_is_refused(tmp_path: Path) -> None:
    for url in ("ftp://host/a", "https://host/a"):
        with pytest.raises(UsageError, match="no store at"):
            open_store(url)
    (tmp_path / "file").write_text("")
    with pytest.raises(CannotWrite), open_store(str(tmp_path / "file/store")).lock_for_writing():
        pass
