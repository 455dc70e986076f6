"""Hunks and units → which lines of the indexed text are changed, and which unit holds each line."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from itertools import groupby

from codelens.model import UnitId, UnitRow
from codelens.nouns import dataclass
from codelens.worktree.diffs import Hunk

NEW, OLD, OTHER = "new-state", "old-state", "other-state"
MOST_TRIED = 200
"""Places at which a hunk is tried that is not where it says, the nearest ones. Chosen: its rarest line has fewer."""

DOC_MARKS = 3
"""Lines that a doc comment takes beside its text: its first line, and marks that open and close it."""


@dataclass(frozen=True, slots=True)
class Placed:
    """Changed lines, from 1, of the indexed text, and which side of the change that text is."""

    lines: tuple[int, ...]
    state: str


@dataclass(frozen=True, slots=True)
class IndexedLines:
    """The lines of a document, and where each of them stands, from 0."""

    text: Sequence[str]
    places: Mapping[str, Sequence[int]]


def indexed_lines(text: Sequence[str]) -> IndexedLines:
    """Look-ups for `placed`, made once for all hunks of a document."""
    places: dict[str, list[int]] = {}
    for number, line in enumerate(text):
        places.setdefault(line, []).append(number)
    return IndexedLines(text, places)


def placed(hunk: Hunk, document: IndexedLines, encoding: str) -> Placed:
    """Where a hunk stands: as written on the new side, on the old one, else moved; else by its numbers alone."""
    lines = [(mark, line.decode(encoding, "replace")) for mark, line in hunk.lines]
    new = [line for mark, line in lines if mark != "-"]
    old = [line for mark, line in lines if mark != "+"]
    for moved in (False, True):
        for side, start, state in ((new, hunk.new_start, NEW), (old, hunk.old_start, OLD)):
            at = _found(side, document, max(start - 1, 0), moved) if side else None
            if at is not None:
                return Placed(_changed(lines, at, "+" if state is NEW else "-"), state)
    if not new:  # what it removes is nowhere, so it is removed
        return Placed((max(hunk.new_start, 1),), NEW)
    if not old and hunk.old_start:
        return Placed((hunk.old_start,), OLD)
    return Placed(_changed(lines, max(hunk.new_start - 1, 0), "+"), OTHER)


def _found(side: Sequence[str], document: IndexedLines, expected: int, moved: bool) -> int | None:
    """The place at which these lines stand: `expected`, or where they have `moved` the nearest to it, by their rarest line."""
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
    """Numbers of the lines that only this side has; where it has none of them, of the line above the gap."""
    found: list[int] = []
    number = at  # of the line above, from 1
    for changed, run in groupby(lines, key=lambda line: line[0] != " "):
        marks = [mark for mark, _ in run]
        mine = marks.count(own) if changed else 0
        found += range(number + 1, number + mine + 1) if mine else [max(number, 1)] if changed else []
        number += mine if changed else len(marks)
    return tuple(found)


def owners(units: Sequence[UnitRow], lines: int) -> list[UnitId | None]:
    """For each line the innermost unit that is not local to a function. A doc comment above a symbol is the symbol's."""
    held: list[UnitId | None] = [None] * lines
    shown = [u for u in units if not u.local]
    for unit in sorted(shown, key=lambda u: (u.span.start, -u.span.end)):
        last = min(unit.end_line, lines)
        held[unit.start_line - 1 : last] = [unit.id] * max(0, last - unit.start_line + 1)
    for unit in sorted(shown, key=lambda u: u.start_line):
        above = unit.doc.count("\n") + DOC_MARKS if unit.doc else 0
        for line in range(unit.start_line - 2, max(unit.start_line - 2 - above, -1), -1):
            if held[line] is not None:
                break
            held[line] = unit.id
    return held
