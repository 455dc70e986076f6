"""Finds the indexed units that a diff changes.

The index may hold the new side of the diff, the old side, or neither. So each hunk is searched by its text: the new side at
its line numbers, the old side, then both nearby. If neither is found, the line numbers decide, and a notice reports it.
"""

from __future__ import annotations

import os
from bisect import bisect_left
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path

from codelens.errors import UsageError
from codelens.model.code import UnitId, UnitRow
from codelens.model.context import Change
from codelens.model.fast_dataclass import dataclass
from codelens.model.search import Notice
from codelens.store.documents import DocumentRow
from codelens.store.store import Store
from codelens.store.texts import Texts
from codelens.worktree.commits import diff_between, repository_of, staged_diff
from codelens.worktree.diffs import FileChange, Hunk, read_diff
from codelens.worktree.files import shown_path

NEW, OLD, OTHER = "new-state", "old-state", "other-state"
MOST_TRIED = 200  # Most positions tried for a hunk that moved, nearest first. The rarest line of a hunk has fewer.

DOC_MARKS = 3  # Lines of a doc comment in addition to its text: its first line, and marks that open and close it


@dataclass(frozen=True, slots=True)
class Placed:
    """Changed lines (from 1) of the indexed text, and the side of the diff that this text is."""

    lines: tuple[int, ...]
    state: str


@dataclass(frozen=True, slots=True)
class IndexedLines:
    """The lines of a document, and the positions (from 0) of each."""

    text: Sequence[str]
    places: Mapping[str, Sequence[int]]


def indexed_lines(text: Sequence[str]) -> IndexedLines:
    """Lookup tables for `placed`, made once per document."""
    places: dict[str, list[int]] = {}
    for number, line in enumerate(text):
        places.setdefault(line, []).append(number)
    return IndexedLines(text, places)


def placed(hunk: Hunk, document: IndexedLines, encoding: str) -> Placed:
    """Place a hunk: the new side, then the old side, as written; then both moved; else by its numbers alone."""
    lines = [(mark, line.decode(encoding, "replace")) for mark, line in hunk.lines]
    new = [line for mark, line in lines if mark != "-"]
    old = [line for mark, line in lines if mark != "+"]
    for moved in (False, True):
        for side, start, state in ((new, hunk.new_start, NEW), (old, hunk.old_start, OLD)):
            at = _found(side, document, max(start - 1, 0), moved) if side else None
            if at is not None:
                return Placed(_changed(lines, at, "+" if state is NEW else "-"), state)
    if not new:  # the removed lines are nowhere, so the index holds the new side
        return Placed((max(hunk.new_start, 1),), NEW)
    if not old and hunk.old_start:
        return Placed((hunk.old_start,), OLD)
    return Placed(_changed(lines, max(hunk.new_start - 1, 0), "+"), OTHER)


def _found(side: Sequence[str], document: IndexedLines, expected: int, moved: bool) -> int | None:
    """The position of these lines: `expected`, or if `moved` the nearest to it, found by their rarest line."""
    starts = [expected]
    if moved:
        rarest = min(range(len(side)), key=lambda n: len(document.places.get(side[n], ())))
        there = document.places.get(side[rarest], ())
        middle = bisect_left(there, expected + rarest)
        near = there[max(0, middle - MOST_TRIED // 2) : middle + MOST_TRIED // 2]
        starts = sorted((number - rarest for number in near), key=lambda start: (abs(start - expected), start))
    fits = (n for n in starts if n >= 0 and list(document.text[n : n + len(side)]) == list(side))
    return next(fits, None)


def _changed(lines: Sequence[tuple[str, str]], at: int, own: str) -> tuple[int, ...]:
    """Numbers of the lines that only this side has; if it has none, of the line above the gap."""
    found: list[int] = []
    number = at  # of the line above, from 1
    for changed, run in groupby(lines, key=lambda line: line[0] != " "):
        marks = [mark for mark, _ in run]
        mine = marks.count(own) if changed else 0
        found += range(number + 1, number + mine + 1) if mine else [max(number, 1)] if changed else []
        number += mine if changed else len(marks)
    return tuple(found)


def owners(units: Sequence[UnitRow], lines: int) -> list[UnitId | None]:
    """The innermost unit of each line that is not local to a function. A doc comment above a symbol belongs to it."""
    held: list[UnitId | None] = [None] * lines
    visible = [u for u in units if not u.local]
    for unit in sorted(visible, key=lambda u: (u.span.start, -u.span.end)):
        last = min(unit.end_line, lines)
        held[unit.start_line - 1 : last] = [unit.id] * max(0, last - unit.start_line + 1)
    for unit in sorted(visible, key=lambda u: u.start_line):
        above = unit.doc.count("\n") + DOC_MARKS if unit.doc else 0
        for line in range(unit.start_line - 2, max(unit.start_line - 2 - above, -1), -1):
            if held[line] is not None:
                break
            held[line] = unit.id
    return held


NAMED = 5  # Most files that a notice names; it counts the others


@dataclass(frozen=True, slots=True)
class Touched:
    """The innermost units with changed lines, and notices about files that could not be placed."""

    units: Collection[UnitId]
    notices: tuple[Notice, ...]


def diff_of(change: Change, store: Store) -> bytes:
    """The given diff, else the staged one, else the diff between the revisions. Raises UsageError outside of git."""
    if change.diff is not None:
        return change.diff
    roots = [Path(change.cwd), *(r.root for r in store.documents.repositories())]
    repository = next((found for root in roots if (found := repository_of(root)) is not None), None)
    if repository is None:
        raise UsageError("no git repository here", "give the diff itself with --diff FILE, or `git diff | … --diff -`")
    return staged_diff(repository) if change.staged else diff_between(repository, change.revisions)


def touched_by(change: Change, store: Store, texts: Texts) -> Touched:
    """The units that a change touches, file by file. Raises UsageError if it is not a diff."""
    diff = diff_of(change, store)
    files = read_diff(diff)
    if not files and diff.strip():
        raise UsageError("this is not a unified diff", "pass the output of `git diff`")
    units: dict[UnitId, None] = {}
    files_of: dict[str, list[str]] = {}
    bases = _bases(change, store)
    for file in files:
        name = shown_path(os.fsdecode(file.paths[0]))
        document = _document(file, bases, store)
        if file.binary:
            files_of.setdefault("binary", []).append(name)
        elif document is None:
            files_of.setdefault("deleted" if file.new is None else "not-indexed", []).append(name)
        else:
            states = _mark(file, document, store, texts, units)
            for code in sorted(states & {"old-state", "other-state"}):
                files_of.setdefault(code, []).append(name)
    return Touched(units, tuple(_notice(code, names) for code, names in sorted(files_of.items())))


def _mark(file: FileChange, document: DocumentRow, store: Store, texts: Texts, units: dict[UnitId, None]) -> set[str]:
    """Add the units of one file to `units`; returns the states in which its hunks were found."""
    lines = texts.lines(document)
    known = indexed_lines(lines)
    found = [placed(hunk, known, document.encoding) for hunk in file.hunks]
    rows: Sequence[UnitRow] = store.units.of_document(document.id)
    holders = owners(rows, len(lines))
    for hunk in found:
        for line in hunk.lines:
            holder = holders[line - 1] if 0 < line <= len(lines) else None
            if holder is not None:
                units.setdefault(holder)
    return {hunk.state for hunk in found}


def _bases(change: Change, store: Store) -> list[Path]:
    """Folders to which the paths of a diff may be relative: tops of git repositories, the working directory, indexed roots."""
    roots = [r.root for r in store.documents.repositories()]
    tops = [found.top for folder in (Path(change.cwd), *roots) if (found := repository_of(folder)) is not None]
    return [Path(os.path.realpath(path)) for path in dict.fromkeys([*tops, Path(change.cwd), *roots])]


def _document(file: FileChange, bases: Sequence[Path], store: Store) -> DocumentRow | None:
    """The indexed document of a changed file: at its new path, else at its old one."""
    for path in file.paths:
        for document in _at(os.fsdecode(path), bases, store):
            return document
    return None


def _at(path: str, bases: Sequence[Path], store: Store) -> Iterator[DocumentRow]:
    roots = {r.id: os.path.realpath(r.root) for r in store.documents.repositories()}
    for base in bases:
        whole = os.path.normpath(base / path)
        for repository, root in roots.items():
            if whole.startswith(root.rstrip(os.sep) + os.sep):
                below = shown_path(os.path.relpath(whole, root).replace(os.sep, "/"))
                yield from (d for d in store.documents.by_path(below) if d.repository == repository)


_SAID = {
    "binary": "binary, so no symbol of it changes: {}",
    "deleted": "deleted, and not in the index any more: {}",
    "not-indexed": "changed, and not in the index: {}; run `codelens index`, or see `codelens status --skipped`",
    "old-state": "the index holds the state before the change of {}; run `codelens index` for the one after it",
    "other-state": "the index holds another state of {} than the diff: some changed lines were placed by number",
}


def _notice(code: str, names: Sequence[str]) -> Notice:
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return Notice(code, _SAID[code].format(", ".join(names[:NAMED]) + more))
