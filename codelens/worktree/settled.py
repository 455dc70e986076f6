"""What git is doing in a work tree, told by its files: whether it works at this moment, and whether HEAD has moved.

A commit or a reset may change no file of the tree; what they change is git's own, of which the walk sees nothing.
"""

from __future__ import annotations

from pathlib import Path

from codelens.worktree.repository import enclosing_repository

_MARKS = ("HEAD", "logs/HEAD")
"""Written whenever HEAD comes to mean another commit or branch; the second unless core.logAllRefUpdates is off."""
_AT_WORK = "index.lock"
"""There while a checkout, a merge or an add changes files and git's index."""

Mark = tuple[tuple[int, int], ...]


class GitFolder:
    """The git folder of the repository that holds `root`: found once, then asked by a few stats. None is like an idle one."""

    def __init__(self, root: Path) -> None:
        repository = enclosing_repository(root)
        self._folder = repository.git_folder if repository else None

    def is_at_work(self) -> bool:
        """Whether git holds its lock. A git that was killed leaves it for ever: wait for it only so long."""
        return self._folder is not None and (self._folder / _AT_WORK).exists()

    def mark(self) -> Mark:
        """Another value after each move of HEAD; () outside any repository."""
        return tuple(_stamp(self._folder / name) for name in _MARKS) if self._folder else ()


def _stamp(path: Path) -> tuple[int, int]:
    try:
        found = path.stat()
    except OSError:
        return (0, 0)
    return (found.st_mtime_ns, found.st_size)
