"""Requests about callers and callees of a function, and bases and subclasses of a type."""

from __future__ import annotations

from pathlib import Path

from lsprotocol import types

from codelens.graph.places import find_edges
from codelens.graph.reach import CALLS, Link, called, calling
from codelens.graph.view import GraphView, Start
from codelens.model.code import TYPE_KINDS
from codelens.model.graph import FILE, RESOLVED, Named, Node, RelationOptions
from codelens.server.lsp.folders import LspRequest, Reader
from codelens.server.lsp.navigation import named_location
from codelens.server.lsp.outline import to_symbol_kind


def prepare_calls(request: LspRequest, params: types.CallHierarchyPrepareParams) -> list[types.CallHierarchyItem]:
    """The definitions that the name at a position may mean."""
    with request.meaning(params.text_document.uri, params.position) as (reader, _, meaning):
        view = reader.view()
        return [_item(reader, view.named(Node(d.id))) for d in (meaning.definitions if meaning else ())]


def prepare_types(request: LspRequest, params: types.TypeHierarchyPrepareParams) -> list[types.TypeHierarchyItem]:
    """The types that the name at a position may mean."""
    with request.meaning(params.text_document.uri, params.position) as (reader, _, meaning):
        view, found = reader.view(), [d for d in (meaning.definitions if meaning else ()) if d.kind in TYPE_KINDS]
        return [_type_item(reader, view.named(Node(d.id))) for d in found]


def _item(reader: Reader, named: Named) -> types.CallHierarchyItem:
    document = reader.document_at(named)
    whole = reader.location(document, named.start_byte, named.end_byte)
    name = (
        named_location(reader, named).range if named.kind != FILE else types.Range(whole.range.start, whole.range.start)
    )
    kind = types.SymbolKind.File if named.kind == FILE else to_symbol_kind(named.kind)
    return types.CallHierarchyItem(named.name, kind, whole.uri, whole.range, name, detail=named.path)


def _type_item(reader: Reader, named: Named) -> types.TypeHierarchyItem:
    item = _item(reader, named)
    return types.TypeHierarchyItem(item.name, item.kind, item.uri, item.range, item.selection_range, detail=item.detail)


def find_callers(
    request: LspRequest, params: types.CallHierarchyIncomingCallsParams
) -> list[types.CallHierarchyIncomingCall]:
    """The callers of an item, tests last, each with its calls."""
    calls = _find_calls(request, params.item, is_incoming=True)
    return [types.CallHierarchyIncomingCall(item, ranges) for item, ranges in calls]


def find_callees(
    request: LspRequest, params: types.CallHierarchyOutgoingCallsParams
) -> list[types.CallHierarchyOutgoingCall]:
    """The functions that an item calls, each with the calls."""
    calls = _find_calls(request, params.item, is_incoming=False)
    return [types.CallHierarchyOutgoingCall(item, ranges) for item, ranges in calls]


def _find_calls(
    request: LspRequest, item: types.CallHierarchyItem, is_incoming: bool
) -> list[tuple[types.CallHierarchyItem, list[types.Range]]]:
    with request.meaning(item.uri, item.selection_range.start) as (reader, _, meaning):
        if meaning is None or not meaning.definitions:
            return []
        node, view = Node(meaning.definitions[0].id), reader.view(RESOLVED)
        if is_incoming:
            view.add_edges(list(find_edges(view, Start(view.named(node), (node,)))))
        links = (calling if is_incoming else called)(view, CALLS)([node])[node]
        found = dict[Node, list[types.Range]]()
        for link in links:
            if view.named(link.node).path:
                found.setdefault(link.node, []).append(_line_of(reader, view, link))
        return [(_item(reader, view.named(other)), ranges) for other, ranges in found.items()]


def _line_of(reader: Reader, view: GraphView, link: Link) -> types.Range:
    """The name that is called, on the line of the call."""
    target = view.named(link.edge.target)
    place = view.place(view.document_of(link.edge.source), max(link.edge.line, 1), target)
    return reader.line_location(place, Path(place.root, place.os_path), target.name).range


def find_supertypes(request: LspRequest, params: types.TypeHierarchySupertypesParams) -> list[types.TypeHierarchyItem]:
    """The bases of a type that are in the index."""
    return _find_related_types(request, params.item, is_above=True)


def find_subtypes(request: LspRequest, params: types.TypeHierarchySubtypesParams) -> list[types.TypeHierarchyItem]:
    """The types that name a type as their base."""
    return _find_related_types(request, params.item, is_above=False)


def _find_related_types(
    request: LspRequest, item: types.TypeHierarchyItem, is_above: bool
) -> list[types.TypeHierarchyItem]:
    with request.meaning(item.uri, item.selection_range.start) as (reader, _, meaning):
        units = reader.units(d.id for d in meaning.definitions) if meaning else []
        if not units:
            return []
        answer = reader.index.graph.hierarchy(reader.target(units[0]), RelationOptions(depth=1))
        listed = dict.fromkeys(r.listed for r in answer.relations if r.outgoing is is_above and r.listed.path)
        return [_type_item(reader, named) for named in listed]
