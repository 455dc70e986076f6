"""Opens an index whose trees may have changed: updates it first if the user wants that, and warns if it is behind."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import accumulate

from codelens.cli.flags import CommonFlags, SearchFlags
from codelens.cli.streams import inform, say, say_without_prefix, user_agrees
from codelens.cli.workplace import Workplace, choose_trees, find_workplace, select_present_roots
from codelens.errors import CodelensError, StaleIndex, TargetError
from codelens.index import Index
from codelens.model.code import IndexInfo, SeenFile, TreeState
from codelens.text.counts import quantity
from codelens.worktree.place import find_git_top, is_home, prepare_index_folder

LARGE_BYTES = 6_000_000  # Bytes of source that take some ten seconds to index, so that the user is asked first
AUTO_SECONDS = 1.0  # Seconds of the longest update that runs by itself with `refresh = "auto"`
MOST_NAMED = 3  # Most changed files that the warning names


@contextmanager
def open_current_index(flags: CommonFlags, place: Workplace | None = None) -> Iterator[tuple[Workplace, Index]]:
    """Open the index of `place`, else the one that `find_workplace` finds. After the answer, warn if it is behind."""
    place = place or find_workplace(flags)
    index = place.open()
    if place.settings.refresh == "auto" and is_behind(index.info()) and index.estimate_update_seconds() < AUTO_SECONDS:
        index.close()
        try:
            refresh_index(place, "none", quiet=True)
        except CodelensError as fault:
            inform(flags, f"note: the index was not refreshed: {fault}")
        index = place.open()
    with index:
        try:
            yield place, index
        except TargetError:  # the name may not be in the index yet
            _warn_if_behind(index.info(), flags)
            raise
        _warn_if_behind(index.info(), flags)


def refresh_index(place: Workplace, progress: str, quiet: bool) -> None:
    """Bring the index up to date with the trees that it holds. Raises IndexBusy, CannotWrite and others."""
    from codelens.cli.progress import show_progress

    with place.open() as index:
        roots = select_present_roots(index.roots())
    with show_progress(progress, quiet) as watch:
        Index.build(place.index_path, roots, place.settings, progress=watch, as_indexed=True)


def build_first_index(flags: SearchFlags) -> bool:
    """Index the tree for a user at a terminal who searches without an index.

    Asks first if the tree has LARGE_BYTES or more, or is not in a git repository. Returns False if nobody can be asked, the user
    declines, or the tree belongs to another user.
    """
    at_terminal = all(stream.isatty() for stream in (sys.stdin, sys.stdout, sys.stderr))
    if not at_terminal or flags.db or flags.quiet or flags.json or flags.jsonl:
        return False
    from codelens.indexing.status import plan_files

    trees = choose_trees(flags, ())
    index, root = trees.place.index_path, trees.roots[0]
    if is_home(root) or (hasattr(os, "getuid") and root.stat().st_uid != os.getuid()):
        return False
    planned = plan_files(index, trees.roots, trees.settings_of)
    sizes = accumulate(file.stamp.size for _, file in planned if isinstance(file, SeenFile))
    large = any(size >= LARGE_BYTES for size in sizes)
    say(f"there is not yet an index of {root}" + ", which is large" * large)
    if (large or find_git_top(root) is None) and not user_agrees("index it now?", f"index {root}"):
        return False
    from codelens.cli.progress import show_progress
    from codelens.render.reports import format_summary

    prepare_index_folder(index)
    settings, settings_of = trees.place.settings, trees.settings_of
    with show_progress(flags.progress, flags.quiet) as watch:
        reports = Index.build(index, trees.roots, settings, progress=watch, settings_of=settings_of)
        say_without_prefix(format_summary(reports))
    return True


def require_fresh(index: Index) -> None:
    """Compare the trees with the index. Raises StaleIndex if one differs or is gone."""
    for repository in index.status(check=True).repositories:
        if repository.gone:
            raise StaleIndex(f"{repository.root} is gone", "mount it, or `codelens index --rebuild` without it")
        if changes := repository.changes:
            counts = f"{len(changes.new)} new, {len(changes.changed)} changed, {len(changes.deleted)} deleted"
            raise StaleIndex(f"{repository.root} has changed since it was indexed: {counts}")


def is_behind(info: IndexInfo) -> bool:
    """True if a tree is known to have changed or to be gone."""
    return any(row.tree and row.tree.state in (TreeState.CHANGED, TreeState.GONE) for row in info.repositories)


def _warn_if_behind(info: IndexInfo, flags: CommonFlags) -> None:
    """Report how the trees differ from the index. That the check was not complete is reported to people only."""
    trees = [row.tree for row in info.repositories if row.tree]
    gone = [row.root for row in info.repositories if row.tree and row.tree.state is TreeState.GONE]
    if gone:
        inform(flags, f"warning: {gone[0]} is gone; the answer is from its index")
    elif is_behind(info):
        names = ("changed", "new", "deleted")
        kinds = {kind: [path for tree in trees for path in getattr(tree, kind)] for kind in names}
        counts = ", ".join(f"{len(paths)} {kind}" for kind, paths in kinds.items() if paths)
        paths = [path for paths in kinds.values() for path in paths]
        listed = ", ".join(paths[:MOST_NAMED]) + (", …" if len(paths) > MOST_NAMED else "")
        inform(flags, f"warning: files differ from the index: {counts} ({listed}); `codelens index` updates it")
    elif sys.stderr.isatty() and any(tree.state is TreeState.UNKNOWN for tree in trees):
        checked, files = sum(tree.checked for tree in trees), sum(tree.files for tree in trees)
        age = f"; the index was updated {_describe_age(info.indexed_at)} ago" if info.indexed_at else ""
        moved = ", but HEAD has moved" if any(tree.head_moved for tree in trees) else ""
        inform(flags, f"note: checked {checked} of {quantity(files, 'file')}, and none has changed{moved}{age}")


def _describe_age(moment: str) -> str:
    """Describe the time since a moment, in the largest unit that fits."""
    import calendar  # imported here because it brings locale, and few answers need it

    try:
        seconds = max(0, int(time.time()) - calendar.timegm(time.strptime(moment, "%Y-%m-%dT%H:%M:%SZ")))
    except ValueError:  # somebody changed it on purpose
        return "some time"
    for size, unit in ((86_400, "day"), (3_600, "hour"), (60, "minute")):
        if seconds >= size:
            return f"{seconds // size} {unit}{'s' if seconds >= 2 * size else ''}"
    return f"{seconds} second{'s' * (seconds != 1)}"
