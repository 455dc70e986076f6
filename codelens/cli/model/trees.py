"""PATH arguments of `model train` and `model eval` → folders: the repository of the working directory where none is named."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from codelens.cli.workplace import working_folder
from codelens.errors import UsageError
from codelens.worktree.place import git_top


def trees_meant(paths: Sequence[Path] | None) -> list[Path]:
    """Absolute, none twice. Raises UsageError for what is no folder."""
    cwd = working_folder()
    if not paths:
        return [git_top(cwd) or cwd]
    for path in paths:
        if not (cwd / path).is_dir():
            raise UsageError(f"not a folder: {path}", "name folders of source, as repositories that you have cloned")
    return list(dict.fromkeys((cwd / path).resolve() for path in paths))
