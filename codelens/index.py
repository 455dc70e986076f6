"""The facade of an index: front ends call its methods, which delegate to the indexing or the search pipeline.

Methods import the pipeline that they need, so that a search does not load the indexer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from codelens.config import Settings, SettingsLoader, find_user_place
from codelens.errors import IndexCorrupt, NoIndex, TargetError, UsageError
from codelens.model.budget import pause_collector
from codelens.model.code import IndexedFile, IndexInfo, RepositoryId, RepositoryInfo, Skip, SourceFile, UnitId, UnitRow
from codelens.model.graph import RESOLVED, GraphStream, ReachingTests, RelationAnswer, RelationOptions, RepositoryMap
from codelens.model.request import SearchOptions
from codelens.model.search import SearchResult, WhyResult
from codelens.store.snapshots import LoggedSnapshot
from codelens.store.store import INDEXED_AT, Store
from codelens.worktree.place import locate_traces, refuse_unsafe_index

if TYPE_CHECKING:
    from codelens.graph.view import GraphView
    from codelens.indexing.run import BuildOptions
    from codelens.memory.notebook import MemoryNotebook
    from codelens.model.context import ChangedCode, ContextRequest, PackedText, PackLayout
    from codelens.model.history import HistoryRead, LastChange, PastCommit, SnapshotDocument
    from codelens.model.runs import IndexReport, Status
    from codelens.notes.finder import AnchorFinder
    from codelens.query.nodes import Query
    from codelens.search.lines import LineSearch
    from codelens.store.checks import IndexFault
    from codelens.traces.ingestion import IndexTraces


Look = bool | SettingsLoader


class Index:
    """An index opened for reading. Close it, or use it as a context manager."""

    def __init__(self, store: Store, settings: Settings, look: Look = False, keep: bool = False) -> None:
        self._store = store
        self._settings = settings
        self._look = bool(look)
        self._settings_of = look if callable(look) else None
        self._keep = keep
        self._info: IndexInfo | None = None

    @classmethod
    def open(cls, path: Path, settings: Settings | None = None, look: Look = False) -> Index:
        """Open the index read-only, without waiting for a writer. With `look`, `info` tells whether the trees have changed; it may
        be what loads the settings of a root, which decide about its files.

        Raises NoIndex, IndexCorrupt, IndexNotTrusted or SchemaTooNew.
        """
        settings = settings or Settings()
        return cls(_read_store(path, settings.trust_indexes), settings, look)

    @classmethod
    def reopen(cls, path: Path, settings: Settings | None = None, look: Look = False) -> Index:
        """Open the index as `open` does, but reuse a recently closed reader if the file is unchanged; for long-lived processes."""
        settings = settings or Settings()
        accepted = settings.trust_indexes
        store = _resume_store(path.absolute(), accepted) or _read_store(path.absolute(), accepted)
        return cls(store, settings, look, keep=True)

    @staticmethod
    def build(
        path: Path, roots: Sequence[Path], settings: Settings, *, rebuild: bool = False, **options: Unpack[BuildOptions]
    ) -> tuple[IndexReport, ...]:
        """Bring the index at `path` up to date with these roots, or create it. Raises IndexBusy.

        Each root is walked with the settings from `settings_of` if that is given, else with
        those of its last run if `as_indexed`, else with `settings`. A new index of a linked worktree starts as a copy of
        another checkout's index; `copy_from` names the index of another clone, or a folder that has one.
        """
        from codelens.indexing.build import build_index
        from codelens.indexing.run import IndexRun

        return build_index(IndexRun(settings, path, **options), roots, rebuild)

    @staticmethod
    def accept(path: Path) -> str:
        """Trust an index that somebody else made, from now on; return its SHA-256.

        Raises the errors of `open`, and CannotWrite if the user's list of trusted indexes cannot be written.
        """
        from codelens.store.trust import accept

        with Store.read(path, accepted=True) as store:
            store.check_types()
        return accept(path.resolve())

    @staticmethod
    def check(path: Path, full: bool, accepted: bool = False) -> list[IndexFault]:
        """Check all pages and a few counts, or every row with `full`; return the faults. Raises NoIndex and IndexNotTrusted."""
        from codelens.store.checks import IndexFault
        from codelens.store.checksums import find_file_faults

        refuse_unsafe_index(path)
        if not path.is_file():
            raise NoIndex(f"no index at {path}")
        if pages := [IndexFault("pages", fault) for fault in find_file_faults(path)]:
            return pages
        try:
            with Store.read(path, accepted) as store, store.reading():
                return list(store.find_faults(full))
        except IndexCorrupt as fault:
            return [IndexFault("file", str(fault))]

    @property
    def graph(self) -> GraphTopic:
        """The queries on the symbol graph, such as references, callers and paths."""
        return GraphTopic(self._store, self._settings, self.info)

    @property
    def settings(self) -> Settings:
        """The settings that the index was opened with."""
        return self._settings

    @staticmethod
    def parse(text: str, options: SearchOptions) -> Query:
        """Parse a query, so that several calls can share the result. Raises QueryError and UsageError."""
        from codelens.search.run import read_query

        return read_query(text, options)

    def search(self, query: str | Query, options: SearchOptions) -> SearchResult:
        """Run a query, given as text or parsed.

        Raises QueryError if a strict query has a fault, UsageError if options contradict each other.
        """
        if options.files_only:
            from codelens.search.files import rank_files as rank
        else:
            from codelens.search.pipeline import rank
        from codelens.search.present import make_result

        info = self.info()
        with self._store.reading(), self._store.limit_time(self._settings.query_seconds), pause_collector():
            result = make_result(rank(query, self._store, options, self._settings), info)
            result.trace.count_lap("present")
            return result

    @contextmanager
    def lines(self, query: str | Query, options: SearchOptions, marked: bool = True) -> Iterator[LineSearch]:
        """Search for every line that satisfies a query; files are read as the caller iterates. Raises what `search` raises.

        If `marked`, each line has all its matches.
        """
        from codelens.search.lines import LineSearch

        with self._store.reading():
            yield LineSearch(query, self._store, options, self._settings, marked)

    def search_lines(self, query: str | Query, options: SearchOptions) -> SearchResult:
        """Search for lines and return them as one result. Each hit has the unit around its line, and no score."""
        with self.lines(query, options) as search:
            return search.make_result(self.info())

    def why(self, query: str | Query, targets: Sequence[str], options: SearchOptions) -> WhyResult:
        """Explain the ranks of these targets for a query. Raises TargetError if a target matches nothing or several places."""
        from codelens.search.why import explain_targets

        with self._store.reading():
            return explain_targets(query, targets, self._store, self.info(), options, self._settings)

    def context(self, request: ContextRequest, layout: PackLayout, keep: bool = True) -> PackedText:
        """Write a context pack for a task, files or a change, in the given layout. With `keep`, the pack cache is used.

        Raises UsageError if the budget is too small for any text or the change cannot be read, TargetError if a file is not
        indexed, and what `search` raises.
        """
        from codelens.context.pipeline import write_pack

        with self._store.reading():
            # Memory changes with every request, and traces with every import: a pack ranked by them is soon out of date.
            is_lasting = not request.options.memory and not locate_traces(self._store.path).is_file()
            folder = find_user_place("packs") if keep and self._settings.pack_cache and is_lasting else None
            return write_pack(request, layout, self._store, self.info(), self._settings, folder)

    def info(self) -> IndexInfo:
        """Describe the index. The result is read once, because an open index shows one state throughout."""
        if self._info is None:
            with self._store.reading():
                self._info = self._read_info()
        return self._info

    def _read_info(self) -> IndexInfo:
        from codelens.indexing.look import look_at_trees

        store = self._store
        trees = look_at_trees(store, self._settings, self._settings_of) if self._look else {}
        repositories = tuple(
            RepositoryInfo(row.name, str(row.root), *store.documents.read_totals(row.id), trees.get(row.name))
            for row in store.documents.list_repositories()
        )
        return IndexInfo(
            path=str(store.path),
            schema=store.read_schema(),
            snapshot=store.read_meta("snapshot"),
            embedder=store.read_meta("embedder"),
            repositories=repositories,
            indexed_at=store.read_meta(INDEXED_AT),
        )

    def estimate_update_seconds(self) -> float:
        """Estimate the seconds that an update takes, from the changes found and the last run's speed; infinite if unknown."""
        from codelens.indexing.look import estimate_update_seconds

        differences = sum(r.tree.differences for r in self.info().repositories if r.tree)
        with self._store.reading():
            return estimate_update_seconds(self._store, differences)

    def status(self, check: bool = False) -> Status:
        """Report what the index contains; with `check`, also how the trees differ from it."""
        from codelens.indexing.status import read_status

        with self._store.reading():
            return read_status(self._store, self.info(), self._settings, check, self._settings_of)

    def is_stale(self) -> bool:
        """Test whether the existing trees differ from the index. Walks the trees but reads no file."""
        from codelens.indexing.status import is_stale

        with self._store.reading():
            return is_stale(self._store, self._settings, self._settings_of)

    def list_skips(self) -> Iterator[tuple[str, Skip]]:
        """Yield (repository, skip) for each path that was left out of the index."""
        with self._store.reading():
            for row in self._store.documents.list_repositories():
                for skip in self._store.documents.list_skips(row.id):
                    yield row.name, skip

    def roots(self) -> list[Path]:
        """List the indexed folders. Raises IndexNotTrusted if a foreign index names folders outside its own tree."""
        from codelens.store.trust import refuse_roots_outside

        roots = [row.root for row in self._store.documents.list_repositories()]
        if not self._store.ours:
            refuse_roots_outside(self._store.path.resolve(), roots)
        return roots

    def find_stray_roots(self) -> list[str]:
        """List the roots that have none of their indexed files, as after moving an index without its tree."""
        with self._store.reading():
            return [str(row.root) for row in self._store.find_missing_repositories()]

    def files(self, options: SearchOptions) -> list[tuple[str, str]]:
        """List (root, path in the operating system's form) of the documents in the options' scope."""
        from codelens.search.scope import list_documents_in_scope

        with self._store.reading():
            roots = {row.id: str(row.root) for row in self._store.documents.list_repositories()}
            return [(roots[d.repository], d.os_path) for d in list_documents_in_scope(self._store, options)]

    def list_files(self, options: SearchOptions) -> list[IndexedFile]:
        """List the documents in the options' scope, sorted by repository and path."""
        from codelens.search.sources import list_files

        with self._store.reading():
            return list_files(self._store, options)

    def read_source(self, path: str, repository: str = "") -> SourceFile:
        """Read a file as it was indexed. Raises TargetError if it is not indexed, or if several repositories have it."""
        from codelens.search.sources import read_source

        with self._store.reading():
            return read_source(self._store, path, repository)

    def find_passage(self, target: str) -> tuple[SourceFile, UnitRow | None, int]:
        """Find the file, the symbol (None for a whole file) and the first line that a PATH, PATH:LINE or name refers to.

        Raises TargetError.
        """
        from codelens.search.sources import find_passage

        with self._store.reading():
            return find_passage(self._store, target)

    def symbols(self, path: str) -> list[UnitRow]:
        """List the symbols of a file. `path` is relative to a root, or begins with a repository's name. Raises TargetError."""
        from codelens.store.targets import find_documents

        with self._store.reading():
            documents = find_documents(path, "", self._store)
            if not documents:
                hint = "`codelens status --skipped` lists what was left out"
                raise TargetError(f"{path} is not in the index", hint=hint)
            return [unit for document in documents for unit in self._store.units.list_in_document(document.id)]

    def complete_name(self, beginning: str, most: int) -> list[str]:
        """List symbol names with a given beginning, shortest first; `Class.` lists the members of the class."""
        with self._store.reading():
            return self._store.units.complete_name(beginning, most)

    def open_notebook(self, session: str = "", now: int | None = None) -> MemoryNotebook:
        """Open the memory of this index for reading and recording. It records nothing unless the setting `memory` is on.

        `session` names one client of a server; `now` is in unix seconds, by default the current time.
        """
        from codelens.memory.notebook import MemoryNotebook

        return MemoryNotebook(self._store, self._settings.memory, session, now)

    def record_answer(
        self,
        query: str,
        shown: Sequence[tuple[int, UnitRow, int]],
        *,
        words: str | None = None,
        session: str = "",
        now: int | None = None,
    ) -> None:
        """Record a query and its results, as (rank, unit, line). Raises MemoryOff and MemoryFault.

        `words` is the part of the query whose words may be learned; None means the whole query.
        """
        self.open_notebook(session, now).record_answer(
            query, select_learnable_words(query if words is None else words), shown
        )

    def list_snapshots(self) -> list[LoggedSnapshot]:
        """List the logged states of the index, newest first."""
        with self._store.reading():
            return self._store.log.list_snapshots()

    def read_facts(self, number: int | None = None) -> list[SnapshotDocument]:
        """Read the symbols and edges of a logged snapshot, or of the current index. Raises UsageError if they are gone."""
        from codelens.snapshots.facts import read_facts

        with self._store.reading():
            facts = read_facts(self._store, number)
        if facts is not None:
            return facts
        hint = "the setting snapshots_kept sets how many are"
        raise UsageError("the symbols of this snapshot are no longer stored", hint)

    def find_last_changes(self, units: Sequence[UnitRow]) -> dict[UnitId, LastChange]:
        """Find when and by whom each unit was last changed. Units without git history are left out."""
        from codelens.query.facts import LastChanges
        from codelens.store.texts import Texts

        with self._store.reading():
            changes = LastChanges(self._store, Texts(self._store))
            last: dict[UnitId, LastChange] = {}
            for document in self._store.documents.read_rows({unit.document for unit in units}):
                last |= changes.find_for_units(document, [unit for unit in units if unit.document == document.id])
            return last

    def rank_commits(self, query: str, limit: int, offset: int = 0) -> tuple[list[tuple[float, str, PastCommit]], int]:
        """Rank past commits by their messages: (score, repository, commit) of one page, best first, and the total number."""
        from codelens.text.terms import index_terms

        with self._store.reading():
            ranked = self._store.messages.rank_by_terms(index_terms(query).split())
            part = ranked[offset : offset + limit]
            return [(score, *self._store.messages.read_commit(number)) for score, number in part], len(ranked)

    def has_messages(self) -> bool:
        """Test whether messages of past commits can be searched."""
        with self._store.reading():
            return self._store.messages.read_totals()[0] > 0

    def list_histories(self) -> list[tuple[str, HistoryRead | None]]:
        """List (repository, extent of its git history that was read); the extent is None if no run has read it."""
        with self._store.reading():
            return [(row.name, self._store.history.read(row.id)) for row in self._store.documents.list_repositories()]

    @contextmanager
    def open_anchors(self, root: Path) -> Iterator[AnchorFinder]:
        """Open a finder that makes anchors of notes, and finds their places in the tree at `root`."""
        from codelens.notes.finder import AnchorFinder

        with self._store.reading():
            rows = (row.id for row in self._store.documents.list_repositories() if row.root == root)
            yield AnchorFinder(self._store, next(rows, RepositoryId(-1)))

    @property
    def missing_parts(self) -> Sequence[str]:
        """Messages about what answers leave out: fleet shards that do not respond, or that the user may not see."""
        return self._store.missing

    def drop_lost_shards(self) -> None:
        """Drop lost shards and go on without them; does nothing if the index is a single file."""

    def close(self) -> None:
        """Close the index, or keep its reader for `reopen`. An index opened later shows newer content."""
        if not (self._keep and self._store.rest()):
            self._store.close()
            return
        _RESTING.append(self._store)
        for surplus in _RESTING[:-MOST_RESTING]:
            if _take_from_rest(surplus):
                surplus.close()

    def __enter__(self) -> Index:
        return self

    def __exit__(self, kind: object, fault: object, trace: object) -> None:
        self._keep = self._keep and fault is None
        self.close()


MOST_RESTING = 2  # Maximum number of closed readers kept for `reopen`. Each keeps up to 64 MiB of pages.
_RESTING: list[Store] = []


def _take_from_rest(store: Store) -> bool:
    """Remove a store from the resting ones; false if another thread took it first."""
    try:
        _RESTING.remove(store)
    except ValueError:
        return False
    return True


def _read_store(path: Path, accepted: bool) -> Store:
    """Open the index. One that `accept` has not checked before is checked now."""
    with ExitStack() as unopened:
        store = unopened.enter_context(Store.read(path, accepted))
        if accepted and not store.ours:
            store.check_types()
        unopened.pop_all()
    return store


def _resume_store(path: Path, accepted: bool) -> Store | None:
    """Take a resting reader whose file is unchanged; None without one. Readers of changed files are closed."""
    for store in _RESTING[::-1]:
        if store.path == path and _take_from_rest(store):
            if store.resume(accepted):
                return store
            store.close()
    return None


def _make_method(place: str, least: float = 0.0, is_limited: bool = True) -> Callable[..., RelationAnswer]:
    """Make a method of GraphTopic that calls the function at MODULE:NAME, which is imported at the first call.

    `least` is the default minimum confidence of edges: uncertainty adds up along a path. If `is_limited`, the time limit of
    a query applies.
    """
    module, _, name = place.partition(":")

    def answer(self: GraphTopic, *question: Any) -> RelationAnswer:
        function = getattr(import_module(module), name)
        with self._read_in_time() if is_limited else self._store.reading():
            return function(self._view(question[-1], least), *question)  # type: ignore[no-any-return]

    return answer


class GraphTopic:
    """Queries on the symbol graph."""

    def __init__(self, store: Store, settings: Settings, info: Callable[[], IndexInfo]) -> None:
        self._store = store
        self._settings = settings
        self._info = info

    @contextmanager
    def _read_in_time(self) -> Iterator[None]:
        """Read one state of the index, under the time limit of a query."""
        with self._store.reading(), self._store.limit_time(self._settings.query_seconds):
            yield

    # Questions about targets: (*targets, options) → RelationAnswer. Like `why`, they raise TargetError.
    refs = _make_method("codelens.graph.refs:find_references")  # Every place that names the target
    callers = _make_method("codelens.graph.reach:find_callers", RESOLVED)  # A tree
    callees = _make_method("codelens.graph.reach:find_callees", RESOLVED, is_limited=False)  # A tree
    path = _make_method("codelens.graph.reach:find_path", RESOLVED, is_limited=False)
    """No relations if the targets are not connected."""
    impact = _make_method("codelens.graph.reach:find_impact", RESOLVED)
    """Code that a change may affect, nearest first, tests last."""
    hierarchy = _make_method("codelens.graph.reach:list_hierarchy", RESOLVED)  # Bases, then derived types, as two trees

    def map(self, budget: int, options: RelationOptions, focus: SearchOptions | None = None) -> RepositoryMap:
        """Find the most central symbols that fit in `budget` tokens; a `focus` ranks them by closeness to the files it selects."""
        from codelens.graph.map import map_repository
        from codelens.search.scope import list_documents_in_scope

        with self._store.reading():
            near = None if focus is None else {d.id for d in list_documents_in_scope(self._store, focus)}
            return map_repository(self._view(options), budget, near)

    def find_tests_reaching(self, change: ChangedCode, depth: int | None, least: float | None) -> ReachingTests:
        """Find the tests that a change or the targets affect, along edges of confidence `least` or more.

        Raises TargetError, and UsageError if the change cannot be read.
        """
        from codelens.context.test_scope import find_tests_reaching

        with self._read_in_time():
            return find_tests_reaching(self._view(RelationOptions(min_confidence=least), RESOLVED), change, depth)

    def list_unresolved_calls(self, change: ChangedCode, depth: int | None, least: float | None) -> RelationAnswer:
        """List the calls that linking could not follow: through them a change may affect more tests than `tests_reaching` finds."""
        from codelens.context.test_scope import find_unresolved_calls

        with self._store.reading():
            return find_unresolved_calls(self._view(RelationOptions(min_confidence=least), RESOLVED), change, depth)

    @contextmanager
    def stream(self, options: RelationOptions) -> Iterator[GraphStream]:
        """Stream all nodes and edges of the files in scope; they are read as the caller consumes them."""
        from codelens.graph.map import stream_graph

        with self._store.reading():
            yield stream_graph(self._view(options), options.kinds)

    def traces(self) -> IndexTraces:
        """Open the run-time traces of this index's symbols, to list, import or delete them."""
        from codelens.traces.ingestion import IndexTraces

        return IndexTraces(self._store)

    def _view(self, options: RelationOptions, least: float = 0.0) -> GraphView:
        """Open a view of the graph as the options restrict it; `least` is the default minimum confidence of edges."""
        from codelens.graph.view import GraphView
        from codelens.search.scope import list_documents_in_scope

        where = None if options.where is None else {d.id for d in list_documents_in_scope(self._store, options.where)}
        enough = least if options.min_confidence is None else options.min_confidence
        return GraphView(self._store, self._info(), where, enough)


def select_learnable_words(query: str) -> tuple[str, ...]:
    """Select the words of a query that memory may link to the results used for it."""
    from codelens.query.parser import parse_query
    from codelens.search.recollection import find_learnable_words

    return find_learnable_words(part.text for part in parse_query(query).ranking_texts)
