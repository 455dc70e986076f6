"""Requests about the name at a position: where it is defined and used, what it is, and what is related to it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

from lsprotocol import types

from codelens.errors import TargetError
from codelens.graph.view import GraphView, overriding
from codelens.index import GraphTopic
from codelens.lang.tokens import DECLARATION, DEFINITION, PARAMETER, TEXT, UNPACK, WRITE
from codelens.linking.evaluator import VALUES, Value
from codelens.linking.facts import Definition
from codelens.model.code import TYPE_KINDS
from codelens.model.graph import FILE, ONLY_BY_NAME, NamedNode, Node, Relation, RelationAnswer, RelationOptions
from codelens.server.lsp.names import MODULE
from codelens.server.lsp.outline import to_symbol_kind
from codelens.server.lsp.workspace import LspRequest, NameInFile, Reader, answers, answers_about_name
from codelens.text.counts import quantity

MOST_HOVERED = 3  # Definitions that a hover shows
LONGEST_DOC = 4000
WRITTEN = (DEFINITION, DECLARATION, WRITE, UNPACK, PARAMETER)  # Roles of names that are given a meaning
Item = TypeVar("Item", types.CallHierarchyItem, types.TypeHierarchyItem)
Ask = Callable[[GraphTopic, str, RelationOptions], RelationAnswer]


@answers_about_name("definition", types.TEXT_DOCUMENT_DEFINITION)
def find_definition(name: NameInFile, _: types.DefinitionParams) -> list[types.Location]:
    """The definition; several if only the name is known."""
    return find_locations(name)


def find_locations(name: NameInFile) -> list[types.Location]:
    """The places where a name is defined or declared."""
    reader, meaning = name.reader, name.meaning
    locations = [reader.unit_location(unit) for unit in name.units]
    word = b"" if meaning.key[0] == MODULE else meaning.reference.name.encode()
    for document, declared in meaning.declared:
        row = reader.row(document)
        text, start = reader.source(row).map, reader.source(row).map.to_utf8(declared)
        start = max(text.utf8.find(word, start), start)
        locations.append(reader.location(row, text.to_original(start), text.to_original(start + len(word))))
    return locations


@answers_about_name("declaration", types.TEXT_DOCUMENT_DECLARATION)
def find_declaration(name: NameInFile, _: types.DeclarationParams) -> list[types.Location]:
    """Prototypes, as C has them, else the definition."""
    answer = find_places(name) if name.names.facts.file.language.kin == "c" else None
    prototypes = [r for r in (answer.relations if answer else ()) if r.role == DECLARATION]
    certain = [relation_location(name.reader, r) for r in prototypes if r.certainty != ONLY_BY_NAME]
    return certain or find_locations(name)


@answers_about_name("typeDefinition", types.TEXT_DOCUMENT_TYPE_DEFINITION)
def find_type_definition(name: NameInFile, _: types.TypeDefinitionParams) -> list[types.Location]:
    """The type of a value."""
    type_ = find_type(name)
    return [name.reader.unit_location(unit) for unit in name.reader.sorted_units([type_.id])] if type_ else []


def find_type(name: NameInFile) -> Definition | None:
    """The type of a name's value, or of what a function returns; the type itself for a type."""
    meaning, values = name.meaning, name.names.values
    if meaning.holder is not None:
        value = values.field(meaning.holder, meaning.reference.name)
    elif not meaning.definitions:
        value = name.names.evaluate(meaning)
    elif (definition := meaning.definitions[0]).kind in TYPE_KINDS:
        return definition
    else:
        function = Value("definition", definition)
        value = values.value_of(definition) if definition.kind in VALUES else values.called(function)
    return value.definition if value is not None and value.how == "object" else None


@answers_about_name("implementation", types.TEXT_DOCUMENT_IMPLEMENTATION)
def find_implementation(name: NameInFile, _: types.ImplementationParams) -> list[types.Location]:
    """The types derived from a type, or the methods that override a method; else the definition."""
    reader = name.reader
    for unit in name.units:
        if unit.kind in TYPE_KINDS:
            below = reader.index.graph.hierarchy(reader.target_of(unit), RelationOptions()).relations
            derived = [r.listed for r in below if not r.outgoing and r.listed.path and not r.again]
            return [reader.line_location(Path(d.root, d.os_path), d, d.name) for d in derived]
    chains = overriding(GraphView(reader, reader.index.info()), [Node(unit.id) for unit in name.units])
    units = reader.sorted_units({node for chain in chains.values() for node in chain})
    return [reader.unit_location(unit) for unit in units] or find_locations(name)


def relation_location(reader: Reader, relation: Relation) -> types.Location:
    """The place that a relation stems from."""
    place = relation.place
    return reader.line_location(Path(place.root, place.os_path), place, relation.target.name)


def find_places(name: NameInFile) -> RelationAnswer | None:
    """The places that name what a name means, as `codelens refs` lists them; None if there is nothing to look for."""
    reader, meaning, word = name.reader, name.meaning, name.meaning.reference.name
    if meaning.definitions:
        target = reader.target_of(name.units[0])
    elif meaning.holder is not None:
        target = f"{meaning.holder.qualified}.{word}"
    elif meaning.key[0] == MODULE:
        target = reader.path_of(reader.row(meaning.declared[0][0])).as_posix()
    elif meaning.is_known or meaning.token.role != TEXT:
        target = f"{reader.path_of(name.names.document).as_posix()}:{meaning.reference.line}:{word}"
    else:
        return None
    try:
        return reader.index.graph.refs(target, RelationOptions())
    except TargetError:
        return None


@answers_about_name("references", types.TEXT_DOCUMENT_REFERENCES)
def find_references(name: NameInFile, params: types.ReferenceParams) -> list[types.Location]:
    """The places, the surest first."""
    reader, with_declarations = name.reader, params.context.include_declaration
    if name.meaning.is_local:
        return [reader.location(name.names.document, start, end) for start, end, _ in find_same_names(name)]
    locations = find_locations(name) if with_declarations and not name.meaning.is_guess else []
    answer = find_places(name)
    for relation in answer.relations if answer else ():
        if relation.place.line and (with_declarations or relation.role not in (DEFINITION, DECLARATION)):
            locations.append(relation_location(reader, relation))
    return list({(one.uri, one.range.start.line, one.range.start.character): one for one in locations}.values())


def find_same_names(name: NameInFile) -> Iterator[tuple[int, int, str]]:
    """(start, end, role) of each name in the file that means the same."""
    names, meaning, word = name.names, name.meaning, name.meaning.reference.name
    for token in names.tokens(word):
        is_same = token == meaning.token or (meaning.is_known and names.read(token, word).key == meaning.key)
        if is_same and token.role != TEXT:
            yield names.source.map.to_original(token.start), names.source.map.to_original(token.end), token.role


@answers_about_name("documentHighlight", types.TEXT_DOCUMENT_DOCUMENT_HIGHLIGHT)
def find_highlights(name: NameInFile, _: types.DocumentHighlightParams) -> list[types.DocumentHighlight]:
    """The places in the file that mean the same."""
    kinds = dict.fromkeys(WRITTEN, types.DocumentHighlightKind.Write)
    return [
        types.DocumentHighlight(name.names.source.range(start, end), kinds.get(role, types.DocumentHighlightKind.Read))
        for start, end, role in (find_same_names(name) if name.meaning.is_known else ())
    ]


@answers_about_name("hover", types.TEXT_DOCUMENT_HOVER)
def hover(name: NameInFile, _: types.HoverParams) -> types.Hover | None:
    """The signature, the documentation and the numbers of callers."""
    text, source, kind = "\n\n".join(filter(None, describe(name))), name.names.source, types.MarkupKind.Markdown
    if not name.reader.request.options["markdown"]:
        kind, text = types.MarkupKind.PlainText, re.sub(r"^```\w*\n|\n```$", "", text, flags=re.MULTILINE)
    where = source.range(*map(source.map.to_original, name.meaning.token[:2]))
    return types.Hover(types.MarkupContent(kind, text), where) if text else None


def describe(name: NameInFile) -> Iterator[str]:
    """Describe what a name means, in paragraphs."""
    reader, meaning = name.reader, name.meaning
    for unit in name.units[:MOST_HOVERED]:
        edges = list(reader.edges.incoming([unit.id], ("calls", "tests")))
        callers, tests = ({e.source for e in edges if e.kind == kind} for kind in ("calls", "tests"))
        counts = f", {quantity(len(callers), 'caller')}, {quantity(len(tests), 'test')}" if edges else ""
        yield f"```{unit.language}\n{unit.signature or f'{unit.kind} {unit.qualified_name}'}\n```"
        yield unit.doc[:LONGEST_DOC]
        yield f"{unit.kind} {unit.qualified_name} in {unit.path}:{unit.name_line}{counts}"
    if len(name.units) > MOST_HOVERED:
        yield f"and {len(name.units) - MOST_HOVERED} more definitions of this name"
    for document, start in meaning.declared:
        row, source = reader.row(document), reader.source(reader.row(document))
        line, _ = source.map.line_column(source.map.to_utf8(start))
        if meaning.key[0] == MODULE:
            yield f"module {row.path}"
        else:
            yield f"```{row.language}\n{source.line(line - 1).decode('utf-8', 'replace').strip()}\n```"
            yield f"{f'field of {meaning.holder.qualified}, ' if meaning.holder else ''}{row.path}:{line}"
    if meaning.is_known and not meaning.definitions and (type_ := find_type(name)):
        yield f"type: {type_.qualified}"


@answers_about_name("callHierarchy", types.TEXT_DOCUMENT_PREPARE_CALL_HIERARCHY)
def prepare_calls(name: NameInFile, _: types.CallHierarchyPrepareParams) -> list[types.CallHierarchyItem]:
    """The definitions that the name at a position may mean."""
    view = GraphView(name.reader, name.reader.index.info())
    return [make_item(types.CallHierarchyItem, name.reader, view.named(Node(unit.id))) for unit in name.units]


@answers_about_name("typeHierarchy", types.TEXT_DOCUMENT_PREPARE_TYPE_HIERARCHY)
def prepare_types(name: NameInFile, _: types.TypeHierarchyPrepareParams) -> list[types.TypeHierarchyItem]:
    """The types that the name at a position may mean."""
    view, units = GraphView(name.reader, name.reader.index.info()), [u for u in name.units if u.kind in TYPE_KINDS]
    return [make_item(types.TypeHierarchyItem, name.reader, view.named(Node(unit.id))) for unit in units]


def make_item(item_type: type[Item], reader: Reader, named: NamedNode) -> Item:
    """An item of a hierarchy."""
    file = Path(named.root, named.os_path)
    whole = reader.location(reader.document(file), named.start_byte, named.end_byte)
    where = reader.line_location(file, named, "" if named.kind == FILE else named.name).range
    return item_type(named.name, to_symbol_kind(named.kind), whole.uri, whole.range, where, detail=named.path)


def answer_relations(feature: str, method: str, ask: Ask, is_outgoing: bool, make: Callable[..., object]) -> None:
    """Register the answer to what lies next to an item: each other item, with the places that lead from one to the other."""

    @answers(feature, method)
    def find_related(request: LspRequest, params: Any) -> list[object]:
        item, ranges = params.item, dict[NamedNode, list[types.Range]]()

        def find(name: NameInFile) -> list[object]:
            for unit in name.units[:1]:
                answer = ask(name.reader.index.graph, name.reader.target_of(unit), RelationOptions(depth=1))
                for relation in answer.relations:
                    if relation.outgoing is is_outgoing and relation.listed.path:
                        ranges.setdefault(relation.listed, []).append(relation_location(name.reader, relation).range)
            return [make(make_item(type(item), name.reader, named), places) for named, places in ranges.items()]

        return request.about_name(item.uri, item.selection_range.start, find) or []


CALLS, TYPES = "callHierarchy", "typeHierarchy"
answer_relations(CALLS, types.CALL_HIERARCHY_INCOMING_CALLS, GraphTopic.callers, False, types.CallHierarchyIncomingCall)
answer_relations(CALLS, types.CALL_HIERARCHY_OUTGOING_CALLS, GraphTopic.callees, True, types.CallHierarchyOutgoingCall)
answer_relations(TYPES, types.TYPE_HIERARCHY_SUPERTYPES, GraphTopic.hierarchy, True, lambda item, _: item)
answer_relations(TYPES, types.TYPE_HIERARCHY_SUBTYPES, GraphTopic.hierarchy, False, lambda item, _: item)
