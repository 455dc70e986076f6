"""git's history of a repository → the index's, once a run, after its documents.

It is read where HEAD is another than the one that was read, so that a run which finds nothing to do starts no git. A history
that cannot be read is a line in `status`; the index is built all the same.
"""

from __future__ import annotations

from codelens.indexing.transaction import LazyTransaction
from codelens.past import History, HistoryRead
from codelens.runs import Progress, ProgressSink
from codelens.store.documents import RepositoryRow
from codelens.store.store import Store
from codelens.worktree.changes import Head, TooSlow, head_of, read_changes
from codelens.worktree.lines import LinesRead, line_terms, read_lines
from codelens.worktree.plumbing import GitError


def update_history(
    store: Store,
    repository: RepositoryRow,
    transaction: LazyTransaction,
    progress: ProgressSink | None = None,
    anew: bool = False,
) -> None:
    """Bring what the index knows of a repository's commits up to its HEAD; `anew` trusts nothing that was read before."""
    _update_files(store, repository, transaction, progress, anew)
    _update_lines(store, repository, transaction, progress, anew)


def _update_files(
    store: Store, repository: RepositoryRow, transaction: LazyTransaction, progress: ProgressSink | None, anew: bool
) -> None:
    before = store.history.read(repository.id)
    try:
        head = head_of(repository.root)
    except GitError as fault:
        read, files = HistoryRead("", "", fault=str(fault)), dict[str, History]()
    else:
        if before and not anew and (before.head, before.terms) == (head.commit, head.terms):
            return
        if progress:
            progress(Progress("history", 0, 0))
        read, files = _read(store, repository, head, None if anew else before)
    if read != before or anew:
        transaction.begin()
        store.history.replace(repository.id, read, files)


def _read(
    store: Store, repository: RepositoryRow, head: Head, before: HistoryRead | None
) -> tuple[HistoryRead, dict[str, History]]:
    try:
        known = store.history.by_path(repository.id) if before and not before.fault else None
        return read_changes(head, before, known)
    except TooSlow as fault:  # it would be again, at each run
        return HistoryRead(head.commit, head.terms, fault=str(fault)), {}
    except GitError as fault:
        return HistoryRead("", "", fault=str(fault)), {}


def _update_lines(
    store: Store, repository: RepositoryRow, transaction: LazyTransaction, progress: ProgressSink | None, anew: bool
) -> None:
    """The same for who wrote which line."""
    before = store.lines.read(repository.id)
    lines = LinesRead({}, {})
    try:
        head = head_of(repository.root)
        read = (head.commit, line_terms(head), "")
        if before and not anew and before[:2] == read[:2]:
            return
        if progress:
            progress(Progress("history", 0, 0))
        usable = before and not anew and before[1] == read[1] and not before[2]
        known = store.lines.by_path(repository.id) if usable else None
        lines = read_lines(head, before[0] if before else "", known)
    except TooSlow as fault:  # it would be again, at each run
        read = (*read[:2], str(fault))
    except GitError as fault:
        read = ("", "", str(fault))
    if read != before or anew:
        transaction.begin()
        store.lines.replace(repository.id, read, lines.commits, lines.files)
