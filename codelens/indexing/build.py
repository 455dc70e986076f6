"""Making and updating index files: a first build beside its final place, an update in place, one writer at a time."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from pathlib import Path

from codelens.config import LoadedSettings, Settings
from codelens.errors import IndexBusy, IndexCorrupt, IndexNotTrusted, NoIndex, SchemaTooNew, UsageError
from codelens.indexing.embed_again import as_made
from codelens.indexing.embedding import embedder_of
from codelens.indexing.pipeline import PhaseClock, Run, Tally, finish_run, update_repository
from codelens.indexing.transaction import LazyTransaction
from codelens.model import CHUNK_KINDS, NOTE_KINDS, TODO, Notice
from codelens.runs import UNFINISHED, WRITTEN, IndexReport, Progress, ProgressSink
from codelens.store.abilities import probe_abilities
from codelens.store.checksums import file_faults
from codelens.store.connection import damage_told, holds_index, looks_begun, put_to_rest, writer_lock, writing_told
from codelens.store.store import Store
from codelens.store.trust import can_sign, renew
from codelens.worktree.ignore import tracking_fault
from codelens.worktree.place import BESIDE, BUILDING, COMPACTED, INDEX_FOLDER

_UNREADABLE = (IndexCorrupt, IndexNotTrusted, NoIndex, SchemaTooNew)


def build_index(
    path: Path,
    roots: Sequence[Path],
    settings: Settings,
    *,
    force: bool = False,
    rebuild: bool = False,
    verify: bool = False,
    progress: ProgressSink | None = None,
    settings_of: Callable[[Path], LoadedSettings] | None = None,
    as_indexed: bool = False,
) -> tuple[IndexReport, ...]:
    """Bring the index at `path` up to date with these roots, making it if there is none. One report for each root.

    `settings_of` says how a root is walked; without it, its last run does if `as_indexed`, else `settings`.

    Raises IndexBusy where another process writes it, NoIndex or UsageError for roots that are no folders.
    """
    tops = [_checked_root(root) for root in roots]
    path = path.resolve()  # a link stays one: what it leads to is written
    _refuse_what_is_in_the_way(path)
    run = Run(
        settings, path, force=force, verify=verify, progress=progress, settings_of=settings_of, as_indexed=as_indexed
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    with writing_told(path), writer_lock(path), damage_told(path), _collecting_seldom():
        if not path.exists() or path.stat().st_size == 0:
            return _build(path, tops, run)
        if not rebuild:
            try:
                with damage_told(path):
                    return _update(path, tops, run)
            except IndexCorrupt as fault:
                if not _may_be_replaced(path):
                    raise
                run = _as_before(path, run, fault)
        _refuse_what_is_none(path)
        return _build(path, _all_roots(path, tops), run)


def _unmarked(settings: Settings) -> tuple[Notice, ...]:
    if settings.trust_indexes or can_sign():
        return ()
    text = "no key can be kept in a data folder of yours: searches refuse this index unless CODELENS_TRUST_INDEXES=1 is set"
    return (Notice("unmarked", text),)


@contextmanager
def _collecting_seldom() -> Iterator[None]:
    """What a run holds of files is freed by its counts; looking for cycles in it took a tenth of a run that changes nothing."""
    before = gc.get_threshold()
    gc.set_threshold(200_000, 20, 100)  # as in worker processes
    try:
        yield
    finally:
        gc.set_threshold(*before)


def remove_index(path: Path) -> None:
    """Delete the index at `path` with all that lies beside it. Raises IndexBusy while another process writes it."""
    with writer_lock(path):
        for file in (path, *(path.with_name(path.name + suffix) for suffix in (BUILDING, COMPACTED))):
            _forget(file)


def _checked_root(root: Path) -> Path:
    if not root.exists():
        raise UsageError(f"no such folder: {root}")
    if not root.is_dir():
        raise UsageError(
            f"not a folder: {root}", "name the folder to index; files are indexed with the tree they lie in"
        )
    return root.resolve()


def _refuse_what_is_in_the_way(path: Path) -> None:
    """Nothing is overwritten that is not ours: a device, a folder, somebody's file that bears the name of one of ours."""
    if path.exists() and not path.is_file():
        raise UsageError(f"{path} is no regular file", "name a file with --db")
    building = path.with_name(path.name + BUILDING)
    if building.exists() and not looks_begun(building):
        raise UsageError(f"{building} is in the way, and no index", "move it, or name another file with --db")


def _refuse_what_is_none(path: Path) -> None:
    """A rebuild may replace an index of any version, and whatever has taken the place that is only for indexes."""
    if not _may_be_replaced(path):
        raise UsageError(f"{path} cannot be told for a codelens index", "remove the file yourself, if it is one")


def _may_be_replaced(path: Path) -> bool:
    return path.parent.name == INDEX_FOLDER or holds_index(path)


def _as_before(path: Path, run: Run, fault: IndexCorrupt) -> Run:
    """The run that makes a damaged index anew, with what it was built with as far as that can be read, and says so."""
    settings, text = run.settings, f"{fault}; it was built anew"
    with suppress(*_UNREADABLE), Store.read(path) as store, store.reading():
        settings = with_features(store, settings)
    if _known_roots(path) is None:
        text += ", of this run's folders alone: which others it held cannot be read"
    return replace(run, settings=settings, force=False, notices=(Notice("rebuilt", text),))


def _all_roots(path: Path, tops: Sequence[Path]) -> list[Path]:
    """The asked roots and those that the user's own old index holds, so that a rebuild forgets none."""
    return [*tops, *(root for root in _known_roots(path) or () if root not in tops)]


def _known_roots(path: Path) -> list[Path] | None:
    """The folders that the user's own index holds and that are there; None where it cannot be read."""
    with suppress(*_UNREADABLE), Store.read(path) as store, store.reading():
        return [row.root for row in store.documents.repositories() if row.root.is_dir()]
    return None


@contextmanager
def _interrupt_told(is_written: Callable[[], bool]) -> Iterator[None]:
    """An interrupt says whether it came before the work was written, or after."""
    try:
        yield
    except KeyboardInterrupt as ending:  # or an order to end, which is one
        raise type(ending)(WRITTEN if is_written() else UNFINISHED) from None


def _update(path: Path, roots: Sequence[Path], run: Run) -> tuple[IndexReport, ...]:
    """Raises IndexCorrupt before anything is written if a page is damaged, and where the index turns out to be no whole one."""
    store = Store.write(path, accepted=run.settings.trust_indexes)
    with _interrupt_told(lambda: store.committed):
        return _update_in(store, path, roots, run)


def _update_in(store: Store, path: Path, roots: Sequence[Path], run: Run) -> tuple[IndexReport, ...]:
    try:
        for fault in file_faults(path):
            raise IndexCorrupt(f"{path} is damaged: {fault}")
        if store.meta("state") != "complete":
            raise IndexCorrupt(f"{path} is not a finished index")
        store.take_over(path, roots)
        notices = (*_kept(store, run.settings), *_unmarked(run.settings))
        run = replace(run, settings=with_features(store, run.settings))
        if run.as_indexed:
            run = replace(run, settings=as_made(store, run.settings))
        with store.reading():
            reports = _run(store, path, roots, run, resumed=False)
        if any(report.wrote for report in reports):
            store.tidy()
    finally:
        if store.journal_mode() == "wal":
            store.end_work()
        store.close()
    renew(path)
    for suffix in (BUILDING, COMPACTED):  # of a rebuild that was begun and is no longer wanted
        _forget(path.with_name(path.name + suffix))
    size = path.stat().st_size
    return tuple(replace(report, index_bytes=size, notices=(*notices, *report.notices)) for report in reports)


def with_features(store: Store, settings: Settings) -> Settings:
    """An index keeps what it was built with: half an index with vectors would answer as if that were all."""
    features = store.features()
    return replace(settings, fuzzy=features.fuzzy, vector=features.vector)


def _kept(store: Store, settings: Settings) -> tuple[Notice, ...]:
    features = store.features()
    return tuple(
        Notice("kept", f"the index has {what} and keeps them: `--rebuild {option}` makes one without")
        for what, option, held, wanted in (
            ("trigrams", "--no-fuzzy", features.fuzzy, settings.fuzzy),
            ("vectors", "--no-vector", features.vector, settings.vector),
        )
        if held and not wanted
    )


def _build(path: Path, roots: Sequence[Path], run: Run) -> tuple[IndexReport, ...]:
    building, compacted = path.with_name(path.name + BUILDING), path.with_name(path.name + COMPACTED)
    notices = (*run.notices, *_unmarked(run.settings))
    if run.settings.vector and not probe_abilities().vector:
        notices += (
            Notice("no-vec0", "sqlite-vec cannot be loaded here: the index has no vectors (`codelens doctor`)"),
        )
        run = replace(run, settings=replace(run.settings, vector=False))
    before = _identity(path)
    with _interrupt_told(lambda: _identity(path) != before):
        reports = _build_beside(building, compacted, path, roots, run)
    size = path.stat().st_size
    return tuple(replace(report, index_bytes=size, notices=(*notices, *report.notices)) for report in reports)


def _identity(path: Path) -> int | None:
    """Another number once another file has taken the place."""
    return path.stat().st_ino if path.exists() else None


def _build_beside(
    building: Path, compacted: Path, path: Path, roots: Sequence[Path], run: Run
) -> tuple[IndexReport, ...]:
    store, resumed = _open_building(building, path, roots, run.settings)
    try:
        store.begin_build()
        reports = _run(store, path, roots, replace(run, batches=True, force=False), resumed)
        clock = PhaseClock()
        if run.progress:
            run.progress(Progress("verify", 0, 0))
        store.end_build()
        store.compact(compacted)
    finally:
        store.close()
    with closing(Store.write(compacted, path, accepted=True)) as store:
        store.verify()
    _swap_in(compacted, building, path)
    renew(path)
    return (*reports[:-1], _with_finish(reports[-1], clock))


def _open_building(building: Path, path: Path, roots: Sequence[Path], settings: Settings) -> tuple[Store, bool]:
    """The unfinished index to go on with, or a new one: (store, whether it goes on)."""
    if building.exists():
        with suppress(IndexCorrupt, IndexNotTrusted, SchemaTooNew):
            store = Store.write(building, path)
            if _can_go_on(store, roots, settings):
                return store, store.units.count() > 0
            store.close()
    _forget(building)
    store = Store.write(building, path)
    with store.writing():
        store.set_meta("state", "building")
        store.set_meta("fuzzy", str(int(settings.fuzzy)))
        store.set_meta("vector", str(int(settings.vector)))
    return store, False


def _can_go_on(store: Store, roots: Sequence[Path], settings: Settings) -> bool:
    """Whether an unfinished index is whole, of the same kind, and of no other tree, which nobody would finish."""
    try:
        store.verify()
        if not store.meta("state"):  # killed before it was said what it is to hold
            return False
        known = {row.root for row in store.documents.repositories()}
        return store.features_wanted(settings.fuzzy, settings.vector) and known <= set(roots)
    except IndexCorrupt:
        return False


def _forget(building: Path) -> None:
    building.unlink(missing_ok=True)
    for suffix in BESIDE:
        building.with_name(building.name + suffix).unlink(missing_ok=True)


def _swap_in(compacted: Path, building: Path, path: Path) -> None:
    """Put a closed file in the place of the old one, never over a log that somebody may still read."""
    if path.exists() and not put_to_rest(path):
        _forget(compacted)
        raise IndexBusy(f"readers hold {path}; the new index is ready at {building.name}", "run the same command again")
    compacted.replace(path)
    _forget(building)


def _run(store: Store, path: Path, roots: Sequence[Path], run: Run, resumed: bool) -> tuple[IndexReport, ...]:
    embedder_of(run.settings)  # a model that cannot be read is said before anything is done
    reports: list[IndexReport] = []
    with LazyTransaction(store, run.settings.commit_bytes if run.batches else None) as transaction:
        for root in roots:
            started = time.perf_counter()
            tally = update_repository(store, root, run, transaction)
            reports.append(_report(store, path, root, run, tally, time.perf_counter() - started, resumed))
        clock = PhaseClock()
        embedded, anew = finish_run(store, run, transaction)
    reports[-1] = _with_finish(reports[-1], clock)
    if again := anew or (0 if any(report.wrote for report in reports) else embedded):  # else they are new ones
        notice = Notice("embedded-anew", f"{again} documents were embedded anew, with {store.meta('embedder')}")
        reports = [replace(report, wrote=True, notices=(*report.notices, notice)) for report in reports]
    return tuple(reports)


def _with_finish(report: IndexReport, clock: PhaseClock) -> IndexReport:
    """The last report of a run, to which what concerns the index as a whole is counted."""
    clock.end("finish")
    seconds = report.cpu_seconds.get("finish", 0.0) + clock.seconds["finish"]
    return replace(report, cpu_seconds={**report.cpu_seconds, "finish": round(seconds, 3)})


def _report(store: Store, path: Path, root: Path, run: Run, tally: Tally, seconds: float, resumed: bool) -> IndexReport:
    row = next(r for r in store.documents.repositories() if r.root == root)
    kinds = store.units.kinds(row.id)
    beside = {*NOTE_KINDS, TODO}
    chunks = sum(n for kind, n in kinds.items() if kind in CHUNK_KINDS and kind not in beside)
    symbols = sum(n for kind, n in kinds.items() if kind not in CHUNK_KINDS)
    skipped: dict[str, int] = {}
    for skip in store.documents.skips(row.id):
        skipped[skip.reason.value] = skipped.get(skip.reason.value, 0) + 1
    documents, source_bytes = store.documents.totals(row.id)
    return IndexReport(
        index=str(path),
        root=str(root),
        seen=tally.seen,
        indexed=documents,
        added=tally.added,
        changed=tally.changed,
        renamed=tally.renamed,
        removed=tally.removed,
        unchanged=tally.unchanged,
        symbols=symbols,
        chunks=chunks,
        skipped=dict(sorted(skipped.items(), key=lambda item: (-item[1], item[0]))),
        encodings=store.documents.counts("encoding", row.id),
        languages=store.documents.counts("language", row.id),
        faults=store.documents.faults(row.id),
        source_bytes=source_bytes,
        index_bytes=0,
        seconds=seconds,
        wrote=tally.wrote,
        resumed=resumed,
        references=store.edges.link_counts(row.id),
        cpu_seconds=tally.cpu_seconds,
        notices=(*_git_notices(root, run.settings), *_nested_notices(store, root), *tally.notices),
    )


def _nested_notices(store: Store, root: Path) -> tuple[Notice, ...]:
    """Of two roots, one within the other, both hold the inner one's files."""
    others = [row.root for row in store.documents.repositories()]
    pairs = [(root, one) for one in others if root in one.parents] + [
        (one, root) for one in others if one in root.parents
    ]
    return tuple(Notice("nested", f"{inner} lies within {outer}: its files are found twice") for outer, inner in pairs)


def _git_notices(root: Path, settings: Settings) -> tuple[Notice, ...]:
    fault = "" if settings.no_ignore else tracking_fault(root)
    text = f"git does not say which files it tracks ({fault}): a tracked file that an ignore rule fits is left out"
    return (Notice("git-tracking", text),) if fault else ()
