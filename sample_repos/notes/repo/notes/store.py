"""The database: accounts, notes and their revisions."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

SCHEMA = """
CREATE TABLE IF NOT EXISTS accounts (name TEXT PRIMARY KEY, password_hash TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS notes (id INTEGER PRIMARY KEY, title TEXT UNIQUE NOT NULL, body TEXT NOT NULL,
                                  author TEXT NOT NULL, changed REAL NOT NULL);
CREATE TABLE IF NOT EXISTS revisions (note_id INTEGER NOT NULL, body TEXT NOT NULL, author TEXT NOT NULL, changed REAL NOT NULL);
"""


class EditConflict(Exception):
    """Somebody else saved the note after it was opened for editing."""


@dataclass(frozen=True)
class Note:
    id: int
    title: str
    body: str
    author: str
    changed: float


class NoteStore:
    """All access to the database. Use it as a context manager, or call close()."""

    def __init__(self, path: str) -> None:
        self._db = sqlite3.connect(path, check_same_thread=False)
        self._db.executescript(SCHEMA)

    def __enter__(self) -> NoteStore:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def close(self) -> None:
        self._db.close()

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """Commit on success, roll back on an exception."""
        with self._db:
            yield self._db

    def get_note(self, title: str) -> Note | None:
        row = self._db.execute("SELECT id, title, body, author, changed FROM notes WHERE title = ?", (title,)).fetchone()
        return Note(*row) if row else None

    def list_notes(self, limit: int = 50) -> list[Note]:
        """The notes that changed last, newest first."""
        rows = self._db.execute("SELECT id, title, body, author, changed FROM notes ORDER BY changed DESC LIMIT ?", (limit,))
        return [Note(*row) for row in rows]

    def save_note(self, title: str, body: str, author: str, seen: float | None = None) -> Note:
        """Create or overwrite a note and keep the old text as a revision.

        `seen` is the time of the version that the author started from; EditConflict is raised if a newer one exists.
        """
        with self.transaction() as db:
            current = self.get_note(title)
            if current and seen is not None and current.changed > seen:
                raise EditConflict(f"{current.author} saved '{title}' meanwhile")
            if current:
                self._keep_revision(db, current)
            db.execute(
                "INSERT INTO notes (title, body, author, changed) VALUES (?, ?, ?, ?) "
                "ON CONFLICT (title) DO UPDATE SET body = excluded.body, author = excluded.author, changed = excluded.changed",
                (title, body, author, time.time()),
            )
        saved = self.get_note(title)
        assert saved is not None
        return saved

    def _keep_revision(self, db: sqlite3.Connection, note: Note) -> None:
        db.execute("INSERT INTO revisions VALUES (?, ?, ?, ?)", (note.id, note.body, note.author, note.changed))

    def revisions(self, title: str) -> list[tuple[str, float]]:
        """(author, time) of every older version, newest first."""
        note = self.get_note(title)
        if note is None:
            return []
        sql = "SELECT author, changed FROM revisions WHERE note_id = ? ORDER BY changed DESC"
        return list(self._db.execute(sql, (note.id,)))

    def delete_note(self, title: str) -> bool:
        with self.transaction() as db:
            return db.execute("DELETE FROM notes WHERE title = ?", (title,)).rowcount > 0

    def password_hash(self, name: str) -> str | None:
        row = self._db.execute("SELECT password_hash FROM accounts WHERE name = ?", (name,)).fetchone()
        return str(row[0]) if row else None

    def set_password_hash(self, name: str, value: str) -> bool:
        """False if there is no such account."""
        with self.transaction() as db:
            return db.execute("UPDATE accounts SET password_hash = ? WHERE name = ?", (value, name)).rowcount > 0

    def add_account(self, name: str, password_hash: str) -> None:
        with self.transaction() as db:
            db.execute("INSERT INTO accounts VALUES (?, ?)", (name, password_hash))

    def backup(self, target: str) -> None:
        """Copy the database into a file while others use it."""
        with sqlite3.connect(target) as copy:
            self._db.backup(copy)
