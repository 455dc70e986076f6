"""Copies of shards on a worker's disk, where the store is a bucket: within a limit, the least recently used go first.

Several processes may share a folder. Each holds a shared lock on the shards that it has open, so that none of these is removed.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import IO

from codelens.errors import CannotWrite, unwritable
from codelens.fleet.manifest import ShardEntry
from codelens.fleet.stores import PART, FleetStore, StoreFault, digest_of

ROOM = ".room"  # Suffix of an empty file as large as a shard that is being copied: others count it
_locks: dict[Path, IO[bytes]] = {}  # Shard → its lock, for as long as this process has it open


def copy_shard(store: FleetStore, entry: ShardEntry, folder: Path, limit_bytes: int) -> Path:
    """The shard's file on this machine, copied to `folder` if it is not there. It stays until this process ends or releases it.

    A store that is a folder needs no copy. Raises StoreFault if the shard is not as it was stored, and CannotWrite if there is
    no room for it next to those that are open.
    """
    if store.local is not None:
        return store.local / entry.file
    place = folder / Path(entry.file).name
    if place in _locks:
        _mark_used(place)
        return place
    try:
        folder.mkdir(parents=True, exist_ok=True)
        while not _lock_copy(place):
            _fetch(store, entry, place, limit_bytes)
    except OSError as fault:
        raise unwritable(fault.filename or folder, fault) from None
    _mark_used(place)
    return place


def release_copy(place: Path) -> None:
    """Let go of a shard that this process has closed. It may be removed from now on."""
    if lock := _locks.pop(place, None):
        lock.close()


def _lock_copy(place: Path) -> bool:
    """Keep others from removing a copy; False if it is missing."""
    lock = _wait_for_lock(place.with_suffix(".lock"), shared=True)
    if place.is_file():
        _locks[place] = lock
        return True
    lock.close()
    return False


def _mark_used(place: Path) -> None:
    os.utime(place.with_suffix(".lock"))


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
    files = [file for file in place.parent.iterdir() if file.suffix in (".db", ROOM)]
    used = sum(file.stat().st_size for file in files) + wanted
    copies = [file for file in files if file.suffix == ".db"]
    for file in sorted(copies, key=lambda file: (_used_at(file), file.name)):
        if used <= limit:
            return
        size = file.stat().st_size
        lock = _lock(file.with_suffix(".lock"), shared=False, wait=False)
        if lock is None:
            continue
        with lock:
            file.unlink()
            used -= size
    if used > limit:
        text = f"{place.parent} may hold {limit / 1e6:.0f} MB, and the shards that are open leave no room for another"
        raise CannotWrite(text, "allow more, or start more workers")


def _used_at(file: Path) -> float:
    try:
        return file.with_suffix(".lock").stat().st_mtime
    except FileNotFoundError:
        return 0.0


def _wait_for_lock(place: Path, shared: bool = False) -> IO[bytes]:
    """An open file with the system's lock on it, which ends with it. Waits for it. Lock files stay: they are empty."""
    found = _lock(place, shared, wait=True)
    assert found is not None
    return found


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
