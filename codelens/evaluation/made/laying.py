"""A commit's tree → the same files in a folder, written from git's objects: no checkout, so no filter or hook runs.

Regular files of text only, each at a path inside the folder that git has, none executable.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path

import xxhash

from codelens.config import Settings
from codelens.evaluation.made.reading import Reader
from codelens.lang.registry import PLAIN_TEXT, detect_language
from codelens.worktree.decode import is_binary
from codelens.worktree.history import TreeFile

AT_ONCE = 400
"""Files read together, so that no tree is held in memory."""


def drawn(files: Mapping[str, TreeFile], needed: Collection[str], most: int) -> list[str]:
    """At most so many paths: the needed ones, then files of a known language, by a hash of their paths; in git's order."""
    small = [path for path, file in files.items() if file.size <= Settings().max_file_size]
    if len(small) <= most:
        return small
    ordered = sorted(
        small, key=lambda path: (path not in needed, detect_language(path) == PLAIN_TEXT, _draw(path), path)
    )
    kept = set(ordered[:most])
    return [path for path in small if path in kept]


def _draw(path: str) -> int:
    return xxhash.xxh3_64_intdigest(f"codelens made tree {path}".encode())


def lay(reader: Reader, commit: str, paths: list[str], into: Path) -> int:
    """Write these files of a commit below a folder that is not there yet. How many could not be written: a system may take no
    path beside another that differs in case, or is too long. Raises GitError, and OSError where the folder cannot be made."""
    into.mkdir(parents=True)
    failed = 0
    for start in range(0, len(paths), AT_ONCE):
        together = paths[start : start + AT_ONCE]
        texts = reader.texts([(commit, path) for path in together])
        for path, raw in zip(together, texts, strict=True):
            if raw is None or is_binary(raw):
                continue
            try:
                write_new(into / path, raw)
            except (FileExistsError, NotADirectoryError):
                failed += 1
    return failed


def write_new(place: Path, raw: bytes) -> None:
    """A file that is not there yet, with its folders. Raises OSError."""
    place.parent.mkdir(parents=True, exist_ok=True)
    with place.open("xb") as file:
        file.write(raw)
