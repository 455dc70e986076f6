"""References to a target: edges that end at it, and uses of a name that has no definition in the index."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from codelens.errors import TargetError
from codelens.graph.view import GraphView, Start, outside, resolve_start
from codelens.model.code import DocumentId
from codelens.model.extraction import Import, Reference
from codelens.model.graph import (
    BY_NAME,
    BY_NAME_CONFIDENCE,
    TIERS,
    Named,
    Node,
    Related,
    Relation,
    RelationOptions,
    document_node,
)
from codelens.model.search import Notice
from codelens.store.targets import NothingNamed
from codelens.text.identifiers import fold_identifier

KIND_OF_USE = {
    "call": "calls",
    "construct": "calls",
    "type": "type_hint_of",
    "extends": "extends",
    "implements": "implements",
    "decorate": "decorates",
    "throw": "throws",
    "field": "accesses_field",
    "use": "references",
    "env": "reads_env",
    "process": "executes_process",
    "route": "handles_route",
    "endpoint": "consumes_endpoint",
    "flag": "gated_by_flag",
    "mention": "documents",
}
"""Kind of a reference → kind of the edge that it would be if the name had a definition."""
MOST_FILES = 500
"""Files that are read to count unresolved calls; no count for a name used in more. Chosen: 267 files of Django take .24 CPU s."""
SAME_NAME = 500
"""Definitions of one name whose callers are read. Chosen, as in `targets`."""


def uses_of_name(view: GraphView, text: str, kinds: Sequence[str]) -> list[Relation]:
    """All uses of a name without a definition, in order of place.

    For `json.dumps`: uses of `dumps` that are imported from `json`, or that have `json` before the dot.
    """
    wanted = text.replace("::", ".").removesuffix("()")
    holder, _, last = wanted.rpartition(".")
    target, relations = outside(wanted), list[Relation]()
    for document in view.store.references.documents_using(last):
        if not view.includes(document):
            continue
        imports = view.store.references.imports_of(document)
        units = _units(view, document)
        for use in view.store.references.of_document(document):
            kind = KIND_OF_USE.get(use.kind, "references")
            if use.name == last and (not kinds or kind in kinds) and _is_of(use, holder, last, imports):
                source = document_node(document) if use.unit is None else units[use.unit]
                relations.append(_relation(view, document, use, source, target))
    return sorted(relations, key=place_order)


def place_order(relation: Relation) -> tuple[object, ...]:
    """Sort key of relations: place, kind, target."""
    place = relation.place
    return (place.repository, place.path, place.line, place.column, relation.kind, *relation.target.content_order())


def uses_of_module(view: GraphView, module: str, kinds: Sequence[str]) -> list[Relation]:
    """Uses of a module in the files that import it: names with the module before their dot, and names imported from it."""
    relations = list[Relation]()
    node = view.store.edges.externals_named(f"module:{module}")
    edges = view.arriving([n for n, name in node.items() if name == f"module:{module}"], {"imports"})
    documents = {row.id for e in edges if (row := view.document_of(e.source)) is not None}
    for document in sorted(documents):
        imports = [i for i in view.store.references.imports_of(document) if i.module == module]
        modules = {i.alias or i.module for i in imports if not i.name}
        names = {i.alias or i.name for i in imports if i.name}
        units = _units(view, document)
        for use in view.store.references.of_document(document):
            kind = KIND_OF_USE.get(use.kind, "references")
            inside = use.receiver in modules or (use.name in names and not use.receiver)
            if inside and (not kinds or kind in kinds):
                source = document_node(document) if use.unit is None else units[use.unit]
                relations.append(_relation(view, document, use, source, outside(f"{module}.{use.name}")))
    return relations


def _units(view: GraphView, document: DocumentId) -> list[Node]:
    """The units of a document in order of place. A reference stores its unit as a position in this order."""
    return [Node(unit) for unit, _ in view.store.units.ids_of(document)]


def _is_of(use: Reference, holder: str, last: str, imports: Sequence[Import]) -> bool:
    if not holder:
        return True
    head = use.receiver
    if head == holder or head.endswith(f".{holder}"):
        return True
    modules = {i.alias or i.module for i in imports if not i.name and i.module == holder}
    names = {i.alias or i.name for i in imports if i.name and f"{i.module}.{i.name}" == holder}
    direct = {i.alias or i.name for i in imports if i.module == holder and i.name == last}
    return head in modules | names if head else use.name in direct


def _relation(view: GraphView, document: DocumentId, use: Reference, source: Node, target: Named) -> Relation:
    """A use as a relation. A target with a dot is as certain as an import; a bare name is only a name."""
    tier = TIERS["import"]
    by_import = "." in target.qualified_name
    provenance, confidence = (tier.provenance, tier.confidence) if by_import else (BY_NAME, BY_NAME_CONFIDENCE)
    kind = KIND_OF_USE.get(use.kind, "references")
    place = view.place(view.document(document), use.line, target)
    return Relation(kind, view.named(source), target, False, 1, provenance, confidence, place)


def unresolved_calls(view: GraphView, start: Start) -> Iterator[Notice]:
    """A notice with the number of calls by the target's name that lead to no definition of that name."""
    units = [u for n in start.nodes if (u := view.unit(n)) is not None]
    if start.whole_file or len(units) != 1:
        return
    name = units[0].name
    documents = view.store.references.documents_using(name)
    if len(documents) > MOST_FILES:
        return
    same = [Node(u) for u in view.store.units.named(fold_identifier(name), None, SAME_NAME)]
    edges = list(view.store.edges.incoming(same))
    view.learn(e.source for e in edges)
    resolved = {(row.id, e.line) for e in edges if (row := view.document_of(e.source)) is not None}
    count = sum(
        use.name == name and use.kind in ("call", "construct") and (document, use.line) not in resolved
        for document in documents
        for use in view.store.references.of_document(document)
    )
    if count:
        calls = "1 call" if count == 1 else f"{count} calls"
        yield Notice("unresolved", f"{calls} of something named {name} could not be followed to any definition")


def refs(view: GraphView, target: str, options: RelationOptions) -> Related:
    """Edges that end at the target, in order of place; for a file, those from other files.

    For a name without a definition, its uses. Raises TargetError if the name is neither defined nor used.
    """
    try:
        start = resolve_start(target, view)
    except NothingNamed as fault:
        return _uses(view, target, options, fault)
    own = frozenset(start.nodes) if start.whole_file else frozenset()
    edges = [e for e in view.arriving(start.nodes, options.kinds) if e.source not in own]
    relations = [view.relation(edge, outgoing=False) for edge in edges]
    if start.named.qualified_name.startswith("module:"):
        uses = uses_of_module(view, start.named.qualified_name.removeprefix("module:"), options.kinds)
        relations += [r for r in uses if r.confidence >= view.least]
    relations.sort(key=place_order)
    return view.answer("refs", [start], relations, options, [*view.notices(relations), *unresolved_calls(view, start)])


def _uses(view: GraphView, target: str, options: RelationOptions, fault: TargetError) -> Related:
    relations = [r for r in uses_of_name(view, target, options.kinds) if r.confidence >= view.least]
    if not relations:
        raise fault
    notices = [Notice("external", f"{target} is not defined in the index: these places use the name")]
    named = Start(outside(relations[0].target.qualified_name), ())
    return view.answer("refs", [named], relations, options, [*notices, *view.notices(relations)])
