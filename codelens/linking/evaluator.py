"""Evaluate expressions at their place: to a definition, an object of a type, a module, or something outside of the repository.

Names are looked up from the innermost scope outward, and members through the bases of a type. Questions may be circular, so they
take fuel; see codelens/linking/fuel.py.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from codelens.linking.facts import FUNCTIONS, HOLDERS, Definition, Key, LinkFacts, load_words
from codelens.linking.fuel import Questions, cache_with_fuel
from codelens.linking.imports import Module, find_import, find_module
from codelens.linking.values import EXTERNAL, HIDDEN, RECEIVER, VALUES, Value
from codelens.model.code import TYPE_KINDS
from codelens.model.extraction import Binding
from codelens.text.expressions import parse_type, split_steps

MOST_BASES = 40  # Limit of types in the lineage of a type
MOST_MODULES = 100  # Limit of modules through which a name is followed by re-exports and wildcards
END = 1 << 62  # A position after the end of every document


_UNKNOWN = ("external", "hidden")
_RETURNED = ("result",)
_YIELDED = ("result", "yield")


class Evaluator(Questions):
    """An evaluator of the names and expressions of one repository."""

    def collect_offered_keys(self, facts: LinkFacts) -> set[Key]:
        """Collect the keys that a document's offers depend on: its results, fields, bases, values and aliases."""
        outer, self.catalog.keys = self.catalog.keys, set()
        for definition in facts.definitions:
            if definition.kind in TYPE_KINDS:
                self._find_bases(definition)
            if definition.kind == "type":
                self._find_alias(definition)
            if definition.kind in FUNCTIONS:
                self._find_result(definition, _RETURNED)
            if definition.kind in VALUES:
                self._find_value(definition)
        for holder, name in facts.fields:
            self._find_field(facts, holder, name)
        for name in facts.module_bound:
            self._find_bound(facts, name)
        keys, self.catalog.keys = self.catalog.keys, outer
        return keys

    # Names

    def resolve_name(self, name: str, facts: LinkFacts, unit: int | None, before: int = END) -> Value | None:
        """Resolve a bare name at a place: in the enclosing functions and types, then in the file, its imports and its package."""
        language = facts.file.language
        if name in language.self_names and (holder := self.find_owner(facts, unit)):
            return Value("object", holder, tier="scope")
        if name[:1] == "@" and (holder := self.find_owner(facts, unit)):
            return self.resolve_field(holder, name.lstrip("@")) or HIDDEN
        if name in language.super_names or (language.super_names and f"{name}()" in language.super_names):
            return self.make_super_object(facts, unit)
        around = facts.definitions[unit] if unit is not None else None
        if name in facts.repeated:  # its meaning depends on the place
            inside = self._resolve_inside(name, facts, around, before) if around else None
            return inside or self._resolve_in_file(name, facts, before)
        if around and name in facts.inner and (value := self._resolve_inside(name, facts, around, before)):
            return value
        if not (language.implicit_self or facts.has_modules):
            around = None
        while around is not None and around.kind not in HOLDERS and around.parent is not None:
            around = around.parent
        return self._resolve_outer(name, facts, around)

    @cache_with_fuel
    def _resolve_outer(self, name: str, facts: LinkFacts, around: Definition | None) -> Value | None:
        """Resolve a name that no enclosing function defines or binds, but perhaps an enclosing type."""
        inside = self._resolve_inside(name, facts, around, END) if around else None
        return inside or self._resolve_in_file(name, facts, END)

    def _resolve_inside(self, name: str, facts: LinkFacts, unit: Definition, before: int) -> Value | None:
        """Resolve a name in the functions and types that enclose a place, innermost first."""
        language = facts.file.language
        for around in facts.list_enclosing(unit.place):
            place = around.place
            if local_definitions := facts.locals.get(place, _EMPTY).get(name):
                return Value("definition", local_definitions[-1], tier="scope")
            may_bind = around.name != name or around.kind in FUNCTIONS
            if may_bind and (bound := facts.find_bindings(place, name, before)):
                if around.kind not in TYPE_KINDS:
                    return self.evaluate_bound(bound, facts, before) or self._find_fixture(name, bound, facts) or HIDDEN
                if language.implicit_self:
                    return self.evaluate_bound(bound, facts, END) or HIDDEN
            owner: Definition | None = None
            if around.kind in HOLDERS and (language.implicit_self or around.kind == "module"):
                owner = around
            elif around.parent is None and around.container and language.implicit_self:
                owner = self.find_owner(facts, place)
            if owner is not None:
                member = self.resolve_member(Value("object", owner), name, bare=True)
                if member is not None and member.how != "external":
                    method = member.definition
                    if method and method.kind == "method" and method.parent and method.parent.name == name:
                        member = Value("definition", method.parent)  # a constructor has its type's name
                    return member.replace_tier("scope")
        return None

    def _resolve_in_file(self, name: str, facts: LinkFacts, before: int) -> Value | None:
        self.catalog.keys.add(("d", facts.file.path, name))
        bound = facts.find_bindings(None, name, before)
        if bound and bound[0].until:  # in a function without a name, which hides the names around it
            return self.evaluate_bound(bound, facts, before) or HIDDEN
        if definitions := facts.top.get(name):
            earlier = [d for d in definitions if d.start <= before]
            return Value("definition", earlier[-1] if earlier else definitions[0], tier="file")
        if bound:
            return self.evaluate_bound(bound, facts, before) or HIDDEN
        if name in facts.names:
            return self._find_imported(name, facts) or EXTERNAL
        return self._find_unimported(name, facts)

    def _find_imported(self, name: str, facts: LinkFacts) -> Value | None:
        imported = facts.names[name]
        return self.resolve_in_module(find_import(self.catalog, facts, imported), imported.name)

    def _find_unimported(self, name: str, facts: LinkFacts) -> Value | None:
        """Resolve a name that the file neither defines nor imports by name: by a wildcard import, or in its package."""
        for wildcard in facts.wildcards:
            if (module := find_import(self.catalog, facts, wildcard)) and (value := self.find_export(module, name)):
                return value.replace_tier("import")
        best = _choose_closest(self.catalog.find_in_package(facts, name), facts)
        return Value("definition", best, tier="package") if best else None

    @cache_with_fuel
    def _resolve_outside_file(self, name: str, facts: LinkFacts) -> Value | None:
        """Resolve a name that the file does not define, by its imports or in its package."""
        return self._find_imported(name, facts) if name in facts.names else self._find_unimported(name, facts)

    def _find_fixture(self, name: str, bound: Sequence[Binding], facts: LinkFacts) -> Value | None:
        """Resolve a test's parameter that has no type or default to the result of the fixture with that name (pytest)."""
        if not facts.file.language.fixtures or "test" not in facts.file.roles or any(b.text for b in bound):
            return None
        for provider in self.catalog.list_fixture_files(facts):
            for function in self.catalog.find_in_file(provider, name):
                if function.kind == "function":
                    return self.evaluate_result(function, Value("definition", function), _YIELDED)
        return None

    @cache_with_fuel
    def list_guesses(self, name: str, kin: str, kinds: Sequence[str], free: bool, tests: bool) -> Sequence[Definition]:
        """List the definitions of a name and kinds in a language family; of functions, only those that override no other of them.

        With `free`, definitions outside of types are included; with `tests`, those in test files.
        """
        definitions = [d for d in self.catalog.find_named(kin, name, kinds) if free or d.container]
        definitions = [d for d in definitions if tests or "test" not in d.facts.file.roles]
        if len(definitions) < 2 or kinds is not FUNCTIONS:
            return definitions
        holders = [self.find_owner(d.facts, d.place) for d in definitions]
        known = {holder.id for holder in holders if holder}
        above = [self.list_lineage(holder)[1:] if holder else () for holder in holders]
        base_ids = [{v.definition.id for v in bases if v.definition} for bases in above]
        return [d for d, ids in zip(definitions, base_ids, strict=True) if known.isdisjoint(ids)] or definitions

    def find_owner(self, facts: LinkFacts, unit: int | None) -> Definition | None:
        """Find the type that a unit belongs to: the enclosing type, or the type that its container names."""
        for around in facts.list_enclosing(unit):
            if around.kind in TYPE_KINDS:
                return around
            if around.container and (around.parent is None or around.kind == "method"):
                if around.parent is not None and around.parent.kind in HOLDERS:
                    return around.parent
                return self.find_visible_type(around.container, facts)
        return None

    @cache_with_fuel
    def find_visible_type(self, qualified: str, facts: LinkFacts) -> Definition | None:
        """Find the type that a qualified name means in a file: one that is defined there, imported, or in its package."""
        name = qualified.rpartition(".")[2]
        language = facts.file.language
        self.catalog.keys.add(("d", facts.file.path, name))
        for definition in facts.top.get(name, ()):
            if definition.kind in HOLDERS or language.prototypes:
                return definition
        self.catalog.keys.add(("m", facts.file.path, qualified))
        for definition in facts.members.get(qualified.rpartition(".")[0], _EMPTY).get(name, ()):
            if definition.kind in HOLDERS:
                return definition
        value = self._resolve_outside_file(name, facts)
        if value and value.definition and value.definition.kind in HOLDERS:
            return value.definition
        if language.open_types == "repository":
            return _choose_closest(self.catalog.find_named(language.kin, name, HOLDERS), facts)
        return None

    def make_super_object(self, facts: LinkFacts, unit: int | None) -> Value | None:
        """Make the value of `super`: an object of the first base; external if that base is unknown."""
        holder = self.find_owner(facts, unit)
        if holder is None:
            return None
        bases = self.list_bases(holder)
        return Value("object", bases[0].definition, tier="scope") if bases and bases[0].definition else EXTERNAL

    # Modules

    def resolve_in_module(self, module: Module | None, name: str) -> Value | None:
        """Resolve a name in a module; an empty name or `*` means the module itself."""
        if module is None:
            return None
        if not name or name == "*":
            return Value("module", module=module, tier="import")
        if name == "default":
            return self._find_default(module)
        exported = self.find_export(module, name)
        return exported.replace_tier("import") if exported else None

    def _find_default(self, module: Module) -> Value | None:
        if exported := self.find_export(module, "default"):
            return exported.replace_tier("import")
        for facts in map(self.catalog.read_facts, module.documents):
            self.catalog.keys.add(("d", facts.file.path, "default"))
            bound = facts.find_bindings(None, "default", END)
            if bound and (value := self.evaluate_bound(bound, facts, END)):
                return value.replace_tier("import")
        return None

    @cache_with_fuel
    def find_export(self, module: Module, name: str) -> Value | None:
        """Resolve a name that a module exports: a definition, an imported name, or a module inside it."""
        return self._find_exported(module, name, set())

    def _find_exported(self, module: Module, name: str, seen: set[tuple[Module, str]]) -> Value | None:
        """Do the work of `find_export`. `seen` has the modules and names already tried, and is extended."""
        if (module, name) in seen or len(seen) >= MOST_MODULES:
            return None
        seen.add((module, name))
        catalog = self.catalog
        if module.namespace:  # Java and its like: what its files import does not belong to it
            if definitions := catalog.find_in_namespace(module.kin, module.namespace, name):
                first = definitions[0].facts
                return Value("definition", [d for d in definitions if d.facts is first][-1], tier="import")
            inside = find_module(catalog, module, name)
            return Value("module", module=inside, tier="import") if inside else None
        for facts in map(catalog.read_facts, module.documents):
            top = [d for d in catalog.find_in_file(facts, name) if not module.within or d.container == module.within]
            if module.within:
                top += [d for d in facts.members.get(module.within, _EMPTY).get(name, ()) if d not in top]
            if top:
                return Value("definition", top[-1], tier="import")
            if facts.file.language.modules == "namespace":
                continue  # its imports are not part of the namespace
            imported = facts.names.get(name)
            if imported and (other := find_import(catalog, facts, imported)):
                if imported.name in ("", "*"):
                    return Value("module", module=other, tier="import")
                is_default = imported.name == "default"
                value = self._find_default(other) if is_default else self._find_exported(other, imported.name, seen)
                if value:
                    return value.replace_tier("import")
            if facts.find_bindings(None, name, END):
                return self._find_bound(facts, name, home=facts.file.path)
        if inside := find_module(catalog, module, name):
            return Value("module", module=inside, tier="import")
        for facts in map(catalog.read_facts, module.documents):
            catalog.keys.add(("d", facts.file.path, "*"))  # also without a wildcard: a later version may add one
            for wildcard in facts.wildcards if facts.file.language.modules != "namespace" else ():
                source = find_import(catalog, facts, wildcard)
                if source and (value := self._find_exported(source, name, seen)):
                    return value
        return None

    @cache_with_fuel
    def _find_bound(self, facts: LinkFacts, name: str) -> Value | None:
        return self.evaluate_bound(facts.find_bindings(None, name, END), facts, END)

    # Expressions and types

    def evaluate(self, text: str, facts: LinkFacts, unit: int | None, before: int) -> Value | None:
        """Evaluate an expression at its place; None if unknown. The result is not kept."""
        parts = split_steps(text)
        if not parts:
            return None
        language = facts.file.language
        for at in range(len(parts) - 1, 0, -1):  # the expression before a cast does not matter
            if parts[at].how == "type":
                parts = parts[at:]
                break
        first = parts[0]
        if first.how == "type":
            value = self.evaluate_type(first.text, facts, unit)
        elif first.text == "super" and len(parts) > 1 and parts[1].how == "call" and "super()" in language.super_names:
            value, parts = self.make_super_object(facts, unit), parts[1:]
        else:
            value = self.resolve_name(first.text, facts, unit, before)
        for at, step in enumerate(parts[1:], 1):
            if value is None or value.how in _UNKNOWN:
                return value
            if language.bare_calls and step.how != "call" and value.is_definition(FUNCTIONS):
                value = self._call_by_name(value)
                if value is None or value.how in _UNKNOWN:
                    return value
            if step.how == "member" and step.text in language.makers and value.is_definition(HOLDERS):
                value = Value("object", value.definition, tier="receiver")
            elif step.how == "call" and parts[at - 1].text in language.makers:
                pass  # its arguments
            elif step.how == "member":
                value = self.resolve_member(value, step.text)
            elif step.how == "call":
                value = self.evaluate_call(value)
            else:
                value = self.evaluate_element(value)
        return self._call_by_name(value) if value and language.bare_calls and value.is_definition(FUNCTIONS) else value

    def evaluate_expression(self, text: str, facts: LinkFacts, unit: int | None, before: int) -> Value | None:
        """Evaluate an expression at its place and keep the result; None if unknown."""
        return self._evaluate_expression(text, facts, unit, before) if split_steps(text) else None

    @cache_with_fuel
    def _evaluate_expression(self, text: str, facts: LinkFacts, unit: int | None, before: int) -> Value | None:
        return self.evaluate(text, facts, unit, before)

    def evaluate_type(self, text: str, facts: LinkFacts, unit: int | None) -> Value | None:
        """Evaluate a declared type to an object of that type; external if the repository does not define it."""
        return self._find_type(text, facts, unit) if parse_type(text).head else None

    @cache_with_fuel
    def _find_type(self, text: str, facts: LinkFacts, unit: int | None) -> Value | None:
        head, arguments = parse_type(text)
        last, known = head.rpartition(".")[2], load_words()
        if arguments and last in known.transparent:
            return self.evaluate_type(arguments[0], facts, unit)
        if arguments and last in known.classes:
            type_ = self.evaluate_type(arguments[0], facts, unit)
            return type_._replace(how="definition") if type_ and type_.how == "object" else type_
        if arguments and last in known.containers:
            return Value("holding", text=arguments[-1], facts=facts, unit=unit)
        if head in known.own or head in facts.file.language.self_names:
            holder = self.find_owner(facts, unit)
            return Value("object", holder) if holder else None
        value = self.resolve_type_name(head, facts, unit)
        if value is None or (definition := value.as_definition) is None:
            return value or EXTERNAL
        if definition.kind == "type" and (alias := self._resolve_alias(definition)) and alias.how != "holding":
            return alias  # a named container stays what it is: it may have methods
        of_it = definition.kind in HOLDERS or definition.facts.file.language.prototypes
        return Value("object", definition, tier="receiver") if of_it else value

    def resolve_type_name(self, head: str, facts: LinkFacts, unit: int | None) -> Value | None:
        """Resolve the dotted name of a type, part by part, in the scope of a unit."""
        first, *rest = head.split(".")
        value = self.resolve_name(first, facts, unit)
        if value is None and rest:  # a qualified name that starts with a namespace
            type_ = self.find_visible_type(head, facts)
            return Value("definition", type_) if type_ else None
        if value and not rest and (type_ := value.as_type) and type_.name != first:
            return None  # a variable of that name
        for part in rest:
            if value is None or value.how in _UNKNOWN:
                return value
            value = self.resolve_member(value, part)
        if value and value.definition and (twin := find_twin_type(value.definition)):
            return value._replace(definition=twin)
        return value

    def _resolve_alias(self, definition: Definition) -> Value | None:
        return self._find_alias(definition, home=self.catalog.read_facts_of(definition).file.path)

    @cache_with_fuel
    def _find_alias(self, definition: Definition) -> Value | None:
        facts = definition.facts
        for binding in facts.bindings.get(definition.place, ()):
            if binding.how in ("type", "value") and binding.name == definition.name and binding.text != definition.name:
                value = self.evaluate_type(binding.text, facts, None)
                return value if value and value.how != "external" else None
        return None

    def _call_by_name(self, value: Value) -> Value | None:
        """Evaluate a member in a language where naming it calls it (Ruby)."""
        called = value.definition
        return self.read_value(called) if called and called.kind == "property" else self.evaluate_call(value)

    def evaluate_call(self, value: Value) -> Value | None:
        """Evaluate a call: of a type to an object of it, of a function to its declared or inferred result."""
        if type_ := value.as_type:
            for name in ("__call__", "invoke", "apply", "operator()"):
                if operators := self.catalog.find_members(type_, name):
                    return self.evaluate_result(operators[0], value)
        if (definition := value.as_definition) is None:
            return None
        if definition.kind in TYPE_KINDS:
            return Value("object", definition, tier="receiver")
        if definition.kind in VALUES:
            if twin := find_twin_type(definition):
                return Value("object", twin, tier="receiver")
            content = self.read_value(definition)
            if content is not None and content.how == "object":
                return self.evaluate_call(content)
            called = content.as_definition if content else None
            return self._evaluate_call_of(called) if called and called.id != definition.id else None
        return self.evaluate_result(definition, value) if definition.kind in FUNCTIONS else None

    @cache_with_fuel
    def _evaluate_call_of(self, definition: Definition) -> Value | None:
        return self.evaluate_call(Value("definition", definition))

    def evaluate_result(self, function: Definition, of: Value, hows: Sequence[str] = _RETURNED) -> Value | None:
        """Evaluate a function's result. `of` is the called value, with its receiver if that is known."""
        home = self.catalog.read_facts_of(function).file.path if hows is _RETURNED else ""
        result = self._find_result(function, hows, home=home)
        if result is None or result.how != "receiver":
            return result
        if of.facts is not None and of.unit is not None:
            return Value("object", of.facts.definitions[of.unit], tier="receiver")
        holder = self.find_owner(function.facts, function.place)
        return Value("object", holder, tier="receiver") if holder else None

    @cache_with_fuel
    def _find_result(self, function: Definition, hows: Sequence[str]) -> Value | None:
        facts = function.facts
        for binding in facts.list_bindings(function.place, "return"):
            head = parse_type(binding.text).head
            if head in load_words().own or head in facts.file.language.self_names:
                return RECEIVER
            return self.evaluate_type(binding.text, facts, function.place)
        for how in hows:
            for binding in facts.list_bindings(function.place, how):
                result = self.evaluate_expression(binding.text, facts, function.place, binding.start)
                if result and result.how in ("object", "holding"):
                    return result.replace_tier("receiver")
        if function.name in facts.file.language.constructors and (holder := self.find_owner(facts, function.place)):
            return Value("object", holder, tier="receiver")
        return None

    def evaluate_element(self, value: Value) -> Value | None:
        """Evaluate an element of a container, or of a type that is an alias for one."""
        if (type_ := value.as_type) and type_.kind == "type":
            aliased = self._resolve_alias(type_)
            return self.evaluate_element(aliased) if aliased and aliased.how == "holding" else None
        if value.how == "holding" and value.facts:
            return self.evaluate_type(value.text, value.facts, value.unit)
        return value if value.how in _UNKNOWN else None

    def evaluate_bound(self, bound: Sequence[Binding], facts: LinkFacts, before: int) -> Value | None:
        """Evaluate a name by its bindings: by its declared type, else by the last value assigned before the place."""
        typed = False
        for binding in reversed(bound):
            if binding.how == "type":
                if value := self.evaluate_type(binding.text, facts, binding.unit):
                    return value
                typed = typed or bool(binding.text)
        values = [b for b in bound if b.how != "type"]
        for binding in reversed([b for b in values if b.start < before] or values):
            if not binding.text:
                continue
            value = self.evaluate_expression(binding.text, facts, binding.unit, binding.start)
            if value and binding.how == "element":
                value = self.evaluate_element(value)
            if value:
                return value.replace_tier("receiver")
        return EXTERNAL if typed else None

    # Members

    def resolve_member(self, value: Value, name: str, bare: bool = False) -> Value | None:
        """Resolve a member of a value; external if the owner or one of its bases is outside of the repository."""
        if value.how == "module" and value.module:
            return self.find_export(value.module, name) or (EXTERNAL if value.module.complete else None)
        definition = value.definition
        if value.how == "definition" and definition:
            if definition.kind not in HOLDERS:  # of a variable, the member of its value; of a prototype, its own
                is_value = definition.kind in VALUES
                may_have_members = definition.facts.file.language.prototypes or not is_value
                if may_have_members and (members := self.catalog.find_members(definition, name)):
                    return Value("definition", members[-1], tier="receiver")
                content = self.read_value(definition) if is_value else None
                return self.resolve_member(content, name) if content and content.how != "definition" else content
            if definition.kind in ("interface", "type"):  # a value may have the same name in the same file
                namesakes = definition.facts.top.get(definition.name, ())
                if twin := next((d for d in namesakes if d.kind in ("variable", "constant")), None):
                    value = self.read_value(twin) or value
                    definition = value.definition
        if value.how in ("object", "definition") and definition:
            return self._find_member(definition, name, bare)
        return value if value.how == "external" else None  # a member of a hidden value may still be guessed by its name

    @cache_with_fuel
    def _find_member(self, owner: Definition, name: str, bare: bool) -> Value | None:
        lineage = self.list_lineage(owner)
        for type_ in filter(None, (holder.definition for holder in lineage)):
            if members := self.catalog.find_members(type_, name):
                tier = "scope" if bare else "receiver"
                return Value("definition", members[-1], facts=owner.facts, unit=owner.place, tier=tier)
            if field := self.resolve_field(type_, name):
                return field
        return EXTERNAL if any(holder.definition is None for holder in lineage) else None

    @cache_with_fuel
    def find_declarer(self, owner: Definition, name: str, marked: bool = False) -> Definition | None:
        """Find the type, among the owner and its bases, that has a field of this name; None if a nearer type has such a member.

        With `marked` (a name with a sigil), methods of the same name do not hide the field.
        """
        for type_ in filter(None, (holder.definition for holder in self.list_lineage(owner))):
            defined = self.catalog.find_members(type_, name)
            if any(d.kind not in FUNCTIONS or d.kind == "property" for d in defined) or (defined and not marked):
                return None
            self.catalog.keys.add(("m", type_.facts.file.path, f"{type_.qualified}.{name}"))
            if (type_.qualified, name) in type_.facts.fields:
                return type_
        return None

    def resolve_field(self, owner: Definition, name: str) -> Value | None:
        """Resolve a field by its declaration in the type, or by the values that members assign to it."""
        facts, holder = owner.facts, owner.qualified
        self.catalog.keys.add(("m", facts.file.path, f"{holder}.{name}"))
        if (holder, name) not in facts.fields:
            return None
        return self._find_field(facts, holder, name, home=facts.file.path) or HIDDEN

    @cache_with_fuel
    def _find_field(self, facts: LinkFacts, holder: str, name: str) -> Value | None:
        declared, assigned = facts.fields[holder, name]
        return self.evaluate_bound(declared or assigned, facts, END)

    def read_value(self, definition: Definition) -> Value | None:
        """Evaluate the content of a variable, constant or property."""
        return self._find_value(definition, home=self.catalog.read_facts_of(definition).file.path)

    @cache_with_fuel
    def _find_value(self, definition: Definition) -> Value | None:
        facts = definition.facts
        at = definition.end - 1
        for unit in (definition.place, None):
            if bound := facts.find_bindings(unit, definition.name, at):
                return self.evaluate_bound(bound, facts, END)
        if definition.kind != "property":
            return None
        if result := self.evaluate_result(definition, Value("definition", definition)):
            return result
        assigned = facts.fields.get((definition.container, definition.name), ((), ()))[1]  # Ruby's attr_reader
        return self.evaluate_bound(assigned, facts, END) if assigned else None

    def list_lineage(self, owner: Definition) -> Sequence[Value]:
        """List a type and all its bases, nearest first; an unknown base has no definition."""
        return self._find_lineage(owner) or (Value("definition", owner),)

    @cache_with_fuel
    def _find_lineage(self, owner: Definition) -> Sequence[Value]:
        seen, line = {owner.id}, [Value("definition", owner)]
        for current in line:
            if len(line) >= MOST_BASES:
                break
            for base in self.list_bases(current.definition) if current.definition else ():
                if base.definition is None or base.definition.id not in seen:
                    line.append(base)
                if base.definition is not None:
                    seen.add(base.definition.id)
        return tuple(line[:MOST_BASES])

    def list_bases(self, owner: Definition) -> Sequence[Value]:
        """List the bases and interfaces that a type names, in order; an unknown base has no definition."""
        return self._find_bases(owner, home=self.catalog.read_facts_of(owner).file.path) or ()

    @cache_with_fuel
    def _find_bases(self, owner: Definition) -> Sequence[Value]:
        facts = owner.facts
        heads = [(parse_type(text).head, place) for text, place in facts.list_base_texts(owner)]
        values = [self.resolve_type_name(head, facts, place) if head else None for head, place in heads]
        bases = [value if value and value.definition else EXTERNAL for value in values]
        return tuple(base for base in bases if base.definition is not owner)


_EMPTY: Mapping[str, Sequence[Definition]] = {}


def find_twin_type(definition: Definition) -> Definition | None:
    """Find the type that shares its name with a value in the same file (TypeScript's `interface X` and `const X`)."""
    if definition.kind in HOLDERS:
        return None
    return next((d for d in definition.facts.top.get(definition.name, ()) if d.kind in TYPE_KINDS), None)


def _choose_closest(candidates: Sequence[Definition], facts: LinkFacts) -> Definition | None:
    """Choose the definition whose path shares the most folders with this file; None if several share equally many."""
    if len(candidates) <= 1:
        return candidates[0] if candidates else None
    folders = facts.file.path.split("/")

    def count_shared(definition: Definition) -> int:
        other = definition.facts.file.path.split("/")
        return next((i for i, (a, b) in enumerate(zip(folders, other, strict=False)) if a != b), len(folders))

    kinds = [d for d in candidates if d.kind in TYPE_KINDS] or list(candidates)
    best, *others = sorted(kinds, key=count_shared, reverse=True)
    if not others or count_shared(others[0]) < count_shared(best) or others[0].facts is best.facts:
        return best
    # The same name under other build tags, or reopened: a reference means all of them.
    return best if len({d.qualified for d in kinds}) == 1 and len(kinds) <= 4 else None
