"""Find uses of names that linking could not resolve.

Linking records the references that lead nowhere. A call inside a target counts only if the index defines something of that name;
other calls lead out of the repository.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import NamedTuple

from codelens.graph.targets import ResolvedTarget, make_answer
from codelens.graph.view import GraphView, add_contents, make_external
from codelens.lang.registry import find_family
from codelens.model.code import CHUNK_KINDS, DocumentId
from codelens.model.extraction import Reference
from codelens.model.graph import (
    EDGE_OF,
    UNRESOLVED,
    Node,
    Relation,
    RelationAnswer,
    RelationOptions,
    make_document_node,
)
from codelens.model.search import Notice
from codelens.text.counts import quantity

KIND_OF_USE = {
    **EDGE_OF,
    "env": "reads_env",
    "process": "executes_process",
    "route": "handles_route",
    "endpoint": "consumes_endpoint",
    "flag": "gated_by_flag",
    "mention": "documents",
}  # Kind of a reference → kind of edge that it would get if it were resolved
MOST_FILES = 500  # Limit of files to read for a count; a list reads all. 267 files of Django take .24 CPU s.
NOT_CALLED = frozenset({"variable", "constant", "property", "module"})
"""Kinds of definitions that a call cannot mean: a call of a name with only such definitions leads out of the repository."""


class UnresolvedUse(NamedTuple):
    """A reference that was not resolved, and its document."""

    document: DocumentId
    reference: Reference


class UnresolvedUses:
    """Finds unresolved uses for one question, by path and place. `kinds` are the kinds of edges that the question asks for."""

    def __init__(self, view: GraphView, question: str, kinds: Collection[str], options: RelationOptions) -> None:
        self._view, self._question, self._kinds, self._options = view, question, kinds, options
        self.is_partial = False  # True if there were too many files to read for a count

    def find_uses_of(self, nodes: Iterable[Node]) -> list[UnresolvedUse]:
        """Find the unresolved uses that may mean these nodes because they have the same name."""
        view, families = self._view, dict[str, set[str]]()  # Name → families of the languages that define it
        for node in nodes:
            unit = view.find_unit(node)
            if unit is not None and unit.kind not in CHUNK_KINDS and not unit.local:
                families.setdefault(unit.name, set()).add(find_family(unit.language))
        if not families:
            return []
        documents = [d for d in view.store.references.find_documents(families) if view.has_document(d)]
        documents.sort(key=self._order)
        if not self._options.unresolved and len(documents) > MOST_FILES:
            self.is_partial = True
            documents = documents[:MOST_FILES]
        uses = list[UnresolvedUse]()
        for document in documents:
            row = view.find_document(document)
            kin = find_family(row.language) if row else ""
            uses += [UnresolvedUse(document, u) for u in self._read(document) if kin in families.get(u.name, ())]
        return uses

    def find_uses_inside(self, nodes: Iterable[Node]) -> list[UnresolvedUse]:
        """Find the unresolved uses inside these nodes and their local functions, of names that the index defines."""
        view, inner = self._view, dict[DocumentId, set[Node]]()
        for node in add_contents(nodes, view, types_too=False):
            if (document := view.find_document_of(node)) is not None:
                inner.setdefault(document.id, set()).add(node)
        uses, defined = [], dict[str, set[str]]()  # Name → kinds of its definitions
        for document_id in sorted(inner, key=self._order):
            sources = view.number_sources(document_id)
            for use in (use for use in self._read(document_id) if sources[use.unit] in inner[document_id]):
                if use.name not in defined:
                    defined[use.name] = {kind for _, _, kind, _ in view.store.units.find_namesakes(use.name)}
                if defined[use.name] - (NOT_CALLED if KIND_OF_USE[use.kind] == "calls" else set()):
                    uses.append(UnresolvedUse(document_id, use))
        return uses

    def list_relations(self, uses: Sequence[UnresolvedUse]) -> Iterator[Relation]:
        """List the uses as relations to a name; tests come last."""
        view, sources = self._view, dict[DocumentId, dict[int | None, Node]]()
        for document, use in sorted(uses, key=lambda use: view.is_test(make_document_node(use.document))):
            if document not in sources:
                sources[document] = view.number_sources(document)
            source = view.name_node(sources[document][use.unit])
            target = make_external(f"{use.receiver}.{use.name}" if use.receiver else use.name)
            place = view.make_source_line(view.find_document(document), use.line, target)
            yield Relation(KIND_OF_USE[use.kind], source, target, False, 1, UNRESOLVED, 0.0, place)

    def list_notices(self, uses: Sequence[UnresolvedUse]) -> Iterator[Notice]:
        """Make a notice with the number of uses, up to three of their names, and the option that lists them."""
        if not uses:
            return
        names = sorted({use.reference.name for use in uses})
        listed = ", ".join(names[:3]) + (f" and {len(names) - 3} other names" if len(names) > 3 else "")
        what = "use" if "references" in self._kinds or not self._kinds else "call"
        number = f"{'at least ' if self.is_partial else ''}{quantity(len(uses), what)} of {listed}"
        lister = "`callees --unresolved`" if self._question == "path" else "--unresolved"
        yield Notice("unresolved", f"{number} could not be followed to any definition; {lister} lists them")

    def answer(
        self,
        starts: Sequence[ResolvedTarget],
        relations: Sequence[Relation],
        uses: Sequence[UnresolvedUse],
        notices: Sequence[Notice] | None = None,
    ) -> RelationAnswer:
        """Make the answer from the relations, or from the uses if asked for them. Without `notices`, the view lists them."""
        notices = [*(self._view.list_notices(relations) if notices is None else notices), *self.list_notices(uses)]
        if self._options.unresolved:
            relations, notices = list(self.list_relations(uses)), []
        return make_answer(self._view, self._question, starts, relations, self._options, (len(uses), notices))

    def _read(self, document: DocumentId) -> list[Reference]:
        uses = self._view.store.references.find_unresolved(document)
        return [use for use in uses if not self._kinds or KIND_OF_USE[use.kind] in self._kinds]

    def _order(self, document: DocumentId) -> tuple[object, ...]:
        return self._view.order_node(make_document_node(document))
