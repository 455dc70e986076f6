"""Small databases next to an index: users' records about results, and observations of which symbols ran.

They use SQLite's rollback journal instead of WAL, so each is a single file at rest, and writers of a few rows wait only
milliseconds for each other. The next process that opens the file rolls back the journal of a killed writer.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar, Self

import apsw

from codelens.errors import CodelensError, MemoryFault, TracesFault, UnsafePath
from codelens.model.memory import (
    AnsweredPlace,
    Feedback,
    LearnedWord,
    ObservedRuns,
    Place,
    PlaceRecord,
    PlaceRecords,
    RecordedAnswer,
)
from codelens.store.connection import open_beside

_DAMAGE = (apsw.CorruptError, apsw.NotADBError, apsw.FormatError, apsw.SQLError, apsw.MismatchError)


class FileBeside:
    """A small database next to an index, opened for reading or for one writing transaction. A missing file reads as empty."""

    fault: ClassVar[type[CodelensError]]
    name: ClassVar[str]  # What messages call such a file, as 'a memory file'
    removal: ClassVar[str]  # The command that removes it
    schemas: ClassVar[tuple[str, ...]]  # One script per version, from 1; never changed once released
    tables: ClassVar[frozenset[str]]  # Tables that identify such a file
    named_table: ClassVar[str]  # The table with names of repositories

    def __init__(self, connection: apsw.Connection | None) -> None:
        self._connection = connection

    @classmethod
    @contextmanager
    def open_for_reading(cls, path: Path) -> Iterator[Self]:
        """Open for reading a single state. Raises `fault` if the file is damaged, unreadable, or from a newer codelens."""
        if not path.is_file():
            yield cls(None)
            return
        with cls._report_faults(path):
            connection = open_beside(path, writing=False)
            try:
                connection.execute("BEGIN").fetchall()
                # An empty file is being created by another process right now.
                yield cls(connection if cls._has_tables(connection, path) else None)
            finally:
                connection.close()

    @classmethod
    @contextmanager
    def open_for_writing(cls, path: Path) -> Iterator[Self]:
        """Open or create for writing in one transaction. Raises `fault` if another writer does not finish in time."""
        with cls._report_faults(path):
            connection = open_beside(path, writing=True)
            try:
                connection.execute("BEGIN IMMEDIATE").fetchall()
                cls._has_tables(connection, path)
                version = int(connection.pragma("user_version"))
                for script in cls.schemas[version:]:
                    connection.execute(script).fetchall()  # fetchall, or only the first statement would run
                if version < len(cls.schemas):
                    connection.pragma("user_version", len(cls.schemas))
                yield cls(connection)
                connection.execute("COMMIT").fetchall()
            finally:
                connection.close()  # rolls back uncommitted work

    def rename_repositories(self, names: Mapping[str, str]) -> None:
        """Rename repositories in the records: old name → new name."""
        for old, new in names.items():
            self._run(f"UPDATE OR IGNORE {self.named_table} SET repository = ? WHERE repository = ?", new, old)

    def _rows(self, sql: str, *values: Any) -> list[Any]:
        return [] if self._connection is None else self._connection.execute(sql, values).fetchall()

    def _run(self, sql: str, *values: Any) -> int:
        """Run a statement and return the number of changed rows."""
        assert self._connection is not None
        self._connection.execute(sql, values).fetchall()
        return self._connection.changes()

    @classmethod
    def _has_tables(cls, connection: apsw.Connection, path: Path) -> bool:
        """True if the file has our tables, False if it is empty. Raises `fault` for other files, or those of a newer codelens."""
        version = int(connection.pragma("user_version"))
        if version > len(cls.schemas):
            raise cls.fault(f"{path} was written by a newer codelens", f"upgrade codelens, or `{cls.removal}`")
        tables = {str(name) for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")}
        if tables and (not version or not cls.tables <= tables):
            raise cls.fault(f"{path} is not {cls.name} of codelens")
        return bool(tables)

    @classmethod
    @contextmanager
    def _report_faults(cls, path: Path) -> Iterator[None]:
        try:
            yield
        except _DAMAGE as fault:
            raise cls.fault(f"{path} is damaged: {fault}") from fault
        except apsw.Error as fault:
            raise cls.fault(f"{path} cannot be used: {fault}", "check its permissions, and try again") from fault
        except (OSError, UnsafePath) as fault:
            reason = getattr(fault, "strerror", None)
            raise cls.fault(f"{path} cannot be used: {reason or fault}") from fault


MOST_STAMPS = 20  # Limit on stamps kept per place, the newest first
MOST_ANSWERS = 50  # Limit on answers kept for all sessions; only the last of each session is needed
MOST_FEEDBACK = 50  # Limit on judgements kept per place; older ones have mostly expired as the code changed

MEMORY_SCHEMAS = (
    """
    CREATE TABLE places (
        id         INTEGER PRIMARY KEY,
        repository TEXT NOT NULL,
        path       TEXT NOT NULL,      -- relative to the repository's root
        name       TEXT NOT NULL,      -- qualified; empty for a file
        kind       TEXT NOT NULL,
        UNIQUE (path, repository, name, kind)
    );
    CREATE TABLE pins (place INTEGER PRIMARY KEY REFERENCES places (id), at INTEGER NOT NULL);
    CREATE TABLE ratings (place INTEGER PRIMARY KEY REFERENCES places (id), rating REAL NOT NULL, at INTEGER NOT NULL);
    CREATE TABLE uses (place INTEGER PRIMARY KEY REFERENCES places (id), count INTEGER NOT NULL, at INTEGER NOT NULL);
    CREATE TABLE feedback (
        id      INTEGER PRIMARY KEY,
        place   INTEGER NOT NULL REFERENCES places (id),
        useful  INTEGER NOT NULL,
        implied INTEGER NOT NULL,
        digest  TEXT NOT NULL,         -- of the neighbourhood when it was given
        query   TEXT NOT NULL,
        at      INTEGER NOT NULL
    );
    CREATE INDEX feedback_by_place ON feedback (place);
    CREATE TABLE stamps (id INTEGER PRIMARY KEY, place INTEGER NOT NULL REFERENCES places (id), at INTEGER NOT NULL);
    CREATE INDEX stamps_by_place ON stamps (place);
    CREATE TABLE vocabulary (
        word  TEXT NOT NULL,
        place INTEGER NOT NULL REFERENCES places (id),
        count INTEGER NOT NULL,
        at    INTEGER NOT NULL,
        PRIMARY KEY (word, place)
    ) WITHOUT ROWID;
    CREATE TABLE answers (
        id      INTEGER PRIMARY KEY,
        session TEXT NOT NULL,
        query   TEXT NOT NULL,
        words   TEXT NOT NULL,         -- JSON
        at      INTEGER NOT NULL,
        settled INTEGER NOT NULL
    );
    CREATE TABLE answered (
        answer INTEGER NOT NULL REFERENCES answers (id),
        rank   INTEGER NOT NULL,
        place  INTEGER NOT NULL REFERENCES places (id),
        line   INTEGER NOT NULL,
        used   INTEGER NOT NULL,
        PRIMARY KEY (answer, rank)
    ) WITHOUT ROWID;
    """,
)
"""One script per version, from 1; never changed once released."""
_RECALLED = (
    ("pins", "1", ""),
    ("ratings", "t.rating", ""),
    ("uses", "t.count", ""),
    ("feedback", "t.useful, t.digest, t.implied, t.query", ", t.id"),
    ("stamps", "t.at", ", t.at"),
)
"""(table, its columns, their order) of records about a place."""
KEPT = ("pins", "ratings", "uses", "feedback", "stamps", "vocabulary", "answered")  # Tables with rows about a place


def _make_record(rows: Mapping[str, list[Any]]) -> PlaceRecord:
    """Make the record of a place from the rows of each table in `_RECALLED`."""
    ((rating,), *_), ((uses,), *_) = rows.get("ratings", [(None,)]), rows.get("uses", [(0,)])
    judged = (Feedback(bool(u), str(d), bool(i), str(q)) for u, d, i, q in rows.get("feedback", ()))
    return PlaceRecord("pins" in rows, rating, uses, tuple(judged), tuple(int(at) for (at,) in rows.get("stamps", ())))


class Memory(FileBeside):
    """A memory file: what users recorded about results. Ranking reads it; writes are short transactions."""

    fault, name, removal = MemoryFault, "a memory file", "codelens memory forget --all"
    schemas, tables, named_table = MEMORY_SCHEMAS, frozenset((*KEPT, "places", "answers")), "places"

    def read_records(self, paths: Collection[str]) -> PlaceRecords:
        """Read all records for places in these files and for the files themselves, in any repository."""
        among, by_place = json.dumps(sorted(set(paths))), dict[Place, dict[str, list[Any]]]()
        for table, columns, order in _RECALLED:
            sql = f"""SELECT p.repository, p.path, p.name, p.kind, {columns} FROM json_each(?) n
                CROSS JOIN places p ON p.path = n.value JOIN {table} t ON t.place = p.id
                ORDER BY p.path, p.repository, p.name, p.kind{order}"""
            for row in self._rows(sql, among):
                by_place.setdefault(Place(*row[:4]), {}).setdefault(table, []).append(row[4:])
        return PlaceRecords({place: _make_record(by_place[place]) for place in sorted(by_place)})

    def find_learned_words(self, words: Collection[str], least: int) -> list[LearnedWord]:
        """Find the places used at least `least` times for one of these words, the most used first, then by content."""
        sql = """SELECT v.word, p.repository, p.path, p.name, p.kind, v.count FROM json_each(?) n
            CROSS JOIN vocabulary v ON v.word = n.value JOIN places p ON p.id = v.place WHERE v.count >= ?
            ORDER BY v.count DESC, v.word, p.path, p.repository, p.name, p.kind"""
        rows = self._rows(sql, json.dumps(sorted(set(words))), least)
        return [LearnedWord(row[0], Place(*row[1:5]), row[5]) for row in rows]

    def read_last_answer(self, session: str = "") -> RecordedAnswer | None:
        """Read the newest recorded answer of a session; None if it has no answers."""
        return next(iter(self._find_answers("session = ? ORDER BY id DESC LIMIT 1", session)), None)

    def find_unsettled(self, session: str = "") -> list[RecordedAnswer]:
        """Find a session's answers whose unused places have not been judged yet, oldest first."""
        return self._find_answers("session = ? AND NOT settled ORDER BY id", session)

    def _find_answers(self, condition: str, *values: str) -> list[RecordedAnswer]:
        answers = []
        sql = """SELECT a.rank, p.repository, p.path, p.name, p.kind, a.line, a.used FROM answered a
            JOIN places p ON p.id = a.place WHERE a.answer = ? ORDER BY a.rank"""
        rows = self._rows(f"SELECT id, query, words, at, session FROM answers WHERE {condition}", *values)
        for number, query, words, at, session in rows:
            places = (AnsweredPlace(r[0], Place(*r[1:5]), r[5], bool(r[6])) for r in self._rows(sql, number))
            answers.append(RecordedAnswer(str(query), tuple(json.loads(words)), at, tuple(places), session, number))
        return answers

    def list_places(self) -> list[Place]:
        """List every place with a record, by content."""
        sql = "SELECT repository, path, name, kind FROM places ORDER BY path, repository, name, kind"
        return [Place(*row) for row in self._rows(sql)]

    def export_rows(self) -> dict[str, list[dict[str, Any]]]:
        """Export all rows as objects, with places by name: table → rows, ordered by content, then by time."""
        columns = {
            "pins": "t.at",
            "ratings": "t.rating, t.at",
            "uses": "t.count, t.at",
            "feedback": "t.useful, t.implied, t.digest, t.query, t.at",
            "stamps": "t.at",
            "vocabulary": "t.word, t.count, t.at",
        }
        exported = {table: self._export_table(table, names) for table, names in columns.items()}
        exported["answers"] = [
            {
                "query": answer.query,
                "words": list(answer.words),
                "at": answer.at,
                "session": answer.session,
                "places": [
                    {**place._asdict(), "rank": r, "line": at, "used": used} for r, place, at, used in answer.places
                ],
            }
            for answer in self._find_answers("true ORDER BY id")
        ]
        return exported

    def _export_table(self, table: str, columns: str) -> list[dict[str, Any]]:
        names = ["repository", "path", "name", "kind", *(c.removeprefix("t.") for c in columns.split(", "))]
        order = "t.word, " if table == "vocabulary" else ""
        last = ", t.id" if table in ("feedback", "stamps") else ""
        sql = f"""SELECT p.repository, p.path, p.name, p.kind, {columns} FROM {table} t JOIN places p ON p.id = t.place
            ORDER BY {order}p.path, p.repository, p.name, p.kind{last}"""
        rows = [dict(zip(names, row, strict=True)) for row in self._rows(sql)]
        return [row | {name: bool(row[name]) for name in ("useful", "implied") if name in row} for row in rows]

    # Writing

    def pin_place(self, place: Place, at: int) -> None:
        """Pin a place, if it is not pinned yet."""
        self._run("INSERT OR IGNORE INTO pins VALUES (?, ?)", self._find_place_id(place), at)

    def unpin_place(self, place: Place) -> bool:
        """Unpin a place; returns True if it was pinned."""
        return bool(self._run("DELETE FROM pins WHERE place = ?", self._find_place_id(place)))

    def rate_place(self, place: Place, rating: float, at: int) -> None:
        """Rate a place from 0 to 10, replacing an earlier rating."""
        self._run("INSERT OR REPLACE INTO ratings VALUES (?, ?, ?)", self._find_place_id(place), rating, at)

    def count_use(self, place: Place, at: int) -> None:
        """Count one use of a place."""
        sql = "INSERT INTO uses VALUES (?1, 1, ?2) ON CONFLICT DO UPDATE SET count = count + 1, at = ?2"
        self._run(sql, self._find_place_id(place), at)

    def add_judgement(self, place: Place, judged: Feedback, at: int) -> None:
        """Record one judgement of a place."""
        number = self._find_place_id(place)
        sql = "INSERT INTO feedback (place, useful, implied, digest, query, at) VALUES (?, ?, ?, ?, ?, ?)"
        self._run(sql, number, judged.useful, judged.implied, judged.digest, judged.query, at)
        self._keep_newest("feedback", number, MOST_FEEDBACK)

    def add_stamp(self, place: Place, at: int) -> None:
        """Record that an answer contained the place."""
        number = self._find_place_id(place)
        self._run("INSERT INTO stamps (place, at) VALUES (?, ?)", number, at)
        self._keep_newest("stamps", number, MOST_STAMPS)

    def _keep_newest(self, table: str, place: int, most: int) -> None:
        """Delete all but the `most` newest rows of a place."""
        newest = f"SELECT id FROM {table} WHERE place = ?1 ORDER BY at DESC, id DESC LIMIT ?2"
        self._run(f"DELETE FROM {table} WHERE place = ?1 AND id NOT IN ({newest})", place, most)

    def learn_word(self, word: str, place: Place, at: int) -> None:
        """Count a use of the place for a query with this word."""
        sql = "INSERT INTO vocabulary VALUES (?1, ?2, 1, ?3) ON CONFLICT DO UPDATE SET count = count + 1, at = ?3"
        self._run(sql, word, self._find_place_id(place), at)

    def add_answer(self, answer: RecordedAnswer) -> int:
        """Record an answer and return its number. Only the newest are kept."""
        sql = "INSERT INTO answers (session, query, words, at, settled) VALUES (?, ?, ?, ?, 0)"
        self._run(sql, answer.session, answer.query, json.dumps(answer.words, ensure_ascii=False), answer.at)
        ((number,),) = self._rows("SELECT last_insert_rowid()")
        for rank, place, line, used in answer.places:
            sql = "INSERT INTO answered VALUES (?, ?, ?, ?, ?)"
            self._run(sql, number, rank, self._find_place_id(place), line, used)
        self._run("DELETE FROM answered WHERE answer <= ?", number - MOST_ANSWERS)
        self._run("DELETE FROM answers WHERE id <= ?", number - MOST_ANSWERS)
        return int(number)

    def mark_used(self, answer: int, rank: int) -> None:
        """Mark one place of an answer as used."""
        self._run("UPDATE answered SET used = 1 WHERE answer = ? AND rank = ?", answer, rank)

    def settle_answer(self, answer: int) -> None:
        """Mark an answer as settled: its unused places have been judged, or never will be."""
        self._run("UPDATE answers SET settled = 1 WHERE id = ?", answer)

    def forget_places(self, places: Collection[Place]) -> int:
        """Delete all records of these places, with the answers that contained them. Returns the number of deleted rows."""
        numbers = json.dumps([self._find_place_id(place) for place in sorted(places)])
        among = "place IN (SELECT value FROM json_each(?))"
        self._run(f"DELETE FROM answers WHERE id IN (SELECT answer FROM answered WHERE {among})", numbers)
        gone = sum(self._run(f"DELETE FROM {table} WHERE {among}", numbers) for table in KEPT)
        self._run("DELETE FROM answered WHERE answer NOT IN (SELECT id FROM answers)")
        self._run("DELETE FROM places WHERE id IN (SELECT value FROM json_each(?))", numbers)
        return gone

    def _find_place_id(self, place: Place) -> int:
        """Find the id of a place, or add the place."""
        self._run("INSERT OR IGNORE INTO places (repository, path, name, kind) VALUES (?, ?, ?, ?)", *place)
        sql = "SELECT id FROM places WHERE path = ?2 AND repository = ?1 AND name = ?3 AND kind = ?4"
        ((number,),) = self._rows(sql, *place)
        return int(number)


TRACES_SCHEMAS = (
    """
    CREATE TABLE observed (
        repository TEXT NOT NULL,
        path       TEXT NOT NULL,      -- relative to the repository's root
        name       TEXT NOT NULL,      -- qualified
        kind       TEXT NOT NULL,
        count      INTEGER NOT NULL,
        last       INTEGER NOT NULL,   -- unix seconds
        PRIMARY KEY (path, repository, name, kind)
    ) WITHOUT ROWID;
    CREATE TABLE files (digest TEXT PRIMARY KEY) WITHOUT ROWID;
    """,
)


class Traces(FileBeside):
    """A traces file: which symbols ran, how often, and when last."""

    fault, name, removal = TracesFault, "a traces file", "codelens graph traces --forget"
    schemas, tables, named_table = TRACES_SCHEMAS, frozenset({"observed", "files"}), "observed"

    def find_newest_time(self) -> int:
        """Find the time of the last observation in Unix seconds; 0 without observations."""
        return next((int(row[0] or 0) for row in self._rows("SELECT max(last) FROM observed")), 0)

    def find_runs(self, paths: Collection[str]) -> dict[Place, ObservedRuns]:
        """Read the observations of the symbols in these files, in any repository."""
        sql = """SELECT o.repository, o.path, o.name, o.kind, o.count, o.last FROM json_each(?) n
            CROSS JOIN observed o ON o.path = n.value"""
        return {Place(*row[:4]): ObservedRuns(*row[4:]) for row in self._rows(sql, json.dumps(sorted(set(paths))))}

    def has_imported(self, digest: str) -> bool:
        """True if a file with this digest has been imported."""
        return any(self._rows("SELECT 1 FROM files WHERE digest = ?", digest))

    def read_all(self) -> dict[Place, ObservedRuns]:
        """Read the observations of all symbols."""
        sql = "SELECT repository, path, name, kind, count, last FROM observed"
        return {Place(*row[:4]): ObservedRuns(*row[4:]) for row in self._rows(sql)}

    # Writing

    def mark_imported(self, digest: str) -> None:
        """Record that a file with this digest has been imported."""
        self._run("INSERT INTO files VALUES (?)", digest)

    def add_runs(self, place: Place, seen: ObservedRuns) -> None:
        """Add observations of a symbol to the stored ones."""
        sql = """INSERT INTO observed VALUES (?, ?, ?, ?, ?5, ?6)
            ON CONFLICT DO UPDATE SET count = count + ?5, last = max(last, ?6)"""
        self._run(sql, *place, *seen)
