"""Requests about the name at a position: where it is defined and used, what it is, and renaming it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from lsprotocol import types

from codelens.errors import TargetError, UsageError
from codelens.graph.view import overriding
from codelens.lang.tokens import DECLARATION, DEFINITION, KEY, TEXT, UNPACK
from codelens.linking.evaluator import VALUES, Value
from codelens.linking.facts import Definition
from codelens.model.code import TYPE_KINDS, Freshness
from codelens.model.graph import ONLY_BY_NAME, SURE, Named, Node, Related, Relation, RelationOptions
from codelens.server.lsp.folders import LspRequest, Reader
from codelens.server.lsp.name_resolution import NameMeaning, Names
from codelens.store.documents import DocumentRow
from codelens.text.counts import quantity

MOST_HOVERED = 3  # Definitions that a hover shows
LONGEST_DOC = 4000
_ALL = re.compile(rb"^__all__[^\[(]*[\[(][^\])]*", re.MULTILINE)
NAMED_ARGUMENTS = ("python", "kotlin", "csharp", "swift", "scala", "ruby", "php", "dart", "julia", "elixir")
"""Languages in which a call may name a parameter."""


def locations(reader: Reader, meaning: NameMeaning | None) -> list[types.Location]:
    """The places where a name is defined or declared."""
    if meaning is None:
        return []
    found = [reader.unit_location(unit) for unit in reader.units(d.id for d in meaning.definitions)]
    name = meaning.reference.name.encode()
    for place in meaning.declared:
        document = reader.row(place.document)
        source = reader.source(document)
        start = max(source.map.utf8.find(name, source.map.to_utf8(place.start)), source.map.to_utf8(place.start))
        found.append(reader.location(document, *map(source.map.to_original, (start, start + len(name)))))
    return found + [reader.location(reader.row(document), 0, 0) for document in meaning.modules]


def find_definition(request: LspRequest, params: types.DefinitionParams) -> list[types.Location]:
    """The definition; several if only the name is known."""
    with request.meaning(params.text_document.uri, params.position) as (reader, _, meaning):
        return locations(reader, meaning)


def find_declaration(request: LspRequest, params: types.DeclarationParams) -> list[types.Location]:
    """Prototypes, as C has them, else the definition."""
    with request.meaning(params.text_document.uri, params.position) as (reader, names, meaning):
        answer = find_named_places(reader, names, meaning) if names.facts.file.language.kin == "c" else None
        found = [r for r in answer.relations if r.role == DECLARATION and r.certainty != ONLY_BY_NAME] if answer else []
        return [relation_location(reader, r) for r in found] or locations(reader, meaning)


def find_type_definition(request: LspRequest, params: types.TypeDefinitionParams) -> list[types.Location]:
    """The type of a value."""
    with request.meaning(params.text_document.uri, params.position) as (reader, names, meaning):
        value = find_type(reader, names, meaning) if meaning else None
        return (
            [reader.unit_location(unit) for unit in reader.units([value.definition.id])]
            if (value is not None and value.definition is not None)
            else []
        )


def find_type(reader: Reader, names: Names, meaning: NameMeaning) -> Value | None:
    """The type of a name's value, or of what a function returns; the type itself for a type."""
    values = reader.resolver(names.document.repository).values
    if meaning.holder is not None:
        value = values.field(meaning.holder, meaning.reference.name)
    elif not meaning.definitions:
        value = names.evaluate(meaning)
    elif (definition := meaning.definitions[0]).kind in TYPE_KINDS:
        return Value("object", definition)
    else:
        found = Value("definition", definition)
        value = values.value_of(definition) if definition.kind in VALUES else values.called(found)
    is_typed = value is not None and value.how == "object" and value.definition is not None
    return value if is_typed else None


def find_implementation(request: LspRequest, params: types.ImplementationParams) -> list[types.Location]:
    """The types derived from a type, or the methods that override a method; else the definition."""
    with request.meaning(params.text_document.uri, params.position) as (reader, _, meaning):
        units = reader.units(d.id for d in meaning.definitions) if meaning else []
        nodes = [Node(unit.id) for unit in units]
        found = sorted({node for some in overriding(reader.view(), nodes).values() for node in some})
        for unit in units:
            if unit.kind in TYPE_KINDS:
                below = reader.index.graph.hierarchy(reader.target(unit), RelationOptions()).relations
                return [
                    named_location(reader, r.listed) for r in below if not r.outgoing and r.listed.path and not r.again
                ]
        return [reader.unit_location(unit) for unit in reader.units(found)] or locations(reader, meaning)


def named_location(reader: Reader, named: Named) -> types.Location:
    """The name of a definition in an answer."""
    document = reader.document_at(named)
    source = reader.source(document)
    start = source.map.to_original(source.map.line_starts[named.line - 1] + named.column - 1)
    return reader.location(document, start, start + len(named.name.encode()))


def relation_location(reader: Reader, relation: Relation) -> types.Location:
    """The place that a relation stems from."""
    place = relation.place
    return reader.line_location(place, Path(place.root, place.os_path), relation.target.name)


def find_named_places(reader: Reader, names: Names, meaning: NameMeaning | None) -> Related | None:
    """The places that name what a name means, as `codelens refs` lists them; None if there is nothing to look for."""
    if meaning is None or (meaning.token.role == TEXT and not meaning.key):
        return None
    graph, name = reader.index.graph, meaning.reference.name
    if meaning.definitions:
        target = reader.target(reader.units([meaning.definitions[0].id])[0])
    elif meaning.holder is not None:
        target = f"{meaning.holder.qualified}.{name}"
    elif meaning.modules:
        target = reader.file_target(reader.row(meaning.modules[0]))
    else:
        target = f"{reader.file_target(names.document)}:{meaning.reference.line}:{name}"
    try:
        return graph.refs(target, RelationOptions())
    except TargetError:
        return None


def find_references(request: LspRequest, params: types.ReferenceParams) -> list[types.Location]:
    """The places, the surest first."""
    with request.meaning(params.text_document.uri, params.position) as (reader, names, meaning):
        if meaning is not None and meaning.is_local:
            return [reader.location(names.document, *span) for span, _ in same_names(names, meaning)]
        answer = find_named_places(reader, names, meaning)
        places = [r for r in answer.relations if r.place.line] if answer else []
        own = (
            locations(reader, meaning)
            if params.context.include_declaration and not (meaning and meaning.is_guess)
            else []
        )
        if not params.context.include_declaration:
            places = [r for r in places if r.role not in (DEFINITION, DECLARATION)]
        found = own + [relation_location(reader, r) for r in places]
        return list({(one.uri, one.range.start.line, one.range.start.character): one for one in found}.values())


def same_names(names: Names, meaning: NameMeaning) -> Iterator[tuple[tuple[int, int], str]]:
    """((start, end), role) of each name in the file that means the same."""
    name, to_original = meaning.reference.name, names.source.map.to_original
    for token in names.tokens(name):
        if token.role != TEXT and (
            token == meaning.token or (meaning.key and names.read(token, name).key == meaning.key)
        ):
            yield (to_original(token.start), to_original(token.end)), token.role


def find_highlights(request: LspRequest, params: types.DocumentHighlightParams) -> list[types.DocumentHighlight]:
    """The places in the file that mean the same."""
    with request.meaning(params.text_document.uri, params.position) as (_, names, meaning):
        if meaning is None or not meaning.key:
            return []
        written = (DEFINITION, DECLARATION, "write", UNPACK, "parameter")
        kinds = dict.fromkeys(written, types.DocumentHighlightKind.Write)
        return [
            types.DocumentHighlight(names.source.range(*span), kinds.get(role, types.DocumentHighlightKind.Read))
            for span, role in same_names(names, meaning)
        ]


def hover(request: LspRequest, params: types.HoverParams) -> types.Hover | None:
    """The signature, the documentation and the numbers of callers."""
    with request.meaning(params.text_document.uri, params.position) as (reader, names, meaning):
        if meaning is None or not meaning.key:
            return None
        parts = list(_hovered(reader, meaning))
        if not meaning.definitions and (value := find_type(reader, names, meaning)) and value.definition:
            parts.append(f"type: {value.definition.qualified}")
        text = "\n\n".join(filter(None, parts))
        if not request.options["markdown"]:
            text = re.sub(r"^```\w*\n|\n```$", "", text, flags=re.MULTILINE)
        kind = types.MarkupKind.Markdown if request.options["markdown"] else types.MarkupKind.PlainText
        start, end = map(names.source.map.to_original, meaning.token[:2])
        return types.Hover(types.MarkupContent(kind, text), names.source.range(start, end)) if text else None


def _hovered(reader: Reader, meaning: NameMeaning) -> Iterator[str]:
    units = reader.units(d.id for d in meaning.definitions)
    for unit in units[:MOST_HOVERED]:
        signature = unit.signature or f"{unit.kind} {unit.qualified_name}"
        edges = list(reader.store.edges.incoming([unit.id], ("calls", "tests")))
        callers, tests = ({e.source for e in edges if e.kind == kind} for kind in ("calls", "tests"))
        counts = f", {quantity(len(callers), 'caller')}, {quantity(len(tests), 'test')}" if edges else ""
        yield f"```{unit.language}\n{signature}\n```"
        yield unit.doc[:LONGEST_DOC]
        yield f"{unit.kind} {unit.qualified_name} in {unit.path}:{unit.name_line}{counts}"
    if len(units) > MOST_HOVERED:
        yield f"and {len(units) - MOST_HOVERED} more definitions of this name"
    for place in meaning.declared:
        document = reader.row(place.document)
        source = reader.source(document)
        line, _ = source.map.line_column(source.map.to_utf8(place.start))
        yield f"```{document.language}\n{source.line(line - 1).decode('utf-8', 'replace').strip()}\n```"
        holder = f"field of {meaning.holder.qualified}, " if meaning.holder else ""
        yield f"{holder}{document.path}:{line}"
    yield from (f"module {reader.row(document).path}" for document in meaning.modules)


def prepare_rename(request: LspRequest, params: types.PrepareRenameParams) -> types.PrepareRenamePlaceholder:
    """The name to replace. Raises UsageError if it cannot be renamed."""
    with request.meaning(params.text_document.uri, params.position) as (_, names, meaning):
        known = renamable(meaning)
        span = map(names.source.map.to_original, known.token[:2])
        return types.PrepareRenamePlaceholder(names.source.range(*span), known.reference.name)


def renamable(meaning: NameMeaning | None) -> NameMeaning:
    """The meaning, if it is one thing whose places can be known."""
    if meaning is None or not meaning.key or meaning.modules or meaning.key[0] == "import":
        raise UsageError("no definition of this workspace is named here, so it cannot be renamed")
    if meaning.is_guess or meaning.token.role == TEXT:
        raise UsageError(f"it is not certain what {meaning.reference.name} means here, so it cannot be renamed")
    return meaning


def rename(request: LspRequest, params: types.RenameParams) -> types.WorkspaceEdit:
    """The edits. Raises UsageError unless every place is certain."""
    if not re.fullmatch(r"[^\W\d]\w*[?!]?", params.new_name):
        raise UsageError(f"{params.new_name!r} is not a name")
    with request.meaning(params.text_document.uri, params.position) as (reader, names, meaning):
        known = renamable(meaning)
        places = local_places(names, known) if known.is_local else certain_places(reader, names, known)
        is_taken = any(_is_taken(d, params.new_name) for d in known.definitions)
        if is_taken or any(names.read(t, params.new_name).key == known.key for t in names.tokens(params.new_name)):
            raise UsageError(f"{params.new_name} is defined there already")
        edits: dict[str, list[types.TextEdit]] = {}
        for document, start, end in sorted(set(places), key=lambda place: (place[0].path, place[1])):
            where = reader.source(document).range(start, end)
            edits.setdefault(reader.uri(document), []).append(types.TextEdit(where, params.new_name))
        return types.WorkspaceEdit(changes=edits)


Place = tuple[DocumentRow, int, int]


def local_places(names: Names, known: NameMeaning) -> list[Place]:
    """The places of a local name. Raises UsageError for a parameter that callers may name."""
    found = list(same_names(names, known))
    function = names.facts.definitions[u] if (u := known.reference.unit) is not None else None
    heads = [d for d in (function, function.parent if function else None) if d is not None]
    bodies: dict[int, int] = {row.id: row.body_start for row in names.rows}
    in_head = any(d.start <= known.declared[0].start < bodies.get(d.id, d.start) for d in heads)
    if in_head and names.document.language in NAMED_ARGUMENTS:
        raise UsageError(f"{known.reference.name} is a parameter, which calls may name: it cannot be renamed safely")
    if any(role in (KEY, UNPACK) for _, role in found):
        raise UsageError(f"{known.reference.name} is also the name of a field or argument: it cannot be renamed safely")
    return [(names.document, *span) for span, _ in found]


def certain_places(reader: Reader, names: Names, known: NameMeaning) -> Iterator[Place]:
    """The places of a definition or field. Raises UsageError if one is uncertain, or its file has changed."""
    answer, name = find_named_places(reader, names, known), known.reference.name
    places = [r for r in answer.relations if r.span.end] if answer else []
    if unsure := [r for r in places if r.certainty != SURE]:
        first = unsure[0].place
        where = f"the first is {first.path}:{first.line}"
        raise UsageError(f"{quantity(len(unsure), 'place')} of {name} cannot be resolved with certainty; {where}")
    if reader.folder.upkeep.work().doing:
        raise UsageError("the index is being updated and may lack places: try again when it is done")
    if answer is None or any("not read" in notice.text for notice in answer.notices):
        raise UsageError(f"not all files that have the name {name} could be read, so it cannot be renamed safely")
    for unit in reader.units(d.id for d in known.definitions):
        yield reader.row(unit.document), unit.name_start, unit.name_end
        yield from _exported_places(reader, reader.row(unit.document), name)
    for relation in places:
        document = reader.document_at(relation.place)
        if relation.place.freshness is not Freshness.FRESH and document.id not in reader.store.edited:
            raise UsageError(f"{document.path} has changed since it was indexed: save all files and try again soon")
        yield document, relation.span.start, relation.span.end
        yield from _exported_places(reader, document, name)


def _exported_places(reader: Reader, document: DocumentRow, name: str) -> Iterator[Place]:
    """The name in a Python module's `__all__`."""
    source = reader.source(document)
    for listed in _ALL.finditer(source.map.utf8) if document.language == "python" else ():
        for found in re.finditer(rb"""(["'])%s\1""" % re.escape(name.encode()), listed[0]):
            start = listed.start() + found.start() + 1
            yield document, source.map.to_original(start), source.map.to_original(start + len(name.encode()))


def _is_taken(definition: Definition, name: str) -> bool:
    facts = definition.facts
    return bool(facts.members.get(definition.container, {}).get(name) if definition.container else facts.top.get(name))
