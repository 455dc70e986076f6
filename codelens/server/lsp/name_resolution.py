"""Names in a file → what they mean: a definition, a field, a local name, or a module, as the linker resolves them."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
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
from codelens.server.lsp.buffers import SourceText
from codelens.store.documents import DocumentRow
from codelens.store.store import Store

_WORD = re.compile(rb"[\w\x80-\xff]+[?!]?")
_LOOKS_LIKE_CODE = re.compile(r"_|[a-z][A-Z]")
_KINDS = {tokens.CALL: "call", tokens.TYPE: "type", tokens.CATCH: "type", tokens.DECLARATION: "type"}
MOST_GUESSES = 8  # Definitions of one name that an answer lists if nothing tells them apart


class NamePlace(NamedTuple):
    """The place where a field or local name is declared."""

    document: int
    start: int


class NameMeaning(NamedTuple):
    """The meaning of one name at one place. Names with equal `key` mean the same."""

    token: NameToken
    reference: Reference
    key: tuple[object, ...] = ()  # Empty if the meaning is unknown
    definitions: Sequence[Definition] = ()  # If there are several, which one is meant is a guess
    declared: Sequence[NamePlace] = ()  # For a field or local name
    modules: Sequence[int] = ()  # Documents of a module
    holder: Definition | None = None  # The type that declares a field
    is_guess: bool = False
    is_local: bool = False


class Names:
    """The meanings of the names of one document."""

    def __init__(self, store: Store, resolver: Resolver, document: DocumentRow, source: SourceText) -> None:
        self._store, self._resolver, self.document, self.source = store, resolver, document, source
        self.facts = resolver.catalog.facts(document.id)
        self.rows = store.units.of_document(document.id)
        self._named = {row.name_start: row for row in self.rows if row.name}
        self._symbols = [d for d in self.facts.definitions if d.kind not in CHUNK_KINDS]
        self._starts = [d.start for d in self._symbols]
        self._tokens: dict[str, list[NameToken]] = {}
        self._references: dict[str, dict[int, Reference]] = {}
        self._places: dict[tuple[str, str], list[int]] = {}
        self._has_globals = b"global" in source.map.utf8
        self.steps = 0
        """Tokens examined so far: a test bounds them."""
        self._bodies: dict[int, int] = {row.id: row.body_start for row in self.rows}
        fields = self.facts.fields.items()
        self._holders = {b.start: holder for (holder, _), (declared, _) in fields for b in declared}

    def at(self, offset: int) -> NameMeaning | None:
        """The meaning of the name at a byte of the file; None if no name stands there."""
        utf8, place = self.source.map.utf8, self.source.map.to_utf8(offset)
        line = utf8.rfind(b"\n", 0, place) + 1
        end = utf8.find(b"\n", place)
        for found in _WORD.finditer(utf8, line, len(utf8) if end < 0 else end):
            if found.start() <= place <= found.end():
                for word in dict.fromkeys((found[0], found[0].rstrip(b"?!"))):
                    name = word.decode("utf-8", "replace")
                    for token in tokens.find_tokens(utf8, self.document.language, name, place=place)[0]:
                        return self.read(token, name)
        return None

    def tokens(self, name: str) -> list[NameToken]:
        """The tokens of a name in the document."""
        if name not in self._tokens:
            self._tokens[name] = tokens.find_tokens(self.source.map.utf8, self.document.language, name)[0]
            self.steps += len(self._tokens[name])
        return self._tokens[name]

    def read(self, token: NameToken, name: str) -> NameMeaning:
        """The meaning of a token."""
        start = self.source.map.to_original(token.start)
        self.steps += 1
        if name not in self._references:
            of_name = self._store.references.of_document(self.document.id, name)
            self._references[name] = {reference.start: reference for reference in of_name}
        stored = self._references[name].get(start)
        unit = self._around(start)
        kind = stored.kind if stored and stored.kind in EDGE_OF else _KINDS.get(token.role, "use")
        receiver = stored.receiver if stored else token.receiver
        line = self.source.map.line_column(token.start)[0]
        reference = Reference(kind, name, receiver, unit.place if unit else None, start, line)
        here = NameMeaning(token, reference)
        if (row := self._named.get(start)) is not None and row.name == name:
            return self._defined(here, [self.facts.by_id[row.id]]) or here
        return next((found for found in self._readings(here) if found), here)

    def _around(self, start: int) -> Definition | None:
        place = bisect_right(self._starts, start) - 1
        around: Definition | None = self._symbols[place] if place >= 0 else None
        while around is not None and not (around.start <= start < around.end and around.kind not in CHUNK_KINDS):
            around = around.parent
        return around

    def _readings(self, here: NameMeaning) -> Iterator[NameMeaning | None]:
        """The readings of a name, the surest first."""
        token, reference = here.token, here.reference
        name, catalog = reference.name, self._resolver.catalog
        in_import = token.role == tokens.IMPORT or any(one.line == reference.line for one in self.facts.imports)
        if in_import and ((found := self._imported(here)) is not None or token.role == tokens.IMPORT):
            yield found
            return
        if token.role in (tokens.TEXT, tokens.NAME):
            if not (is_prose(self.document.language) or _LOOKS_LIKE_CODE.search(name)):
                return  # a word of a comment
            mentioned = catalog.anywhere(name, reference.receiver.rpartition(".")[2])
            code = [d for d in mentioned if not is_prose(d.facts.file.language.name)]
            yield self._defined(here, code, is_guess=True) if len(code) == 1 else None
            return
        if holder := self._holders.get(reference.start, ""):
            yield self._field(here, next((d for d in self._symbols if d.qualified == holder), None))
        if token.role == tokens.KEY and token.holder:
            yield from self._keyed(here)
        if token.bare and token.role != tokens.KEY:
            yield self._local(here)
        if not token.bare and not reference.receiver:
            yield self._guessed(here)
            return
        yield from self._try_meanings(here)

    def _keyed(self, here: NameMeaning) -> Iterator[NameMeaning | None]:
        """A key of a literal or call: a parameter of the function or constructor, else a field or member of the type."""
        values, name = self._resolver.values, here.reference.name
        value = values.expression(here.token.holder, self.facts, here.reference.unit, here.reference.start)
        owner = value.definition if value else None
        if owner is None or owner.kind in FUNCTIONS:
            yield self._parameter(here, owner) if owner else None
            return
        for constructor in sorted(owner.facts.file.language.constructors):
            made = values.member(Value("object", owner), constructor)
            yield self._parameter(here, made.definition) if made and made.definition else None
        yield self._field(here, values.declaring(owner, name))
        yield self._defined(here, self._resolver.catalog.members(owner, name))

    def _parameter(self, here: NameMeaning, function: Definition) -> NameMeaning | None:
        name, facts = here.reference.name, function.facts
        bound = facts.bound(function.place, name, function.start)
        places = [NamePlace(facts.file.id, b.start) for b in bound[:1]]
        return here._replace(key=("parameter", function.id, name), declared=places, is_guess=True) if bound else None

    def _try_meanings(self, here: NameMeaning) -> Iterator[NameMeaning | None]:
        token, reference, name = here.token, here.reference, here.reference.name
        value = self._resolver.value(self.facts, reference)
        if reference.kind == "call" and not token.bare and (value is None or value.how != "definition"):
            value = self._resolver.value(self.facts, reference._replace(kind="use")) or value
        if value is not None and value.definition is not None and value.how in ("definition", "field"):
            is_field = value.how == "field"
            yield self._field(here, value.definition) if is_field else self._defined(here, [value.definition])
        held = self.evaluate(here)
        if token.bare:
            yield self._top_local(here)
            is_own = held is not None and held.how == "object" and name in self.facts.file.language.self_names
            yield self._defined(here, [held.definition]) if is_own and held and held.definition else None
        yield self._module(here, held)
        yield self._import_line(here) if token.bare else None
        if value is None:
            yield self._guessed(here)

    def evaluate(self, here: NameMeaning) -> Value | None:
        """The value of the expression that ends with a name."""
        reference = here.reference
        text = f"{reference.receiver}.{reference.name}" if reference.receiver else reference.name
        return self._resolver.values.expression(text, self.facts, reference.unit, reference.start)

    def _defined(self, here: NameMeaning, found: Sequence[Definition], is_guess: bool = False) -> NameMeaning | None:
        key = ("unit", *sorted(d.id for d in found))
        return here._replace(key=key, definitions=found, is_guess=is_guess or len(found) > 1) if found else None

    def _field(self, here: NameMeaning, owner: Definition | None) -> NameMeaning | None:
        """A field at its declaration in the type, else where a member first assigns it."""
        name = here.reference.name
        if owner is None or (owner.qualified, name) not in owner.facts.fields:
            return None
        declared, assigned = owner.facts.fields[owner.qualified, name]
        places = [NamePlace(owner.facts.file.id, b.start) for b in (declared or assigned)[:1]]
        return here._replace(key=("field", owner.id, name), declared=places, holder=owner)

    def _local(self, here: NameMeaning) -> NameMeaning | None:
        """A name that a function around the place defines, binds or takes as the receiver."""
        name, start = here.reference.name, here.reference.start
        around: Definition | None = self.facts.definitions[u] if (u := here.reference.unit) is not None else None
        while around is not None:
            if found := self.facts.locals.get(around.place, {}).get(name):
                return self._defined(here, found[-1:])
            if around.kind not in HOLDERS:
                if bound := self.facts.bound(around.place, name, start):
                    return (
                        None
                        if self._has_globals and self._find_starts(name, "global")
                        else self._bound(here, around.place, bound)
                    )
                if name in self.facts.file.language.self_names and (own := self._receiver(name, around)) is not None:
                    place = NamePlace(self.document.id, own)
                    return here._replace(key=("local", around.place, 0), declared=[place], is_local=True)
            around = around.parent
        return None

    def _find_starts(self, name: str, role: str = "") -> list[int]:
        """The places of a name, or of its tokens with a role."""
        if (name, role) not in self._places:
            of_role = (token.start for token in self.tokens(name) if token.role == role) if role else ()
            found = of_role if role else (start for start, _ in tokens.find_name(self.source.map.utf8, name))
            self._places[name, role] = list(map(self.source.map.to_original, found))
            self.steps += len(self._places[name, role])
        return self._places[name, role]

    def _receiver(self, name: str, function: Definition) -> int | None:
        """The start of `self` in the head of a method."""
        starts = self._find_starts(name)
        first = bisect_left(starts, function.start)
        in_head = first < len(starts) and starts[first] < self._bodies.get(function.id, 0)
        return starts[first] if in_head else None

    def _top_local(self, here: NameMeaning) -> NameMeaning | None:
        bound = self.facts.bound(None, here.reference.name, here.reference.start)
        return self._bound(here, None, bound) if bound else None

    def _bound(self, here: NameMeaning, unit: int | None, bound: Sequence[Binding]) -> NameMeaning:
        """The last binding before the place, and for a language that declares variables, the last that is not an assignment."""
        if not self.facts.file.language.assignment_declares:
            written = self._find_starts(here.reference.name, tokens.WRITE)
            bound = [b for b in bound if not _holds(written, b.start)] or bound
        last = bound[max(0, bisect_right(bound, here.reference.start, key=attrgetter("start")) - 1)]
        place = NamePlace(self.document.id, last.start)
        return here._replace(key=("local", unit, last.until), declared=[place], is_local=True)

    def _module(self, here: NameMeaning, value: Value | None) -> NameMeaning | None:
        if value is None or value.how != "module" or value.module is None or not value.module.documents:
            return None
        return here._replace(key=("module", *value.module.documents), modules=value.module.documents)

    def _import_line(self, here: NameMeaning) -> NameMeaning | None:
        """The import of a name from outside of the index."""
        one = self.facts.names.get(here.reference.name)
        if one is None or not (one.start < here.reference.start):
            return None
        return here._replace(
            key=("import", here.reference.name), declared=[NamePlace(self.document.id, one.start)], is_local=True
        )

    def _imported(self, here: NameMeaning) -> NameMeaning | None:
        """A name in an import statement: what it brings, or the module that the part up to it names."""
        name, values, imports = here.reference.name, self._resolver.values, self.facts.imports
        last = bisect_right([one.start for one in imports], here.reference.start)
        same = [one for one in imports if last and one.start == imports[last - 1].start] or list(imports)
        for one in [*same, *imports]:
            if name in (one.name, one.alias):
                value = values.from_module(find_import(values.catalog, self.facts, one), one.name)
                if value and value.definition and value.how == "definition":
                    return self._defined(here, [value.definition])
                if found := self._module(here, value):
                    return found
        for one in same:
            parts = re.split(r"(\W+)", one.module)
            if name in parts and here.reference.line == one.line:
                part = one._replace(module="".join(parts[: parts.index(name) + 1]))
                module = find_import(values.catalog, self.facts, part) or find_import(values.catalog, self.facts, one)
                return self._module(here, Value("module", module=module)) if module else None
        return None

    def _guessed(self, here: NameMeaning) -> NameMeaning | None:
        """The few definitions of the name, if nothing tells which one is meant."""
        edges = self._resolver.reference(self.facts, here.reference)
        found = dict.fromkeys(e.target.definition for e in edges if e.target.definition is not None)
        return self._defined(here, list(found)[:MOST_GUESSES], is_guess=True)


def _holds(places: Sequence[int], place: int) -> bool:
    at = bisect_left(places, place)
    return at < len(places) and places[at] == place
