"""Opens, creates and replaces the files that codelens writes or keeps; no other module opens a file for writing.

A repository may bring a link, a pipe or a device in place of such a file. Therefore a path below a repository must not lead out
of it, only regular files are opened, and a file is replaced by a new one whose name nobody can guess. Links that the user made
outside of repositories, as for a settings file that is kept elsewhere, are followed.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from codelens.errors import CannotWrite, UnsafePath

PART = ".part"  # Suffix of a file that is being written
_MOUNT_POINT = 0xA000_0003  # IO_REPARSE_TAG_MOUNT_POINT of Windows: a junction, which leads elsewhere as a link does
_MARKS = (".git", ".codelens.toml", ".codelens")  # Names in the top folder of a repository or an indexed tree
_BINARY = getattr(os, "O_BINARY", 0)
_NONBLOCK = getattr(os, "O_NONBLOCK", 0)
_NEW_FILE_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _BINARY  # O_EXCL follows no link
_LOCK_FLAGS = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | _NONBLOCK | _BINARY


def is_link(path: Path) -> bool:
    """True for a symbolic link, and for a junction of Windows."""
    try:
        status = path.lstat()
    except OSError:
        return False
    return stat.S_ISLNK(status.st_mode) or getattr(status, "st_reparse_tag", 0) == _MOUNT_POINT


def list_tops(path: Path) -> list[Path]:
    """List the repositories whose folders contain a path, before links are followed. Without any, list the trees that have
    settings or an index. Leaves out the user's home folder and the folders around it."""
    # Path.home raises RuntimeError without a home
    home = Path(os.path.realpath(os.path.expanduser("~")))  # noqa: PTH111
    # The folders that a path leaves again by `..` do not count.
    plain = Path(os.path.normpath(path.absolute()))
    folders = [folder for folder in plain.parents if not home.is_relative_to(folder)]
    for mark in _MARKS:
        if tops := [folder for folder in folders if os.path.lexists(folder / mark)]:
            return tops
    return []


def resolve_below(path: Path, tops: Sequence[Path] | None = None) -> Path:
    """Follow the links of a path. Raises UnsafePath if they lead out of one of the tops (by default `list_tops`), or into a
    folder of git. Without tops they may lead anywhere."""
    real = Path(os.path.realpath(path))
    if tops is None:
        tops = list_tops(path) if real != path else ()

    for top in tops:
        real_top = os.path.realpath(top)
        if not real.is_relative_to(real_top):
            raise UnsafePath(f"{path}: a link leads out of {top}, to {real}")
        below = {part.casefold() for part in real.relative_to(real_top).parts}
        if ".git" in below and ".git" not in path.parts:
            raise UnsafePath(f"{path}: a link leads into {top}/.git")
    return real


def refuse_special(path: Path) -> None:
    """Raise UnsafePath if there is something other than a regular file: a link, a pipe, a device or a folder."""
    try:
        mode = path.lstat().st_mode  # one look, since a log of SQLite may vanish at any moment
    except OSError:
        return
    if is_link(path) or not stat.S_ISREG(mode):
        raise UnsafePath(f"{path} is not a regular file")


def resolve_file(path: Path, tops: Sequence[Path] | None = None) -> Path:
    """Follow the links of a path, as `resolve_below` does, to a regular file or to where one can be created."""
    target = resolve_below(path, tops)
    refuse_special(target)
    return target


def open_regular(path: Path) -> BinaryIO:
    """Open a regular file for reading. Does not block, even if the file has been replaced by a pipe. Raises OSError."""
    descriptor = os.open(path, os.O_RDONLY | _BINARY | _NONBLOCK)
    file = os.fdopen(descriptor, "rb")
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        file.close()
        raise OSError(0, "no longer a regular file")
    return file


def read_file(path: Path, tops: Sequence[Path] | None = None) -> bytes:
    """Read a small file that `resolve_file` finds. Raises UnsafePath and OSError."""
    return resolve_file(path, tops).read_bytes()


def make_folder(folder: Path, is_private: bool = False) -> None:
    """Create a folder and those around it, unless they exist. Raises OSError."""
    folder.mkdir(mode=0o700 if is_private else 0o777, parents=True, exist_ok=True)


@contextmanager
def replace_file(
    path: Path, is_private: bool = False, is_executable: bool = False, keeps_existing: bool = False
) -> Iterator[BinaryIO]:
    """Provide a new file to write, which takes the place of `path` when the block ends. Raises OSError.

    It keeps the mode of the file that it replaces, unless only the user may read it. With `is_executable`, all who may read it
    may run it. With `keeps_existing`, raises FileExistsError if there is a file. A link in this place is replaced, too.
    """
    before = path if path.exists() and not is_private else None
    temporary = path.with_name(f".codelens-{os.urandom(8).hex()}{PART}")
    descriptor = os.open(temporary, _NEW_FILE_FLAGS, 0o600 if before or is_private else 0o666)
    try:
        with os.fdopen(descriptor, "wb") as file:
            yield file
            file.flush()
            os.fsync(descriptor)

        mode = stat.S_IMODE((before or temporary).stat().st_mode)
        if is_executable:
            mode |= (mode & 0o444) >> 2
        temporary.chmod(mode)

        if not keeps_existing:
            temporary.replace(path)
        elif os.name == "nt":
            temporary.rename(path)  # fails if it exists
        else:
            path.hardlink_to(temporary)
    finally:
        temporary.unlink(missing_ok=True)


def write_in_one_step(path: Path, content: bytes, tops: Sequence[Path] = (), is_executable: bool = False) -> None:
    """Write a small file so that nobody ever reads half of it. A path that is a link stays one; its target is written, as
    `resolve_file` finds it. Raises UnsafePath and CannotWrite."""
    target = resolve_file(path, tops)
    try:
        with replace_file(target, is_executable=is_executable) as file:
            file.write(content)
    except OSError as fault:
        hint = f"check permissions and free space of {target.parent}"
        raise CannotWrite(f"{target}: {fault.strerror or fault}", hint) from None


def write_private_file(path: Path, content: bytes, keeps_existing: bool = False) -> None:
    """Write a file that only the user can read, completely or not at all. Raises OSError."""
    make_folder(path.parent, is_private=True)
    with replace_file(path, is_private=True, keeps_existing=keeps_existing) as file:
        file.write(content)


def write_new(path: Path, content: bytes) -> None:
    """Write a new file, and create its folders. Raises OSError, also if there is something."""
    make_folder(path.parent)
    with os.fdopen(os.open(path, _NEW_FILE_FLAGS, 0o666), "wb") as file:
        file.write(content)


def write_output(path: Path, content: bytes) -> None:
    """Write a file that the user named, which may be a terminal or a pipe outside of repositories. Raises UnsafePath and
    CannotWrite."""
    if list_tops(path):
        path = resolve_file(path)
    try:
        path.write_bytes(content)
    except OSError as fault:
        raise CannotWrite(f"{path}: {fault.strerror}", "name a writable file in an existing folder") from None


def open_lock_file(path: Path) -> int:
    """Open a file to lock it, creating it if needed; returns its descriptor. Neither follows a link nor waits for a pipe. Raises
    OSError."""
    return os.open(path, _LOCK_FLAGS, 0o644)


def flush_file(path: Path) -> None:
    """Make the system write a file to the disk. Raises OSError."""
    with path.open("rb+") as file:
        os.fsync(file.fileno())
