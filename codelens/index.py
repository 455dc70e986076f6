"""The facade: what a front end may ask of an index, each a method that hands the work to one of the two pipelines.

Indexing and searching are imported by the methods that need them: a search must not pay for the indexer's imports.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

from codelens.config import LoadedSettings, Settings, pack_folder, vectors_file
from codelens.errors import IndexCorrupt, NoIndex, TargetError, UsageError
from codelens.explained import WhyResult
from codelens.model import (
    IndexInfo,
    RepositoryId,
    RepositoryInfo,
    SearchOptions,
    SearchResult,
    SeenFile,
    Skip,
    UnitId,
    UnitRow,
)
from codelens.packed import Change, ContextRequest, Layout, PackedText
from codelens.past import DocumentFacts, HistoryRead, LastChange
from codelens.related import Communities, GraphStream, ReachingTests, Related, RelationOptions, RepositoryMap
from codelens.relations import RESOLVED
from codelens.runs import IndexReport, Progress, Status
from codelens.sources import IndexedFile, SourceFile
from codelens.store.connection import holds_index
from codelens.store.snapshots import LoggedSnapshot
from codelens.store.store import Store
from codelens.worktree.place import traces_place

if TYPE_CHECKING:
    from codelens.memory.notebook import Notebook
    from codelens.navigate.view import GraphView
    from codelens.notes.finding import Found
    from codelens.notes.places import Anchor
    from codelens.runtime.kept import Kept
    from codelens.store.checks import Finding


class Index:
    """An index opened for reading. Close it, or use it as a context manager."""

    def __init__(self, store: Store, settings: Settings) -> None:
        self._store = store
        self._settings = settings
        self._info: IndexInfo | None = None

    @classmethod
    def open(cls, path: Path, settings: Settings | None = None) -> Index:
        """Raises NoIndex, IndexCorrupt, IndexNotTrusted or SchemaTooNew. Nothing is written, and no writer is waited for."""
        settings = settings or Settings()
        return cls(Store.read(path, settings.trust_indexes), settings)

    @staticmethod
    def build(
        path: Path,
        roots: Sequence[Path],
        settings: Settings,
        *,
        force: bool = False,
        rebuild: bool = False,
        verify: bool = False,
        progress: Callable[[Progress], None] | None = None,
        settings_of: Callable[[Path], LoadedSettings] | None = None,
        as_indexed: bool = False,
    ) -> tuple[IndexReport, ...]:
        """Bring the index at `path` up to date with these roots; make it if there is none. Raises IndexBusy.

        `settings_of` says how a root is walked; without it, its last run does if `as_indexed`, else `settings`.
        """
        from codelens.indexing.build import build_index

        return build_index(
            path,
            roots,
            settings,
            force=force,
            rebuild=rebuild,
            verify=verify,
            progress=progress,
            settings_of=settings_of,
            as_indexed=as_indexed,
        )

    @staticmethod
    def accept(path: Path) -> str:
        """Open the index at `path` from now on though codelens did not make it here for this user; returns its SHA-256.

        Raises what opening it raises, and CannotWrite where the user's list cannot be written.
        """
        from codelens.store.trust import accept

        Store.read(path, accepted=True).close()
        return accept(path.resolve())

    @staticmethod
    def is_one(path: Path) -> bool:
        """Whether a file is an index of any version, however damaged."""
        return holds_index(path)

    @staticmethod
    def check(path: Path, full: bool, accepted: bool = False) -> list[Finding]:
        """What is wrong with the file: all pages and a few counts; with `full` every row. Raises NoIndex and IndexNotTrusted."""
        from codelens.store.checks import Finding
        from codelens.store.checksums import file_faults

        if not path.is_file():
            raise NoIndex(f"no index at {path}")
        if pages := [Finding("pages", fault) for fault in file_faults(path)]:
            return pages
        try:
            with Store.read(path, accepted) as store, store.reading():
                return list(store.faults(full))
        except IndexCorrupt as fault:
            return [Finding("file", str(fault))]

    @staticmethod
    def remove(path: Path) -> None:
        """Delete the index at `path`, finished or not, with all that lies beside it. Raises IndexBusy."""
        from codelens.indexing.build import remove_index

        remove_index(path)

    @staticmethod
    def plan(
        path: Path, roots: Sequence[Path], settings_of: Callable[[Path], LoadedSettings]
    ) -> Iterator[tuple[Path, SeenFile | Skip]]:
        """(root, file or skip) of all that a run would see, in order; files are read, nothing is written."""
        from codelens.indexing.plan import plan

        return plan(path, [root.resolve() for root in roots], settings_of)

    @staticmethod
    def explain_path(
        path: Path, root: Path, below: str, settings_of: Callable[[Path], LoadedSettings]
    ) -> SeenFile | Skip | None:
        """What a run would do with one path below a root, and which rule says so; None for a folder that is walked."""
        from codelens.indexing.plan import explain

        return explain(path, root.resolve(), below, settings_of)

    @staticmethod
    def sight(
        path: Path, root: Path, settings: Settings, settings_of: Callable[[Path], LoadedSettings] | None = None
    ) -> Callable[[str], bool]:
        """A question to ask often: would a run of `build` with these settings come by a path below this root?"""
        from codelens.indexing.plan import sight

        return sight(path, root.resolve(), settings, settings_of)

    @staticmethod
    def update_file(path: Path, root: Path, below: str, settings: Settings) -> bool:
        """Bring one file below an indexed root up to date, without a walk; whether it is in the index now. Raises IndexBusy."""
        from codelens.indexing.one_file import update_file

        return update_file(path, root, below, settings)

    def anchor_at(self, root: Path, said: str) -> tuple[Anchor, str]:
        """`path:line` or a symbol of the tree at `root` → the place as a note keeps it, and what is to be said of it.

        Raises TargetError for what is no place there.
        """
        from codelens.notes.finding import Finder

        with self._store.reading():
            return Finder(self._store, self._repository_at(root)).place(said, root)

    def find_places(self, root: Path, anchors: Sequence[Anchor]) -> list[Found]:
        """Where the places that a note about the tree at `root` keeps are now."""
        from codelens.notes.finding import Finder

        with self._store.reading():
            finder = Finder(self._store, self._repository_at(root))
            return [finder.find(anchor) for anchor in anchors]

    def renewed_places(self, root: Path, anchors: Sequence[Anchor]) -> list[Anchor]:
        """The same places as they are now; lost ones stay what they were."""
        from codelens.notes.finding import Finder

        with self._store.reading():
            finder = Finder(self._store, self._repository_at(root))
            return [finder.renewed(finder.find(anchor)) for anchor in anchors]

    def _repository_at(self, root: Path) -> RepositoryId:
        found = (row.id for row in self._store.documents.repositories() if row.root == root)
        return next(found, RepositoryId(-1))

    @property
    def settings(self) -> Settings:
        """Those that it was opened with."""
        return self._settings

    def search(self, query: str, options: SearchOptions) -> SearchResult:
        """Raises QueryError for a strict query with a fault, UsageError for options that make no sense."""
        from codelens.search.pipeline import search

        with self._store.reading():
            if options.files_only:
                from codelens.search.files import search_files

                return search_files(query, self._store, self.info(), options, self._settings)
            return search(query, self._store, self.info(), options, self._settings)

    def why(self, query: str, targets: Sequence[str], options: SearchOptions) -> WhyResult:
        """Raises TargetError where a target fits nothing, or several things."""
        from codelens.search.why import explain

        with self._store.reading():
            if options.files_only:
                from codelens.search.why_files import explain_files

                return explain_files(query, targets, self._store, self.info(), options, self._settings)
            return explain(query, targets, self._store, self.info(), options, self._settings)

    def context(self, request: ContextRequest, layout: Layout, keep: bool = True) -> PackedText:
        """A pack for a task, files or a change, written in a layout. With `keep`, one written before may be served.

        Raises UsageError for a budget that holds nothing and for a change that cannot be read, TargetError for files that
        are not indexed, and what searching raises.
        """
        from codelens.context.pipeline import write_pack

        with self._store.reading():
            # What is remembered changes with every question, so that a pack which it ranked is soon another.
            # So it is where traces were read since.
            may_keep = keep and self._settings.pack_cache and not request.options.memory
            may_keep = may_keep and not traces_place(self._store.path).is_file()
            folder = pack_folder() if may_keep else None
            return write_pack(request, layout, self._store, self.info(), self._settings, folder)

    def notebook(self, session: str = "", now: int | None = None) -> Notebook:
        """What is remembered of this index's results, to be told and to be recorded. It records nothing unless `memory` is on.

        A session is somebody's work in a server; `now` is in unix seconds, the clock's time where it is None.
        """
        from codelens.memory.notebook import Notebook

        return Notebook(self._store, self._settings.memory, session, now)

    def traces(self) -> Kept:
        """What was seen of this index's symbols at run time, to be told, added to and forgotten."""
        from codelens.runtime.kept import Kept

        return Kept(self._store)

    def record(
        self,
        query: str,
        found: Sequence[tuple[int, UnitRow, int]],
        *,
        words: str | None = None,
        session: str = "",
        now: int | None = None,
    ) -> None:
        """Write down that a query was answered so, as (rank, unit, line). Raises MemoryOff and MemoryFault.

        `words` is the part of it whose words may come to lead to what is used; all of it where it is None.
        """
        self.notebook(session, now).record(query, self.learnable(query if words is None else words), found)

    @staticmethod
    def learnable(query: str) -> tuple[str, ...]:
        """The words of a query that may come to lead to what is used for it."""
        from codelens.search.query import parse_query
        from codelens.search.recollection import learnable

        return learnable(part.text for part in parse_query(query).ranking_texts)

    @staticmethod
    def forget_packs() -> int:
        """Remove the packs that were kept; how many there were."""
        from codelens.context.kept import KeptPacks

        folder = pack_folder()
        return KeptPacks(folder).clear() if folder else 0

    @staticmethod
    def forget_vectors() -> None:
        """Remove the vectors that were kept for slow embedders."""
        if file := vectors_file():
            for beside in ("", "-wal", "-shm"):
                file.with_name(file.name + beside).unlink(missing_ok=True)

    def info(self) -> IndexInfo:
        """What the index says of itself; it is one state for as long as it is open."""
        if self._info is None:
            with self._store.reading():
                self._info = self._read_info()
        return self._info

    def _read_info(self) -> IndexInfo:
        store = self._store
        repositories = tuple(
            RepositoryInfo(row.name, str(row.root), *store.documents.totals(row.id))
            for row in store.documents.repositories()
        )
        return IndexInfo(str(store.path), store.schema(), store.meta("snapshot"), store.meta("embedder"), repositories)

    def status(self, check: bool = False) -> Status:
        """What the index holds; with `check`, what the trees say against it."""
        from codelens.indexing.status import read_status

        with self._store.reading():
            return read_status(self._store, self.info(), self._settings, check)

    def is_stale(self) -> bool:
        """Whether an index run would find anything to do in the trees that are there: walks them, and reads no file."""
        from codelens.indexing.status import is_stale

        with self._store.reading():
            return is_stale(self._store, self._settings)

    def histories(self) -> list[tuple[str, HistoryRead | None]]:
        """(repository, how much of git's history is known of it); None where no run has read it."""
        with self._store.reading():
            return [(row.name, self._store.history.read(row.id)) for row in self._store.documents.repositories()]

    def skipped(self) -> Iterator[tuple[str, Skip]]:
        """(repository, skip) of all that was left out."""
        with self._store.reading():
            for row in self._store.documents.repositories():
                for skip in self._store.documents.skips(row.id):
                    yield row.name, skip

    def roots(self) -> list[Path]:
        """The folders that it was made from. Raises IndexNotTrusted where nobody vouches for them (`refuse_roots_outside`)."""
        from codelens.store.trust import refuse_roots_outside

        roots = [row.root for row in self._store.documents.repositories()]
        if not self._store.ours:
            refuse_roots_outside(self._store.path.resolve(), roots)
        return roots

    def strays(self) -> list[str]:
        """Roots below which nothing lies that was indexed: the index was moved without its tree."""
        with self._store.reading():
            return [str(row.root) for row in self._store.strays()]

    def files(self, options: SearchOptions) -> list[tuple[str, str]]:
        """(root, path as the operating system knows it) of the documents that the options let take part."""
        from codelens.search.scope import documents_in_scope

        with self._store.reading():
            roots = {row.id: str(row.root) for row in self._store.documents.repositories()}
            return [(roots[d.repository], d.os_path) for d in documents_in_scope(self._store, options)]

    def listed(self, options: SearchOptions) -> list[IndexedFile]:
        """The documents that the options let take part, by repository and path."""
        from codelens.search.sources import listed

        with self._store.reading():
            return listed(self._store, options)

    def source(self, path: str, repository: str = "") -> SourceFile:
        """One file as it was indexed. Raises TargetError if it is not, or if several repositories have it and none is named."""
        from codelens.search.sources import source

        with self._store.reading():
            return source(self._store, path, repository)

    def symbols(self, path: str) -> list[UnitRow]:
        """The outline of one file, by its path relative to a root. Raises TargetError if it is not indexed."""
        with self._store.reading():
            documents = self._store.documents.by_path(path)
            if not documents:
                hint = "`codelens status --skipped` lists what was left out"
                raise TargetError(f"{path} is not in the index", hint=hint)
            return [unit for document in documents for unit in self._store.units.of_document(document.id)]

    def last_changes(self, units: Sequence[UnitRow]) -> dict[UnitId, LastChange]:
        """When these units last changed, by whom; those of which git says nothing are left out."""
        from codelens.search.lastchange import LastChanges
        from codelens.texts import Texts

        with self._store.reading():
            changes = LastChanges(self._store, Texts(self._store))
            found: dict[UnitId, LastChange] = {}
            for document in self._store.documents.rows({unit.document for unit in units}):
                found |= changes.of_units(document, [unit for unit in units if unit.document == document.id])
            return found

    def refs(self, target: str, asked: RelationOptions) -> Related:
        """Every place that names the target. This and the next five raise TargetError as `why` does."""
        from codelens.navigate.refs import refs

        with self._store.reading():
            return refs(self._graph(asked), target, asked)

    def callers(self, target: str, asked: RelationOptions) -> Related:
        """Who calls the target, as a tree."""
        from codelens.navigate.calls import callers

        with self._store.reading():
            return callers(self._graph(asked), target, asked)

    def callees(self, target: str, asked: RelationOptions) -> Related:
        """What the target calls, as a tree."""
        from codelens.navigate.calls import callees

        with self._store.reading():
            return callees(self._graph(asked), target, asked)

    def path(self, first: str, second: str, asked: RelationOptions) -> Related:
        """A shortest way along edges from one target to another; no relations if there is none."""
        from codelens.navigate.ways import path

        with self._store.reading():
            return path(self._graph(asked, RESOLVED), first, second, asked)

    def impact(self, target: str, asked: RelationOptions) -> Related:
        """All that a change of the target may reach, nearest first, tests last."""
        from codelens.navigate.ways import impact

        with self._store.reading():
            return impact(self._graph(asked, RESOLVED), target, asked)

    def tests_reaching(self, asked: Change | Sequence[str], depth: int | None, least: float | None) -> ReachingTests:
        """The tests that a change, or one of these targets, reaches over edges of `least` confidence or more.

        Raises TargetError, and UsageError for a change that cannot be read.
        """
        from codelens.context.reaching import tests_reaching

        with self._store.reading():
            return tests_reaching(self._graph(RelationOptions(min_confidence=least), RESOLVED), asked, depth)

    def hierarchy(self, target: str, asked: RelationOptions) -> Related:
        """Bases, then what is built on the target, as two trees."""
        from codelens.navigate.hierarchy import hierarchy

        with self._store.reading():
            return hierarchy(self._graph(asked), target, asked)

    def map(self, budget: int, asked: RelationOptions, focus: SearchOptions | None = None) -> RepositoryMap:
        """The most central symbols that `budget` tokens hold; with a `focus`, as seen from the files that it lets take part."""
        from codelens.navigate.central import repository_map
        from codelens.search.scope import documents_in_scope

        with self._store.reading():
            near = None if focus is None else {d.id for d in documents_in_scope(self._store, focus)}
            return repository_map(self._graph(asked), budget, near)

    @contextmanager
    def graph_stream(self, asked: RelationOptions) -> Iterator[GraphStream]:
        """All nodes and edges of the files asked about; they are read while the caller reads them."""
        from codelens.navigate.export import graph_stream

        with self._store.reading():
            yield graph_stream(self._graph(asked), asked.kinds)

    def communities(self, of: str, asked: RelationOptions, resolution: float = 1.0) -> Communities:
        """Communities `of` files or symbols. Raises UsageError where networkx is missing."""
        from codelens.navigate.groups import find_communities

        with self._store.reading():
            return find_communities(self._graph(asked), of, resolution)

    def snapshots(self) -> list[LoggedSnapshot]:
        """The log of what the index was, the newest first."""
        with self._store.reading():
            return self._store.log.rows()

    def facts(self, number: int | None = None) -> list[DocumentFacts]:
        """The symbols and edges of a logged snapshot, or of what is indexed now. Raises UsageError where they are not kept."""
        from codelens.snapshots.facts import facts_of, from_text

        with self._store.reading():
            if number is None:
                return facts_of(self._store)
            text = self._store.log.facts(number)
        if text is None:
            raise UsageError(
                "the symbols of this snapshot are not kept any more", "the setting snapshots_kept says how many"
            )
        return list(from_text(text))

    def prove(self, path: str, repository: str = "") -> dict[str, object]:
        """A proof that a document is in this snapshot, as an object that `merkle.holds` can check. Raises TargetError."""
        from codelens.snapshots.proofs import as_record, prove

        with self._store.reading():
            return as_record(prove(self._store, path, repository), self._store.meta("snapshot"))

    def _graph(self, asked: RelationOptions, least: float = 0.0) -> GraphView:
        """`least` is the confidence of edges that count where nobody says otherwise: guesses add up along a way."""
        from codelens.navigate.view import GraphView
        from codelens.search.scope import documents_in_scope

        where = None if asked.where is None else {d.id for d in documents_in_scope(self._store, asked.where)}
        enough = least if asked.min_confidence is None else asked.min_confidence
        return GraphView(self._store, self.info(), where, enough)

    def close(self) -> None:
        """Gives up the state that this index was read at; a later one shows newer content."""
        self._store.close()

    def __enter__(self) -> Index:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
