"""What an expression is, and an object of a declared type; what calling something gives."""

from __future__ import annotations

from collections.abc import Sequence

from codelens.linking.answers import EXTERNAL, Answers, Value, is_function, is_type, twin_type
from codelens.linking.facts import FUNCTIONS, HOLDERS, Definition, DocumentFacts
from codelens.linking.words import words
from codelens.model import TYPE_KINDS
from codelens.text.expressions import Step, TypeText, steps, type_text


class Types(Answers):
    """Expressions and declared types."""

    def expression(self, text: str, facts: DocumentFacts, unit: int | None, before: int = 1 << 62) -> Value | None:
        """What an expression is where it stands; None where that cannot be said."""
        parts = steps(text)
        if not parts:
            return None
        return self.guarded(
            ("expression", facts.file.id, text, unit, before), lambda: self._walk(parts, facts, unit, before)
        )

    def _walk(self, parts: Sequence[Step], facts: DocumentFacts, unit: int | None, before: int) -> Value | None:
        cast = max((at for at, step in enumerate(parts) if step.how == "type"), default=0)
        parts = parts[cast:]  # what it is before a cast does not matter
        first = parts[0]
        if first.how == "type":
            value = self.of_type(first.text, facts, unit)
        elif (
            first.text == "super"
            and len(parts) > 1
            and parts[1].how == "call"
            and "super()" in facts.file.language.super_names
        ):
            value, parts = self.super_object(facts, unit), parts[1:]
        else:
            value = self.name(first.text, facts, unit, before)
        language = facts.file.language
        for at, step in enumerate(parts[1:], 1):
            if value is None or value.how in ("external", "hidden"):
                return value
            if language.bare_calls and step.how != "call" and is_function(value):
                value = self._given(value)
                if value is None or value.how in ("external", "hidden"):
                    return value
            if step.how == "member" and step.text in language.makers and is_type(value):
                value = value._replace(how="object", tier="receiver")
            elif step.how == "call" and parts[at - 1].text in language.makers:
                pass  # its arguments
            elif step.how == "member":
                value = self.member(value, step.text)
            elif step.how == "call":
                value = self.called(value)
            else:
                value = self.held_by(value)
        return self._given(value) if value and language.bare_calls and is_function(value) else value

    def of_type(self, text: str, facts: DocumentFacts, unit: int | None) -> Value | None:
        """An object of a declared type; external where the repository does not define it."""
        said = type_text(text)
        if not said.head:
            return None
        return self.guarded(("type", facts.file.id, text, unit), lambda: self._find_type(said, facts, unit))

    def _find_type(self, said: TypeText, facts: DocumentFacts, unit: int | None) -> Value | None:
        last = said.head.rpartition(".")[2]
        known = words()
        if said.arguments and last in known.transparent:
            return self.of_type(said.arguments[0], facts, unit)
        if said.arguments and (last in known.classes):
            found = self.of_type(said.arguments[0], facts, unit)
            return found._replace(how="definition") if found and found.how == "object" else found
        if said.arguments and last in known.containers:
            return Value("holding", text=said.arguments[-1], facts=facts, unit=unit)
        if said.head in known.own or said.head in facts.file.language.self_names:
            holder = self.holder(facts, unit)
            return Value("object", holder) if holder else None
        value = self.type_named(said.head, facts, unit)
        if value is None:
            return EXTERNAL
        if value.how == "definition" and value.definition is not None:
            if value.definition.kind in ("type",) and (alias := self._alias(value.definition)):
                return alias
            is_type = value.definition.kind in HOLDERS or value.definition.facts.file.language.prototypes
            return Value("object", value.definition, tier="receiver") if is_type else value
        return value

    def type_named(self, head: str, facts: DocumentFacts, unit: int | None) -> Value | None:
        first, *rest = head.split(".")
        value = self.name(first, facts, unit)
        if value is None and rest:  # a qualified name that starts with a namespace
            found = self.named_type(head, facts)
            return Value("definition", found) if found else None
        if value and value.how == "object" and not rest and value.definition and value.definition.name != first:
            return None  # a variable of that name
        for part in rest:
            if value is None or value.how in ("external", "hidden"):
                return value
            value = self.member(value, part)
        if value and value.definition and (twin := twin_type(value.definition)):
            return value._replace(definition=twin)
        return value

    def _alias(self, definition: Definition) -> Value | None:
        """What a type that only renames another stands for."""
        facts = self.catalog.about(definition)
        for binding in facts.bindings.get(definition.place, ()):
            if binding.how in ("type", "value") and binding.name == definition.name and binding.text != definition.name:
                found = self.of_type(binding.text, facts, None)
                return found if found and found.how != "external" else None
        return None

    def _given(self, value: Value) -> Value | None:
        """What a member gives that is named and by that called."""
        definition = value.definition
        return self.value_of(definition) if definition and definition.kind == "property" else self.called(value)

    def called(self, value: Value) -> Value | None:
        """What calling something gives: of a type an object, of a function what it is declared or seen to return."""
        if value.how == "object":
            return self.member_call(value)
        definition = value.definition
        if value.how != "definition" or definition is None:
            return None
        if definition.kind in TYPE_KINDS:
            return Value("object", definition, tier="receiver")
        if definition.kind in ("variable", "constant", "property"):
            if twin := twin_type(definition):
                return Value("object", twin, tier="receiver")
            held = self.value_of(definition)
            return self.called(held) if held and held.definition is not definition else None
        return self.result_of(definition, value) if definition.kind in FUNCTIONS else None

    def member_call(self, value: Value) -> Value | None:
        """Calling an object: what its call operator gives; a property's value that is called stays what it is."""
        for name in ("__call__", "invoke", "apply", "operator()"):
            if value.definition and (found := self.catalog.members(value.definition, name)):
                return self.result_of(found[0], value)
        return None

    def result_of(self, function: Definition, of: Value, hows: Sequence[str] = ("return", "result")) -> Value | None:
        facts = self.catalog.about(function)
        for binding in facts.said(function.place, "return"):
            head = type_text(binding.text).head
            if head in words().own or head in facts.file.language.self_names:
                receiver = of.facts and of  # a value that remembers its receiver
                if receiver and receiver.unit is not None and receiver.facts:
                    return Value("object", receiver.facts.definitions[receiver.unit], tier="receiver")
                holder = self.holder(facts, function.place)
                return Value("object", holder, tier="receiver") if holder else None
            return self.of_type(binding.text, facts, function.place)
        for binding in [b for how in hows[1:] for b in facts.said(function.place, how)]:
            found = self.expression(binding.text, facts, function.place, binding.start)
            if found and found.how in ("object", "holding"):
                return found._replace(tier="receiver")
        if function.name in facts.file.language.constructors and (holder := self.holder(facts, function.place)):
            return Value("object", holder, tier="receiver")
        return None

    def held_by(self, value: Value) -> Value | None:
        """An element of something."""
        if value.how == "holding" and value.facts:
            return self.of_type(value.text, value.facts, value.unit)
        return value if value.how in ("external", "hidden") else None
