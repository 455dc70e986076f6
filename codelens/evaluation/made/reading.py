"""A repository at one commit → its files' definitions, each file read and parsed once, however many commits ask."""

from __future__ import annotations

from collections.abc import Sequence

import xxhash

from codelens.evaluation.made.definitions import Defined, defined
from codelens.worktree.history import TreeFile, texts_at, tree_files
from codelens.worktree.repository import Repository


class Reader:
    """What git has, with what was found in it kept by content: bases near each other share nearly all files."""

    def __init__(self, repository: Repository) -> None:
        self.repository = repository
        self._names: dict[tuple[str, bytes], frozenset[str]] = {}
        self._trees: dict[str, dict[str, TreeFile]] = {}

    def files(self, commit: str) -> dict[str, TreeFile]:
        """Path → file, in git's order. Raises GitError."""
        if commit not in self._trees:
            self._trees[commit] = {file.path: file for file in tree_files(self.repository, commit)}
        return self._trees[commit]

    def texts(self, wanted: Sequence[tuple[str, str]]) -> list[bytes | None]:
        """(commit, path) → the file's bytes; None where there is no such file. Raises GitError."""
        return list(texts_at(self.repository, wanted)) if wanted else []

    def names(self, commit: str, paths: Sequence[str]) -> dict[str, frozenset[str]]:
        """Path → the qualified names of its definitions, for those paths that the commit has as regular files."""
        there = [path for path in paths if path in self.files(commit)]
        texts = self.texts([(commit, path) for path in there])
        return {path: self._names_in(path, raw) for path, raw in zip(there, texts, strict=True) if raw is not None}

    def _names_in(self, path: str, raw: bytes) -> frozenset[str]:
        key = path, xxhash.xxh3_128_digest(raw)
        if key not in self._names:
            found = defined(path, raw)
            self._names[key] = found.names if found else frozenset()
        return self._names[key]

    def parsed(self, path: str, raw: bytes | None) -> Defined | None:
        """A file's definitions, their names kept for `names`."""
        found = defined(path, raw) if raw is not None else None
        if found and raw is not None:
            self._names[path, xxhash.xxh3_128_digest(raw)] = found.names
        return found
