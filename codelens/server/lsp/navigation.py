"""Requests about the name at a position: where it is defined and used, and what it is."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from lsprotocol import types

from codelens.errors import TargetError
from codelens.graph.view import GraphView, overriding
from codelens.lang.tokens import DECLARATION, DEFINITION, PARAMETER, TEXT, UNPACK, WRITE
from codelens.linking.evaluator import VALUES, Value
from codelens.linking.facts import Definition
from codelens.model.code import TYPE_KINDS
from codelens.model.graph import ONLY_BY_NAME, Node, Related, Relation, RelationOptions
from codelens.server.lsp.names import MODULE
from codelens.server.lsp.workspace import NameInFile, Reader, about_name
from codelens.text.counts import quantity

MOST_HOVERED = 3  # Definitions that a hover shows
LONGEST_DOC = 4000
WRITTEN = (DEFINITION, DECLARATION, WRITE, UNPACK, PARAMETER)  # Roles of names that are given a meaning


def find_locations(found: NameInFile) -> list[types.Location]:
    """The places where a name is defined or declared."""
    reader, meaning = found.reader, found.meaning
    locations = [reader.unit_location(unit) for unit in reader.units(d.id for d in meaning.definitions)]
    name = b"" if meaning.key[0] == MODULE else meaning.reference.name.encode()
    for document, declared in meaning.declared:
        row = reader.row(document)
        text, start = reader.source(row).map, reader.source(row).map.to_utf8(declared)
        start = max(text.utf8.find(name, start), start)
        locations.append(reader.location(row, text.to_original(start), text.to_original(start + len(name))))
    return locations


@about_name
def find_definition(found: NameInFile, params: types.DefinitionParams) -> list[types.Location]:
    """The definition; several if only the name is known."""
    return find_locations(found)


@about_name
def find_declaration(found: NameInFile, params: types.DeclarationParams) -> list[types.Location]:
    """Prototypes, as C has them, else the definition."""
    answer = find_references_of(found) if found.names.facts.file.language.kin == "c" else None
    prototypes = [
        r for r in (answer.relations if answer else ()) if r.role == DECLARATION and r.certainty != ONLY_BY_NAME
    ]
    return [relation_location(found.reader, r) for r in prototypes] or find_locations(found)


@about_name
def find_type_definition(found: NameInFile, params: types.TypeDefinitionParams) -> list[types.Location]:
    """The type of a value."""
    type_ = find_type(found)
    return [found.reader.unit_location(unit) for unit in found.reader.units([type_.id])] if type_ else []


def find_type(found: NameInFile) -> Definition | None:
    """The type of a name's value, or of what a function returns; the type itself for a type."""
    meaning, values = found.meaning, found.reader.resolver(found.names.document.repository).values
    if meaning.holder is not None:
        value = values.field(meaning.holder, meaning.reference.name)
    elif not meaning.definitions:
        value = found.names.evaluate(meaning)
    elif (definition := meaning.definitions[0]).kind in TYPE_KINDS:
        return definition
    else:
        named = Value("definition", definition)
        value = values.value_of(definition) if definition.kind in VALUES else values.called(named)
    return value.definition if value is not None and value.how == "object" else None


@about_name
def find_implementation(found: NameInFile, params: types.ImplementationParams) -> list[types.Location]:
    """The types derived from a type, or the methods that override a method; else the definition."""
    reader, units = found.reader, found.reader.units(d.id for d in found.meaning.definitions)
    for unit in units:
        if unit.kind in TYPE_KINDS:
            below = reader.index.graph.hierarchy(reader.target(unit), RelationOptions()).relations
            derived = [r.listed for r in below if not r.outgoing and r.listed.path and not r.again]
            return [reader.line_location(Path(d.root, d.os_path), d, d.name) for d in derived]
    view = GraphView(reader.store, reader.index.info())
    nodes = {node for some in overriding(view, [Node(unit.id) for unit in units]).values() for node in some}
    return [reader.unit_location(unit) for unit in reader.units(nodes)] or find_locations(found)


def relation_location(reader: Reader, relation: Relation) -> types.Location:
    """The place that a relation stems from."""
    place = relation.place
    return reader.line_location(Path(place.root, place.os_path), place, relation.target.name)


def find_references_of(found: NameInFile) -> Related | None:
    """The places that name what a name means, as `codelens refs` lists them; None if there is nothing to look for."""
    reader, meaning, name = found.reader, found.meaning, found.meaning.reference.name
    if meaning.definitions:
        target = reader.target(reader.units([meaning.definitions[0].id])[0])
    elif meaning.holder is not None:
        target = f"{meaning.holder.qualified}.{name}"
    elif meaning.key[0] == MODULE:
        target = reader.path(reader.row(meaning.declared[0][0])).as_posix()
    elif meaning.is_known or meaning.token.role != TEXT:
        target = f"{reader.path(found.names.document).as_posix()}:{meaning.reference.line}:{name}"
    else:
        return None
    try:
        return reader.index.graph.refs(target, RelationOptions())
    except TargetError:
        return None


@about_name
def find_references(found: NameInFile, params: types.ReferenceParams) -> list[types.Location]:
    """The places, the surest first."""
    if found.meaning.is_local:
        return [found.reader.location(found.names.document, start, end) for start, end, _ in find_same_names(found)]
    answer, is_declared_too = find_references_of(found), params.context.include_declaration
    locations = find_locations(found) if is_declared_too and not found.meaning.is_guess else []
    for relation in answer.relations if answer else ():
        if relation.place.line and (is_declared_too or relation.role not in (DEFINITION, DECLARATION)):
            locations.append(relation_location(found.reader, relation))
    return list({(one.uri, one.range.start.line, one.range.start.character): one for one in locations}.values())


def find_same_names(found: NameInFile) -> Iterator[tuple[int, int, str]]:
    """(start, end, role) of each name in the file that means the same."""
    names, meaning, name = found.names, found.meaning, found.meaning.reference.name
    for token in names.tokens(name):
        is_same = token == meaning.token or (meaning.is_known and names.read(token, name).key == meaning.key)
        if is_same and token.role != TEXT:
            yield names.source.map.to_original(token.start), names.source.map.to_original(token.end), token.role


@about_name
def find_highlights(found: NameInFile, params: types.DocumentHighlightParams) -> list[types.DocumentHighlight]:
    """The places in the file that mean the same."""
    kinds = dict.fromkeys(WRITTEN, types.DocumentHighlightKind.Write)
    return [
        types.DocumentHighlight(found.names.source.range(start, end), kinds.get(role, types.DocumentHighlightKind.Read))
        for start, end, role in (find_same_names(found) if found.meaning.is_known else ())
    ]


@about_name
def hover(found: NameInFile, params: types.HoverParams) -> types.Hover | None:
    """The signature, the documentation and the numbers of callers."""
    meaning, source, is_markdown = found.meaning, found.names.source, found.request.options["markdown"]
    if not meaning.is_known:
        return None
    parts = [part for part in _describe(found) if part]
    if not meaning.definitions and (type_ := find_type(found)):
        parts.append(f"type: {type_.qualified}")
    text = "\n\n".join(parts)
    text = text if is_markdown else re.sub(r"^```\w*\n|\n```$", "", text, flags=re.MULTILINE)
    kind = types.MarkupKind.Markdown if is_markdown else types.MarkupKind.PlainText
    return types.Hover(types.MarkupContent(kind, text), source.range(*map(source.map.to_original, meaning.token[:2])))


def _describe(found: NameInFile) -> Iterator[str]:
    """Describe what a name means, in paragraphs."""
    reader, meaning = found.reader, found.meaning
    units = reader.units(d.id for d in meaning.definitions)
    for unit in units[:MOST_HOVERED]:
        edges = list(reader.store.edges.incoming([unit.id], ("calls", "tests")))
        callers, tests = ({e.source for e in edges if e.kind == kind} for kind in ("calls", "tests"))
        counts = f", {quantity(len(callers), 'caller')}, {quantity(len(tests), 'test')}" if edges else ""
        yield f"```{unit.language}\n{unit.signature or f'{unit.kind} {unit.qualified_name}'}\n```"
        yield unit.doc[:LONGEST_DOC]
        yield f"{unit.kind} {unit.qualified_name} in {unit.path}:{unit.name_line}{counts}"
    if len(units) > MOST_HOVERED:
        yield f"and {len(units) - MOST_HOVERED} more definitions of this name"
    for document, start in meaning.declared:
        row = reader.row(document)
        if meaning.key[0] == MODULE:
            yield f"module {row.path}"
            continue
        source = reader.source(row)
        line, _ = source.map.line_column(source.map.to_utf8(start))
        yield f"```{row.language}\n{source.line(line - 1).decode('utf-8', 'replace').strip()}\n```"
        yield f"{f'field of {meaning.holder.qualified}, ' if meaning.holder else ''}{row.path}:{line}"
