"""walk → decode → parse → extract → chunk → embed → store → link, for one repository of a run.

Worker processes read, decode and derive files; this process compares and writes. An update is one transaction, begun
with its first write. A first build commits in batches, so that a killed build loses only the last one.
"""

from __future__ import annotations

import time

from codelens.indexing.changes import RepositoryUpdate, compare, find_renames, keep_equal_files
from codelens.indexing.embedding import embed_again
from codelens.indexing.history import update_history
from codelens.indexing.link import link_update
from codelens.indexing.run import (
    IndexRun,
    LazyTransaction,
    PhaseClock,
    Tally,
    skip_rules,
    skip_rules_key,
    with_walk_rules,
)
from codelens.indexing.workers import KeptWorkers, derive_all
from codelens.model.runs import Progress
from codelens.snapshots.record import record_snapshot
from codelens.store.documents import RepositoryRow
from codelens.store.store import Store
from codelens.worktree.place import own_files
from codelens.worktree.walk import walk


def update_repository(
    store: Store, repository: RepositoryRow, run: IndexRun, transaction: LazyTransaction, workers: KeptWorkers
) -> Tally:
    """Bring the index of one repository up to date with its tree. The caller holds the writer lock."""
    root, writes, clock = repository.root, transaction.writes, PhaseClock()
    run = with_walk_rules(store, repository, run, transaction)

    # Other rules may skip a file that is indexed, or take one that was skipped: all files are read again.
    verify = run.verify or run.force or store.meta(skip_rules_key(repository)) != skip_rules(run.settings)
    started, folders = time.perf_counter(), dict[str, int]()
    tree = walk(root, run.settings, own_files(run.index), folders)
    known_skips = {skip.path: skip for skip in store.documents.skips(repository.id)}
    plan = compare(tree, store.documents.states(repository.id), known_skips, run.is_current, verify)
    walk_seconds = time.perf_counter() - started

    if not verify:
        keep_equal_files(root, plan, run.is_current)
    update = RepositoryUpdate(store, repository, run, transaction)
    update.begin(plan, find_renames(store, root, plan, run.is_current))
    total = len(plan.new) + len(plan.suspects)
    for number, result in enumerate(derive_all(update.jobs(), run.settings, kept=workers), start=1):
        path = update.write(result)
        if run.progress:
            run.progress(Progress("index", number, total, path))
    update.write_skips()
    if run.batches:
        transaction.commit()  # a killed build resumes with linking
    clock.end("read")

    update.tally.notices = link_update(update)
    clock.end("link")
    update_history(update)
    clock.end("history")

    update.tally.folders, update.tally.walk_seconds = folders, walk_seconds
    update.tally.cpu_seconds = clock.seconds
    update.tally.wrote = transaction.writes > writes
    return update.tally


def finish_run(store: Store, run: IndexRun, transaction: LazyTransaction) -> tuple[int, int]:
    """Embed and record what concerns the whole index, after its repositories.

    Returns (documents embedded, those of them that had vectors of another embedder).
    """
    embedded = embed_again(store, run.settings, transaction, run.progress)
    # The last run may have been killed just before this step, and an index of an older schema has no log.
    unlogged = run.settings.snapshots_kept and not store.log.rows()
    if transaction.writes or run.batches or unlogged:
        transaction.begin()
        store.edges.count_uses(every=bool(run.batches))
        # A build commits many times: its last committed state was not logged.
        before = ("", "") if run.batches else (store.meta("snapshot"), store.meta("root"))
        store.set_meta("snapshot", store.documents.content_id())
        record_snapshot(store, run.settings.snapshots_kept, before)
        store.remember_home()
    return embedded
