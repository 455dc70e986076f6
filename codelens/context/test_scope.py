"""Finds the tests that reach a change, over the edges by which one thing makes another run.

Static edges miss calls that are decided at run time, so the answer is generous: it goes deeper than `impact`, and if only
the test file that reaches the change is known, the file stands for all its tests.

Test functions and classes are recognised by names and marks that test runners use; a helper or a fixture is not a test. A
fixture is called by the runner, so no edge leads to it: it reaches the tests that have it as a parameter, in its own file,
or below its folder if it is in the language's fixture file (pytest's conftest.py).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cached_property

from codelens.context.changes import find_changed_units
from codelens.graph.reach import Link, Reach, find_reachable, make_caller_reader, resolve_and_read
from codelens.graph.unresolved import UnresolvedUses
from codelens.graph.view import GraphView, add_contents
from codelens.lang.registry import languages
from codelens.model.code import CHUNK_KINDS, TYPE_KINDS, DocumentId, UnitRow
from codelens.model.context import Change
from codelens.model.graph import (
    TIERS,
    Edge,
    NamedNode,
    Node,
    ReachingTest,
    ReachingTests,
    RelationAnswer,
    RelationOptions,
    is_unit,
    make_document_node,
)
from codelens.model.search import Notice
from codelens.store.documents import DocumentRow
from codelens.store.texts import Texts

_TEST_NAME = re.compile(r"(?i:test)|(?:Benchmark|Example|Fuzz)(?![a-z])|.*Tests?$")
"""Names of tests in pytest and unittest, Go, JUnit 3 and XCTest, and of classes of tests."""
_TEST_MARK = re.compile(r"(?<![A-Za-z])test|Test|\b(?i:fact|theory|bench|benchmark|rstest|scenario)\b")
"""Marks of tests: JUnit's and NUnit's @Test, xUnit's [Fact] and [Theory], Rust's #[test]; not @pytest.fixture."""
_TEST_FILE = re.compile(r"(?i:(?:^|[._-])(?:tests?|specs?)[._-])|(?:Tests?|Specs?)\.")
"""Names of test files: test_x.py, x_test.go, x.spec.ts, XTest.java; not conftest.py."""


class RunnableTests:
    """Recognises tests. The units of each file are read at most once."""

    def __init__(self, view: GraphView) -> None:
        self._view = view
        self._is_test_file: dict[DocumentId, bool] = {}
        self._marks: dict[Node, tuple[str, ...]] = {}

    def find_test_around(self, node: Node) -> Node | None:
        """Find the test that is or contains a node: the outermost test function, or else the innermost test class; or None."""
        test, place = None, node
        while is_unit(place) and (unit := self._view.find_unit(place)) is not None:
            if unit.kind not in CHUNK_KINDS and self.is_test(unit) and not (test and unit.kind in TYPE_KINDS):
                test = place
            place = Node(unit.parent or 0)
        return test

    def is_test(self, unit: UnitRow) -> bool:
        """Decide if a unit is a test, by its name or a mark before it."""
        if unit.kind not in (*TYPE_KINDS, "function", "method"):
            return False
        node = Node(unit.id)
        if node not in self._marks:
            self._marks[node] = self._view.store.units.read_decorators([node]).get(unit.id, ())
        return bool(_TEST_NAME.match(unit.name)) or any(_TEST_MARK.search(mark) for mark in self._marks[node])

    def is_test_file(self, document: DocumentRow) -> bool:
        """Decide if a test runner would run a file, by its name or because it contains tests."""
        if document.id not in self._is_test_file:
            units = self._view.store.units.list_in_document(document.id)
            by_name = _TEST_FILE.search(document.path.rpartition("/")[2])
            self._is_test_file[document.id] = bool(by_name) or any(self.is_test(u) for u in units if not u.local)
        return self._is_test_file[document.id]


_MARK = re.compile(r"\bfixture\b")
_IMPLIED = TIERS["implied"]


class Fixtures:
    """Finds the tests that use a fixture. The signatures of each test file are read at most once."""

    def __init__(self, view: GraphView) -> None:
        self._view = view
        self._functions_of: dict[int, dict[str, list[Node]]] = {}  # File → parameter → the functions that have it

    @cached_property
    def _test_files(self) -> list[DocumentRow]:
        return [row for row in self._view.store.documents.read_rows() if "test" in row.roles]

    def find_takers(self, node: Node) -> list[Link]:
        """Find the tests and fixtures that have a fixture as parameter; empty if the node is not a fixture."""
        view, unit = self._view, self._view.find_unit(node)
        language = languages().get(unit.language) if unit is not None else None
        if unit is None or "test" not in unit.roles or language is None or not language.fixtures:
            return []
        if not any(_MARK.search(mark) for mark in view.store.units.read_decorators([node]).get(unit.id, ())):
            return []
        folder, _, file = unit.path.rpartition("/")
        home, takers = view.find_document(unit.document), list[Node]()
        for document in self._test_files:
            if home is None or (document.repository, document.language) != (home.repository, unit.language):
                continue
            is_below = not folder or document.path.startswith(f"{folder}/")
            if document.path == unit.path or (file == language.fixtures and is_below):
                takers += [n for n in self._group_by_parameter(document).get(unit.name, ()) if n != node]
        return [Link(Edge(n, "calls", node, 0, _IMPLIED.provenance, _IMPLIED.confidence), n) for n in takers]

    def _group_by_parameter(self, document: DocumentRow) -> dict[str, list[Node]]:
        """Map each parameter's name, the first word of a part in the outermost parentheses, to the file's functions with it."""
        if document.id in self._functions_of:
            return self._functions_of[document.id]
        functions = self._functions_of[document.id] = dict[str, list[Node]]()
        for unit in self._view.store.units.list_in_document(document.id):
            if unit.local or unit.kind not in ("function", "method"):
                continue
            depth, parts = 0, [""]
            for sign in unit.signature.partition("(")[2].rpartition(")")[0]:
                depth += (sign in "([{") - (sign in ")]}")
                if sign == "," and not depth:
                    parts.append("")
                else:
                    parts[-1] += sign
            for name in filter(None, (re.match(r"\s*(\w+)", part) for part in parts)):
                functions.setdefault(name[1], []).append(Node(unit.id))
        return functions


KINDS = ("calls", "tests", "references", "extends", "implements", "inherits", "overrides", "decorates", "throws")
"""Kinds of edges by which one symbol runs, replaces or passes on another. `imports` also counts, from a changed file."""
DEPTH = 6  # Default for the most hops from the change to a test


def find_tests_reaching(view: GraphView, targets: Change | Sequence[str], depth: int | None = None) -> ReachingTests:
    """Find the tests that reach a change, or targets as `impact` takes them.

    Raises TargetError for an unknown or ambiguous target, UsageError for a change that cannot be read.
    """
    touched, reached, notices = _find_reach(view, targets, depth)
    unresolved = UnresolvedUses(view, "test-scope", KINDS, RelationOptions())
    uses = unresolved.find_uses_of(reached.links)
    notices = (*notices, *view.list_notices(()), *unresolved.list_notices(uses))
    return ReachingTests(touched, _list_tests(view, reached), len(uses), notices, view.info)


def find_unresolved_calls(view: GraphView, targets: Change | Sequence[str], depth: int | None = None) -> RelationAnswer:
    """Find calls that linking could not resolve, by which more tests may reach the change. Raises as `find_tests_reaching`."""
    touched, reached, notices = _find_reach(view, targets, depth)
    unresolved = UnresolvedUses(view, "test-scope", KINDS, RelationOptions(unresolved=True))
    relations = tuple(unresolved.list_relations(unresolved.find_uses_of(reached.links)))
    return RelationAnswer("test-scope", touched, relations, len(relations), len(relations), notices, view.info)


def _find_reach(
    view: GraphView, targets: Change | Sequence[str], depth: int | None
) -> tuple[tuple[NamedNode, ...], Reach, tuple[Notice, ...]]:
    """Find what reaches the change or targets: (the changed or named code, the nodes that reach it, notices).

    Each step follows all KINDS, goes to importers of a changed file, and from a fixture to its tests.
    """
    notices: tuple[Notice, ...] = ()
    if isinstance(targets, Change):
        units, notices = find_changed_units(targets, view.store, Texts(view.store))
        nodes = dict.fromkeys(Node(unit) for unit in units)
        for row in view.store.units.read_rows(units).values():
            if row.kind in CHUNK_KINDS:  # outside of all symbols, it runs when the file is imported
                nodes.setdefault(make_document_node(row.document))
    else:
        nodes = dict.fromkeys(node for target in targets for node in resolve_and_read(target, view).nodes)
    starts = add_contents(tuple(nodes), view, types_too=True)
    read_callers, read_importers = make_caller_reader(view, KINDS), make_caller_reader(view, ("imports",))
    files, fixtures = {node for node in starts if node < 0}, Fixtures(view)

    def read_links(nodes: Sequence[Node]) -> Mapping[Node, Sequence[Link]]:
        changed_files = [n for n in nodes if n in files]
        links, importers = read_callers(nodes), read_importers(changed_files) if changed_files else {}
        return {n: [*links.get(n, ()), *importers.get(n, ()), *fixtures.find_takers(n)] for n in nodes}

    reached = find_reachable(view, starts, read_links, DEPTH if depth is None else depth)
    return tuple(view.name_node(node) for node in sorted(nodes, key=view.order_node)), reached, notices


def _list_tests(view: GraphView, reached: Reach) -> tuple[ReachingTest, ...]:
    """List each test once, at its smallest depth. A file is left out if a test in it was found, unless its own code, outside
    of functions, reaches the change by other edges than imports."""
    runnable = RunnableTests(view)
    functions: dict[Node, Node] = {}  # Test → the node by which it reaches the change
    files: dict[Node, Node] = {}
    for node in sorted(reached.depth, key=lambda n: (reached.depth[n], view.order_node(n))):
        document = view.find_document_of(node) if view.is_test(node) else None
        if document is None or not view.has_document(document.id):
            continue
        if (test := runnable.find_test_around(node)) is not None:
            functions.setdefault(test, node)
        elif runnable.is_test_file(document):
            files.setdefault(make_document_node(document.id), node)
    units = filter(None, map(view.find_unit, functions))
    with_functions = {make_document_node(unit.document) for unit in units}
    runs_itself = {file for file in files if file in reached.first and reached.first[file][1].edge.kind != "imports"}
    files = {file: by for file, by in files.items() if file not in with_functions or file in runs_itself}
    tests = []
    for test, by in (functions | files).items():
        through = [reached.first[link.node][0] for link in reached.trace_path(by)][1:]
        through += [] if by == test or not is_unit(by) else [by]
        names = tuple(view.name_node(node).qualified_name for node in through)
        tests.append(ReachingTest(view.name_node(test), reached.depth[by], names))
    return tuple(sorted(tests, key=lambda r: (r.depth, r.test.content_order())))
