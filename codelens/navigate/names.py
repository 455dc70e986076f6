"""Names → the places where files use them: for what has no definition in the index, and for calls that lead nowhere."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from codelens.derived import Import, Reference
from codelens.model import DocumentId, Notice
from codelens.navigate.start import Start
from codelens.navigate.view import GraphView, outside
from codelens.related import BY_NAME, BY_NAME_CONFIDENCE, Named, Relation
from codelens.relations import TIERS, Node, document_node
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
"""What a reference is → the edge that it would be if the name had a definition."""
MOST_FILES = 500
"""Files that are read to count calls that lead nowhere; of a name in more nothing is said. Chosen: 267 of Django's take
.24 CPU s."""
SAME_NAME = 500
"""Definitions of one name whose callers are read. Chosen, as in `targets`."""


def uses_of_name(view: GraphView, text: str, kinds: Sequence[str]) -> list[Relation]:
    """All uses of a name that no definition has, in order of place.

    Of `json.dumps` those of `dumps` that an import makes `json`'s, or that say `json` before the dot.
    """
    wanted = text.replace("::", ".").removesuffix("()")
    holder, _, last = wanted.rpartition(".")
    target, relations = outside(wanted), list[Relation]()
    for document in view.store.references.documents_using(last):
        if not view.tells_of(document):
            continue
        imports = view.store.references.imports_of(document)
        units = _units(view, document)
        for use in view.store.references.of_document(document):
            kind = KIND_OF_USE.get(use.kind, "references")
            if use.name == last and (not kinds or kind in kinds) and _is_of(use, holder, last, imports):
                source = document_node(document) if use.unit is None else units[use.unit]
                relations.append(_told(view, document, use, kind, source, target, bool(holder)))
    return sorted(relations, key=place_order)


def place_order(relation: Relation) -> tuple[object, ...]:
    """By where it stands, then by what it is."""
    place = relation.place
    return (place.repository, place.path, place.line, place.column, relation.kind, *relation.target.content_order())


def uses_of_module(view: GraphView, module: str, kinds: Sequence[str]) -> list[Relation]:
    """What the files that import a module use of it: names with the module before their dot, and names imported from it."""
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
                relations.append(_told(view, document, use, kind, source, outside(f"{module}.{use.name}"), True))
    return relations


def _units(view: GraphView, document: DocumentId) -> list[Node]:
    """A reference tells its unit by its position among the document's: the order of place, since ids outlive a move."""
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


def _told(
    view: GraphView, document: DocumentId, use: Reference, kind: str, source: Node, target: Named, imported: bool
) -> Relation:
    """As sure as an import where the text says whose name it is; a bare name is just that."""
    tier = TIERS["import"]
    provenance, confidence = (tier.provenance, tier.confidence) if imported else (BY_NAME, BY_NAME_CONFIDENCE)
    place = view.place(view.document(document), use.line, target)
    return Relation(kind, view.named(source), target, False, 1, provenance, confidence, place)


def unresolved_calls(view: GraphView, start: Start) -> Iterator[Notice]:
    """How many calls of something of the target's name lead to no definition of that name."""
    units = [u for n in start.nodes if (u := view.unit(n)) is not None]
    if start.whole_file or len(units) != 1:
        return
    name = units[0].name
    documents = view.store.references.documents_using(name)
    if len(documents) > MOST_FILES:
        return
    same = [Node(u) for u in view.store.units.named(fold_identifier(name), False, SAME_NAME)]
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
