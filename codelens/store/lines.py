"""Which commit wrote each line of a file, kept by repository and path."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

import apsw

from codelens.model import RepositoryId
from codelens.past import LineCommit, Run, WrittenLines
from codelens.store.compressed import decompress


class Lines:
    """The gateway to line histories, commits and written lines."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection

    def read(self, repository: RepositoryId) -> tuple[str, str, str] | None:
        """(head, terms, fault) of what was read; None where no run has tried."""
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
        """Path → its lines, of all files that these commits changed; of these paths only, where they are given."""
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
        """Keep this in the place of what was kept; only rows that differ are written. Part of the caller's transaction."""
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


def _packed(runs: tuple[Run, ...]) -> bytes:
    """Each commit once, then (lines, place of the commit among these) of each run."""
    import zstandard

    commits = list(dict.fromkeys(run.commit for run in runs))
    place = {commit: i for i, commit in enumerate(commits)}
    text = json.dumps([commits, [n for run in runs for n in (run.lines, place[run.commit])]], separators=(",", ":"))
    return zstandard.ZstdCompressor(level=3, write_content_size=True).compress(text.encode())


def unpack_runs(packed: bytes) -> tuple[Run, ...]:
    """What was packed: runs of lines, each with the commit that wrote them."""
    commits, numbers = json.loads(decompress(packed))
    return tuple(Run(lines, commits[place]) for lines, place in zip(numbers[::2], numbers[1::2], strict=True))
