"""Whether git tracks an index file, or what SQLite would put beside it: then whoever can push to the repository wrote it."""

from __future__ import annotations

import mmap
from pathlib import Path

from codelens.worktree.place import BESIDE
from codelens.worktree.repository import Repository, enclosing_repository

_PATHS_ARE_WHOLE = (2, 3)
"""Versions of git's index file that store each path whole (gitformat-index); version 4 leaves out common beginnings."""


def tracks(index: Path) -> bool:
    """Whether this file, or one of those that SQLite would read with it (-wal, -journal), is tracked.

    git runs only where its index file may name one: reading 4 MB of it (40,000 files) takes a millisecond, git takes a hundred.
    Where git cannot say, a path that may be tracked counts as tracked.
    """
    index = index.resolve()
    repository = enclosing_repository(index.parent)
    if repository is None:
        return False
    below = index.relative_to(repository.top.resolve()).as_posix()
    return _may_track(repository, below) and _asked(repository, below)


def _may_track(repository: Repository, below: str) -> bool:
    if any(repository.git_folder.glob("sharedindex.*")):
        return True
    try:
        with (repository.git_folder / "index").open("rb") as file:
            head = file.read(8)
            if int.from_bytes(head[4:], "big") not in _PATHS_ARE_WHOLE:
                return True
            with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as entries:
                return entries.find(below.encode("utf-8", "surrogateescape")) >= 0
    except FileNotFoundError:
        return False
    except (OSError, ValueError):  # one that cannot be read, or is empty
        return True


def _asked(repository: Repository, below: str) -> bool:
    from codelens.worktree.plumbing import GitError, run_git

    try:
        named = [f":(literal,top){below}{suffix}" for suffix in ("", *BESIDE)]
        return bool(run_git(repository, "ls-files", "-z", "--", *named))
    except GitError:
        return True
