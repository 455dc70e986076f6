"""A commit's tree → files in a folder. git only reads its objects: no checkout, so no filter, hook or driver runs.

A folder that holds another commit's tree already is changed to this one's: files that stay are not written again.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from codelens.worktree.history import TreeFile, texts_at, tree_files
from codelens.worktree.repository import Repository

AT_ONCE = 200
"""Files that one git process tells of, so that what it tells fits into memory. Chosen."""


def lay_tree(repository: Repository, commit: str, folder: Path, below: str = "", largest: int = 2_000_000) -> None:
    """Write the regular files of a commit below this path of its tree, up to `largest` bytes. Raises GitError."""
    prefix = f"{below}/" if below else ""
    wanted = [f for f in tree_files(repository, commit) if f.path.startswith(prefix) and f.size <= largest]
    kept = {f.path.removeprefix(prefix) for f in wanted}
    for file in sorted(folder.rglob("*"), reverse=True):
        if file.is_file() and file.relative_to(folder).as_posix() not in kept:
            file.unlink()
        elif file.is_dir() and not any(file.iterdir()):
            file.rmdir()
    for start in range(0, len(wanted), AT_ONCE):
        _write(repository, commit, wanted[start : start + AT_ONCE], folder, prefix)


def _write(repository: Repository, commit: str, files: Sequence[TreeFile], folder: Path, prefix: str) -> None:
    for file, raw in zip(files, texts_at(repository, [(commit, f.path) for f in files]), strict=True):
        place = folder / file.path.removeprefix(prefix)
        if raw is None or (place.is_file() and place.read_bytes() == raw):
            continue
        if place.parent.is_file():  # case-insensitive systems know fewer names than git
            continue
        place.parent.mkdir(parents=True, exist_ok=True)
        if not place.is_dir():
            place.write_bytes(raw)
