"""How a hit's path is written in text: relative to the working directory, to the repository's root, or absolute.

Text that goes into a pipe carries the path's own bytes (surrogates of os.fsdecode), so that `xargs` finds the file.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import NamedTuple

from codelens.model import Hit, RepositoryInfo


class PathStyle(NamedTuple):
    """`style` is cwd, root or absolute; `cwd` an absolute path; `repositories` are those of the index."""

    style: str
    cwd: str
    repositories: Sequence[RepositoryInfo] = ()

    def of_hit(self, hit: Hit) -> str:
        """The path of a hit's file in this style, with the file's own bytes."""
        return self.of(hit.root, real_path(hit))

    def of(self, root: str, path: str) -> str:
        """`path` is relative to `root`; a folder's trailing slash stays. Where roots are left out, names tell them apart."""
        if self.style == "root":
            name = next((r.name for r in self.repositories if r.root == root), "") if len(self.repositories) > 1 else ""
            return f"{name}/{path}" if name else path
        whole = os.path.join(root, path)  # noqa: PTH118 - a Path would lose the trailing slash
        if self.style == "absolute":
            return whole
        try:
            shown = os.path.relpath(whole, self.cwd)
        except ValueError:  # another drive
            return whole
        return shown + "/" if path.endswith("/") else shown


def real_path(hit: Hit) -> str:
    """The path that the operating system knows, relative to the root."""
    return os.fsdecode(hit.path_bytes) if hit.path_bytes is not None else hit.unit.path
