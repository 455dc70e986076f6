"""What a bare name is where it stands: in the functions and types around, the file, its imports, its package."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from codelens.derived import Binding
from codelens.linking.answers import EXTERNAL, HIDDEN, Answers, Value
from codelens.linking.facts import FUNCTIONS, HOLDERS, Definition, DocumentFacts
from codelens.linking.modules import find_import
from codelens.model import TYPE_KINDS


class Scopes(Answers):
    """Names, from the inside out."""

    def name(self, name: str, facts: DocumentFacts, unit: int | None, before: int = 1 << 62) -> Value | None:
        """What a bare name is at a place: in the functions and types around, the file, its imports, its package."""
        language = facts.file.language
        around = facts.definitions[unit] if unit is not None else None
        if name in language.self_names and (holder := self.holder(facts, unit)):
            return Value("object", holder, tier="scope")
        if name.startswith("@") and (holder := self.holder(facts, unit)):
            return self.field(holder, name.lstrip("@")) or HIDDEN
        if name in language.super_names or (f"{name}()" in language.super_names):
            return self.super_object(facts, unit)
        while around is not None:
            if found := facts.locals.get(around.place, {}).get(name):
                return Value("definition", found[-1], tier="scope")
            if around.name != name or around.kind in FUNCTIONS:
                bound = facts.bound(around.place, name)
                if bound and around.kind not in TYPE_KINDS:
                    return self.bound_value(bound, facts, before) or self._fixture(name, bound, facts) or HIDDEN
                if bound and language.implicit_self:
                    return self.bound_value(bound, facts, 1 << 62) or HIDDEN
            if around.kind in HOLDERS and (language.implicit_self or around.kind == "module"):
                found_member = self.member(Value("object", around), name, bare=True)
                if found_member and found_member.how != "external":
                    return found_member._replace(tier="scope")
            elif around.parent is None and around.container and language.implicit_self:
                holder = self.holder(facts, around.place)
                found_member = self.member(Value("object", holder), name, bare=True) if holder else None
                if found_member and found_member.how != "external":
                    return found_member._replace(tier="scope")
            around = around.parent
        if found := facts.top.get(name):
            return Value("definition", self._nearest(found, before), tier="file")
        if bound := facts.bound(None, name):
            return self.bound_value(bound, facts, before) or HIDDEN
        if one := facts.names.get(name):
            found_import = find_import(self.catalog, facts, one)
            return self.from_module(found_import, one.name, facts) or EXTERNAL
        return self._beyond_the_file(name, facts)

    def _fixture(self, name: str, bound: Sequence[Binding], facts: DocumentFacts) -> Value | None:
        """What a test's parameter is, of which nothing else is said: what the function of its name gives (pytest)."""
        row = facts.file.language
        if not row.fixtures or "test" not in facts.file.roles or any(b.text for b in bound):
            return None
        self.catalog.ask(f"p:{row.fixtures.partition('.')[0]}")
        folder, given = facts.file.path.rpartition("/")[0], [facts]
        while True:
            if file := self.catalog.by_path.get(f"{folder}/{row.fixtures}".lstrip("/")):
                given.append(self.catalog.facts(file.id))
            if not folder:
                break
            folder = folder.rpartition("/")[0]
        for one in given:
            for function in self.catalog.top(one, name):
                if function.kind == "function":
                    return self.result_of(function, Value("definition", function), ("return", "result", "yield"))
        return None

    def _beyond_the_file(self, name: str, facts: DocumentFacts) -> Value | None:
        return self.guarded(("beyond", facts.file.id, name), lambda: self._find_beyond(name, facts))

    def _find_beyond(self, name: str, facts: DocumentFacts) -> Value | None:
        language = facts.file.language
        family = language.family or language.name
        for wildcard in facts.wildcards:
            if (module := find_import(self.catalog, facts, wildcard)) and (found := self.exported(module, name)):
                return found._replace(tier="import")
        candidates: Sequence[Definition] = ()
        if language.package == "directory":
            candidates = list(self.catalog.in_folder(family, facts.file.path.rpartition("/")[0], name))
        elif language.package == "namespace":
            candidates = list(self._in_namespaces(family, name, facts))
        elif language.package == "repository":
            candidates = [d for d in self.catalog.named(family, name) if d.kind not in ("method", "property")]
        if not candidates and language.modules == "include":
            return None
        if candidates:
            best = self._closest(candidates, facts)
            return Value("definition", best, tier="package") if best else None
        return None

    def _in_namespaces(self, family: str, name: str, facts: DocumentFacts) -> Iterator[Definition]:
        """In the file's own namespace and those around it, then in those that it uses as a whole."""
        namespace = facts.file.namespace
        while namespace:
            found = list(self.catalog.in_namespace(family, namespace, name))
            if found:
                yield from found
                return
            namespace = namespace.rpartition(".")[0] if facts.file.language.open_types else ""
        for one in facts.imports:
            if not one.name and not one.alias:
                yield from self.catalog.in_namespace(family, one.module.replace("\\", "."), name)

    def _closest(self, candidates: Sequence[Definition], facts: DocumentFacts) -> Definition | None:
        """Of several definitions the one whose path shares most with this file's; None where that tells nothing."""
        if len(candidates) == 1:
            return candidates[0]
        own = facts.file.path.split("/")

        def shared(definition: Definition) -> int:
            other = definition.facts.file.path.split("/")
            return next((i for i, (a, b) in enumerate(zip(own, other, strict=False)) if a != b), len(own))

        kinds = [d for d in candidates if d.kind in TYPE_KINDS] or list(candidates)
        ranked = sorted(kinds, key=lambda d: -shared(d))
        if len(ranked) == 1 or shared(ranked[0]) > shared(ranked[1]) or ranked[0].facts is ranked[1].facts:
            return ranked[0]
        # The same name under other build tags, or reopened: all are the same thing to who names it.
        return ranked[0] if len({d.qualified for d in ranked}) == 1 and len(ranked) <= 4 else None

    @staticmethod
    def _nearest(found: Sequence[Definition], before: int) -> Definition:
        """Of several definitions of one name in a file the last before a place, else the first; types before values."""
        earlier = [d for d in found if d.start <= before]
        return earlier[-1] if earlier else found[0]

    def bound_value(self, bound: Sequence[Binding], facts: DocumentFacts, before: int) -> Value | None:
        """The value of a name by what is bound to it: a declared type first, else the last value before the place."""
        for binding in reversed(bound):
            if binding.how == "type" and (found := self.of_type(binding.text, facts, binding.unit)):
                return found
        earlier = [b for b in bound if b.start < before and b.how != "type"] or [b for b in bound if b.how != "type"]
        for binding in reversed(earlier):
            if not binding.text:
                continue
            found = self.expression(binding.text, facts, binding.unit, binding.start)
            if found and binding.how == "element":
                found = self.held_by(found)
            if found:
                return found._replace(tier="receiver")
        return EXTERNAL if any(b.how == "type" and b.text for b in bound) else None

    def holder(self, facts: DocumentFacts, unit: int | None) -> Definition | None:
        """The type that a unit belongs to: around it, or the one that its container names."""
        around = facts.definitions[unit] if unit is not None else None
        while around is not None:
            if around.kind in TYPE_KINDS:
                return around
            if around.container and (around.parent is None or around.kind == "method"):
                if around.parent is not None and around.parent.kind in HOLDERS:
                    return around.parent
                return self.named_type(around.container, facts)
            around = around.parent
        return None

    def named_type(self, qualified: str, facts: DocumentFacts) -> Definition | None:
        """The type of that qualified name that a file sees."""
        name = qualified.rpartition(".")[2]
        for found in facts.top.get(name, ()):
            if found.kind in HOLDERS or facts.file.language.prototypes:
                return found
        for members in facts.members.values():
            for found in members.get(name, ()):
                if found.kind in HOLDERS and found.qualified == qualified:
                    return found
        value = self._import_or_beyond(name, facts)
        if value and value.definition and value.definition.kind in HOLDERS:
            return value.definition
        if facts.file.language.open_types == "repository":
            family = facts.file.language.family or facts.file.language.name
            types = [d for d in self.catalog.named(family, name) if d.kind in HOLDERS]
            return self._closest(types, facts) if types else None
        return None

    def _import_or_beyond(self, name: str, facts: DocumentFacts) -> Value | None:
        if one := facts.names.get(name):
            return self.from_module(find_import(self.catalog, facts, one), one.name, facts)
        return self._beyond_the_file(name, facts)

    def super_object(self, facts: DocumentFacts, unit: int | None) -> Value | None:
        holder = self.holder(facts, unit)
        if holder is None:
            return None
        bases = list(self.bases(holder))
        return Value("object", bases[0].definition, tier="scope") if bases and bases[0].definition else EXTERNAL
