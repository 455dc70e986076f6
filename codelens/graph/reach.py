"""Answer questions about reach: trees of callers and callees, a path between two targets, the impact of a change, and the bases
and subclasses of a type.

A call names one method, and an overriding method may run instead. So the callers of a method include the callers of the methods
that it overrides, and the callees of a function include the methods that override its callees; both are marked.

Ties are broken by the order of contents, because people read the result; `graph.walk` breaks them by node numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from codelens.graph.targets import ResolvedTarget, resolve_start
from codelens.graph.unresolved import KIND_OF_USE, MOST_FILES, UnresolvedUses
from codelens.graph.view import (
    GraphView,
    add_contents,
    derive_contents,
    find_overridden,
    find_overriding,
    make_external,
)
from codelens.lang.registry import languages
from codelens.model.code import TYPE_KINDS, DocumentId
from codelens.model.fast_dataclass import frozen_dataclass, replace
from codelens.model.graph import (
    BY_NAME,
    BY_NAME_CONFIDENCE,
    EXTERNAL,
    KINDS,
    Edge,
    Node,
    Relation,
    RelationAnswer,
    RelationOptions,
    is_unit,
    make_document_node,
)
from codelens.model.groups import group_pairs
from codelens.model.search import Notice
from codelens.store.targets import SAME_NAME
from codelens.text.counts import quantity
from codelens.text.identifiers import fold_identifier


class Link(NamedTuple):
    """A step from a node: the edge, the node at its other end, and a remark for the reader."""

    edge: Edge
    node: Node
    via: str = ""


LinkReader = Callable[[Sequence[Node]], Mapping[Node, Sequence[Link]]]
"""A function from nodes to the links of each in order of output, with one query to the store."""
RelationLister = Callable[[Node, int], Iterable[Relation]]  # From a node and a depth


@frozen_dataclass
class Reach:
    """The nodes that a search reached. `links` contains the nodes whose links were read."""

    starts: tuple[Node, ...]
    links: Mapping[Node, Sequence[Link]]
    first: Mapping[Node, tuple[Node, Link]]
    """Node → (previous node, link) on the shortest way to it, in order of discovery; starts are not included."""
    depth: Mapping[Node, int]

    def trace_path(self, node: Node) -> list[Link]:
        """List the links from a start to this node."""
        links = []
        while node in self.first:
            node, link = self.first[node]
            links.append(link)
        return links[::-1]


def find_reachable(
    view: GraphView, starts: Sequence[Node], read_links: LinkReader, depth: int, until: Collection[Node] = frozenset()
) -> Reach:
    """Find all nodes within `depth` hops, nearest first. The search stops after the hop that reaches a node of `until`."""
    links: dict[Node, Sequence[Link]] = {}
    first: dict[Node, tuple[Node, Link]] = {}
    depths = dict.fromkeys(starts, 0)
    ring = sorted(depths, key=view.order_node)
    for hop in range(1, depth + 1):
        read = read_links(ring)
        links.update({node: read.get(node, ()) for node in ring})
        new: dict[Node, None] = {}
        for node in ring:
            for link in links[node]:
                if link.node not in depths:
                    depths[link.node] = hop
                    first[link.node] = (node, link)
                    new[link.node] = None
        ring = sorted(new, key=view.order_node)
        if not ring or not new.keys().isdisjoint(until):
            break
    return Reach(tuple(starts), links, first, depths)


def list_tree(
    view: GraphView, reached: Reach, outgoing: bool, list_more: RelationLister = lambda node, depth: ()
) -> list[Relation]:
    """List the lines of a tree. A node's links are listed where it was first reached; elsewhere it is marked `again`.

    `list_more` takes a node and a depth, and returns relations to list at that depth before the node's links.
    """
    starts = sorted(frozenset(reached.starts), key=view.order_node)
    lines = [line for start in starts for line in list_more(start, 1)]
    roots = dict.fromkeys(link for start in starts for link in reached.links.get(start, ()))

    def order(link: Link) -> tuple[object, ...]:
        source = view.name_node(link.edge.source)
        return (_is_test_link(view, link), *view.order_node(link.node), source.repository, source.path, link.edge.line)

    # Links of several starts to one node are adjacent. The last entry of the stack is the next line.
    stack = [(1, frozenset(starts), link) for link in sorted(roots, key=order)][::-1]
    expanded = set(starts)
    while stack:
        depth, before, link = stack.pop()
        behind = reached.links.get(link.node, ())
        is_first = link.node in reached.first and reached.first[link.node][0] in before
        again = bool(behind) and not is_first and not (depth == 1 and link.node in starts)
        lines.append(view.make_relation(link.edge, outgoing, depth, link.via, again))
        # Several lines may lead to one node: its own links follow the last of them.
        is_last = not stack or stack[-1][0] != depth or stack[-1][2].node != link.node
        if is_first and is_last and link.node not in expanded:
            expanded.add(link.node)
            lines += list_more(link.node, depth + 1)
            stack += [(depth + 1, frozenset([link.node]), inner) for inner in reversed(behind)]
    return lines


def _is_test_link(view: GraphView, link: Link) -> bool:
    """True if the link leads to a test. Tests are listed last because readers seldom look for them."""
    return view.is_test(link.node) or (link.edge.kind == "tests" and link.node == link.edge.source)


CALLS = ("calls", "tests")


def find_callers(view: GraphView, target: str, options: RelationOptions) -> RelationAnswer:
    """Find the functions that call the target, and their callers, to `depth` (default 1)."""
    start, kinds = resolve_and_read(target, view), options.kinds or CALLS
    read_links = drop_inner_links(start, make_caller_reader(view, kinds))
    reached = find_reachable(view, start.nodes, read_links, options.depth or 1)
    relations = list_tree(view, reached, outgoing=False)
    unresolved = UnresolvedUses(view, "callers", kinds, options)
    return unresolved.answer([start], relations, unresolved.find_uses_of(reached.links))


def resolve_and_read(target: str, view: GraphView) -> ResolvedTarget:
    """Resolve a target, and add to the view the edges to it that only the text of files shows."""
    from codelens.graph.places import find_unstored_edges

    start = resolve_start(target, view)
    view.add_edges(list(find_unstored_edges(view, start)))
    return start


def find_callees(view: GraphView, target: str, options: RelationOptions) -> RelationAnswer:
    """Find the functions that the target and its contents call, and their callees, to `depth` (default 1)."""
    start, kinds = resolve_start(target, view), options.kinds or CALLS
    nodes = add_contents(start.nodes, view, types_too=True)
    reached = find_reachable(view, nodes, drop_inner_links(start, make_callee_reader(view, kinds)), options.depth or 1)
    relations = list_tree(view, reached, outgoing=True)
    unresolved = UnresolvedUses(view, "callees", kinds, options)
    return unresolved.answer([start], relations, unresolved.find_uses_inside(reached.links))


def drop_inner_links(start: ResolvedTarget, read_links: LinkReader) -> LinkReader:
    """Make the reader skip links between nodes of the target, if the target is a whole file."""
    inner = frozenset(start.nodes)

    def read_ring(nodes: Sequence[Node]) -> Mapping[Node, Sequence[Link]]:
        return {node: [k for k in links if k.node not in inner] for node, links in read_links(nodes).items()}

    return read_ring if start.whole_file else read_links


def make_caller_reader(view: GraphView, kinds: Collection[str]) -> LinkReader:
    """Make a reader of links to the nodes whose edges of these kinds lead to a node, or to a method that it overrides."""

    def read_ring(nodes: Sequence[Node]) -> dict[Node, list[Link]]:
        bases_of = find_overridden(view, nodes) if "calls" in kinds else {}
        bases = {base for some in bases_of.values() for base in some}
        edges = view.find_edges_to([*nodes, *bases], kinds)
        arriving = group_pairs((edge.target, edge) for edge in edges)
        rings = {}
        for node in nodes:
            links = [Link(edge, edge.source) for edge in arriving.get(node, ())]
            for base in sorted(bases_of.get(node, ()), key=view.order_node):
                via = f"overrides {view.name_node(base).qualified_name}"
                links += [Link(e, e.source, via) for e in arriving.get(base, ()) if e.kind in CALLS]
            rings[node] = sorted(links, key=lambda link: (_is_test_link(view, link), view.order_edge(link.edge)))
        return rings

    return read_ring


def make_callee_reader(view: GraphView, kinds: Collection[str]) -> LinkReader:
    """Make a reader of links to nodes that a node or its local functions have an edge to, and to methods that override these."""

    def read_ring(nodes: Sequence[Node]) -> dict[Node, list[Link]]:
        wanted = frozenset(nodes)
        insides = {node: add_contents((node,), view, types_too=False) for node in nodes}
        parts = {node: [p for p in some if p == node or p not in wanted] for node, some in insides.items()}
        edges = view.find_edges_from({p for some in parts.values() for p in some}, kinds)
        leaving = group_pairs((edge.source, edge) for edge in edges)
        targets = {e.target for some in leaving.values() for e in some if e.kind in CALLS}
        running = find_overriding(view, targets) if "calls" in kinds else {}
        rings = {}
        for node in nodes:
            links = []
            for edge in (e for part in parts[node] for e in leaving.get(part, ())):
                links.append(Link(edge, edge.target))
                others = running.get(edge.target, ()) if edge.kind in CALLS else ()
                via = f"overrides {view.name_node(edge.target).qualified_name}" if others else ""
                links += [Link(replace(edge, target=o), o, via) for o in sorted(others, key=view.order_node)]
            rings[node] = sorted(links, key=lambda link: (view.order_node(link.node), *view.order_edge(link.edge)))
        return rings

    return read_ring


PATH_KINDS = (
    *("calls", "tests", "references", "type_hint_of", "accesses_field", "imports", "extends", "implements"),
    *("inherits", "overrides", "decorates", "throws", "documents"),
)
LONGEST_PATH = 8  # Limit of hops; a longer path explains nothing to a reader
IMPACT_KINDS = ("calls", "tests", "extends", "implements", "inherits", "overrides", "decorates")
"""Kinds of edges along which a change has an effect. A change of a file also affects its importers."""
IMPACT_DEPTH = 3


def find_path(view: GraphView, first: str, second: str, options: RelationOptions) -> RelationAnswer:
    """Find a shortest path along edges from one target to another; of equal ones, the first by the order of its nodes.

    The contents of a target belong to it. Without a path, a notice reports whether there is one in the other direction.
    """
    starts = [resolve_start(first, view), resolve_start(second, view)]
    kinds, deepest = options.kinds or PATH_KINDS, options.depth or LONGEST_PATH

    def find_shortest(start: ResolvedTarget, goal: ResolvedTarget) -> tuple[Reach, list[Link]]:
        nodes = add_contents(start.nodes, view, types_too=True)
        goals = frozenset(add_contents(goal.nodes, view, types_too=True))
        reached = find_reachable(view, nodes, make_callee_reader(view, kinds), deepest, goals)
        ends = [node for node in reached.first if node in goals]
        nearest = min(ends, key=lambda node: (reached.depth[node], view.order_node(node)), default=None)
        return reached, reached.trace_path(nearest) if nearest is not None else []

    reached, links = find_shortest(*starts)
    relations = [view.make_relation(link.edge, True, i, link.via) for i, link in enumerate(links, start=1)]
    notices = view.list_notices(relations)
    if not links:
        _, back = find_shortest(*starts[::-1])
        hops = quantity(len(back), "hop")
        reverse = f"; there is one of {hops} from {starts[1].named.qualified_name}" if back else ""
        text = f"no path of {quantity(deepest, 'hop')} or fewer from {first} to {second}{reverse}"
        notices.append(Notice("no-path", text))
    unresolved = UnresolvedUses(view, "path", kinds, options)
    uses = () if links else unresolved.find_uses_inside(reached.links)
    return unresolved.answer(starts, relations, uses, notices)


def find_impact(view: GraphView, target: str, options: RelationOptions) -> RelationAnswer:
    """Find the nodes that a change of the target may affect, nearest first, each with the edge that reaches it."""
    start = resolve_and_read(target, view)
    kinds = options.kinds or (*IMPACT_KINDS, *(["imports"] if start.whole_file else []))
    nodes = start.nodes if start.whole_file else add_contents(start.nodes, view, types_too=True)
    read_links = drop_inner_links(start, make_caller_reader(view, kinds))
    read_all = make_caller_reader(view, options.kinds or [*KINDS])  # an external has no kind of its own

    def read_ring(nodes: Sequence[Node]) -> Mapping[Node, Sequence[Link]]:
        return read_all(nodes) if nodes[0] >= EXTERNAL else read_links(nodes)

    reached = find_reachable(view, nodes, read_ring, options.depth or IMPACT_DEPTH)
    relations = []
    for node in sorted(reached.first, key=lambda node: (reached.depth[node], view.order_node(node))):
        _, link = reached.first[node]
        relations.append(view.make_relation(link.edge, False, reached.depth[node], link.via))
    relations.sort(key=lambda r: r.test)
    unresolved = UnresolvedUses(view, "impact", kinds, options)
    return unresolved.answer([start], relations, unresolved.find_uses_of(reached.links))


HIERARCHY_KINDS = ("extends", "implements")
DEEPEST_HIERARCHY = 50  # Limit of levels to follow; real hierarchies have fewer


def list_hierarchy(view: GraphView, target: str, options: RelationOptions) -> RelationAnswer:
    """List the bases of a type, then its subclasses and implementors, each as a tree; with `members`, also overriding members.

    Each line shows where the base or subclass is defined. A base outside of the index is listed by name.
    """
    start = resolve_and_read(target, view)
    kinds, depth = options.kinds or HIERARCHY_KINDS, options.depth or DEEPEST_HIERARCHY
    outer = OuterTypes(view)

    def find_bases(nodes: Sequence[Node]) -> Mapping[Node, list[Link]]:
        stored = [*view.find_edges_from(nodes, kinds), *(e for node in nodes for e in outer.find_bases(node, kinds))]
        edges = dict.fromkeys(map(_drop_line, stored))
        return {node: [Link(e, e.target) for e in edges if e.source == node] for node in nodes}

    def find_subclasses(nodes: Sequence[Node]) -> Mapping[Node, list[Link]]:
        edges = [replace(e, source=outer.find_type(e) or e.source) for e in view.find_edges_to(nodes, kinds)]
        distinct = dict.fromkeys(_drop_line(e) for e in edges if is_unit(e.source))
        return {node: [Link(e, e.source) for e in distinct if e.target == node] for node in nodes}

    def list_under_base(node: Node, depth: int) -> Iterator[Relation]:
        yield from _list_overrides(view, node, depth, outgoing=True) if options.members else ()
        yield from _list_unknown_bases(view, node, depth, kinds)

    def list_under_subclass(node: Node, depth: int) -> Iterator[Relation]:
        if options.members and node not in start.nodes:
            yield from _list_overrides(view, node, depth, outgoing=False)
        # Types that name this base outside of their definition and that the index does not define, or several times.
        for edge in view.find_edges_to([node], kinds):
            name = outer.read_base_name(edge)
            if (name or not is_unit(edge.source)) and outer.find_type(edge) is None:
                relation = view.make_relation(edge, outgoing=False, depth=depth)
                yield replace(relation, source=make_external(name)) if name else relation

    above = find_reachable(view, start.nodes, find_bases, depth)
    below = find_reachable(view, start.nodes, find_subclasses, depth)
    relations = list_tree(view, above, True, list_under_base) + list_tree(view, below, False, list_under_subclass)
    unresolved = UnresolvedUses(view, "hierarchy", kinds, options)
    return unresolved.answer([start], relations, unresolved.find_uses_of(below.links))


class OuterTypes:
    """A finder of types whose bases other files name (`impl Base for Type` in Rust); such edges start at the file."""

    def __init__(self, view: GraphView) -> None:
        self._view = view
        self._names: dict[DocumentId, dict[tuple[int, str], str]] = {}

    def read_base_name(self, edge: Edge) -> str:
        """Read the name of the type as written; empty if the edge starts at the type itself."""
        unit, document = self._view.find_unit(edge.source), self._view.find_document_of(edge.source)
        if document is None or (unit is not None and unit.kind in TYPE_KINDS):
            return ""
        if document.id not in self._names:
            references = self._view.store.references
            outer = {b.start: b.name for b in references.list_bindings(document.id) if b.how in ("base", "interface")}
            uses = [use for use in references.list_in_document(document.id) if outer.get(use.start)]
            self._names[document.id] = {(use.line, use.name): outer[use.start] for use in uses}
        return self._names[document.id].get((edge.line, self._view.name_node(edge.target).name), "")

    def find_type(self, edge: Edge) -> Node | None:
        """Find the type; None unless the index has exactly one of this name in the language."""
        name, document = self.read_base_name(edge).rpartition(".")[2], self._view.find_document_of(edge.source)
        if not name or document is None:
            return None
        same = self._view.store.units.find_by_name(fold_identifier(name), None, SAME_NAME, [document.language])
        rows = self._view.store.units.read_rows(same)
        fitting = [Node(u) for u in same if rows[u].name == name and rows[u].kind in TYPE_KINDS]
        return fitting[0] if len(fitting) == 1 else None

    def find_bases(self, node: Node, kinds: Sequence[str]) -> Iterator[Edge]:
        """Find the edges to those bases of a type that other files name."""
        unit = self._view.find_unit(node)
        language = languages().get(unit.language) if unit is not None else None
        if unit is None or unit.kind not in TYPE_KINDS or language is None or language.open_types != "repository":
            return
        documents = [d for d in self._view.store.references.find_documents([unit.name]) if d != unit.document]
        for document in documents if len(documents) <= MOST_FILES else ():
            for edge in self._view.find_edges_from([make_document_node(document)], kinds):
                if self.read_base_name(edge).rpartition(".")[2] == unit.name and self.find_type(edge) == node:
                    yield replace(edge, source=node)


def _drop_line(edge: Edge) -> Edge:
    """Drop the edge's line, so that its place becomes the definition at its end; edges to externals keep their line."""
    return edge if edge.target >= EXTERNAL else replace(edge, line=0)


def _list_overrides(view: GraphView, node: Node, depth: int, outgoing: bool) -> list[Relation]:
    """List relations to the members that a type's members override."""
    members = [e.target for e in derive_contents(view.store, [node])]
    edges = dict.fromkeys(map(_drop_line, view.find_edges_from(members, {"overrides"}, anywhere=True)))
    return [view.make_relation(edge, outgoing, depth) for edge in sorted(edges, key=view.order_edge)]


def _list_unknown_bases(view: GraphView, node: Node, depth: int, kinds: Sequence[str]) -> Iterator[Relation]:
    """List the bases that the text names and that have no edge, usually because they are from a library."""
    unit = view.find_unit(node)
    if unit is None or view.least > BY_NAME_CONFIDENCE:
        return
    wanted, sources = {kind for kind in HIERARCHY_KINDS if kind in kinds}, view.number_sources(unit.document)
    uses = view.store.references.list_in_document(unit.document)
    bases = [use for use in uses if sources[use.unit] == node and KIND_OF_USE.get(use.kind) in wanted]
    known = list(view.find_edges_from([node], HIERARCHY_KINDS, anywhere=True))
    if len({e.target for e in known}) >= len(bases):
        return
    names = {view.name_node(e.target).name for e in known}
    for use in bases:
        if use.name not in names:
            base = make_external(f"{use.receiver}.{use.name}" if use.receiver else use.name)
            edge = Edge(node, KIND_OF_USE[use.kind], node, use.line, BY_NAME, BY_NAME_CONFIDENCE)
            relation = replace(view.make_relation(edge, outgoing=True, depth=depth), target=base)
            yield replace(relation, place=view.make_source_line(view.find_document(unit.document), use.line, base))
