"""Class hierarchy of a type: bases and subclasses, on request with overridden members."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from codelens.graph.reach import Link, list_tree, reach, resolve_and_read
from codelens.graph.unresolved import KIND_OF_USE, MOST_FILES, UnresolvedUses
from codelens.graph.view import GraphView, contains, make_external
from codelens.lang.registry import languages
from codelens.model.code import TYPE_KINDS, DocumentId
from codelens.model.fast_dataclass import replace
from codelens.model.graph import (
    BY_NAME,
    BY_NAME_CONFIDENCE,
    EXTERNAL,
    Edge,
    Node,
    Relation,
    RelationAnswer,
    RelationOptions,
    document_node,
    is_unit,
)
from codelens.store.targets import SAME_NAME
from codelens.text.identifiers import fold_identifier

HIERARCHY_KINDS = ("extends", "implements")
DEEPEST = 50  # Levels followed; real hierarchies have fewer


def hierarchy(view: GraphView, target: str, options: RelationOptions) -> RelationAnswer:
    """The bases of a type, then its subclasses and implementors, each as a tree; with `members`, overriding members too.

    Each line is the place of a definition. A base that is not in the index is listed by its name.
    """
    start = resolve_and_read(target, view)
    kinds, depth = options.kinds or HIERARCHY_KINDS, options.depth or DEEPEST
    outer = OuterTypes(view)

    def find_bases(nodes: Sequence[Node]) -> Mapping[Node, list[Link]]:
        stored = [*view.edges_from(nodes, kinds), *(e for node in nodes for e in outer.find_bases(node, kinds))]
        edges = dict.fromkeys(map(_drop_line, stored))
        return {node: [Link(e, e.target) for e in edges if e.source == node] for node in nodes}

    def find_subclasses(nodes: Sequence[Node]) -> Mapping[Node, list[Link]]:
        edges = [replace(e, source=outer.find_type(e) or e.source) for e in view.edges_to(nodes, kinds)]
        distinct = dict.fromkeys(_drop_line(e) for e in edges if is_unit(e.source))
        return {node: [Link(e, e.source) for e in distinct if e.target == node] for node in nodes}

    def list_under_base(node: Node, depth: int) -> Iterator[Relation]:
        yield from _list_overrides(view, node, depth, outgoing=True) if options.members else ()
        yield from _list_unknown_bases(view, node, depth, kinds)

    def list_under_subclass(node: Node, depth: int) -> Iterator[Relation]:
        if options.members and node not in start.nodes:
            yield from _list_overrides(view, node, depth, outgoing=False)
        # Types that name this base outside of their definition and that the index does not define, or several times.
        for edge in view.edges_to([node], kinds):
            name = outer.name(edge)
            if (name or not is_unit(edge.source)) and outer.find_type(edge) is None:
                relation = view.relation(edge, outgoing=False, depth=depth)
                yield replace(relation, source=make_external(name)) if name else relation

    above = reach(view, start.nodes, find_bases, depth)
    below = reach(view, start.nodes, find_subclasses, depth)
    relations = list_tree(view, above, True, list_under_base) + list_tree(view, below, False, list_under_subclass)
    unresolved = UnresolvedUses(view, kinds, options.unresolved)
    uses = unresolved.find_uses_of(below.links)
    return unresolved.answer("hierarchy", [start], relations, options, view.notices(relations), uses)


class OuterTypes:
    """Finds the types of bases that stand outside of their files, whose edges start at the file: `impl Base for Type` in Rust."""

    def __init__(self, view: GraphView) -> None:
        self._view = view
        self._names: dict[DocumentId, dict[tuple[int, str], str]] = {}

    def name(self, edge: Edge) -> str:
        """The name of the type as written; empty if the edge starts at the type itself."""
        unit, document = self._view.unit(edge.source), self._view.document_of(edge.source)
        if document is None or (unit is not None and unit.kind in TYPE_KINDS):
            return ""
        if document.id not in self._names:
            references = self._view.store.references
            outer = {b.start: b.name for b in references.bindings_of(document.id) if b.how in ("base", "interface")}
            uses = [use for use in references.of_document(document.id) if outer.get(use.start)]
            self._names[document.id] = {(use.line, use.name): outer[use.start] for use in uses}
        return self._names[document.id].get((edge.line, self._view.name_node(edge.target).name), "")

    def find_type(self, edge: Edge) -> Node | None:
        """The type, if the index has only one of that name in the language."""
        name, document = self.name(edge).rpartition(".")[2], self._view.document_of(edge.source)
        if not name or document is None:
            return None
        same = self._view.store.units.find_by_name(fold_identifier(name), None, SAME_NAME, [document.language])
        rows = self._view.store.units.rows(same)
        fitting = [Node(u) for u in same if rows[u].name == name and rows[u].kind in TYPE_KINDS]
        return fitting[0] if len(fitting) == 1 else None

    def find_bases(self, node: Node, kinds: Sequence[str]) -> Iterator[Edge]:
        """The edges to the bases of a type that other files name."""
        unit = self._view.unit(node)
        language = languages().get(unit.language) if unit is not None else None
        if unit is None or unit.kind not in TYPE_KINDS or language is None or language.open_types != "repository":
            return
        documents = [d for d in self._view.store.references.documents_using([unit.name]) if d != unit.document]
        for document in documents if len(documents) <= MOST_FILES else ():
            for edge in self._view.edges_from([document_node(document)], kinds):
                if self.name(edge).rpartition(".")[2] == unit.name and self.find_type(edge) == node:
                    yield replace(edge, source=node)


def _drop_line(edge: Edge) -> Edge:
    """The edge without its line, so that its place is the definition at its end; edges to externals keep it."""
    return edge if edge.target >= EXTERNAL else replace(edge, line=0)


def _list_overrides(view: GraphView, node: Node, depth: int, outgoing: bool) -> list[Relation]:
    """Relations to the members that a type's members override."""
    members = [e.target for e in contains(view.store, [node])]
    edges = dict.fromkeys(map(_drop_line, view.edges_from(members, {"overrides"}, anywhere=True)))
    return [view.relation(edge, outgoing, depth) for edge in sorted(edges, key=view.edge_order)]


def _list_unknown_bases(view: GraphView, node: Node, depth: int, kinds: Sequence[str]) -> Iterator[Relation]:
    """Bases that the text names and that have no edge: usually from a library."""
    unit = view.unit(node)
    if unit is None or view.least > BY_NAME_CONFIDENCE:
        return
    place_in_document = [other for other, _ in view.store.units.ids_of(unit.document)].index(unit.id)
    wanted = {kind for kind in HIERARCHY_KINDS if kind in kinds}
    uses = view.store.references.of_document(unit.document)
    bases = [use for use in uses if use.unit == place_in_document and KIND_OF_USE.get(use.kind) in wanted]
    known = list(view.edges_from([node], HIERARCHY_KINDS, anywhere=True))
    if len({e.target for e in known}) >= len(bases):
        return
    names = {view.name_node(e.target).name for e in known}
    for use in bases:
        if use.name not in names:
            base = make_external(f"{use.receiver}.{use.name}" if use.receiver else use.name)
            edge = Edge(node, KIND_OF_USE[use.kind], node, use.line, BY_NAME, BY_NAME_CONFIDENCE)
            relation = replace(view.relation(edge, outgoing=True, depth=depth), target=base)
            yield replace(relation, place=view.place(view.document(unit.document), use.line, base))
