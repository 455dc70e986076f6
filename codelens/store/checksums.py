"""Page checksums: a VFS beneath SQLite that writes and verifies a checksum at the end of each page of an index.

The checksum covers the page's number, so a page in the wrong place counts as damage. SQLite's own checksum VFS
(ext/misc/cksumvfs.c) omits the number, so swapped pages pass, and it does not verify overflow pages where the file
system allows reading parts of pages.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

import apsw
from xxhash import xxh3_128_digest

RESERVED = 16
"""Bytes reserved at the end of each page for an xxh3_128, which costs no more than a shorter hash. With 8 bytes,
SQLite's own checksum VFS, if it is loaded, would expect its own checksum there.
"""
VFS = "codelens-pages"
MAGIC = b"SQLite format 3\0"
JOURNAL_MAGIC = bytes.fromhex("d9d505f920a163d7")
SMALLEST_PAGE = 512  # Shorter reads and writes concern the header, or other files
_BLOCK = 1 << 20  # Bytes per read when checking a file: a multiple of every page size
_TRIES, _PAUSE_SECONDS = 5, 0.02  # How often a damaged page is read again, since a writer may be changing it
_PENDING_BYTE = 1 << 30  # In a page that SQLite never uses (https://www.sqlite.org/fileformat.html#the_lock_byte_page)


def _compute_checksum(page: memoryview, number: int) -> bytes:
    return xxh3_128_digest(page[:-RESERVED], number)


class _ChecksummedFile(apsw.VFSFile):
    """The main file of a database, with a checksum at the end of each page."""

    def __init__(self, name: Any, flags: list[int]) -> None:
        super().__init__("", name, flags)
        self._read_only = bool(flags[1] & apsw.SQLITE_OPEN_READONLY)

    def xRead(self, amount: int, offset: int) -> bytes:  # noqa: N802
        """Read a page, and verify it. A connection for writing also gets pages of zeros: a transaction that outgrows the page
        cache reads pages that nobody has written yet, behind the file's end or in a hole.

        A written page that became zeros is noticed by readers, of which one copies a finished build, and by `find_file_faults`,
        with which an update and a resumed build begin.
        """
        data = super().xRead(amount, offset)
        # `_compute_checksum`, inlined for speed: a search reads thousands of pages
        fits = xxh3_128_digest(data[:-RESERVED], offset // amount) == data[-RESERVED:]
        if fits or amount < SMALLEST_PAGE:
            return data
        if offset == 0 and not data.startswith(MAGIC):
            return data  # SQLite reports that it is not a database
        if offset == 0 and data[20:21] != bytes([RESERVED]):
            raise apsw.CorruptError("it has no page checksums")
        if not self._read_only and not any(data):
            return data
        raise apsw.CorruptError(f"page {offset // amount + 1} is {'damaged' if len(data) == amount else 'missing'}")

    def xWrite(self, data: Any, offset: int) -> None:  # noqa: N802
        if len(data) >= SMALLEST_PAGE:
            page = memoryview(data)
            data = bytes(page[:-RESERVED]) + _compute_checksum(page, offset // len(page))
        super().xWrite(data, offset)

    def xLock(self, level: int) -> None:  # noqa: N802
        """Refuse locks for writing on a read-only file with BusyError, which SQLite ignores when a reader closes the file."""
        if self._read_only and level > apsw.SQLITE_LOCK_SHARED:
            raise apsw.BusyError
        super().xLock(level)

    def xDeviceCharacteristics(self) -> int:  # noqa: N802
        """Forbid reads of partial pages, since SQLite would read overflow pages without their checksum."""
        return super().xDeviceCharacteristics() & ~apsw.SQLITE_IOCAP_SUBPAGE_READ


class _ChecksumVFS(apsw.VFS):
    def __init__(self) -> None:
        super().__init__(VFS, "")

    def xOpen(self, name: Any, flags: list[int]) -> apsw.VFSFile:  # noqa: N802
        if flags[0] & apsw.SQLITE_OPEN_MAIN_DB:
            return _ChecksummedFile(name, flags)
        return super().xOpen(name, flags)


_files = _ChecksumVFS()  # stays registered while it is referenced


def find_vfs(path: Path) -> str | None:
    """Find the VFS for an index at `path`; None if the path is not UTF-8, which apsw cannot pass to a VFS."""
    try:
        os.fsencode(path.resolve()).decode()
    except UnicodeDecodeError:
        return None
    return VFS


def has_checksums(path: Path) -> bool:
    """True if the file's header says that pages have checksums, or if the file is empty or missing."""
    try:
        with path.open("rb") as file:
            return file.read(21)[20:] in (b"", bytes([RESERVED]))
    except FileNotFoundError:
        return True


def find_file_faults(path: Path) -> Iterator[str]:
    """Find faults of a file's pages without SQLite; yields messages. A writer may be active."""
    with path.open("rb") as file:
        head = file.read(100)
        if not head.startswith(MAGIC):
            yield "the header is not that of a database"
            return
        size = int.from_bytes(head[16:18], "big")
        size = 65_536 if size == 1 else size
        if size < SMALLEST_PAGE or size & (size - 1):
            yield f"the header says pages of {size} bytes"
            return
        if head[20] != RESERVED:
            if find_vfs(path):
                yield "it has no page checksums"
            return
        damaged = _find_damaged(file, size)
        if damaged:
            yield f"{len(damaged)} of {os.fstat(file.fileno()).st_size // size} pages are damaged, the first is {damaged[0] + 1}"
            return
        logs = (path.with_name(path.name + suffix) for suffix in ("-wal", "-journal"))
        if not any(log.is_file() and log.stat().st_size for log in logs):
            wanted, there = size * int.from_bytes(head[28:32], "big"), os.fstat(file.fileno()).st_size
            if wanted != there:
                yield f"the file has {there} bytes, and should have {wanted}"


def _find_damaged(file: BinaryIO, size: int) -> list[int]:
    """Find pages that SQLite has written and that do not match their checksums; numbered from 0."""
    damaged, number = list[int](), 0
    file.seek(0)
    while block := memoryview(file.read(_BLOCK)):
        for end in range(size, len(block) + size, size):
            # `_compute_checksum`, inlined for speed: every run reads all pages
            fits = xxh3_128_digest(block[end - size : end - RESERVED], number) == block[end - RESERVED : end]
            if not fits and number != _PENDING_BYTE // size:
                damaged.append(number)
            number += 1
    if damaged:
        unused = _find_unused_pages(file, size)
        damaged = [number for number in damaged if number not in unused or any(_read_page(file, size, number))]
    for _ in range(_TRIES if damaged else 0):
        time.sleep(_PAUSE_SECONDS)
        pages = ((number, memoryview(_read_page(file, size, number))) for number in damaged)
        damaged = [number for number, page in pages if page[-RESERVED:] != _compute_checksum(page, number)]
        if not damaged:
            break
    return damaged


def _read_page(file: BinaryIO, size: int, number: int) -> bytes:
    file.seek(number * size)
    return file.read(size)


def _find_unused_pages(file: BinaryIO, size: int) -> set[int]:
    """Find pages that SQLite may never have written, numbered from 0 (https://www.sqlite.org/fileformat.html#the_freelist)."""
    head = _read_page(file, size, 0)
    trunk, unused, seen = int.from_bytes(head[32:36], "big"), set(), set()
    while trunk and trunk not in seen:
        seen.add(trunk)
        page = _read_page(file, size, trunk - 1)
        words = [int.from_bytes(page[at : at + 4], "big") for at in range(0, len(page), 4)]
        if len(words) < 2:
            break
        trunk, leaves = words[0], words[1]
        unused |= {leaf - 1 for leaf in words[2 : 2 + leaves]}
    return unused
