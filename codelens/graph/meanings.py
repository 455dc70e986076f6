"""Find the meanings of a name's tokens in a document: a definition, a field, a local name, a module, or unknown.

`refs` uses this for each token of a target's name, the language server for the name under the cursor.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from operator import attrgetter
from typing import Any, NamedTuple, Self

from codelens.lang import tokens as lang_tokens
from codelens.lang.registry import is_prose
from codelens.lang.tokens import NameToken, Role
from codelens.linking.catalog import Catalog
from codelens.linking.evaluator import Evaluator
from codelens.linking.facts import FUNCTIONS, HOLDERS, Definition
from codelens.linking.imports import Module, find_import
from codelens.linking.references import Resolver
from codelens.linking.values import VALUES, Value
from codelens.model.code import CHUNK_KINDS, TYPE_KINDS, RepositoryId, UnitId
from codelens.model.extraction import Binding, DecodedText, Import, Reference
from codelens.model.graph import EDGE_OF
from codelens.store.documents import DocumentRow
from codelens.store.store import Store
from codelens.store.texts import load_text
from codelens.text.lines import TextMap

_WORD = re.compile(rb"[\w$\x80-\xff]+[?!]?")
_LOOKS_LIKE_CODE = re.compile(r"_|[a-z][A-Z]")
_KINDS = {Role.CALL: "call", Role.TYPE: "type", Role.CATCH: "type", Role.DECLARATION: "type"}
"""Role of a token → kind of the reference that the linker evaluates; `use` for other roles."""
_TAGGED = re.compile(rb"\b(?:struct|union|enum)\s+\Z")
UNIT, FIELD, PARAMETER, LOCAL, IMPORTED, MODULE = "unit", "field", "parameter", "local", "import", "module"
MOST_GUESSES = 8  # Limit of definitions that an answer lists if nothing shows which one is meant


class TokenMeaning(NamedTuple):
    """The meaning of a name at one place. Tokens of a document with equal keys have the same meaning."""

    token: NameToken
    reference: Reference
    key: tuple[object, ...] = ("",)
    """Begins with its kind: UNIT, FIELD, PARAMETER (of a call), LOCAL, IMPORTED (from outside of the index), MODULE or ""."""
    definitions: Sequence[Definition] = ()  # Several if it is a guess which one is meant
    declared: Sequence[tuple[int, int]] = ()  # (document, start) of each declaration of something that is not a unit
    holder: Definition | None = None  # The type that declares the field, or in whose literal the key is
    is_guess: bool = False
    value: Value | None = None  # Value of the expression that ends with the name, as the linker resolves it

    @property
    def is_known(self) -> bool:
        """True if the meaning is known."""
        return self.key[0] != ""

    @property
    def field_holder(self) -> Definition | None:
        """The type that declares the field which the name means; None if it is not a field."""
        return self.holder if self.key[0] == FIELD else None

    @property
    def is_local(self) -> bool:
        """True if the name means this only in its file."""
        return self.key[0] in (LOCAL, IMPORTED)

    def assign_units(self, definitions: Sequence[Definition], is_guess: bool = False) -> Self | None:
        """Copy this token with definitions as its meaning; None if there are no definitions."""
        if not definitions:
            return None
        key = (UNIT, *sorted(d.id for d in definitions))
        return self._replace(key=key, definitions=definitions, is_guess=is_guess or len(definitions) > 1)

    def assign_field(self, owner: Definition | None) -> Self | None:
        """Copy this token with a field as its meaning, at its declaration or first assignment; None if there is no such field."""
        name = self.reference.name
        if owner is None or (owner.qualified, name) not in owner.facts.fields:
            return None
        declared, assigned = owner.facts.fields[owner.qualified, name]
        places = [(owner.facts.file.id, b.start) for b in (declared or assigned)[:1]]
        return self._replace(key=(FIELD, owner.id, name), declared=places, holder=owner)

    def assign_module(self, module: Module | None) -> Self | None:
        """Copy this token with a module as its meaning; None if the module has no files."""
        documents = module.documents if module else ()
        return self._replace(key=(MODULE, *documents), declared=[(d, 0) for d in documents]) if documents else None


def find_resolver(store: Store, repository: RepositoryId, resolvers: dict[RepositoryId, Any]) -> Resolver:
    """Find a repository's resolver in `resolvers`, or make one; its cached answers are trimmed."""
    if repository not in resolvers:
        resolvers[repository] = Resolver(Evaluator(Catalog(store, repository)))
    resolver: Resolver = resolvers[repository]
    resolver.values.forget_answers() if resolver.catalog.trim_cache() else resolver.values.trim_answers()
    return resolver


def read_text(document: DocumentRow, store: Store) -> TextMap:
    """Read the indexed text of a document."""
    stored = load_text(document, store)
    return TextMap(DecodedText(stored.text, stored.encoding, 1.0, stored.bom))


def is_key(token: NameToken) -> bool:
    """True for a key that names a field or parameter. The keys of a map are expressions instead."""
    return token.role == Role.KEY and (token.bare or bool(token.holder)) and not token.holder.startswith(("map[", "["))


class NameReader:
    """A reader of the meanings that the tokens of one name have in one document."""

    def __init__(
        self, resolver: Resolver, document: DocumentRow, text: TextMap, name: str, tokens: Sequence[NameToken] = ()
    ) -> None:
        """Without `tokens`, those of the name in the text are read."""
        store = resolver.catalog.store
        self.document, self.text, self.name, self._store, self._resolver = document, text, name, store, resolver
        self.tokens = tokens or lang_tokens.find_tokens(text.utf8, document.language, name)[0]
        self.values, self.facts = resolver.values, resolver.catalog.read_facts(document.id)
        self.language = self.facts.file.language
        rows = store.units.read_rows([UnitId(d.id) for d in self.facts.definitions if d.name == name])
        self.defined = {row.name_start: self.facts.by_id[row.id] for row in rows.values()}
        """Start of a definition's name → the definition, for each definition with this name."""
        self._stored = {use.start: use for use in store.references.list_in_document(document.id, name)}
        self._symbols = [d for d in self.facts.definitions if d.kind not in CHUNK_KINDS]
        fields = self.facts.fields.items()
        self.field_starts = {b.start: holder for (holder, of), (declared, _) in fields if of == name for b in declared}
        """Start of each declaration of a field with this name → qualified name of its type."""
        roles = {text.to_original(token.start): token.role for token in self.tokens}
        declares = self.language.assignment_declares and "global" not in roles.values()
        self.unpacked = {start for start, role in roles.items() if role == Role.UNPACK}
        self._assigned = set() if declares else {start for start, role in roles.items() if role == Role.WRITE}
        """Places that assign a value to the name without declaring it."""
        self.steps = 0  # Tokens examined so far, for tests that limit them

    @classmethod
    def read_name_at(
        cls, resolver: Resolver, document: DocumentRow, text: TextMap, place: int
    ) -> tuple[Self, TokenMeaning] | None:
        """Read the name at a byte of the text; returns (reader, meaning), or None if there is no name."""
        utf8 = text.utf8
        line, end = utf8.rfind(b"\n", 0, place) + 1, utf8.find(b"\n", place)
        for match in _WORD.finditer(utf8, line, len(utf8) if end < 0 else end):
            words = (match[0], match[0].rstrip(b"?!"), match[0].strip(b"$?!"))
            for word in words if match.start() <= place <= match.end() else ():
                name = word.decode("utf-8", "replace")
                for token in lang_tokens.find_tokens(utf8, document.language, name, place=place)[0]:
                    names = cls(resolver, document, text, name)
                    meaning = names.read_meaning(token)
                    return names, meaning if meaning.is_known else names.guess_meaning(meaning) or meaning
        return None

    def read_meaning(self, token: NameToken) -> TokenMeaning:
        """Find the meaning of a token; unknown unless imports, scopes or types determine it."""
        start = self.text.to_original(token.start)
        self.steps += 1
        stored, unit = self._stored.get(start), self._find_unit(start)
        kind = stored.kind if stored and stored.kind in EDGE_OF else _KINDS.get(token.role, "use")
        receiver = stored.receiver if stored else token.receiver
        line = self.text.find_line_column(token.start)[0]
        here = TokenMeaning(token, Reference(kind, self.name, receiver, unit.place if unit else None, start, line))
        if start in self.defined:
            return here.assign_units([self.defined[start]]) or here
        if token.role not in (Role.TEXT, Role.NAME, Role.IMPORT) and not is_key(token) and (token.bare or receiver):
            here = here._replace(value=self._evaluate(here))
        return next((meaning for meaning in self._find_meanings(here) if meaning), here)

    def is_stored(self, reference: Reference) -> bool:
        """True if the index has a reference at the same place."""
        return reference.start in self._stored

    def _find_unit(self, start: int) -> Definition | None:
        before = bisect_right(self._symbols, start, key=attrgetter("start"))
        unit: Definition | None = self._symbols[before - 1] if before else None
        while unit is not None and (start >= unit.end or unit.kind in CHUNK_KINDS):
            unit = unit.parent
        return unit

    def _evaluate(self, here: TokenMeaning) -> Value | None:
        reference = here.reference
        value = self._resolver.evaluate_reference(self.facts, reference)
        if here.token.bare and reference.receiver and value is None:  # a base, in the initializer of C++
            return self._resolver.evaluate_reference(self.facts, reference._replace(receiver=""))
        if reference.kind == "call" and not here.token.bare and (value is None or value.how != "definition"):
            # A field is called.
            value = self._resolver.evaluate_reference(self.facts, reference._replace(kind="use")) or value
        return value

    def _find_meanings(self, here: TokenMeaning) -> Iterator[TokenMeaning | None]:
        """Find the possible meanings of a name, the surest first."""
        token, reference = here.token, here.reference
        if token.role == Role.IMPORT or any(one.line == reference.line for one in self.facts.imports):
            yield self.find_imported(here, sorted(self.facts.imports, key=lambda one: abs(one.line - reference.line)))
        if token.role == Role.IMPORT:
            return
        if token.role in (Role.TEXT, Role.NAME):
            if is_prose(self.document.language) or _LOOKS_LIKE_CODE.search(self.name):
                mentioned = self._resolver.catalog.find_anywhere(self.name, reference.receiver.rpartition(".")[2])
                code = [d for d in mentioned if not is_prose(d.facts.file.language.name)]
                yield here.assign_units(code, is_guess=True) if len(code) == 1 else None
            return
        if token.role == Role.DECLARATION and not token.holder:  # a typedef in C, with the name of its struct
            yield here.assign_units([d for d in self.facts.top.get(self.name, ()) if d.kind in TYPE_KINDS][:1])
        if holder := self.field_starts.get(reference.start, ""):
            yield here.assign_field(next((d for d in self._symbols if d.qualified == holder), None))
        if is_key(token):
            yield from self._find_key_meanings(here) if token.holder else ()
        elif token.bare and not token.receiver:
            yield self._find_local(here)
        if (value := here.value) is not None and value.how == "field":
            yield here.assign_field(value.definition)
        elif value is not None and value.as_definition is not None:
            owner = self._find_type_with_field(value.as_definition, here)
            yield here.assign_field(owner) if owner else here.assign_units([value.as_definition])
        if not is_key(token) and (token.bare or reference.receiver):
            yield from self._find_other_meanings(here)

    def find_imported(self, here: TokenMeaning, imports: Sequence[Import]) -> TokenMeaning | None:
        """Find the meaning of a name in an import: what it imports, or the module or type that the path up to it names."""
        catalog, line = self._resolver.catalog, here.reference.line
        for one in imports:
            parts = re.split(r"(\W+)", one.module)
            if self.name in (one.name, one.alias) and (module := find_import(catalog, self.facts, one)):
                value = self.values.resolve_in_module(module, one.name)
                if value is not None:
                    return (
                        here.assign_units([value.as_definition])
                        if value.as_definition
                        else here.assign_module(value.module)
                    )
                for owner in self._find_types(module):  # a member of an enum
                    if meaning := here.assign_field(self.values.find_declarer(owner, self.name)):
                        return meaning
            if self.name in parts and one.line == line:
                if self.language.modules == "crate":  # use Color::*, in a function
                    value = self.values.resolve_type_name(self.name, self.facts, here.reference.unit)
                    if value and value.definition and value.definition.kind in TYPE_KINDS:
                        return here.assign_units([value.definition])
                part = one._replace(module="".join(parts[: parts.index(self.name) + 1]))
                module = find_import(catalog, self.facts, part) or find_import(catalog, self.facts, one)
                is_type = module is not None and module.within.rpartition(".")[2] == self.name
                return here.assign_units(self._find_types(module)[:1] if is_type else ()) or here.assign_module(module)
        return None

    def _find_types(self, module: Module | None) -> list[Definition]:
        """Find the types that the module itself stands for, like an enum in Rust."""
        if module is None or not module.within:
            return []
        types = (t for document in module.documents for t in self.values.catalog.read_facts(document).types)
        return [owner for owner in types if owner.qualified == module.within]

    def _find_key_meanings(self, here: TokenMeaning) -> Iterator[TokenMeaning | None]:
        """Find the meanings of a key: a parameter of the called function or constructor, else a field or member of the type."""
        values, reference = self.values, here.reference
        value = values.evaluate_expression(here.token.holder, self.facts, reference.unit, reference.start)
        if value is None or value.how == "object":
            value = values.resolve_type_name(here.token.holder, self.facts, reference.unit) or value
        if value is None or (owner := value.definition) is None:
            return
        functions: list[Definition | None] = [owner]
        if owner.kind not in FUNCTIONS:
            here, names = here._replace(holder=owner), owner.facts.file.language.constructors
            constructors = [values.resolve_member(Value("object", owner), name) for name in names]
            functions = [constructor.definition for constructor in constructors if constructor]
        for function in filter(None, functions):
            if self.language.kin == "ecmascript":  # a key of an object that is an argument
                yield from self._find_in_parameters(here, function)
            elif bound := function.facts.find_bindings(function.place, self.name, function.start):
                declared = [(function.facts.file.id, bound[0].start)]
                yield here._replace(key=(PARAMETER, function.id, self.name), declared=declared, is_guess=True)
        if owner.kind in FUNCTIONS:
            return
        yield here.assign_field(values.find_declarer(owner, self.name))
        yield here.assign_units(self._resolver.catalog.find_members(owner, self.name))
        # An embedded struct of Go is a field with its name.
        bases = (base.definition for base in values.list_bases(owner))
        yield here.assign_units([base for base in bases if base is not None and base.name == self.name])
        yield here

    def _find_in_parameters(self, here: TokenMeaning, function: Definition) -> Iterator[TokenMeaning | None]:
        """Find the fields and members with this name in the types of a function's parameters."""
        for binding in function.facts.bindings.get(function.place, ()):
            if binding.how == "type" and binding.name and "." not in binding.name:
                value = self.values.evaluate_type(binding.text, function.facts, function.place)
                if value is not None and (owner := value.as_type) is not None:
                    yield here._replace(holder=owner).assign_field(self.values.find_declarer(owner, self.name))
                    yield here._replace(holder=owner).assign_units(
                        self._resolver.catalog.find_members(owner, self.name)
                    )

    def _find_local(self, here: TokenMeaning) -> TokenMeaning | None:
        """Find the meaning of a name that an enclosing function defines, declares, or has as its receiver."""
        start = here.reference.start
        for around in self.facts.list_enclosing(here.reference.unit):
            if definitions := self.facts.locals.get(around.place, {}).get(self.name):
                return here.assign_units(definitions[-1:])
            bound = self.facts.find_bindings(around.place, self.name, start) if around.kind not in HOLDERS else ()
            if declaring := [binding for binding in bound if binding.start not in self._assigned]:
                return self._find_bound(here, around.place, declaring)
            if around.kind not in HOLDERS and self.name in self.language.self_names:
                body = self._store.units.read_rows([UnitId(around.id)])[UnitId(around.id)].body_start
                first, last = map(self.text.to_utf8, (around.start, body))
                head = self.text.utf8[first:last]  # of a method, with its receiver
                for receiver, _ in lang_tokens.find_name(head, self.name):
                    declared = [(self.document.id, self.text.to_original(first + receiver))]
                    return here._replace(key=(LOCAL, around.place, 0), declared=declared)
        return None

    def _find_bound(self, here: TokenMeaning, unit: int | None, bound: Sequence[Binding]) -> TokenMeaning:
        """Take the last binding before the place as the meaning."""
        place = max(0, bisect_right(bound, here.reference.start, key=attrgetter("start")) - 1)
        is_shadowed = place and self._is_in_value(here, bound[place])  # the second `x` of `let x = x.trim();`
        last = bound[place - 1 if is_shadowed else place]
        return here._replace(key=(LOCAL, unit, last.until), declared=[(self.document.id, last.start)])

    def _is_in_value(self, here: TokenMeaning, binding: Binding) -> bool:
        """True if the name is inside the expression that the binding assigns to it."""
        if binding.how != "value" or self.name not in re.split(r"\W+", binding.text):
            return False
        first, last = map(self.text.to_utf8, (binding.start, here.reference.start))
        return first < last and not re.search(rb"[;\n]", self.text.utf8[first:last])

    def _find_type_with_field(self, definition: Definition, here: TokenMeaning) -> Definition | None:
        """Find the type that has both this method and a field of its name, if `it.name` without a call means the field."""
        token, reference = here.token, here.reference
        is_access = not token.bare and not token.receiver[:1].isupper() and reference.kind not in ("call", "construct")
        if not is_access or definition.kind not in ("function", "method"):
            return None
        holder = self.values.find_owner(definition.facts, definition.place)
        return holder if holder and (holder.qualified, definition.name) in holder.facts.fields else None

    def _find_other_meanings(self, here: TokenMeaning) -> Iterator[TokenMeaning | None]:
        """Find the meanings of a name that is not local and has no definition or field."""
        token, start, result = here.token, here.reference.start, self.evaluate(here)
        if token.bare:
            bound = self.facts.find_bindings(None, self.name, start)
            bound = [b for b in bound if b.start not in self._assigned] or bound
            yield self._find_bound(here, None, bound) if bound else None
            if result and result.as_type and self.name in self.language.self_names:
                yield here.assign_units([result.as_type], is_guess=True)
        yield here.assign_module(result.module) if result and result.how == "module" else None
        imported = self.facts.names.get(self.name) if token.bare else None
        if imported is not None and imported.start < start:
            yield here._replace(key=(IMPORTED, self.name), declared=[(self.document.id, imported.start)])
        elif token.bare and here.value is not None:  # a type with the name of a field around it
            yield here.assign_units(self.facts.top.get(self.name, ())[-1:])

    def evaluate(self, here: TokenMeaning) -> Value | None:
        """Evaluate the expression that ends with the name."""
        reference = here.reference
        text = f"{reference.receiver}.{reference.name}" if reference.receiver else reference.name
        return self.values.evaluate_expression(text, self.facts, reference.unit, reference.start)

    def guess_meaning(self, here: TokenMeaning) -> TokenMeaning | None:
        """Guess a few definitions of the name if its meaning is unknown."""
        if here.value is not None or here.token.role in (Role.IMPORT, Role.TEXT, Role.NAME) or is_key(here.token):
            return None
        edges = self._resolver.find_edges(self.facts, here.reference)
        definitions = dict.fromkeys(e.target for e in edges if isinstance(e.target, Definition))
        return here.assign_units(list(definitions)[:MOST_GUESSES], is_guess=True)

    def find_typedef(self, meaning: TokenMeaning) -> tuple[int, int] | None:
        """Find the (document, start) of the typedef that a C type's name means, unless it follows `struct` or the like."""
        definition, end = meaning.definitions[0] if meaning.definitions else None, meaning.token.start
        if definition is None or self.document.language != "c" or _TAGGED.search(self.text.utf8, max(0, end - 20), end):
            return None
        declared, _ = definition.facts.fields.get((definition.qualified, self.name), ((), ()))
        return (definition.facts.file.id, declared[0].start) if declared and definition.kind in TYPE_KINDS else None

    def find_same_tokens(self, meaning: TokenMeaning) -> Iterator[NameToken]:
        """Find the tokens in the document's code that have the same meaning."""
        for token in self.tokens:
            is_same = token == meaning.token or (meaning.is_known and self.read_meaning(token).key == meaning.key)
            if is_same and token.role != Role.TEXT:
                yield token

    def make_place(self, token: NameToken) -> tuple[int, int, int]:
        """Convert a token to (document, start, end) in the file's own bytes."""
        return self.document.id, self.text.to_original(token.start), self.text.to_original(token.end)

    def find_type(self, meaning: TokenMeaning) -> Definition | None:
        """Find the type of a name's value or of a function's result; a type itself is returned unchanged."""
        if holder := meaning.field_holder:
            value = self.values.resolve_field(holder, self.name)
        elif not meaning.definitions:
            value = self.evaluate(meaning)
        elif (definition := meaning.definitions[0]).kind in TYPE_KINDS:
            return definition
        elif definition.kind in VALUES:
            value = self.values.read_value(definition)
        else:
            value = self.values.evaluate_call(Value("definition", definition))
        return value.as_type if value is not None else None
