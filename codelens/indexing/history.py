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
from codelens.worktree.plumbing import GitError


def update_history(
    store: Store,
    repository: RepositoryRow,
    transaction: LazyTransaction,
    progress: ProgressSink | None = None,
    anew: bool = False,
) -> None:
    """Bring what the index knows of a repository's commits up to its HEAD; `anew` trusts nothing that was read before."""
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
