"""Documents → their edges: what one document's edges are, and the run over all documents that have to be linked.

A document's edges depend only on its text and on what it looked up, so documents are linked in any order and by any process,
and after a change only those are linked again whose keys it touches.
"""

from __future__ import annotations

import gc
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

import xxhash

from codelens.linking.carried import Known
from codelens.linking.catalog import Catalog
from codelens.linking.evaluate import FUEL, Evaluator
from codelens.linking.facts import DocumentFacts, token
from codelens.linking.implied import Implied
from codelens.linking.manifests import OWNERS
from codelens.linking.precise_edges import beyond_references, meant_in
from codelens.linking.procedures import Procedures
from codelens.linking.resolve import Found, Resolver
from codelens.linking.words import words
from codelens.model import DocumentId, RepositoryId
from codelens.relations import KINDS, TIERS, document_node
from codelens.store.store import Store

RULES = "link 5"
"""Change the number with anything that changes which edges a document has, also by an index of a language server."""
AT_ONCE = 32
"""Documents whose edges are written together. Chosen."""

EdgeRow = tuple[int, int, int | str, int, int]
"""(source, number of the kind, target or the name of an external, line, number of the tier)"""


def recipe() -> str:
    """A hash of all that decides which edges a document gets; stored with each linked document."""
    return xxhash.xxh3_64_hexdigest(repr([RULES, FUEL, [sorted(part) for part in words()]]).encode())


class Links(NamedTuple):
    """The edges of one document and what they depend on, as plain values that can cross a pipe."""

    document: int
    edges: list[EdgeRow]
    keys: list[int]
    """Tokens of the keys that its edges depend on."""
    offered: list[int]
    """Tokens of the keys that what it offers others depends on."""
    counts: dict[str, int]
    """What became of its references."""


class Linker:
    """Links documents of one repository. It only reads the store."""

    def __init__(self, store: Store, repository: RepositoryId, known: Known | None = None) -> None:
        self.repository = repository
        self.catalog = Catalog(store, repository)
        self.evaluator = Evaluator(self.catalog)
        self.implied = Implied(self.evaluator)
        self._store = store
        self._known = known or Known(store, repository)
        self._resolver = Resolver(self.evaluator)
        self._procedures = Procedures(self.evaluator)
        self._precise = self._known.documents()

    def link(self, document: int, whole: bool) -> Links:
        """The edges of one document; of its types also those that follow from others, if all of the repository is linked."""
        if not self._is_worth(DocumentId(document)):
            return Links(document, [], [token(OWNERS)], [], {})
        catalog = self.catalog
        facts = catalog.facts(document)
        offered = self.evaluator.offers(facts)
        catalog.taken()
        self._resolver.counts.clear()
        references = self._store.references.of_document(DocumentId(document))
        meant = meant_in(self._known, catalog, facts)
        found = [
            *self._resolver.document(facts, references, meant),
            *self._procedures.document(facts, references),
            *beyond_references(meant, facts, references, self._known),
        ]
        edges = [_row(facts, one) for one in found]
        path = facts.file.path
        keys = {token(key) for key in catalog.taken() if len(key) < 3 or key[1] != path}  # its own are linked with it
        if whole:
            edges += [edge for holder in facts.types for edge in self.implied.edges_of(holder)]
            catalog.taken()
        links = Links(
            document, edges, sorted(keys), sorted({token(key) for key in offered}), dict(self._resolver.counts)
        )
        self._trim()
        return links

    def _is_worth(self, document: DocumentId) -> bool:
        """Whether a document may have edges."""
        held = self._store.references.any_in(document)
        return held or document in self._precise or self.catalog.declared(document)

    def _trim(self) -> None:
        """Keep what is held in memory within bounds, whatever the size of the repository."""
        if self.catalog.trim():
            self.evaluator.forget()
            self.implied.forget()
        else:
            self.evaluator.trim()


def _row(facts: DocumentFacts, found: Found) -> EdgeRow:
    source = document_node(facts.file.id) if found.unit is None else facts.definitions[found.unit].id
    target: int | str = found.target.external
    if found.target.definition is not None:
        target = found.target.definition.id
    elif found.target.document is not None:
        target = document_node(found.target.document)
    return source, KINDS[found.kind], target, found.line, TIERS[found.tier].number


def write_links(store: Store, links: Sequence[Links], fresh: bool) -> None:
    """Put the edges of documents in the store, in place of those that they had, if not all are `fresh`."""
    externals = store.edges.add_externals({e[2] for one in links for e in one.edges if isinstance(e[2], str)})
    if not fresh:
        for one in links:
            document = DocumentId(one.document)
            store.edges.forget(document, [unit for unit, _ in store.units.ids_of(document)])
        store.edges.forget_offered(DocumentId(one.document) for one in links)
    store.edges.add_rows(
        (source, kind, externals[target] if isinstance(target, str) else target, line, tier)
        for one in links
        for source, kind, target, line, tier in one.edges
    )
    for one in links:
        store.edges.set_keys(DocumentId(one.document), one.keys, one.offered)
    store.changed.update(one.document for one in links)
    store.edges.set_linked([DocumentId(one.document) for one in links], recipe())
    store.edges.set_counts([(DocumentId(one.document), one.counts) for one in links if one.counts])


def in_batches(links: Iterable[Links]) -> Iterator[list[Links]]:
    """As many as are written together."""
    batch: list[Links] = []
    for one in links:
        batch.append(one)
        if len(batch) == AT_ONCE:
            yield batch
            batch = []
    if batch:
        yield batch


@contextmanager
def without_collector() -> Iterator[None]:
    """Looking for cycles among a million small facts took a fifth of the time; `Catalog.trim` breaks those that there are."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
