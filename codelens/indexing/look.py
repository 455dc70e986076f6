"""Checks cheaply before an answer whether a tree has changed since it was indexed. `codelens status` checks in full.

A run notes the times of the folders and files that are most likely to change, of skipped files, and of files with rules of the
walk (`format_times`). A look reads the same times again: a new, deleted, renamed or replaced file changes its folder's time; an
edit in place changes its own. Folders that changed are walked again, and the whole tree where rules changed. All steps are
bounded by number, never by time, so that the same state gives the same answer."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import accumulate, islice, zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import xxhash

from codelens.config import Settings, SettingsLoader
from codelens.errors import UsageError
from codelens.model.code import Freshness, SeenFile, Skip, SkipReason, TreeLook, TreeState
from codelens.store.documents import DocumentRow, RepositoryRow
from codelens.store.store import INDEXED_AT, Store
from codelens.worktree.files import check_freshness, escape_path, read_change_time, unescape_path
from codelens.worktree.history import read_head_commit
from codelens.worktree.place import INDEX_FOLDER, NOTES_FOLDER, list_own_files
from codelens.worktree.repository import (
    RULE_FILES,
    find_enclosing_repository,
    list_rule_files,
    locate_exclude_files,
    read_configuration,
    read_regular,
    read_tracked_paths,
)

if TYPE_CHECKING:
    from codelens.indexing.run import IndexRun, LazyTransaction, Tally

MOST_TIMES = 4000  # Files and folders whose times one look reads, in all trees of an index: at most 20 ms of CPU
MOST_FILES = 50  # Files with a changed time that are examined, in each tree
MOST_BYTES = (
    4_000_000  # Bytes of files that are read because their times differ and their sizes do not, or because they are new
)
MIN_CHARGED_BYTES = 20_000  # A smaller new file counts as this many of these bytes
MOST_FOLDERS = 30  # Folders whose entries are examined because their times, or those of their files, differ
MOST_NAMES = 1000  # Entries of all these folders, of those around them, and of new ones
ENOUGH_FILES = 100  # With fewer files, a build mostly waits for its processes to start
_PACE = "pace"  # Key of `meta`: the speed of the last run that wrote
_ROOT = "/"  # The root's path in the list. Other folders are relative to it, and end in a slash like all folders.
_SKIPPED_PREFIX = "/"  # What the path of a skipped file begins with
_ABSENT = "-1"  # The time of a folder that does not exist, and would be entered
_RULE_FILE_PREFIX = "//"  # What the path of a file with rules of the walk begins with, one of `list_rule_files`


class OuterRules(NamedTuple):
    """The rules for a tree that do not lie in its folders, to be compared with a later state."""

    tracked_time: int  # Change time of git's list of tracked files
    rules: str  # Hash of git's configuration and of the ignore files of the user, the repository and the folders above
    tracked: str  # Hash of that list; its time if only git can read it

    @classmethod
    def read(cls, root: Path, known: OuterRules | None = None) -> OuterRules:
        """Read what applies now. The list of tracked files is not read if it has the time of the `known` one."""
        repository = find_enclosing_repository(root)
        configuration = read_configuration(repository)
        files = locate_exclude_files(root, repository, configuration)
        if repository:
            above = [folder for folder in root.parents if folder.is_relative_to(repository.top)]
            files += [folder / name for folder in above for name in RULE_FILES]
        parts = [repository is None, configuration.get("core.ignorecase"), *map(read_regular, files)]
        rules = xxhash.xxh3_64_hexdigest(repr(parts).encode())

        changed_at = 0
        with suppress(OSError):
            changed_at = read_change_time((repository.git_folder / "index").stat()) if repository else 0
        if known and known.tracked_time == changed_at:
            return cls(changed_at, rules, known.tracked)
        paths = read_tracked_paths(repository) if repository else []
        tracked = str(changed_at) if paths is None else xxhash.xxh3_64_hexdigest(b"\0".join(paths))
        return cls(changed_at, rules, tracked)


def format_times(store: Store, repository: RepositoryRow, tally: Tally) -> str:
    """Format the state that later looks compare: the counts of files and times with the outer rules, then `TIME PATH` for each
    time, the most likely to change first. Paths with line breaks are only counted."""
    times = store.documents.read_times(repository.id)
    files = [*times]
    rules = []
    for path, at in tally.folders.items():
        noted = escape_path(path) if path.endswith("/") else _RULE_FILE_PREFIX + escape_path(path)
        times[noted] = at
        if noted.startswith(_RULE_FILE_PREFIX):
            rules.append(noted)
    times.setdefault(f"{INDEX_FOLDER}/{NOTES_FOLDER}/", int(_ABSENT))  # the folder around it changes with each run
    times |= {_SKIPPED_PREFIX + path: at for path, at in store.documents.read_times(repository.id, "skips").items()}
    # Files modified last and committed last, taken in turn, each after its folder; then other folders
    pairs = zip_longest(files, store.history.list_newest_paths(repository.id, MOST_TIMES))
    with_folders = (each for pair in pairs for path in pair if path for each in (path.rpartition("/")[0] + "/", path))
    likeliest = dict.fromkeys(path for path in (*rules, *with_folders, *times) if path in times and "\n" not in path)
    lines = [f"{times[path]} {path}" for path in islice(likeliest, MOST_TIMES)]
    header = " ".join(map(str, (len(files), len(times), *(tally.outer or ()))))
    return "\n".join([header, *lines])


def _list_folders(path: str) -> Iterator[str]:
    """List the folders around a path, the outermost first; also a folder itself, whose path ends in a slash."""
    return accumulate(name + "/" for name in path.lstrip("/").split("/")[:-1])


def name_times_key(repository: RepositoryRow) -> str:
    return f"times:{repository.name}"


def note_run(
    store: Store, run: IndexRun, tallies: Mapping[Path, Tally], seconds: float, transaction: LazyTransaction
) -> None:
    """Store the values that later looks compare with the trees, the time of the last write, and the duration of an update."""
    has_written = bool(transaction.writes)
    rows = [row for row in store.documents.list_repositories() if row.root in tallies]
    for row in rows:
        transaction.set_meta(name_times_key(row), format_times(store, row, tallies[row.root]))
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


def look_at_trees(store: Store, settings: Settings, settings_of: SettingsLoader | None = None) -> dict[str, TreeLook]:
    """Look at all trees of an index. Returns repository name → what was seen. Only reads, and starts no process in most trees.
    Without `settings_of`, the rules of its last run apply to each tree."""
    rows = store.documents.list_repositories()
    most = MOST_TIMES // len(rows)
    return {row.name: _TreeCheck(store, row, settings).look_at_tree(most, settings_of) for row in rows}


class _TreeCheck:
    """One check of one tree for files that changed since it was indexed."""

    def __init__(self, store: Store, row: RepositoryRow, settings: Settings) -> None:
        self._documents, self._row, self._settings = store.documents, row, settings
        self._store = store
        self._root = str(row.root)
        self._noted: set[str] = set()
        self._new: set[str] = set()
        self._changed: set[str] = set()
        self._deleted: set[str] = set()
        self._bytes = MOST_BYTES
        self._all_examined = True
        self._rules_changed = False  # Any file of the tree may be read or skipped now, unlike before
        self._settings_changed = False

    def look_at_tree(self, most: int, settings_of: SettingsLoader | None) -> TreeLook:
        """Compare up to `most` times, and examine the files and folders whose times differ."""
        header, *lines = self._store.read_meta(name_times_key(self._row)).split("\n")
        words = header.split()
        try:
            files, times, tracked_time = map(int, words[:3])
            outer = OuterRules(tracked_time, *words[3:])
        except (TypeError, ValueError):  # an older codelens stored less
            return TreeLook(TreeState.UNKNOWN, self._documents.read_totals(self._row.id)[0], 0)
        if not self._row.root.is_dir():
            return TreeLook(TreeState.GONE, files, 0)
        self._compare_rules(outer, settings_of)

        checked, differing, others = 0, list[str](), list[str]()
        top, is_windows = self._root.rstrip("/") + "/", os.name == "nt"
        for line in lines[:most]:
            noted, _, path = line.partition(" ")
            if ".." in path and ".." in path.split("/"):  # written with intent: it would lead out of the root
                continue
            try:
                stat = os.lstat(top + unescape_path(path).strip("/"))
                now = stat.st_mtime_ns if is_windows else stat.st_ctime_ns  # as `read_change_time`, which takes longer
                is_same = now == int(noted)
            except (OSError, ValueError):
                is_same = noted == _ABSENT
            is_document = not path.startswith(_SKIPPED_PREFIX) and not path.endswith("/")
            if not is_same:
                (differing if is_document else others).append(path)
            checked += is_same and is_document

        for path in differing[:MOST_FILES]:
            document = self._documents.find_at(self._row.id, path)
            checked += document is None or self._compare_content(document)
        if others or self._rules_changed:
            self._noted.update(line.partition(" ")[2] for line in lines)
            self._rules_changed |= any(path.startswith(_RULE_FILE_PREFIX) for path in others)
            if not self._rules_changed:
                self._compare_walk(others[:MOST_FOLDERS])
            if self._rules_changed:
                self._compare_walk(None)

        is_whole = checked == files and len(lines) == times <= most and len(others) <= MOST_FOLDERS
        new, changed, deleted = (tuple(sorted(paths)) for paths in (self._new, self._changed, self._deleted))
        if new or changed or deleted:
            return TreeLook(TreeState.CHANGED, files, checked, new, changed, deleted)
        if is_whole and self._all_examined:
            return TreeLook(TreeState.FRESH, files, checked)
        history = self._store.history.read(self._row.id)
        head = history.head if history else ""
        head_moved = bool(head) and read_head_commit(self._row.root) not in ("", head)
        return TreeLook(TreeState.UNKNOWN, files, checked, head_moved=head_moved)

    def _compare_rules(self, outer: OuterRules, settings_of: SettingsLoader | None) -> None:
        """Compare the rules by which a run would walk the tree now with those of the last run."""
        from codelens.indexing.walk_rules import choose_walk_rules, read_walk_rules

        stored = read_walk_rules(self._store, self._row.name)
        if stored:
            rules = choose_walk_rules(stored, settings_of(self._row.root)) if settings_of else stored
            self._settings = rules.apply_to(self._settings)
            self._settings_changed = rules.values != stored.values
            # Once this is turned off, the content of each document may be a reason to skip it
            self._all_examined = rules.values["include_vendored"] >= stored.values["include_vendored"]
        now = OuterRules.read(self._row.root, outer)
        is_same = (now.rules, now.tracked) == (outer.rules, outer.tracked)
        self._rules_changed = self._settings_changed or not is_same

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

    def _compare_walk(self, places: Sequence[str] | None) -> None:
        """Compare the index with what a run would find: in these folders, in those around these files, and in new ones; in the
        whole tree if `places` is None."""
        from codelens.worktree.walk import TreeWalker, WalkedFolder

        ways = {"", *(folder for place in places or () for folder in _list_folders(place))}
        left = MOST_TIMES if places is None else MOST_NAMES

        def enters(folder: WalkedFolder) -> bool:
            nonlocal left
            left -= 1
            path = escape_path(folder.path)
            if places is None or path not in ways:
                return left > 0 and (places is None or not self._knows(path))
            files = list_rule_files(self._row.root, folder.path)
            self._rules_changed |= any(_RULE_FILE_PREFIX + escape_path(file) not in self._noted for file in files)
            return left > 0

        own = list_own_files(self._store.path)
        try:
            for entry in TreeWalker(self._row.root, self._settings, own).walk_folders(enters):
                left -= 1
                if left < 0:
                    break
                self._compare_entry(entry)
        except UsageError:  # the root cannot be read
            left = -1
        self._all_examined &= left >= 0

    def _knows(self, folder: str) -> bool:
        """True if the last run saw files in this folder, or skipped it."""
        documents, repository = self._documents, self._row.id
        has_files = documents.has_below(repository, folder) or documents.has_below(repository, folder, "skips")
        return has_files or documents.find_skip(repository, folder) is not None

    def _compare_entry(self, entry: SeenFile | Skip) -> None:
        """Compare the index with a run's decision about a file, or about a folder that it skips."""
        path, repository = entry.path, self._row.id
        if path.endswith("/"):
            if self._documents.has_below(repository, path):
                self._deleted.add(path)
            return
        document = self._documents.find_at(repository, path)
        if document and path not in self._changed:
            if isinstance(entry, Skip):
                self._deleted.add(path)
            else:
                self._compare_content(document)
        elif not document and isinstance(entry, SeenFile) and self._would_index(entry):
            new_folders = (folder for folder in _list_folders(path) if not self._knows(folder))
            self._new.add(next(new_folders, path))

    def _would_index(self, seen: SeenFile) -> bool:
        """True if a run would index this file, which is not indexed yet. Its content is read for that."""
        skip = self._documents.find_skip(self._row.id, seen.path)
        is_judged = skip and skip.stamp and skip.stamp.agrees(seen.stamp) and skip.reason is not SkipReason.UNREADABLE
        if is_judged and not self._settings_changed:
            return False
        self._bytes -= max(seen.stamp.size, MIN_CHARGED_BYTES)
        if self._bytes < 0:
            self._all_examined = False
            return False
        from codelens.indexing.files import read_text

        try:
            return not isinstance(read_text(self._row.root, seen, self._settings), Skip)
        except OSError:  # a run skips it
            return False
