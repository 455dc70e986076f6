"""The index file as an object, with a gateway for each group of tables, and the writes that involve several groups.

All SQL of codelens is in this package. A Store is opened for reading or for writing; only a writer has `writing()`.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

import apsw

from codelens.errors import CodelensError, IndexCorrupt, NoVectors
from codelens.files import flush_file
from codelens.model.budget import OutOfTime, TimeBudget
from codelens.model.code import DocumentId, RepositoryId, UnitId
from codelens.model.extraction import DerivedDocument, DerivedPart, Extraction, UnfinishedFile, Unit
from codelens.model.fast_dataclass import dataclass
from codelens.store.connection import (
    APPLICATION_ID,
    Tables,
    format_uri,
    load_vector_extension,
    make_read_error,
    open_reader,
    open_writer,
    report_damage,
    switch_to_rest,
    switch_to_wal,
)
from codelens.store.documents import DocumentRow, Documents, InOrder, Parts, RepositoryRow, RootNames
from codelens.store.edges import EdgeTable, References
from codelens.store.history import Histories, LineHistories, Messages
from codelens.store.migrate import check_schema, check_version, find_newest_version, migrate, read_schema_version
from codelens.store.postings import FileStatistics, OccurrenceCounter, Postings
from codelens.store.snapshots import SnapshotLog
from codelens.store.trust import IDENTITY, is_ours, is_settled, read_marked_place, refuse_roots_outside, sign
from codelens.store.units import Identity, Units, UnitSets
from codelens.store.vectors import Vectors
from codelens.text.terms import TextFilters

if TYPE_CHECKING:
    from codelens.store.checks import IndexFault

INDEXED_AT = "indexed_at"  # Key of `meta`: the time of the last run that wrote
_KINDS = "kinds:"  # Prefix of keys of `meta` for counts of units by kind; the repository's name follows


@dataclass(frozen=True, slots=True)
class Features:
    """Optional contents of an index, chosen when it is built."""

    fuzzy: bool
    vector: bool


Expected = tuple[str, tuple[Any, ...]] | tuple[Callable[..., object], Any]
"""A gateway's method, such as `units.read_rows`, and its arguments; or a function for `run_on_each_index`, and its units."""
T = TypeVar("T")


class Part(NamedTuple, Generic[T]):
    """The result of a function that `Store.run_on_each_index` runs on one index."""

    units: Sequence[UnitId] = ()
    of: Mapping[UnitId, T] = MappingProxyType({})  # Unit → its result; some units have no result
    counts: tuple[int, ...] = ()
    documents: InOrder[DocumentId] = InOrder((), ())


STEPS = 1000  # SQLite instructions between two checks of the time: about 30 µs, of which a check takes 1


class Store(Tables):
    """An open index file. Close it, or use it as a context manager."""

    walked: dict[Any, Any] | None = None  # Settings of a walk → cached neighbours; None if the index may change
    filters: TextFilters | None = None  # Cached filters of documents' texts; None if the index may change
    resolvers: dict[RepositoryId, Any] | None = None
    """Repository → its resolver of names, cached between queries by a server; None without such a cache."""
    missing: Sequence[str] = ()  # Messages about shards that answers leave out; empty for a single file
    is_one = True  # False if this store is made of several indexes

    def __init__(
        self,
        path: Path,
        connection: apsw.Connection,
        ours: bool = True,
        place: Path | None = None,
        unchanging: bool = False,
    ) -> None:
        """`unchanging`: all queries see the same state, so results may be cached. `place`: the final path, if it differs."""
        self.path = path
        self.ours = ours  # False if the user accepted a foreign index, whose roots are not trusted
        self._was_made_here = ours
        super().__init__(connection)
        self.walked, self.filters = ({}, TextFilters()) if unchanging else (None, None)
        self._value_of = cache(self._find_value) if unchanging else self._find_value
        self.budget = TimeBudget()  # Remaining time of the current query
        self._version: tuple[int, int, int] | None = None  # A reader's state of the file, which `resume` compares
        self.changed: set[int] = set()  # Documents whose symbols or edges were written since the store was opened
        self.committed = False  # True once a transaction that may have changed the index was committed
        self.documents = Documents(connection, place or path.resolve())
        self.unit_sets = UnitSets(connection)
        self.units = Units(connection, self.unit_sets, unchanging)
        self.references = References(connection)
        self.postings = Postings(connection, self.unit_sets, unchanging)
        self.occurrences = OccurrenceCounter(connection, self.unit_sets, unchanging, self.postings.arrays)
        self.vectors = Vectors(connection, self.unit_sets, unchanging)
        self.edges = EdgeTable(connection)
        self.history = Histories(connection)
        self.messages = Messages(connection)
        self.files = FileStatistics(connection, self.unit_sets)
        self.parts = Parts(connection)
        self.log = SnapshotLog(connection)
        self.lines = LineHistories(connection)

    @classmethod
    def read(cls, path: Path, accepted: bool = False) -> Store:
        """Open for reading. Raises NoIndex, IndexCorrupt, SchemaTooNew, and unless `accepted` IndexNotTrusted."""
        before = path.stat() if path.exists() else None
        connection = open_reader(path)
        with ExitStack() as unopened:
            unopened.callback(connection.close)
            try:
                check_version(connection)
                # One transaction while the store is open, so that all answers come from the same state.
                connection.execute("BEGIN").fetchall()
                check_schema(connection)
                store = cls(path, connection, is_ours(connection, path.resolve(), accepted), unchanging=True)
                if store.read_meta("state") != "complete":
                    raise IndexCorrupt(f"{path} was never finished", "`codelens index` finishes it")
                version = store._read_version()
            except apsw.Error as fault:
                raise IndexCorrupt(f"{path} cannot be read: {fault}") from fault
            if before and (before.st_dev, before.st_ino) == version[:2]:
                store._version = version
            unopened.pop_all()
        return store

    @classmethod
    def read_unfinished(cls, path: Path) -> Store:
        """Open an index that is still being built, after `share_build`. Each query sees the last commit."""
        return cls(path, open_reader(path))

    @classmethod
    def write(cls, path: Path, place: Path | None = None, accepted: bool = False) -> Store:
        """Open for writing under `hold_writer_lock`; create or migrate if needed. `place`: the final path. Raises like `read`."""
        place = (place or path).resolve()
        connection, with_vectors = open_writer(path)
        with ExitStack() as unopened:
            unopened.callback(connection.close)
            version = read_schema_version(connection)
            if 0 < version <= find_newest_version():
                check_schema(connection)
            ours = version == 0 or version > find_newest_version() or is_ours(connection, place, accepted)
            migrate(connection, with_vectors)  # refuses a newer version
            store = cls(path, connection, ours, place)
            if version == 0:
                with store.writing():
                    sign(connection, place)
            if not with_vectors and store.read_meta("vector") == "1":
                raise NoVectors(f"{path} holds vectors, and sqlite-vec cannot be loaded here")
            unopened.pop_all()
        return store

    def rest(self) -> bool:
        """End a reader's transaction, to `resume` later. Returns False if the store must be closed, as it might block a writer."""
        # Even at rest, a reader in WAL mode keeps a writer from ending that mode; and Windows replaces no open file.
        if not self._version or sys.platform == "win32" or self.read_journal_mode() == "wal":
            return False
        self._run("COMMIT")
        return True

    def resume(self, accepted: bool = False) -> bool:
        """Begin a new transaction after `rest`. Returns False, and must be closed, if the file has changed or is not trusted."""
        self.budget = TimeBudget()
        with suppress(OSError, apsw.Error, CodelensError):
            self._run("BEGIN")
            self.ours = is_ours(self._connection, self.path.resolve(), accepted)
            return self._version == self._read_version()
        return False

    def _read_version(self) -> tuple[int, int, int]:
        """Identify the file's state: (device, inode, a number that SQLite changes when another connection commits)."""
        stat = self.path.stat()
        return stat.st_dev, stat.st_ino, int(self._connection.pragma("data_version"))

    def close(self) -> None:
        """Close the file; an open transaction of a writer is rolled back."""
        self._connection.close()

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def sign_for_writing(self, place: Path, named: Sequence[Path]) -> Path | None:
        """Sign an accepted index before it is written, or the user's own after a move; returns its path before the move, or None.

        Raises IndexNotTrusted if a root of an accepted index is neither in `named` nor in the index's folder.
        """
        place = place.resolve()
        before = read_marked_place(self._connection)
        if self.ours and is_settled(self._connection, place):
            return None
        moved_from = before if self.ours and before != place else None
        if not self.ours:
            self.check_types()
            roots = (row.root for row in self.documents.list_repositories())
            refuse_roots_outside(place, [root for root in roots if root not in named])
        with self.writing():
            sign(self._connection, place)
            self.remember_home()
        self.ours, self.committed = True, False
        return moved_from

    def copy(self, into: Path) -> None:
        """Copy the state that this reader sees to a new file, and check the pages that are read."""
        with closing(open_writer(into)[0]) as copy, copy.backup("main", self._connection, "main") as pages:
            pages.step()

    def change_root(self, root: Path) -> None:
        """Turn this copy of another tree's index into the index of `root`.

        The copy gets a new identity, and loses the walk rules and all logged states but the last, with which the next run
        compares. Part of the caller's transaction.
        """
        (before,) = self.documents.list_repositories()
        for key in (IDENTITY, f"walk:{before.name}"):
            self.set_meta(key, "")
        self.documents.move(root)
        self.log.keep_newest()
        self.remember_home()
        self.ours = True

    # The file as a whole

    def read_meta(self, key: str, default: str = "") -> str:
        """Read a value of the `meta` table; `default` if the key is missing."""
        return self._value_of(key) or default  # empty values are not stored

    def _find_value(self, key: str) -> str:
        return str((self._row("SELECT value FROM meta WHERE key = ?", key) or [""])[0])

    def read_kind_counts(self, repository: RepositoryRow) -> dict[str, int]:
        """Read the counts of a repository's units by kind that `store_kind_counts` stored; empty if units were written since."""
        kinds: dict[str, int] = json.loads(self.read_meta(_KINDS + repository.name) or "{}")
        return kinds

    def store_kind_counts(self, repository: RepositoryRow, kinds: Mapping[str, int]) -> None:
        """Store counts of units by kind until units are written. Part of the caller's transaction."""
        self.set_meta(_KINDS + repository.name, json.dumps(kinds))

    def forget_kind_counts(self) -> None:
        """Delete all stored counts by kind; call it before writing units. Part of the caller's transaction."""
        self._run("DELETE FROM meta WHERE key LIKE ?", _KINDS + "%")

    def set_meta(self, key: str, value: str) -> None:
        """Set a value, or delete it if empty; an unchanged value is not written. Part of the caller's transaction."""
        sql = "INSERT INTO meta VALUES (?1, ?2) ON CONFLICT DO UPDATE SET value = ?2 WHERE value <> ?2"
        self._run(*((sql, key, value) if value else ("DELETE FROM meta WHERE key = ?", key)))

    def read_schema(self) -> int:
        """Read the schema version of the file, from 1."""
        return read_schema_version(self._connection)

    def read_features(self) -> Features:
        """Read the features of the index; features that are not recorded count as present."""
        return Features(fuzzy=self.read_meta("fuzzy", "1") == "1", vector=self.read_meta("vector", "1") == "1")

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Raise IndexCorrupt if queries in this block find the file damaged."""
        with report_damage(self.path):
            try:
                yield
            except (CodelensError, OSError, OutOfTime, apsw.InterruptError, apsw.BusyError):
                raise
            except apsw.IOError as fault:
                raise make_read_error(self.path, fault) from fault
            except Exception as fault:  # a damaged value can cause any error, so check all values
                from codelens.store.checks import find_value_faults

                with suppress(apsw.FullError, apsw.IOError, apsw.BusyError, apsw.InterruptError):
                    self.verify()
                    for finding in find_value_faults(self._connection):
                        raise IndexCorrupt(f"{self.path} is damaged: {finding.table}: {finding.text}") from None
                if self._was_made_here or isinstance(fault, MemoryError):
                    raise
                raise IndexCorrupt(f"{self.path} has values that codelens does not write: {fault!r}") from fault

    def find_faults(self, full: bool) -> Iterator[IndexFault]:
        """Find inconsistencies of this index; `full` reads everything. `checksums.find_file_faults` checks the pages."""
        from codelens.store.checks import find_full_faults, find_quick_faults

        quick = list(find_quick_faults(self._connection))
        yield from quick
        if full and not quick:  # the tables may be unusable otherwise
            yield from find_full_faults(self._connection)

    def remember_home(self) -> None:
        """Record the folder of the index; part of the caller's transaction."""
        self.set_meta("home", self._encode_folder(self.documents.index))

    @staticmethod
    def _encode_folder(index: Path) -> str:
        """Encode the path of the index's folder for `meta`."""
        return os.fsencode(index.resolve().parent.as_posix()).hex()  # a path may contain any bytes

    def map_roots_to_names(self) -> RootNames:
        """Map the root of each repository to its name."""
        return RootNames({row.root: row.name for row in self.documents.list_repositories()})

    def find_missing_repositories(self) -> list[RepositoryRow]:
        """List repositories that are missing on disk because the index was moved without them; empty if it was not moved."""
        if self.read_meta("home") in ("", self._encode_folder(self.path)):
            return []
        return [row for row in self.documents.list_repositories() if not self.documents.exists_on_disk(row)]

    def load_vectors(self) -> bool:
        """Load sqlite-vec's functions into this connection; returns False if it is missing."""
        return load_vector_extension(self._connection)

    def prefetch_answers(self, *calls: Expected) -> None:
        """Request the answers to calls that will follow, all together. Does nothing for a single file.

        A call is the name of a gateway's method with its arguments, or a function as in `run_on_each_index` with its units.
        Each index then rehearses the function with its own units, and returns all values that the function read.
        """

    def prefetch_per_document(self, documents: Sequence[DocumentRow], *methods: str) -> Iterator[DocumentRow]:
        """Yield the documents. A store of several indexes requests ahead what these methods answer for each document's id."""
        return iter(documents)

    def run_tasks(self, *tasks: Callable[[], Any]) -> list[Any]:
        """Run independent tasks; returns their results. A store of several indexes joins the requests for which tasks wait."""
        return [task() for task in tasks]

    def run_on_each_index(
        self, work: Callable[..., Part[T]], numbers: Any = None, further: Collection[int] | None = None
    ) -> list[Part[T]]:
        """Run a function on each index of which this store is made, with those of `numbers` that the index holds.

        `numbers` are units or documents, as a list or as the keys of a mapping, or the result of `map_roots_to_names`; None
        for all. If `further` is given, the function also gets those of these documents that the index holds. `work` is a
        function of a module, or a `partial` of one. Raises OutOfTime.
        """
        return [work(self, numbers) if further is None else work(self, numbers, further)]

    def read_journal_mode(self) -> str:
        """Read the journal mode: `delete` at rest, `truncate` in a build, `wal` in an update and until readers let it end."""
        return str(self._connection.pragma("journal_mode"))

    def measure_tables(self) -> dict[str, int]:
        """Read the bytes on disk of each table with its indexes, largest first."""
        sql = """SELECT coalesce(s.tbl_name, d.name), sum(d.pgsize) FROM dbstat d
            LEFT JOIN sqlite_schema s ON s.name = d.name WHERE d.aggregate = 1 GROUP BY 1 ORDER BY 2 DESC, 1"""
        return dict(self._rows(sql))

    def verify(self) -> None:
        """Raise IndexCorrupt unless SQLite's quick check passes."""
        try:
            reports = self._rows("PRAGMA quick_check(1)")
        except (apsw.CorruptError, apsw.NotADBError, apsw.SQLError) as fault:
            raise IndexCorrupt(f"{self.path} is damaged: {fault}") from fault
        if reports != [("ok",)]:
            raise IndexCorrupt(f"{self.path} is damaged: {reports[0][0]}")

    def check_types(self) -> None:
        """Raise IndexCorrupt if a value is of another type than its column. Reads every row."""
        from codelens.store.checks import find_type_faults

        for fault in find_type_faults(self._connection):
            raise IndexCorrupt(f"{self.path} is damaged: {fault.table}: {fault.text}")

    @contextmanager
    def limit_time(self, seconds: float, apart: bool = False) -> Iterator[None]:
        """Limit queries in this block to these CPU seconds. An outer limit takes precedence; `apart` uses a copy of its rest."""
        before = self.budget
        if before.limited and apart:
            self.budget = before.make_remainder()
        elif seconds and not before.limited:
            self.budget = self.make_budget(seconds)
        try:
            yield
        finally:
            self.budget = before

    def make_budget(self, seconds: float) -> TimeBudget:
        """Make a time budget for one query."""
        return TimeBudget(seconds)

    @contextmanager
    def enforce_budget(self) -> Iterator[None]:
        """Raise OutOfTime if queries in this block exceed the budget. They must not write temporary tables."""
        self.budget.check()
        self._connection.set_progress_handler(self.budget.is_over, STEPS)
        try:
            yield
        except apsw.InterruptError as fault:
            raise OutOfTime from fault
        finally:
            self._connection.set_progress_handler(None)

    # Writing

    def begin(self) -> None:
        """Begin a transaction, waiting BUSY_MS for another writer. Most callers use `writing`."""
        self._run("BEGIN IMMEDIATE")

    def commit(self) -> None:
        """Commit the transaction."""
        self.vectors.update_signs()
        try:
            self._run("COMMIT")
        finally:  # KeyboardInterrupt may be raised after the commit, when SQLite returns
            self.committed = self.committed or not self._connection.in_transaction

    def rollback(self) -> None:
        """Roll back the transaction; does nothing without one."""
        self.vectors.forget_changes()
        if self._connection.in_transaction:
            self._run("ROLLBACK")

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Run the block in one transaction, which is rolled back if it raises."""
        self.begin()
        try:
            yield
        except BaseException:
            self.rollback()
            raise
        self.commit()

    def begin_work(self) -> None:
        """Switch to WAL mode, so that readers see the committed state during an update; see `switch_to_wal`."""
        switch_to_wal(self._connection)

    def end_work(self) -> bool:
        """Switch back to a single file; returns False if a reader prevented it."""
        return switch_to_rest(self._connection)

    def begin_build(self) -> None:
        """Prepare a new file without readers. Commits survive a killed process; after a power cut, `verify` detects damage."""
        self._run("PRAGMA journal_mode = TRUNCATE; PRAGMA synchronous = OFF")
        if self._connection.pragma("application_id") != APPLICATION_ID:
            self._connection.pragma("application_id", APPLICATION_ID)
        self.postings.begin_build()

    def share_build(self) -> None:
        """Let other processes read committed batches (`read_unfinished`) while the build goes on."""
        self._run("PRAGMA journal_mode = WAL")

    def end_build(self) -> None:
        """Merge the full-text tables, mark the index as complete, and switch back to a single file."""
        self._run("PRAGMA journal_mode = TRUNCATE")
        with self.writing():
            self.postings.end_build()
            self.set_meta("state", "complete")
        self._run("PRAGMA synchronous = FULL; PRAGMA journal_mode = DELETE")

    def copy_compacted(self, into: Path) -> None:
        """Copy the index to `into` without unused pages, and flush it. A plain VACUUM would hold all of it in memory.

        A reader copies it, since a writer would take pages that were lost for pages that it never wrote.
        """
        into.unlink(missing_ok=True)
        target = format_uri(into)
        reader = open_reader(self.path)
        with closing(reader):
            reader.execute("VACUUM INTO ?", (target,)).fetchall()
        flush_file(into)

    def shrink(self) -> None:
        """Shrink the file if more than a third of it is unused. Call outside of transactions."""
        pages, unused = int(self._connection.pragma("page_count")), int(self._connection.pragma("freelist_count"))
        if unused * 3 > pages:
            self._run("PRAGMA temp_store = FILE")  # else it would hold the whole file in memory
            with suppress(apsw.FullError, apsw.IOError):
                self._run("VACUUM")

    def add_document(
        self, repository: RepositoryId, derived: DerivedDocument, before: DocumentId | None = None
    ) -> DocumentId:
        """Store everything derived from one file, replacing the document `before`.

        The document and units that still exist keep their ids, so that edges from other documents stay valid. Raises
        UnfinishedFile for a large file that could not be read to its end; then neither the old nor the new document
        remains.
        """
        identities = self.units.group_by_identity(before) if before is not None else {}
        if before is not None:
            self.remove_document(before)
        document = self.documents.add(repository, derived, before)
        self.changed.add(document)
        self.references.add(document, derived.extraction, derived.references)
        if derived.trigrams:
            self.postings.add_text(document, derived.trigrams)
        self._add_units(document, derived.extraction.units, derived, identities)
        self.vectors.set_file(document, derived.file_vector)
        try:
            for number, part in enumerate(derived.parts):
                self.parts.add(document, number, part)
                self._add_units(document, part.units, part, identities)
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
        self.postings.add(ids, units, derived.postings, derived.trigrams is not None)
        self.vectors.add(ids, derived.vectors)

    def read_frames(self, document: DocumentId) -> Iterator[bytes]:
        """Read the compressed bytes of a document: one zstd frame, or one per part of a large file."""
        snapshot = self.documents.read_snapshot(document)
        return iter([snapshot]) if snapshot else self.parts.read_all(document)

    def replace_vectors(
        self, document: DocumentId, vectors: Sequence[Sequence[bytes]], file_vector: bytes, embedder: str
    ) -> None:
        """Replace a document's vectors, given as one list of pieces' vectors for each unit in order of position."""
        before = self.units.list_piece_counts(document)
        self.vectors.remove(before)
        ids = [unit for unit, _ in before]
        self.vectors.add(ids, vectors)
        self.vectors.set_file(document, file_vector)
        self.units.set_pieces(list(zip(ids, map(len, vectors), strict=True)))
        self.documents.set_embedder(document, embedder)

    def read_extraction(self, document: DocumentId) -> Extraction:
        """Read a document's stored extraction."""
        namespace, fault = self._row("SELECT namespace, fault FROM documents WHERE id = ?", document)
        units, references = self.units.read_extracted(document), self.references.list_in_document(document)
        bindings = self.references.list_bindings(document)
        return Extraction(namespace, units, references, self.references.list_imports(document), fault, bindings)

    def remove_document(self, document: DocumentId) -> None:
        """Delete a document from every table."""
        units = self.units.list_piece_counts(document)
        self.vectors.remove(units)
        self.vectors.set_file(document, b"")
        self.postings.remove(document, [u for u, _ in units])
        self.edges.forget(document, [u for u, _ in units])
        self.references.remove(document)
        self.units.remove(document)
        self.parts.remove(document)
        self.documents.remove(document)

    def keep_repositories(self, kept: Collection[RepositoryId]) -> None:
        """Delete all repositories except these. Searches then answer as if the index had never contained the others."""
        with self.writing():
            for row in self.documents.list_repositories():
                if row.id not in kept:
                    self._remove_repository(row.id)
            self.documents.add_repositories([])  # The others may get shorter names
            self.edges.drop_unused_externals()
            self.edges.count_uses(every=True)
            # Deleted rows stay in the full-text tables, and in their statistics, until these are merged.
            self.postings.end_build()

    def _remove_repository(self, repository: RepositoryId) -> None:
        for document in self.documents.read_states(repository).values():
            self.remove_document(document.id)
            self.edges.forget_offered([document.id])
        messages = "SELECT id FROM messages WHERE repository_id = ?"
        self._run(f"DELETE FROM message_terms WHERE rowid IN ({messages})", repository)
        tables = """SELECT t.name FROM sqlite_schema t, pragma_table_info(t.name) c
            WHERE t.type = 'table' AND c.name = 'repository_id'"""
        for (table,) in self._rows(tables):
            self._run(f"DELETE FROM {table} WHERE repository_id = ?", repository)
        self._run("DELETE FROM repositories WHERE id = ?", repository)
