"""The facade: every operation of a front end on an index is a method here, which delegates to one of the two pipelines.

Methods import the pipeline that they need, so that a search does not pay for the indexer's imports.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from codelens.config import Settings, find_user_place
from codelens.errors import IndexCorrupt, NoIndex, TargetError, UsageError
from codelens.model.budget import pausing_collector
from codelens.model.code import (
    IndexedFile,
    IndexInfo,
    RepositoryId,
    RepositoryInfo,
    Skip,
    SourceFile,
    UnitId,
    UnitRow,
)
from codelens.model.graph import (
    RESOLVED,
    GraphStream,
    ReachingTests,
    RelationAnswer,
    RelationOptions,
    RepositoryMap,
)
from codelens.model.request import SearchOptions
from codelens.model.search import SearchResult, WhyResult
from codelens.store.snapshots import LoggedSnapshot
from codelens.store.store import INDEXED_AT, Store
from codelens.worktree.place import locate_traces

if TYPE_CHECKING:
    from codelens.graph.view import GraphView
    from codelens.memory.notebook import MemoryNotebook
    from codelens.model.context import Change, ContextRequest, PackedText, PackLayout
    from codelens.model.history import HistoryRead, LastChange, PastCommit, SnapshotDocument
    from codelens.model.runs import IndexReport, Status
    from codelens.notes.finder import AnchorFinder
    from codelens.query.nodes import Query
    from codelens.search.lines import LineSearch
    from codelens.store.checks import IndexFault
    from codelens.traces.ingestion import IndexTraces


class Index:
    """An index opened for reading. Close it, or use it as a context manager."""

    def __init__(self, store: Store, settings: Settings, look: bool = False, keep: bool = False) -> None:
        self._store = store
        self._settings = settings
        self._look = look
        self._keep = keep
        self._info: IndexInfo | None = None

    @classmethod
    def open(cls, path: Path, settings: Settings | None = None, look: bool = False) -> Index:
        """Open the index without writing or waiting for a writer. With `look`, `info` tells whether the trees have changed.

        Raises NoIndex, IndexCorrupt, IndexNotTrusted or SchemaTooNew.
        """
        settings = settings or Settings()
        return cls(Store.read(path, settings.trust_indexes), settings, look)

    @classmethod
    def reopen(cls, path: Path, settings: Settings | None = None, look: bool = False) -> Index:
        """Like `open`, for a process that answers again and again: a file that did not change is not opened again."""
        settings = settings or Settings()
        accepted = settings.trust_indexes
        store = _resume_store(path.absolute(), accepted) or Store.read(path.absolute(), accepted)
        return cls(store, settings, look, keep=True)

    @staticmethod
    def build(
        path: Path, roots: Sequence[Path], settings: Settings, *, rebuild: bool = False, **options: Any
    ) -> tuple[IndexReport, ...]:
        """Bring the index at `path` up to date with these roots, or create it. Raises IndexBusy.

        `options` are those of IndexRun. Each root is walked with the settings from `settings_of`; without it, with those of
        its last run if `as_indexed`, else with `settings`. A new index of a linked worktree begins with a copy of another
        checkout's index; `copy_from` names the index of another clone, or a folder that has one.
        """
        from codelens.indexing.build import build_index
        from codelens.indexing.run import IndexRun

        return build_index(IndexRun(settings, path, **options), roots, rebuild)

    @staticmethod
    def accept(path: Path) -> str:
        """Trust the index at `path` from now on, although codelens did not make it here for this user; return its SHA-256.

        Raises the errors of `open`, and CannotWrite if the user's list of trusted indexes cannot be written.
        """
        from codelens.store.trust import accept

        Store.read(path, accepted=True).close()
        return accept(path.resolve())

    @staticmethod
    def check(path: Path, full: bool, accepted: bool = False) -> list[IndexFault]:
        """Check all pages and a few counts, or with `full` every row; return the faults. Raises NoIndex and IndexNotTrusted."""
        from codelens.store.checks import IndexFault
        from codelens.store.checksums import find_file_faults

        if not path.is_file():
            raise NoIndex(f"no index at {path}")
        if pages := [IndexFault("pages", fault) for fault in find_file_faults(path)]:
            return pages
        try:
            with Store.read(path, accepted) as store, store.reading():
                return list(store.faults(full))
        except IndexCorrupt as fault:
            return [IndexFault("file", str(fault))]

    @property
    def graph(self) -> GraphTopic:
        """The symbol graph: references, callers, paths, impact, the map."""
        return GraphTopic(self._store, self._settings, self.info)

    @property
    def settings(self) -> Settings:
        """The settings that the index was opened with."""
        return self._settings

    @staticmethod
    def parse(text: str, options: SearchOptions) -> Query:
        """Parse a query once, for all that is asked of it. Raises QueryError and UsageError."""
        from codelens.search.run import read_query

        return read_query(text, options)

    def search(self, query: str | Query, options: SearchOptions) -> SearchResult:
        """Run a query, given as text or parsed.

        Raises QueryError for a fault in a strict query, UsageError for options that contradict each other.
        """
        if options.files_only:
            from codelens.search.files import rank_files as rank
        else:
            from codelens.search.pipeline import rank
        from codelens.search.present import answer

        info = self.info()
        with self._store.reading(), self._store.spending(self._settings.query_seconds), pausing_collector():
            result = answer(rank(query, self._store, options, self._settings), info)
            result.trace.count_lap("present")
            return result

    @contextmanager
    def lines(self, query: str | Query, options: SearchOptions, marked: bool = True) -> Iterator[LineSearch]:
        """A search for every line that satisfies a query, which reads while its files are iterated; with all matches of a line
        if `marked`. Raises as `search` does.
        """
        from codelens.search.lines import LineSearch

        with self._store.reading():
            yield LineSearch.start(query, self._store, options, self._settings, marked)

    def search_lines(self, query: str | Query, options: SearchOptions) -> SearchResult:
        """The same as one result, with the unit around each line; the hits have no scores."""
        with self.lines(query, options) as search:
            return search.answer(self.info())

    def why(self, query: str | Query, targets: Sequence[str], options: SearchOptions) -> WhyResult:
        """Explain the ranks of these targets for a query. Raises TargetError if one matches nothing, or several places."""
        from codelens.search.why import explain

        with self._store.reading():
            return explain(query, targets, self._store, self.info(), options, self._settings)

    def context(self, request: ContextRequest, layout: PackLayout, keep: bool = True) -> PackedText:
        """A context pack for a task, files or a change, in the given layout. With `keep`, a cached pack may be returned.

        Raises UsageError for a budget too small for any text and for a change that cannot be read, TargetError for files
        that are not indexed, and the errors of a search.
        """
        from codelens.context.pipeline import write_pack

        with self._store.reading():
            # Memory changes with every request, and traces with every import: a pack ranked by them is soon out of date.
            may_keep = keep and self._settings.pack_cache and not request.options.memory
            may_keep = may_keep and not locate_traces(self._store.path).is_file()
            folder = find_user_place("packs") if may_keep else None
            return write_pack(request, layout, self._store, self.info(), self._settings, folder)

    def info(self) -> IndexInfo:
        """The index's description of itself. An open index shows one state throughout."""
        if self._info is None:
            with self._store.reading():
                self._info = self._read_info()
        return self._info

    def _read_info(self) -> IndexInfo:
        from codelens.indexing.look import look_at_trees

        store = self._store
        trees = look_at_trees(store, self._settings) if self._look else {}
        repositories = tuple(
            RepositoryInfo(row.name, str(row.root), *store.documents.read_totals(row.id), trees.get(row.name))
            for row in store.documents.list_repositories()
        )
        return IndexInfo(
            path=str(store.path),
            schema=store.schema(),
            snapshot=store.meta("snapshot"),
            embedder=store.meta("embedder"),
            repositories=repositories,
            indexed_at=store.meta(INDEXED_AT),
        )

    def seconds_to_update(self) -> float:
        """How long an index run would take for the changes that the look found, by the speed of the last; infinite if unknown."""
        from codelens.indexing.look import estimate_update_seconds

        differences = sum(r.tree.differences for r in self.info().repositories if r.tree)
        with self._store.reading():
            return estimate_update_seconds(self._store, differences)

    def status(self, check: bool = False) -> Status:
        """The index's contents; with `check`, also how the trees differ from it."""
        from codelens.indexing.status import read_status

        with self._store.reading():
            return read_status(self._store, self.info(), self._settings, check)

    def is_stale(self) -> bool:
        """Test whether an index run would find work in the existing trees. Walks them and reads no file."""
        from codelens.indexing.status import is_stale

        with self._store.reading():
            return is_stale(self._store, self._settings)

    def skipped(self) -> Iterator[tuple[str, Skip]]:
        """(repository, skip) for each path that was left out."""
        with self._store.reading():
            for row in self._store.documents.list_repositories():
                for skip in self._store.documents.list_skips(row.id):
                    yield row.name, skip

    def roots(self) -> list[Path]:
        """The folders that were indexed. Raises IndexNotTrusted if they are not vouched for (`refuse_roots_outside`)."""
        from codelens.store.trust import refuse_roots_outside

        roots = [row.root for row in self._store.documents.list_repositories()]
        if not self._store.ours:
            refuse_roots_outside(self._store.path.resolve(), roots)
        return roots

    def strays(self) -> list[str]:
        """Roots without any of the indexed files: the index was moved without its tree."""
        with self._store.reading():
            return [str(row.root) for row in self._store.strays()]

    def files(self, options: SearchOptions) -> list[tuple[str, str]]:
        """(root, path as the operating system knows it) of the documents in the options' scope."""
        from codelens.search.scope import list_documents_in_scope

        with self._store.reading():
            roots = {row.id: str(row.root) for row in self._store.documents.list_repositories()}
            return [(roots[d.repository], d.os_path) for d in list_documents_in_scope(self._store, options)]

    def list_files(self, options: SearchOptions) -> list[IndexedFile]:
        """The documents in the options' scope, by repository and path."""
        from codelens.search.sources import list_files

        with self._store.reading():
            return list_files(self._store, options)

    def source(self, path: str, repository: str = "") -> SourceFile:
        """One file as it was indexed. Raises TargetError if it is not indexed, or is in several repositories and none is named."""
        from codelens.search.sources import read_source

        with self._store.reading():
            return read_source(self._store, path, repository)

    def passage(self, target: str) -> tuple[SourceFile, UnitRow | None, int]:
        """The file of a PATH, PATH:LINE or name, the symbol that is meant (None for a file), and the line to begin at.

        Raises TargetError.
        """
        from codelens.search.sources import find_passage

        with self._store.reading():
            return find_passage(self._store, target)

    def symbols(self, path: str) -> list[UnitRow]:
        """The outline of one file, by its path relative to a root, or below a repository's name. Raises TargetError."""
        from codelens.store.targets import find_documents

        with self._store.reading():
            documents = find_documents(path, "", self._store)
            if not documents:
                hint = "`codelens status --skipped` lists what was left out"
                raise TargetError(f"{path} is not in the index", hint=hint)
            return [unit for document in documents for unit in self._store.units.list_in_document(document.id)]

    def names(self, beginning: str, most: int) -> list[str]:
        """Names of symbols that begin like this, shortest first; `Class.` stands for the members of the class."""
        with self._store.reading():
            return self._store.units.complete_name(beginning, most)

    def notebook(self, session: str = "", now: int | None = None) -> MemoryNotebook:
        """The notebook of the memory of this index, to read and to record in. It records nothing unless `memory` is on.

        A session is one client's work in a server; `now` is in unix seconds, by default the current time.
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

        `words` is the part of the query whose words may be linked to the results used; None means the whole query.
        """
        self.notebook(session, now).record(query, select_learnable_words(query if words is None else words), shown)

    def snapshots(self) -> list[LoggedSnapshot]:
        """The log of the index's states, the newest first."""
        with self._store.reading():
            return self._store.log.rows()

    def facts(self, number: int | None = None) -> list[SnapshotDocument]:
        """The symbols and edges of a logged snapshot, by default of the current index. Raises UsageError if they are gone."""
        from codelens.snapshots.facts import read_facts

        with self._store.reading():
            facts = read_facts(self._store, number)
        if facts is None:
            raise UsageError(
                "the symbols of this snapshot are no longer stored", "the setting snapshots_kept sets how many are"
            )
        return facts

    def last_changes(self, units: Sequence[UnitRow]) -> dict[UnitId, LastChange]:
        """The last change of each unit: when and by whom. Units without git history are left out."""
        from codelens.query.facts import LastChanges
        from codelens.store.texts import Texts

        with self._store.reading():
            changes = LastChanges(self._store, Texts(self._store))
            last: dict[UnitId, LastChange] = {}
            for document in self._store.documents.read_rows({unit.document for unit in units}):
                last |= changes.find_for_units(document, [unit for unit in units if unit.document == document.id])
            return last

    def commits(self, query: str, limit: int, offset: int = 0) -> tuple[list[tuple[float, str, PastCommit]], int]:
        """(score, repository, commit) of past commits by the words of their messages, best first; and the number of all."""
        from codelens.text.terms import index_terms

        with self._store.reading():
            ranked = self._store.messages.rank(index_terms(query).split())
            part = ranked[offset : offset + limit]
            return [(score, *self._store.messages.commit(number)) for score, number in part], len(ranked)

    def has_messages(self) -> bool:
        """True if the messages of past commits can be searched."""
        with self._store.reading():
            return self._store.messages.totals()[0] > 0

    def histories(self) -> list[tuple[str, HistoryRead | None]]:
        """(repository, how much of its git history was read); None if no run has read it."""
        with self._store.reading():
            return [(row.name, self._store.history.read(row.id)) for row in self._store.documents.list_repositories()]

    @contextmanager
    def anchors(self, root: Path) -> Iterator[AnchorFinder]:
        """Finds the places of notes' anchors in the tree at `root`, and makes anchors."""
        from codelens.notes.finder import AnchorFinder

        with self._store.reading():
            rows = (row.id for row in self._store.documents.list_repositories() if row.root == root)
            yield AnchorFinder(self._store, next(rows, RepositoryId(-1)))

    @property
    def missing(self) -> Sequence[str]:
        """Sentences about what answers are without: shards of a fleet that do not answer, or may not be seen."""
        return self._store.missing

    def renew(self) -> None:
        """Go on without shards that were lost; nothing for a file."""

    def close(self) -> None:
        """Release the state that this index shows; an index opened later shows newer content."""
        if not (self._keep and self._store.rest()):
            self._store.close()
            return
        _RESTING.append(self._store)
        for surplus in _RESTING[:-MOST_RESTING]:
            if _take_from_rest(surplus):
                surplus.close()

    def __enter__(self) -> Index:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._keep = self._keep and fault is None
        self.close()


MOST_RESTING = 2  # Readers that wait to be asked again. Each keeps up to 64 MiB of pages.
_RESTING: list[Store] = []


def _take_from_rest(store: Store) -> bool:
    """True if no other thread was faster to take it from those that rest."""
    try:
        _RESTING.remove(store)
    except ValueError:
        return False
    return True


def _resume_store(path: Path, accepted: bool) -> Store | None:
    """A reader at rest whose file is as it was; those of changed files are closed."""
    for store in _RESTING[::-1]:
        if store.path == path and _take_from_rest(store):
            if store.resume(accepted):
                return store
            store.close()
    return None


def _answers(place: str, least: float = 0.0, is_limited: bool = True) -> Callable[..., RelationAnswer]:
    """A method of GraphTopic: the answer of the function at MODULE:NAME, which is imported when it is first asked.

    `least` is the confidence that edges need by default: guesses add up along a path. If `is_limited`, the answer may take
    no longer than a query.
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
        """Read one state of the index, within the time of one query."""
        with self._store.reading(), self._store.spending(self._settings.query_seconds):
            yield

    # Questions about targets: (*targets, options) → RelationAnswer. They raise TargetError as `why` does.
    refs = _answers("codelens.graph.refs:find_references")  # Every place that names the target
    callers = _answers("codelens.graph.reach:find_callers", RESOLVED)  # A tree
    callees = _answers("codelens.graph.reach:find_callees", RESOLVED, is_limited=False)  # A tree
    path = _answers(
        "codelens.graph.reach:find_path", RESOLVED, is_limited=False
    )  # Without relations if they are not connected
    impact = _answers(
        "codelens.graph.reach:find_impact", RESOLVED
    )  # What a change may affect, nearest first, tests last
    hierarchy = _answers("codelens.graph.reach:list_hierarchy", RESOLVED)  # Bases, then derived types, as two trees

    def map(self, budget: int, options: RelationOptions, focus: SearchOptions | None = None) -> RepositoryMap:
        """The most central symbols that fit in `budget` tokens; with a `focus`, as seen from the files in its scope."""
        from codelens.graph.map import map_repository
        from codelens.search.scope import list_documents_in_scope

        with self._store.reading():
            near = None if focus is None else {d.id for d in list_documents_in_scope(self._store, focus)}
            return map_repository(self._view(options), budget, near)

    def tests_reaching(self, change: Change | Sequence[str], depth: int | None, least: float | None) -> ReachingTests:
        """The tests that a change, or one of the targets, reaches over edges of at least `least` confidence.

        Raises TargetError, and UsageError for a change that cannot be read.
        """
        from codelens.context.test_scope import find_tests_reaching

        with self._read_in_time():
            return find_tests_reaching(self._view(RelationOptions(min_confidence=least), RESOLVED), change, depth)

    def unresolved_in_scope(
        self, change: Change | Sequence[str], depth: int | None, least: float | None
    ) -> RelationAnswer:
        """The calls that linking could not follow, and through which more tests than `tests_reaching` may be reached."""
        from codelens.context.test_scope import find_unresolved_calls

        with self._store.reading():
            return find_unresolved_calls(self._view(RelationOptions(min_confidence=least), RESOLVED), change, depth)

    @contextmanager
    def stream(self, options: RelationOptions) -> Iterator[GraphStream]:
        """All nodes and edges of the files in scope, read from the index while the caller consumes them."""
        from codelens.graph.map import stream_graph

        with self._store.reading():
            yield stream_graph(self._view(options), options.kinds)

    def traces(self) -> IndexTraces:
        """The run-time traces of this index's symbols: to list, extend and forget."""
        from codelens.traces.ingestion import IndexTraces

        return IndexTraces(self._store)

    def _view(self, options: RelationOptions, least: float = 0.0) -> GraphView:
        """`least` is the default confidence of an edge."""
        from codelens.graph.view import GraphView
        from codelens.search.scope import list_documents_in_scope

        where = None if options.where is None else {d.id for d in list_documents_in_scope(self._store, options.where)}
        enough = least if options.min_confidence is None else options.min_confidence
        return GraphView(self._store, self._info(), where, enough)


def select_learnable_words(query: str) -> tuple[str, ...]:
    """The words of a query that may be linked to the results used for it."""
    from codelens.query.parser import parse_query
    from codelens.search.recollection import find_learnable_words

    return find_learnable_words(part.text for part in parse_query(query).ranking_texts)
