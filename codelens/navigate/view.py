"""The graph of one index as one question sees it: edges that are sure enough and in place, and nodes with their names.

Everything is ordered by what nodes are, never by their numbers, which depend on an index's history.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path

from codelens.model import DocumentId, Freshness, IndexInfo, Notice, UnitId, UnitRow
from codelens.navigate.neighbours import incoming, outgoing
from codelens.related import FILE, OUTSIDE, Named, Place, Relation
from codelens.relations import RESOLVED, Edge, Node, document_node, is_unit
from codelens.store.documents import DocumentRow
from codelens.store.store import Store
from codelens.text.lines import column_utf8, column_utf16
from codelens.texts import MAX_LINE, Texts
from codelens.worktree.freshness import freshness


class GraphView:
    """Reads each row at most once. `documents` are those that may be told of; None is all of them."""

    def __init__(
        self, store: Store, info: IndexInfo, documents: Collection[DocumentId] | None = None, least: float = 0.0
    ) -> None:
        self.store, self.info, self.least = store, info, least
        self._allowed = documents
        self._texts = Texts(store)
        self._named: dict[Node, Named] = {}
        self._units: dict[Node, UnitRow] = {}
        self._documents: dict[DocumentId, DocumentRow] = {}
        self._fresh: dict[DocumentId, Freshness] = {}
        self._roots = {row.id: (row.name, row.root) for row in store.documents.repositories()}
        self.too_unsure = 0
        """Edges that were met and left out for their confidence."""

    # Nodes

    def named(self, node: Node) -> Named:
        """What a node is. Asking `learn` first for many is quicker."""
        if node not in self._named:
            self.learn([node])
        return self._named[node]

    def order(self, node: Node) -> tuple[bool, str, str, int, str, str]:
        """Sort key of nodes."""
        return self.named(node).content_order()

    def learn(self, nodes: Iterable[Node]) -> None:
        """Read these nodes at once. A node that is gone, as a half-written graph may have, is an external without a name."""
        new = sorted({n for n in nodes if n not in self._named})
        for unit, row in self.store.units.rows([UnitId(n) for n in new if is_unit(n)]).items():
            self._units[Node(unit)] = row
        for node in new:
            if (unit_row := self._units.get(node)) is not None:
                self._named[node] = self._of_unit(unit_row)
            elif node < 0 and (document := self.document(DocumentId(-node))) is not None:
                self._named[node] = self._of_document(document)
        names = self.store.edges.external_names(n for n in new if n not in self._named)
        for node in new:
            self._named.setdefault(node, outside(names.get(node, "?")))

    def unit(self, node: Node) -> UnitRow | None:
        """The stored row of a node that is a unit."""
        self.named(node)
        return self._units.get(node)

    def document(self, document: DocumentId) -> DocumentRow | None:
        """The row of a document; None where it is gone."""
        if document not in self._documents:
            self._documents.update({row.id: row for row in self.store.documents.rows([document])})
        return self._documents.get(document)

    def document_of(self, node: Node) -> DocumentRow | None:
        """The document that a node is or lies in; None for an external."""
        unit = self.unit(node)
        if unit is not None:
            return self.document(unit.document)
        return self.document(DocumentId(-node)) if node < 0 else None

    def nodes_in(self, document: DocumentRow) -> Iterator[tuple[Node, Named]]:
        """A file and all that lies in it, in order of place; read anew at each call and not kept, since these may be many."""
        self._documents.setdefault(document.id, document)
        yield document_node(document.id), self._of_document(document)
        for unit in self.store.units.of_document(document.id):
            yield Node(unit.id), self._of_unit(unit)

    def is_test(self, node: Node) -> bool:
        """Whether a node lies in a file of tests."""
        return self.named(node).test

    def _of_unit(self, unit: UnitRow) -> Named:
        document = self.document(unit.document)
        assert document is not None
        name, root = self._roots[document.repository]
        return Named(
            kind=unit.kind,
            name=unit.name,
            qualified_name=unit.qualified_name,
            repository=name,
            root=str(root),
            path=document.path,
            os_path=document.os_path,
            language=document.language,
            line=unit.name_line or unit.start_line,
            column=unit.name_column or 1,
            start_byte=unit.span.start,
            end_byte=unit.span.end,
            signature=unit.signature,
            test="test" in document.roles,
        )

    def _of_document(self, document: DocumentRow) -> Named:
        name, root = self._roots[document.repository]
        return Named(
            kind=FILE,
            name=document.path.rpartition("/")[2],
            qualified_name=document.path,
            repository=name,
            root=str(root),
            path=document.path,
            os_path=document.os_path,
            language=document.language,
            line=1,
            column=1,
            end_byte=document.stamp.size,
            test="test" in document.roles,
        )

    # Edges

    def leaving(self, nodes: Iterable[Node], kinds: Collection[str], anywhere: bool = False) -> list[Edge]:
        """Edges that begin at these nodes and end where the question looks (or anywhere), in order of their ends."""
        return self._chosen(outgoing(self.store, nodes, kinds), True, anywhere)

    def arriving(self, nodes: Iterable[Node], kinds: Collection[str], anywhere: bool = False) -> list[Edge]:
        """Edges that end at these nodes and begin where the question looks (or anywhere), in order of their places."""
        return self._chosen(incoming(self.store, nodes, kinds), False, anywhere)

    def _chosen(self, edges: Sequence[Edge], ahead: bool, anywhere: bool) -> list[Edge]:
        distinct = dict.fromkeys(edges)
        sure = [e for e in distinct if e.confidence >= self.least]
        self.too_unsure += len(distinct) - len(sure)
        self.learn([n for e in sure for n in (e.source, e.target)])
        kept = [e for e in sure if anywhere or self._in_place(e.target if ahead else e.source)]
        return sorted(kept, key=self._order_ahead if ahead else self.edge_order)

    def _in_place(self, node: Node) -> bool:
        if self._allowed is None:
            return True
        document = self.document_of(node)
        return document is not None and self.tells_of(document.id)

    def tells_of(self, document: DocumentId) -> bool:
        """Whether the question looks into this document."""
        return self._allowed is None or document in self._allowed

    def edge_order(self, edge: Edge) -> tuple[object, ...]:
        """By where the edge stands, then by what it names."""
        return (*self.order(edge.source), edge.line, edge.kind, *self.order(edge.target))

    def _order_ahead(self, edge: Edge) -> tuple[object, ...]:
        return (*self.order(edge.target), edge.kind, *self.order(edge.source), edge.line)

    # What is told

    def relation(self, edge: Edge, outgoing: bool, depth: int = 1, via: str = "", again: bool = False) -> Relation:
        """An edge with the names of its ends, and the line that it stems from; where it has none, the told end's own."""
        source, target = self.named(edge.source), self.named(edge.target)
        told = edge.target if outgoing else edge.source
        stands = edge.source if edge.line else told
        place = self.place(
            self.document_of(stands), edge.line or self.named(stands).line, target if edge.line else self.named(told)
        )
        return Relation(edge.kind, source, target, outgoing, depth, edge.provenance, edge.confidence, place, via, again)

    def place(self, document: DocumentRow | None, line: int, names: Named) -> Place:
        """A line of a document; the column is that of the name, where the line says it."""
        if document is None:
            return Place("", "", "", "", 0, 0, 0, "", Freshness.FRESH)
        repository, root = self._roots[document.repository]
        lines = self._texts.lines(document)
        text = lines[line - 1] if 0 < line <= len(lines) else ""
        column = column_utf8(text, _where(text, names))
        return Place(
            repository,
            str(root),
            document.path,
            document.os_path,
            line,
            column,
            column_utf16(text, column),
            text[:MAX_LINE],
            self._freshness(document, root),
        )

    def _freshness(self, document: DocumentRow, root: Path) -> Freshness:
        if document.id not in self._fresh:
            known = freshness(root, document.os_path, document.stamp, document.content_hash)
            self._fresh[document.id] = Freshness(known)
        return self._fresh[document.id]

    def notices(self, relations: Iterable[Relation]) -> list[Notice]:
        """What the answer cannot know: files without edges yet, guesses among what is told, guesses left out."""
        found = []
        if unlinked := self.store.edges.unlinked_documents():
            files = "1 file is" if unlinked == 1 else f"{unlinked} files are"
            found.append(Notice("unlinked", f"{files} not in the symbol graph yet; `codelens index` links them"))
        told = list(relations)
        if guesses := sum(r.confidence < RESOLVED for r in told):
            text = f"{guesses} of {len(told)} are guesses among several definitions of one name"
            found.append(Notice("ambiguous", f"{text}; --min-confidence {RESOLVED:g} leaves them out"))
        if self.too_unsure:
            text = f"{self.too_unsure} edges of less confidence than {self.least:g} were not followed"
            found.append(Notice("unsure", f"{text}; --min-confidence says how sure is enough"))
        return found


def outside(name: str) -> Named:
    """What lies outside of the index, by its name."""
    return Named(OUTSIDE, re.split(r"[.:/]", name)[-1] or name, name)


def nodes_of_document(document: DocumentId, store: Store) -> list[Node]:
    """A document and all that lies in it."""
    return [document_node(document), *(Node(u) for u in store.units.of_documents([document]))]


def _where(text: str, named: Named) -> int:
    """The character at which the line says this name or, as where a class is called, the last part of what holds it."""
    container = named.qualified_name.rpartition(".")[0].rpartition(".")[2]
    for name in (named.name, named.name.rpartition(".")[0], container):
        if name and (found := re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text[:MAX_LINE])):
            return found.start()
    return len(text) - len(text.lstrip())
