"""Begins the index of a new checkout with a copy of an index of the same repository.

Linked worktrees are found by the git folder that they share; the index of another clone is named by the user. Only an index that
codelens made for this user is copied. The run that follows compares contents, so it derives only the files that differ.
"""

from __future__ import annotations

import math
from contextlib import suppress
from pathlib import Path

from codelens.errors import CodelensError, IndexNotTrusted, NoIndex, UsageError
from codelens.indexing.run import IndexRun
from codelens.model.search import Notice
from codelens.store.store import Store
from codelens.store.trust import is_owned
from codelens.worktree.history import commit_in_files, count_differences, first_commits
from codelens.worktree.place import INDEX_FOLDER, INDEX_NAME
from codelens.worktree.repository import GitError, Repository, other_checkouts, repository_at

HINT = "name a folder or index of your own, of another clone; without --from `codelens index` reads the files"


def copy_index(run: IndexRun, root: Path, into: Path) -> tuple[Path | None, list[Notice]]:
    """Copy the nearest usable index of the same repository to `into`, as the index of `root`. Returns its path, and a notice for
    each index that could not be copied.

    With `run.copy_from` only that index counts, and its fault is raised.
    """
    repository = repository_at(root)
    if run.copy_from:
        index = _index_at(run.copy_from)
        try:
            if repository is None:
                raise UsageError(f"{root} is not the top of a git repository")
            _copy(run, index, repository, into)
        except CodelensError as fault:
            raise type(fault)(str(fault), HINT) from None
        return index, []
    if repository is None or run.index != _index_at(root):
        return None, []
    notices: list[Notice] = []
    for index in _by_distance(repository):
        try:
            _copy(run, index, repository, into)
            return index, notices
        except CodelensError as fault:
            notices.append(Notice("not-copied", f"the index of another checkout was not copied: {fault}"))
    return None, notices


def _index_at(path: Path) -> Path:
    path = path.resolve()
    return path / INDEX_FOLDER / INDEX_NAME if path.is_dir() else path


def _by_distance(repository: Repository) -> list[Path]:
    """The indexes of the other checkouts, first those whose commit has the fewest files that differ from ours."""
    indexes = [index for top in other_checkouts(repository) if (index := _index_at(top)).is_file()]

    def distance(index: Path) -> float:
        with suppress(GitError):
            commits = (commit_in_files(top) for top in (index.parent.parent, repository.top))
            return count_differences(repository, *commits)
        return math.inf

    return sorted(indexes, key=distance) if len(indexes) > 1 else indexes


def _copy(run: IndexRun, index: Path, repository: Repository, into: Path) -> None:
    """Raises what opening an index raises, and UsageError for an index that does not fit."""
    if not index.is_file():
        raise NoIndex(f"no index at {index}")
    if not is_owned(index):
        raise IndexNotTrusted(f"{index} belongs to another user")
    with Store.read(index) as store, store.reading():
        rows = store.documents.repositories()
        if len(rows) != 1:
            raise UsageError(f"{index} holds {len(rows)} folders")
        if not store.features_wanted(run.settings.fuzzy, run.settings.vector):
            raise UsageError(f"{index} lacks trigrams or vectors, which the new index should have")
        _require_kinship(rows[0].root, repository)
        store.copy(into)
    with Store.write(into, run.index, accepted=True) as copy, copy.writing():
        copy.begin_as(repository.top)


def _require_kinship(root: Path, repository: Repository) -> None:
    """Raise UsageError unless a root is a checkout of the same repository: one with a first commit in common."""
    other = repository_at(root)
    fault = f"{root} and {repository.top} have no first commit in common"
    try:
        if other and other.common.resolve() == repository.common.resolve():
            return
        if other and first_commits(other) & first_commits(repository):
            return
    except GitError as error:
        fault += f": {error}"
    raise UsageError(fault)
