"""Nodes in files of tests → the functions and classes that a test runner would start.

Told from names and marks that runners go by; a helper or a fixture is none, and what it calls is reached by its callers.
"""

from __future__ import annotations

import re

from codelens.model import CHUNK_KINDS, TYPE_KINDS, DocumentId, UnitRow
from codelens.navigate.view import GraphView
from codelens.relations import Node, is_unit
from codelens.store.documents import DocumentRow

_NAME = re.compile(r"(?i:test)|(?:Benchmark|Example|Fuzz)(?![a-z])|.*Tests?$")
"""pytest and unittest, Go, JUnit 3, XCTest; and classes of tests."""
_MARK = re.compile(r"(?<![A-Za-z])test|Test|\b(?i:fact|theory|bench|benchmark|rstest|scenario)\b")
"""JUnit's and NUnit's @Test, xUnit's [Fact] and [Theory], Rust's #[test]; not @pytest.fixture."""
_FILE = re.compile(r"(?i:(?:^|[._-])(?:tests?|specs?)[._-])|(?:Tests?|Specs?)\.")
"""test_x.py, x_test.go, x.spec.ts, XTest.java; not conftest.py."""


class RunnableTests:
    """Reads each file's units at most once."""

    def __init__(self, view: GraphView) -> None:
        self._view = view
        self._holds: dict[DocumentId, bool] = {}
        self._marks: dict[Node, tuple[str, ...]] = {}

    def test_around(self, node: Node) -> Node | None:
        """The outermost function or the innermost class of tests that is or holds a node; None where none does."""
        found, place = None, node
        while is_unit(place):
            unit = self._view.unit(place)
            if unit is None:
                break
            if unit.kind not in CHUNK_KINDS and self.is_test(unit) and not (found and unit.kind in TYPE_KINDS):
                found = place
            place = Node(unit.parent or 0)
        return found

    def is_test(self, unit: UnitRow) -> bool:
        """Whether its name or a mark before it calls it a test."""
        if unit.kind not in (*TYPE_KINDS, "function", "method"):
            return False
        node = Node(unit.id)
        if node not in self._marks:
            self._marks[node] = self._view.store.units.decorators([node]).get(unit.id, ())
        return bool(_NAME.match(unit.name)) or any(_MARK.search(mark) for mark in self._marks[node])

    def stands_for_tests(self, document: DocumentRow) -> bool:
        """Whether a file is one to hand to a test runner: by its name, or because it holds tests."""
        if document.id not in self._holds:
            units = self._view.store.units.of_document(document.id)
            by_name = _FILE.search(document.path.rpartition("/")[2])
            self._holds[document.id] = bool(by_name) or any(self.is_test(u) for u in units if not u.local)
        return self._holds[document.id]
