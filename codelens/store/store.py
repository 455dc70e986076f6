"""The index file as objects: one gateway per table family, and the writes that concern all of them.

All SQL of codelens is in this package. A Store is opened for reading or for writing; only a writer has `writing()`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import apsw

from codelens.budget import OutOfTime, TimeBudget
from codelens.derived import DerivedDocument, DerivedPart, Extraction, UnfinishedFile, Unit
from codelens.errors import CodelensError, IndexCorrupt, NoVectors
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
    unreadable,
    uri_of,
)
from codelens.store.documents import Documents, RepositoryRow
from codelens.store.edges import Edges
from codelens.store.files import Files
from codelens.store.history import Histories
from codelens.store.lines import Lines
from codelens.store.migrate import check_schema, check_version, migrate, newest_version, schema_version
from codelens.store.occurrences import OccurrenceCounter
from codelens.store.parts import Parts
from codelens.store.postings import Postings
from codelens.store.references import References
from codelens.store.snapshots import SnapshotLog
from codelens.store.trust import is_ours, refuse_roots_outside, sign
from codelens.store.units import Identity, Units
from codelens.store.vectors import Vectors

if TYPE_CHECKING:
    from codelens.store.checks import Finding


@dataclass(frozen=True, slots=True)
class Features:
    """What an index holds beside the words: decided when it was built."""

    fuzzy: bool
    vector: bool


def _home(index: Path) -> str:
    return os.fsencode(index.resolve().parent.as_posix()).hex()  # any bytes may be in a path


STEPS = 1000
"""Of SQLite's machine between two looks at the clock: some 30 µs, of which a look takes 1."""


class Store:
    """One open index file. Close it, or use it as a context manager."""

    def __init__(self, path: Path, connection: apsw.Connection, ours: bool = True, place: Path | None = None) -> None:
        self.path = path
        self.ours = ours
        """Whether codelens made the index here for this user; else the user accepted it, and nobody vouches for its roots."""
        self._connection = connection
        self.budget = TimeBudget()
        """What is left to the query that is being answered."""
        self.changed: set[int] = set()
        """Documents whose symbols or edges were written since the store was opened."""
        self.committed = False
        """Whether a transaction of this store was kept."""
        self.documents = Documents(connection, place or path.resolve())
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
    def read(cls, path: Path, accepted: bool = False) -> Store:
        """Open for reading; `accepted` says that the user accepts indexes of others. Writes nothing, leaves nothing.

        Raises NoIndex, IndexCorrupt, IndexNotTrusted or SchemaTooNew.
        """
        connection = open_reader(path)
        try:
            check_version(connection)
            # One transaction for as long as the store is open: every answer comes from one state.
            connection.execute("BEGIN").fetchall()
            check_schema(connection)
            store = cls(path, connection, is_ours(connection, path.resolve(), accepted))
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
    def write(cls, path: Path, place: Path | None = None, accepted: bool = False) -> Store:
        """Open for writing, making or migrating the file. The caller holds `writer_lock(path)`.

        `place` is where the file will lie when it is finished, if that is elsewhere. Raises what `read` raises.
        """
        place = (place or path).resolve()
        connection, with_vectors = open_writer(path)
        try:
            version = schema_version(connection)
            if 0 < version <= newest_version():
                check_schema(connection)
            ours = version == 0 or version > newest_version() or is_ours(connection, place, accepted)
            migrate(connection, with_vectors)  # which refuses a newer version
            store = cls(path, connection, ours, place)
            if version == 0:
                with store.writing():
                    sign(connection, place)
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

    def take_over(self, place: Path, named: Sequence[Path]) -> None:
        """Sign an accepted index before anything is written to it; nothing where it is the user's own.

        Raises IndexNotTrusted where one of its roots is neither named by the user nor lies where the index does.
        """
        if self.ours:
            return
        refuse_roots_outside(place, [row.root for row in self.documents.repositories() if row.root not in named])
        with self.writing():
            sign(self._connection, place.resolve())
        self.ours = True

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
            except (CodelensError, OSError, OutOfTime, apsw.InterruptError, apsw.BusyError):
                raise
            except apsw.IOError as fault:
                raise unreadable(self.path, fault) from fault
                raise
            except Exception:
                self._tell_damage()  # what a damaged value does to its reader: anything
                raise

    def _tell_damage(self) -> None:
        """Raise IndexCorrupt if what the index holds is not whole. Reads all of it, after a fault whose cause is not known."""
        from codelens.store.checks import value_faults

        with suppress(apsw.FullError, apsw.IOError, apsw.BusyError, apsw.InterruptError):
            self.verify()
            for finding in value_faults(self._connection):
                raise IndexCorrupt(f"{self.path} is damaged: {finding.table}: {finding.text}")

    def faults(self, full: bool) -> Iterator[Finding]:
        """What is wrong in this index; `full` reads all of it. The pages are checked by `checksums.file_faults`."""
        from codelens.store.checks import full_faults, quick_faults

        found = list(quick_faults(self._connection))
        yield from found
        if full and not found:  # else the tables may be others
            yield from full_faults(self._connection)

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
        except (apsw.CorruptError, apsw.NotADBError, apsw.SQLError) as fault:
            raise IndexCorrupt(f"{self.path} is damaged: {fault}") from fault
        if found != [("ok",)]:
            raise IndexCorrupt(f"{self.path} is damaged: {found[0][0]}")

    @contextmanager
    def spending(self, seconds: float, apart: bool = False) -> Iterator[None]:
        """Whatever is asked in here shares these CPU seconds, 0 for no limit; within another such block, that one's.

        What is asked `apart` is a query of its own, in the time that the other has left.
        """
        before = self.budget
        if before.limited and apart:
            self.budget = before.rest()
        elif seconds and not before.limited:
            self.budget = TimeBudget(seconds)
        try:
            yield
        finally:
            self.budget = before

    @contextmanager
    def interrupting(self) -> Iterator[None]:
        """Statements that outlast the present part of the budget raise OutOfTime. Not for what writes temporary tables."""
        self.budget.check()
        self._connection.set_progress_handler(self.budget.over, STEPS)
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
        try:
            self._connection.execute("COMMIT").fetchall()
        finally:  # an interrupt is raised when SQLite returns, be the work kept by then or not
            self.committed = self.committed or not self._connection.in_transaction

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
