"""Which documents a run has to link: those that are new or changed, and those whose questions have other answers now.

What a document offered others is read before it is replaced; afterwards the same facts are read again, and the keys that
differ lead to the documents that asked for them. Edges into what is gone lead to theirs.
"""

from __future__ import annotations

from codelens.linking.catalog import Catalog
from codelens.linking.facts import token
from codelens.linking.link import recipe
from codelens.linking.structure import holders_of
from codelens.model import DocumentId, RepositoryId, UnitId
from codelens.store.store import Store


class Concerned:
    """Collects, in the course of a run over one repository, what it changes for the linker."""

    def __init__(self, store: Store, repository: RepositoryId) -> None:
        self._store = store
        self._repository = repository
        self._catalog: Catalog | None = None
        self._before: dict[str, list[str]] = {}
        self._units: set[UnitId] = set()
        self._documents: set[DocumentId] = set()
        self.holders: set[int] = set()
        """Types that members in changed documents belonged to."""

    def note(self, document: DocumentId) -> None:
        """Read what a document offers, before it is removed or replaced."""
        if self._catalog is None:
            self._catalog = Catalog(self._store, self._repository)
        facts = self._catalog.facts(document)
        _gather(self._before, self._catalog.offers(document))
        units = [UnitId(d.id) for d in facts.definitions]
        self._units.update(units)
        self._documents.add(document)
        self.holders.update(e.target for e in self._store.edges.outgoing(units, ["member_of"]))
        self.holders.update(h.id for member in facts.definitions for h in holders_of(self._catalog, member))

    @property
    def any(self) -> bool:
        """Whether anything was replaced or removed."""
        return bool(self._documents)

    def documents(self, build: bool) -> set[DocumentId]:
        """The documents to link. A build that went on over older batches links all: it cannot tell what those knew."""
        store = self._store
        unlinked = set(store.edges.unlinked(self._repository, recipe()))
        if not unlinked and not self._documents:
            return set()
        catalog = Catalog(store, self._repository)
        everything = {DocumentId(d) for d in catalog.files}
        if (build and self._documents) or unlinked == everything:
            return everything
        after: dict[str, list[str]] = {}
        for document in unlinked:
            _gather(after, catalog.offers(document))
        changed = {
            key for key in {*self._before, *after} if sorted(self._before.get(key, [])) != sorted(after.get(key, []))
        }
        gone = [*(self._units - store.units.existing(self._units)), *(-d for d in self._documents - everything)]
        found = unlinked | store.edges.documents_asking({token(key) for key in changed})
        return (found | store.edges.documents_pointing_at(gone)) & everything


def _gather(into: dict[str, list[str]], keys: dict[str, str]) -> None:
    for key, digest in keys.items():
        into.setdefault(key, []).append(digest)
