"""What a member of an object, type or module is: through the bases of its type, nearest first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from codelens.linking.answers import EXTERNAL, HIDDEN, Answers, Value, twin_value
from codelens.linking.facts import HOLDERS, Definition, DocumentFacts
from codelens.text.expressions import type_text

MOST_BASES = 40
"""Types that are looked at above one. Chosen."""


class Members(Answers):
    """Members, fields and bases."""

    def member(self, value: Value, name: str, bare: bool = False) -> Value | None:
        """A member by name; external where the owner, or a base of it, lies outside of the repository."""
        if value.how == "module" and value.module:
            return self.exported(value.module, name) or (EXTERNAL if value.module.complete else None)
        if value.how == "definition" and value.definition and value.definition.kind not in HOLDERS:
            prototype = value.definition.facts.file.language.prototypes
            if prototype and (found := self.catalog.members(value.definition, name)):
                return Value("definition", found[-1], tier="receiver")
            if value.definition.kind in ("variable", "constant", "property"):
                held = self.value_of(value.definition)
                return self.member(held, name) if held and held.how != "definition" else held
            found = self.catalog.members(value.definition, name)
            return Value("definition", found[-1], tier="receiver") if found else None
        if value.how == "definition" and value.definition and (twin := twin_value(value.definition)):
            value = self.value_of(twin) or value
        if value.how in ("object", "definition") and value.definition:
            return self._member_of_type(value.definition, name, bare)
        return value if value.how == "external" else None  # of what is hidden a member may still be guessed by its name

    def _member_of_type(self, owner: Definition, name: str, bare: bool) -> Value | None:
        return self.guarded(("member", owner.id, name, bare), lambda: self._find_member(owner, name, bare))

    def _find_member(self, owner: Definition, name: str, bare: bool) -> Value | None:
        external = False
        for holder in self.line(owner):
            if holder.definition is None:
                external = True
                continue
            type_ = holder.definition
            if found := self.catalog.members(type_, name):
                definition = found[-1]
                tier = "scope" if bare else "receiver"
                return Value("definition", definition, facts=owner.facts, unit=owner.place, tier=tier)
            if field := self.field(type_, name):
                return field
        return EXTERNAL if external else None

    def field(self, owner: Definition, name: str) -> Value | None:
        """A field by what its type declares of it, or what a member sets it to."""
        facts = self.catalog.about(owner)
        if bound := facts.bound(owner.place, name):
            return self.bound_value(bound, facts, 1 << 62) or HIDDEN
        if bound := facts.field(owner.qualified, name):
            return self.bound_value(bound, facts, 1 << 62) or HIDDEN
        return None

    def value_of(self, definition: Definition) -> Value | None:
        """What a variable, constant or property holds."""
        facts = self.catalog.about(definition)
        bound = facts.bound(definition.place, definition.name) or facts.bound(None, definition.name)
        if bound:
            return self.bound_value(bound, facts, 1 << 62)
        if definition.kind == "property":
            return self.result_of(definition, Value("definition", definition)) or self._set(definition, facts)
        return None

    def _set(self, definition: Definition, facts: DocumentFacts) -> Value | None:
        """What the members of a type set the field behind a property to (Ruby's attr_reader)."""
        bound = facts.field(definition.container, definition.name)
        return self.bound_value(bound, facts, 1 << 62) if bound else None

    def line(self, owner: Definition) -> Sequence[Value]:
        """A type and all its bases, nearest first; a base that is not known has no definition."""
        whole = not self._busy
        return self.catalog.remembered(("line", owner.id), lambda: tuple(self._line(owner)), whole)

    def _line(self, owner: Definition) -> Iterator[Value]:
        seen, waiting = {owner.id}, [Value("definition", owner)]
        while waiting and len(seen) < MOST_BASES:
            current = waiting.pop(0)
            yield current
            if current.definition is None:
                continue
            for base in self.bases(current.definition):
                if base.definition is None:
                    waiting.append(base)
                elif base.definition.id not in seen:
                    seen.add(base.definition.id)
                    waiting.append(base)

    def bases(self, owner: Definition) -> Iterator[Value]:
        """The bases and interfaces that a type names, in order; one that is not known has no definition."""
        facts = self.catalog.about(owner)
        outside = owner.parent.place if owner.parent else None
        named = [(b.text, outside) for b in facts.bindings.get(owner.place, ()) if b.how in ("base", "interface")]
        for text, place in named + [(b.text, b.unit) for b in facts.seconded.get(owner.name, ())]:
            value = self._base(text, facts, place)
            if value is None or value.definition is None or value.definition.id != owner.id:
                yield value if value and value.definition else EXTERNAL

    def _base(self, text: str, facts: DocumentFacts, outside: int | None) -> Value | None:
        head = type_text(text).head
        if not head:
            return None
        return self.guarded(("base", facts.file.id, text, outside), lambda: self.type_named(head, facts, outside))
