"""Open shards that answer requests, in this process or in Dask workers, which hold them as actors.

If the store is a bucket, shards are copied to the local disk, up to a limit; the least recently used copies are removed first.
Several processes may share the folder. Each holds a shared lock on its open shards, so that others do not remove them.
"""

from __future__ import annotations

import gc
import os
import sys
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from operator import attrgetter
from pathlib import Path
from tempfile import gettempdir
from typing import IO, Any
from weakref import WeakValueDictionary, finalize

import xxhash

from codelens.cluster.shards import Arguments, MethodCall, Shard, ShardFacts
from codelens.config import Settings, find_user_place
from codelens.errors import (
    CannotWrite,
    CodelensError,
    FleetIncomplete,
    IndexCorrupt,
    NoIndex,
    UsageError,
    build_write_error,
)
from codelens.files import PART, make_folder, open_lock_file, replace_file
from codelens.fleet.manifest import ShardEntry
from codelens.fleet.stores import FleetStore, compute_file_digest, open_store
from codelens.fleet.workers import OBJECTS
from codelens.model.runs import Status
from codelens.store.connection import remove_database
from codelens.store.store import Store

ROOM = ".room"  # Suffix of a placeholder as large as a shard that is being copied, so that others count its size
_locks: dict[Path, IO[bytes]] = {}  # Shards that this process has open → their locks
REPAIR = "`codelens cluster index FLEET --verify` builds what is damaged again"
FETCH_SECONDS = 1.0  # Shortest timeout for reading an answer, even if the time is over

Calls = Mapping[int, Arguments]  # Shard → the arguments of its call
Results = dict[int, tuple[Any, str]]  # Shard → (result, error message or an empty string)


class ShardLostError(FleetIncomplete):
    """Raised if shards did not answer in time or their worker died; see `OpenShards.lost`."""


class OpenShards:
    """The shards of a store, opened in this process and numbered in the order of the manifest. Must be closed."""

    def __init__(self, url: str, entries: Sequence[ShardEntry], most_bytes: int) -> None:
        """`most_bytes`: limit on the size of all copies of shards on one machine."""
        self.lost: dict[int, str] = {}  # Shard that does not answer → reason
        self._entries = dict(enumerate(entries))
        opened = self._open_shards(url, most_bytes)
        self.facts: dict[int, ShardFacts] = self._call_each(Shard.read_facts, dict.fromkeys(opened, ()))
        """Shard → its facts; shards that do not answer are left out."""

    def _open_shards(self, url: str, most_bytes: int) -> Collection[int]:
        """Open the shards; return the numbers of those to ask for their facts."""
        self._held = HeldShards(url, self._entries, most_bytes, shared=False)
        return self._entries

    def ask(self, messages: Mapping[int, Sequence[MethodCall]]) -> dict[int, list[Any]]:
        """Send each shard its requests; returns shard → its answers, in order. Raises ShardLostError."""
        return self._call_all(Shard.answer, {number: (list(message),) for number, message in messages.items()})

    def read_statuses(self, shards: Iterable[int], settings: Settings) -> dict[int, Status]:
        """Read the status of these shards: shard → status. Raises ShardLostError."""
        return self._call_all(_read_status, dict.fromkeys(shards, (settings,)))

    def _call_all(self, work: Callable[..., Any], calls: Calls) -> dict[int, Any]:
        """Call a function with each shard: shard → result. Raises ShardLostError if any shard does not answer."""
        answers = self._call_each(work, calls)
        if missing := sorted(calls.keys() - answers.keys()):
            raise ShardLostError("; ".join(f"shard {number + 1}: {self.lost[number]}" for number in missing))
        return answers

    def _call_each(self, work: Callable[..., Any], calls: Calls) -> dict[int, Any]:
        """Call a function with each shard: shard → result. Shards without an answer are added to `lost`."""
        results = {number: result for part in self._call_holders(work, calls) for number, result in part.items()}
        self.lost |= {number: fault for number, (_, fault) in results.items() if fault}
        return {number: answer for number, (answer, fault) in results.items() if not fault}

    def _call_holders(self, work: Any, calls: Calls) -> Iterable[Results]:
        """Call a function with each shard, through the `HeldShards` that hold them; returns their answers."""
        return [self._held.call(work, calls)]

    def close(self) -> None:
        """Release the files."""


class HeldShards:
    """Shards that are open in one process. A worker gets one message for all of its shards."""

    def __init__(self, url: str, entries: Mapping[int, ShardEntry], most_bytes: int, shared: bool = True) -> None:
        """`shared`: all clients use the same open file; only for a process that answers one call at a time, as a worker does."""
        gc.set_threshold(OBJECTS)
        self._shared = shared
        self._shards: dict[int, Shard] = {}
        self.faults: dict[int, str] = {}  # Shard that could not be opened → reason
        for number, entry in entries.items():
            try:
                self._shards[number] = Shard(_open_shard(url, entry, most_bytes, shared))
            except CodelensError as fault:
                self.faults[number] = _describe_fault(fault)

    def call(self, work: Callable[..., Any], calls: Calls) -> Results:
        """Call a function with each shard and the arguments for it: shard → (result, error message or an empty string)."""
        answers: Results = {}
        for number, given in calls.items():
            if number in self.faults:
                answers[number] = None, self.faults[number]
                continue
            shard = self._shards[number]
            try:
                with shard.store.reading():
                    answers[number] = work(shard, *given), ""
            except Exception as fault:  # in a worker, the other shards still answer
                if not self._shared and not isinstance(fault, IndexCorrupt):
                    raise
                if isinstance(fault, IndexCorrupt):
                    discard_copy(shard.store.path)
                answers[number] = None, _describe_fault(fault)
        return answers


def _describe_fault(fault: Exception) -> str:
    """Describe why a shard does not answer, and name the command that builds a damaged or missing one again."""
    if isinstance(fault, IndexCorrupt | NoIndex):
        return f"{fault} ({REPAIR})"
    return str(fault) if isinstance(fault, CodelensError) else f"its worker failed: {fault}"


_OPEN_STORES: WeakValueDictionary[str, Store] = WeakValueDictionary()  # (URL and file of a shard) → its shared store


def _open_shard(url: str, entry: ShardEntry, most_bytes: int, shared: bool) -> Store:
    """Open a shard, after copying it here if needed; with `shared`, all clients in this process share one store."""
    key = f"{url} {entry.file} {entry.places}"
    store = _OPEN_STORES.get(key) if shared else None
    if store is None:
        folder = find_user_place("shards") or Path(gettempdir(), "codelens-shards")
        file = copy_shard(open_store(url), entry, folder, most_bytes)
        try:
            store = _read_shard(file, entry)
        except IndexCorrupt:
            discard_copy(file)
            raise
        finalize(store, release_copy, file)
        if shared:
            _OPEN_STORES[key] = store
    return store


def _read_shard(file: Path, entry: ShardEntry) -> Store:
    """Open the file of a shard. Raises IndexCorrupt if it is damaged, or another one than was stored."""
    store = Store.read(file, accepted=True)
    is_whole = bool(entry.places) or file.stat().st_size == entry.bytes
    if not is_whole or entry.content not in ("", store.read_meta("snapshot")):
        store.close()
        raise IndexCorrupt(f"{file} has changed since it was stored")
    return store


def _read_status(shard: Shard, settings: Settings) -> Status:
    from codelens.index import Index

    return Index(shard.store, settings).status()


class ShardsOfWorkers(OpenShards):
    """Shards that workers hold. A call sends one message to each worker concerned, and then reads the answers."""

    def __init__(self, client: Any, seconds: float, url: str, entries: Sequence[ShardEntry], most_bytes: int) -> None:
        """`seconds`: timeout for an answer."""
        self._client, self._seconds = client, seconds
        super().__init__(url, entries, most_bytes)

    def _open_shards(self, url: str, most_bytes: int) -> Collection[int]:
        names = sorted(self._client.scheduler_info(n_workers=-1)["workers"])
        entries, count = list(self._entries.items()), len(names) or 1
        self._workers = [dict(entries[at::count]) for at in range(count)]  # The shards of each worker
        self._placed = {}  # an actor ends when nobody holds its future
        for at, of_worker in enumerate(self._workers):
            if of_worker:
                options = {"actor": True, "pure": False, "workers": names[at : at + 1] or None}
                self._placed[at] = self._client.submit(HeldShards, url, of_worker, most_bytes, **options)
        with self._client.as_current():  # there may be other clients in this process
            self._actors: dict[int, Any] = self._collect_results(self._placed)
        return [number for at in self._actors for number in self._workers[at]]

    def close(self) -> None:
        """End the actors, and disconnect."""
        self._actors.clear()
        self._placed.clear()
        self._client.close()

    def _call_holders(self, work: Any, calls: Calls) -> Iterable[Results]:
        wanted = {at: {n: calls[n] for n in self._workers[at] if n in calls} for at in self._actors}
        futures = {at: self._actors[at].call(work, of_worker) for at, of_worker in wanted.items() if of_worker}
        return self._collect_results(futures).values()

    def _collect_results(self, futures: Mapping[int, Any]) -> dict[int, Any]:
        """Collect the results in time: worker → result. Shards of the other workers are added to `lost`."""
        until, results = time.monotonic() + self._seconds, {}
        for at, future in futures.items():
            left = until - time.monotonic()
            try:
                if left <= 0 and not future.done():
                    raise TimeoutError
                results[at] = future.result(timeout=max(FETCH_SECONDS, left))
            except Exception as fault:  # Dask raises various errors if a worker died
                slow = isinstance(fault, TimeoutError)
                text = f"no answer in {self._seconds:g} s" if slow else f"its worker failed: {fault}"
                self.lost |= dict.fromkeys(self._workers[at], text)
        return results


def copy_shard(store: FleetStore, entry: ShardEntry, folder: Path, limit_bytes: int) -> Path:
    """Find the shard's file on this machine; copy it to `folder` if needed. It is kept until this process ends or releases it.

    If the store is a folder, no copy is made of a whole shard. If `entry` names some of its repositories, the copy holds
    no others. Raises IndexCorrupt if the shard's content has changed, and CannotWrite if the open shards leave
    no room for it.
    """
    if store.local is not None and not entry.places:
        return store.local / entry.file
    if sys.platform == "win32":
        raise UsageError("copies of shards need locks that Windows lacks", "serve from Linux or macOS")
    place = folder / Path(entry.file).name
    if entry.places:
        part = xxhash.xxh3_64_hexdigest(repr(entry.places).encode())
        place = place.with_stem(f"{place.stem}-{part}")
    try:
        make_folder(folder)
        while place not in _locks:
            lock = _lock_file(place.with_suffix(".lock"), shared=True)
            if place.is_file():
                _locks[place] = lock
            else:
                lock.close()
                _fetch(store, entry, place, limit_bytes)
    except OSError as fault:
        raise build_write_error(fault.filename or folder, fault) from None
    os.utime(place.with_suffix(".lock"))  # used just now
    return place


def release_copy(place: Path) -> None:
    """Release the lock on a shard that this process has closed, so that others may remove it."""
    if lock := _locks.pop(place, None):
        lock.close()


def discard_copy(place: Path) -> None:
    """Remove a damaged copy of a shard, so that it is copied again; does nothing for the file of a store."""
    if place in _locks:
        place.unlink(missing_ok=True)
        release_copy(place)


def _fetch(store: FleetStore, entry: ShardEntry, place: Path, limit: int) -> None:
    """Copy a shard, under a lock that keeps other processes from copying it too."""
    with _lock_file(place.with_suffix(".lock")):
        if place.is_file():
            return
        room, copy = place.with_suffix(ROOM), place.with_suffix(PART)
        try:
            with _lock_file(place.parent / "room.lock"):
                room.unlink(missing_ok=True)  # left by a killed process
                _make_room(place, entry.bytes, limit)
                with replace_file(room) as file:
                    file.truncate(entry.bytes)
            store.download(entry.file, copy)
            if compute_file_digest(copy) != entry.digest:
                raise IndexCorrupt(f"{store.url}/{entry.file} has changed since it was stored")
            if entry.places:
                _cut_copy(copy, entry.places)
            with _lock_file(place.parent / "room.lock"):
                copy.replace(place)
                room.unlink()
        finally:
            remove_database(copy)
            with _lock_file(place.parent / "room.lock"):
                room.unlink(missing_ok=True)


def _cut_copy(copy: Path, places: Collection[int]) -> None:
    """Delete the repositories at all other places from a copy of a shard."""
    with Store.write(copy, accepted=True) as store:
        rows = sorted(store.documents.list_repositories(), key=attrgetter("id"))
        store.keep_repositories([rows[place].id for place in places])
        store.shrink()


def _make_room(place: Path, wanted: int, limit: int) -> None:
    """Remove copies that are not open, least recently used first, until there is room. Raises CannotWrite."""
    sizes = {file: file.stat().st_size for file in place.parent.iterdir() if file.suffix in (".db", ROOM)}
    used = {lock.with_suffix(".db"): lock.stat().st_mtime for lock in place.parent.glob("*.lock")}
    taken = sum(sizes.values()) + wanted
    copies = [file for file in sizes if file.suffix == ".db"]
    for file in sorted(copies, key=lambda file: (used.get(file, 0.0), file.name)):
        if taken > limit:
            with suppress(BlockingIOError), _lock_file(file.with_suffix(".lock"), wait=False):
                file.unlink()
                taken -= sizes[file]
    if taken > limit:
        text = f"{place.parent} may hold {limit / 1e6:.0f} MB, and the shards that are open leave no room for another"
        raise CannotWrite(text, "allow more, or start more workers")


def _lock_file(place: Path, shared: bool = False, wait: bool = True) -> IO[bytes]:
    """Lock a file, which is empty and is not removed; closing the returned file releases the lock.

    Without `wait`, raises BlockingIOError if another process holds the lock.
    """
    import fcntl  # not on Windows, where workers need a store that is a folder

    file = os.fdopen(open_lock_file(place), "rb+")
    try:
        fcntl.flock(file, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | (0 if wait else fcntl.LOCK_NB))
    except BaseException:
        file.close()
        raise
    return file
