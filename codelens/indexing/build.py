"""Creates and updates index files: a build next to the final path, an update in place, one writer at a time."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from codelens.config import Settings
from codelens.errors import IndexBusy, IndexCorrupt, IndexNotTrusted, NoIndex, SchemaTooNew, UsageError
from codelens.indexing.changes import RepositoryUpdate, rename_records, repositories_at
from codelens.indexing.copies import copy_index
from codelens.indexing.derive import Job
from codelens.indexing.embedding import embedder_of, with_stored_model, workers_embedder
from codelens.indexing.link import link_update
from codelens.indexing.look import note_run
from codelens.indexing.pipeline import finish_run, update_repository
from codelens.indexing.run import IndexRun, LazyTransaction, PhaseClock, Tally, with_features
from codelens.indexing.walk_rules import with_stored_rules
from codelens.indexing.workers import KeptWorkers, derive_file
from codelens.model.code import CHUNK_KINDS, NOTE_KINDS, TODO, SeenFile, Skip, SkipReason
from codelens.model.extraction import Unchanged, UnfinishedFile
from codelens.model.fast_dataclass import dataclass, replace
from codelens.model.runs import UNFINISHED, WRITTEN, IndexReport, Progress
from codelens.model.search import Notice
from codelens.store.checksums import file_faults, has_checksums
from codelens.store.connection import (
    holds_index,
    looks_begun,
    probe_abilities,
    put_to_rest,
    report_damage,
    report_write_faults,
    writer_lock,
)
from codelens.store.documents import RepositoryRow
from codelens.store.store import Store
from codelens.store.trust import can_sign, renew
from codelens.worktree.ignore import tracking_fault
from codelens.worktree.place import BESIDE, BUILDING, COMPACTED, INDEX_FOLDER, own_files
from codelens.worktree.walk import explain_path

_UNREADABLE = (IndexCorrupt, IndexNotTrusted, NoIndex, SchemaTooNew)


def build_index(run: IndexRun, roots: Sequence[Path], rebuild: bool = False) -> tuple[IndexReport, ...]:
    """Bring the index at `run.index` up to date with these roots; create it if it does not exist. Returns a report for each root.

    Raises IndexBusy if another process writes the index, and UsageError for roots that are not directories.
    """
    tops = [_checked_root(root) for root in roots]
    path = run.index.resolve()  # a symbolic link stays; its target is written
    run = replace(run, index=path)
    building = path.with_name(path.name + BUILDING)
    if path.exists() and not path.is_file():
        raise UsageError(f"{path} is not a regular file", "name a file with --db")
    if building.exists() and not looks_begun(building):
        raise UsageError(f"{building} is in the way, and it is not an index", "move it, or name another file with --db")
    with report_write_faults(path):
        path.parent.mkdir(parents=True, exist_ok=True)
    commit = _CommitState()
    try:
        with report_write_faults(path), writer_lock(path), report_damage(path), _rare_collection():
            return _update_or_build(tops, run, rebuild, commit)
    except KeyboardInterrupt as ending:  # SIGINT, or SIGTERM as a subclass of it
        raise type(ending)(WRITTEN if commit.is_done() else UNFINISHED) from None


@dataclass(slots=True)
class _CommitState:
    """Tells an interrupted run whether it has committed, so that its message agrees with the index."""

    is_done: Callable[[], bool] = lambda: False


def _update_or_build(
    tops: Sequence[Path], run: IndexRun, rebuild: bool, commit: _CommitState
) -> tuple[IndexReport, ...]:
    path = run.index
    may_copy = not (rebuild or run.force) and len(tops) == 1
    if run.copy_from and not may_copy:
        raise UsageError("--from copies an index for one folder", "leave out --rebuild and --force")
    if not path.exists() or path.stat().st_size == 0:
        return _build(tops, run, commit, may_copy)
    if run.copy_from:
        text = f"{run.copy_from} was not copied, since there is an index already: it was updated"
        run = replace(run, notices=(Notice("not-copied", text),))
    if not rebuild:
        try:
            with report_damage(path):
                return _update(tops, run, commit)
        except IndexCorrupt as fault:
            if not _is_replaceable(path):
                raise
            run = _for_rebuild(run, fault)
    if not _is_replaceable(path):
        raise UsageError(f"{path} is not recognisable as a codelens index", "remove the file yourself if it is one")
    known = _known_roots(path) or ()
    return _build([*tops, *(root for root in known if root not in tops)], run, commit, may_copy=False)


def remove_index(path: Path) -> None:
    """Delete the index at `path` and the files that belong to it. Raises IndexBusy while another process writes it."""
    with writer_lock(path):
        for file in (path, *(path.with_name(path.name + suffix) for suffix in (BUILDING, COMPACTED))):
            _delete(file)


def update_file(index: Path, root: Path, below: str, settings: Settings) -> bool:
    """Bring the one file `below` a root up to date, without a walk. Returns whether it is in the index now.

    For a command that has written the file itself. It is derived in this process, since a text without a grammar cannot crash it.
    Raises IndexBusy if another process writes, and what opening an index raises.
    """
    with report_write_faults(index), writer_lock(index), report_damage(index):
        store = Store.write(index, accepted=settings.trust_indexes)
        try:
            if store.meta("state") != "complete":
                raise IndexCorrupt(f"{index} is not a finished index")
            store.take_over(index, [root])
            row = next((r for r in store.documents.repositories() if r.root == root), None)
            settings = with_stored_model(store, with_features(store, settings))
            return row is not None and _update_file(store, row, below, settings)
        finally:
            _close(store)


def _update_file(store: Store, repository: RepositoryRow, below: str, settings: Settings) -> bool:
    settings = with_stored_rules(store, repository.name, settings)
    run = IndexRun(settings, store.path)
    state = store.documents.states(repository.id).get(below)
    is_there = (repository.root / below).exists()
    seen = explain_path(repository.root, below, settings, own_files(store.path)) if is_there else None
    is_indexed = False
    with LazyTransaction(store, None) as transaction:
        update = RepositoryUpdate(store, repository, run, transaction)
        if state is not None:
            update.note(state)
        result = None
        if isinstance(seen, SeenFile):
            result = derive_file(Job(str(repository.root), seen), settings, workers_embedder(settings))
        if result is None or isinstance(result, Skip | Unchanged):
            if state is not None:
                store.remove_document(state.id)
        else:
            transaction.begin()
            with suppress(UnfinishedFile):
                store.add_document(repository.id, result, state.id if state else None)
                is_indexed = True
        link_update(update)
        finish_run(store, run, transaction)
    return is_indexed


@contextmanager
def _rare_collection() -> Iterator[None]:
    """Run the cycle collector rarely: it took a tenth of a run that changes nothing."""
    before = gc.get_threshold()
    gc.set_threshold(200_000, 20, 100)  # as in worker processes
    try:
        yield
    finally:
        gc.set_threshold(*before)


def _checked_root(root: Path) -> Path:
    if not root.exists():
        raise UsageError(f"no such folder: {root}")
    if not root.is_dir():
        hint = "name the folder to index; files are indexed with the tree they lie in"
        raise UsageError(f"not a folder: {root}", hint)
    return root.resolve()


def _is_replaceable(path: Path) -> bool:
    """True for an index of any version and for anything at the default place of indexes."""
    return path.parent.name == INDEX_FOLDER or holds_index(path)


def _for_rebuild(run: IndexRun, fault: IndexCorrupt) -> IndexRun:
    """The run that rebuilds a damaged index with the features it had, as far as they can be read."""
    settings, text = run.settings, f"{fault}; it was rebuilt"
    with suppress(*_UNREADABLE), Store.read(run.index) as store, store.reading():
        settings = with_features(store, settings)
    if _known_roots(run.index) is None:
        text += ", from this run's folders alone: which others it held cannot be read"
    return replace(run, settings=settings, force=False, notices=(Notice("rebuilt", text),))


def _known_roots(path: Path) -> list[Path] | None:
    """The existing folders that the user's own index holds; None if it cannot be read."""
    with suppress(*_UNREADABLE), Store.read(path) as store, store.reading():
        return [row.root for row in store.documents.repositories() if row.root.is_dir()]
    return None


def _update(roots: Sequence[Path], run: IndexRun, commit: _CommitState) -> tuple[IndexReport, ...]:
    """Raises IndexCorrupt, before anything is written, if a page is damaged or the index is not complete."""
    store = Store.write(run.index, accepted=run.settings.trust_indexes)
    commit.is_done = lambda: store.committed
    try:
        _raise_damage(run.index)
        if store.meta("state") != "complete":
            raise IndexCorrupt(f"{run.index} is not a finished index")
        moved_from = store.take_over(run.index, roots)
        notices = (*run.notices, *_kept_features(store, run.settings), *_unsigned_notices(run.settings))
        if moved_from:
            notices += (Notice("moved", f"the index was made at {moved_from} and moved here with its folder"),)
        settings = with_features(store, run.settings)
        run = replace(run, settings=with_stored_model(store, settings) if run.as_indexed else settings)
        with store.reading():
            reports = _run(store, roots, run, resumed=False)
        if any(report.wrote for report in reports):
            store.tidy()
    finally:
        _close(store)
    renew(run.index)
    for suffix in (BUILDING, COMPACTED):  # left by a rebuild that was given up
        _delete(run.index.with_name(run.index.name + suffix))
    return _with_size(reports, notices, run.index)


def _close(store: Store) -> None:
    try:
        if store.journal_mode() == "wal":
            store.end_work()
    finally:
        store.close()  # which clears the log away even if an interrupt came before


def _with_size(reports: Sequence[IndexReport], notices: tuple[Notice, ...], path: Path) -> tuple[IndexReport, ...]:
    size = path.stat().st_size
    return tuple(replace(report, index_bytes=size, notices=(*notices, *report.notices)) for report in reports)


def _kept_features(store: Store, settings: Settings) -> tuple[Notice, ...]:
    features = store.features()
    return tuple(
        Notice("kept", f"the index has {what} and keeps them: `--rebuild {option}` creates one without")
        for what, option, is_there, is_wanted in (
            ("trigrams", "--no-fuzzy", features.fuzzy, settings.fuzzy),
            ("vectors", "--no-vector", features.vector, settings.vector),
        )
        if is_there and not is_wanted
    )


def _unsigned_notices(settings: Settings) -> tuple[Notice, ...]:
    text = "no key can be stored in your data folder: searches refuse this index unless CODELENS_TRUST_INDEXES=1 is set"
    return () if settings.trust_indexes or can_sign() else (Notice("unmarked", text),)


def _build(roots: Sequence[Path], run: IndexRun, commit: _CommitState, may_copy: bool) -> tuple[IndexReport, ...]:
    path, notices = run.index, (*run.notices, *_unsigned_notices(run.settings))
    if run.settings.vector and not probe_abilities().vector:
        text = "sqlite-vec cannot be loaded here: the index has no vectors (`codelens doctor`)"
        notices += (Notice("no-sqlite-vec", text),)
        run = replace(run, settings=replace(run.settings, vector=False))

    def file_id() -> int | None:
        """Changes when another file takes the path."""
        return path.stat().st_ino if path.exists() else None

    before = file_id()
    commit.is_done = lambda: file_id() != before
    reports, copied = _build_from_copy(roots[0], run) if may_copy else ([], [])
    reports = reports or _build_beside(roots, run)
    renew(path)
    return _with_size(reports, (*notices, *copied), path)


def _build_from_copy(root: Path, run: IndexRun) -> tuple[list[IndexReport], list[Notice]]:
    """Copy the index of another checkout, update the copy, and move it to its final path. No reports if no index can be copied.

    A killed run leaves only the copy, which the next one replaces. An unfinished build goes on instead.
    """
    path = run.index
    building, copied = path.with_name(path.name + BUILDING), path.with_name(path.name + COMPACTED)
    if building.exists() and not run.copy_from:
        return [], []
    _delete(copied)
    try:
        source, notices = copy_index(run, root, copied)
        if source is None:
            return [], notices
        store = Store.write(copied, path)
        try:
            (report,) = _run(store, [root], run, resumed=False)
            with store.writing():
                store.log.keep_newest()
            store.tidy()
        finally:
            _close(store)
        _verify_copy(copied, path)
        _swap_in(copied, building, path)
    finally:
        _delete(copied)
    text = f"the index began as a copy of {source}; {report.added + report.changed} of {report.seen} files were read"
    return [report], [Notice("copied", text), *notices]


def _build_beside(roots: Sequence[Path], run: IndexRun) -> list[IndexReport]:
    """Build into a temporary file and move it to its final path when it is complete and verified."""
    path = run.index
    building, compacted = path.with_name(path.name + BUILDING), path.with_name(path.name + COMPACTED)
    store, resumed = _open_building(building, roots, run)
    try:
        store.begin_build()
        reports = _run(store, roots, replace(run, batches=True, force=False), resumed)
        clock = PhaseClock()
        if run.progress:
            run.progress(Progress("verify", 0, 0))
        store.end_build()
        store.compact(compacted)
    finally:
        store.close()
    _verify_copy(compacted, path)
    _swap_in(compacted, building, path)
    return [*reports[:-1], _with_finish(reports[-1], clock)]


def _verify_copy(compacted: Path, path: Path) -> None:
    """Raise IndexCorrupt unless each page of the copy came to disk as it was written."""
    if has_checksums(compacted):
        _raise_damage(compacted)
        return
    with closing(Store.write(compacted, path, accepted=True)) as store:
        store.verify()


def _raise_damage(index: Path) -> None:
    for fault in file_faults(index):
        raise IndexCorrupt(f"{index} is damaged: {fault}")


def _open_building(building: Path, roots: Sequence[Path], run: IndexRun) -> tuple[Store, bool]:
    """(the unfinished index or a new one, whether the build resumes)"""
    if building.exists():
        with suppress(IndexCorrupt, IndexNotTrusted, SchemaTooNew):
            store = Store.write(building, run.index)
            with suppress(IndexCorrupt):
                if _is_resumable(store, roots, run.settings):
                    return store, store.units.count() > 0
            store.close()
    _delete(building)
    store = Store.write(building, run.index)
    with store.writing():
        store.set_meta("state", "building")
        store.set_meta("fuzzy", str(int(run.settings.fuzzy)))
        store.set_meta("vector", str(int(run.settings.vector)))
    return store, False


def _is_resumable(store: Store, roots: Sequence[Path], settings: Settings) -> bool:
    """True if an unfinished index has the wanted features and holds no tree outside these roots. Raises IndexCorrupt."""
    store.verify()
    if not store.meta("state"):  # killed before its features were written
        return False
    known = {row.root for row in store.documents.repositories()}
    return store.features_wanted(settings.fuzzy, settings.vector) and known <= set(roots)


def _delete(file: Path) -> None:
    file.unlink(missing_ok=True)
    for suffix in BESIDE:
        file.with_name(file.name + suffix).unlink(missing_ok=True)


def _swap_in(compacted: Path, building: Path, path: Path) -> None:
    """Replace the old index by a closed file, but never while readers use the old one's log."""
    if path.exists() and not put_to_rest(path):
        _delete(compacted)
        raise IndexBusy(f"readers hold {path}; the new index is ready at {building.name}", "run the same command again")
    compacted.replace(path)
    _delete(building)


def _run(store: Store, roots: Sequence[Path], run: IndexRun, resumed: bool) -> list[IndexReport]:
    embedder_of(run.settings)  # fails early if the model cannot be read
    reports: list[IndexReport] = []
    tallies: dict[Path, Tally] = {}
    run_started = time.perf_counter()
    before = {row.root: row.name for row in store.documents.repositories()}
    with (
        LazyTransaction(store, run.settings.commit_bytes if run.batches else None) as transaction,
        closing(KeptWorkers(len(roots))) as workers,
    ):
        repositories = repositories_at(store, roots, transaction)
        nested = _nested_notices(repositories)
        for root in roots:
            started = time.perf_counter()
            tallies[root] = tally = update_repository(store, repositories[root], run, transaction, workers)
            tally.notices = (*nested.get(root, ()), *tally.notices)
            tally.wrote |= before.get(root) != repositories[root].name
            report = _report(store, repositories[root], run, tally)
            reports.append(replace(report, resumed=resumed, seconds=time.perf_counter() - started))
        clock = PhaseClock()
        embedded, changed = finish_run(store, run, transaction)
        note_run(store, run, tallies, time.perf_counter() - run_started, transaction)
    reports[-1] = _with_finish(reports[-1], clock)
    renamed = {before[row.root]: row.name for row in store.documents.repositories() if row.root in before}
    notices = rename_records(run.index, {old: new for old, new in renamed.items() if old != new})
    reports[-1] = replace(reports[-1], notices=(*reports[-1].notices, *notices))
    # Unless the run wrote something, the documents without vectors of this embedder are old ones.
    if again := changed or (0 if any(report.wrote for report in reports) else embedded):
        notice = Notice("embedded-anew", f"{again} documents were embedded again, with {store.meta('embedder')}")
        reports = [replace(report, wrote=True, notices=(*report.notices, notice)) for report in reports]
    return reports


def _with_finish(report: IndexReport, clock: PhaseClock) -> IndexReport:
    """The run's last report, which includes the work on the whole index."""
    clock.end("finish")
    seconds = report.cpu_seconds.get("finish", 0.0) + clock.seconds["finish"]
    return replace(report, cpu_seconds={**report.cpu_seconds, "finish": round(seconds, 3)})


def _report(store: Store, row: RepositoryRow, run: IndexRun, tally: Tally) -> IndexReport:
    tally.kinds = kinds = store.kept_kinds(row) or store.units.kinds(row.id)
    no_chunks = {*NOTE_KINDS, TODO}
    skipped = store.documents.skip_counts(row.id)
    documents, source_bytes = store.documents.totals(row.id)
    fault = tracking_fault(row.root) if SkipReason.IGNORED.value in skipped else ""
    text = f"git cannot list its tracked files ({fault}): tracked files that match an ignore rule are left out"
    return IndexReport(
        index=str(run.index),
        root=str(row.root),
        seen=tally.seen,
        indexed=documents,
        added=tally.added,
        changed=tally.changed,
        renamed=tally.renamed,
        removed=tally.removed,
        unchanged=tally.unchanged,
        symbols=sum(n for kind, n in kinds.items() if kind not in CHUNK_KINDS),
        chunks=sum(n for kind, n in kinds.items() if kind in CHUNK_KINDS and kind not in no_chunks),
        skipped=skipped,
        encodings=store.documents.counts("encoding", row.id),
        encoding_errors=store.documents.doubtful(row.id, run.settings.encoding_threshold),
        languages=store.documents.counts("language", row.id),
        faults=store.documents.faults(row.id),
        source_bytes=source_bytes,
        index_bytes=0,
        seconds=0.0,
        wrote=tally.wrote,
        resumed=False,
        references=store.edges.link_counts(row.id),
        cpu_seconds=tally.cpu_seconds,
        notices=(*((Notice("git-tracking", text),) if fault else ()), *tally.notices),
    )


def _nested_notices(roots: Collection[Path]) -> dict[Path, list[Notice]]:
    """Root → notices about roots inside it or around it: the inner one's files are indexed twice."""
    notices: dict[Path, list[Notice]] = {}
    for inner in roots:
        for outer in inner.parents:
            if outer in roots:
                notice = Notice("nested", f"{inner} lies within {outer}: its files are indexed twice")
                notices.setdefault(outer, []).append(notice)
                notices.setdefault(inner, []).append(notice)
    return notices
