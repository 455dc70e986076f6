"""Stores of a fleet: a folder, or a bucket through fsspec. A file appears under its name complete or not at all."""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import xxhash

from codelens.errors import CannotWrite, CodelensError, MissingExtra, UsageError, unwritable
from codelens.store.connection import writer_lock

OBJECT_STORES = {"s3": "s3fs", "gs": "gcsfs"}  # Protocol → the package that fsspec needs for it
PART = ".part"  # Suffix of a file that is being written


class StoredFile(NamedTuple):
    """A file of a store; `modified` in seconds since 1970."""

    name: str
    bytes: int
    modified: float


class StoreFault(CodelensError):
    """A store does not answer, or refuses."""

    hint = "check the address, and the credentials on this machine and on the workers"


class FleetStore(Protocol):
    """Files by names with slashes. Errors are CannotWrite where writing fails, else StoreFault."""

    url: str
    local: Path | None  # The folder, if it is one: shards are then read where they are

    def read(self, name: str) -> bytes | None:
        """A file's content; None if it is missing."""
        ...

    def write(self, name: str, content: bytes) -> None:
        """Create or replace a small file."""
        ...

    def upload(self, file: Path, name: str) -> None:
        """Store a file and give it up here: it may be moved."""
        ...

    def download(self, name: str, to: Path) -> None:
        """Copy a file here."""
        ...

    def remove(self, name: str) -> None:
        """Remove a file, if it is there."""
        ...

    def size(self, name: str) -> int | None:
        """A file's bytes; None if it is missing."""
        ...

    def stamp(self, name: str) -> str | None:
        """Another value whenever a file was replaced; None if it is missing."""
        ...

    def files(self, folder: str) -> list[StoredFile]:
        """The files of a folder, by name."""
        ...

    def writing_alone(self) -> AbstractContextManager[None]:
        """Keep a second coordinator out, as far as the store can. Raises IndexBusy."""
        ...


def open_store(url: str) -> FleetStore:
    """The store at a path, or at a file://, s3:// or gs:// address. Raises UsageError."""
    protocol, separator, rest = url.partition("://")
    if not separator:
        return FolderStore(Path(url))
    if protocol == "file":
        return FolderStore(Path(rest))
    if protocol not in OBJECT_STORES:
        raise UsageError(f"no store at '{url}'", "a folder, s3://bucket/folder or gs://bucket/folder")
    return ObjectStore(url, protocol)


class FolderStore:
    """A folder of this machine, or one that all machines share."""

    def __init__(self, folder: Path) -> None:
        self.local: Path | None = folder.absolute()
        self._folder = folder.absolute()
        self.url = str(self._folder)

    def read(self, name: str) -> bytes | None:
        try:
            return (self._folder / name).read_bytes()
        except FileNotFoundError:
            return None
        except OSError as fault:
            raise StoreFault(f"{self._folder / name} cannot be read: {fault.strerror}") from None

    def write(self, name: str, content: bytes) -> None:
        with self._replaced(name) as part, part.open("wb") as file:
            file.write(content)

    def upload(self, file: Path, name: str) -> None:
        with self._replaced(name) as part:
            try:
                file.rename(part)
            except OSError as fault:
                if fault.errno != errno.EXDEV:
                    raise
                shutil.copyfile(file, part)

    def download(self, name: str, to: Path) -> None:
        try:
            shutil.copyfile(self._folder / name, to)
        except FileNotFoundError:
            raise StoreFault(f"{self._folder / name} is missing") from None
        except OSError as fault:
            raise unwritable(to, fault) from None

    def size(self, name: str) -> int | None:
        try:
            return (self._folder / name).stat().st_size
        except FileNotFoundError:
            return None

    def stamp(self, name: str) -> str | None:
        try:
            found = (self._folder / name).stat()
        except FileNotFoundError:
            return None
        return f"{found.st_ino} {found.st_size} {found.st_mtime_ns}"

    def remove(self, name: str) -> None:
        (self._folder / name).unlink(missing_ok=True)

    def files(self, folder: str) -> list[StoredFile]:
        found = []
        try:
            with os.scandir(self._folder / folder) as listing:
                for entry in listing:
                    stat = entry.stat()
                    found.append(StoredFile(f"{folder}/{entry.name}", stat.st_size, stat.st_mtime))
        except FileNotFoundError:
            return []
        except OSError as fault:
            raise StoreFault(f"{self._folder / folder} cannot be read: {fault.strerror}") from None
        return sorted(found)

    def writing_alone(self) -> AbstractContextManager[None]:
        """The system's lock on a file: one that was killed holds none."""
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
        except OSError as fault:
            raise unwritable(self._folder, fault) from None
        return writer_lock(self._folder / "manifest.json")

    @contextmanager
    def _replaced(self, name: str) -> Iterator[Path]:
        """A file to fill; afterwards it is on the disk, and has taken the place of the one with that name."""
        place = self._folder / name
        try:
            place.parent.mkdir(parents=True, exist_ok=True)
            handle, part = tempfile.mkstemp(PART, f".{place.name}.", place.parent)
            os.close(handle)
            try:
                yield Path(part)
                Path(part).chmod(0o666 & ~_umask())
                with Path(part).open("rb") as file:
                    os.fsync(file.fileno())
                Path(part).replace(place)
            finally:
                Path(part).unlink(missing_ok=True)
        except OSError as fault:
            raise unwritable(place, fault) from None


def _umask() -> int:
    """The process' mask, read without changing it where the system tells."""
    try:
        status = Path("/proc/self/status").read_text(encoding="ascii", errors="replace")
        return int(status.partition("Umask:")[2].split()[0], 8)
    except (OSError, IndexError, ValueError):
        return 0o022


class ObjectStore:
    """A bucket. An object is there when its upload is finished, never before: no parts are left to see."""

    def __init__(self, url: str, protocol: str) -> None:
        package = OBJECT_STORES[protocol]
        try:
            from fsspec.core import url_to_fs
        except ImportError:
            raise MissingExtra("a fleet's store", ["fsspec"], "cluster") from None
        self.url = url.rstrip("/")
        self.local: Path | None = None
        try:
            self._system, self._top = url_to_fs(self.url, use_listings_cache=False)
        except ImportError:
            raise UsageError(f"{protocol}:// needs the package {package}", f"pip install {package}") from None
        except ValueError as fault:
            raise UsageError(f"no store at '{url}': {fault}") from None

    def read(self, name: str) -> bytes | None:
        try:
            content: bytes = self._system.cat_file(self._place(name))
        except FileNotFoundError:
            return None
        except Exception as fault:  # each system has errors of its own
            raise self._fault("read", name, fault) from None
        return content

    def write(self, name: str, content: bytes) -> None:
        try:
            self._system.pipe_file(self._place(name), content)
        except Exception as fault:
            raise self._fault("written", name, fault) from None

    def upload(self, file: Path, name: str) -> None:
        try:
            self._system.put_file(str(file), self._place(name))
        except Exception as fault:
            raise self._fault("written", name, fault) from None

    def download(self, name: str, to: Path) -> None:
        try:
            self._system.get_file(self._place(name), str(to))
        except FileNotFoundError:
            raise StoreFault(f"{self.url}/{name} is missing") from None
        except OSError as fault:
            if fault.errno in (errno.ENOSPC, errno.EDQUOT):
                raise unwritable(to, fault) from None
            raise self._fault("read", name, fault) from None
        except Exception as fault:
            raise self._fault("read", name, fault) from None

    def size(self, name: str) -> int | None:
        found = self._info(name)
        return None if found is None else int(found["size"])

    def stamp(self, name: str) -> str | None:
        found = self._info(name)
        return None if found is None else f"{found.get('ETag') or found.get('etag')} {_stored('', found).modified}"

    def _info(self, name: str) -> dict[str, Any] | None:
        try:
            found: dict[str, Any] = self._system.info(self._place(name))
        except FileNotFoundError:
            return None
        except Exception as fault:
            raise self._fault("read", name, fault) from None
        return found

    def remove(self, name: str) -> None:
        try:
            self._system.rm_file(self._place(name))
        except FileNotFoundError:
            pass
        except Exception as fault:
            raise self._fault("removed", name, fault) from None

    def files(self, folder: str) -> list[StoredFile]:
        try:
            listed = self._system.ls(self._place(folder), detail=True)
        except FileNotFoundError:
            return []
        except Exception as fault:
            raise self._fault("read", folder, fault) from None
        return sorted(_stored(folder, row) for row in listed if row.get("type") == "file")

    def writing_alone(self) -> AbstractContextManager[None]:
        """Nothing: see `Manifest.write` for what is noticed."""
        return nullcontext()

    def _place(self, name: str) -> str:
        return f"{self._top}/{name}"

    def _fault(self, verb: str, name: str, fault: Exception) -> CodelensError:
        text = f"{self.url}/{name} cannot be {verb}: {str(fault) or type(fault).__name__}".replace("\n", " ")
        return CannotWrite(text, StoreFault.hint) if verb == "written" else StoreFault(text)


def _stored(folder: str, row: dict[str, Any]) -> StoredFile:
    """A row of fsspec's listing. Systems name the time in different ways."""
    time_of = next((row[key] for key in ("LastModified", "updated", "mtime", "created") if row.get(key)), None)
    if isinstance(time_of, str):
        import datetime

        time_of = datetime.datetime.fromisoformat(time_of)
    modified = time_of if isinstance(time_of, float | int) else time_of.timestamp() if time_of else time.time()
    return StoredFile(f"{folder}/{row['name'].rpartition('/')[2]}", int(row["size"] or 0), float(modified))


def digest_of(file: Path) -> str:
    """xxh3-128 of a file, in hex digits."""
    digest = xxhash.xxh3_128()
    with file.open("rb") as opened:
        while block := opened.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()
