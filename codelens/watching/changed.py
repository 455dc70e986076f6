"""Paths that changed → whether an index run would find anything of it, by the rules of the walk itself.

Without this every file that a build writes into an ignored folder would have the tree walked, and every write to the
index the next one.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from codelens.errors import CodelensError
from codelens.worktree.place import INDEX_FOLDER
from codelens.worktree.settled import GitFolder, Mark

SETTINGS_FILE = ".codelens.toml"
"""Decides how a tree is walked, and is hidden itself."""


class Roots:
    """The trees of one index while they are watched: which are there, what in them counts, what git does in them."""

    def __init__(
        self, roots: Sequence[Path], own: frozenset[str], sight_of: Callable[[Path], Callable[[str], bool]]
    ) -> None:
        """`own` are the absolute paths of what a run itself writes, beside all that lies in folders named .codelens."""
        self.all = tuple(roots)
        self._own = own
        self._sight_of = sight_of
        self._sights: dict[str, Callable[[str], bool]] = {}
        self._git = {root: GitFolder(root) for root in roots}
        self._heads: Mapping[Path, Mark] = self._marks()
        self.identity = self._identities()

    def present(self) -> list[Path]:
        """Those that are folders now."""
        return [root for root in self.all if root in self.identity]

    def look(self) -> tuple[list[Path], list[Path]]:
        """(those gone, those that came or are other folders now) since the last look. Both want a new watch."""
        before, self.identity = self.identity, self._identities()
        gone = [root for root in self.all if root in before and root not in self.identity]
        came = [root for root in self.all if root in self.identity and before.get(root) != self.identity[root]]
        for root in came:
            self._git[root] = GitFolder(root)
        return gone, came

    def head_moved(self) -> bool:
        """Whether a commit, a reset or a switch happened in one of them since this was last asked."""
        before, self._heads = self._heads, self._marks()
        return before != self._heads

    def git_is_at_work(self) -> bool:
        """Whether git changes files of one of them at this moment."""
        return any(self._git[root].is_at_work() for root in self.present())

    def forget_rules(self) -> None:
        """Read the rules of the walk anew when they are next needed: a run may have gone by others."""
        self._sights.clear()

    def concern(self, paths: Iterable[str]) -> bool:
        """Whether one of these absolute paths is part of what is indexed, or decides what is."""
        return any(self._concerns(path) for path in paths)

    def _concerns(self, path: str) -> bool:
        if path in self._own:
            return False
        for root in self.present():
            lead = str(root).rstrip(os.sep) + os.sep
            if path.startswith(lead):
                below = path.removeprefix(lead).replace(os.sep, "/")
                if INDEX_FOLDER in below.split("/"):
                    return False
                if below.rpartition("/")[2] == SETTINGS_FILE or self._sight(root)(below):
                    return True
        return False

    def _sight(self, root: Path) -> Callable[[str], bool]:
        if str(root) not in self._sights:
            try:
                self._sights[str(root)] = self._sight_of(root)
            except CodelensError:  # the run will say what is wrong with the settings, or that the root is gone
                self._sights[str(root)] = lambda path: True
        return self._sights[str(root)]

    def _marks(self) -> Mapping[Path, Mark]:
        return {root: git.mark() for root, git in self._git.items()}

    def _identities(self) -> dict[Path, tuple[int, int]]:
        found = {}
        for root in self.all:
            try:
                if root.is_dir():
                    here = root.stat()
                    found[root] = (here.st_dev, here.st_ino)
            except OSError:
                continue
        return found
