"""A tree's root → the SCIP indexes and LSIF dumps that lie where their tools and their users put them.

That is in the root or one folder below it (a project of a monorepo), or in a folder `.scip` of either. Ignore rules do not count:
such a file is made and not committed, so most repositories ignore it.
"""

from __future__ import annotations

import os
from collections.abc import Container, Iterator
from pathlib import Path
from stat import S_ISREG

from codelens.nouns import dataclass

_FOLDER = ".scip"
_SUFFIXES = {".scip": "scip", ".lsif": "lsif"}


@dataclass(frozen=True, slots=True)
class IndexFile:
    """A file that says it is an index; reading it shows whether it is one."""

    path: str
    """Relative to the tree's root, POSIX separators, for people."""
    file: Path
    kind: str
    """scip or lsif: which reader takes it."""
    folder: str
    """The project it is likely of, relative to the root; empty for the root itself."""


@dataclass(frozen=True, slots=True)
class RefusedIndex:
    """An index that is not read, and why."""

    path: str
    reason: str


def find_indexes(root: Path, limit: int) -> Iterator[IndexFile | RefusedIndex]:
    """In the order of their paths' bytes in each folder, the root first. Larger ones than `limit` bytes are refused; no link
    is followed."""
    yield from _of_project(root, "", limit)
    for entry in _entries(root):
        if entry.is_dir(follow_symlinks=False) and not entry.name.startswith("."):
            yield from _of_project(Path(entry.path), entry.name, limit)


def place_in_tree(folder: str, path: str, known: Container[str]) -> str | None:
    """A document's path in an index of `folder` → its path in the tree, None if neither is known.

    Most indexes of a project name paths below the project, some name them below the top of the repository.
    """
    below = f"{folder}/{path}" if folder else path
    return next((place for place in (below, path) if place in known), None)


def _of_project(project: Path, name: str, limit: int) -> Iterator[IndexFile | RefusedIndex]:
    for inside in ("", _FOLDER):
        folder = project / inside
        if inside and os.path.islink(folder):  # noqa: PTH114 - Path.is_symlink raises where the folder cannot be searched
            continue
        for entry in _entries(folder):
            kind = _SUFFIXES.get(Path(entry.name).suffix)
            if kind is None:
                continue
            path = _shown("/".join(filter(None, (name, inside, entry.name))))
            try:
                status = entry.stat(follow_symlinks=False)
            except OSError as fault:
                yield RefusedIndex(path, fault.strerror or str(fault))
                continue
            if not S_ISREG(status.st_mode):
                continue
            if (size := status.st_size) > limit:
                yield RefusedIndex(path, f"{size / 1e6:.1f} MB, limit {limit / 1e6:.1f} MB")
            else:
                yield IndexFile(path, Path(entry.path), kind, _shown(name))


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    """None where a folder is not there or cannot be read: the walk reports that."""
    try:
        with os.scandir(folder) as found:
            return sorted(found, key=lambda entry: os.fsencode(entry.name))
    except OSError:
        return []


def _shown(path: str) -> str:
    return os.fsencode(path).decode("utf-8", "backslashreplace")
