"""Show the graph of one index to one question: nodes with names, and edges with enough confidence in the right files.

Some edges are stored; others are implied by units and stored edges (`contains`, `tested_by`, …). An implied edge has no line, and
at most the confidence of the edges that imply it. Nodes and edges are sorted by content, never by number, because numbers
depend on the history of an index.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence, Set
from itertools import product

from codelens.model.code import TYPE_KINDS, DocumentId, Freshness, IndexInfo, UnitId, UnitRow
from codelens.model.fast_dataclass import replace
from codelens.model.graph import (
    FILE,
    IMPLIED_KINDS,
    KINDS,
    OUTSIDE,
    RESOLVED,
    TIERS,
    Edge,
    NamedNode,
    Node,
    Relation,
    SourceLine,
    is_unit,
    make_document_node,
)
from codelens.model.search import Notice
from codelens.store.documents import DocumentRow
from codelens.store.store import Store
from codelens.store.texts import MAX_LINE, Texts
from codelens.text.counts import quantity
from codelens.text.lines import count_utf8_column, count_utf16_column
from codelens.worktree.files import check_freshness

NodeSets = dict[Node, set[Node]]
IMPLIED = TIERS["implied"]
MOST_SUBJECTS = 8  # Limit of subjects of a test; a test of more says little about any two of them
LEAST_SHARED = 3
LEAST_ALIKE = 0.5  # Least similarity: shared callees divided by all callees of either (Jaccard)
MOST_CALLERS = 50  # Limit of callers; callees with more are too common to show similarity


def read_outgoing(store: Store, nodes: Iterable[int], kinds: Collection[str] = ()) -> list[Edge]:
    """Read edges of these kinds that begin at these nodes. Without kinds, read the stored ones; implied kinds must be named."""
    wanted, stored = sorted(set(nodes)), [k for k in kinds if k in KINDS]
    # The store takes an empty list of kinds for all kinds.
    edges = list(store.edges.find_outgoing(wanted, stored)) if stored or not kinds else []
    edges += derive_contents(store, wanted) if "contains" in kinds else ()
    edges += derive_containers(store, wanted) if "member_of" in kinds else ()
    edges += _turn_around(store.edges.find_incoming(wanted, {"tests"}), "tested_by") if "tested_by" in kinds else ()
    return edges + [edge for kind, make in _BOTH_WAYS.items() if kind in kinds for edge in make(store, wanted)]


def read_incoming(store: Store, nodes: Iterable[int], kinds: Collection[str] = ()) -> list[Edge]:
    """Read edges of these kinds that end at these nodes. Without kinds, read the stored ones; implied kinds must be named."""
    wanted, stored = sorted(set(nodes)), [k for k in kinds if k in KINDS]
    edges = list(store.edges.find_incoming(wanted, stored)) if stored or not kinds else []
    if "contains" in kinds:  # from the unit around, the document of a top-level unit, the type of a stored member
        around = derive_containers(store, wanted)
        inner = {e.source for e in around}
        tops = store.units.read_rows(n for n in wanted if is_unit(n) and n not in inner)  # type: ignore[misc]
        edges += _turn_around(around, "contains")
        edges += [_make_implied(make_document_node(r.document), "contains", Node(u)) for u, r in sorted(tops.items())]
        edges += _turn_around(store.edges.find_outgoing(wanted, {"member_of"}), "contains")
    if "member_of" in kinds:
        edges += [_make_implied(Node(i), "member_of", Node(o)) for o, i in sorted(store.units.find_inner(wanted))]
    if "tested_by" in kinds:
        edges += _turn_around(store.edges.find_outgoing(wanted, {"tests"}), "tested_by")
    turned = [edge for kind, make in _BOTH_WAYS.items() if kind in kinds for edge in make(store, wanted)]
    return edges + [Edge(e.target, e.kind, e.source, 0, e.provenance, e.confidence) for e in turned]


def derive_contents(store: Store, nodes: Iterable[int]) -> list[Edge]:
    """Derive edges from documents to top-level units, from units to the units directly inside, and from types to stored members."""
    wanted = list(nodes)
    documents = [DocumentId(-n) for n in wanted if n < 0]
    tops = [_make_implied(make_document_node(d), "contains", Node(u)) for d, u in store.units.list_top_units(documents)]
    inside = [_make_implied(Node(o), "contains", Node(i)) for o, i in sorted(store.units.find_inner(wanted))]
    return tops + inside + _turn_around(store.edges.find_incoming(wanted, {"member_of"}), "contains")


def derive_containers(store: Store, nodes: Iterable[int]) -> list[Edge]:
    """Derive `member_of` edges from units to the units directly around them."""
    around = store.units.find_outer(n for n in nodes if is_unit(n))
    return [_make_implied(Node(inner), "member_of", Node(outer)) for inner, outer in sorted(around.items())]


def derive_co_tested(store: Store, nodes: Iterable[int]) -> list[Edge]:
    """Derive edges between these nodes and others that the same test function tests, if it tests at most MOST_SUBJECTS."""
    testing = _group_by_source(store.edges.find_incoming(list(nodes), {"tests"}))
    subjects = _group_by_source(store.edges.find_outgoing(testing, {"tests"}))
    sure: dict[tuple[Node, Node], float] = {}
    for test in (test for test in testing if len(subjects[test]) <= MOST_SUBJECTS):
        for (subject, first), (other, second) in product(testing[test].items(), subjects[test].items()):
            if subject != other:
                sure[subject, other] = max(sure.get((subject, other), 0.0), min(first, second))
    return [_make_implied(a, "co_tested_with", b, confidence) for (a, b), confidence in sorted(sure.items())]


def derive_similar(store: Store, nodes: Iterable[int]) -> list[Edge]:
    """Derive edges between functions that share at least LEAST_SHARED resolved callees, and LEAST_ALIKE of all callees of both."""
    callees_of = _find_callees(store, nodes)
    called = {c for callees in callees_of.values() for c in callees}
    popular = store.edges.count_sources(called, {"calls"})
    callers: NodeSets = {}
    for edge in store.edges.find_incoming([c for c in called if popular.get(c, 0) <= MOST_CALLERS], {"calls"}):
        if edge.confidence >= RESOLVED and is_unit(edge.source):
            callers.setdefault(edge.target, set()).add(edge.source)
    candidates: list[tuple[Node, Node]] = []
    for node, callees in sorted(callees_of.items()):
        if len(callees) >= LEAST_SHARED:
            counts = Counter(caller for callee in callees for caller in callers.get(callee, ()) if caller != node)
            candidates += [(node, caller) for caller, n in sorted(counts.items()) if n >= LEAST_SHARED]
    others = _find_callees(store, {other for _, other in candidates})

    def compute_similarity(node: Node, other: Node) -> float:
        return len(callees_of[node] & others[other]) / len(callees_of[node] | others[other])

    return [_make_implied(a, "similar_to", b) for a, b in candidates if compute_similarity(a, b) >= LEAST_ALIKE]


def _find_callees(store: Store, nodes: Iterable[int]) -> dict[Node, Set[Node]]:
    """Find the resolved callees of each node."""
    edges = store.edges.find_outgoing([n for n in nodes if is_unit(n)], {"calls"})
    return {n: row.keys() for n, row in _group_by_source(e for e in edges if e.confidence >= RESOLVED).items()}


def _group_by_source(edges: Iterable[Edge]) -> dict[Node, dict[Node, float]]:
    """Group edges by their source: source → target → confidence."""
    grouped: dict[Node, dict[Node, float]] = {}
    for edge in edges:
        grouped.setdefault(edge.source, {})[edge.target] = edge.confidence
    return grouped


_BOTH_WAYS = {"co_tested_with": derive_co_tested, "similar_to": derive_similar}


def _make_implied(source: Node, kind: str, target: Node, confidence: float = 1.0) -> Edge:
    assert kind in IMPLIED_KINDS
    return Edge(source, kind, target, 0, IMPLIED.provenance, min(IMPLIED.confidence, confidence))


def _turn_around(edges: Iterable[Edge], kind: str) -> list[Edge]:
    """Make implied edges of a kind in the other direction."""
    return [_make_implied(e.target, kind, e.source, e.confidence) for e in edges]


class GraphView:
    """A reader of the graph that reads each row at most once. Answers contain only `documents`; None means all."""

    def __init__(
        self, store: Store, info: IndexInfo, documents: Collection[DocumentId] | None = None, least: float = 0.0
    ) -> None:
        self.store, self.info, self.least = store, info, least
        self._allowed, self._texts = documents, Texts(store)
        self._named: dict[Node, NamedNode] = {}
        self._units: dict[Node, UnitRow] = {}
        self._documents: dict[DocumentId, DocumentRow] = {}
        self._fresh: dict[DocumentId, Freshness] = {}
        self._added: dict[Node, list[Edge]] = {}
        self._roots = {row.id: (row.name, row.root) for row in store.documents.list_repositories()}
        self.too_unsure = 0  # Number of edges left out because of their confidence
        self.unread = 0  # Number of files that contain the target's name and were not read

    # Nodes

    def name_node(self, node: Node) -> NamedNode:
        """Find the name and place of a node. For many nodes, call `read_nodes` first."""
        if node not in self._named:
            self.read_nodes([node])
        return self._named[node]

    def order_node(self, node: Node) -> tuple[bool, str, str, int, str, str]:
        """Sort key of nodes: by content."""
        return self.name_node(node).content_order()

    def read_nodes(self, nodes: Iterable[Node]) -> None:
        """Read the names of these nodes together. A missing node, as in a half-written graph, becomes an unnamed external."""
        new = sorted({n for n in nodes if n not in self._named})
        rows = self.store.units.read_rows([UnitId(n) for n in new if is_unit(n)])
        self._units.update({Node(unit): row for unit, row in rows.items()})
        for node in new:
            if (unit_row := self._units.get(node)) is not None:
                self._named[node] = self._name_unit(unit_row)
            elif node < 0 and (document := self.find_document(DocumentId(-node))) is not None:
                self._named[node] = self._name_document(document)
        names = self.store.edges.read_external_names(n for n in new if n not in self._named)
        for node in new:
            self._named.setdefault(node, make_external(names.get(node, "?")))

    def find_unit(self, node: Node) -> UnitRow | None:
        """Find the row of a node that is a unit; None for other nodes."""
        self.name_node(node)
        return self._units.get(node)

    def find_document(self, document: DocumentId) -> DocumentRow | None:
        """Find the row of a document; None if it no longer exists."""
        if document not in self._documents:
            self._documents.update({row.id: row for row in self.store.documents.read_rows([document])})
        return self._documents.get(document)

    def find_document_of(self, node: Node) -> DocumentRow | None:
        """Find the document that a node is or is in; None for an external."""
        unit = self.find_unit(node)
        if unit is not None:
            return self.find_document(unit.document)
        return self.find_document(DocumentId(-node)) if node < 0 else None

    def list_nodes_in(self, document: DocumentRow) -> Iterator[tuple[Node, NamedNode]]:
        """List a file and its contents, in order of place. They may be many, so they are read at each call and not kept."""
        self._documents.setdefault(document.id, document)
        yield make_document_node(document.id), self._name_document(document)
        for unit in self.store.units.list_in_document(document.id):
            yield Node(unit.id), self._name_unit(unit)

    def number_sources(self, document: DocumentId) -> dict[int | None, Node]:
        """Map the position of each unit in a document, as references have it, to its node; None stands for the document."""
        units = enumerate(self.store.units.list_piece_counts(document))
        return {None: make_document_node(document), **{position: Node(unit) for position, (unit, _) in units}}

    def is_test(self, node: Node) -> bool:
        """True if a node is in a test file."""
        return self.name_node(node).test

    def _name_unit(self, unit: UnitRow) -> NamedNode:
        document = self.find_document(unit.document)
        assert document is not None
        return replace(
            self._name_document(document),
            kind=unit.kind,
            name=unit.name,
            qualified_name=unit.qualified_name,
            line=unit.name_line or unit.start_line,
            column=unit.name_column or 1,
            start_byte=unit.start_byte,
            end_byte=unit.end_byte,
            signature=unit.signature,
        )

    def _name_document(self, document: DocumentRow) -> NamedNode:
        name, root = self._roots[document.repository]
        return NamedNode(
            kind=FILE,
            name=document.path.rpartition("/")[2],
            qualified_name=document.path,
            repository=name,
            root=str(root),
            path=document.path,
            os_path=document.os_path,
            language=document.language,
            line=1,
            column=1,
            end_byte=document.stamp.size,
            test="test" in document.roles,
        )

    # Edges

    def find_edges_from(self, nodes: Iterable[Node], kinds: Collection[str], anywhere: bool = False) -> list[Edge]:
        """Find edges that begin at these nodes and end in the files of the question (or `anywhere`), sorted by target."""
        edges = self._select_edges(read_outgoing(self.store, nodes, kinds), True, anywhere)
        return sorted(edges, key=lambda e: (*self.order_node(e.target), e.kind, *self.order_node(e.source), e.line))

    def find_edges_to(self, nodes: Iterable[Node], kinds: Collection[str], anywhere: bool = False) -> list[Edge]:
        """Find edges that end at these nodes and begin in the files of the question (or `anywhere`), sorted by source."""
        wanted = list(nodes)
        edges = read_incoming(self.store, wanted, kinds)
        edges += [e for node in wanted for e in self._added.get(node, ()) if not kinds or e.kind in kinds]
        return sorted(self._select_edges(edges, False, anywhere), key=self.order_edge)

    def add_edges(self, edges: Iterable[Edge]) -> None:
        """Add edges that are not stored, so that `find_edges_to` finds them."""
        for edge in edges:
            self._added.setdefault(edge.target, []).append(edge)

    def _select_edges(self, edges: Sequence[Edge], ahead: bool, anywhere: bool) -> list[Edge]:
        """Select the edges with enough confidence whose other end (the target if `ahead`) is in the files of the question."""
        distinct = dict.fromkeys(edges)
        sure = [e for e in distinct if e.confidence >= self.least]
        self.too_unsure += len(distinct) - len(sure)
        self.read_nodes([n for e in sure for n in (e.source, e.target)])
        if anywhere or self._allowed is None:
            return sure
        ends = ((e, self.find_document_of(e.target if ahead else e.source)) for e in sure)
        return [e for e, document in ends if document and self.has_document(document.id)]

    def has_document(self, document: DocumentId) -> bool:
        """True if answers may be about this document."""
        return self._allowed is None or document in self._allowed

    def order_edge(self, edge: Edge) -> tuple[object, ...]:
        """Sort key of edges: by source, line, kind and target."""
        return (*self.order_node(edge.source), edge.line, edge.kind, *self.order_node(edge.target))

    # Results

    def make_relation(self, edge: Edge, outgoing: bool, depth: int = 1, via: str = "", again: bool = False) -> Relation:
        """Make a relation from an edge, with names and a source line; without a line, that of the end that is shown."""
        source, target = self.name_node(edge.source), self.name_node(edge.target)
        listed = (edge.target, target) if outgoing else (edge.source, source)
        node, names = (edge.source, target) if edge.line else listed
        place = self.make_source_line(self.find_document_of(node), edge.line or names.line, names)
        return Relation(edge.kind, source, target, outgoing, depth, edge.provenance, edge.confidence, place, via, again)

    def make_source_line(
        self, document: DocumentRow | None, line: int, names: NamedNode, column: int = 0
    ) -> SourceLine:
        """Make a source line; without a `column`, use the column of the name if the line contains it."""
        if document is None:
            return SourceLine("", "", "", "", 0, 0, 0, "", Freshness.FRESH)
        repository, root = self._roots[document.repository]
        if document.id not in self._fresh:
            state = check_freshness(root, document.os_path, document.stamp, document.content_hash)
            self._fresh[document.id] = Freshness(state)
        lines = self._texts.read_lines(document)
        text = lines[line - 1] if 0 < line <= len(lines) else ""
        if not column:  # of the name, or of the last part of its container (a class that is called)
            container = names.qualified_name.rpartition(".")[0].rpartition(".")[2]
            wanted = filter(None, (names.name, names.name.rpartition(".")[0], container))
            matches = (re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text[:MAX_LINE]) for name in wanted)
            indent = len(text) - len(text.lstrip())
            column = count_utf8_column(text, next((match.start() for match in matches if match), indent))
        place = (repository, str(root), document.path, document.os_path, line, column, count_utf16_column(text, column))
        return SourceLine(*place, text[:MAX_LINE], self._fresh[document.id])

    def list_documents(self, ids: Iterable[DocumentId] | None = None) -> list[DocumentRow]:
        """List these documents, or all, in the order of contents."""
        names = {row.id: row.name for row in self.store.documents.list_repositories()}
        return sorted(self.store.documents.read_rows(ids), key=lambda d: (names[d.repository], d.path))

    def list_notices(self, relations: Iterable[Relation]) -> list[Notice]:
        """List notices about gaps: files not linked yet, guesses among the relations, edges left out."""
        notices = [Notice("missing", sentence) for sentence in self.store.missing]
        if unlinked := self.store.edges.count_unlinked():
            files = quantity(unlinked, "file is", "files are")
            notices.append(Notice("unlinked", f"{files} not in the symbol graph yet; `codelens index` links them"))
        listed = list(relations)
        if guesses := sum(r.confidence < RESOLVED for r in listed):
            text = f"{guesses} of {len(listed)} are guesses among several definitions of one name"
            notices.append(Notice("ambiguous", f"{text}; --min-confidence {RESOLVED:g} leaves them out"))
        if self.unread:
            files = quantity(self.unread, "file has", "files have")
            notices.append(Notice("places", f"{files} the name and could not be read for further uses"))
        if self.too_unsure:
            text = f"{self.too_unsure} edges of less confidence than {self.least:g} were not followed"
            notices.append(Notice("unsure", f"{text}; --by-name or --min-confidence follows them"))
        return notices


def make_external(name: str) -> NamedNode:
    """Make an external node from its name."""
    return NamedNode(OUTSIDE, re.split(r"[.:/]", name)[-1] or name, name)


def add_contents(nodes: Iterable[Node], view: GraphView, types_too: bool) -> list[Node]:
    """Add the contents of nodes at any depth: local functions and, with `types_too`, the contents of types."""
    contents = dict.fromkeys(nodes)
    ring = list(contents)
    while ring:
        ring = [n for n in ring if is_unit(n) and (types_too or view.name_node(n).kind not in TYPE_KINDS)]
        ring = [e.target for e in derive_contents(view.store, ring) if e.target not in contents]
        contents.update(dict.fromkeys(ring))
    return sorted(contents, key=view.order_node)


MOST_OVERRIDES = 50  # Longest chain of overriding methods that is followed


def find_overridden(view: GraphView, nodes: Iterable[Node]) -> NodeSets:
    """Find the methods that each method overrides, at any distance."""
    return _follow_overrides(view, nodes, upward=True)


def find_overriding(view: GraphView, nodes: Iterable[Node]) -> NodeSets:
    """Find the methods that override each method, at any distance."""
    return _follow_overrides(view, nodes, upward=False)


def _follow_overrides(view: GraphView, nodes: Iterable[Node], upward: bool) -> NodeSets:
    read_edges = view.find_edges_from if upward else view.find_edges_to
    reached: NodeSets = {node: set() for node in nodes}
    origins: NodeSets = {node: {node} for node in reached}  # End of a chain → where it begins
    for _ in range(MOST_OVERRIDES):
        next_origins = defaultdict[Node, set[Node]](set)
        for edge in read_edges(origins, {"overrides"}, anywhere=True) if origins else ():
            before, after = (edge.source, edge.target) if upward else (edge.target, edge.source)
            for node in origins.get(before, ()):
                if after != node and after not in reached[node]:
                    reached[node].add(after)
                    next_origins[after].add(node)
        origins = next_origins
    return {node: others for node, others in reached.items() if others}
