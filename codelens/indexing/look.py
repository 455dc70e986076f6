"""Checks cheaply before an answer whether a tree has changed since it was indexed. `codelens status` checks in full.

A run notes the times of the folders and files that are most likely to change (`format_times`). A look reads the same times again:
a new, deleted, renamed or replaced file changes its folder's time; an edit in place changes its own. All steps are bounded by
number, never by time, so that the same state gives the same answer."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Mapping
from itertools import islice, zip_longest
from pathlib import Path
from typing import TYPE_CHECKING

from codelens.config import Settings
from codelens.model.code import Freshness, TreeLook, TreeState
from codelens.store.documents import DocumentRow, RepositoryRow
from codelens.store.store import INDEXED_AT, Store
from codelens.worktree.files import check_freshness, escape_path, unescape_path
from codelens.worktree.history import read_head_commit

if TYPE_CHECKING:
    from codelens.indexing.run import IndexRun, LazyTransaction, Tally
    from codelens.worktree.walk import WalkFilter

MOST_TIMES = 4000  # Files and folders whose times one look reads, in all trees of an index: at most 20 ms of CPU
MOST_FILES = 50  # Files with a changed time that are examined, in each tree
MOST_BYTES = 4_000_000  # Bytes of files that are hashed because their times differ and their sizes do not
MOST_FOLDERS = 30  # Folders with a changed time that are listed, and as many new folders
MOST_NAMES = 1000  # Names that are read from all these folders
ENOUGH_FILES = 100  # With fewer files, a build mostly waits for its processes to start
_PACE = "pace"  # Key of `meta`: the speed of the last run that wrote
_ROOT = "/"  # The root's path in the list. Other folders are relative to it, and end in a slash like all folders.


def format_times(store: Store, repository: RepositoryRow, folders: Mapping[str, int]) -> str:
    """Format what later looks compare: the numbers of files and of times, then a line `TIME PATH` for each, the most likely to
    change first. `folders` maps folders that the walk entered to times. Paths with line breaks are left out."""
    skipped = store.documents.list_skipped_folders(repository.id)
    entered = {shown: at for path, at in folders.items() if (shown := escape_path(path)) not in skipped}
    files = {path: at for path, at in store.documents.read_times(repository.id).items() if "\n" not in path}
    times = files | {path: at for path, at in entered.items() if "\n" not in path}
    # Files modified last and committed last, taken in turn, each after its folder; then other folders
    pairs = zip_longest(files, store.history.list_newest_paths(repository.id, MOST_TIMES))
    with_folders = (each for pair in pairs for path in pair if path for each in (path.rpartition("/")[0] + "/", path))
    likeliest = dict.fromkeys(path for path in (*with_folders, *times) if path in times)
    lines = [f"{times[path]} {path}" for path in islice(likeliest, MOST_TIMES)]
    return "\n".join([f"{len(files)} {len(times)}", *lines])


def name_times_key(repository: RepositoryRow) -> str:
    return f"times:{repository.name}"


def note_run(
    store: Store, run: IndexRun, tallies: Mapping[Path, Tally], seconds: float, transaction: LazyTransaction
) -> None:
    """Store the values that later looks compare with the trees, the time of the last write, and the duration of an update."""
    has_written = bool(transaction.writes)
    rows = [row for row in store.documents.list_repositories() if row.root in tallies]
    for row in rows:
        transaction.set_meta(name_times_key(row), format_times(store, row, tallies[row.root].folders))
    if has_written:
        # A build tells the time of a file, if it has enough of them. The rest is what each run takes: at least that of its walk.
        walk = sum(tally.walk_seconds for tally in tallies.values())
        differing = ("added", "changed", "renamed", "removed")
        files = sum(tally.files[kind] for tally in tallies.values() for kind in differing)
        each = seconds / max(files, ENOUGH_FILES) if run.batches else _read_pace(store)[1]
        transaction.begin()
        store.set_meta(INDEXED_AT, time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()))
        store.set_meta(_PACE, f"{max(seconds - files * each, walk):.3f} {each:.4f}")
    if transaction.writes:
        transaction.begin()
        for row in rows:
            store.store_kind_counts(row, tallies[row.root].kinds)


def _read_pace(store: Store) -> tuple[float, float]:
    """Read the seconds that an update takes without any file, and the seconds for each file."""
    try:
        base, each = map(float, store.read_meta(_PACE).split())
    except ValueError:
        return (math.inf, 0.0)
    return base, each


def estimate_update_seconds(store: Store, differences: int) -> float:
    """Estimate how long an update of so many files takes, at the speed of the last runs; infinite if unknown."""
    base, each = _read_pace(store)
    return base + differences * each


def look_at_trees(store: Store, settings: Settings) -> dict[str, TreeLook]:
    """Look at all trees of an index. Returns repository name → what was seen. Only reads, and starts no process."""
    rows = store.documents.list_repositories()
    return {row.name: _TreeCheck(store, row, settings).look_at_tree(MOST_TIMES // len(rows)) for row in rows}


class _TreeCheck:
    """One check of one tree for files that changed since it was indexed."""

    def __init__(self, store: Store, row: RepositoryRow, settings: Settings) -> None:
        self._store, self._row, self._settings = store, row, settings
        self._root = str(row.root)
        self._new: set[str] = set()
        self._changed: set[str] = set()
        self._deleted: set[str] = set()
        self._bytes, self._folders, self._names = MOST_BYTES, MOST_FOLDERS, MOST_NAMES
        self._all_examined = True
        self._filter: WalkFilter | None = None

    def look_at_tree(self, most: int) -> TreeLook:
        """Compare up to `most` times, and examine the files and folders whose times differ."""
        numbers, *lines = self._store.read_meta(name_times_key(self._row)).split("\n")
        try:
            files, times = map(int, numbers.split())
        except ValueError:  # an older codelens did not store times
            files, times = self._store.documents.read_totals(self._row.id)[0], -1
        if not self._row.root.is_dir():
            return TreeLook(TreeState.GONE, files, 0)
        checked, differing, folders = 0, list[str](), list[str]()
        top, is_windows = self._root.rstrip("/") + "/", os.name == "nt"
        for line in lines[:most]:
            noted, _, path = line.partition(" ")
            if ".." in path and ".." in path.split("/"):  # written with intent: it would lead out of the root
                continue
            is_folder = path.endswith("/")
            try:
                stat = os.lstat(top + unescape_path(path).rstrip("/"))
                now = stat.st_mtime_ns if is_folder or is_windows else stat.st_ctime_ns  # as in `build_stamp`
                is_same = now == int(noted)
            except (OSError, ValueError):
                is_same = False
            if not is_same:
                (folders if is_folder else differing).append(path)
            checked += is_same and not is_folder
        for path in differing[:MOST_FILES]:
            document = self._store.documents.find_at(self._row.id, path)
            checked += document is None or self._compare_content(document)
        for path in folders[:MOST_FOLDERS]:
            self._find_new_entries(path)
        is_whole = checked == files and len(lines) == times <= most and len(folders) <= MOST_FOLDERS
        new, changed, deleted = (tuple(sorted(paths)) for paths in (self._new, self._changed, self._deleted))
        if new or changed or deleted:
            return TreeLook(TreeState.CHANGED, files, checked, new, changed, deleted)
        if is_whole and self._all_examined:
            return TreeLook(TreeState.FRESH, files, checked)
        history = self._store.history.read(self._row.id)
        head = history.head if history else ""
        head_moved = bool(head) and read_head_commit(self._row.root) not in ("", head)
        return TreeLook(TreeState.UNKNOWN, files, checked, head_moved=head_moved)

    def _compare_content(self, document: DocumentRow) -> bool:
        """Compare a document with its file. Returns False if that would read too many bytes."""
        if document.stamp.size > self._bytes:
            self._all_examined = False
            return False
        now = check_freshness(self._row.root, document.os_path, document.stamp, document.content_hash)
        if now is Freshness.FRESH:
            self._bytes -= document.stamp.size  # it was read unless its stamp agrees
        else:
            (self._deleted if now is Freshness.DELETED else self._changed).add(document.path)
        return True

    def _find_new_entries(self, folder: str) -> None:
        """Find the new and the replaced entries of a folder."""
        below = "" if folder == _ROOT else folder
        try:
            entries = self._read_entries(unescape_path(below))
        except OSError:
            is_reported = any(path.startswith(below) for path in self._deleted)
            if self._store.documents.has_below(self._row.id, below) and not is_reported:
                self._deleted.add(folder)
            return
        documents, repository = self._store.documents, self._row.id
        for entry in entries:
            path = below + escape_path(entry.name)
            if entry.is_dir(follow_symlinks=False):
                path += "/"
                if documents.is_skipped(repository, path) or documents.has_below(repository, path):
                    continue
                if self._would_read(below, entry) and self._holds_files(path):
                    self._new.add(path)
            elif entry.is_file(follow_symlinks=False):
                if document := documents.find_at(repository, path):
                    if path not in self._changed:
                        self._compare_content(document)
                elif not documents.is_skipped(repository, path) and self._would_read(below, entry):
                    self._new.add(path)

    def _holds_files(self, folder: str) -> bool:
        """True if a run would read a file in this new folder."""
        waiting = [folder]
        while waiting and self._folders > 0:
            here = waiting.pop()
            self._folders -= 1
            try:
                entries = self._read_entries(unescape_path(here))
            except OSError:
                continue
            for entry in entries:
                if self._would_read(here, entry):
                    if not entry.is_dir(follow_symlinks=False):
                        return True
                    waiting.append(here + escape_path(entry.name) + "/")
        self._all_examined &= not waiting
        return False

    def _read_entries(self, folder: str) -> list[os.DirEntry[str]]:
        """Read a folder's entries, sorted, but no more than the limit still allows. Raises OSError."""
        with os.scandir(f"{self._root}/{folder}") as listing:
            entries = sorted(listing, key=lambda entry: entry.name)
        read = entries[: self._names]
        self._all_examined &= len(read) == len(entries)
        self._names -= len(read)
        return read

    def _would_read(self, folder: str, entry: os.DirEntry[str]) -> bool:
        """True if a run would read this file or enter this folder by the rules alone, without git's list of tracked files."""
        if self._filter is None:
            from codelens.indexing.walk_rules import apply_stored_rules
            from codelens.worktree.place import list_own_files
            from codelens.worktree.walk import WalkFilter

            settings = apply_stored_rules(self._store, self._row.name, self._settings)
            self._filter = WalkFilter(self._row.root, settings, list_own_files(self._store.path), ask_git=False)
        return self._filter.accepts_entry(unescape_path(folder).rstrip("/"), entry)
