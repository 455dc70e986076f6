"""The git history of a repository → the index. git is read only if HEAD differs from the commit that was read last. A history
that cannot be read is a line in `status`."""

from __future__ import annotations

from collections.abc import Mapping

from codelens.indexing.changes import RepositoryUpdate
from codelens.model.fast_dataclass import replace
from codelens.model.history import HistoryRead, PastCommit
from codelens.model.runs import Progress
from codelens.worktree.blame import LinesRead, line_terms, read_lines
from codelens.worktree.history import TooSlow, collect_histories, head_of, read_changes
from codelens.worktree.repository import GitError


def update_history(update: RepositoryUpdate) -> None:
    """Bring the commits of each file and the authors of each line up to HEAD; a forced run reads all of them again."""
    _update_files(update)
    _update_lines(update)


def _update_files(update: RepositoryUpdate) -> None:
    store, repository, force = update.store, update.repository, update.run.force
    with_messages = update.run.settings.history
    before = store.history.read(repository.id)
    read, commits = HistoryRead("", ""), tuple[PastCommit, ...]()
    stored: Mapping[int, PastCommit] = {}
    try:
        head = head_of(repository.root)
        terms = head.terms if with_messages else f"{head.terms} without messages"
        if before and not force and (before.head, before.terms) == (head.commit, terms):
            return
        read = HistoryRead(head.commit, terms)
        _report_progress(update)
        stored = store.history.commits(repository.id)
        is_usable = before and not force and before.terms == terms
        read, commits = read_changes(head, {commit.name: commit for commit in stored.values()} if is_usable else None)
        read = replace(read, terms=terms)
        if not with_messages:
            commits = tuple(commit._replace(subject="", body="") for commit in commits)
    except TooSlow as fault:  # stored with the commit: it would be too slow again
        read = replace(read, fault=str(fault))
    except GitError as fault:
        read = HistoryRead("", "", fault=str(fault))
    if read != before or force:
        update.transaction.begin()
        stored = stored or store.history.commits(repository.id)
        store.history.replace(repository.id, read, commits, collect_histories(commits), stored)


def _update_lines(update: RepositoryUpdate) -> None:
    store, repository, force = update.store, update.repository, update.run.force
    before = store.lines.read(repository.id)
    lines = LinesRead({}, {})
    try:
        head = head_of(repository.root)
        read = (head.commit, line_terms(head), "")
        if before and not force and before[:2] == read[:2]:
            return
        _report_progress(update)
        is_usable = before and not force and before[1] == read[1] and not before[2]
        known = store.lines.by_path(repository.id) if is_usable else None
        lines = read_lines(head, before[0] if before else "", known)
    except TooSlow as fault:
        read = (*read[:2], str(fault))
    except GitError as fault:
        read = ("", "", str(fault))
    if read != before or force:
        update.transaction.begin()
        store.lines.replace(repository.id, read, lines.commits, lines.files)


def _report_progress(update: RepositoryUpdate) -> None:
    if update.run.progress:
        update.run.progress(Progress("history", 0, 0))
