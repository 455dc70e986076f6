"""The facts of an index and the units of its documents → which unit each reference means.

A definition belongs to the unit whose name stands where it stands: an index names a place, codelens a unit, and the name is
the one thing both point at. Symbols that define no unit (locals, parameters, whole files, other packages) resolve nothing.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple, Protocol

from codelens.model import CHUNK_KINDS, Span
from codelens.nouns import dataclass
from codelens.precise.facts import Occurrence, PreciseDocument, Range

_MOST_TARGETS = 8
"""A symbol with more definitions is open to be added to, as a namespace is: that a file uses it says little. Chosen, not
measured."""


class NamedUnit(Protocol):
    """What is asked of a unit: a stored one (UnitRow) has it, and one just extracted."""

    @property
    def kind(self) -> str:
        """One of SYMBOL_KINDS or CHUNK_KINDS."""
        ...

    @property
    def name(self) -> str:
        """Empty for a unit without one."""
        ...

    @property
    def name_span(self) -> Span:
        """Only its length counts here."""
        ...

    @property
    def name_line(self) -> int:
        """From 1."""
        ...

    @property
    def name_column(self) -> int:
        """From 1, in UTF-8 bytes of the decoded line."""
        ...


class Target(NamedTuple):
    """A unit by its document's path and its position in that document's list of units."""

    path: str
    unit: int


class ResolvedReference(NamedTuple):
    """The unit that the name at a place means. The line and the column are from 1, the column in UTF-8 bytes."""

    path: str
    line: int
    column: int
    target: Target


class ResolvedRelationship(NamedTuple):
    """What one unit is to another: implementation, reference, type_definition or definition."""

    source: Target
    target: Target
    kind: str


@dataclass(frozen=True, slots=True)
class Matches:
    """What an index says of a tree's units."""

    references: Iterable[ResolvedReference]
    """In the order of the documents and their occurrences; made while they are read, once."""
    relationships: tuple[ResolvedRelationship, ...]
    units: int
    """That have a name, in the documents of the index."""
    defined: int
    """Those of them that the index knows."""


def match(documents: Iterable[PreciseDocument], units_of: Callable[[str], Sequence[NamedUnit] | None]) -> Matches:
    """`documents` have columns in UTF-8 bytes (`in_utf8`); `units_of` gives a path's units, None for a file not indexed."""
    uses = _Uses()
    targets: dict[str, list[Target]] = {}
    related: list[tuple[str, str, str]] = []
    named = defined = 0
    for document in documents:
        units = units_of(document.path)
        if units is None:
            continue
        places = _Places(units)
        uses.begin(document.path)
        known: set[int] = set()
        for found in document.occurrences:
            if not found.is_definition:
                uses.add(found)
            elif (unit := places.unit_at(found.range)) is not None:
                known.add(unit)
                target = Target(document.path, unit)
                if target not in targets.setdefault(found.symbol, []):
                    targets[found.symbol].append(target)
        related += document.relationships
        named += places.named
        defined += len(known)
    for symbol, other, kind in related:
        if kind == "definition" and symbol not in targets and other in targets:
            targets[symbol] = targets[other]
    few = {symbol: meant for symbol, meant in targets.items() if len(meant) <= _MOST_TARGETS}
    relationships = [
        ResolvedRelationship(source, target, kind)
        for symbol, other, kind in related
        for source in few.get(symbol, ())
        for target in few.get(other, ())
        if source != target
    ]
    return Matches(uses.resolved(few), tuple(dict.fromkeys(relationships)), named, defined)


class _Places:
    """Where the names of one document's units stand."""

    def __init__(self, units: Sequence[NamedUnit]) -> None:
        self._starts: dict[tuple[int, int], int] = {}
        self._lines: dict[int, list[tuple[int, int, int]]] = {}
        for position, unit in enumerate(units):
            if unit.name and unit.kind not in CHUNK_KINDS:
                length = unit.name_span.end - unit.name_span.start
                self._starts.setdefault((unit.name_line, unit.name_column), position)
                of_line = self._lines.setdefault(unit.name_line, [])
                of_line.append((unit.name_column, unit.name_column + length, position))
        self.named = sum(map(len, self._lines.values()))

    def unit_at(self, place: Range) -> int | None:
        """The unit whose name begins here, else the first whose name overlaps: 'Shape::area' against 'area'."""
        if place[:2] == place[2:]:
            return None  # a whole file
        found = self._starts.get((place.start_line, place.start_column))
        if found is None and place.start_line == place.end_line:
            for start, end, position in self._lines.get(place.start_line, ()):
                if start < place.end_column and place.start_column < end:
                    return position
        return found


class _Uses:
    """The references seen so far, 12 bytes each: what a symbol means is known only when all documents were seen."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._documents: list[tuple[str, int]] = []
        """(path, how many references came before it)."""
        self._lines, self._columns, self._symbols = array("i"), array("i"), array("i")

    def begin(self, path: str) -> None:
        """What is added from now on stands in this document."""
        self._documents.append((path, len(self._lines)))

    def add(self, found: Occurrence) -> None:
        """A reference in the document that was begun last."""
        self._lines.append(found.range.start_line)
        self._columns.append(found.range.start_column)
        self._symbols.append(self._numbers.setdefault(found.symbol, len(self._numbers)))

    def resolved(self, targets: dict[str, list[Target]]) -> Iterator[ResolvedReference]:
        """All references whose symbol is one of these."""
        meant: list[Sequence[Target]] = [targets.get(symbol, ()) for symbol in self._numbers]
        ends = [*(first for _, first in self._documents), len(self._lines)][1:]
        for (path, first), end in zip(self._documents, ends, strict=True):
            for i in range(first, end):
                for target in meant[self._symbols[i]]:
                    yield ResolvedReference(path, self._lines[i], self._columns[i], target)
