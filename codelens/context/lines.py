"""Hunks and units → which lines of the indexed text are changed, and which unit holds each line."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from codelens.model import UnitId, UnitRow
from codelens.nouns import dataclass
from codelens.worktree.diffs import Hunk

NEW, OLD, OTHER = "new-state", "old-state", "other-state"
FURTHEST = 2_000
"""Lines up and down in which a hunk is looked for that is not where it says. Chosen, not measured."""

DOC_MARKS = 3
"""Lines that a doc comment takes beside its text: its first line, and marks that open and close it."""


@dataclass(frozen=True, slots=True)
class Placed:
    """Changed lines, from 1, of the indexed text, and which side of the change that text is."""

    lines: tuple[int, ...]
    state: str


def placed(hunk: Hunk, text: Sequence[str], encoding: str) -> Placed:
    """Where a hunk stands: as written on the new side, on the old one, else moved; else by its numbers alone."""
    lines = [(mark, line.decode(encoding, "replace")) for mark, line in hunk.lines]
    new = [line for mark, line in lines if mark != "-"]
    old = [line for mark, line in lines if mark != "+"]
    for reach in (0, FURTHEST):
        for side, start, state in ((new, hunk.new_start, NEW), (old, hunk.old_start, OLD)):
            at = _found(side, text, max(start - 1, 0), reach) if side else None
            if at is not None:
                return Placed(_changed(lines, at, "+" if state is NEW else "-"), state)
    if not new:  # what it removes is nowhere, so it is removed
        return Placed((max(hunk.new_start, 1),), NEW)
    if not old and hunk.old_start:
        return Placed((hunk.old_start,), OLD)
    return Placed(_changed(lines, max(hunk.new_start - 1, 0), "+"), OTHER)


def _found(side: Sequence[str], text: Sequence[str], expected: int, reach: int) -> int | None:
    """The place nearest to `expected`, from 0, at which these lines stand."""
    last = len(text) - len(side)
    for step in range(reach + 1):
        for at in (expected - step, expected + step):
            if 0 <= at <= last and text[at] == side[0] and list(text[at : at + len(side)]) == list(side):
                return at
    return None


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
