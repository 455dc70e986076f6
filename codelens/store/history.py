"""What git's commits say of the past of files, kept by repository and path."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import apsw

from codelens.model import DocumentId, RepositoryId
from codelens.past import History, HistoryRead


class Histories:
    """The gateway to histories and changes."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection

    def read(self, repository: RepositoryId) -> HistoryRead | None:
        """What was read of a repository's history; None where no run has tried."""
        sql = "SELECT head, terms, time, commits, whole, fault FROM histories WHERE repository_id = ?"
        row = self._connection.execute(sql, (repository,)).fetchone()
        if row is None:
            return None
        head, terms, time, commits, whole, fault = row
        return HistoryRead(str(head), str(terms), int(time), int(commits), bool(whole), str(fault))

    def of(self, documents: Iterable[DocumentId]) -> dict[DocumentId, History]:
        """Document → history, for those that a commit that was read has changed."""
        sql = (
            "SELECT c.commits, c.changed_at FROM documents d "
            "JOIN changes c ON c.repository_id = d.repository_id AND c.path = d.path WHERE d.id = ?"
        )
        asked = sorted(set(documents))
        return {i: History(int(n), int(at)) for i in asked for n, at in self._connection.execute(sql, (i,))}

    def most_commits(self, repository: RepositoryId) -> int:
        """How many commits changed the document that most of them changed; 0 where no history is known."""
        sql = (
            "SELECT c.commits FROM changes c CROSS JOIN documents d ON d.repository_id = c.repository_id AND d.path = c.path "
            "WHERE c.repository_id = ? ORDER BY c.commits DESC LIMIT 1"
        )
        row = self._connection.execute(sql, (repository,)).fetchone()
        return int(row[0]) if row else 0

    def by_path(self, repository: RepositoryId) -> dict[str, History]:
        """Path → history for all that is kept, also for files that are no documents."""
        sql = "SELECT path, commits, changed_at FROM changes WHERE repository_id = ?"
        rows = self._connection.execute(sql, (repository,))
        return {str(path): History(int(commits), int(at)) for path, commits, at in rows}

    def replace(self, repository: RepositoryId, read: HistoryRead, files: Mapping[str, History]) -> None:
        """Keep this in the place of what was kept; only rows that differ are written. Part of the caller's transaction."""
        old = self.by_path(repository)
        gone = [(repository, path) for path in old if path not in files]
        new = [(repository, path, h.commits, h.changed) for path, h in sorted(files.items()) if old.get(path) != h]
        self._connection.executemany("DELETE FROM changes WHERE repository_id = ? AND path = ?", gone).fetchall()
        self._connection.executemany("INSERT OR REPLACE INTO changes VALUES (?,?,?,?)", new).fetchall()
        row = (repository, read.head, read.terms, read.time, read.commits, read.whole, read.fault)
        self._connection.execute("INSERT OR REPLACE INTO histories VALUES (?,?,?,?,?,?,?)", row).fetchall()
