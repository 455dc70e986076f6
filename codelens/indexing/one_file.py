"""One file of an index brought up to date, without a walk: what a command does after it has written that file itself.

It is judged as the walk judges it and linked with what it concerns. It is derived in this process, which a text without a grammar
cannot end.
"""

from __future__ import annotations

from pathlib import Path

from codelens.config import Settings
from codelens.derived import Unchanged, UnfinishedFile
from codelens.errors import IndexCorrupt
from codelens.indexing.build import with_features
from codelens.indexing.embed_again import as_made
from codelens.indexing.embedding import workers_embedder
from codelens.indexing.pipeline import Run, finish_run, link_concerned
from codelens.indexing.remembered import as_remembered
from codelens.indexing.transaction import LazyTransaction
from codelens.indexing.worker import derive_file
from codelens.linking.concerned import Concerned
from codelens.model import SeenFile, Skip
from codelens.store.connection import damage_told, writer_lock, writing_told
from codelens.store.documents import RepositoryRow
from codelens.store.store import Store
from codelens.worktree.place import own_files
from codelens.worktree.walk import explain_path


def update_file(index: Path, root: Path, below: str, settings: Settings) -> bool:
    """Bring the file `below` a root, which may be gone, up to date; whether it is in the index now.

    Raises IndexBusy where another process writes, and what opening an index raises.
    """
    with writing_told(index), writer_lock(index), damage_told(index):
        store = Store.write(index, accepted=settings.trust_indexes)
        try:
            if store.meta("state") != "complete":
                raise IndexCorrupt(f"{index} is not a finished index")
            store.take_over(index, [root])
            row = next((r for r in store.documents.repositories() if r.root == root), None)
            return row is not None and _update(store, row, below, as_made(store, with_features(store, settings)))
        finally:
            if store.journal_mode() == "wal":
                store.end_work()
            store.close()


def _update(store: Store, repository: RepositoryRow, below: str, settings: Settings) -> bool:
    settings = as_remembered(store, repository.name, settings)
    run = Run(settings, store.path)
    state = store.documents.states(repository.id).get(below)
    seen = _seen(repository.root, below, settings, own_files(store.path))
    with LazyTransaction(store, None) as transaction:
        concerned = Concerned(store, repository.id)
        if state is not None:
            transaction.begin()
            concerned.note(state.id)
        result = None
        if seen is not None:
            result = derive_file(repository.root, seen, None, None, "", settings, workers_embedder(settings))
        if result is None or isinstance(result, Skip | Unchanged):
            if state is not None:
                store.remove_document(state.id)
        else:
            transaction.begin()
            try:
                store.add_document(repository.id, result, state.id if state else None)
            except UnfinishedFile:
                result = None
        link_concerned(store, repository, concerned, run, transaction)
        finish_run(store, run, transaction)
    return not (result is None or isinstance(result, Skip | Unchanged))


def _seen(root: Path, below: str, settings: Settings, own: frozenset[str]) -> SeenFile | None:
    if not (root / below).exists():
        return None
    found = explain_path(root, below, settings, own)
    return found if isinstance(found, SeenFile) else None
