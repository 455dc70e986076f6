"""The index file as objects: one gateway per table family, and the writes that concern all of them.

All SQL of codelens is in this package. A Store is opened for reading or for writing; only a writer has `writing()`.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import apsw

from codelens.derived import DerivedDocument, DerivedPart, Extraction, UnfinishedFile, Unit
from codelens.errors import IndexCorrupt, NoVectors
from codelens.model import DocumentId, RepositoryId, UnitId
from codelens.nouns import dataclass
from codelens.store.connection import (
    APPLICATION_ID,
    damage_told,
    load_vector_extension,
    open_reader,
    open_writer,
    to_rest,
    to_wal,
    uri_of,
)
from codelens.store.documents import Documents, RepositoryRow
from codelens.store.edges import Edges
from codelens.store.files import Files
from codelens.store.history import Histories
from codelens.store.lines import Lines
from codelens.store.migrate import check_version, migrate, schema_version
from codelens.store.occurrences import OccurrenceCounter
from codelens.store.parts import Parts
from codelens.store.postings import Postings
from codelens.store.references import References
from codelens.store.snapshots import SnapshotLog
from codelens.store.units import Identity, Units
from codelens.store.vectors import Vectors


@dataclass(frozen=True, slots=True)
class Features:
    """What an index holds beside the words: decided when it was built."""

    fuzzy: bool
    vector: bool


def _home(index: Path) -> str:
    return os.fsencode(index.resolve().parent.as_posix()).hex()  # any bytes may be in a path


class OutOfTime(Exception):
    """A statement outlasted its `time_limit`."""


class Store:
    """One open index file. Close it, or use it as a context manager."""

    def __init__(self, path: Path, connection: apsw.Connection) -> None:
        self.path = path
        self._connection = connection
        self.changed: set[int] = set()
        """Documents whose symbols or edges were written since the store was opened."""
        self.documents = Documents(connection, path)
        self.units = Units(connection)
        self.references = References(connection)
        self.postings = Postings(connection)
        self.occurrences = OccurrenceCounter(connection)
        self.vectors = Vectors(connection)
        self.edges = Edges(connection)
        self.history = Histories(connection)
        self.files = Files(connection)
        self.parts = Parts(connection)
        self.log = SnapshotLog(connection)
        self.lines = Lines(connection)

    @classmethod
    def read(cls, path: Path) -> Store:
        """Open for reading. Raises NoIndex, IndexCorrupt or SchemaTooNew; writes nothing, leaves nothing."""
        connection = open_reader(path)
        try:
            check_version(connection)
            # One transaction for as long as the store is open: every answer comes from one state.
            connection.execute("BEGIN").fetchall()
            store = cls(path, connection)
            if store.meta("state") != "complete":
                raise IndexCorrupt(f"{path} was never finished", "`codelens index` goes on with it")
        except apsw.Error as fault:
            connection.close()
            raise IndexCorrupt(f"{path} cannot be read: {fault}") from fault
        except BaseException:
            connection.close()
            raise
        return store

    @classmethod
    def read_unfinished(cls, path: Path) -> Store:
        """Open an index that another process builds, which has called `share_build`; each answer is of its last commit."""
        return cls(path, open_reader(path))

    @classmethod
    def write(cls, path: Path) -> Store:
        """Open for writing, making or migrating the file. The caller holds `writer_lock(path)`."""
        connection, with_vectors = open_writer(path)
        try:
            migrate(connection, with_vectors)
            store = cls(path, connection)
            if not with_vectors and store.meta("vector") == "1":
                raise NoVectors(f"{path} holds vectors, and sqlite-vec cannot be loaded here")
        except BaseException:
            connection.close()
            raise
        return store

    def close(self) -> None:
        """Ends the transaction that a reader holds; a writer's that is open is rolled back."""
        self._connection.close()

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # What is known about the whole file

    def meta(self, key: str, default: str = "") -> str:
        """A value of the `meta` table; `default` where the key is not there."""
        row = self._connection.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
        return str(row[0]) if row else default

    def set_meta(self, key: str, value: str) -> None:
        """Set a value; nothing is written where it is that already. An empty one is as none. Part of the caller's transaction."""
        if not value:
            self._connection.execute("DELETE FROM meta WHERE key = ?", (key,)).fetchall()
            return
        self._connection.execute(
            "INSERT INTO meta VALUES (?1, ?2) ON CONFLICT DO UPDATE SET value = ?2 WHERE value <> ?2", (key, value)
        ).fetchall()

    def schema(self) -> int:
        """The version of the file's schema, from 1."""
        return schema_version(self._connection)

    def features(self) -> Features:
        """What the index was built with; all of it where it does not say."""
        return Features(fuzzy=self.meta("fuzzy", "1") == "1", vector=self.meta("vector", "1") == "1")

    def features_wanted(self, fuzzy: bool, vector: bool) -> bool:
        """Whether this index is built with just these."""
        return self.features() == Features(fuzzy, vector)

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Around whatever asks this store: raises IndexCorrupt where the file turns out to be damaged."""
        with damage_told(self.path):
            try:
                yield
            except apsw.Error:
                self.verify()  # damage has many faces: a page of zeros is "disk full" here and "blob read error" there
                raise

    def remember_home(self) -> None:
        """Note where the index lies; part of the caller's transaction."""
        self.set_meta("home", _home(self.path))

    def strays(self) -> list[RepositoryRow]:
        """Repositories that are not where the index says: it was moved without its tree. Empty where it was not moved."""
        if self.meta("home") in ("", _home(self.path)):
            return []
        return [row for row in self.documents.repositories() if not self.documents.any_on_disk(row)]

    def load_vectors(self) -> bool:
        """Make sqlite-vec's functions usable on this connection; False where it is missing."""
        return load_vector_extension(self._connection)

    def journal_mode(self) -> str:
        """`delete` at rest; `truncate` in a build; `wal` in an update, and after it where a reader kept that from ending."""
        return str(self._connection.pragma("journal_mode"))

    def table_bytes(self) -> dict[str, int]:
        """Bytes on disk of each table with its indexes, largest first."""
        sql = (
            "SELECT coalesce(s.tbl_name, d.name), sum(d.pgsize) FROM dbstat d LEFT JOIN sqlite_schema s ON s.name = d.name "
            "WHERE d.aggregate = 1 GROUP BY 1 ORDER BY 2 DESC, 1"
        )
        rows: list[Any] = self._connection.execute(sql).fetchall()
        return dict(rows)

    def verify(self) -> None:
        """Raise IndexCorrupt unless SQLite finds the file whole."""
        try:
            found = self._connection.execute("PRAGMA quick_check(1)").fetchall()
        except apsw.Error as fault:
            raise IndexCorrupt(f"{self.path} is damaged: {fault}") from fault
        if found != [("ok",)]:
            raise IndexCorrupt(f"{self.path} is damaged: {found[0][0]}")

    @contextmanager
    def time_limit(self, seconds: float) -> Iterator[None]:
        """Statements that run on after this raise OutOfTime."""
        deadline = time.monotonic() + seconds
        self._connection.set_progress_handler(lambda: time.monotonic() > deadline, 20_000)
        try:
            yield
        except apsw.InterruptError as fault:
            raise OutOfTime from fault
        finally:
            self._connection.set_progress_handler(None)

    # Writing

    def begin(self) -> None:
        """Begin to write, waiting BUSY_MS for another writer. `writing` is the usual way."""
        self._connection.execute("BEGIN IMMEDIATE").fetchall()

    def commit(self) -> None:
        """Keep what was written since `begin`."""
        self._connection.execute("COMMIT").fetchall()

    def rollback(self) -> None:
        """Forget what was written since `begin`; nothing where no transaction is open."""
        if self._connection.in_transaction:
            self._connection.execute("ROLLBACK").fetchall()

    @contextmanager
    def writing(self) -> Iterator[None]:
        """One transaction: all of it or nothing."""
        self.begin()
        try:
            yield
        except BaseException:
            self.rollback()
            raise
        self.commit()

    def begin_work(self) -> None:
        """Readers keep the committed state while this store writes."""
        to_wal(self._connection)

    def end_work(self) -> bool:
        """Back to one file; False where a reader kept that from happening."""
        return to_rest(self._connection)

    def begin_build(self) -> None:
        """For a new file that nobody reads: batches survive a killed process; a power cut is found by `verify`."""
        self._connection.execute("PRAGMA journal_mode = TRUNCATE; PRAGMA synchronous = OFF").fetchall()
        if self._connection.pragma("application_id") != APPLICATION_ID:
            self._connection.pragma("application_id", APPLICATION_ID)
        self.postings.begin_build()

    def share_build(self) -> None:
        """Let other processes read what a build has committed (`read_unfinished`) while it goes on writing."""
        self._connection.execute("PRAGMA journal_mode = WAL").fetchall()

    def end_build(self) -> None:
        """Tidy the full-text indexes, call the index complete, and go back to one file."""
        self._connection.execute("PRAGMA journal_mode = TRUNCATE").fetchall()
        with self.writing():
            self.postings.end_build()
            self.set_meta("state", "complete")
        self._connection.execute("PRAGMA synchronous = FULL; PRAGMA journal_mode = DELETE").fetchall()

    def compact(self, into: Path) -> None:
        """Copy the file without unused pages, which are a tenth of it after a build, to another one and to the disk.

        A plain VACUUM would hold the whole file in memory.
        """
        into.unlink(missing_ok=True)
        self._connection.execute("VACUUM INTO ?", (uri_of(into),)).fetchall()
        with into.open("rb+") as file:
            os.fsync(file.fileno())

    def tidy(self) -> None:
        """Outside of transactions: give pages back to the system where more than a third of the file is unused."""
        pages, unused = int(self._connection.pragma("page_count")), int(self._connection.pragma("freelist_count"))
        if unused * 3 > pages:
            self._connection.execute("PRAGMA temp_store = FILE").fetchall()  # it would hold the whole file in memory
            with suppress(apsw.FullError, apsw.IOError):
                self._connection.execute("VACUUM").fetchall()

    def add_document(
        self, repository: RepositoryId, derived: DerivedDocument, before: DocumentId | None = None
    ) -> DocumentId:
        """Store all that one file yields, in the place of a document that it was `before`.

        The document and what is still in it keep their ids, so that the edges of other documents hold. Raises UnfinishedFile
        for a large file that could not be read to its end: nothing of it is left then, nor of what it was before.
        """
        kept = self.units.identities(before) if before is not None else {}
        if before is not None:
            self.remove_document(before)
        document = self.documents.add(repository, derived, before)
        self.changed.add(document)
        self.references.add(document, derived.extraction, derived.references)
        if derived.trigram_text:
            self.postings.add_text(document, derived.trigram_text)
        self._add_units(document, derived.extraction.units, derived, kept)
        try:
            for number, part in enumerate(derived.parts):
                self.parts.add(document, number, part)
                self._add_units(document, part.units, part, kept)
        except UnfinishedFile:
            self.remove_document(document)
            raise
        return document

    def _add_units(
        self,
        document: DocumentId,
        units: Sequence[Unit],
        derived: DerivedDocument | DerivedPart,
        kept: Mapping[Identity, list[UnitId]],
    ) -> None:
        ids = self.units.add(document, units, derived.vectors, kept)
        self.postings.add(ids, units, derived.postings, bool(derived.trigram_text))
        if any(derived.vectors):
            self.vectors.add(ids, derived.vectors)

    def frames(self, document: DocumentId) -> Iterator[bytes]:
        """A document's own bytes, compressed: in one frame, or of a large file in one for each part."""
        if snapshot := self.documents.snapshot(document):
            yield snapshot
            return
        for number in range(len(self.parts.places(document))):
            yield self.parts.bytes_of(document, number)

    def embed_again(self, document: DocumentId, vectors: Sequence[Sequence[bytes]], embedder: str) -> None:
        """Vectors of another embedder in the place of a document's own: for each unit, in order of place, its pieces'."""
        before = self.units.ids_of(document)
        self.vectors.remove(before)
        ids = [unit for unit, _ in before]
        self.vectors.add(ids, vectors)
        self.units.set_pieces(list(zip(ids, map(len, vectors), strict=True)))
        self.documents.set_embedder(document, embedder)

    def extraction_of(self, document: DocumentId) -> Extraction:
        """What was extracted from a document, as it was stored."""
        namespace, fault = self.documents.extraction_head(document)
        units, references = self.units.stored(document), self.references.of_document(document)
        bindings = self.references.bindings_of(document)
        return Extraction(namespace, units, references, self.references.imports_of(document), fault, bindings)

    def remove_document(self, document: DocumentId) -> None:
        """Take all rows of a document out of every table."""
        units = self.units.ids_of(document)
        self.vectors.remove(units)
        self.postings.remove(document, [u for u, _ in units])
        self.edges.forget(document, [u for u, _ in units])
        self.references.remove(document)
        self.units.remove(document)
        self.parts.remove(document)
        self.documents.remove(document)
