"""Tables of git's history: changes of files, messages of commits, and the commits that wrote each line."""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any

from codelens.model.code import DocumentId, RepositoryId
from codelens.model.history import (
    FileHistory,
    FileMessages,
    HistoryRead,
    LineCommit,
    LineRun,
    MessageId,
    PastCommit,
    WrittenLines,
)
from codelens.store.codec import decompress
from codelens.store.connection import Tables
from codelens.store.merging import refuse, set_merge_rule
from codelens.store.postings import Phrases, quote_term
from codelens.text.terms import BEGINNING, index_terms


class Histories(Tables):
    """Reads and writes the histories of files."""

    @set_merge_rule(is_lasting=True)
    def read(self, repository: RepositoryId) -> HistoryRead | None:
        """Read how far a repository's history has been read; None if no run has tried."""
        return self._read("repository_id = ?", repository).get(repository)

    def read_all(self) -> dict[RepositoryId, HistoryRead]:
        """Read how far the history of each repository with commits has been read."""
        return self._read("commits > 0 ORDER BY repository_id")

    def _read(self, condition: str, *values: int) -> dict[RepositoryId, HistoryRead]:
        sql = f"SELECT repository_id, head, terms, time, commits, whole, fault FROM histories WHERE {condition}"
        rows = self._rows(sql, *values)
        return {i: HistoryRead(head, terms, at, n, bool(whole), fault) for i, head, terms, at, n, whole, fault in rows}

    def find_changes(self, documents: Iterable[DocumentId]) -> dict[DocumentId, FileHistory]:
        """Find the histories of those documents that a commit has changed: document → history."""
        sql = """SELECT c.commits, c.changed_at FROM documents d
            JOIN changes c ON c.repository_id = d.repository_id AND c.path = d.path WHERE d.id = ?"""
        wanted = sorted(set(documents))
        return {i: FileHistory(int(n), int(at)) for i in wanted for n, at in self._rows(sql, i)}

    def list_newest_paths(self, repository: RepositoryId, limit: int) -> list[str]:
        """List the paths that were committed last, including files that are not documents."""
        sql = "SELECT path FROM changes WHERE repository_id = ? ORDER BY changed_at DESC, path LIMIT ?"
        return [str(path) for (path,) in self._rows(sql, repository, limit)]

    def read_commits(self, repository: RepositoryId) -> dict[int, PastCommit]:
        """Read all stored commits of a repository: number → commit."""
        sql = "SELECT id, lower(hex(name)), time, subject, body, changes FROM messages WHERE repository_id = ?"
        rows = self._rows(sql, repository)
        return {number: PastCommit._make((*facts, *unpack_changes(packed))) for number, *facts, packed in rows}

    def replace(
        self,
        repository: RepositoryId,
        read: HistoryRead,
        commits: Sequence[PastCommit],
        files: Mapping[str, FileHistory],
        stored: Mapping[int, PastCommit],
    ) -> None:
        """Replace a repository's stored history; `stored` are its commits so far. Writes only rows that differ."""
        numbers = self._replace_messages(repository, commits, stored)
        weights = {commit.name: commit.weight for commit in commits}
        new = {}
        for path, h in sorted(files.items()):
            packed = struct.pack(f"<{len(h.names)}I", *(numbers[name] for name in h.names))
            new[path] = h.commits, h.changed, math.fsum(weights[name] for name in h.names), packed
        sql = "SELECT path, commits, changed_at, said, messages FROM changes WHERE repository_id = ?"
        old = {row[0]: tuple(row[1:]) for row in self._rows(sql, repository)}
        self._replace_rows("changes", "path", repository, old, new)
        row = (repository, read.head, read.terms, read.time, read.commits, read.whole, read.fault)
        self._run("INSERT OR REPLACE INTO histories VALUES (?,?,?,?,?,?,?)", *row)

    def _replace_messages(
        self, repository: RepositoryId, commits: Sequence[PastCommit], stored: Mapping[int, PastCommit]
    ) -> dict[str, int]:
        """Replace the stored commits; returns name → number of each commit. Known commits keep their number."""
        wanted = set(commits)
        numbers = {commit.name: number for number, commit in stored.items() if commit in wanted}
        first = self._number("SELECT coalesce(max(id), 0) + 1 FROM messages")
        gone = [(number,) for number, commit in stored.items() if commit not in wanted]
        self._run_many("DELETE FROM message_terms WHERE rowid = ?", gone)
        self._run_many("DELETE FROM messages WHERE id = ?", gone)
        new = list(enumerate((one for one in commits if one.name not in numbers), start=first))
        named = ((i, bytes.fromhex(c.name), c) for i, c in new)
        rows = [(i, repository, name, c.time, c.weight, c.subject, c.body, _pack_changes(c)) for i, name, c in named]
        self._run_many("INSERT INTO messages VALUES (?,?,?,?,?,?,?,?)", rows)
        texts = [(i, index_terms(f"{c.subject} {c.body}")) for i, c in new if c.paths and c.subject + c.body]
        self._run_many("INSERT INTO message_terms (rowid, text) VALUES (?,?)", texts)
        return numbers | {commit.name: i for i, commit in new}


def unpack_numbers(packed: bytes) -> tuple[int, ...]:
    """Unpack the numbers of the messages about a file, newest first."""
    return struct.unpack(f"<{len(packed) // 4}I", packed)


def _pack_changes(commit: PastCommit) -> bytes:
    from codelens.zstd import zstd

    text = json.dumps([commit.paths, commit.renames], separators=(",", ":"))
    return zstd.compress(text.encode("utf-8", "surrogatepass"))


def unpack_changes(packed: bytes) -> tuple[tuple[str, ...], tuple[tuple[str, str], ...]]:
    """Unpack a commit's changes: (paths, renames), with renames as pairs (old path, new path)."""
    paths, renames = json.loads(decompress(packed))
    return tuple(paths), tuple((old, new) for old, new in renames)


POOL = 200  # Number of best messages whose subjects are compared with the query


class Messages(Tables):
    """Finds messages of commits by file and by words."""

    @cached_property
    def _phrases(self) -> Phrases:
        return Phrases(self._connection)

    def _build_term_match(self, term: str) -> str:
        """Build the FTS5 expression for messages with a term. The table has no positions, so phrases become an AND of words."""
        if term.endswith(BEGINNING):
            return self._phrases.match_any([term])
        return " AND ".join(map(quote_term, self._phrases.split_into_words(term))) or quote_term("")

    def read_totals(self) -> tuple[float, ...]:
        """Count (messages, files that they are about), and sum the messages' weights over these files."""
        files: Any = self._row("SELECT count(*), total(said) FROM changes WHERE said > 0")
        count: Any = self._row("SELECT count(*) FROM message_terms_docsize")
        return (*count, *files)

    @set_merge_rule(is_lasting=True)
    def count_messages(self, term: str) -> int:
        """Count the messages with a term."""
        sql = "SELECT count(*) FROM message_terms WHERE message_terms MATCH ?"
        return self._number(sql, self._build_term_match(term))

    def weigh_documents(
        self, documents: Iterable[DocumentId], rarity: Mapping[str, float]
    ) -> dict[DocumentId, FileMessages]:
        """Score documents by the messages about them that have a term; without one they are left out. `rarity`: term → idf."""
        weights, terms_of = dict[int, float](), dict[int, list[str]]()
        sql = """SELECT m.id, m.weight FROM message_terms t CROSS JOIN messages m ON m.id = t.rowid
            WHERE message_terms MATCH ? AND m.weight > 0"""
        for term in rarity:
            rows = self._rows(sql, self._build_term_match(term))
            for number, weight in rows:
                weights[number] = weight
                terms_of.setdefault(number, []).append(term)
        sql = """SELECT c.said, c.messages FROM documents d
            JOIN changes c ON c.repository_id = d.repository_id AND c.path = d.path WHERE d.id = ? AND c.said > 0"""
        by_document: dict[DocumentId, FileMessages] = {}
        for document in sorted(set(documents)) if weights else ():
            rows = self._rows(sql, document)
            numbers = [n for _, packed in rows for n in unpack_numbers(bytes(packed)) if n in weights]
            if not numbers:
                continue
            by_term: dict[str, list[float]] = {}
            for number in numbers:
                for term in terms_of[number]:
                    by_term.setdefault(term, []).append(weights[number])
            values = [weights[n] * math.fsum(rarity[term] for term in terms_of[n]) for n in numbers]
            best = numbers[values.index(max(values))]
            by_document[document] = FileMessages(rows[0][0], {term: math.fsum(w) for term, w in by_term.items()}, best)
        return by_document

    @set_merge_rule(refuse)
    def rank_by_terms(self, terms: Sequence[str]) -> list[tuple[float, MessageId]]:
        """Rank messages by their terms: (sum of idf, number), best first. For the best POOL, terms in the subject count twice."""
        total, rarity = self.read_totals()[0], dict[str, float]()
        messages: dict[int, tuple[tuple[Any, ...], str, list[str]]] = {}
        sql = """SELECT m.id, m.time, hex(m.name), r.name, m.subject FROM message_terms t
            CROSS JOIN messages m ON m.id = t.rowid JOIN repositories r ON r.id = m.repository_id
            WHERE message_terms MATCH ?"""
        for term in dict.fromkeys(terms):
            rows = self._rows(sql, self._build_term_match(term))
            rarity[term] = math.log(1.0 + (total - len(rows) + 0.5) / (len(rows) + 0.5))
            for number, time, *names, subject in rows:
                messages.setdefault(number, ((-time, *names), subject, []))[2].append(term)

        def sort_by_score(scores: Mapping[int, float]) -> list[tuple[float, int]]:
            return sorted(((s, n) for n, s in scores.items()), key=lambda pair: (-pair[0], messages[pair[1]][0]))

        ranked = sort_by_score({n: math.fsum(map(rarity.__getitem__, m)) for n, (_, _, m) in messages.items()})
        best: dict[int, float] = {}
        for score, number in ranked[:POOL]:
            _, subject, matched = messages[number]
            stems = set(self._phrases.split_into_stems(index_terms(subject)))
            best[number] = score + math.fsum(rarity[term] for term in matched if self._phrases.stem(term) in stems)
        return [*sort_by_score(best), *ranked[POOL:]]

    def read_commit(self, number: MessageId) -> tuple[str, PastCommit]:
        """Read a message's repository and commit: (name of the repository, commit)."""
        sql = """SELECT r.name, lower(hex(m.name)), m.time, m.subject, m.body, m.changes FROM messages m
            JOIN repositories r ON r.id = m.repository_id WHERE m.id = ?"""
        repository, *facts, packed = self._row(sql, number)
        return repository, PastCommit._make((*facts, *unpack_changes(packed)))


class LineHistories(Tables):
    """Reads and writes which commit wrote each line."""

    def read(self, repository: RepositoryId) -> tuple[str, str, str] | None:
        """Read (head, terms, fault) of the last reading of line histories; None if no run has tried."""
        sql = "SELECT head, terms, fault FROM line_histories WHERE repository_id = ?"
        return next(iter(self._rows(sql, repository)), None)

    @set_merge_rule(is_lasting=True)
    def read_commits(self, repository: RepositoryId) -> dict[int, LineCommit]:
        """Read all stored commits of a repository: number → commit."""
        sql = "SELECT id, time, author FROM commits WHERE repository_id = ?"
        return {number: LineCommit(at, author) for number, at, author in self._rows(sql, repository)}

    def read_by_path(self, repository: RepositoryId, paths: Iterable[str] | None = None) -> dict[str, WrittenLines]:
        """Read the line histories of all files, or of the given paths: path → lines."""
        sql, values = "SELECT path, blob, last, runs FROM written_lines WHERE repository_id = ?", []
        if paths is not None:
            sql += " AND path IN (SELECT value FROM json_each(?))"
            values = [json.dumps(list(paths))]
        rows = self._rows(sql, repository, *values)
        return {path: WrittenLines(blob, last, unpack_runs(runs)) for path, blob, last, runs in rows}

    def replace(
        self,
        repository: RepositoryId,
        read: tuple[str, str, str],
        commits: Mapping[int, LineCommit],
        files: Mapping[str, WrittenLines],
    ) -> None:
        """Replace a repository's line histories in the caller's transaction. Writes only rows that differ."""
        sql = "SELECT path, blob, last, runs FROM written_lines WHERE repository_id = ?"
        old_lines = {path: (blob, last, runs) for path, blob, last, runs in self._rows(sql, repository)}
        lines = {path: (file.blob, file.last, _pack_runs(file.runs)) for path, file in sorted(files.items())}
        self._replace_rows("written_lines", "path", repository, old_lines, lines)
        old_commits = {number: (commit.time, commit.author) for number, commit in self.read_commits(repository).items()}
        new_commits = {number: (commit.time, commit.author) for number, commit in sorted(commits.items())}
        self._replace_rows("commits", "id", repository, old_commits, new_commits)
        self._run("INSERT OR REPLACE INTO line_histories VALUES (?,?,?,?)", repository, *read)


def _pack_runs(runs: tuple[LineRun, ...]) -> bytes:
    """Pack runs of lines: each commit once, then (number of lines, position of the commit) for each run."""
    from codelens.zstd import zstd

    commits = list(dict.fromkeys(run.commit for run in runs))
    place = {commit: i for i, commit in enumerate(commits)}
    text = json.dumps([commits, [n for run in runs for n in (run.lines, place[run.commit])]], separators=(",", ":"))
    return zstd.compress(text.encode(), 3)


def unpack_runs(packed: bytes) -> tuple[LineRun, ...]:
    """Unpack runs of lines, each with the commit that wrote them."""
    commits, numbers = json.loads(decompress(packed))
    return tuple(LineRun(lines, commits[place]) for lines, place in zip(numbers[::2], numbers[1::2], strict=True))
