"""Edges that follow from bases: what a type inherits, what its members override, and which interfaces it satisfies.

They are stored, since the walk and the commands read them like any other; after an update they are made again for the types
of the documents that were linked and for all types below those.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from codelens.linking.catalog import Catalog
from codelens.linking.facts import Definition
from codelens.linking.structure import Structure, holders_of, members_of
from codelens.linking.values import Values
from codelens.model import TYPE_KINDS, DocumentId, UnitId
from codelens.store.store import Store

MOST_BELOW = 100_000
"""Types below a changed one that are looked at; a guard against circles of bad input."""


def imply(store: Store, catalog: Catalog, documents: Sequence[DocumentId], holders: Collection[int]) -> None:
    """Make the edges of types in these documents, of other `holders`, and of types below those, anew."""
    values = Values(catalog)
    structure = Structure(values)
    for holder in _touched(store, catalog, structure, documents, holders):
        own = {d.id: d for d in members_of(catalog, holder)}
        edges = list(_of_type(values, catalog, holder, list(own.values())))
        edges += [(holder.id, "implements", other.id, 0, "implied") for other in structure.interfaces_of(holder)]
        store.edges.remove_implied([holder.id, *sorted(own)])
        store.edges.add(edges)
    catalog.taken()


def _touched(
    store: Store, catalog: Catalog, structure: Structure, documents: Sequence[DocumentId], holders: Collection[int]
) -> list[Definition]:
    """Types in the documents or with members there, all below them, and who may satisfy them now; by path and place."""
    found: dict[int, Definition] = {}
    for document in documents:
        for definition in catalog.facts(document).definitions:
            if definition.kind in TYPE_KINDS:
                found[definition.id] = definition
    members = [d for document in documents for d in catalog.facts(document).definitions if d.kind == "method"]
    waiting = {*found, *holders, *(e.target for e in store.edges.outgoing([d.id for d in members], ["member_of"]))}
    waiting.update(holder.id for member in members for holder in holders_of(catalog, member))
    seen: set[int] = set()
    while waiting and len(seen) < MOST_BELOW:
        seen |= waiting
        rows = store.units.rows(UnitId(n) for n in sorted(waiting - set(found)))
        for unit, row in rows.items():
            if row.kind in TYPE_KINDS and row.document in catalog.files:
                found[unit] = catalog.facts(row.document).by_id[unit]
        below: set[int] = {e.source for e in store.edges.incoming(waiting, ["extends", "implements"])}
        for node in sorted(waiting & set(found)):
            below.update(d.id for d in structure.candidates(found[node]))
        waiting = below - seen
    return sorted(found.values(), key=lambda d: (d.facts.file.path, d.place))


def _of_type(
    values: Values, catalog: Catalog, holder: Definition, own: Sequence[Definition]
) -> Iterator[tuple[int, str, int, int, str]]:
    """What a type inherits from those above it, and what its own members override there; the nearest of a name counts."""
    by_name: dict[str, list[Definition]] = {}
    for member in own:
        by_name.setdefault(member.name, []).append(member)
    constructors = holder.facts.file.language.constructors
    taken: set[str] = set()
    for above in list(values.line(holder))[1:]:
        if above.definition is None or above.definition.id == holder.id:
            continue
        if "test" in holder.facts.file.roles and above.definition.facts is not holder.facts:
            continue  # a framework's hundred members for each of a thousand test classes would tell nothing
        for member in members_of(catalog, above.definition):
            if member.name in taken or (member.name in constructors and member.name not in by_name):
                continue
            if member.name in by_name:
                yield from ((mine.id, "overrides", member.id, 0, "implied") for mine in by_name[member.name])
            else:
                yield holder.id, "inherits", member.id, 0, "implied"
        taken |= {m.name for m in members_of(catalog, above.definition)}
