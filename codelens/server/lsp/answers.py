"""Answers requests: about the name at a position, a whole file or the workspace; and the commands of `workspace/executeCommand`.

A command takes an object, and returns one like `--json` of the command line.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from lsprotocol import types
from lsprotocol.converters import get_converter

from codelens.context.counters import open_counter
from codelens.errors import TargetError, UsageError
from codelens.graph.meanings import FIELD, IMPORTED, MODULE, NameReader
from codelens.graph.renames import Place, find_exports, find_places_of_local
from codelens.graph.view import GraphView, find_overriding
from codelens.index import GraphTopic
from codelens.lang.tokens import Role, find_blocks, find_enclosing
from codelens.model.code import CHUNK_KINDS, SYMBOL_KINDS, TYPE_KINDS, Freshness
from codelens.model.context import CHANGE, EVERYTHING, ContextRequest
from codelens.model.graph import FILE, ONLY_BY_NAME, SURE, NamedNode, Node, RelationAnswer, RelationOptions
from codelens.model.search import Hit
from codelens.render.context import make_layout
from codelens.render.paths import PathStyle
from codelens.render.records import Record, build_hit_record
from codelens.render.relations import build_answer_record, format_relations
from codelens.render.why import WhyView, find_first_reason, render_why
from codelens.render.why_json import build_why_record
from codelens.server.lsp.workspace import UNREADABLE, LspRequest, NameInFile, Reader, parse_uri
from codelens.text.counts import quantity
from codelens.worktree.files import check_freshness

MOST_HOVERED = 3  # Most definitions that a hover shows
LONGEST_DOC = 4000
MOST_SYMBOLS = 100  # Most symbols of a workspace in one answer
BUDGET = 8000  # Default number of tokens of a context pack
WRITTEN = (Role.DEFINITION, Role.DECLARATION, Role.WRITE, Role.UNPACK, Role.PARAMETER)
"""Roles in which a name is defined or assigned."""
Item = TypeVar("Item", types.CallHierarchyItem, types.TypeHierarchyItem)
Ask = Callable[[GraphTopic, str, RelationOptions], RelationAnswer]
Argument = Mapping[str, Any]
Locations = list[types.Location]


def convert_kind(kind: str) -> types.SymbolKind:
    """Convert a kind of unit to the protocol's kind of symbol."""
    names = {"trait": "Interface", "type": "Class", "macro": "Constant", "section": "String"}
    return types.SymbolKind.__members__.get(names.get(kind, kind.title()), types.SymbolKind.Variable)


def find_definition(name: NameInFile, _: types.DefinitionParams) -> Locations:
    """Find the definition; several if only the name is known, not what it means."""
    if (typedef := name.names.find_typedef(name.meaning)) is not None:
        document, start = typedef
        return [name.reader.locate(document, start, start + len(name.names.name.encode()))]
    return find_locations(name)


def find_locations(name: NameInFile) -> Locations:
    """Find the places where a name is defined or declared."""
    reader, meaning = name.reader, name.meaning
    locations = [reader.locate_unit(unit) for unit in name.units]
    word = b"" if meaning.key[0] == MODULE else meaning.reference.name.encode()
    for document, declared in meaning.declared:
        text = reader.read_source(reader.read_row(document))
        start = max(text.utf8.find(word, text.to_utf8(declared)), text.to_utf8(declared))
        locations.append(reader.locate(document, *map(text.to_original, (start, start + len(word)))))
    return locations


def find_declaration(name: NameInFile, _: types.DeclarationParams) -> Locations:
    """Find the prototypes of a C function, else the definition."""
    answer = find_places(name) if name.names.facts.file.language.kin == "c" else None
    certain = [r for r in (answer.relations if answer else ()) if r.certainty != ONLY_BY_NAME]
    prototypes = [name.reader.locate_line(r.place, r.target.name) for r in certain if r.role == Role.DECLARATION]
    return prototypes or find_locations(name)


def find_type_definition(name: NameInFile, _: types.TypeDefinitionParams) -> Locations:
    """Find the type of a value."""
    type_ = name.names.find_type(name.meaning)
    return [name.reader.locate_unit(unit) for unit in name.reader.read_units([type_.id])] if type_ else []


def find_implementation(name: NameInFile, _: types.ImplementationParams) -> Locations:
    """Find the types derived from a type, or the methods that override a method; else the definition."""
    reader = name.reader
    for unit in name.units:
        if unit.kind in TYPE_KINDS:
            below = reader.index.graph.hierarchy(reader.format_target(unit), RelationOptions()).relations
            derived = [r.listed for r in below if not r.outgoing and r.listed.path and not r.again]
            return [reader.locate_line(d, d.name) for d in derived]
    chains = find_overriding(GraphView(reader, reader.index.info()), [Node(unit.id) for unit in name.units])
    units = reader.read_units({node for chain in chains.values() for node in chain})
    return [reader.locate_unit(unit) for unit in units] or find_locations(name)


def find_places(name: NameInFile) -> RelationAnswer | None:
    """Find all references to the meaning of a name, as `codelens refs` does; None if the name has no known meaning."""
    reader, meaning, word = name.reader, name.meaning, name.meaning.reference.name
    if meaning.definitions:
        target = reader.format_target(name.units[0])
    elif meaning.key[0] == FIELD and meaning.holder is not None:
        target = f"{meaning.holder.qualified}.{word}"
    elif meaning.key[0] == MODULE:
        target = reader.find_path(reader.read_row(meaning.declared[0][0])).as_posix()
    elif meaning.is_known or meaning.token.role != Role.TEXT:
        target = f"{reader.find_path(name.names.document).as_posix()}:{meaning.reference.line}:{word}"
    else:
        return None
    try:
        return reader.index.graph.refs(target, RelationOptions())
    except TargetError:
        return None


def find_references(name: NameInFile, params: types.ReferenceParams) -> Locations:
    """Find the references to a name, the most certain first."""
    reader, names, with_declarations = name.reader, name.names, params.context.include_declaration
    if name.meaning.is_local:
        return [reader.locate(*names.make_place(token)) for token in names.find_same_tokens(name.meaning)]
    locations = find_locations(name) if with_declarations and not name.meaning.is_guess else []
    answer = find_places(name)
    for relation in answer.relations if answer else ():
        if relation.place.line and (with_declarations or relation.role not in (Role.DEFINITION, Role.DECLARATION)):
            locations.append(reader.locate_line(relation.place, relation.target.name))
    return list({(one.uri, one.range.start.line, one.range.start.character): one for one in locations}.values())


def find_highlights(name: NameInFile, _: types.DocumentHighlightParams) -> list[types.DocumentHighlight]:
    """Find the occurrences of a name in the file that have the same meaning."""
    tokens = name.names.find_same_tokens(name.meaning) if name.meaning.is_known else ()
    where, kinds = name.source.to_token_range, types.DocumentHighlightKind
    return [types.DocumentHighlight(where(t), kinds.Write if t.role in WRITTEN else kinds.Read) for t in tokens]


def describe_name(name: NameInFile, _: types.HoverParams) -> types.Hover | None:
    """Describe a name for a hover: its signature, documentation and number of callers."""
    text, kind = "\n\n".join(filter(None, describe_meaning(name))), types.MarkupKind.Markdown
    if not name.reader.request.options["markdown"]:
        kind, text = types.MarkupKind.PlainText, re.sub(r"^```\w*\n|\n```$", "", text, flags=re.MULTILINE)
    where = name.source.to_token_range(name.meaning.token)
    return types.Hover(types.MarkupContent(kind, text), where) if text else None


def describe_meaning(name: NameInFile) -> Iterator[str]:
    """Describe what a name means, in paragraphs."""
    reader, meaning = name.reader, name.meaning
    for unit in name.units[:MOST_HOVERED]:
        edges = list(reader.edges.find_incoming([unit.id], ("calls", "tests")))
        callers, tests = ({e.source for e in edges if e.kind == kind} for kind in ("calls", "tests"))
        counts = f", {quantity(len(callers), 'caller')}, {quantity(len(tests), 'test')}" if edges else ""
        yield f"```{unit.language}\n{unit.signature or f'{unit.kind} {unit.qualified_name}'}\n```"
        yield unit.doc[:LONGEST_DOC]
        yield f"{unit.kind} {unit.qualified_name} in {unit.path}:{unit.name_line}{counts}"
    if len(name.units) > MOST_HOVERED:
        yield f"and {len(name.units) - MOST_HOVERED} more definitions of this name"
    for document, start in meaning.declared:
        row, source = reader.read_row(document), reader.read_source(reader.read_row(document))
        line, _ = source.find_line_column(source.to_utf8(start))
        if meaning.key[0] == MODULE:
            yield f"module {row.path}"
        else:
            yield f"```{row.language}\n{source.read_line(line - 1).decode('utf-8', 'replace').strip()}\n```"
            holder = meaning.holder if meaning.key[0] == FIELD else None
            yield f"{f'field of {holder.qualified}, ' if holder else ''}{row.path}:{line}"
    if meaning.is_known and not meaning.definitions and (type_ := name.names.find_type(meaning)):
        yield f"type: {type_.qualified}"


def prepare_items(
    name: NameInFile, params: types.CallHierarchyPrepareParams | types.TypeHierarchyPrepareParams
) -> list[types.CallHierarchyItem] | list[types.TypeHierarchyItem]:
    """Find the definitions, or for a type hierarchy the types, that the name at a position may mean."""
    view = GraphView(name.reader, name.reader.index.info())
    nodes = [(unit.kind in TYPE_KINDS, view.name_node(Node(unit.id))) for unit in name.units]
    if isinstance(params, types.CallHierarchyPrepareParams):
        return [make_item(types.CallHierarchyItem, name.reader, node) for _, node in nodes]
    return [make_item(types.TypeHierarchyItem, name.reader, node) for is_type, node in nodes if is_type]


def make_item(item_type: type[Item], reader: Reader, named: NamedNode) -> Item:
    """Make an item of a call or type hierarchy."""
    document = reader.find_document(Path(named.root, named.os_path))
    whole = reader.locate(document.id, named.start_byte, named.end_byte)
    where = reader.locate_line(named, "" if named.kind == FILE else named.name).range
    return item_type(named.name, convert_kind(named.kind), whole.uri, whole.range, where, detail=named.path)


RELATED: Mapping[type[Any], tuple[Ask, bool, Callable[..., object]]] = {
    types.CallHierarchyIncomingCallsParams: (GraphTopic.callers, False, types.CallHierarchyIncomingCall),
    types.CallHierarchyOutgoingCallsParams: (GraphTopic.callees, True, types.CallHierarchyOutgoingCall),
    types.TypeHierarchySupertypesParams: (GraphTopic.hierarchy, True, lambda item, _: item),
    types.TypeHierarchySubtypesParams: (GraphTopic.hierarchy, False, lambda item, _: item),
}
"""Parameters of a request → (question about the graph, True to use its outgoing relations, class of an answer's elements)."""


def find_related(request: LspRequest, params: Any) -> list[object]:
    """Find the neighbours of an item in its hierarchy, each with the places that link the two."""
    ask, is_outgoing, make = RELATED[type(params)]

    def find(name: NameInFile) -> list[object]:
        reader, ranges = name.reader, dict[NamedNode, list[types.Range]]()
        for target in map(reader.format_target, name.units[:1]):
            for relation in ask(reader.index.graph, target, RelationOptions(depth=1)).relations:
                if relation.outgoing is is_outgoing and relation.listed.path:
                    where = reader.locate_line(relation.place, relation.target.name)
                    ranges.setdefault(relation.listed, []).append(where.range)
        return [make(make_item(type(params.item), reader, named), places) for named, places in ranges.items()]

    return request.answer_about_name(params.item.uri, params.item.selection_range.start, find) or []


def prepare_rename(name: NameInFile, _: object) -> types.PrepareRenamePlaceholder:
    """Find the name to replace and its range. Raises UsageError unless the name's meaning is certain."""
    meaning = name.meaning
    if not meaning.is_known or meaning.key[0] in (MODULE, IMPORTED):
        raise UsageError("no definition of this workspace is named here, so it cannot be renamed")
    if meaning.is_guess or meaning.token.role == Role.TEXT:
        raise UsageError(f"it is not certain what {meaning.reference.name} means here, so it cannot be renamed")
    return types.PrepareRenamePlaceholder(name.source.to_token_range(meaning.token), meaning.reference.name)


def rename_symbol(name: NameInFile, params: types.RenameParams) -> types.WorkspaceEdit:
    """Make the edits that rename a symbol. Raises UsageError if a place is uncertain, or its file has changed."""
    reader, names, meaning, new = name.reader, name.names, name.meaning, params.new_name
    if not re.fullmatch(r"[^\W\d]\w*[?!]?", new):
        raise UsageError(f"{new!r} is not a name")
    prepare_rename(name, params)
    others = NameReader(name.resolver, names.document, name.source, new)
    is_taken = any(others.read_meaning(token).key == meaning.key for token in others.tokens)
    if is_taken or any(d.facts.members.get(d.container, d.facts.top).get(new) for d in meaning.definitions):
        raise UsageError(f"{new} is defined there already")
    edits = dict[str, list[types.TextEdit]]()
    view = GraphView(reader, reader.index.info())
    places = sorted(set(find_places_of_local(view, names, meaning) if meaning.is_local else find_certain_places(name)))
    for document in map(reader.read_row, dict.fromkeys(document for document, *_ in places)):
        state = check_freshness(reader.find_root(document), document.os_path, document.stamp, document.content_hash)
        if state is not Freshness.FRESH and document.id not in reader.edited:
            raise UsageError(f"{document.path} has changed since it was indexed: save all files and try again soon")
    for place in places:
        where = reader.locate(*place)
        edits.setdefault(where.uri, []).append(types.TextEdit(where.range, new))
    return types.WorkspaceEdit(changes=edits)


def find_certain_places(name: NameInFile) -> Iterator[Place]:
    """Find all places of a definition or field. Raises UsageError if one is uncertain."""
    reader, answer, word = name.reader, find_places(name), name.names.name
    relations = [r for r in answer.relations if r.span.end] if answer else []
    if unsure := [r for r in relations if r.certainty != SURE]:
        where = f"the first is {unsure[0].place.path}:{unsure[0].place.line}"
        raise UsageError(f"{quantity(len(unsure), 'place')} of {word} cannot be resolved with certainty; {where}")
    if reader.folder.upkeep.describe_work().doing:
        raise UsageError("the index is being updated and may lack places: try again when it is done")
    if answer is None or any("not read" in notice.text for notice in answer.notices):
        raise UsageError(f"not all files that have the name {word} could be read, so it cannot be renamed safely")
    places: list[Place] = [(unit.document, unit.name_start, unit.name_end) for unit in name.units]
    for relation in relations:
        document = reader.find_document(Path(relation.place.root, relation.place.os_path))
        places.append((document.id, relation.span.start, relation.span.end))
    yield from places
    for document in map(reader.read_row, dict.fromkeys(document for document, *_ in places)):
        yield from find_exports(document, reader.read_source(document), word)


def find_symbols(request: LspRequest, params: types.DocumentSymbolParams) -> list[types.DocumentSymbol]:
    """List the definitions of a file, or the headings of a document, nested."""
    text, top = request.read_text(params.text_document.uri), list[types.DocumentSymbol]()
    inside = dict[int | None, list[types.DocumentSymbol]]()
    for number, unit in enumerate(text.extraction.units):
        if unit.name and (unit.kind not in CHUNK_KINDS or unit.kind == "section"):
            whole, children = text.to_range(unit.span.start, unit.span.end), list[types.DocumentSymbol]()
            name = text.to_range(unit.name_span.start, unit.name_span.end) if unit.name_span.end else whole
            kind, signature = convert_kind(unit.kind), " ".join(unit.signature.split())
            symbol = types.DocumentSymbol(unit.name, kind, whole, name, signature, children=children)
            inside.get(unit.parent, top).append(symbol)
            inside[number] = children
    return top


def find_workspace_symbols(request: LspRequest, params: types.WorkspaceSymbolParams) -> list[types.SymbolInformation]:
    """Find definitions by a search, the best first; equal ranks in several folders follow one another."""
    if not params.query.strip():
        return []
    hits, _ = find_hits(request, params.query, limit=MOST_SYMBOLS, reasons=False, snippet_lines=1)
    return [
        types.SymbolInformation(where, unit.name, convert_kind(unit.kind), container_name=unit.container or unit.path)
        for unit, where in ((hit.unit, where) for hit, where in hits)
        if unit.kind in SYMBOL_KINDS
    ]


def find_hits(request: LspRequest, query: str, **given: Any) -> tuple[list[tuple[Hit, types.Location]], list[str]]:
    """Search all folders; returns (hits with their locations, by rank; notices)."""
    hits, notices = list[tuple[Hit, types.Location]](), list[str]()
    for folder in {folder.served.index: folder for folder in request.folders.values()}.values():
        with suppress(*UNREADABLE), folder.open_reader(request) as reader:
            options = folder.make_options(**given)
            parsed = reader.index.parse(query, options)
            lines = options.reasons and parsed.asks_for_lines
            result = (reader.index.search_lines if lines else reader.index.search)(parsed, options)
            notices += [notice.text for notice in result.notices]
            for hit in result.hits:
                name = hit.unit.name if hit.unit.name_line == hit.line else ""
                hits.append((hit, reader.locate_line(hit, name)))
    return sorted(hits, key=lambda hit: hit[0].rank)[: given["limit"]], notices


def find_folds(request: LspRequest, params: types.FoldingRangeParams) -> list[types.FoldingRange]:
    """Find what can be folded: syntax nodes of several lines, else definitions and headings."""
    text, folds = request.read_text(params.text_document.uri), list[types.FoldingRange]()
    units = ((unit.start_line - 1, unit.end_line - 1) for unit in text.extraction.units)
    for first, last in find_blocks(text.utf8, text.language) or units:
        closes = text.read_line(last).strip().startswith((b"}", b")", b"]", b"end"))
        if last - closes > first:
            folds.append(types.FoldingRange(first, last - closes))
    return folds


def find_selections(request: LspRequest, params: types.SelectionRangeParams) -> list[types.SelectionRange]:
    """Find the syntax nodes around each position, innermost first."""
    text, selections = request.read_text(params.text_document.uri), list[types.SelectionRange]()
    for position in params.positions:
        selection, parent = types.SelectionRange(types.Range(position, position)), None
        for start, end in find_enclosing(text.utf8, text.language, text.to_offset(position)):
            parent = selection = types.SelectionRange(text.to_range(start, end), parent)
        selections.append(selection)
    return selections


def find_lenses(request: LspRequest, params: types.CodeLensParams) -> list[types.CodeLens]:
    """Count the references and tests of each definition, to show above it, if the client wants them."""
    lenses, uri = list[types.CodeLens](), params.text_document.uri
    if not request.options["lens"]:
        return lenses
    with request.find_folder(uri).open_reader(request) as reader:
        document = reader.find_document(parse_uri(uri))
        units = [u for u in reader.units.list_in_document(document.id) if u.kind not in CHUNK_KINDS and not u.local]
        edges = set(reader.edges.find_incoming([unit.id for unit in units]))
        uses = Counter[int](edge.target for edge in edges if edge.line)
        tests = Counter[int](edge.target for edge in edges if edge.kind == "tests")
        for unit in units:
            where, count = reader.locate_unit(unit).range, quantity(uses[unit.id], "reference")
            title = f"{count}, {quantity(tests[unit.id], 'test')}" if tests[unit.id] else count
            arguments = [{"uri": uri, "position": where.start}]
            lenses.append(types.CodeLens(where, types.Command(title, "codelens.references", arguments=arguments)))
    return lenses


def read_fields(argument: Argument, **kinds: type[Any]) -> list[Any]:
    """Read typed fields of an argument; `position_line` is the field `line` in `position`. Raises UsageError for a bad field."""
    values = list[Any]()
    for name, kind in kinds.items():
        value: Any = argument
        for part in name.split("_"):
            value = value.get(part) if isinstance(value, dict) else None
        if not isinstance(value, kind):
            raise UsageError(f"the argument needs '{name.replace('_', '.')}', a {kind.__name__}")
        values.append(value)
    return values


def search_code(request: LspRequest, argument: Argument) -> Record:
    """Search: {query, limit?} → {hits, notices}. Hits are those of `search --json`, with `uri`, `range` and `reason`."""
    (query,) = read_fields(argument, query=str)
    (limit,) = read_fields({"limit": 20, **argument}, limit=int)
    hits, notices = find_hits(request, query, limit=max(limit, 0))
    unstructure, records = get_converter().unstructure, list[Record]()
    for hit, where in hits:
        reason = find_first_reason(hit.contributions, hit.channels)
        records.append({**build_hit_record(hit, contributions=False), **unstructure(where), "reason": reason})
    return {"hits": records, "notices": notices}


def explain_rank(request: LspRequest, argument: Argument) -> Record:
    """Explain a rank: {query, uri, position} → the object of `why --json` with a field `text`."""
    query, uri, line = read_fields(argument, query=str, uri=str, position_line=int)
    target = f"{os.path.realpath(parse_uri(uri))}:{line + 1}"
    with request.find_folder(uri).open_reader(request) as reader:
        result = reader.index.why(query, [target], reader.folder.make_options())
    return {**build_why_record(result, 0), "text": "".join(render_why(result, WhyView(PathStyle("root", ""))))}


def pack_context(request: LspRequest, argument: Argument) -> Record:
    """Pack the code that a part of a file depends on: {uri, range, budget?} → {text, tokens, notices}."""
    uri, first, last = read_fields(argument, uri=str, range_start_line=int, range_end_line=int)
    (budget,) = read_fields({"budget": BUDGET, **argument}, budget=int)
    file, lines = parse_uri(uri), request.read_text(uri).utf8.split(b"\n")[first : last + 1]
    head = f"--- a/{file.name}\n+++ b/{file.name}\n@@ -{first},0 +{first + 1},{len(lines)} @@\n"
    diff = head.encode() + b"".join(b"+%s\n" % line for line in lines)
    with request.find_folder(uri).open_reader(request) as reader:
        options = reader.folder.make_options(limit=EVERYTHING)
        wanted = ContextRequest(CHANGE, open_counter("auto"), options, budget, diff=diff, cwd=str(file.parent))
        layout = make_layout("markdown", PathStyle("root", "", reader.index.info().repositories))
        packed = reader.index.context(wanted, layout, keep=False)
    return {"text": packed.text, "tokens": packed.tokens, "notices": [notice.text for notice in packed.notices]}


def find_impact(name: NameInFile) -> RelationAnswer | None:
    """Find what a change of a definition may affect, nearest first."""
    graph = name.reader.index.graph
    return graph.impact(name.reader.format_target(name.units[0]), RelationOptions()) if name.units else None


def ask_graph(
    ask: Callable[[NameInFile], RelationAnswer | None], request: LspRequest, argument: Argument
) -> Record | None:
    """Ask about a name: {uri, position} → the object of `impact --json` or `refs --json` with a field `text`."""
    uri, *position = read_fields(argument, uri=str, position_line=int, position_character=int)
    answer = request.answer_about_name(uri, types.Position(*position), ask)
    if answer is None:
        return None
    lines = format_relations(answer, PathStyle("root", "", answer.index.repositories))
    return {**build_answer_record(answer, 0), "text": "".join(lines)}


COMMANDS: Mapping[str, Callable[[LspRequest, Argument], Record | None]] = {
    "codelens.search": search_code,
    "codelens.why": explain_rank,
    "codelens.context": pack_context,
    "codelens.impact": partial(ask_graph, find_impact),
    "codelens.references": partial(ask_graph, find_places),
}
