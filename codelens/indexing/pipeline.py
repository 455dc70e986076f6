"""walk → decode → parse → extract → chunk → embed → store, for one repository and one run.

Reading, decoding and deriving happen in worker processes (workers.py); this process compares and writes. An update is
one transaction, begun only when there is something to write; a first build commits in batches, so that a kill loses one.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path

from codelens.config import LoadedSettings, Settings
from codelens.derived import Unchanged, UnfinishedFile
from codelens.indexing.changes import UpdatePlan, compare
from codelens.indexing.derive import current_recipe
from codelens.indexing.embed_again import embed_again
from codelens.indexing.history import update_history
from codelens.indexing.link_workers import link_all
from codelens.indexing.remembered import KEYS, WalkRules, chosen, remembered, walk_rules_key
from codelens.indexing.renames import Moved, find_renames
from codelens.indexing.transaction import LazyTransaction
from codelens.indexing.workers import Job, derive_all, worker_count
from codelens.linking.carried import Known, find_carried
from codelens.linking.concerned import Concerned
from codelens.linking.link import Linker, Links, in_batches, without_collector, write_links
from codelens.linking.precise_edges import relate
from codelens.model import DocumentId, Notice, Skip, SkipReason
from codelens.runs import Progress, ProgressSink
from codelens.snapshots.record import record_snapshot
from codelens.store.documents import DocumentState, RepositoryRow
from codelens.store.store import Store
from codelens.worktree.place import own_files
from codelens.worktree.walk import walk

CLASSIFYING = "classify 2"
"""Change the number with the rules that leave files out for their content, so that all files are judged anew."""


DOCUMENTS_A_LINKER = 200
"""Documents for which another process that links is worth its start, in which it reads the list of all documents. Chosen."""


@dataclass(slots=True)
class Tally:
    """What a run did to one repository."""

    seen: int = 0
    added: int = 0
    changed: int = 0
    renamed: int = 0
    removed: int = 0
    unchanged: int = 0
    wrote: bool = False
    notices: tuple[Notice, ...] = ()
    cpu_seconds: dict[str, float] = field(default_factory=dict)
    """Phase → processor time of all processes."""


class PhaseClock:
    """Processor time by phase, of this process and of those that it started and that have ended."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._last = self._now()

    def end(self, phase: str) -> None:
        """Count the time since the last phase ended for this one."""
        now = self._now()
        self.seconds[phase] = round(self.seconds.get(phase, 0.0) + now - self._last, 3)
        self._last = now

    @staticmethod
    def _now() -> float:
        return sum(os.times()[:4])


@dataclass(frozen=True, slots=True)
class Run:
    """How one run is to work."""

    settings: Settings
    index: Path
    """Where the index comes to lie: it is no part of any tree."""
    force: bool = False
    verify: bool = False
    batches: bool = False
    """Commit as it goes (a build) instead of all at once (an update)."""
    progress: ProgressSink | None = None
    settings_of: Callable[[Path], LoadedSettings] | None = None
    """What holds for each root, and who said it; without it `settings` hold for all of them."""
    as_indexed: bool = False
    """Walk each root by the rules of its last run."""
    notices: tuple[Notice, ...] = ()
    """What is to be said of the index as a whole."""

    def is_current(self, state: DocumentState) -> bool:
        """Whether what the index has of a document may stay."""
        return not self.force and state.recipe == current_recipe(state.language, self.settings)


def update_repository(store: Store, root: Path, run: Run, transaction: LazyTransaction) -> Tally:
    """Bring one repository's part of the index up to date with the disk. The caller holds the writer lock."""
    before, clock = transaction.writes, PhaseClock()
    repository = _repository(store, root, transaction)
    run = _with_walk_rules(store, repository, run, transaction)
    skipped = {s.path: s for s in store.documents.skips(repository.id)}
    # Under other rules a file that was read may be left out now, or one that was left out be taken: read all again.
    verify = run.verify or run.force or store.meta(_skip_rules_key(repository)) != _skip_rules(run.settings)
    states = store.documents.states(repository.id)
    plan = compare(walk(root, run.settings, own_files(run.index)), states, skipped, run.is_current, verify)
    moved = find_renames(store, root, plan, run.is_current)
    tally = _tally(plan, moved)
    concerned = Concerned(store, repository.id)
    for gone in plan.removed:
        transaction.begin()
        concerned.note(gone.id)
        store.remove_document(gone.id)
    for document, stamp in plan.restamped:
        transaction.begin()
        store.documents.set_stamp(document, stamp)
    known = {seen.path: state for seen, state in plan.suspects}
    skips = plan.skips
    total = len(plan.new) + len(plan.suspects)
    for number, result in enumerate(derive_all(_jobs(root, plan, moved, run), run.settings), start=1):
        path = result.path if isinstance(result, Skip) else result.seen.path
        state = known.get(path)
        if isinstance(result, Unchanged):
            assert state is not None
            tally.changed, tally.unchanged = tally.changed - 1, tally.unchanged + 1
            if state.stamp != result.seen.stamp:
                transaction.begin()
                store.documents.set_stamp(state.id, result.seen.stamp)
        else:
            if state:
                transaction.begin()
                concerned.note(state.id)
            if isinstance(result, Skip):
                if state:
                    store.remove_document(state.id)
                skips.append(result)
                _count_skip(tally, path, state, moved)
            else:
                transaction.begin()
                try:
                    store.add_document(repository.id, result, state.id if state else None)
                    concerned.added += 1
                except UnfinishedFile as fault:
                    skips.append(Skip(path, SkipReason.UNREADABLE, str(fault), result.seen.stamp))
                    _count_skip(tally, path, state, moved)
                transaction.batch(result.seen.stamp.size)
        if run.progress:
            run.progress(Progress("index", number, total, path))
    _write_skips(store, repository, skips, run, transaction)
    if run.batches:
        transaction.commit()  # linking goes on from here after a kill
    clock.end("read")
    tally.notices = link_concerned(store, repository, concerned, run, transaction)
    clock.end("link")
    update_history(store, repository, transaction, run.progress, anew=run.force)
    clock.end("history")
    tally.cpu_seconds = clock.seconds
    tally.wrote = transaction.writes > before
    return tally


def finish_run(store: Store, run: Run, transaction: LazyTransaction) -> tuple[int, int]:
    """What concerns the index as a whole, after its repositories. How many documents were embedded, and how many of them anew."""
    embedded = embed_again(store, run.settings, transaction, run.progress)
    # The run before may have been killed when all but this was written; and an index of an older schema has no log yet.
    unlogged = run.settings.snapshots_kept and not store.log.rows()
    if transaction.writes or run.batches or unlogged:
        transaction.begin()
        before = store.meta("snapshot"), store.meta("root")
        store.set_meta("snapshot", store.documents.content_id())
        record_snapshot(store, run.settings.snapshots_kept, before)
        store.remember_home()
    return embedded


def _with_walk_rules(store: Store, repository: RepositoryRow, run: Run, transaction: LazyTransaction) -> Run:
    """The run by the rules that hold for this repository, which the index remembers from here on."""
    kept = remembered(store, repository.name)
    if run.settings_of is not None:
        rules = chosen(kept, run.settings_of(repository.root))
    elif run.as_indexed and kept:
        rules = kept
    else:
        rules = WalkRules({key: getattr(run.settings, key) for key in KEYS})
    if rules != kept:
        transaction.begin()
        store.set_meta(walk_rules_key(repository.name), rules.as_text())
    settings = rules.applied_to(run.settings)
    if not store.meta(
        _skip_rules_key(repository)
    ):  # at the start, so that a killed build goes on without reading all again
        transaction.begin()
        store.set_meta(_skip_rules_key(repository), _skip_rules(settings))
    return replace(run, settings=settings)


def _repository(store: Store, root: Path, transaction: LazyTransaction) -> RepositoryRow:
    for row in store.documents.repositories():
        if row.root == root:
            return row
    transaction.begin()
    return store.documents.add_repository(root)


def _tally(plan: UpdatePlan, moved: Mapping[str, Moved]) -> Tally:
    """What the run will have done if no file turns out to be something else."""
    return Tally(
        seen=len(plan.unchanged) + len(plan.suspects) + len(plan.new) + len(plan.skips),
        added=len(plan.new) - len(moved),
        changed=len(plan.suspects),
        renamed=len(moved),
        removed=len(plan.removed) - len(moved),
        unchanged=len(plan.unchanged),
    )


def _count_skip(tally: Tally, path: str, state: DocumentState | None, moved: Mapping[str, Moved]) -> None:
    """A file that should have been indexed was left out after all, for its content."""
    if state:
        tally.changed, tally.removed = tally.changed - 1, tally.removed + 1
    elif path in moved:
        tally.renamed, tally.removed = tally.renamed - 1, tally.removed + 1
    else:
        tally.added -= 1


def _jobs(root: Path, plan: UpdatePlan, moved: Mapping[str, Moved], run: Run) -> Iterator[Job]:
    """The files to read, in order of path, so that ids do not depend on which worker is faster."""
    known = {seen.path: state.content_hash for seen, state in plan.suspects if run.is_current(state)}
    for seen in sorted([*plan.new, *(seen for seen, _ in plan.suspects)], key=lambda f: f.path):
        yield Job(str(root), seen, known.get(seen.path), moved.get(seen.path))


def link_concerned(
    store: Store, repository: RepositoryRow, concerned: Concerned, run: Run, transaction: LazyTransaction
) -> tuple[Notice, ...]:
    """Give the documents their edges that have none yet, or that this run concerns; what is wrong with the tree's own indexes.

    With such indexes all documents are linked, see `linking.precise_edges`.
    """
    linker: Linker | None = None
    known: Known | None = None

    def reader() -> Linker:
        nonlocal linker
        linker = linker or Linker(store, repository.id, known)
        return linker

    documents = concerned.documents(run.batches, lambda: reader().catalog)
    carried = find_carried(repository.root, run.settings.max_precise_size)
    key = f"precise:{repository.name}"
    others = store.meta(key) != carried.state
    if others or (carried.files and (documents or concerned.any)):
        documents = {state.id for state in store.documents.states(repository.id).values()}
        known, linker = Known(store, repository.id, carried.files), None
    if documents or concerned.any:  # a file that is gone may have held members of types that stay
        transaction.begin()
        _link(store, reader(), documents, concerned, known, run, transaction)
        store.edges.drop_unused_externals()
    if others:
        transaction.begin()
        store.set_meta(key, carried.state)
    return (*carried.notices, *(known.notices if known else ()))


def _link(
    store: Store,
    linker: Linker,
    documents: Collection[DocumentId],
    concerned: Concerned,
    known: Known | None,
    run: Run,
    transaction: LazyTransaction,
) -> None:
    """Link these documents, all of a repository or those that a change concerns."""
    files = linker.catalog.files
    ordered = sorted((d for d in documents if d in files), key=lambda d: files[d].path)
    whole = run.batches or len(ordered) == len(files)
    if len(ordered) == len(files):
        store.edges.forget_all(ordered)

    def told(links: Iterable[Links]) -> Iterator[Links]:
        for done, one in enumerate(links, start=1):
            if run.progress:
                run.progress(Progress("link", done, len(ordered), files[one.document].path))
            yield one

    with closing(_links(store, linker, ordered, whole, known, run, transaction)) as links:
        for batch in in_batches(told(links)):
            transaction.begin()
            write_links(store, batch, fresh=whole)
            if run.batches:
                transaction.commit()
    if not whole:
        linker.implied.renew(store, ordered, concerned.holders(linker.catalog))
    if known:
        relate(store, linker.catalog, known)


def _links(
    store: Store,
    linker: Linker,
    documents: Sequence[DocumentId],
    whole: bool,
    known: Known | None,
    run: Run,
    transaction: LazyTransaction,
) -> Generator[Links, None, None]:
    """The links of documents: in a build of some size found by worker processes, which read what is committed."""
    workers = min(worker_count(run.settings), len(documents) // DOCUMENTS_A_LINKER)
    if run.batches and not known and workers > 1:
        transaction.commit()
        store.share_build()
        yield from link_all(store.path, linker.repository, documents, workers)
    else:
        with without_collector():
            for document in documents:
                yield linker.link(document, whole)


def _skip_rules(settings: Settings) -> str:
    """All that decides whether a file is left out for its content."""
    return f"{CLASSIFYING} {settings.max_file_size} {settings.include_vendored} {settings.encoding_threshold}"


def _skip_rules_key(repository: RepositoryRow) -> str:
    """Each repository has its own: a run over one of them says nothing about the files of the others."""
    return f"skip_rules:{repository.name}"


def _write_skips(
    store: Store, repository: RepositoryRow, skips: list[Skip], run: Run, transaction: LazyTransaction
) -> None:
    old = {s.path: s for s in store.documents.skips(repository.id)}
    new = {s.path: s for s in skips}
    gone = [path for path in old if path not in new]
    fresh = [s for path, s in sorted(new.items()) if old.get(path) != s]
    key, rules = _skip_rules_key(repository), _skip_rules(run.settings)
    if gone or fresh or store.meta(key) != rules:
        transaction.begin()
        store.documents.replace_skips(repository.id, gone, fresh)
        store.set_meta(key, rules)
