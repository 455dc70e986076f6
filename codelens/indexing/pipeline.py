"""Runs all steps of an update: walk, decode, parse, extract, chunk, embed, store and link, for each repository.

Worker processes read, decode and derive files; this process compares and writes. An update is one transaction. A first build
commits in batches, so that a killed build loses only the last one."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path

from codelens.indexing.changes import RepositoryUpdate, ensure_repositories, plan_update, rename_records
from codelens.indexing.embedding import open_chosen_embedder, update_vectors
from codelens.indexing.link import link_update
from codelens.indexing.look import OuterRules, note_run
from codelens.indexing.run import IndexRun, LazyTransaction, PhaseClock, Tally, apply_walk_rules
from codelens.indexing.workers import KeptWorkers, derive_all
from codelens.model.code import CHUNK_KINDS, NOTE_KINDS, TODO, SkipReason
from codelens.model.fast_dataclass import replace
from codelens.model.history import HistoryRead, PastCommit
from codelens.model.runs import IndexReport
from codelens.model.search import Notice
from codelens.snapshots.facts import record_snapshot
from codelens.store.documents import RepositoryRow
from codelens.store.store import Store
from codelens.worktree.blame import LinesRead, hash_line_terms, read_lines
from codelens.worktree.files import escape_path
from codelens.worktree.history import collect_histories, find_head, read_changes
from codelens.worktree.ignore import find_git_fault
from codelens.worktree.place import list_own_files
from codelens.worktree.repository import GitError, TooSlow
from codelens.worktree.walk import walk_tree


def update_repositories(store: Store, roots: Sequence[Path], run: IndexRun, resumed: bool = False) -> list[IndexReport]:
    """Update the index of these roots, then the data about the whole index. Returns a report for each root."""
    open_chosen_embedder(run.settings)  # fails early if the model cannot be read
    reports: list[IndexReport] = []
    tallies: dict[Path, Tally] = {}
    run_started = time.perf_counter()
    before = {row.root: row.name for row in store.documents.list_repositories()}
    with (
        LazyTransaction(store, run.settings.commit_bytes if run.batches else None) as transaction,
        closing(KeptWorkers(len(roots))) as workers,
    ):
        repositories = ensure_repositories(store, roots, transaction)
        nested = _pair_nested_roots(repositories)
        for root in roots:
            started = time.perf_counter()
            tallies[root] = tally = update_repository(store, repositories[root], run, transaction, workers)
            tally.notices = (*_find_nested_trees(store, repositories, nested[root]), *tally.notices)
            tally.wrote |= before.get(root) != repositories[root].name
            report = _build_report(store, repositories[root], run, tally)
            reports.append(replace(report, resumed=resumed, seconds=time.perf_counter() - started))
        clock = PhaseClock()
        embedded, changed = finish_run(store, run, transaction)
        note_run(store, run, tallies, time.perf_counter() - run_started, transaction)
    reports[-1] = add_finish_time(reports[-1], clock)
    renamed = {before[row.root]: row.name for row in store.documents.list_repositories() if row.root in before}
    notices = rename_records(run.index, {old: new for old, new in renamed.items() if old != new})
    reports[-1] = replace(reports[-1], notices=(*reports[-1].notices, *notices))
    # Unless the run wrote something, the documents without vectors of this embedder are old ones.
    if again := changed or (0 if any(report.wrote for report in reports) else embedded):
        notice = Notice("embedded-anew", f"{again} documents were embedded again, with {store.read_meta('embedder')}")
        reports = [replace(report, wrote=True, notices=(*report.notices, notice)) for report in reports]
    return reports


def _pair_nested_roots(roots: Iterable[Path]) -> dict[Path, list[tuple[Path, Path]]]:
    """Map each root to the pairs of which it is a part: (root, root around it)."""
    pairs: dict[Path, list[tuple[Path, Path]]] = {root: [] for root in roots}
    for inner in pairs:
        for outer in inner.parents:
            if outer in pairs:
                pairs[inner].append((inner, outer))
                pairs[outer].append((inner, outer))
    return pairs


def _find_nested_trees(
    store: Store, repositories: Mapping[Path, RepositoryRow], nested: Iterable[tuple[Path, Path]]
) -> Iterator[Notice]:
    """Yield a notice for each pair of trees of which one is inside the other and is indexed as part of it."""
    for inner, outer in nested:
        below = escape_path(inner.relative_to(outer).as_posix()) + "/"
        if store.documents.has_below(repositories[outer].id, below):
            yield Notice("nested", f"{inner} lies within {outer}: its files are indexed twice")


def add_finish_time(report: IndexReport, clock: PhaseClock) -> IndexReport:
    """Add the time of the work on the whole index to the run's last report."""
    clock.end("finish")
    seconds = report.cpu_seconds.get("finish", 0.0) + clock.seconds["finish"]
    return replace(report, cpu_seconds={**report.cpu_seconds, "finish": round(seconds, 3)})


def _build_report(store: Store, row: RepositoryRow, run: IndexRun, tally: Tally) -> IndexReport:
    tally.kinds = kinds = store.read_kind_counts(row) or store.units.count_kinds(row.id)
    no_chunks = {*NOTE_KINDS, TODO}
    skipped = store.documents.count_by_column("reason", row.id)
    documents, source_bytes = store.documents.read_totals(row.id)
    fault = find_git_fault(row.root, SkipReason.IGNORED.value in skipped)
    text = f"{fault}: the index may lack the history, and tracked files that match an ignore rule"
    return IndexReport(
        index=str(run.index),
        root=str(row.root),
        **tally.files,
        indexed=documents,
        symbols=sum(n for kind, n in kinds.items() if kind not in CHUNK_KINDS),
        chunks=sum(n for kind, n in kinds.items() if kind in CHUNK_KINDS and kind not in no_chunks),
        skipped=skipped,
        encodings=store.documents.count_by_column("encoding", row.id),
        encoding_errors=store.documents.count_doubtful(row.id, run.settings.encoding_threshold),
        languages=store.documents.count_by_column("language", row.id),
        faults=store.documents.list_faults(row.id),
        source_bytes=source_bytes,
        index_bytes=0,
        seconds=0.0,
        wrote=tally.wrote,
        resumed=False,
        references=store.edges.read_link_counts(row.id),
        cpu_seconds=tally.cpu_seconds,
        notices=(*((Notice("git", text),) if fault else ()), *tally.notices),
    )


def update_repository(
    store: Store, repository: RepositoryRow, run: IndexRun, transaction: LazyTransaction, workers: KeptWorkers
) -> Tally:
    """Bring the index of one repository up to date with its tree. The caller holds the writer lock."""
    root, writes, clock = repository.root, transaction.writes, PhaseClock()
    run = apply_walk_rules(store, repository, run, transaction)
    outer = OuterRules.read(root)  # before the walk, so that no later change is missed
    started, folders = time.perf_counter(), dict[str, int]()
    tree = walk_tree(root, run.settings, list_own_files(run.index), folders)
    plan = plan_update(tree, store, repository, run.is_current, run.verify)
    walk_seconds = time.perf_counter() - started

    if not run.verify:
        plan.keep_equal_files(root, run.is_current)
    plan.find_renames(store, root, run.is_current)
    update = RepositoryUpdate(store, repository, run, transaction, plan)
    update.remove_documents()
    total = len(plan.new) + len(plan.suspects)
    for number, result in enumerate(derive_all(update.list_jobs(), run.settings, kept=workers), start=1):
        update.report_progress("index", number, total, update.write(result))
    update.write_skips()
    if run.batches:
        transaction.commit()  # a killed build resumes with linking
    clock.end("read")

    update.tally.notices = link_update(update)
    clock.end("link")
    update_histories(update)
    update_line_authors(update)
    clock.end("history")

    update.tally.outer = outer
    update.tally.folders, update.tally.walk_seconds = folders, walk_seconds
    update.tally.cpu_seconds = clock.seconds
    update.tally.wrote = transaction.writes > writes
    return update.tally


def update_histories(update: RepositoryUpdate) -> None:
    """Read the commits of each file up to HEAD, if it has moved; a forced run reads all again. `status` shows a fault."""
    store, repository, force = update.store, update.repository, update.run.force
    with_messages = update.run.settings.history
    before = store.history.read(repository.id)
    read, commits = HistoryRead("", ""), tuple[PastCommit, ...]()
    stored: Mapping[int, PastCommit] = {}
    try:
        head = find_head(repository.root)
        terms = head.terms if with_messages else f"{head.terms} without messages"
        if before and not force and (before.head, before.terms) == (head.commit, terms):
            return
        read = HistoryRead(head.commit, terms)
        update.report_progress("history", 0, 0)
        stored = store.history.read_commits(repository.id)
        is_usable = before and not force and before.terms == terms
        read, commits = read_changes(head, {commit.name: commit for commit in stored.values()} if is_usable else None)
        read = replace(read, terms=terms)
        if not with_messages:
            commits = tuple(commit._replace(subject="", body="") for commit in commits)
    except TooSlow as fault:  # stored with the commit: it would be too slow again
        read = replace(read, fault=str(fault))
    except GitError as fault:
        read = HistoryRead("", "", fault=str(fault))
    if read != before or force:
        update.transaction.begin()
        stored = stored or store.history.read_commits(repository.id)
        store.history.replace(repository.id, read, commits, collect_histories(commits), stored)


def update_line_authors(update: RepositoryUpdate) -> None:
    """Read which commits wrote each line, up to HEAD, like `update_histories`."""
    store, repository, force = update.store, update.repository, update.run.force
    before = store.lines.read(repository.id)
    lines = LinesRead({}, {})
    try:
        head = find_head(repository.root)
        read = (head.commit, hash_line_terms(head), "")
        if before and not force and before[:2] == read[:2]:
            return
        update.report_progress("history", 0, 0)
        is_usable = before and not force and before[1] == read[1] and not before[2]
        known = store.lines.read_by_path(repository.id) if is_usable else None
        lines = read_lines(head, before[0] if before else "", known)
    except TooSlow as fault:
        read = (*read[:2], str(fault))
    except GitError as fault:
        read = ("", "", str(fault))
    if read != before or force:
        update.transaction.begin()
        store.lines.replace(repository.id, read, lines.commits, lines.files)


def finish_run(store: Store, run: IndexRun, transaction: LazyTransaction) -> tuple[int, int]:
    """Embed, and record what concerns the whole index, after the last repository. Returns (documents embedded, those that had
    vectors of another embedder)."""
    embedded = update_vectors(store, run, transaction)
    # The last run may have been killed just before this step, and an index of an older schema has no log.
    unlogged = run.settings.snapshots_kept and not store.log.list_snapshots()
    if transaction.writes or run.batches or unlogged:
        transaction.begin()
        store.edges.count_uses(every=bool(run.batches))
        # A build commits many times: its last committed state was not logged.
        before = ("", "") if run.batches else (store.read_meta("snapshot"), store.read_meta("root"))
        store.set_meta("snapshot", store.documents.compute_content_id())
        record_snapshot(store, run.settings.snapshots_kept, before)
        store.remember_home()
    return embedded
