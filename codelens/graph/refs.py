"""Find references to a target: places that name it, and edges that lead to it from lines without its name."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress

from codelens.errors import TargetError
from codelens.graph.certainty import TIER_OF_CERTAINTY, Target
from codelens.graph.meanings import FIELD
from codelens.graph.places import NamedPlace, PlaceFinder, find_named_unit, find_nearby_places, make_target
from codelens.graph.targets import NameOnLine, ResolvedTarget, make_answer, read_name_on_line, resolve_start
from codelens.graph.unresolved import KIND_OF_USE, UnresolvedUses
from codelens.graph.view import GraphView, make_external
from codelens.lang.registry import is_prose
from codelens.lang.tokens import Role
from codelens.model.code import TYPE_KINDS, Span, UnitRow
from codelens.model.fast_dataclass import replace
from codelens.model.graph import (
    CERTAINTIES,
    LIKELY,
    ONLY_BY_NAME,
    OUTSIDE,
    RESOLVED,
    SURE,
    TIERS,
    Edge,
    NamedNode,
    Node,
    Relation,
    RelationAnswer,
    RelationOptions,
    make_document_node,
)
from codelens.model.search import Notice
from codelens.store.targets import NothingNamed, find_units_named, list_units, split_name
from codelens.text.identifiers import fold_identifier

_NAME = re.compile(r"[\w$@?!-]+")


def order_place(relation: Relation) -> tuple[object, ...]:
    """Sort key of relations: by place, kind and target."""
    place = relation.place
    return (place.repository, place.path, place.line, place.column, relation.kind, *relation.target.content_order())


def _find_external_uses(view: GraphView, external: ResolvedTarget, kinds: Sequence[str]) -> list[Relation]:
    """Find the edges to an external; for a module, also uses of names that are imported from it or follow it after a dot."""
    relations = [view.make_relation(edge, outgoing=False) for edge in view.find_edges_to(external.nodes, kinds)]
    name, tier = external.named.qualified_name, TIERS["import"]
    module = name.removeprefix("module:") if name.startswith("module:") else ""
    externals = view.store.edges.find_externals_by_prefix(name) if module else {}
    edges = view.find_edges_to([n for n, known in externals.items() if known == name], {"imports"})
    documents = {row.id for e in edges if (row := view.find_document_of(e.source)) is not None}
    for document in sorted(documents):
        imports = [i for i in view.store.references.list_imports(document) if i.module == module]
        modules = {i.alias or i.module for i in imports if not i.name}
        names = {i.alias or i.name for i in imports if i.name}
        sources = view.number_sources(document)
        for use in view.store.references.list_in_document(document):
            kind = KIND_OF_USE.get(use.kind, "references")
            is_inside = use.receiver in modules or (use.name in names and not use.receiver)
            if is_inside and (not kinds or kind in kinds):
                source, target = view.name_node(sources[use.unit]), make_external(f"{module}.{use.name}")
                place = view.make_source_line(view.find_document(document), use.line, target)
                relations.append(Relation(kind, source, target, False, 1, tier.provenance, tier.confidence, place))
    return [replace(r, certainty=grade_confidence(r.confidence)) for r in relations]


def find_references(view: GraphView, target: str, options: RelationOptions) -> RelationAnswer:
    """Find the places that name the target, the surest first; for a file, the edges from other files to it and its contents.

    If the graph does not show what PATH:LINE:NAME means, find the places in the function or file around that line instead.
    Raises TargetError if the name is neither defined nor used.
    """
    is_name = target == split_name(target)[1] and ":" not in target
    place = read_name_on_line(target, view)
    if place.document is not None and place.node is None:
        return _find_nearby_uses(view, place, options)
    try:
        start = resolve_start(target, view)
        target = place.name
    except NothingNamed as fault:
        return _find_uses(view, target, options, fault)
    except TargetError as fault:
        units = find_units_named(target, view.store)
        if not units:
            raise
        if not _are_exact(units, target):
            with suppress(TargetError):
                return _find_uses(view, target, options, fault)
        starts = [ResolvedTarget(view.name_node(Node(unit.id)), (Node(unit.id),)) for unit in units]
        notice = Notice("several", f"{fault}; name one as PATH:LINE: {', '.join(list_units(units, view.store)[:3])}")
        answer = _answer_definitions(view, starts, units, options, is_name)
        return replace(answer, notices=(notice, *answer.notices))
    if start.named.kind == OUTSIDE:
        return _find_uses(view, target, options, TargetError(target), start)
    unit = find_named_unit(view, start)
    is_section = is_name and unit is None and not start.whole_file
    if is_section or (unit is not None and not start.inherited_by and not _are_exact([unit], target)):
        with suppress(TargetError):
            return _find_uses(view, target, options, TargetError(target))
    if unit is not None:
        return _answer_definitions(view, [start], [unit], options, is_name)
    inner = frozenset(start.nodes) if start.whole_file else frozenset()
    edges = [e for e in view.find_edges_to(start.nodes, options.kinds) if e.source not in inner]
    relations = [view.make_relation(edge, outgoing=False) for edge in edges]
    relations.sort(key=lambda r: (r.test, order_place(r)))
    unresolved = UnresolvedUses(view, "refs", options.kinds, options)
    uses = [use for use in unresolved.find_uses_of(start.nodes) if make_document_node(use.document) not in inner]
    return unresolved.answer([start], relations, uses)


def _find_nearby_uses(view: GraphView, place: NameOnLine, options: RelationOptions) -> RelationAnswer:
    """Find the places of an unresolved name in the function or file around it."""
    assert place.document is not None
    near, named = find_nearby_places(view, place.document, place.name, place.line), make_external(place.name)
    if not near:
        raise TargetError(f"{place.name} does not occur in {place.document.path}")
    relations = [] if options.sure else [_make_relation(view, use, named, None) for use in near]
    text = f"{place.name} cannot be resolved here; these are its places in the function or file around it"
    notices = [Notice("place", text)]
    return make_answer(view, "refs", [ResolvedTarget(named, ())], relations, options, (len(near), notices))


def _are_exact(units: Sequence[UnitRow], target: str) -> bool:
    """True if these units are surely what `target` names.

    False if one has the name only in other capitals, or if all are code quoted in documents: then a field may be meant.
    """
    last = split_name(target)[1]
    folded = any(unit.name != last and fold_identifier(unit.name) == fold_identifier(last) for unit in units)
    return not folded and not all(is_prose(unit.language) for unit in units)


def _answer_definitions(
    view: GraphView, starts: Sequence[ResolvedTarget], units: Sequence[UnitRow], options: RelationOptions, fields: bool
) -> RelationAnswer:
    """Find the places that name these definitions (and fields, with `fields`), and the edges from lines without the name."""
    finder = PlaceFinder(view, make_target(view, units, fields), options.text)
    target = starts[0].named
    edges = view.find_edges_to(list(map(Node, sorted(finder.target.units))), options.kinds)
    if not options.kinds:  # the line of an access has the name of a field, not that of its type
        edges = [e for e in edges if e.kind != "accesses_field" or view.name_node(e.target).kind not in TYPE_KINDS]
    owners = [(edge, view.find_document_of(edge.source)) for edge in edges]
    by_line: dict[tuple[int, int], Edge] = {}
    for edge, owner in owners:
        if owner is not None and edge.line:
            by_line.setdefault((owner.id, edge.line), edge)
    places = finder.find_places()
    importing = {place.document.id for place in places if place.role == Role.IMPORT}
    relations = [_make_relation(view, p, target, by_line.get((p.document.id, p.line))) for p in places]
    listed = {(r.place.repository, r.place.path, r.place.line) for r in relations}
    for edge, owner in owners:
        relation = view.make_relation(edge, outgoing=False)
        place = relation.place
        if edge.kind == "imports" and owner is not None and owner.id in importing:
            continue  # the line of the whole statement
        has_name = bool(options.kinds) or (owner is not None and owner.id in finder.documents)
        if has_name and (place.repository, place.path, place.line) not in listed:
            relations.append(replace(relation, certainty=grade_confidence(relation.confidence)))
    answer = _make_places_answer(finder, starts, relations, options)
    if not (fields_named := finder.name_fields()):
        return answer
    some = ", ".join(f"{field.path}:{field.line}  field {field.qualified_name}" for field in fields_named[:3])
    notice = Notice("several", f"fields have this name too; name one as TYPE.FIELD: {some}")
    return replace(answer, notices=(notice, *answer.notices))


def _make_places_answer(
    finder: PlaceFinder, starts: Sequence[ResolvedTarget], relations: Sequence[Relation], options: RelationOptions
) -> RelationAnswer:
    view = finder.view
    sure = [r for r in relations if r.confidence >= view.least and (not options.sure or r.certainty == SURE)]
    listed = [r for r in sure if not options.unresolved or r.certainty == ONLY_BY_NAME]
    listed = [r for r in listed if not options.kinds or r.kind in options.kinds]
    listed.sort(key=lambda r: (CERTAINTIES.index(r.certainty), order_place(r)))
    notices = [Notice("places", finder.summarize(listed)), *view.list_notices(())]
    by_name = sum(r.certainty == ONLY_BY_NAME for r in listed)
    return make_answer(view, "refs", starts, listed, options, (by_name, notices))


def _make_relation(view: GraphView, place: NamedPlace, target: NamedNode, edge: Edge | None) -> Relation:
    """Make a relation from a place; an edge on the same line determines its kind."""
    tier = TIERS[TIER_OF_CERTAINTY[place.certainty]]
    is_as_sure = edge is not None and grade_confidence(edge.confidence) == place.certainty
    provenance, confidence = (edge.provenance, edge.confidence) if edge and is_as_sure else tier[1:]
    kind, source = edge.kind if edge else place.kind, view.name_node(place.unit)
    line = view.make_source_line(place.document, place.line, target, place.column)
    relation = Relation(kind, source, target, False, 1, provenance, confidence, line)
    return replace(relation, role=place.role, span=Span(place.start, place.end), certainty=place.certainty)


def grade_confidence(confidence: float) -> str:
    """Convert an edge's confidence to a certainty."""
    if confidence >= TIERS["implied"].confidence:
        return SURE
    return LIKELY if confidence >= RESOLVED else ONLY_BY_NAME


def _find_uses(
    view: GraphView, target: str, options: RelationOptions, fault: TargetError, external: ResolvedTarget | None = None
) -> RelationAnswer:
    """Find the places of a field's name, or of an `external` with its node. Raises `fault` if the name occurs nowhere."""
    wanted, last = split_name(target)
    holder = wanted.rpartition(".")[0]
    if external is not None:
        holder, last = "", external.named.name
    if not _NAME.fullmatch(last):
        raise fault
    field = Target(last, "", 0, frozenset(), frozenset(), FIELD, holder.rpartition(".")[2], 0, fields=True)
    finder, start = PlaceFinder(view, field, options.text), external or ResolvedTarget(make_external(wanted), ())
    places, relations = finder.find_places() if external is None else [], list[Relation]()
    if finder.declared:
        start = ResolvedTarget(finder.name_fields()[0], ())
    else:
        finder = PlaceFinder(view, field._replace(kind=OUTSIDE, holder=holder, fields=False), options.text)
        places = finder.find_places()
        relations = _find_external_uses(view, external, options.kinds) if external else []
    listed = {(r.place.repository, r.place.path, r.place.line) for r in relations}
    uses = [_make_relation(view, place, start.named, None) for place in places]
    relations += [r for r in uses if (r.place.repository, r.place.path, r.place.line) not in listed]
    if not relations:
        counted = finder.summarize(()) if finder.documents else ""
        raise TargetError(str(fault), fault.candidates, f"the name occurs: {counted}") if counted else fault
    answer = _make_places_answer(finder, [start], relations, options)
    if finder.declared or external is not None:
        return answer
    notice = Notice("external", f"{target} is not defined in the index: these places use the name")
    return replace(answer, notices=(notice, *answer.notices))
