"""Finds the indexed units that a diff changes.

The index may hold the new side of the diff, the old side, or neither. So each hunk is searched by its text: the new side at
its line numbers, the old side, then both nearby. If neither is found, the line numbers decide, and a notice reports it.
"""

from __future__ import annotations

import os
from bisect import bisect_left
from collections.abc import Callable, Collection, Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

from codelens.errors import UsageError
from codelens.model.code import UnitId, UnitRow
from codelens.model.context import Change
from codelens.model.groups import group_pairs
from codelens.model.search import Notice
from codelens.store.documents import DocumentRow
from codelens.store.store import Store
from codelens.store.texts import Texts
from codelens.worktree.commits import diff_range, diff_staged
from codelens.worktree.diffs import FileChange, Hunk, read_diff
from codelens.worktree.files import escape_path
from codelens.worktree.repository import find_enclosing_repository

NEW, OLD, OTHER = "new-state", "old-state", "other-state"  # Which side of a diff the index holds; OTHER for neither
MOST_TRIED = 200  # Most positions tried for a hunk that moved, nearest first. The rarest line of a hunk has fewer.

DOC_MARKS = 3  # Most lines of a doc comment in addition to its text: its first line, and opening and closing marks


class PlacedHunk(NamedTuple):
    """Changed lines (from 1) of the indexed text, and the side of the diff that this text is."""

    lines: tuple[int, ...]
    state: str


class IndexedLines:
    """The lines of a document, with the positions (from 0) of each line's text."""

    def __init__(self, text: Sequence[str]) -> None:
        self.text = text
        self.places = group_pairs((line, number) for number, line in enumerate(text))


def place_hunk(hunk: Hunk, document: IndexedLines, encoding: str) -> PlacedHunk:
    """Place a hunk: the new side, then the old side, as written; then both moved; else by its numbers alone."""
    lines = [(mark, line.decode(encoding, "replace")) for mark, line in hunk.lines]
    new = [line for mark, line in lines if mark != "-"]
    old = [line for mark, line in lines if mark != "+"]
    for moved in (False, True):
        for side, start, state, mark in ((new, hunk.new_start, NEW, "+"), (old, hunk.old_start, OLD, "-")):
            at = _find_lines(side, document, max(start - 1, 0), moved) if side else None
            if at is not None:
                return PlacedHunk(_list_changed_lines(lines, at, mark), state)
    if not new:  # the removed lines are nowhere, so the index holds the new side
        return PlacedHunk((max(hunk.new_start, 1),), NEW)
    if not old and hunk.old_start:
        return PlacedHunk((hunk.old_start,), OLD)
    return PlacedHunk(_list_changed_lines(lines, max(hunk.new_start - 1, 0), "+"), OTHER)


def _find_lines(side: Sequence[str], document: IndexedLines, expected: int, moved: bool) -> int | None:
    """Find these lines at the position `expected`, or if `moved` at the nearest to it, by their rarest line; None if absent."""
    starts = [expected]
    if moved:
        rarest = min(range(len(side)), key=lambda n: len(document.places.get(side[n], ())))
        places = document.places.get(side[rarest], ())
        middle = bisect_left(places, expected + rarest)
        near = places[max(0, middle - MOST_TRIED // 2) : middle + MOST_TRIED // 2]
        starts = sorted((number - rarest for number in near), key=lambda start: (abs(start - expected), start))
    fits = (n for n in starts if n >= 0 and list(document.text[n : n + len(side)]) == list(side))
    return next(fits, None)


def _list_changed_lines(lines: Sequence[tuple[str, str]], at: int, side: str) -> tuple[int, ...]:
    """Number the lines (from 1) that only this side (+ or -) has; for a gap on this side, the line above the gap."""
    numbers: list[int] = []
    above = at  # Number of the line above, from 1
    for is_changed, run in groupby(lines, key=lambda line: line[0] != " "):
        marks = [mark for mark, _ in run]
        if not is_changed:
            above += len(marks)
        elif count := marks.count(side):
            numbers += range(above + 1, above + count + 1)
            above += count
        else:
            numbers.append(max(above, 1))
    return tuple(numbers)


def find_holders(units: Sequence[UnitRow], lines: int) -> list[UnitId | None]:
    """Find the innermost unit around each line, except local ones. A doc comment above a symbol belongs to the symbol."""
    holders: list[UnitId | None] = [None] * lines
    visible = [u for u in units if not u.local]
    for unit in sorted(visible, key=lambda u: (u.span.start, -u.span.end)):
        last = min(unit.end_line, lines)
        holders[unit.start_line - 1 : last] = [unit.id] * max(0, last - unit.start_line + 1)
    for unit in sorted(visible, key=lambda u: u.start_line):
        above = unit.doc.count("\n") + DOC_MARKS if unit.doc else 0
        for line in range(unit.start_line - 2, max(unit.start_line - 2 - above, -1), -1):
            if holders[line] is not None:
                break
            holders[line] = unit.id
    return holders


def read_change(change: Change, store: Store) -> bytes:
    """Read the given diff, the staged one, or the diff between the revisions. Raises UsageError outside of git."""
    if change.diff is not None:
        return change.diff
    roots = [Path(change.cwd), *(r.root for r in store.documents.list_repositories())]
    repository = next((found for root in roots if (found := find_enclosing_repository(root)) is not None), None)
    if repository is None:
        raise UsageError("no git repository here", "give the diff itself with --diff FILE, or `git diff | … --diff -`")
    return diff_staged(repository) if change.staged else diff_range(repository, change.revisions)


MOST_NAMED = 5  # Most files that a notice names; it counts the others
_NOTICES = {
    "binary": "binary, so no symbol of it changes: {}",
    "deleted": "deleted, and not in the index any more: {}",
    "not-indexed": "changed, and not in the index: {}; run `codelens index`, or see `codelens status --skipped`",
    "old-state": "the index holds the state before the change of {}; run `codelens index` for the one after it",
    "other-state": "the index holds another state of {} than the diff: some changed lines were placed by number",
}


def find_changed_units(change: Change, store: Store, texts: Texts) -> tuple[Collection[UnitId], tuple[Notice, ...]]:
    """Find the innermost units with changed lines, and notices about other files. Raises UsageError without a unified diff."""
    diff = read_change(change, store)
    files = read_diff(diff)
    if not files and diff.strip():
        raise UsageError("this is not a unified diff", "pass the output of `git diff`")
    units, files_of = dict[UnitId, None](), dict[str, list[str]]()
    find_documents = _make_document_finder(change, store)
    for file in files:
        # at its new path, else at its old one
        document = next((document for path in file.paths for document in find_documents(os.fsdecode(path))), None)
        if file.binary:
            codes = {"binary"}
        elif document is None:
            codes = {"deleted" if file.new is None else "not-indexed"}
        else:
            changed, states = _place_changes(file, document, store, texts)
            units |= dict.fromkeys(changed)
            codes = states & {OLD, OTHER}
        for code in sorted(codes):
            files_of.setdefault(code, []).append(escape_path(os.fsdecode(file.paths[0])))
    notices = []
    for code, names in sorted(files_of.items()):
        more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
        notices.append(Notice(code, _NOTICES[code].format(", ".join(names[:MOST_NAMED]) + more)))
    return units, tuple(notices)


def _make_document_finder(change: Change, store: Store) -> Callable[[str], Iterator[DocumentRow]]:
    """Make a function that finds the documents for a path below the top of a git repository, the working directory, or a root."""
    repositories = store.documents.list_repositories()
    folders = [Path(change.cwd), *(r.root for r in repositories)]
    tops = [found.top for folder in folders if (found := find_enclosing_repository(folder)) is not None]
    bases = [Path(os.path.realpath(path)) for path in dict.fromkeys([*tops, *folders])]
    roots = {r.id: os.path.realpath(r.root) for r in repositories}

    def find_documents(path: str) -> Iterator[DocumentRow]:
        for base in bases:
            whole = os.path.normpath(base / path)
            for repository, root in roots.items():
                if whole.startswith(root.rstrip(os.sep) + os.sep):
                    below = escape_path(os.path.relpath(whole, root).replace(os.sep, "/"))
                    yield from (d for d in store.documents.find_by_path(below) if d.repository == repository)

    return find_documents


def _place_changes(
    file: FileChange, document: DocumentRow, store: Store, texts: Texts
) -> tuple[list[UnitId], set[str]]:
    """Find the units of one file that change, and the states in which its hunks were found."""
    lines = texts.read_lines(document)
    indexed = IndexedLines(lines)
    hunks = [place_hunk(hunk, indexed, document.encoding) for hunk in file.hunks]
    holders = find_holders(store.units.list_in_document(document.id), len(lines))
    numbers = (line for hunk in hunks for line in hunk.lines if 0 < line <= len(lines))
    units = [holder for line in numbers if (holder := holders[line - 1]) is not None]
    return units, {hunk.state for hunk in hunks}
