"""Making and updating index files: a first build beside its final place, an update in place, one writer at a time."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from codelens.config import Settings
from codelens.embed import default_embedder
from codelens.errors import IndexBusy, IndexCorrupt, NoIndex, UsageError
from codelens.indexing.pipeline import ProgressSink, Run, Tally, update_repository
from codelens.model import CHUNK_KINDS, IndexReport, Progress
from codelens.store.connection import writer_lock
from codelens.store.store import Store

BUILDING = ".building"
"""Suffix of an index that is not finished; a later run goes on with it."""


def build_index(
    path: Path,
    roots: Sequence[Path],
    settings: Settings,
    *,
    force: bool = False,
    rebuild: bool = False,
    verify: bool = False,
    progress: ProgressSink | None = None,
) -> tuple[IndexReport, ...]:
    """Bring the index at `path` up to date with these roots, making it if there is none. One report for each root.

    Raises IndexBusy where another process writes it, NoIndex or UsageError for roots that are no folders.
    """
    tops = [_checked_root(root) for root in roots]
    run = Run(settings, force=force, verify=verify, progress=progress)
    path.parent.mkdir(parents=True, exist_ok=True)
    with writer_lock(path):
        if path.exists() and not rebuild:
            return _update(path, tops, run)
        return _build(path, _all_roots(path, tops) if rebuild else tops, run)


def _checked_root(root: Path) -> Path:
    if not root.exists():
        raise UsageError(f"no such folder: {root}")
    if not root.is_dir():
        raise UsageError(
            f"not a folder: {root}", "name the folder to index; files are indexed with the tree they lie in"
        )
    return root.resolve()


def _all_roots(path: Path, tops: Sequence[Path]) -> list[Path]:
    """The asked roots and those that the old index holds, so that a rebuild forgets none."""
    known: list[Path] = []
    with suppress(IndexCorrupt, NoIndex), Store.read(path) as store:
        known = [row.root for row in store.documents.repositories() if row.root.is_dir()]
    return [*tops, *(root for root in known if root not in tops)]


def _update(path: Path, roots: Sequence[Path], run: Run) -> tuple[IndexReport, ...]:
    store = Store.write(path)
    try:
        if store.meta("state") != "complete":
            raise IndexCorrupt(f"{path} is not a finished index")
        run = replace(run, settings=_with_features(store, run.settings))
        reports = _run(store, path, roots, run, resumed=False)
    finally:
        if store.journal_mode() == "wal":
            store.end_work()
        store.close()
    return reports


def _with_features(store: Store, settings: Settings) -> Settings:
    """An index keeps what it was built with: a run without --no-vector does not add vectors to one built with it."""
    features = store.features()
    return replace(settings, fuzzy=settings.fuzzy and features.fuzzy, vector=settings.vector and features.vector)


def _build(path: Path, roots: Sequence[Path], run: Run) -> tuple[IndexReport, ...]:
    building = path.with_name(path.name + BUILDING)
    store, resumed = _open_building(building, run.settings)
    try:
        store.begin_build()
        reports = _run(store, path, roots, replace(run, batches=True, force=False), resumed)
        if run.progress:
            run.progress(Progress("verify", 0, 0))
        store.end_build()
        store.verify()
    finally:
        store.close()
    _swap_in(building, path)
    return tuple(replace(report, index_bytes=path.stat().st_size) for report in reports)


def _open_building(building: Path, settings: Settings) -> tuple[Store, bool]:
    """The unfinished index to go on with, or a new one: (store, whether it goes on)."""
    if building.exists():
        with suppress(IndexCorrupt):
            store = Store.write(building)
            if store.features_wanted(settings.fuzzy, settings.vector) and _is_whole(store):
                return store, store.units.count() > 0
            store.close()
        building.unlink()
        for suffix in ("-journal", "-wal", "-shm"):
            building.with_name(building.name + suffix).unlink(missing_ok=True)
    store = Store.write(building)
    embedder = default_embedder()
    with store.writing():
        store.set_meta("state", "building")
        store.set_meta("fuzzy", str(int(settings.fuzzy)))
        store.set_meta("vector", str(int(settings.vector)))
        store.set_meta("embedder", embedder.name)
        store.set_meta("embedder_fingerprint", embedder.fingerprint())
    return store, False


def _is_whole(store: Store) -> bool:
    try:
        store.verify()
    except IndexCorrupt:
        return False
    return True


def _swap_in(building: Path, path: Path) -> None:
    """Put a closed, checkpointed file in the place of the old one, never over a log that somebody may still read."""
    if path.exists():
        old = None
        with suppress(IndexCorrupt):
            old = Store.write(path)
        if old is not None:
            at_rest = old.journal_mode() != "wal" or old.end_work()
            old.close()
            if not at_rest:
                raise IndexBusy(
                    f"readers hold {path}; the new index is ready at {building.name}", "run the same command again"
                )
    building.replace(path)


def _run(store: Store, path: Path, roots: Sequence[Path], run: Run, resumed: bool) -> tuple[IndexReport, ...]:
    reports: list[IndexReport] = []
    for root in roots:
        started = time.perf_counter()
        tally = update_repository(store, root, run)
        reports.append(_report(store, path, root, tally, time.perf_counter() - started, resumed))
    return tuple(reports)


def _report(store: Store, path: Path, root: Path, tally: Tally, seconds: float, resumed: bool) -> IndexReport:
    row = next(r for r in store.documents.repositories() if r.root == root)
    kinds = store.units.kinds(row.id)
    chunks = sum(n for kind, n in kinds.items() if kind in CHUNK_KINDS)
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
        symbols=sum(kinds.values()) - chunks,
        chunks=chunks,
        skipped=dict(sorted(skipped.items(), key=lambda item: (-item[1], item[0]))),
        encodings=store.documents.counts("encoding").get(row.name, {}),
        languages=store.documents.counts("language").get(row.name, {}),
        faults=store.documents.faults(row.id),
        source_bytes=source_bytes,
        index_bytes=path.stat().st_size if path.exists() else 0,
        seconds=seconds,
        wrote=tally.wrote,
        resumed=resumed,
    )
