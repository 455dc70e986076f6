"""The whole graph, or what lies in some files of it → a stream of nodes, then of edges.

Nodes are numbered from 0 in the order of contents: files, each with what lies in it, then externals. So equal contents give
equal streams, whatever the ids in the index; only numbers are kept in memory, not what the nodes are.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from codelens.model import DocumentId
from codelens.navigate.neighbours import outgoing
from codelens.navigate.view import GraphView, outside
from codelens.related import GraphLink, GraphStream, Named
from codelens.relations import EXTERNAL, KINDS, Edge, Node, document_node
from codelens.store.documents import DocumentRow

EXPORTED = (*KINDS, "contains")
"""Kinds where nobody says which: all that is stored, and what lies in what."""


def graph_stream(view: GraphView, kinds: Collection[str]) -> GraphStream:
    """Nodes of the files that the view tells of with edges of these kinds between them, and the externals that they name."""
    documents = [d for d in _in_order(view) if view.tells_of(d.id)]
    wanted = kinds or EXPORTED
    numbers: dict[Node, int] = {}
    return GraphStream(_nodes(view, documents, wanted, numbers), _links(view, documents, wanted, numbers))


def _in_order(view: GraphView) -> list[DocumentRow]:
    names = {row.id: row.name for row in view.store.documents.repositories()}
    return sorted(view.store.documents.rows(), key=lambda d: (names[d.repository], d.path))


def _nodes(
    view: GraphView, documents: Sequence[DocumentRow], kinds: Collection[str], numbers: dict[Node, int]
) -> Iterator[tuple[int, Named]]:
    externals: set[Node] = set()
    for document in documents:
        for node, named in view.nodes_in(document):
            numbers[node] = len(numbers)
            yield numbers[node], named
        externals.update(e.target for e in _leaving(view, document.id, kinds) if e.target >= EXTERNAL)
    names = view.store.edges.external_names(externals)
    for node in sorted(names, key=lambda n: names[n]):
        numbers[node] = len(numbers)
        yield numbers[node], outside(names[node])


def _links(
    view: GraphView, documents: Sequence[DocumentRow], kinds: Collection[str], numbers: dict[Node, int]
) -> Iterator[GraphLink]:
    for document in documents:
        yield from sorted(
            {
                GraphLink(numbers[e.source], numbers[e.target], e.kind, e.line, e.provenance, e.confidence)
                for e in _leaving(view, document.id, kinds)
                if e.confidence >= view.least and e.source in numbers and e.target in numbers
            }
        )


def _leaving(view: GraphView, document: DocumentId, kinds: Collection[str]) -> list[Edge]:
    units = view.store.units.of_documents([document])
    return outgoing(view.store, [document_node(document), *units], kinds)
