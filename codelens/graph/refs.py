"""References to a target: edges that end at it, uses of a name that has no definition, and uses that linking could not follow.

Linking records which references lead nowhere. A call inside a target counts only if the index defines something of that name:
other calls leave the repository.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from typing import NamedTuple

from codelens.errors import TargetError
from codelens.graph.places import TIER_OF_CERTAINTY, NamedPlace, PlaceFinder, named_unit, target_of, target_of_name
from codelens.graph.view import GraphView, Start, outside, resolve_start
from codelens.lang.registry import languages
from codelens.model.code import CHUNK_KINDS, TYPE_KINDS, DocumentId, Span, UnitRow
from codelens.model.extraction import Import, Reference
from codelens.model.fast_dataclass import replace
from codelens.model.graph import (
    BY_NAME,
    BY_NAME_CONFIDENCE,
    CERTAINTIES,
    LIKELY,
    ONLY_BY_NAME,
    RESOLVED,
    SURE,
    TIERS,
    UNRESOLVED,
    Edge,
    Named,
    Node,
    Related,
    Relation,
    RelationOptions,
    document_node,
)
from codelens.model.search import Notice
from codelens.store.targets import NothingNamed, listed_units, units_named
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
"""Files that are read to count; a list reads all. Chosen: 267 files of Django take .24 CPU s."""
NOT_CALLED = frozenset({"variable", "constant", "property", "module"})
"""Kinds of definitions that a call does not mean, for the question whether a call leaves the repository."""


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
    return sorted(relations, key=lambda r: (r.test, place_order(r)))


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


def refs(view: GraphView, target: str, options: RelationOptions) -> Related:
    """The places that name the target, the surest first; for a file, the edges from other files to it and its contents.

    Raises TargetError if the name is neither defined nor used.
    """
    try:
        start = resolve_start(target, view)
    except NothingNamed as fault:
        return _uses(view, target, options, fault)
    except TargetError as fault:
        units = units_named(target, view.store)
        if not units:
            raise
        if units[0].name != last_name(target):
            with suppress(TargetError):
                return _uses(view, target, options, fault)
        starts = [Start(view.named(Node(unit.id)), (Node(unit.id),)) for unit in units]
        told = Notice("several", f"{fault}; name one as PATH:LINE: {', '.join(listed_units(units, view.store)[:3])}")
        found = _places_of(view, starts, units, options)
        return replace(found, notices=(told, *found.notices))
    if (unit := named_unit(view, start)) is not None:
        last = last_name(target)
        if not start.inherited_by and unit.name != last and fold_identifier(unit.name) == fold_identifier(last):
            with suppress(TargetError):  # a field, say, whose name has other capitals
                return _uses(view, target, options, TargetError(target))
        return _places_of(view, [start], [unit], options)
    own = frozenset(start.nodes) if start.whole_file else frozenset()
    edges = [e for e in view.arriving(start.nodes, options.kinds) if e.source not in own]
    relations = [view.relation(edge, outgoing=False) for edge in edges]
    if start.named.qualified_name.startswith("module:"):
        uses = uses_of_module(view, start.named.qualified_name.removeprefix("module:"), options.kinds)
        relations += [r for r in uses if r.confidence >= view.least]
    relations.sort(key=lambda r: (r.test, place_order(r)))
    unresolved = Unresolved(view, options.kinds, options.unresolved)
    lost = [one for one in unresolved.into(start.nodes) if document_node(one.document) not in own]
    return unresolved.answer("refs", [start], relations, options, view.notices(relations), lost)


def _places_of(view: GraphView, starts: Sequence[Start], units: Sequence[UnitRow], options: RelationOptions) -> Related:
    """The places of definitions of one name, and the edges that lead to them from lines without it."""
    finder = PlaceFinder(view, target_of(view, units), options.text)
    target = starts[0].named
    edges = view.arriving(list(map(Node, sorted(finder.target.units))), options.kinds)
    if not options.kinds:  # the line of an access has the name of a field, not that of its type
        edges = [e for e in edges if e.kind != "accesses_field" or not _is_type(view, e.target)]
    by_line: dict[tuple[Node, int], Edge] = {}
    for edge in edges:
        document = view.document_of(edge.source)
        if document is not None and edge.line:
            by_line.setdefault((document_node(document.id), edge.line), edge)
    relations = list[Relation]()
    for found in finder.places():
        known = by_line.get((document_node(found.document.id), found.line))
        relations.append(_at_place(view, found, target, known))
    listed = {(r.place.repository, r.place.path, r.place.line) for r in relations}
    for edge in edges:
        relation = view.relation(edge, outgoing=False)
        place, owner = relation.place, view.document_of(edge.source)
        has_name = bool(options.kinds) or (owner is not None and owner.id in finder.documents)
        if has_name and (place.repository, place.path, place.line) not in listed:
            relations.append(replace(relation, certainty=certainty_of(relation.confidence)))
    return _answer_places(view, starts, relations, finder, options)


def _answer_places(
    view: GraphView,
    starts: Sequence[Start],
    relations: Sequence[Relation],
    finder: PlaceFinder,
    options: RelationOptions,
) -> Related:
    """The answer of these places, the surest first, with a summary."""
    kept = [
        r
        for r in relations
        if r.confidence >= view.least
        and (not options.kinds or r.kind in options.kinds)
        and (not options.sure or r.certainty == SURE)
        and (not options.unresolved or r.certainty == ONLY_BY_NAME)
    ]
    kept.sort(key=lambda r: (CERTAINTIES.index(r.certainty), place_order(r)))
    notices = [Notice("places", finder.summary(kept)), *view.notices(())]
    found = [
        Notice("inherited", f"{s.inherited_by} inherits {s.named.qualified_name}") for s in starts if s.inherited_by
    ]
    targets = tuple(start.named for start in starts)
    by_name = sum(r.certainty == ONLY_BY_NAME for r in kept)
    return Related("refs", targets, tuple(kept[: options.limit]), len(kept), by_name, (*found, *notices), view.info)


KIND_OF_ROLE = {
    "call": "calls",
    "import": "imports",
    "type": "type_hint_of",
    "catch": "references",
    "text": "documents",
}
"""Role of a name → kind of the edge that it would be; `references` for the others."""


def _at_place(view: GraphView, place: NamedPlace, target: Named, edge: Edge | None) -> Relation:
    """A place as a relation; an edge of the same line gives its kind."""
    tier = TIERS[TIER_OF_CERTAINTY[place.certainty]]
    kind = edge.kind if edge else KIND_OF_ROLE.get(place.role, "references")
    provenance, confidence = (edge.provenance, edge.confidence) if edge else (tier.provenance, tier.confidence)
    if certainty_of(confidence) != place.certainty:
        provenance, confidence = tier.provenance, tier.confidence
    source = view.named(place.unit)
    line = view.place(place.document, place.line, target, place.column)
    return Relation(
        kind,
        source,
        target,
        False,
        1,
        provenance,
        confidence,
        line,
        role=place.role,
        span=Span(place.start, place.end),
        certainty=place.certainty,
    )


def certainty_of(confidence: float) -> str:
    """The certainty of an edge."""
    if confidence >= TIERS["implied"].confidence:
        return SURE
    return LIKELY if confidence >= RESOLVED else ONLY_BY_NAME


def _is_type(view: GraphView, node: Node) -> bool:
    unit = view.unit(node)
    return unit is not None and unit.kind in TYPE_KINDS


def _uses(view: GraphView, target: str, options: RelationOptions, fault: TargetError) -> Related:
    """The places of a name without a definition of its own: a field, or a name from outside."""
    wanted, last = target.replace("::", ".").removesuffix("()"), last_name(target)
    relations = list[Relation]()
    holder = wanted.rpartition(".")[0]
    if not last.strip("$@?!_-").replace("_", "").replace("-", "").isalnum():
        raise fault
    finder = PlaceFinder(view, target_of_name(last, holder.rpartition(".")[2]), options.text)
    places = finder.places()
    if finder.declared:
        field = finder.declared_field()
        relations = [_at_place(view, place, field, None) for place in places]
        return _answer_places(view, [Start(field, ())], relations, finder, options)
    relations = [r for r in uses_of_name(view, target, options.kinds) if r.confidence >= view.least]
    if not holder:
        listed = {(r.place.path, r.place.line) for r in relations}
        rest = [_at_place(view, p, outside(wanted), None) for p in places if (p.document.path, p.line) not in listed]
        relations += [replace(r, certainty=ONLY_BY_NAME) for r in rest]
    if not relations:
        raise fault
    relations = [replace(r, certainty=r.certainty or certainty_of(r.confidence)) for r in relations]
    named = Start(outside(relations[0].target.qualified_name), ())
    found = _answer_places(view, [named], relations, finder, options)
    told = Notice("external", f"{target} is not defined in the index: these places use the name")
    return replace(found, notices=(told, *found.notices))


def last_name(target: str) -> str:
    """The name of a target without what qualifies it."""
    return target.replace("::", ".").replace("#", ".").removesuffix("()").rpartition(".")[2]


class UnresolvedUse(NamedTuple):
    """A reference that leads nowhere, and its document."""

    document: DocumentId
    reference: Reference


class Unresolved:
    """Finds the unresolved uses for one question, in order of path and place. `kinds` are the kinds of edges asked for."""

    def __init__(self, view: GraphView, kinds: Collection[str], listed: bool) -> None:
        self._view, self._kinds, self._listed = view, kinds, listed
        self._defined: dict[tuple[str, bool], bool] = {}
        self.is_partial = False
        """True if there were too many files to read for a count."""

    def into(self, nodes: Iterable[Node]) -> list[UnresolvedUse]:
        """Uses of the names of these nodes, which may mean them."""
        wanted: dict[str, set[str]] = {}
        for node in nodes:
            unit = self._view.unit(node)
            if unit is not None and unit.kind not in CHUNK_KINDS and not unit.local:
                wanted.setdefault(unit.name, set()).add(_kin(unit.language))
        if not wanted:
            return []
        found = list[UnresolvedUse]()
        for document, kin in self._documents(wanted):
            uses = self._in(document)
            found += [UnresolvedUse(document, use) for use in uses if kin in wanted.get(use.name, ())]
        return found

    def inside(self, nodes: Iterable[Node]) -> list[UnresolvedUse]:
        """Uses inside these nodes of names that the index defines."""
        view, inner = self._view, dict[DocumentId, set[Node]]()
        for node in nodes:
            if (document := view.document_of(node)) is not None:
                inner.setdefault(document.id, set()).add(node)
        found = []
        for document_id in sorted(inner, key=self._place):
            units = [Node(unit) for unit, _ in view.store.units.ids_of(document_id)]
            for use in self._in(document_id):
                around = document_node(document_id) if use.unit is None else units[use.unit]
                if around in inner[document_id] and self._is_defined(use):
                    found.append(UnresolvedUse(document_id, use))
        return found

    def relations(self, uses: Sequence[UnresolvedUse]) -> Iterator[Relation]:
        """The uses as relations to a name, code first and tests last."""
        units: dict[DocumentId, list[Node]] = {}
        tested = [(self._is_test(use.document), use) for use in uses]
        for document, use in [use for test in (False, True) for is_test, use in tested if is_test == test]:
            if document not in units:
                units[document] = [Node(unit) for unit, _ in self._view.store.units.ids_of(document)]
            source = document_node(document) if use.unit is None else units[document][use.unit]
            target = outside(f"{use.receiver}.{use.name}" if use.receiver else use.name)
            place = self._view.place(self._view.document(document), use.line, target)
            named = self._view.named(source)
            yield Relation(KIND_OF_USE[use.kind], named, target, False, 1, UNRESOLVED, 0.0, place)

    def notices(self, uses: Sequence[UnresolvedUse]) -> Iterator[Notice]:
        """A notice with their number, and up to three of their names."""
        if not uses:
            return
        names = sorted({use.reference.name for use in uses})
        told = ", ".join(names[:3]) + (f" and {len(names) - 3} other names" if len(names) > 3 else "")
        number = f"{'at least ' if self.is_partial else ''}{len(uses)}"
        what = ("use" if "references" in self._kinds or not self._kinds else "call") + ("" if len(uses) == 1 else "s")
        text = f"{number} {what} of {told} could not be followed to any definition; --unresolved lists them"
        yield Notice("unresolved", text)

    def answer(
        self,
        question: str,
        starts: Sequence[Start],
        relations: Sequence[Relation],
        options: RelationOptions,
        notices: Sequence[Notice],
        uses: Sequence[UnresolvedUse],
    ) -> Related:
        """The relations within the limit, with the targets and notices; the unresolved uses instead, if those are asked for."""
        told = list(self.relations(uses)) if options.unresolved else relations
        found = [
            Notice("inherited", f"{s.inherited_by} inherits {s.named.qualified_name}") for s in starts if s.inherited_by
        ]
        said = (*found, *(() if options.unresolved else (*notices, *self.notices(uses))))
        targets = tuple(start.named for start in starts)
        return Related(question, targets, tuple(told[: options.limit]), len(told), len(uses), said, self._view.info)

    def _documents(self, names: Iterable[str]) -> Iterator[tuple[DocumentId, str]]:
        """(document, family of its language) of the documents that use one of these names, in order of path."""
        found = [d for d in self._view.store.references.documents_using_any(names) if self._view.includes(d)]
        found.sort(key=self._place)
        if not self._listed and len(found) > MOST_FILES:
            self.is_partial = True
            found = found[:MOST_FILES]
        for document in found:
            row = self._view.document(document)
            yield document, _kin(row.language) if row else ""

    def _in(self, document: DocumentId) -> list[Reference]:
        uses = self._view.store.references.unresolved_in(document)
        return [use for use in uses if not self._kinds or KIND_OF_USE[use.kind] in self._kinds]

    def _place(self, document: DocumentId) -> tuple[object, ...]:
        return self._view.order(document_node(document))

    def _is_test(self, document: DocumentId) -> bool:
        return self._view.is_test(document_node(document))

    def _is_defined(self, use: Reference) -> bool:
        """True if the index defines something that this use may mean."""
        key = (use.name, KIND_OF_USE[use.kind] == "calls")
        if key not in self._defined:
            kinds = {kind for _, _, kind, _ in self._view.store.units.namesakes(use.name)}
            self._defined[key] = bool(kinds - NOT_CALLED if key[1] else kinds)
        return self._defined[key]


def _kin(language: str) -> str:
    row = languages().get(language)
    return row.kin if row else language
