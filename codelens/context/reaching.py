"""What a change touches → the tests that reach it, over the edges by which one thing makes another run.

Static edges miss what is decided when a program runs, so the answer is generous: it goes deeper than `impact`, and where
only a file of tests can be told that reaches the change, the file stands for all of its tests.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from codelens.context.changed import touched_by
from codelens.context.fixtures import Fixtures
from codelens.context.testlike import RunnableTests
from codelens.model import CHUNK_KINDS, Notice
from codelens.navigate.calls import calling
from codelens.navigate.rings import Link, Reached, Ring, reach
from codelens.navigate.start import resolve_start, with_insides
from codelens.navigate.view import GraphView
from codelens.packed import Change
from codelens.related import Reaching, ReachingTests
from codelens.relations import Node, document_node, is_unit
from codelens.texts import Texts

KINDS = ("calls", "tests", "references", "extends", "implements", "inherits", "overrides", "decorates", "throws")
"""What makes one thing run, take over, replace or hand on another; and `imports` of a file, which runs what stands in it."""
DEPTH = 6
"""Hops. Chosen: docs/past.md says what fewer and more find."""


def tests_reaching(view: GraphView, asked: Change | Sequence[str], depth: int | None = None) -> ReachingTests:
    """The tests for a change, or for targets as `impact` takes them.

    Raises TargetError for a target that is nothing or several things, UsageError for a change that cannot be read.
    """
    nodes, notices = _of_change(view, asked) if isinstance(asked, Change) else (_of_targets(view, asked), ())
    begun = with_insides(tuple(nodes), view, types_too=True)
    reached = reach(view, begun, _ring(view, frozenset(begun)), DEPTH if depth is None else depth)
    touched = tuple(view.named(node) for node in sorted(nodes, key=view.order))
    return ReachingTests(touched, _tests(view, reached), (*notices, *view.notices(())), view.info)


def _of_change(view: GraphView, change: Change) -> tuple[list[Node], tuple[Notice, ...]]:
    """What stands outside of all symbols is the file's own: it runs where the file is imported."""
    touched = touched_by(change, view.store, Texts(view.store))
    found = dict.fromkeys(Node(unit) for unit in touched.units)
    for row in view.store.units.rows(touched.units).values():
        if row.kind in CHUNK_KINDS:
            found.setdefault(document_node(row.document))
    return list(found), touched.notices


def _of_targets(view: GraphView, targets: Sequence[str]) -> list[Node]:
    return list(dict.fromkeys(node for target in targets for node in resolve_start(target, view).nodes))


def _ring(view: GraphView, begun: Collection[Node]) -> Ring:
    """By all KINDS, to those who import a file that is itself asked about, and to the tests that a fixture serves."""
    by_kind, importing, fixtures = calling(view, KINDS), calling(view, ("imports",)), Fixtures(view)

    def ring(nodes: Sequence[Node]) -> Mapping[Node, Sequence[Link]]:
        found = dict(by_kind(nodes))
        files = [n for n in nodes if n < 0 and n in begun]
        for node, links in importing(files).items() if files else ():
            found[node] = [*found.get(node, ()), *links]
        for node in nodes:
            if served := fixtures.takers(node):
                found[node] = [*found.get(node, ()), *served]
        return found

    return ring


def _tests(view: GraphView, reached: Reached) -> tuple[Reaching, ...]:
    """Each test once, as near as it was found. A file stands aside where a test in it was found."""
    files = RunnableTests(view)
    functions: dict[Node, Node] = {}
    whole: dict[Node, Node] = {}
    for node in sorted(reached.depth, key=lambda n: (reached.depth[n], view.order(n))):
        document = view.document_of(node) if view.is_test(node) else None
        if document is None or not view.tells_of(document.id):
            continue
        if (test := files.test_around(node)) is not None:
            functions.setdefault(test, node)
        elif files.stands_for_tests(document):
            whole.setdefault(document_node(document.id), node)
    inside = {document_node(unit.document) for test in functions if (unit := view.unit(test)) is not None}
    found = functions | {file: by for file, by in whole.items() if file not in inside or _runs_itself(reached, file)}
    tests = [Reaching(view.named(t), reached.depth[by], _through(view, reached, by, t)) for t, by in found.items()]
    return tuple(sorted(tests, key=lambda r: (r.depth, r.test.content_order())))


def _runs_itself(reached: Reached, file: Node) -> bool:
    """Whether what stands in the file outside of all functions reaches the change, more than by importing it."""
    return file in reached.first and reached.first[file][1].edge.kind != "imports"


def _through(view: GraphView, reached: Reached, node: Node, test: Node) -> tuple[str, ...]:
    """The names between what was asked about and the test."""
    before = [reached.first[link.node][0] for link in reached.way(node)][1:]
    inner = [] if node == test or not is_unit(node) else [node]
    return tuple(view.named(n).qualified_name for n in [*before, *inner])
