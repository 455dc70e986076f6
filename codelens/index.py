"""The facade: what a front end may ask of an index, each a method that hands the work to one of the two pipelines.

Indexing and searching are imported by the methods that need them: a search must not pay for the indexer's imports.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import TracebackType

from codelens.config import Settings
from codelens.errors import TargetError
from codelens.model import IndexInfo, RepositoryInfo, SearchOptions, SearchResult, SeenFile, Skip, UnitRow, WhyResult
from codelens.runs import IndexReport, Progress, Status
from codelens.store.store import Store


class Index:
    """An index opened for reading. Close it, or use it as a context manager."""

    def __init__(self, store: Store, settings: Settings) -> None:
        self._store = store
        self._settings = settings
        self._info: IndexInfo | None = None

    @classmethod
    def open(cls, path: Path, settings: Settings | None = None) -> Index:
        """Raises NoIndex, IndexCorrupt or SchemaTooNew. Nothing is written, and no writer is waited for."""
        return cls(Store.read(path), settings or Settings())

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
    ) -> tuple[IndexReport, ...]:
        """Bring the index at `path` up to date with these roots; make it if there is none. Raises IndexBusy."""
        from codelens.indexing.build import build_index

        return build_index(path, roots, settings, force=force, rebuild=rebuild, verify=verify, progress=progress)

    @staticmethod
    def plan(roots: Sequence[Path], settings: Settings) -> Iterator[SeenFile | Skip]:
        """What the walk would hand to the indexer, in order; nothing is written."""
        from codelens.worktree.walk import walk

        for root in roots:
            yield from walk(root.resolve(), settings)

    def search(self, query: str, options: SearchOptions) -> SearchResult:
        from codelens.search.pipeline import search

        return search(query, self._store, self.info(), options, self._settings)

    def why(self, query: str, targets: Sequence[str], options: SearchOptions) -> WhyResult:
        """Raises TargetError where a target fits nothing, or several things."""
        from codelens.search.why import explain

        return explain(query, targets, self._store, self.info(), options, self._settings)

    def info(self) -> IndexInfo:
        if self._info is None:
            store = self._store
            repositories = tuple(
                RepositoryInfo(row.name, str(row.root), *store.documents.totals(row.id))
                for row in store.documents.repositories()
            )
            self._info = IndexInfo(
                str(store.path), store.schema(), store.meta("snapshot"), store.meta("embedder"), repositories
            )
        return self._info

    def status(self, check: bool = False) -> Status:
        """What the index holds; with `check`, what the trees say against it."""
        from codelens.indexing.status import read_status

        return read_status(self._store, self.info(), self._settings, check)

    def skipped(self) -> Iterator[tuple[str, Skip]]:
        """(repository, skip) of all that was left out."""
        for row in self._store.documents.repositories():
            for skip in self._store.documents.skips(row.id):
                yield row.name, skip

    def files(self, options: SearchOptions) -> list[tuple[str, str]]:
        """(root, path as the operating system knows it) of the documents that the options let take part."""
        from codelens.search.scope import documents_in_scope

        roots = {row.id: str(row.root) for row in self._store.documents.repositories()}
        return [(roots[d.repository], d.os_path) for d in documents_in_scope(self._store, options)]

    def symbols(self, path: str) -> list[UnitRow]:
        """The outline of one file, by its path relative to a root. Raises TargetError if it is not indexed."""
        documents = self._store.documents.by_path(path)
        if not documents:
            raise TargetError(f"{path} is not in the index", hint="`codelens status --skipped` lists what was left out")
        return [unit for document in documents for unit in self._store.units.of_document(document.id)]

    def close(self) -> None:
        self._store.close()

    def __enter__(self) -> Index:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
