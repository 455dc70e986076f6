"""The graph of an index, or of some of its files, as a stream of nodes, then of edges.

Nodes are numbered from 0 in the order of contents: files, each with its contents, then externals. So equal contents give equal
streams, whatever the ids in the index. Only numbers are kept in memory, not the nodes.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from codelens.graph.view import GraphView, make_external, outgoing
from codelens.model.code import DocumentId
from codelens.model.graph import EXTERNAL, KINDS, Edge, GraphLink, GraphStream, NamedNode, Node, document_node

EXPORTED = (*KINDS, "contains")  # Default kinds: all stored kinds, and containment


def stream_graph(view: GraphView, kinds: Collection[str]) -> GraphStream:
    """The nodes of the files that the view includes, the edges of these kinds between them, and the externals at their ends."""
    documents = [d for d in view.documents_in_order() if view.includes(d.id)]
    numbers: dict[Node, int] = {}

    def read_edges(document: DocumentId) -> list[Edge]:
        units = view.store.units.of_documents([document])
        return outgoing(view.store, [document_node(document), *units], kinds or EXPORTED)

    def list_nodes() -> Iterator[tuple[int, NamedNode]]:
        externals: set[Node] = set()
        for document in documents:
            for node, named in view.nodes_in(document):
                numbers[node] = len(numbers)
                yield numbers[node], named
            externals.update(e.target for e in read_edges(document.id) if e.target >= EXTERNAL)
        names = view.store.edges.external_names(externals)
        for node in sorted(names, key=lambda n: names[n]):
            numbers[node] = len(numbers)
            yield numbers[node], make_external(names[node])

    def list_links() -> Iterator[GraphLink]:
        for document in documents:
            edges = [e for e in read_edges(document.id) if e.source in numbers and e.target in numbers]
            links = (
                GraphLink(numbers[e.source], numbers[e.target], e.kind, e.line, e.provenance, e.confidence)
                for e in edges
                if e.confidence >= view.least
            )
            yield from sorted(set(links))

    return GraphStream(list_nodes(), list_links())
