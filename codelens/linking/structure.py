"""Which interfaces a type satisfies by having their members, in languages where that is enough (Go).

Members count by name and by the number of their parameters and results: by names alone, all with `Write` would be writers.
"""

from __future__ import annotations

from collections.abc import Iterator

from codelens.linking.catalog import Catalog
from codelens.linking.facts import Definition
from codelens.linking.values import Values
from codelens.model import TYPE_KINDS

MOST_HOLDERS = 2000
"""Types that are looked at for one member's name. Chosen; a guard: kubernetes has some 1 500 methods of one name."""


def members_of(catalog: Catalog, holder: Definition) -> list[Definition]:
    """Methods and properties of a type that stand in its file, or in its folder where the language lets them."""
    facts = [holder.facts]
    if holder.facts.file.language.open_types == "directory":
        language = holder.facts.file.language
        folder = holder.facts.file.path.rpartition("/")[0]
        facts = [catalog.facts(f.id) for f in catalog.by_folder.get((language.family or language.name, folder), ())]
    return [
        d
        for one in facts
        for named in one.members.get(holder.qualified, {}).values()
        for d in named
        if d.kind in ("method", "property") and not d.local and (d.parent is None or d.parent is holder)
    ]


def holders_of(catalog: Catalog, member: Definition) -> list[Definition]:
    """The types of the folder that a member outside of its type may belong to: more than one may bear the name."""
    language = member.facts.file.language
    if language.open_types != "directory" or member.kind != "method" or member.parent is not None:
        return []
    folder, family = member.facts.file.path.rpartition("/")[0], language.family or language.name
    found = [
        catalog.facts(file.id).top.get(member.container, ()) for file in catalog.by_folder.get((family, folder), ())
    ]
    return [d for named in found for d in named if d.kind in TYPE_KINDS]


class Structure:
    """Compares types and interfaces of one repository by their members."""

    def __init__(self, values: Values) -> None:
        self._values = values
        self._shapes: dict[int, dict[str, tuple[int, int]] | None] = {}
        self._wanted: dict[tuple[str, str], list[Definition]] = {}

    def interfaces_of(self, holder: Definition) -> Iterator[Definition]:
        """The interfaces that a type satisfies without naming them, by path and place."""
        if not holder.facts.file.language.structural or holder.kind == "interface":
            return
        shape = self._shape(holder)
        found: dict[int, Definition] = {}
        for name in sorted(shape or ()):
            for interface in self._interfaces_with(holder.facts.file.language.name, name):
                found[interface.id] = interface
        for interface in sorted(found.values(), key=lambda d: (d.facts.file.path, d.place)):
            wanted = self._shape(interface)
            if wanted and shape and all(shape.get(name) == one for name, one in wanted.items()):
                yield interface

    def candidates(self, interface: Definition) -> list[Definition]:
        """Types that have one of an interface's members, and so may satisfy it."""
        language = interface.facts.file.language
        wanted = self._shape(interface) if language.structural and interface.kind == "interface" else None
        if not wanted:
            return []
        catalog = self._values.catalog
        methods = min((catalog.methods_named(language.name, name) for name in sorted(wanted)), key=len)
        holders: list[Definition | None] = []
        for method in methods[:MOST_HOLDERS]:
            holders += holders_of(catalog, method) or [self._values.holder(method.facts, method.place)]
        return [h for h in holders if h is not None and h.kind != "interface"]

    def _interfaces_with(self, language: str, name: str) -> list[Definition]:
        key = (language, name)
        if key not in self._wanted:
            holders = [d.parent for d in self._values.catalog.methods_named(language, name) if d.parent is not None]
            direct = {h.id: h for h in holders if h.kind == "interface"}
            self._wanted[key] = list(direct.values())
        return self._wanted[key]

    def _shape(self, holder: Definition) -> dict[str, tuple[int, int]] | None:
        """Name → number of parameters and results of all members, also of what is embedded; None if an interface's are not all
        known."""
        if holder.id in self._shapes:
            return self._shapes[holder.id]
        found: dict[str, tuple[int, int]] | None = {}
        for above in self._values.line(holder):
            if above.definition is None:
                if holder.kind == "interface":
                    found = None  # it asks for members that nobody here can see
                    break
                continue
            for member in members_of(self._values.catalog, above.definition):
                assert found is not None
                found.setdefault(member.name, self._values.catalog.shape(member))
        self._shapes[holder.id] = found
        return found
