"""Tables of git's history: changes of files, and the commits that wrote their lines, by repository and path."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

import apsw

from codelens.model.code import DocumentId, RepositoryId
from codelens.model.history import History, HistoryRead, LineCommit, LineRun, WrittenLines
from codelens.store.codec import decompress


class Histories:
    """Reads and writes the histories of files."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection

    def read(self, repository: RepositoryId) -> HistoryRead | None:
        """How far a repository's history has been read; None if no run has tried."""
        sql = "SELECT head, terms, time, commits, whole, fault FROM histories WHERE repository_id = ?"
        row = self._connection.execute(sql, (repository,)).fetchone()
        if row is None:
            return None
        head, terms, time, commits, whole, fault = row
        return HistoryRead(str(head), str(terms), int(time), int(commits), bool(whole), str(fault))

    def all(self) -> dict[RepositoryId, tuple[HistoryRead, int]]:
        """Repository → how far its history was read, and the highest number of commits of any document, for those with commits."""
        found: dict[RepositoryId, tuple[HistoryRead, int]] = {}
        for row in self._connection.execute("SELECT repository_id FROM histories ORDER BY 1").fetchall():
            repository = RepositoryId(int(row[0]))  # type: ignore[arg-type]
            read = self.read(repository)
            if read is not None and read.commits:
                found[repository] = read, self.most_commits(repository)
        return found

    def of(self, documents: Iterable[DocumentId]) -> dict[DocumentId, History]:
        """Document → history, for those that a commit has changed."""
        sql = (
            "SELECT c.commits, c.changed_at FROM documents d "
            "JOIN changes c ON c.repository_id = d.repository_id AND c.path = d.path WHERE d.id = ?"
        )
        wanted = sorted(set(documents))
        return {i: History(int(n), int(at)) for i in wanted for n, at in self._connection.execute(sql, (i,))}

    def most_commits(self, repository: RepositoryId) -> int:
        """The highest number of commits of any document; 0 without a history."""
        sql = (
            "SELECT c.commits FROM changes c CROSS JOIN documents d ON d.repository_id = c.repository_id AND d.path = c.path "
            "WHERE c.repository_id = ? ORDER BY c.commits DESC LIMIT 1"
        )
        row = self._connection.execute(sql, (repository,)).fetchone()
        return int(row[0]) if row else 0

    def by_path(self, repository: RepositoryId) -> dict[str, History]:
        """Path → history of all files, also of those that are not documents."""
        sql = "SELECT path, commits, changed_at FROM changes WHERE repository_id = ?"
        rows = self._connection.execute(sql, (repository,))
        return {str(path): History(int(commits), int(at)) for path, commits, at in rows}

    def newest(self, repository: RepositoryId, limit: int) -> list[str]:
        """Paths that were committed last, also of files that are not documents."""
        sql = "SELECT path FROM changes WHERE repository_id = ? ORDER BY changed_at DESC, path LIMIT ?"
        return [str(path) for (path,) in self._connection.execute(sql, (repository, limit))]

    def replace(self, repository: RepositoryId, read: HistoryRead, files: Mapping[str, History]) -> None:
        """Replace what is stored; writes only rows that differ. Part of the caller's transaction."""
        old = self.by_path(repository)
        gone = [(repository, path) for path in old if path not in files]
        new = [(repository, path, h.commits, h.changed) for path, h in sorted(files.items()) if old.get(path) != h]
        self._connection.executemany("DELETE FROM changes WHERE repository_id = ? AND path = ?", gone).fetchall()
        self._connection.executemany("INSERT OR REPLACE INTO changes VALUES (?,?,?,?)", new).fetchall()
        row = (repository, read.head, read.terms, read.time, read.commits, read.whole, read.fault)
        self._connection.execute("INSERT OR REPLACE INTO histories VALUES (?,?,?,?,?,?,?)", row).fetchall()


class LineHistories:
    """Reads and writes line histories with their commits."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection

    def read(self, repository: RepositoryId) -> tuple[str, str, str] | None:
        """(head, terms, fault) of what was read; None if no run has tried."""
        sql = "SELECT head, terms, fault FROM line_histories WHERE repository_id = ?"
        row = self._connection.execute(sql, (repository,)).fetchone()
        return None if row is None else (str(row[0]), str(row[1]), str(row[2]))

    def commits(self, repository: RepositoryId) -> dict[int, LineCommit]:
        """Number → commit, of all that were read."""
        sql = "SELECT id, time, author FROM commits WHERE repository_id = ?"
        return {
            int(i): LineCommit(int(at), str(author)) for i, at, author in self._connection.execute(sql, (repository,))
        }

    def by_path(self, repository: RepositoryId, paths: Iterable[str] | None = None) -> dict[str, WrittenLines]:
        """Path → its lines, of all files that these commits changed, or of the given paths."""
        sql = "SELECT path, blob, last, runs FROM written_lines WHERE repository_id = ?"
        rows: list[Any] = []
        if paths is None:
            rows = self._connection.execute(sql, (repository,)).fetchall()
        for path in paths or ():
            rows += self._connection.execute(f"{sql} AND path = ?", (repository, path)).fetchall()
        return {
            str(path): WrittenLines(bytes(blob), int(last), unpack_runs(bytes(runs))) for path, blob, last, runs in rows
        }

    def replace(
        self,
        repository: RepositoryId,
        read: tuple[str, str, str],
        commits: Mapping[int, LineCommit],
        files: Mapping[str, WrittenLines],
    ) -> None:
        """Replace what is stored; writes only rows that differ. Part of the caller's transaction."""
        old, had = self.by_path(repository), self.commits(repository)
        execute = self._connection.executemany
        execute(
            "DELETE FROM written_lines WHERE repository_id = ? AND path = ?",
            [(repository, path) for path in old if path not in files],
        ).fetchall()
        execute(
            "INSERT OR REPLACE INTO written_lines VALUES (?,?,?,?,?)",
            [
                (repository, path, lines.blob, lines.last, _packed(lines.runs))
                for path, lines in sorted(files.items())
                if old.get(path) != lines
            ],
        ).fetchall()
        execute(
            "DELETE FROM commits WHERE repository_id = ? AND id = ?", [(repository, i) for i in had if i not in commits]
        ).fetchall()
        execute(
            "INSERT OR REPLACE INTO commits VALUES (?,?,?,?)",
            [(repository, i, c.time, c.author) for i, c in sorted(commits.items()) if had.get(i) != c],
        ).fetchall()
        self._connection.execute(
            "INSERT OR REPLACE INTO line_histories VALUES (?,?,?,?)", (repository, *read)
        ).fetchall()


def _packed(runs: tuple[LineRun, ...]) -> bytes:
    """Pack each commit once, then (lines, position of the commit) of each run."""
    from codelens.zstd import zstd

    commits = list(dict.fromkeys(run.commit for run in runs))
    place = {commit: i for i, commit in enumerate(commits)}
    text = json.dumps([commits, [n for run in runs for n in (run.lines, place[run.commit])]], separators=(",", ":"))
    return zstd.compress(text.encode(), 3)


def unpack_runs(packed: bytes) -> tuple[LineRun, ...]:
    """The packed runs of lines, each with the commit that wrote them."""
    commits, numbers = json.loads(decompress(packed))
    return tuple(LineRun(lines, commits[place]) for lines, place in zip(numbers[::2], numbers[1::2], strict=True))
