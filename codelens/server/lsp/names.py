"""Names in a file → what they mean: a definition, a field, a local name, or a module, as the linker resolves them."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from operator import attrgetter
from typing import NamedTuple

from codelens.lang import tokens
from codelens.lang.registry import is_prose
from codelens.lang.tokens import NameToken
from codelens.linking.evaluator import Value
from codelens.linking.facts import FUNCTIONS, HOLDERS, Definition
from codelens.linking.imports import find_import
from codelens.linking.references import Resolver
from codelens.model.code import CHUNK_KINDS
from codelens.model.extraction import Binding, Reference
from codelens.model.graph import EDGE_OF
from codelens.server.lsp.texts import SourceText
from codelens.store.documents import DocumentRow
from codelens.store.store import Store

_WORD = re.compile(rb"[\w\x80-\xff]+[?!]?")
_LOOKS_LIKE_CODE = re.compile(r"_|[a-z][A-Z]")
_KINDS = {tokens.CALL: "call", tokens.TYPE: "type", tokens.CATCH: "type", tokens.DECLARATION: "type"}
UNIT, FIELD, PARAMETER, LOCAL, IMPORTED, MODULE = "unit", "field", "parameter", "local", "import", "module"
MOST_GUESSES = 8  # Definitions of one name that an answer lists if nothing tells them apart


class NameMeaning(NamedTuple):
    """The meaning of one name at one place. Names with equal `key` mean the same."""

    token: NameToken
    reference: Reference
    key: tuple[object, ...] = ("",)
    """First the kind: UNIT, FIELD, PARAMETER (of a call), LOCAL, IMPORTED (from outside of the index), MODULE or unknown."""
    definitions: Sequence[Definition] = ()  # If there are several, which one is meant is a guess
    declared: Sequence[tuple[int, int]] = ()  # (document, start) of anything that is not a unit
    holder: Definition | None = None  # The type that declares a field
    is_guess: bool = False

    @property
    def is_known(self) -> bool:
        """True if the name has a meaning."""
        return self.key[0] != ""

    @property
    def is_local(self) -> bool:
        """True if the meaning ends with the file."""
        return self.key[0] in (LOCAL, IMPORTED)


class Names:
    """The meanings of the names of one document."""

    def __init__(self, store: Store, resolver: Resolver, document: DocumentRow, source: SourceText) -> None:
        self._store, self._resolver, self.document, self.source = store, resolver, document, source
        self.values, self.facts = resolver.values, resolver.catalog.facts(document.id)
        self._symbols = [d for d in self.facts.definitions if d.kind not in CHUNK_KINDS]
        rows = store.units.of_document(document.id)
        self._named = {row.name_start: row for row in rows if row.name}
        self.bodies: dict[int, int] = {row.id: row.body_start for row in rows}
        fields = self.facts.fields.items()
        self._holders = {b.start: holder for (holder, _), (declared, _) in fields for b in declared}
        self._has_globals = b"global" in source.utf8
        self._tokens: dict[str, list[NameToken]] = {}
        self._references: dict[str, dict[int, Reference]] = {}
        self._starts: dict[tuple[str, str], set[int]] = {}
        self.steps = 0
        """Tokens examined so far: a test bounds them."""

    def at(self, offset: int) -> NameMeaning | None:
        """The meaning of the name at a byte of the file; None if no name stands there."""
        utf8, place = self.source.utf8, self.source.map.to_utf8(offset)
        line, end = utf8.rfind(b"\n", 0, place) + 1, utf8.find(b"\n", place)
        for match in _WORD.finditer(utf8, line, len(utf8) if end < 0 else end):
            for word in (match[0], match[0].rstrip(b"?!")) if match.start() <= place <= match.end() else ():
                name = word.decode("utf-8", "replace")
                for token in tokens.find_tokens(utf8, self.document.language, name, place=place)[0]:
                    return self.read(token, name)
        return None

    def tokens(self, name: str) -> list[NameToken]:
        """The tokens of a name in the document."""
        if name not in self._tokens:
            self._tokens[name] = tokens.find_tokens(self.source.utf8, self.document.language, name)[0]
            self.steps += len(self._tokens[name])
        return self._tokens[name]

    def read(self, token: NameToken, name: str) -> NameMeaning:
        """The meaning of a token."""
        start = self.source.map.to_original(token.start)
        self.steps += 1
        if name not in self._references:
            of_name = self._store.references.of_document(self.document.id, name)
            self._references[name] = {reference.start: reference for reference in of_name}
        stored, unit = self._references[name].get(start), self._find_unit(start)
        kind = stored.kind if stored and stored.kind in EDGE_OF else _KINDS.get(token.role, "use")
        receiver = stored.receiver if stored else token.receiver
        line = self.source.map.line_column(token.start)[0]
        here = NameMeaning(token, Reference(kind, name, receiver, unit.place if unit else None, start, line))
        if (row := self._named.get(start)) is not None and row.name == name:
            return self._define(here, [self.facts.by_id[row.id]]) or here
        return next((meaning for meaning in self._find_meanings(here) if meaning), here)

    def _find_unit(self, start: int) -> Definition | None:
        """The innermost definition around a place."""
        before = bisect_right(self._symbols, start, key=attrgetter("start"))
        unit: Definition | None = self._symbols[before - 1] if before else None
        while unit is not None and (start >= unit.end or unit.kind in CHUNK_KINDS):
            unit = unit.parent
        return unit

    def _find_meanings(self, here: NameMeaning) -> Iterator[NameMeaning | None]:
        """The meanings of a name, the surest first."""
        token, reference, name = here.token, here.reference, here.reference.name
        if token.role == tokens.IMPORT or any(one.line == reference.line for one in self.facts.imports):
            yield self._find_imported(here)
        if token.role == tokens.IMPORT:
            return
        if token.role in (tokens.TEXT, tokens.NAME):
            if is_prose(self.document.language) or _LOOKS_LIKE_CODE.search(name):
                mentioned = self._resolver.catalog.anywhere(name, reference.receiver.rpartition(".")[2])
                code = [d for d in mentioned if not is_prose(d.facts.file.language.name)]
                yield self._define(here, code, is_guess=True) if len(code) == 1 else None
            return
        if holder := self._holders.get(reference.start, ""):
            yield self._find_field(here, next((d for d in self._symbols if d.qualified == holder), None))
        if token.role == tokens.KEY and token.holder:
            yield from self._find_keyed(here)
        if token.bare and token.role != tokens.KEY:
            yield self._find_local(here)
        if token.bare or reference.receiver:
            yield from self._find_evaluated(here)
        else:
            yield self._guess(here)

    def _find_imported(self, here: NameMeaning) -> NameMeaning | None:
        """A name in an import statement: what it brings, or the module that the part up to it names."""
        name, line, catalog = here.reference.name, here.reference.line, self._resolver.catalog
        for one in sorted(self.facts.imports, key=lambda one: abs(one.line - line)):
            module = find_import(catalog, self.facts, one)
            if name in (one.name, one.alias) and (value := self.values.from_module(module, one.name)) is not None:
                if value.definition and value.how == "definition":
                    return self._define(here, [value.definition])
                return self._find_module(here, value)
            parts = re.split(r"(\W+)", one.module)
            if name in parts and one.line == line:
                part = one._replace(module="".join(parts[: parts.index(name) + 1]))
                module = find_import(catalog, self.facts, part) or module
                return self._find_module(here, Value("module", module=module)) if module else None
        return None

    def _find_keyed(self, here: NameMeaning) -> Iterator[NameMeaning | None]:
        """A key of a literal or call: a parameter of the function or constructor, else a field or member of the type."""
        values, name = self.values, here.reference.name
        value = values.expression(here.token.holder, self.facts, here.reference.unit, here.reference.start)
        if value is None or (owner := value.definition) is None:
            return
        functions: list[Definition | None] = [owner]
        if owner.kind not in FUNCTIONS:
            constructors = [values.member(Value("object", owner), c) for c in owner.facts.file.language.constructors]
            functions = [found.definition for found in constructors if found]
        for function in filter(None, functions):
            if bound := function.facts.find_bindings(function.place, name, function.start):
                declared = [(function.facts.file.id, bound[0].start)]
                yield here._replace(key=(PARAMETER, function.id, name), declared=declared, is_guess=True)
        if owner.kind not in FUNCTIONS:
            yield self._find_field(here, values.find_declarer(owner, name))
            yield self._define(here, self._resolver.catalog.members(owner, name))

    def _find_local(self, here: NameMeaning) -> NameMeaning | None:
        """A name that a function around the place defines, binds or takes as the receiver."""
        name, start = here.reference.name, here.reference.start
        around: Definition | None = self.facts.definitions[u] if (u := here.reference.unit) is not None else None
        while around is not None:
            if definitions := self.facts.locals.get(around.place, {}).get(name):
                return self._define(here, definitions[-1:])
            if around.kind not in HOLDERS and (bound := self.facts.find_bindings(around.place, name, start)):
                is_global = self._has_globals and self._find_starts(name, "global")
                return None if is_global else self._find_bound(here, around.place, bound)
            if around.kind not in HOLDERS and name in self.facts.file.language.self_names:
                first, body = map(self.source.map.to_utf8, (around.start, self.bodies[around.id]))
                for receiver, _ in tokens.find_name(self.source.utf8[first:body], name):  # in the head of a method
                    declared = [(self.document.id, self.source.map.to_original(first + receiver))]
                    return here._replace(key=(LOCAL, around.place, 0), declared=declared)
            around = around.parent
        return None

    def _find_starts(self, name: str, role: str) -> set[int]:
        """The places at which a name has a role."""
        if (name, role) not in self._starts:
            starts = (token.start for token in self.tokens(name) if token.role == role)
            self._starts[name, role] = {*map(self.source.map.to_original, starts)}
        return self._starts[name, role]

    def _find_bound(self, here: NameMeaning, unit: int | None, bound: Sequence[Binding]) -> NameMeaning:
        """The last binding before the place, and for a language that declares variables, the last that is not an assignment."""
        if not self.facts.file.language.assignment_declares:
            written = self._find_starts(here.reference.name, tokens.WRITE)
            bound = [b for b in bound if b.start not in written] or bound
        place = max(0, bisect_right(bound, here.reference.start, key=attrgetter("start")) - 1)
        is_shadowed = place and self._is_in_value(here, bound[place])  # the second `x` of `let x = x.trim();`
        last = bound[place - 1 if is_shadowed else place]
        return here._replace(key=(LOCAL, unit, last.until), declared=[(self.document.id, last.start)])

    def _find_evaluated(self, here: NameMeaning) -> Iterator[NameMeaning | None]:
        """Meanings that the linker finds for the name, or for the expression that ends with it."""
        token, reference, name = here.token, here.reference, here.reference.name
        value = self._resolver.value(self.facts, reference)
        if reference.kind == "call" and not token.bare and (value is None or value.how != "definition"):
            value = self._resolver.value(self.facts, reference._replace(kind="use")) or value
        if value is not None and value.definition is not None and value.how in ("definition", "field"):
            is_field = value.how == "field"
            yield self._find_field(here, value.definition) if is_field else self._define(here, [value.definition])
        result = self.evaluate(here)
        if token.bare:
            bound = self.facts.find_bindings(None, name, reference.start)
            yield self._find_bound(here, None, bound) if bound else None
            if result and result.definition and result.how == "object" and name in self.facts.file.language.self_names:
                yield self._define(here, [result.definition], is_guess=True)  # the object's type
        yield self._find_module(here, result)
        imported = self.facts.names.get(name) if token.bare else None
        if imported is not None and imported.start < reference.start:
            yield here._replace(key=(IMPORTED, name), declared=[(self.document.id, imported.start)])
        yield self._guess(here) if value is None else None

    def evaluate(self, here: NameMeaning) -> Value | None:
        """The value of the expression that ends with a name."""
        reference = here.reference
        text = f"{reference.receiver}.{reference.name}" if reference.receiver else reference.name
        return self.values.expression(text, self.facts, reference.unit, reference.start)

    def _define(
        self, here: NameMeaning, definitions: Sequence[Definition], is_guess: bool = False
    ) -> NameMeaning | None:
        if not definitions:
            return None
        key = (UNIT, *sorted(d.id for d in definitions))
        return here._replace(key=key, definitions=definitions, is_guess=is_guess or len(definitions) > 1)

    def _is_in_value(self, here: NameMeaning, binding: Binding) -> bool:
        """True if a name stands in the expression that a binding gives it."""
        if binding.how != "value" or here.reference.name not in re.split(r"\W+", binding.text):
            return False
        first, last = map(self.source.map.to_utf8, (binding.start, here.reference.start))
        return first < last and not re.search(rb"[;\n]", self.source.utf8[first:last])

    def _find_field(self, here: NameMeaning, owner: Definition | None) -> NameMeaning | None:
        """A field at its declaration in the type, else where a member first assigns it."""
        name = here.reference.name
        if owner is None or (owner.qualified, name) not in owner.facts.fields:
            return None
        declared, assigned = owner.facts.fields[owner.qualified, name]
        places = [(owner.facts.file.id, b.start) for b in (declared or assigned)[:1]]
        return here._replace(key=(FIELD, owner.id, name), declared=places, holder=owner)

    def _find_module(self, here: NameMeaning, value: Value | None) -> NameMeaning | None:
        documents = value.module.documents if value and value.how == "module" and value.module else ()
        return here._replace(key=(MODULE, *documents), declared=[(d, 0) for d in documents]) if documents else None

    def _guess(self, here: NameMeaning) -> NameMeaning | None:
        """The few definitions of the name, if nothing tells which one is meant."""
        edges = self._resolver.find_edges(self.facts, here.reference)
        definitions = dict.fromkeys(e.target for e in edges if isinstance(e.target, Definition))
        return self._define(here, list(definitions)[:MOST_GUESSES], is_guess=True)
