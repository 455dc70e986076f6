"""Documents → their edges in the store: the linker's run over one repository.

Each document's edges depend only on its text and on the answers to what it asked, so documents are linked in any order, and
after a change only those whose answers it touches.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager

import xxhash

from codelens.linking.carried import Known
from codelens.linking.catalog import Catalog
from codelens.linking.facts import DocumentFacts, token
from codelens.linking.implied import imply
from codelens.linking.manifests import OWNERS
from codelens.linking.precise_edges import beyond_references, meant_in, relate
from codelens.linking.procedures import Procedures
from codelens.linking.resolve import Found, Resolver
from codelens.linking.values import Values
from codelens.linking.words import words
from codelens.model import DocumentId, RepositoryId, UnitId
from codelens.relations import document_node
from codelens.store.store import Store

RULES = "link 4"
"""Change the number with anything that changes which edges a document has, also by an index of a language server."""


def recipe() -> str:
    """What an index notes of documents that are linked as they would be today."""
    return xxhash.xxh3_64_hexdigest(repr([RULES, [sorted(part) for part in words()]]).encode())


def link(
    store: Store,
    repository: RepositoryId,
    documents: Collection[DocumentId],
    holders: Collection[int] = (),
    done: Callable[[int, int, str], None] | None = None,
    known: Known | None = None,
) -> None:
    """Put the edges of these documents in the store, in place of any that they had. Part of the caller's transaction.

    `holders` are types of other documents whose members changed; `known` is what indexes of language servers say, for all of
    the repository's documents or for none.
    """
    if not documents and not holders:
        return
    with _collecting_seldom():
        _link(store, repository, documents, holders, done, known or Known(store, repository))
    store.edges.set_linked(sorted(documents), recipe())


@contextmanager
def _collecting_seldom() -> Iterator[None]:
    """Looking for cycles among a million small facts took a fifth of the time; they are freed when a run ends."""
    before = gc.get_threshold()
    gc.set_threshold(200_000, 20, 100)
    try:
        yield
    finally:
        gc.set_threshold(*before)


def _link(
    store: Store,
    repository: RepositoryId,
    documents: Collection[DocumentId],
    holders: Collection[int],
    done: Callable[[int, int, str], None] | None,
    known: Known,
) -> None:
    catalog = Catalog(store, repository)
    resolver = Resolver(Values(catalog))
    procedures = Procedures(resolver.values)
    ordered = sorted((d for d in documents if d in catalog.files), key=lambda d: catalog.files[d].path)
    first = store.edges.is_empty()
    telling = store.references.documents() | {DocumentId(d) for d in catalog.telling()} | known.documents()
    for number, document in enumerate(ordered, start=1):
        if document in telling:
            _link_one(store, resolver, procedures, catalog.facts(document), known, first)
        else:
            if not first:
                store.edges.forget(document, [unit for unit, _ in store.units.ids_of(document)])
            store.edges.set_asks(document, {token(OWNERS)})
        if done:
            done(number, len(ordered), catalog.files[document].path)
    imply(store, catalog, [d for d in ordered if d in telling], holders)
    relate(store, catalog, known)


def _link_one(
    store: Store, resolver: Resolver, procedures: Procedures, facts: DocumentFacts, known: Known, first: bool
) -> None:
    catalog = resolver.catalog
    catalog.taken()
    document = DocumentId(facts.file.id)
    references = store.references.of_document(document)
    meant = meant_in(known, catalog, facts)
    found = [
        *resolver.document(facts, references, meant),
        *procedures.document(facts, references),
        *beyond_references(meant, facts, references, known),
    ]
    externals = store.edges.add_externals({f.target.external for f in found if f.target.external})

    def target(one: Found) -> int:
        if one.target.definition is not None:
            return one.target.definition.id
        if one.target.document is not None:
            return document_node(one.target.document)
        return externals[one.target.external]

    node = document_node(document)
    edges = [
        (node if f.unit is None else facts.definitions[f.unit].id, f.kind, target(f), f.line, f.tier) for f in found
    ]
    if not first:
        store.edges.forget(document, [UnitId(d.id) for d in facts.definitions])
    store.edges.add(edges)
    store.edges.set_asks(document, catalog.taken())
