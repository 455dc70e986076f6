"""Creates and updates index files: a build next to the final path, a copy, an update in place; one writer at a time."""

from __future__ import annotations

import gc
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from codelens.config import Settings
from codelens.errors import (
    CodelensError,
    IndexBusy,
    IndexCorrupt,
    IndexNotTrusted,
    NoIndex,
    NoVectors,
    SchemaTooNew,
    UsageError,
)
from codelens.files import make_folder
from codelens.indexing.changes import RepositoryUpdate, UpdatePlan
from codelens.indexing.embedding import apply_stored_model, open_worker_embedder
from codelens.indexing.link import link_update
from codelens.indexing.pipeline import add_finish_time, finish_run, update_repositories
from codelens.indexing.run import IndexRun, LazyTransaction, PhaseClock, apply_stored_features
from codelens.indexing.walk_rules import apply_stored_rules
from codelens.indexing.workers import derive_file
from codelens.model.code import SeenFile
from codelens.model.fast_dataclass import replace
from codelens.model.runs import UNFINISHED, WRITTEN, IndexReport, Progress
from codelens.model.search import Notice
from codelens.store.checksums import find_file_faults, has_checksums
from codelens.store.connection import (
    hold_writer_lock,
    is_index,
    may_be_unfinished,
    probe_abilities,
    put_to_rest,
    report_damage,
    report_write_faults,
)
from codelens.store.store import Features, Store
from codelens.store.trust import can_sign, is_owned, renew_acceptance
from codelens.worktree.git_calls import renew_times
from codelens.worktree.history import count_differences, list_first_commits, read_head_commit
from codelens.worktree.place import (
    BESIDE,
    BUILDING,
    COMPACTED,
    INDEX_FOLDER,
    INDEX_NAME,
    list_own_files,
    refuse_unsafe_index,
)
from codelens.worktree.repository import GitError, Repository, list_other_checkouts, open_repository
from codelens.worktree.walk import explain_path

_UNREADABLE = (IndexCorrupt, IndexNotTrusted, NoIndex, SchemaTooNew)


def build_index(run: IndexRun, roots: Sequence[Path], rebuild: bool = False) -> tuple[IndexReport, ...]:
    """Bring the index at `run.index` up to date with these roots, or create it. Returns a report for each root. Raises
    IndexBusy if another process writes it, and UsageError for roots that are not directories."""
    for root in roots:
        if not root.exists():
            raise UsageError(f"no such folder: {root}")
        if not root.is_dir():
            hint = "name the folder to index; files are indexed with the tree they lie in"
            raise UsageError(f"not a folder: {root}", hint)
    refuse_unsafe_index(run.index)
    renew_times()
    # A link that the user made to the index stays; its target is written.
    build = _Build(replace(run, index=run.index.resolve()), [root.resolve() for root in roots])
    path, building = build.path, build.building
    if building.exists() and not may_be_unfinished(building):
        raise UsageError(f"{building} is in the way, and it is not an index", "move it, or name another file with --db")
    with report_write_faults(path):
        make_folder(path.parent)
    thresholds = gc.get_threshold()
    gc.set_threshold(200_000, 20, 100)  # as in workers: collecting cycles took a tenth of a run that changes nothing
    try:
        with report_write_faults(path), hold_writer_lock(path), report_damage(path):
            return build.update_or_build(rebuild)
    except KeyboardInterrupt as ending:  # SIGINT, or SIGTERM as a subclass of it
        raise type(ending)(WRITTEN if build.is_committed() else UNFINISHED) from None
    finally:
        gc.set_threshold(*thresholds)


class _Build:
    """One call of `build_index`: its run, its roots, and the files that it writes."""

    def __init__(self, run: IndexRun, roots: list[Path]) -> None:
        self.run, self.roots, self.path = run, roots, run.index
        self.building, self._compacted = (self.path.with_name(self.path.name + end) for end in (BUILDING, COMPACTED))
        self._notices: list[Notice] = []  # About the whole index
        self.is_committed: Callable[[], bool] = lambda: False  # Whether the file at `path` has this run's result

    def update_or_build(self, rebuild: bool) -> tuple[IndexReport, ...]:
        """Update the index, create it, or rebuild it; an index that proves to be damaged is rebuilt, too."""
        path = self.path
        may_copy = not (rebuild or self.run.force) and len(self.roots) == 1
        if self.run.copy_from and not may_copy:
            raise UsageError("--from copies an index for one folder", "leave out --rebuild and --force")
        if not path.exists() or path.stat().st_size == 0:
            return self._build(may_copy)
        if self.run.copy_from:
            text = f"{self.run.copy_from} was not copied, since there is an index already: it was updated"
            self._notices.append(Notice("not-copied", text))
        damage: IndexCorrupt | None = None
        if not rebuild:
            try:
                with report_damage(path):
                    return self._update()
            except IndexCorrupt as fault:
                damage = fault
        # An index of any version may be replaced, and anything at the default place of indexes.
        if path.parent.name != INDEX_FOLDER and not is_index(path):
            hint = "remove the file yourself if it is one"
            raise damage or UsageError(f"{path} is not recognisable as a codelens index", hint)
        known: list[Path] | None = None
        with suppress(*_UNREADABLE), Store.read(path) as store, store.reading():
            if damage:
                with suppress(*_UNREADABLE):
                    self.run = replace(self.run, settings=apply_stored_features(store, self.run.settings))
            known = [row.root for row in store.documents.list_repositories() if row.root.is_dir()]
        if damage:
            others = ", from this run's folders alone: which others it held cannot be read" if known is None else ""
            self.run = replace(self.run, force=False)
            self._notices = [Notice("rebuilt", f"{damage}; it was rebuilt{others}")]
        self.roots += [root for root in known or () if root not in self.roots]
        return self._build(may_copy=False)

    def _update(self) -> tuple[IndexReport, ...]:
        """Update the index in place. Raises IndexCorrupt, before it writes, if a page is damaged or the index is incomplete."""
        path, settings = self.path, self.run.settings
        with _open_to_write(path, accepted=settings.trust_indexes) as store:
            self.is_committed = lambda: store.committed
            _require_complete(store)
            moved_from = store.sign_for_writing(path, self.roots)
            features = store.read_features()
            for what, option, is_there, is_wanted in (
                ("trigrams", "--no-fuzzy", features.fuzzy, settings.fuzzy),
                ("vectors", "--no-vector", features.vector, settings.vector),
            ):
                if is_there and not is_wanted:
                    text = f"the index has {what} and keeps them: `--rebuild {option}` creates one without"
                    self._notices.append(Notice("kept", text))
            self._add_trust_notice()
            if moved_from:
                text = f"the index was made at {moved_from} and moved here with its folder"
                self._notices.append(Notice("moved", text))
            settings = apply_stored_features(store, settings)
            settings = apply_stored_model(store, settings) if self.run.as_indexed else settings
            with store.reading():
                reports = update_repositories(store, self.roots, replace(self.run, settings=settings))
            if any(report.wrote for report in reports):
                store.shrink()
        renew_acceptance(path)
        _delete_index_files(self.building, self._compacted)  # those of a rebuild that was given up
        return self._complete_reports(reports)

    def _add_trust_notice(self) -> None:
        if not self.run.settings.trust_indexes and not can_sign():
            text = "no key can be stored in your data folder: searches refuse this index unless CODELENS_TRUST_INDEXES=1 is set"
            self._notices.append(Notice("unmarked", text))

    def _complete_reports(self, reports: Sequence[IndexReport]) -> tuple[IndexReport, ...]:
        """Add the index's size, and the notices about the whole index, to the reports."""
        size = self.path.stat().st_size
        return tuple(replace(each, index_bytes=size, notices=(*self._notices, *each.notices)) for each in reports)

    def _build(self, may_copy: bool) -> tuple[IndexReport, ...]:
        """Build a new index, from a copy of another checkout's index if `may_copy` and one is found."""
        self._add_trust_notice()
        if self.run.settings.vector and not probe_abilities().vector:
            text = "sqlite-vec cannot be loaded here: the index has no vectors (`codelens doctor`)"
            self._notices.append(Notice("no-sqlite-vec", text))
            self.run = replace(self.run, settings=replace(self.run.settings, vector=False))

        def read_file_id() -> int | None:
            """Read the file's number, which changes when another file takes the path."""
            return self.path.stat().st_ino if self.path.exists() else None

        before = read_file_id()
        self.is_committed = lambda: read_file_id() != before
        try:
            reports = (self._build_from_copy() if may_copy else []) or self._build_beside()
        finally:
            _try_to_delete(self._compacted)
        renew_acceptance(self.path)
        return self._complete_reports(reports)

    def _build_from_copy(self) -> list[IndexReport]:
        """Copy the index of another checkout, update the copy, and move it into place. Returns no reports if no index can be
        copied. A killed run leaves only a copy, which the next run replaces. An unfinished build goes on instead."""
        if self.building.exists() and not self.run.copy_from:
            return []
        copied = self._compacted
        _delete_index_files(copied)
        source, notices = copy_index(self.run, self.roots[0], copied)
        if source is None:
            self._notices += notices
            return []
        with _open_to_write(copied, self.path) as store:
            (report,) = update_repositories(store, self.roots, self.run)
            with store.writing():
                store.log.keep_newest()
            store.shrink()
        _verify_copy(copied, self.path)
        _swap_in(copied, self.building, self.path)
        read = report.added + report.changed
        text = f"the index began as a copy of {source}; {read} of {report.seen} files were read"
        self._notices += [Notice("copied", text), *notices]
        return [report]

    def _build_beside(self) -> list[IndexReport]:
        """Build into a temporary file, and move it to its final path once it is complete and verified."""
        try:
            store, is_resumed = self._open_building()
            with store:
                store.begin_build()
                run = replace(self.run, batches=True, force=False)
                reports = update_repositories(store, self.roots, run, is_resumed)
                clock = PhaseClock()
                if run.progress:
                    run.progress(Progress("verify", 0, 0))
                store.end_build()
                store.copy_compacted(self._compacted)
            _verify_copy(self._compacted, self.path)
            _swap_in(self._compacted, self.building, self.path)
        except IndexBusy:
            raise
        except Exception:  # what failed might fail again; after an interrupt the next run goes on
            _try_to_delete(self.building)
            raise
        return [*reports[:-1], add_finish_time(reports[-1], clock)]

    def _open_building(self) -> tuple[Store, bool]:
        """Open the unfinished index if it has the wanted features and only trees of these roots, else a new one. Returns (the
        index, whether the build resumes)."""
        settings = self.run.settings
        if self.building.exists():
            with suppress(IndexCorrupt, IndexNotTrusted, NoVectors, SchemaTooNew):
                store = Store.write(self.building, self.path)
                with suppress(IndexCorrupt):
                    _raise_damage(self.building)
                    store.verify()
                    known = {row.root for row in store.documents.list_repositories()}
                    # Without a state, it was killed before its features were written.
                    is_fit = store.read_meta("state") and store.read_features() == Features(
                        settings.fuzzy, settings.vector
                    )
                    if is_fit and known <= set(self.roots):
                        return store, store.units.count() > 0
                store.close()
        _delete_index_files(self.building)
        store = Store.write(self.building, self.path)
        with store.writing():
            store.set_meta("state", "building")
            store.set_meta("fuzzy", str(int(settings.fuzzy)))
            store.set_meta("vector", str(int(settings.vector)))
        return store, False


@contextmanager
def _open_to_write(path: Path, place: Path | None = None, accepted: bool = False) -> Iterator[Store]:
    """Open an index like `Store.write`, and check its pages. At the end, merge its write-ahead log if it has one, and close it.
    Raises IndexCorrupt."""
    with Store.write(path, place, accepted) as store:  # closing it clears the log away even after an interrupt
        try:
            _raise_damage(path)
            yield store
        finally:
            if store.read_journal_mode() == "wal":
                store.end_work()


def _raise_damage(index: Path) -> None:
    """Raise IndexCorrupt if the file is damaged."""
    for fault in find_file_faults(index):
        raise IndexCorrupt(f"{index} is damaged: {fault}")


def _require_complete(store: Store) -> None:
    if store.read_meta("state") != "complete":
        raise IndexCorrupt(f"{store.path} is not a finished index")


def _verify_copy(compacted: Path, path: Path) -> None:
    """Raise IndexCorrupt unless each page of the copy reached the disk as it was written."""
    if has_checksums(compacted):
        _raise_damage(compacted)
        return
    with Store.write(compacted, path, accepted=True) as store:
        store.verify()


def _delete_index_files(*files: Path) -> None:
    for file in files:
        for suffix in ("", *BESIDE):
            file.with_name(file.name + suffix).unlink(missing_ok=True)


def _try_to_delete(index: Path) -> None:
    """Delete an index's files as far as possible after a fault, which is the one to report."""
    with suppress(OSError):
        _delete_index_files(index)


def _swap_in(compacted: Path, building: Path, path: Path) -> None:
    """Replace the old index by a closed file. Raises IndexBusy if readers still use the old index's log."""
    if path.exists() and not put_to_rest(path):
        raise IndexBusy(f"readers hold {path}; the new index is ready at {building.name}", "run the same command again")
    compacted.replace(path)
    _delete_index_files(building)


def remove_index(path: Path) -> None:
    """Delete the index at `path` and the files that belong to it. Raises IndexBusy while another process writes it."""
    with hold_writer_lock(path):
        _delete_index_files(*(path.with_name(path.name + suffix) for suffix in ("", BUILDING, COMPACTED)))


def update_file(index: Path, root: Path, below: str, settings: Settings) -> bool:
    """Update one file's entry without a walk, for a command that has written the file. Returns True if the index now has it.
    The file is derived in this process: a text without a grammar cannot crash it. Raises IndexBusy."""
    opened = _open_to_write(index, accepted=settings.trust_indexes)
    with report_write_faults(index), hold_writer_lock(index), report_damage(index), opened as store:
        _require_complete(store)
        store.sign_for_writing(index, [root])
        row = next((r for r in store.documents.list_repositories() if r.root == root), None)
        if row is None:
            return False
        settings = apply_stored_model(store, apply_stored_features(store, settings))
        settings = apply_stored_rules(store, row.name, settings)
        run = IndexRun(settings, store.path)
        state = store.documents.read_states(row.id).get(below)
        is_there = (root / below).exists()
        seen = explain_path(root, below, settings, list_own_files(store.path)) if is_there else None
        plan = UpdatePlan()
        if not isinstance(seen, SeenFile):
            plan.removed += [state] if state else []
        elif state:
            plan.suspects.append((seen, state))
        else:
            plan.new.append(seen)
        with LazyTransaction(store, None) as transaction:
            update = RepositoryUpdate(store, row, run, transaction, plan)
            update.remove_documents()
            for job in update.list_jobs():
                update.write(derive_file(job, settings, open_worker_embedder(settings)))
            link_update(update)
            finish_run(store, run, transaction)
        return below in store.documents.read_states(row.id)


_HINT = "name a folder or index of your own, of another clone; without --from `codelens index` reads the files"


def copy_index(run: IndexRun, root: Path, into: Path) -> tuple[Path | None, list[Notice]]:
    """Copy the nearest usable index of the same repository to `into`, as the index of `root`. Returns the copy's path, and a
    notice for each index that could not be copied.

    Linked worktrees are found by their common git folder. If `run.copy_from` is set, only that index is tried, and its fault is
    raised. Only an index that codelens made for this user is copied."""
    repository = open_repository(root)
    if run.copy_from:
        index = _locate_index(run.copy_from)
        try:
            if repository is None:
                raise UsageError(f"{root} is not the top of a git repository")
            _copy_one_index(run, index, repository, into)
        except CodelensError as fault:
            raise type(fault)(str(fault), _HINT) from None
        return index, []
    if repository is None or run.index != _locate_index(root):
        return None, []

    def count_differing_files(index: Path) -> float:
        """Count the files that differ between the commits of the two checkouts."""
        with suppress(GitError):
            commits = (read_head_commit(top) for top in (index.parent.parent, root))
            return count_differences(repository, *commits)
        return math.inf

    notices: list[Notice] = []
    indexes = [index for top in list_other_checkouts(repository) if (index := _locate_index(top)).is_file()]
    for index in sorted(indexes, key=count_differing_files) if len(indexes) > 1 else indexes:
        try:
            _copy_one_index(run, index, repository, into)
            return index, notices
        except CodelensError as fault:
            notices.append(Notice("not-copied", f"the index of another checkout was not copied: {fault}"))
    return None, notices


def _locate_index(path: Path) -> Path:
    """Find the index file that belongs to a folder; a path that is not a folder is the index file itself."""
    path = path.resolve()
    return path / INDEX_FOLDER / INDEX_NAME if path.is_dir() else path


def _copy_one_index(run: IndexRun, index: Path, repository: Repository, into: Path) -> None:
    """Copy one index. Raises what opening it raises, and UsageError if it does not fit."""
    if not index.is_file():
        raise NoIndex(f"no index at {index}")
    if not is_owned(index):
        raise IndexNotTrusted(f"{index} belongs to another user")
    with Store.read(index) as store, store.reading():
        rows = store.documents.list_repositories()
        if len(rows) != 1:
            raise UsageError(f"{index} holds {len(rows)} folders")
        if store.read_features() != Features(run.settings.fuzzy, run.settings.vector):
            raise UsageError(f"{index} lacks trigrams or vectors, which the new index should have")
        root = rows[0].root  # it must be a checkout of the same repository: one with a first commit in common
        other, fault = open_repository(root), f"{root} and {repository.top} have no first commit in common"
        try:
            is_linked = other and other.common.resolve() == repository.common.resolve()
            if not is_linked and not (other and list_first_commits(other) & list_first_commits(repository)):
                raise UsageError(fault)
        except GitError as error:
            raise UsageError(f"{fault}: {error}") from None
        store.copy(into)
    with Store.write(into, run.index, accepted=True) as copy, copy.writing():
        copy.change_root(repository.top)
