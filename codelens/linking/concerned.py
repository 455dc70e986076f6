"""Finds the documents that a run has to link: new and changed ones, and those that depend on a key that changed.

The keys of a document are read before it is replaced and again afterwards; those that differ lead to the documents that
depend on them, and edges into removed units lead to theirs.
"""

from __future__ import annotations

from collections.abc import Callable

from codelens.linking.catalog import Catalog
from codelens.linking.facts import Key, token
from codelens.linking.implied import owner_of, types_at
from codelens.linking.link import recipe
from codelens.model import DocumentId, RepositoryId, UnitId
from codelens.store.store import Store


class Concerned:
    """Collects, in the course of a run over one repository, what it changes for the linker."""

    def __init__(self, store: Store, repository: RepositoryId) -> None:
        self._store = store
        self._repository = repository
        self._before: dict[Key, list[str]] = {}
        self._units: set[UnitId] = set()
        self._documents: set[DocumentId] = set()
        self.added = 0
        """Documents that were added or replaced."""
        self._holders: set[int] = set()
        self._owners: set[tuple[str, str, str]] = set()

    def note(self, document: DocumentId) -> None:
        """Read what a document offers, before it is removed or replaced."""
        catalog = Catalog(self._store, self._repository, only=document)
        facts = catalog.facts(document)
        _gather(self._before, catalog.offers(document))
        units = [UnitId(d.id) for d in facts.definitions]
        self._units.update(units)
        self._documents.add(document)
        self._holders.update(e.target for e in self._store.edges.outgoing(units, ["member_of"]))
        self._owners.update(owner for member in facts.definitions if (owner := owner_of(member)))

    @property
    def any(self) -> bool:
        """Whether anything was replaced or removed."""
        return bool(self._documents)

    def holders(self, catalog: Catalog) -> set[int]:
        """Types that members in changed documents belonged to, of those that there are now."""
        return {d.id for owner in self._owners for d in types_at(catalog, *owner)} | self._holders

    def documents(self, build: bool, catalog: Callable[[], Catalog]) -> set[DocumentId]:
        """The documents to link. A build that went on and found changes links all: it cannot tell what older batches knew.

        `catalog` gives that of the documents as they are now.
        """
        store = self._store
        unlinked = set(store.edges.unlinked(self._repository, recipe()))
        if not unlinked and not self._documents:
            return set()
        now = catalog()
        everything = {DocumentId(d) for d in now.files}
        if unlinked == everything:
            found = everything
        elif build:
            found = everything if self._documents or self.added else unlinked
        else:
            after: dict[Key, list[str]] = {}
            for document in sorted(unlinked):
                _gather(after, now.offers(document))
                now.trim()
            keys = {*self._before, *after}
            changed = {key for key in keys if sorted(self._before.get(key, [])) != sorted(after.get(key, []))}
            gone = [*(self._units - store.units.existing(self._units)), *(-d for d in self._documents - everything)]
            found = unlinked | self._depending(now, {token(key) for key in changed})
            found = (found | store.edges.documents_pointing_at(gone)) & everything
        store.edges.forget_offered(self._documents - everything)
        return found

    def _depending(self, catalog: Catalog, changed: set[int]) -> set[DocumentId]:
        """The documents that depend on changed keys, also by way of what other documents offer."""
        found: set[DocumentId] = set()
        passed: set[DocumentId] = set()
        while changed:
            linked, offering = self._store.edges.depending_on(changed)
            found |= linked | offering
            fresh = {d for d in offering - passed if d in catalog.files}
            passed |= fresh
            changed = {token(("e", catalog.files[d].path)) for d in fresh}
        return found


def _gather(into: dict[Key, list[str]], keys: dict[Key, str]) -> None:
    for key, digest in keys.items():
        into.setdefault(key, []).append(digest)
