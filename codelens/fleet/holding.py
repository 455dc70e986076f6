"""Shards that are open and answer: in this process, or in Dask's workers, which hold them as actors.

Where the store is a bucket, shards are copied to the worker's disk: within a limit, the least recently used go first. Several
processes may share a folder. Each holds a shared lock on the shards that it has open, so that none of these is removed.
"""

from __future__ import annotations

import gc
import os
import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from tempfile import gettempdir
from typing import IO, Any
from weakref import WeakValueDictionary, finalize

from codelens.cluster.shards import Request, Shard, ShardFacts
from codelens.config import Settings, find_user_place
from codelens.errors import CannotWrite, CodelensError, FleetIncomplete, IndexCorrupt, build_write_error
from codelens.fleet.manifest import ShardEntry
from codelens.fleet.stores import PART, FleetStore, StoreFault, digest_of, open_store
from codelens.fleet.workers import OBJECTS
from codelens.model.runs import RepositoryStatus
from codelens.store.store import Store

ROOM = ".room"  # Suffix of an empty file as large as a shard that is being copied: others count it
_locks: dict[Path, IO[bytes]] = {}  # Shard → its lock, for as long as this process has it open
FETCH_SECONDS = 1.0  # For an answer that is ready when the time is over


class ShardLostError(FleetIncomplete):
    """Shards did not answer in time, or their worker died; `OpenShards.lost` says which."""


class OpenShards:
    """The shards of a store, numbered as the manifest lists them: here, this process opens them. Close it."""

    def __init__(self, url: str, entries: Sequence[ShardEntry], most_bytes: int) -> None:
        """`most_bytes`: what copies of shards may take on a machine."""
        self.lost: dict[int, str] = {}  # Shard → why it does not answer
        self._entries = dict(enumerate(entries))
        opened = self._open(url, most_bytes)
        self.facts: dict[int, ShardFacts] = self._ask_each("facts", dict.fromkeys(opened, ()))
        """Shard → its facts, for those that answer."""

    def _open(self, url: str, most_bytes: int) -> Collection[int]:
        """Open shards; return those to ask."""
        self._held = HeldShards(url, self._entries, most_bytes, shared=False)
        return self._entries

    def ask(self, messages: Mapping[int, Sequence[Request]]) -> dict[int, list[Any]]:
        """Shard → its answers, from all at once. Raises ShardLostError."""
        return self._ask_all("answers", {number: (list(message),) for number, message in messages.items()})

    def statuses(self, shards: Sequence[int], settings: Settings) -> dict[int, list[RepositoryStatus]]:
        """Shard → the contents of its repositories. Raises ShardLostError."""
        return self._ask_all("statuses", dict.fromkeys(shards, (settings,)))

    def _ask_all(self, method: str, calls: Mapping[int, tuple[Any, ...]]) -> dict[int, Any]:
        answers = self._ask_each(method, calls)
        if missing := sorted(calls.keys() - answers.keys()):
            raise ShardLostError("; ".join(f"shard {number + 1}: {self.lost[number]}" for number in missing))
        return answers

    def _ask_each(self, method: str, calls: Mapping[int, tuple[Any, ...]]) -> dict[int, Any]:
        """Shard → what a method gives there; a shard without an answer is noted in `lost`."""
        results = {number: result for part in self._call(method, calls) for number, result in part.items()}
        self.lost |= {number: fault for number, (_, fault) in results.items() if fault}
        return {number: answer for number, (answer, fault) in results.items() if not fault}

    def _call(self, method: str, calls: Mapping[int, tuple[Any, ...]]) -> Iterable[dict[int, tuple[Any, str]]]:
        """The answers of all `HeldShards` that hold these shards."""
        return [self._held.call(method, calls)]

    def close(self) -> None:
        """Release the files."""


class HeldShards:
    """Shards that are open in this process. A worker gets one message for all that it holds."""

    def __init__(self, url: str, entries: Mapping[int, ShardEntry], most_bytes: int, shared: bool = True) -> None:
        """`shared`: all who ask use one open file, because this process answers one at a time, as a worker does."""
        gc.set_threshold(OBJECTS)
        self._shared = shared
        self._shards: dict[int, Shard] = {}
        self.faults: dict[int, str] = {}  # Shard → why it could not be opened
        for number, entry in entries.items():
            try:
                self._shards[number] = Shard(_open_shard(url, entry, most_bytes, shared))
            except CodelensError as fault:
                self.faults[number] = str(fault)

    def call(self, method: str, calls: Mapping[int, tuple[Any, ...]]) -> dict[int, tuple[Any, str]]:
        """Shard → (what the method gives there, why it gives nothing)."""
        answers: dict[int, tuple[Any, str]] = {}
        for number, given in calls.items():
            if number in self.faults:
                answers[number] = None, self.faults[number]
                continue
            shard = self._shards[number]
            try:
                with shard.store.reading():
                    ask = partial(_read_statuses, shard.store) if method == "statuses" else getattr(shard, method)
                    answers[number] = ask(*given), ""
            except Exception as fault:  # in a worker, the others answer all the same
                if not self._shared and not isinstance(fault, IndexCorrupt):
                    raise
                text = str(fault) if isinstance(fault, CodelensError) else f"its worker failed: {fault}"
                answers[number] = None, text
        return answers


_OPEN_STORES: WeakValueDictionary[str, Store] = WeakValueDictionary()  # Shard → its store, if it is shared


def _open_shard(url: str, entry: ShardEntry, most_bytes: int, shared: bool) -> Store:
    key = f"{url} {entry.file}"
    store = _OPEN_STORES.get(key) if shared else None
    if store is None:
        folder = find_user_place("shards") or Path(gettempdir(), "codelens-shards")
        file = copy_shard(open_store(url), entry, folder, most_bytes)
        store = Store.read(file, accepted=True)
        finalize(store, release_copy, file)
        if shared:
            _OPEN_STORES[key] = store
    return store


def _read_statuses(store: Store, settings: Settings) -> list[RepositoryStatus]:
    """The contents of a shard's repositories."""
    from codelens.index import Index

    return list(Index(store, settings).status().repositories)


class ShardsOfWorkers(OpenShards):
    """Shards that workers hold: one message to each worker that a call concerns, all sent before the first answer is read."""

    def __init__(self, client: Any, url: str, entries: Sequence[ShardEntry], seconds: float, most_bytes: int) -> None:
        """`seconds`: how long an answer may take."""
        self._client, self._seconds = client, seconds
        super().__init__(url, entries, most_bytes)

    def _open(self, url: str, most_bytes: int) -> Collection[int]:
        names = sorted(self._client.scheduler_info(n_workers=-1)["workers"])
        entries, count = list(self._entries.items()), len(names) or 1
        self._workers = [dict(entries[at::count]) for at in range(count)]  # The shards of each worker
        options = {"actor": True, "pure": False}
        self._placed = {  # actors end with the last who holds their future
            at: self._client.submit(
                HeldShards, url, of_worker, most_bytes, workers=names[at : at + 1] or None, **options
            )
            for at, of_worker in enumerate(self._workers)
            if of_worker
        }
        with self._client.as_current():  # there may be other clients in this process
            self._actors: dict[int, Any] = self._collect_results(self._placed)
        return [number for at in self._actors for number in self._workers[at]]

    def close(self) -> None:
        """Let the actors end."""
        self._actors.clear()
        self._placed.clear()
        self._client.close()

    def _call(self, method: str, calls: Mapping[int, tuple[Any, ...]]) -> Iterable[dict[int, tuple[Any, str]]]:
        wanted = {at: {n: calls[n] for n in self._workers[at] if n in calls} for at in self._actors}
        futures = {at: self._actors[at].call(method, of_worker) for at, of_worker in wanted.items() if of_worker}
        return self._collect_results(futures).values()

    def _collect_results(self, futures: Mapping[int, Any]) -> dict[int, Any]:
        """Worker → its result; the shards of workers without one in time are lost."""
        until, results = time.monotonic() + self._seconds, {}
        for at, future in futures.items():
            left = until - time.monotonic()
            try:
                if left <= 0 and not future.done():
                    raise TimeoutError
                results[at] = future.result(timeout=max(FETCH_SECONDS, left))
            except Exception as fault:  # whatever Dask makes of a worker that died
                slow = isinstance(fault, TimeoutError)
                text = f"no answer in {self._seconds:g} s" if slow else f"its worker failed: {fault}"
                self.lost |= dict.fromkeys(self._workers[at], text)
        return results


def copy_shard(store: FleetStore, entry: ShardEntry, folder: Path, limit_bytes: int) -> Path:
    """The shard's file on this machine, copied to `folder` if it is not there. It stays until this process ends or releases it.

    A store that is a folder needs no copy. Raises StoreFault if the shard is not as it was stored, and CannotWrite if there is
    no room for it next to those that are open.
    """
    if store.local is not None:
        return store.local / entry.file
    place = folder / Path(entry.file).name
    try:
        folder.mkdir(parents=True, exist_ok=True)
        while place not in _locks:
            lock = _wait_for_lock(place.with_suffix(".lock"), shared=True)
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
    """Let go of a shard that this process has closed. It may be removed from now on."""
    if lock := _locks.pop(place, None):
        lock.close()


def _fetch(store: FleetStore, entry: ShardEntry, place: Path, limit: int) -> None:
    """Copy a shard, alone among the processes that want it."""
    with _wait_for_lock(place.with_suffix(".lock")):
        if place.is_file():
            return
        room, copy = place.with_suffix(ROOM), place.with_suffix(PART)
        try:
            with _wait_for_lock(place.parent / "room.lock"):
                room.unlink(missing_ok=True)  # of one that was killed
                _make_room(place, entry.bytes, limit)
                with room.open("wb") as file:
                    file.truncate(entry.bytes)
            store.download(entry.file, copy)
            if copy.stat().st_size != entry.bytes or digest_of(copy) != entry.digest:
                raise StoreFault(
                    f"{store.url}/{entry.file} has changed since it was stored", "remove it, and index again"
                )
            with _wait_for_lock(place.parent / "room.lock"):
                copy.replace(place)
                room.unlink()
        finally:
            copy.unlink(missing_ok=True)
            with _wait_for_lock(place.parent / "room.lock"):
                room.unlink(missing_ok=True)


def _make_room(place: Path, wanted: int, limit: int) -> None:
    """Remove copies that no process has open, the least recently used first."""
    sizes = {file: file.stat().st_size for file in place.parent.iterdir() if file.suffix in (".db", ROOM)}
    used = {lock.with_suffix(".db"): lock.stat().st_mtime for lock in place.parent.glob("*.lock")}
    taken = sum(sizes.values()) + wanted
    copies = [file for file in sizes if file.suffix == ".db"]
    for file in sorted(copies, key=lambda file: (used.get(file, 0.0), file.name)):
        if taken > limit and (lock := _lock(file.with_suffix(".lock"), shared=False, wait=False)):
            with lock:
                file.unlink()
                taken -= sizes[file]
    if taken > limit:
        text = f"{place.parent} may hold {limit / 1e6:.0f} MB, and the shards that are open leave no room for another"
        raise CannotWrite(text, "allow more, or start more workers")


def _wait_for_lock(place: Path, shared: bool = False) -> IO[bytes]:
    """An open file with the system's lock on it, which ends with it. Waits for it. Lock files stay: they are empty."""
    lock = _lock(place, shared, wait=True)
    assert lock is not None
    return lock


def _lock(place: Path, shared: bool, wait: bool) -> IO[bytes] | None:
    """See `_wait_for_lock`; without waiting, None if another process has it."""
    import fcntl  # not on Windows, where workers need a store that is a folder

    file = place.open("ab")
    try:
        fcntl.flock(file, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | (0 if wait else fcntl.LOCK_NB))
    except BlockingIOError:
        file.close()
        return None
    except BaseException:
        file.close()
        raise
    return file
