"""Fixtures → the tests that take them as parameters: a call that a test runner makes, so that no edge tells of it.

A fixture serves the tests of its own file; one in the language's file of fixtures (pytest's conftest.py) those of its folder
and all below.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from codelens.lang.registry import languages
from codelens.model import UnitRow
from codelens.navigate.rings import Link
from codelens.navigate.view import GraphView
from codelens.relations import TIERS, Edge, Node
from codelens.store.documents import DocumentRow

_MARK = re.compile(r"\bfixture\b")
_IMPLIED = TIERS["implied"]


class Fixtures:
    """Reads the signatures of each file of tests at most once."""

    def __init__(self, view: GraphView) -> None:
        self._view = view
        self._taking: dict[int, dict[str, list[Node]]] = {}
        self._files: list[DocumentRow] | None = None

    def takers(self, node: Node) -> list[Link]:
        """The tests and fixtures that take this one; none where it is no fixture."""
        unit = self._view.unit(node)
        if unit is None or "test" not in unit.roles or not (shared := self._file_of_fixtures(unit.language)):
            return []
        if not any(_MARK.search(mark) for mark in self._view.store.units.decorators([node]).get(unit.id, ())):
            return []
        folder, _, file = unit.path.rpartition("/")
        found = []
        for document in self._tests(unit):
            below = not folder or document.path.startswith(f"{folder}/")
            if document.path == unit.path or (file == shared and below):
                found += [n for n in self._takers_in(document).get(unit.name, ()) if n != node]
        return [Link(Edge(n, "calls", node, 0, _IMPLIED.provenance, _IMPLIED.confidence), n) for n in found]

    def _file_of_fixtures(self, language: str) -> str:
        row = languages().get(language)
        return row.fixtures if row else ""

    def _tests(self, unit: UnitRow) -> Iterator[DocumentRow]:
        if self._files is None:
            self._files = [d for d in self._view.store.documents.rows() if "test" in d.roles]
        own = self._view.document(unit.document)
        yield from (d for d in self._files if own and d.repository == own.repository and d.language == unit.language)

    def _takers_in(self, document: DocumentRow) -> dict[str, list[Node]]:
        """Name of a parameter → the functions of a file that have it."""
        if document.id not in self._taking:
            taking: dict[str, list[Node]] = {}
            for unit in self._view.store.units.of_document(document.id):
                for name in _parameters(unit) if not unit.local else ():
                    taking.setdefault(name, []).append(Node(unit.id))
            self._taking[document.id] = taking
        return self._taking[document.id]


def _parameters(unit: UnitRow) -> Sequence[str]:
    """Names that stand first in the parts of the outermost parentheses of a signature."""
    if unit.kind not in ("function", "method"):
        return ()
    inside = unit.signature.partition("(")[2].rpartition(")")[0]
    depth, part, parts = 0, "", []
    for sign in inside:
        depth += (sign in "([{") - (sign in ")]}")
        if sign == "," and not depth:
            parts.append(part)
            part = ""
        else:
            part += sign
    names = [re.match(r"\s*(\w+)", p) for p in [*parts, part]]
    return [found[1] for found in names if found]
