"""Link documents: find their edges, and the documents that must be linked again after an update.

A document's edges depend only on its text and on the keys that were looked up for it. So documents can be linked in any order
and by any process, and after a change only those documents are linked again that depend on a changed key.
"""

from __future__ import annotations

import gc
import marshal
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import xxhash

from codelens.linking.catalog import OWNERS, Catalog
from codelens.linking.evaluator import Evaluator
from codelens.linking.facts import Definition, Key, find_folders, hash_key, load_words
from codelens.linking.fuel import FUEL
from codelens.linking.inheritance import Inheritance, describe_owner, find_types_in_folder
from codelens.linking.precise.indexes import PreciseIndexes, find_meanings, find_other_edges
from codelens.linking.procedures import Procedures
from codelens.linking.references import Resolver
from codelens.model.code import DocumentId, RepositoryId, UnitId
from codelens.model.graph import KINDS, TIERS, make_document_node
from codelens.store.codec import pack_places
from codelens.store.store import Store

RULES = "link 14"  # Increase the number with each change of the rules that decide which edges a document has
AT_ONCE = 256  # Number of documents whose edges are written together, so that their rows lie on fewer pages

EdgeRow = tuple[int, int, int | str, int, int]
"""(source, number of the kind, target or the name of an external, line, number of the tier)."""


def compute_recipe() -> str:
    """Hash everything that decides which edges a document has; the hash is stored with each linked document."""
    return xxhash.xxh3_64_hexdigest(repr([RULES, FUEL, [sorted(part) for part in load_words()]]).encode())


class DocumentLinks(NamedTuple):
    """The edges of one document and their dependencies, as plain values that can be sent between processes."""

    document: DocumentId
    edges: list[EdgeRow]
    keys: list[int]  # Hashes of the keys that its edges depend on
    offered: list[int]  # Hashes of the keys that its offers to other documents depend on
    counts: dict[str, int]  # Outcome → number of its references
    unresolved: bytes  # The references without a target, as `pack_places` packs them


class Linker:
    """A linker of the documents of one repository. It only reads the store."""

    def __init__(self, store: Store, repository: RepositoryId, known: PreciseIndexes | None = None) -> None:
        self.repository = repository
        self.catalog = Catalog(store, repository)
        self.evaluator = Evaluator(self.catalog)
        self.inheritance = Inheritance(self.evaluator)
        self._store = store
        self._known = known or PreciseIndexes(store, repository)
        self._resolver = Resolver(self.evaluator)
        self._procedures = Procedures(self.evaluator)

    def link(self, document: DocumentId, whole: bool) -> DocumentLinks:
        """Find the edges of one document. If the `whole` repository is linked, include those that follow from bases."""
        catalog = self.catalog
        is_empty = not (self._store.references.has_any(document) or document in self._known.packed_uses)
        if is_empty and not catalog.manifests.has_declarations(catalog.files[document].path):
            return DocumentLinks(document, [], [hash_key(OWNERS)], [], {}, b"")
        facts = catalog.read_facts(document)
        offered = sorted({hash_key(key) for key in self.evaluator.collect_offered_keys(facts)})
        catalog.take_keys()
        references = self._store.references.list_in_document(document)
        meanings = find_meanings(self._known, catalog, facts)
        edges: list[EdgeRow] = []
        for unit, kind, target, line, tier in (
            *self._resolver.find_document_edges(facts, references, meanings),
            *self._procedures.find_procedure_edges(facts, references),
            *find_other_edges(meanings, facts, references, self._known),
        ):
            source = make_document_node(document) if unit is None else facts.definitions[unit].id
            if isinstance(target, Definition):
                target = target.id
            elif isinstance(target, int):
                target = make_document_node(target)
            edges.append((source, KINDS[kind], target, line, TIERS[tier].number))
        path = facts.file.path  # the keys of the document itself change with it
        keys = {hash_key(key) for key in catalog.take_keys() if len(key) < 3 or key[1] != path}
        if whole:
            edges += [edge for holder in facts.types for edge in self.inheritance.derive_edges(holder)]
            catalog.take_keys()
        counts, unresolved = dict(self._resolver.counts), pack_places(self._resolver.unresolved)
        links = DocumentLinks(document, edges, sorted(keys), offered, counts, unresolved)
        if catalog.trim_cache():  # bounds the memory, whatever the size of the repository
            self.evaluator.forget_answers()
            self.inheritance.clear_cache()
        else:
            self.evaluator.trim_answers()
        return links


def write_links(store: Store, links: Sequence[DocumentLinks], fresh: bool) -> None:
    """Store the edges of documents; remove their old edges first unless they are `fresh`."""
    edges = store.edges
    externals = edges.add_externals({row[2] for linked in links for row in linked.edges if isinstance(row[2], str)})
    if not fresh:
        for linked in links:
            edges.forget(linked.document, [unit for unit, _ in store.units.list_piece_counts(linked.document)])
        edges.forget_offered(linked.document for linked in links)
    rows = (row for linked in links for row in linked.edges)
    edges.add_rows((s, kind, externals[t] if isinstance(t, str) else t, line, tier) for s, kind, t, line, tier in rows)
    edges.set_keys((linked.document, linked.keys, linked.offered) for linked in links)
    store.changed.update(linked.document for linked in links)
    edges.set_linked([linked.document for linked in links], compute_recipe())
    edges.set_counts([(linked.document, linked.counts, linked.unresolved) for linked in links if linked.counts])


def split_into_batches(links: Iterable[DocumentLinks]) -> Iterator[list[DocumentLinks]]:
    """Split the links into lists of at most AT_ONCE."""
    remaining = iter(links)
    while batch := list(islice(remaining, AT_ONCE)):
        yield batch


class Invalidation:
    """The changes of a run over one repository, and the documents that must be linked again because of them.

    A document's keys are read before it is replaced and again afterwards. A key whose digest differs leads to the documents that
    depend on it, and an edge into a removed unit to the document in which the edge starts.
    """

    def __init__(self, store: Store, repository: RepositoryId) -> None:
        self._store = store
        self._repository = repository
        self._before: defaultdict[Key, list[str]] = defaultdict(list)  # Key → digests before the run
        self._units: set[UnitId] = set()
        self._documents: set[DocumentId] = set()
        self._paths: set[str] = set()
        self.added = 0  # Number of documents added or replaced
        self._holders: set[int] = set()
        self._owners: set[tuple[str, str, str]] = set()

    def note_document(self, document: DocumentId) -> None:
        """Record the keys and units of a document before it is removed or replaced."""
        catalog = Catalog(self._store, self._repository, only=document)
        facts = catalog.read_facts(document)
        for key, digest in catalog.digest_offers(document).items():
            self._before[key].append(digest)
        units = [UnitId(d.id) for d in facts.definitions]
        self._units.update(units)
        self._documents.add(document)
        self._paths.add(facts.file.path)
        self._holders.update(e.target for e in self._store.edges.find_outgoing(units, ["member_of"]))
        self._owners.update(owner for member in facts.definitions if (owner := describe_owner(member)))

    @property
    def has_changes(self) -> bool:
        """True if a document was replaced or removed."""
        return bool(self._documents)

    def find_affected_types(self, catalog: Catalog) -> set[int]:
        """Find the types that members of changed documents belonged to."""
        return {d.id for owner in self._owners for d in find_types_in_folder(catalog, *owner)} | self._holders

    def find_documents_to_link(self, build: bool, catalog: Callable[[], Catalog]) -> set[DocumentId]:
        """Find the documents to link. A resumed build that found changes links all: it cannot know what its first batches read.

        `catalog` makes a catalog of the documents as they are now.
        """
        store = self._store
        unlinked = set(store.edges.find_unlinked(self._repository, compute_recipe()))
        if not unlinked and not self._documents:
            return set()
        now = catalog()
        everything = {DocumentId(d) for d in now.files}
        if unlinked == everything:
            documents = everything
        elif build:
            documents = everything if self._documents or self.added else unlinked
        else:
            after: defaultdict[Key, list[str]] = defaultdict(list)
            for document in sorted(unlinked):
                for key, digest in now.digest_offers(document).items():
                    after[key].append(digest)
                now.trim_cache()
            changed = {key for key in {*self._before, *after} if sorted(self._before[key]) != sorted(after[key])}
            stayed = {file.path for document, file in now.files.items() if document not in unlinked}
            folders = find_folders(stayed | self._paths) ^ now.folders
            changed |= {("p", folder.rpartition("/")[2]) for folder in folders}
            units = {UnitId(row[0]) for row in store.units.read_places(self._units)}
            gone = [*(self._units - units), *(-d for d in self._documents - everything)]
            documents = unlinked | (store.edges.find_source_documents(gone) & everything)
            passed: set[DocumentId] = set()
            tokens = {hash_key(key) for key in changed}
            while tokens:  # what depends on changed keys, directly or through what other documents offer
                linked, offering = store.edges.find_dependents(tokens)
                documents |= (linked | offering) & everything
                fresh = (offering - passed) & everything
                passed |= fresh
                tokens = {hash_key(("e", now.files[d].path)) for d in fresh}
        store.edges.forget_offered(self._documents - everything)
        return documents


def link_documents(index: str, repository: RepositoryId, documents: Sequence[DocumentId]) -> bytes:
    """Link documents in a separate process and marshal the result. It reads the index as of the last commit and writes nothing.

    The function is in this module so that the process need not import the code that derives documents.
    """
    linker = _open_linker(index, repository)
    return marshal.dumps([tuple(linker.link(document, whole=True)) for document in documents])


@cache
def _open_linker(index: str, repository: RepositoryId) -> Linker:
    gc.disable()  # `Catalog.trim_cache` breaks the cycles of facts itself
    return Linker(Store.read_unfinished(Path(index)), repository)
