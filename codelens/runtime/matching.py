"""The code that a span names → the one symbol of the index that it is; nothing where several fit as well.

Paths are those of the machine where the code ran, so the longest end that an indexed path shares decides among files; a wrong
symbol would be worse than none.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from codelens.model import CHUNK_KINDS, DocumentId, UnitRow
from codelens.remembered import Place, place_of
from codelens.store.store import Store
from codelens.text.identifiers import fold_identifier
from codelens.traced import Ran

SAME_NAME = 500
"""Units of one name among which the one meant is looked for, where no file is named. Chosen, as targets.py does."""
PACKAGES = ("site-packages", "dist-packages", "node_modules", "gems", "vendor", "registry", "mod")
"""Folders of installed packages: what lies below is not the repository's. `mod` is Go's pkg/mod, `registry` Cargo's."""
LEAST_SHARED = 2
"""Last parts of a path that a file shares at least, where it is not all of its own path: a bare name says too little. Chosen."""
_BETWEEN = re.compile(r"<locals>|\W+")
_CLOSURE = re.compile(r"func\d+|\d+")
"""What Go appends to the name of the function that holds a closure: Total.func1.2."""


class Matching:
    """Finds symbols of one index; what was asked before is answered from memory."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._known: dict[tuple[str, str, str, int | None], Place | None] = {}
        self._by_name: dict[str, list[tuple[tuple[str, ...], DocumentId]]] = {}
        for document in store.documents.rows():
            parts = _components(document.path)
            self._by_name.setdefault(parts[-1], []).append((parts, document.id))

    def find(self, ran: Ran) -> Place | None:
        """The symbol, by what it is called; None where nothing fits, or several do."""
        key = (ran.name, ran.namespace, ran.path, ran.line)
        if key not in self._known:
            unit = self._unit(ran)
            self._known[key] = place_of(unit) if unit else None
        return self._known[key]

    def _unit(self, ran: Ran) -> UnitRow | None:
        parts = _named(ran)
        if not parts:
            return None
        if not ran.path:
            return self._anywhere(parts)
        units = [unit for document in self._documents(ran.path) for unit in self._store.units.of_document(document)]
        return _in_file(
            [unit for unit in units if unit.name == parts[-1] and unit.kind not in CHUNK_KINDS], parts, ran.line
        )

    def _documents(self, path: str) -> list[DocumentId]:
        """Those that share most of the path's end; none for what is installed."""
        parts = _components(path.replace("\\", "/"))
        candidates = self._by_name.get(parts[-1], ()) if parts else ()
        shared = [(_shared(parts, other), len(other), document) for other, document in candidates]
        if not shared:
            return []
        most = max(count for count, _, _ in shared)
        if set(PACKAGES) & set(parts[: len(parts) - most]):
            return []
        found = [(size, document) for count, size, document in shared if count == most]
        whole = [document for size, document in found if size == most]
        return whole or [document for _, document in found if most >= LEAST_SHARED]

    def _anywhere(self, parts: Sequence[str]) -> UnitRow | None:
        """By names alone: all that the symbol lies in must be named, or else the end of its file's path."""
        rows = self._store.units.rows(self._store.units.named(fold_identifier(parts[-1]), False, SAME_NAME)).values()
        fitting: dict[tuple[int, int], list[UnitRow]] = {}
        for unit in rows:
            holders = tuple(filter(None, unit.container.split(".")))
            if unit.name != parts[-1] or unit.kind in CHUNK_KINDS or not _ends(parts[:-1], holders):
                continue
            rest = parts[: len(parts) - 1 - len(holders)]
            file = _components(unit.path.rpartition(".")[0] or unit.path)
            where = max(_shared(rest, file), _shared(rest, file[:-1]))
            if holders or where:
                fitting.setdefault((len(holders) + where, where), []).append(unit)
        best = fitting[max(fitting)] if fitting else []
        return best[0] if len(best) == 1 else None


def _named(ran: Ran) -> tuple[str, ...]:
    """Namespace and name in parts, as any language separates them: a.b, a::b, a#b, a/b.(*T).m; without Go's closures."""
    name = ran.name if not ran.namespace or ran.name.startswith(ran.namespace) else f"{ran.namespace}.{ran.name}"
    parts = [part for part in _BETWEEN.split(name) if part]
    while len(parts) > 1 and _CLOSURE.fullmatch(parts[-1]):
        parts.pop()
    return tuple(parts)


def _in_file(named: Sequence[UnitRow], parts: Sequence[str], line: int | None) -> UnitRow | None:
    if len(named) > 1 and line is not None:
        around = [unit for unit in named if unit.start_line <= line <= unit.end_line]
        named = [max(around, key=lambda unit: (unit.start_line, -unit.end_line))] if around else named
    if len(named) > 1 and len(parts) > 1:
        holders = {unit.id: tuple(filter(None, unit.container.split("."))) for unit in named}
        fitting = [unit for unit in named if holders[unit.id] and _ends(parts[:-1], holders[unit.id])]
        most = max((len(holders[unit.id]) for unit in fitting), default=0)
        named = [unit for unit in fitting if len(holders[unit.id]) == most] or [u for u in named if not u.container]
    return named[0] if len(named) == 1 else None


def _ends(parts: Sequence[str], end: Sequence[str]) -> bool:
    return not end or tuple(parts[-len(end) :]) == tuple(end)


def _components(path: str) -> tuple[str, ...]:
    return tuple(part for part in path.split("/") if part not in ("", "."))


def _shared(left: Sequence[str], right: Sequence[str]) -> int:
    """How many last parts two paths share."""
    count = 0
    while count < min(len(left), len(right)) and left[-1 - count] == right[-1 - count]:
        count += 1
    return count
