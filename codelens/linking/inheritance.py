"""Derive the edges that follow from bases: inherited members, overridden members, and interfaces that a type satisfies.

They are stored, so that walks and commands read them like any other edge. With structural interfaces (Go), members match by name
and by number of parameters and results: by name alone, every type with a method `Write` would be a writer.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from codelens.linking.catalog import Catalog
from codelens.linking.evaluator import Evaluator
from codelens.linking.facts import Definition
from codelens.model.code import TYPE_KINDS, DocumentId, UnitId
from codelens.model.graph import KINDS, TIERS
from codelens.model.groups import group_pairs
from codelens.store.store import Store

MOST_BELOW = 100_000  # Limit of subtypes to examine below changed types; a guard against cycles in bad input
MOST_HOLDERS = 2000  # Limit of types to examine for one member's name; kubernetes has some 1 500 methods of one name
_TIER = TIERS["implied"].number
Shape = dict[str, tuple[int, int]]  # Method → (parameters, results)
ImpliedRow = tuple[int, int, int, int, int]  # (source, number of the kind, target, 0, number of the tier)


class Inheritance:
    """The edges that follow from the bases of types, in one repository."""

    def __init__(self, evaluator: Evaluator) -> None:
        self._evaluator = evaluator
        self._catalog = evaluator.catalog
        self._shapes: dict[int, Shape | None] = {}

    def clear_cache(self) -> None:
        """Drop everything cached. It would be read again unchanged."""
        self._shapes.clear()

    def derive_edges(self, holder: Definition) -> Iterator[ImpliedRow]:
        """Derive a type's edges, and its members', to the nearest inherited or overridden members and to satisfied interfaces."""
        by_name = group_pairs((member.name, member) for member in list_own_members(self._catalog, holder))
        constructors = holder.facts.file.language.constructors
        overrides, inherits = KINDS["overrides"], KINDS["inherits"]
        taken: set[str] = set()
        for above in self._evaluator.list_lineage(holder)[1:]:
            if above.definition is None or above.definition.id == holder.id:
                continue
            if "test" in holder.facts.file.roles and above.definition.facts is not holder.facts:
                continue  # a framework's hundred members for each of a thousand test classes would be noise
            members = list_own_members(self._catalog, above.definition)
            for member in members:
                if member.name in taken or (member.name in constructors and member.name not in by_name):
                    continue
                if member.name in by_name:
                    yield from ((mine.id, overrides, member.id, 0, _TIER) for mine in by_name[member.name])
                else:
                    yield holder.id, inherits, member.id, 0, _TIER
            taken.update(m.name for m in members)
        for interface in self._list_satisfied(holder):
            yield holder.id, KINDS["implements"], interface.id, 0, _TIER

    def _list_satisfied(self, holder: Definition) -> Iterator[Definition]:
        """List the interfaces that a type satisfies without naming them, in order of path and place."""
        language = holder.facts.file.language
        if not language.structural or holder.kind == "interface":
            return
        shape = self._read_shape(holder) or {}
        interfaces: dict[int, Definition] = {}
        for name in sorted(shape):
            interfaces.update((d.id, d) for d in self._catalog.find_interfaces(language.name, name))
        for interface in sorted(interfaces.values(), key=lambda d: (d.facts.file.path, d.place)):
            wanted = self._read_shape(interface)
            if wanted and all(shape.get(name) == counts for name, counts in wanted.items()):
                yield interface

    def _list_candidates(self, interface: Definition) -> list[Definition]:
        """List the types that have at least one of an interface's members and so may satisfy it."""
        language = interface.facts.file.language
        wanted = self._read_shape(interface) if language.structural and interface.kind == "interface" else None
        if not wanted:
            return []
        catalog = self._catalog
        methods = min((catalog.list_methods(language.name, name) for name in sorted(wanted)), key=len)
        holders: list[Definition | None] = []
        for method in catalog.read_definitions(n[:2] for n in methods[:MOST_HOLDERS]):
            holders += find_owning_types(catalog, method) or [self._evaluator.find_owner(method.facts, method.place)]
        return [h for h in holders if h is not None and h.kind != "interface"]

    def _read_shape(self, holder: Definition) -> Shape | None:
        """Read a type's shape, with embedded members: name → (parameters, results). None if an interface has an unknown base."""
        if holder.id not in self._shapes:
            lineage = self._evaluator.list_lineage(holder)
            shape: Shape = {}
            for above in lineage:
                for member in list_own_members(self._catalog, above.definition) if above.definition else ():
                    shape.setdefault(member.name, self._catalog.read_shape(member))
            has_outer_base = holder.kind == "interface" and any(above.definition is None for above in lineage)
            self._shapes[holder.id] = None if has_outer_base else shape
        return self._shapes[holder.id]

    def _list_affected_types(
        self, store: Store, documents: Sequence[DocumentId], holders: Collection[int]
    ) -> dict[int, Definition]:
        """List, by path and place, types that have members in the documents, their subtypes, and types that may satisfy them."""
        catalog = self._catalog
        types = {d.id: d for document in documents for d in catalog.read_facts(document).types}
        members = [d for document in documents for d in catalog.read_facts(document).definitions if d.kind == "method"]
        waiting = {*types, *holders}
        waiting.update(holder.id for member in members for holder in find_owning_types(catalog, member))
        waiting.update(e.target for e in store.edges.find_outgoing([d.id for d in members], ["member_of"]))
        seen: set[int] = set()
        while waiting and len(seen) < MOST_BELOW:
            seen |= waiting
            rows = store.units.read_rows(UnitId(n) for n in sorted(waiting - set(types)))
            for unit, row in rows.items():
                if row.kind in TYPE_KINDS and row.document in catalog.files:
                    types[unit] = catalog.read_facts(row.document).by_id[unit]
            below: set[int] = {e.source for e in store.edges.find_incoming(waiting, ["extends", "implements"])}
            for node in sorted(waiting & set(types)):
                below.update(d.id for d in self._list_candidates(types[node]))
            waiting = below - seen
        return {d.id: d for d in sorted(types.values(), key=lambda d: (d.facts.file.path, d.place))}

    def replace_edges(self, store: Store, documents: Sequence[DocumentId], holders: Collection[int]) -> None:
        """Replace the derived edges of types in these documents, of other `holders`, and of their subtypes."""
        below = self._list_affected_types(store, documents, holders)
        for holder in [*below.values()]:  # types of one name share their members, and so the edges that start there
            for member in list_own_members(self._catalog, holder):
                below.update((d.id, d) for d in find_owning_types(self._catalog, member))
        for holder in below.values():
            changed = [holder, *list_own_members(self._catalog, holder)]
            store.edges.remove_implied(sorted({d.id for d in changed}))
            store.changed.update(d.facts.file.id for d in changed)
        for holder in below.values():
            store.edges.add_rows([*self.derive_edges(holder)])
        self._catalog.take_keys()


def list_own_members(catalog: Catalog, holder: Definition) -> list[Definition]:
    """List the methods and properties of a type in its file, or in its folder if the language allows that."""
    members = [d for d in catalog.list_all_members(holder) if d.kind in ("method", "property") and not d.local]
    return [member for member in members if member.parent is None or member.parent.id == holder.id]


def describe_owner(member: Definition) -> tuple[str, str, str] | None:
    """Describe the type of a method that is defined outside of it, as (language family, folder, name); None for other members."""
    file = member.facts.file
    if file.language.open_types != "directory" or member.kind != "method" or member.parent is not None:
        return None
    return file.language.kin, file.path.rpartition("/")[0], member.container


def find_types_in_folder(catalog: Catalog, kin: str, folder: str, name: str) -> list[Definition]:
    """Find the types of a name in a folder. There may be several, under different build tags."""
    return [d for d in catalog.find_in_folder(kin, folder, name) if d.kind in TYPE_KINDS]


def find_owning_types(catalog: Catalog, member: Definition) -> list[Definition]:
    """Find the types that a member defined outside of its type may belong to: all types of that name in its folder."""
    owner = describe_owner(member)
    return find_types_in_folder(catalog, *owner) if owner else []
