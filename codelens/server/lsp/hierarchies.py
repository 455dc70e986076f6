"""Requests about callers and callees of a function, and bases and subclasses of a type."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from lsprotocol import types

from codelens.graph.view import GraphView
from codelens.index import GraphTopic
from codelens.model.code import TYPE_KINDS
from codelens.model.graph import FILE, Named, Node, Related, RelationOptions
from codelens.server.lsp.navigation import relation_location
from codelens.server.lsp.outline import to_symbol_kind
from codelens.server.lsp.workspace import LspRequest, NameInFile, Reader, about_name

Item = TypeVar("Item", types.CallHierarchyItem, types.TypeHierarchyItem)
Ask = Callable[[GraphTopic, str, RelationOptions], Related]


@about_name
def prepare_calls(found: NameInFile, params: types.CallHierarchyPrepareParams) -> list[types.CallHierarchyItem]:
    """The definitions that the name at a position may mean."""
    view = GraphView(found.reader.store, found.reader.index.info())
    named = [view.named(Node(d.id)) for d in found.meaning.definitions]
    return [_make_item(types.CallHierarchyItem, found.reader, one) for one in named]


@about_name
def prepare_types(found: NameInFile, params: types.TypeHierarchyPrepareParams) -> list[types.TypeHierarchyItem]:
    """The types that the name at a position may mean."""
    view = GraphView(found.reader.store, found.reader.index.info())
    named = [view.named(Node(d.id)) for d in found.meaning.definitions if d.kind in TYPE_KINDS]
    return [_make_item(types.TypeHierarchyItem, found.reader, one) for one in named]


def _make_item(item: type[Item], reader: Reader, named: Named) -> Item:
    file = Path(named.root, named.os_path)
    whole = reader.location(reader.document(file), named.start_byte, named.end_byte)
    name = reader.line_location(file, named, "" if named.kind == FILE else named.name).range
    kind = types.SymbolKind.File if named.kind == FILE else to_symbol_kind(named.kind)
    return item(named.name, kind, whole.uri, whole.range, name, detail=named.path)


def find_callers(
    request: LspRequest, params: types.CallHierarchyIncomingCallsParams
) -> list[types.CallHierarchyIncomingCall]:
    """The callers of an item, tests last, each with its calls."""
    found = _find_related(request, params.item, GraphTopic.callers, is_outgoing=False)
    return [types.CallHierarchyIncomingCall(item, ranges) for item, ranges in found]


def find_callees(
    request: LspRequest, params: types.CallHierarchyOutgoingCallsParams
) -> list[types.CallHierarchyOutgoingCall]:
    """The functions that an item calls, each with the calls."""
    found = _find_related(request, params.item, GraphTopic.callees, is_outgoing=True)
    return [types.CallHierarchyOutgoingCall(item, ranges) for item, ranges in found]


def find_supertypes(request: LspRequest, params: types.TypeHierarchySupertypesParams) -> list[types.TypeHierarchyItem]:
    """The bases of a type that are in the index."""
    return [item for item, _ in _find_related(request, params.item, GraphTopic.hierarchy, is_outgoing=True)]


def find_subtypes(request: LspRequest, params: types.TypeHierarchySubtypesParams) -> list[types.TypeHierarchyItem]:
    """The types that name a type as their base."""
    return [item for item, _ in _find_related(request, params.item, GraphTopic.hierarchy, is_outgoing=False)]


def _find_related(request: LspRequest, item: Item, ask: Ask, is_outgoing: bool) -> list[tuple[Item, list[types.Range]]]:
    """The items next to one in the graph, each with the places that lead from one to the other."""

    @about_name
    def find(found: NameInFile, _: Any) -> list[tuple[Item, list[types.Range]]]:
        reader, ranges = found.reader, dict[Named, list[types.Range]]()
        for unit in reader.units(d.id for d in found.meaning.definitions[:1]):
            for relation in ask(reader.index.graph, reader.target(unit), RelationOptions(depth=1)).relations:
                if relation.outgoing is is_outgoing and relation.listed.path:
                    ranges.setdefault(relation.listed, []).append(relation_location(reader, relation).range)
        return [(_make_item(type(item), reader, named), places) for named, places in ranges.items()]

    document = types.TextDocumentIdentifier(item.uri)
    return find(request, types.TextDocumentPositionParams(document, item.selection_range.start)) or []
