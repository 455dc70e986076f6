"""Links the documents of a repository that an update changed, or that depend on a change: the pipeline's last step."""

from __future__ import annotations

import marshal
from collections import deque
from collections.abc import Collection, Generator, Iterable, Iterator, Sequence
from contextlib import closing
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from codelens.errors import CodelensError
from codelens.indexing.changes import RepositoryUpdate
from codelens.indexing.workers import count_workers
from codelens.linking.linker import DocumentLinks, Linker, link_documents, split_into_batches, write_links
from codelens.linking.precise.indexes import PreciseIndexes, read_tree_indexes, store_implementations
from codelens.model.budget import pause_collector
from codelens.model.code import DocumentId, RepositoryId
from codelens.model.search import Notice

if TYPE_CHECKING:
    from concurrent.futures import Future

DOCUMENTS_A_WORKER = 200  # Documents that justify another linking process, which reads the list of all documents
DOCUMENTS_A_CALL = 256  # Documents that a worker links in one call: neighbours look up the same things
CALLS_AHEAD = 3  # Calls of each worker that may wait to be written: a bound on memory

LinkStream = Generator[DocumentLinks, None, None]


def link_update(update: RepositoryUpdate) -> tuple[Notice, ...]:
    """Link the documents that are unlinked or that the update concerns. Returns notices about SCIP indexes in the tree. If the
    tree has any, each change links all documents, because an index may give edges to all their symbols."""
    store, repository, invalidation = update.store, update.repository, update.invalidation
    precise: PreciseIndexes | None = None

    @cache
    def open_linker() -> Linker:
        return Linker(store, repository.id)

    documents = invalidation.find_documents_to_link(update.run.batches, lambda: open_linker().catalog)
    tree_indexes = read_tree_indexes(repository.root, update.run.settings.max_precise_size)
    key = f"precise:{repository.name}"
    indexes_changed = store.read_meta(key) != tree_indexes.state
    if indexes_changed or (tree_indexes.files and (documents or invalidation.has_changes)):
        documents = {state.id for state in store.documents.read_states(repository.id).values()}
        precise = PreciseIndexes(store, repository.id, tree_indexes.files)
    if documents or invalidation.has_changes:  # a removed file may have held members of types that stay
        update.transaction.begin()
        linker = Linker(store, repository.id, precise) if precise else open_linker()
        _link_documents(update, linker, documents, precise)
        store.edges.drop_unused_externals()
    update.transaction.set_meta(key, tree_indexes.state)
    return (*tree_indexes.notices, *(precise.notices if precise else ()))


def _link_documents(
    update: RepositoryUpdate, linker: Linker, documents: Collection[DocumentId], precise: PreciseIndexes | None
) -> None:
    """Find and store the links of documents, in worker processes if a build has many."""
    store, run = update.store, update.run
    files = linker.catalog.files
    ordered = sorted((d for d in documents if d in files), key=lambda d: files[d].path)
    is_whole = run.batches or len(ordered) == len(files)
    if len(ordered) == len(files):
        store.edges.forget_all(ordered)

    def report_progress(links: Iterable[DocumentLinks]) -> Iterator[DocumentLinks]:
        for done, document_links in enumerate(links, start=1):
            update.report_progress("link", done, len(ordered), files[document_links.document].path)
            yield document_links

    workers = min(count_workers(run.settings), len(ordered) // DOCUMENTS_A_WORKER)
    if run.batches and not precise and workers > 1:
        update.transaction.commit()  # the workers read what is committed
        store.share_build()
        links = _find_links_by_workers(store.path, linker.repository, ordered, workers)
    else:
        links = _find_links(linker, ordered, is_whole)
    with closing(links):
        for batch in split_into_batches(report_progress(links)):
            update.transaction.begin()
            write_links(store, batch, fresh=is_whole)
            if run.batches:
                update.transaction.commit()
                update.transaction.begin()  # outside of a transaction, each query locks the file and reads its header
    if not is_whole:
        linker.inheritance.replace_edges(store, ordered, update.invalidation.find_affected_types(linker.catalog))
    if precise:
        store_implementations(store, linker.catalog, precise)


def _find_links(linker: Linker, documents: Iterable[DocumentId], is_whole: bool) -> LinkStream:
    with pause_collector():  # a fifth of the time; `Catalog.trim_cache` breaks the cycles of facts itself
        for document in documents:
            yield linker.link(document, is_whole)


def _find_links_by_workers(
    index: Path, repository: RepositoryId, documents: Sequence[DocumentId], count: int
) -> LinkStream:
    """Find the links of documents by `count` processes, in the documents' order. Raises CodelensError if a process dies."""
    from codelens.processes.pool import WorkerDied, WorkerPool  # few runs start processes to link

    calls: deque[Future[bytes]] = deque()
    groups = [list(documents[at : at + DOCUMENTS_A_CALL]) for at in range(0, len(documents), DOCUMENTS_A_CALL)]
    with WorkerPool(count) as pool:
        while groups or calls:
            while groups and len(calls) < count * CALLS_AHEAD:
                calls.append(pool.submit(link_documents, str(index.absolute()), repository, groups.pop(0)))
            try:
                yield from (DocumentLinks(*row) for row in marshal.loads(calls.popleft().result()))
            except WorkerDied as fault:
                raise CodelensError(f"a linking process ended early: {fault}", "run `codelens index` again") from fault
