"""What an expression is: a definition, an object of a type, a module, or nothing that the repository knows.

Names are found from the inside out, members through the bases of a type; each step says how sure it is (relations.TIERS).
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple, TypeVar

from codelens.derived import Binding
from codelens.linking.catalog import Catalog
from codelens.linking.facts import FUNCTIONS, HOLDERS, Definition, DocumentFacts
from codelens.linking.modules import Module, find_import, find_module
from codelens.model import TYPE_KINDS
from codelens.text.expressions import Step, TypeText, steps, type_text

DEEPEST = 24
"""Steps of one question into the next. Chosen: chains of calls and aliases that people write are shorter."""
T = TypeVar("T")
MOST_BASES = 40
"""Types that are looked at above one. Chosen."""


class Words(NamedTuple):
    """words.toml."""

    transparent: frozenset[str]
    containers: frozenset[str]
    classes: frozenset[str]
    own: frozenset[str]
    common: frozenset[str]


@cache
def words() -> Words:
    """The word lists, read once."""
    table = tomllib.loads(Path(__file__).with_name("words.toml").read_text(encoding="utf-8"))
    return Words(**{name: frozenset(table[name]) for name in Words._fields})


class Value(NamedTuple):
    """What an expression stands for."""

    how: str
    """definition, object (of the type `definition`), module, holding (of what the type in `text` holds), external (outside of
    the repository), hidden (a name that is bound to something unknown)."""
    definition: Definition | None = None
    module: Module | None = None
    text: str = ""
    facts: DocumentFacts | None = None
    unit: int | None = None
    tier: str = ""


EXTERNAL = Value("external")
HIDDEN = Value("hidden")


class Values:
    """Evaluates names and expressions where they stand."""

    def __init__(self, catalog: Catalog) -> None:
        self.catalog = catalog
        self._depth = 0
        self._busy: set[tuple[object, ...]] = set()

    # Names

    def name(self, name: str, facts: DocumentFacts, unit: int | None, before: int = 1 << 62) -> Value | None:
        """What a bare name is at a place: in the functions and types around, the file, its imports, its package."""
        language = facts.file.language
        around = facts.definitions[unit] if unit is not None else None
        if name in language.self_names and (holder := self.holder(facts, unit)):
            return Value("object", holder, tier="scope")
        if name.startswith("@") and (holder := self.holder(facts, unit)):
            return self._field(holder, name.lstrip("@")) or HIDDEN
        if name in language.super_names or (f"{name}()" in language.super_names):
            return self._super(facts, unit)
        while around is not None:
            if found := facts.locals.get(around.place, {}).get(name):
                return Value("definition", found[-1], tier="scope")
            if around.name != name or around.kind in FUNCTIONS:
                bound = facts.bound(around.place, name)
                if bound and around.kind not in TYPE_KINDS:
                    return self._bound(bound, facts, before) or self._fixture(name, bound, facts) or HIDDEN
                if bound and language.implicit_self:
                    return self._bound(bound, facts, 1 << 62) or HIDDEN
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
            return self._bound(bound, facts, before) or HIDDEN
        if one := facts.names.get(name):
            found_import = find_import(self.catalog, facts, one)
            return self._of_module(found_import, one.name, facts) or EXTERNAL
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
                    return self._result(function, Value("definition", function), ("return", "result", "yield"))
        return None

    def _beyond_the_file(self, name: str, facts: DocumentFacts) -> Value | None:
        return self._guarded(("beyond", facts.file.id, name), lambda: self._find_beyond(name, facts))

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

    def _bound(self, bound: Sequence[Binding], facts: DocumentFacts, before: int) -> Value | None:
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
                found = self._held(found)
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
            return self._of_module(find_import(self.catalog, facts, one), one.name, facts)
        return self._beyond_the_file(name, facts)

    def _super(self, facts: DocumentFacts, unit: int | None) -> Value | None:
        holder = self.holder(facts, unit)
        if holder is None:
            return None
        bases = list(self.bases(holder))
        return Value("object", bases[0].definition, tier="scope") if bases and bases[0].definition else EXTERNAL

    # Modules

    def _of_module(self, module: Module | None, name: str, facts: DocumentFacts) -> Value | None:
        if module is None:
            return None
        if not name or name == "*":
            return Value("module", module=module, tier="import")
        if name == "default" and (found := self._default(module)):
            return found
        if found := self.exported(module, name):
            return found._replace(tier="import")
        return None

    def imported(self, module: Module, name: str, facts: DocumentFacts) -> Value | None:
        """What an import of a name from a module brings."""
        return self._of_module(module, name, facts)

    def _default(self, module: Module) -> Value | None:
        """What a module exports by default: a definition of that name, or one named like the file."""
        if found := self.exported(module, "default"):
            return found._replace(tier="import")
        for document in module.documents:
            facts = self.catalog.facts(document)
            self.catalog.ask(f"d:{facts.file.path}#default")
            exported = facts.bound(None, "default")
            if exported and (value := self._bound(exported, facts, 1 << 62)):
                return value._replace(tier="import")
        return None

    def exported(self, module: Module, name: str) -> Value | None:
        """What a module knows by a name: defined there, imported there, or a module inside it."""
        key = ("exported", module.documents, module.folder, module.within, name)
        return self._guarded(key, lambda: self._find_exported(module, name))

    def _guarded(self, key: tuple[object, ...], answer: Callable[[], T | None]) -> T | None:
        """An answer, remembered; none where it is being looked for already, or too deep."""
        if key in self._busy or self._depth > DEEPEST:
            self.catalog.cut += 1
            return None
        whole = not self._busy
        self._busy.add(key)
        self._depth += 1
        try:
            return self.catalog.remembered(key, answer, whole)
        finally:
            self._depth -= 1
            self._busy.discard(key)

    def _find_exported(self, module: Module, name: str) -> Value | None:
        for document in module.documents:
            facts = self.catalog.facts(document)
            top = [d for d in self.catalog.top(facts, name) if not module.within or d.container == module.within]
            if module.within:
                top += [d for d in facts.members.get(module.within, {}).get(name, ()) if d not in top]
            if top:
                return Value("definition", top[-1], tier="import")
            if one := facts.names.get(name):
                found = self._of_module(find_import(self.catalog, facts, one), one.name, facts)
                if found:
                    return found
            if bound := facts.bound(None, name):
                return self._bound(bound, facts, 1 << 62)
        if inside := find_module(self.catalog, module, name):
            return Value("module", module=inside, tier="import")
        for document in module.documents:
            facts = self.catalog.facts(document)
            if facts.wildcards:
                self.catalog.ask(f"d:{facts.file.path}#*")
            for wildcard in facts.wildcards:
                other = find_import(self.catalog, facts, wildcard)
                if other and (found := self.exported(other, name)):
                    return found
        return None

    # Expressions and types

    def expression(self, text: str, facts: DocumentFacts, unit: int | None, before: int = 1 << 62) -> Value | None:
        """What an expression is where it stands; None where that cannot be said."""
        parts = steps(text)
        if not parts:
            return None
        return self._guarded(
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
            value, parts = self._super(facts, unit), parts[1:]
        else:
            value = self.name(first.text, facts, unit, before)
        language = facts.file.language
        for at, step in enumerate(parts[1:], 1):
            if value is None or value.how in ("external", "hidden"):
                return value
            if language.bare_calls and step.how != "call" and _is_function(value):
                value = self._given(value)
                if value is None or value.how in ("external", "hidden"):
                    return value
            if step.how == "member" and step.text in language.makers and _is_type(value):
                value = value._replace(how="object", tier="receiver")
            elif step.how == "call" and parts[at - 1].text in language.makers:
                pass  # its arguments
            elif step.how == "member":
                value = self.member(value, step.text)
            elif step.how == "call":
                value = self.called(value)
            else:
                value = self._held(value)
        return self._given(value) if value and language.bare_calls and _is_function(value) else value

    def of_type(self, text: str, facts: DocumentFacts, unit: int | None) -> Value | None:
        """An object of a declared type; external where the repository does not define it."""
        said = type_text(text)
        if not said.head:
            return None
        return self._guarded(("type", facts.file.id, text, unit), lambda: self._find_type(said, facts, unit))

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
        value = self._type_named(said.head, facts, unit)
        if value is None:
            return EXTERNAL
        if value.how == "definition" and value.definition is not None:
            if value.definition.kind in ("type",) and (alias := self._alias(value.definition)):
                return alias
            is_type = value.definition.kind in HOLDERS or value.definition.facts.file.language.prototypes
            return Value("object", value.definition, tier="receiver") if is_type else value
        return value

    def _type_named(self, head: str, facts: DocumentFacts, unit: int | None) -> Value | None:
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
        if value and value.definition and (twin := _twin(value.definition)):
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
            if twin := _twin(definition):
                return Value("object", twin, tier="receiver")
            held = self.value_of(definition)
            return self.called(held) if held and held.definition is not definition else None
        return self._result(definition, value) if definition.kind in FUNCTIONS else None

    def member_call(self, value: Value) -> Value | None:
        """Calling an object: what its call operator gives; a property's value that is called stays what it is."""
        for name in ("__call__", "invoke", "apply", "operator()"):
            if value.definition and (found := self.catalog.members(value.definition, name)):
                return self._result(found[0], value)
        return None

    def _result(self, function: Definition, of: Value, hows: Sequence[str] = ("return", "result")) -> Value | None:
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

    def _held(self, value: Value) -> Value | None:
        """An element of something."""
        if value.how == "holding" and value.facts:
            return self.of_type(value.text, value.facts, value.unit)
        return value if value.how in ("external", "hidden") else None

    # Members

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
        if value.how == "definition" and value.definition and (twin := _twin_value(value.definition)):
            value = self.value_of(twin) or value
        if value.how in ("object", "definition") and value.definition:
            return self._member_of_type(value.definition, name, bare)
        return value if value.how == "external" else None  # of what is hidden a member may still be guessed by its name

    def _member_of_type(self, owner: Definition, name: str, bare: bool) -> Value | None:
        return self._guarded(("member", owner.id, name, bare), lambda: self._find_member(owner, name, bare))

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
            if field := self._field(type_, name):
                return field
        return EXTERNAL if external else None

    def _field(self, owner: Definition, name: str) -> Value | None:
        """A field by what its type declares of it, or what a member sets it to."""
        facts = self.catalog.about(owner)
        if bound := facts.bound(owner.place, name):
            return self._bound(bound, facts, 1 << 62) or HIDDEN
        if bound := facts.field(owner.qualified, name):
            return self._bound(bound, facts, 1 << 62) or HIDDEN
        return None

    def value_of(self, definition: Definition) -> Value | None:
        """What a variable, constant or property holds."""
        facts = self.catalog.about(definition)
        bound = facts.bound(definition.place, definition.name) or facts.bound(None, definition.name)
        if bound:
            return self._bound(bound, facts, 1 << 62)
        if definition.kind == "property":
            return self._result(definition, Value("definition", definition)) or self._set(definition, facts)
        return None

    def _set(self, definition: Definition, facts: DocumentFacts) -> Value | None:
        """What the members of a type set the field behind a property to (Ruby's attr_reader)."""
        bound = facts.field(definition.container, definition.name)
        return self._bound(bound, facts, 1 << 62) if bound else None

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
        return self._guarded(("base", facts.file.id, text, outside), lambda: self._type_named(head, facts, outside))


def _is_function(value: Value) -> bool:
    return value.how == "definition" and value.definition is not None and value.definition.kind in FUNCTIONS


def _is_type(value: Value) -> bool:
    return value.how == "definition" and value.definition is not None and value.definition.kind in HOLDERS


def _twin(definition: Definition) -> Definition | None:
    """The type that bears the name of a value in the same file (TypeScript's `interface X` beside `const X`)."""
    if definition.kind in HOLDERS:
        return None
    return next((d for d in definition.facts.top.get(definition.name, ()) if d.kind in TYPE_KINDS), None)


def _twin_value(definition: Definition) -> Definition | None:
    """The value that bears the name of an interface or type in the same file."""
    if definition.kind not in ("interface", "type"):
        return None
    return next((d for d in definition.facts.top.get(definition.name, ()) if d.kind in ("variable", "constant")), None)
