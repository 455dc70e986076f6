"""Stores of a fleet: a folder, or a bucket through fsspec. A file appears under its name only when it is complete."""

from __future__ import annotations

import errno
import hashlib
import os
import shutil
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import xxhash

from codelens.errors import CannotWrite, CodelensError, MissingExtra, NoIndex, UsageError, build_write_error
from codelens.files import flush_file, make_folder, open_regular, read_file, replace_file, resolve_below
from codelens.store.connection import hold_writer_lock

OBJECT_STORES = {"s3": "s3fs", "gs": "gcsfs"}  # Protocol → the package that fsspec needs for it


class StoredFile(NamedTuple):
    """A file of a store."""

    name: str
    bytes: int
    modified: float  # Seconds since 1970
    stamp: str  # Changes whenever the file is replaced


class StoreFault(CodelensError):
    """Raised if a store does not answer, or refuses a request."""

    hint = "check the address, and the credentials on this machine and on the workers"


def open_store(url: str) -> FleetStore:
    """Open the store at a path, or at a file://, s3:// or gs:// address. Raises UsageError."""
    protocol, separator, rest = url.partition("://")
    if not separator or protocol == "file":
        return FolderStore(Path(rest or url))
    if protocol not in OBJECT_STORES:
        raise UsageError(f"no store at '{url}'", "a folder, s3://bucket/folder or gs://bucket/folder")
    return ObjectStore(url, protocol)


class FolderStore:
    """A folder of this machine, or one that all machines share. Shards are read in place.

    Names of files may contain slashes. Methods raise CannotWrite if writing fails, else StoreFault.
    """

    def __init__(self, folder: Path) -> None:
        self.local = self._folder = folder.absolute()
        self.url = str(self._folder)

    def read(self, name: str) -> bytes | None:
        """Read a file's content; None if it is missing."""
        try:
            return read_file(self._folder / name)
        except FileNotFoundError:
            return None
        except OSError as fault:
            raise StoreFault(f"{self._folder / name} cannot be read: {fault.strerror}") from None

    def write(self, name: str, content: bytes) -> None:
        """Create or replace a small file."""
        place = self._locate(name)
        try:
            make_folder(place.parent)
            with replace_file(place) as file:
                file.write(content)
        except OSError as fault:
            raise build_write_error(place, fault) from None

    def upload(self, file: Path, name: str) -> None:
        """Store a local file, which may be moved instead of copied."""
        place = self._locate(name)
        try:
            make_folder(place.parent)
            flush_file(file)
            try:
                file.replace(place)
            except OSError as fault:
                if fault.errno != errno.EXDEV:
                    raise
                with file.open("rb") as source, replace_file(place) as copy:
                    shutil.copyfileobj(source, copy)
        except OSError as fault:
            raise build_write_error(place, fault) from None

    def download(self, name: str, to: Path) -> None:
        """Copy a file to a local path."""
        place = self._locate(name)
        try:
            with open_regular(place) as source, replace_file(to) as copy:
                shutil.copyfileobj(source, copy)
        except FileNotFoundError:
            raise NoIndex(f"no index at {place}") from None
        except OSError as fault:
            raise build_write_error(to, fault) from None

    def compute_digest(self, name: str) -> str:
        """Compute the digest of a file; empty if it cannot be read."""
        try:
            return compute_file_digest(self._folder / name)
        except OSError:
            return ""

    def find(self, name: str) -> StoredFile | None:
        """Look at a file; None if it is missing."""
        try:
            return self._describe(name, self._locate(name).stat())
        except FileNotFoundError:
            return None

    def remove(self, name: str) -> None:
        """Remove a file, if it is there."""
        self._locate(name).unlink(missing_ok=True)

    def list_files(self, folder: str) -> list[StoredFile]:
        """List the files of a folder, by name."""
        try:
            names = os.listdir(self._locate(folder))  # noqa: PTH208 - names alone are needed
        except FileNotFoundError:
            return []
        except OSError as fault:
            raise StoreFault(f"{self._folder / folder} cannot be read: {fault.strerror}") from None
        files = (self.find(f"{folder}/{name}") for name in sorted(names))  # None if a worker has just moved it
        return [file for file in files if file]

    @staticmethod
    def _describe(name: str, stat: os.stat_result) -> StoredFile:
        return StoredFile(name, stat.st_size, stat.st_mtime, f"{stat.st_ino} {stat.st_size} {stat.st_mtime_ns}")

    def lock_for_writing(self) -> AbstractContextManager[None]:
        """Keep a second coordinator from writing, with a lock that ends with the process. Raises IndexBusy."""
        manifest = self._locate("manifest.json")
        try:
            make_folder(manifest.parent)
        except OSError as fault:
            raise build_write_error(self._folder, fault) from None
        return hold_writer_lock(manifest)

    def _locate(self, name: str) -> Path:
        """Locate a file. Raises UnsafePath if links lead out of the repository that the folder is in."""
        return resolve_below(self._folder / name)


class ObjectStore:
    """A bucket, with the methods of a `FolderStore`. An object appears only when its upload is finished."""

    local = None  # Shards must be copied before they are opened

    def __init__(self, url: str, protocol: str) -> None:
        package = OBJECT_STORES[protocol]
        try:
            from fsspec.core import url_to_fs
        except ImportError:
            raise MissingExtra("a fleet's store", ["fsspec"], "cluster") from None
        self.url = url.rstrip("/")
        try:
            self._system, self._top = url_to_fs(self.url, use_listings_cache=False)
        except ImportError:
            raise UsageError(f"{protocol}:// needs the package {package}", f"pip install {package}") from None
        except ValueError as fault:
            raise UsageError(f"no store at '{url}': {fault}") from None

    def read(self, name: str) -> bytes | None:
        content: bytes | None = self._call("read", name, self._system.cat_file)
        return content

    def write(self, name: str, content: bytes) -> None:
        self._call("written", name, lambda path: self._system.pipe_file(path, content))

    def upload(self, file: Path, name: str) -> None:
        self._call("written", name, partial(self._system.put_file, str(file)))

    def download(self, name: str, to: Path) -> None:
        try:
            self._system.get_file(f"{self._top}/{name}", str(to))
        except FileNotFoundError:
            raise NoIndex(f"no index at {self.url}/{name}") from None
        except Exception as fault:
            if isinstance(fault, OSError) and fault.errno in (errno.ENOSPC, errno.EDQUOT):
                raise build_write_error(to, fault) from None
            raise self._make_fault("read", name, fault) from None

    def compute_digest(self, name: str) -> str:
        return self._call("read", name, lambda path: _digest_opened(self._system.open(path, "rb"))) or ""

    def find(self, name: str) -> StoredFile | None:
        row = self._call("read", name, self._system.info)
        return _describe_row("", row) if row else None

    def remove(self, name: str) -> None:
        self._call("removed", name, self._system.rm_file)

    def list_files(self, folder: str) -> list[StoredFile]:
        rows = self._call("read", folder, partial(self._system.ls, detail=True)) or ()
        return sorted(_describe_row(folder, row) for row in rows if row.get("type") == "file")

    def lock_for_writing(self) -> AbstractContextManager[None]:
        return nullcontext()  # a bucket has no locks; `FleetManifest.write` notices most conflicts

    def _call(self, verb: str, name: str, method: Callable[[str], Any]) -> Any:
        """Call a method of fsspec and translate its errors; returns None if a file to read or remove is missing."""
        try:
            return method(f"{self._top}/{name}")
        except Exception as fault:  # each system has errors of its own
            if isinstance(fault, FileNotFoundError) and verb != "written":
                return None
            raise self._make_fault(verb, name, fault) from None

    def _make_fault(self, verb: str, name: str, fault: Exception) -> CodelensError:
        text = f"{self.url}/{name} cannot be {verb}: {str(fault) or type(fault).__name__}".replace("\n", " ")
        return CannotWrite(text, StoreFault.hint) if verb == "written" else StoreFault(text)


def _describe_row(folder: str, row: dict[str, Any]) -> StoredFile:
    """Describe a row of fsspec's listing. The key of the time depends on the file system."""
    time_of = next((row[key] for key in ("LastModified", "updated", "mtime", "created") if row.get(key)), None)
    if isinstance(time_of, str):
        import datetime

        time_of = datetime.datetime.fromisoformat(time_of)
    modified = float(time_of if isinstance(time_of, float | int) else time_of.timestamp() if time_of else time.time())
    name = f"{folder}/{row['name'].rpartition('/')[2]}"
    return StoredFile(name, int(row["size"] or 0), modified, f"{row.get('ETag') or row.get('etag')} {modified}")


FleetStore = FolderStore | ObjectStore


def compute_file_digest(file: Path) -> str:
    """Compute the xxh3-128 digest of a regular file, in hex digits. Raises OSError."""
    return _digest_opened(open_regular(file))


def _digest_opened(file: Any) -> str:
    with file as opened:
        return hashlib.file_digest(opened, xxhash.xxh3_128).hexdigest()
