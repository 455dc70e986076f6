"""A file on disk → its decoded text, or the reason why it is skipped."""

from __future__ import annotations

import os
import stat
import time
from pathlib import Path
from typing import BinaryIO, NamedTuple

from codelens.config import Settings
from codelens.model.code import SeenFile, Skip, SkipReason
from codelens.model.extraction import DecodedText, Unchanged
from codelens.worktree.classify import classify_bytes
from codelens.worktree.decode import decode
from codelens.worktree.files import content_hash

TICK_NS = 10_000_000  # The longest tick of a Linux kernel (HZ = 100); NTFS and APFS count finer


class ReadText(NamedTuple):
    """A file that is text, as it was read."""

    raw: bytes
    content_hash: bytes
    decoded: DecodedText


def read_text(
    root: Path, seen: SeenFile, settings: Settings, known_hash: bytes | None = None
) -> ReadText | Skip | Unchanged:
    """Read and decode one file; Unchanged if it has the `known_hash`. Raises OSError."""
    let_clock_tick(seen.stamp.mtime_ns, seen.stamp.ctime_ns)
    raw = _read(root / seen.os_path, settings.max_file_size)
    if len(raw) > settings.max_file_size:
        return Skip(seen.path, SkipReason.TOO_LARGE, "grew over the limit while indexing", seen.stamp)
    if reason := classify_bytes(seen.path, raw, settings.include_vendored):  # first: the rules may have changed
        return Skip(seen.path, *reason, seen.stamp)
    digest = content_hash(raw)
    if digest == known_hash:
        return Unchanged(seen, digest)
    if (decoded := decode(raw, settings.least_confidence)) is None:
        return Skip(seen.path, SkipReason.BINARY, "not text", seen.stamp)
    return ReadText(raw, digest, decoded)


def unreadable(seen: SeenFile, fault: OSError) -> Skip:
    """The skip of a file that cannot be read, with the operating system's message."""
    reason = "vanished while indexing" if isinstance(fault, FileNotFoundError) else fault.strerror or str(fault)
    return Skip(seen.path, SkipReason.UNREADABLE, reason, seen.stamp)


def let_clock_tick(*times_ns: int) -> None:
    """Wait until a later write gives the file another time than these.

    File times advance with the kernel's tick, so a second write within one tick that keeps the size would never be
    noticed: git calls such entries "racily clean" (Documentation/technical/racy-git.txt).
    """
    now = time.time_ns()
    waits = [wait for noted in times_ns if 0 < (wait := noted + TICK_NS - now) <= TICK_NS]
    if waits:
        time.sleep(max(waits) / 1e9)


def open_regular(path: Path) -> BinaryIO:
    """Open a regular file for reading. Does not block if it is a pipe by now. Raises OSError."""
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_NONBLOCK", 0))
    file = os.fdopen(descriptor, "rb")
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        file.close()
        raise OSError(0, "no longer a regular file")
    return file


def _read(path: Path, limit: int) -> bytes:
    """At most one byte more than the limit."""
    with open_regular(path) as file:
        size = min(limit, os.fstat(file.fileno()).st_size)
        raw = file.read(size + 1)  # room for the limit would be allocated for each small file
        return raw + file.read(limit - size) if len(raw) > size else raw
