"""Every place that names a definition, with how sure it is that the definition is meant.

The index of texts says which files have the name. Their tokens are read again from the snapshot, and each is decided by the
linker's scopes, imports and types: it means this definition, another one, a local variable, or nothing certain. So
the list is complete by construction; stored edges only add what has another name on its line.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

from codelens.graph.view import GraphView, Start, overridden, overriding
from codelens.lang.captures import Enclosing
from codelens.lang.registry import is_prose, languages
from codelens.lang.tokens import (
    CALL,
    CATCH,
    DECLARATION,
    IMPORT,
    KEY,
    NAME,
    TEXT,
    TYPE,
    UNPACK,
    WRITE,
    NameToken,
    find_tokens,
)
from codelens.linking.catalog import Catalog
from codelens.linking.evaluator import Evaluator, Value
from codelens.linking.facts import FUNCTIONS, HOLDERS, Definition, LinkFacts, words
from codelens.linking.imports import find_import
from codelens.linking.references import Resolver
from codelens.model.code import CHUNK_KINDS, TYPE_KINDS, DocumentId, RepositoryId, UnitId, UnitRow
from codelens.model.extraction import DecodedText, Import, Reference
from codelens.model.fast_dataclass import replace
from codelens.model.graph import LIKELY, ONLY_BY_NAME, SURE, Named, Node, Relation, document_node
from codelens.store.documents import DocumentRow
from codelens.store.postings import all_trigrams
from codelens.store.targets import are_one
from codelens.store.texts import text_of
from codelens.text.lines import TextMap

MOST_READ = 2000
"""Files of which the tokens are read and decided. Further ones are counted and not listed."""
LARGEST = 2_000_000
"""Bytes of a file whose tokens are read; larger ones are counted."""
ASSIGNMENT_DECLARES = ("python", "ruby", "php", "julia", "r", "elixir", "perl", "bash", "powershell")
"""Languages in which a function declares a variable by assigning to it."""
SEVERAL = "*"
"""In place of the holder, if definitions of several types are meant."""
_KINDS = {CALL: "call", TYPE: "type", CATCH: "type"}
"""Role → kind of the reference that the linker evaluates; `use` for the others."""
ANOTHER, A_LOCAL, OUTSIDE_CODE = "another definition", "a local name", "comments, strings and documents"


TIER_OF_CERTAINTY = {SURE: "implied", LIKELY: "unique", ONLY_BY_NAME: "ambiguous"}
"""Certainty → tier of the place's relation."""


class NamedPlace(NamedTuple):
    """A token that names, or may name, what was asked for. Offsets count the file's own bytes."""

    document: DocumentRow
    line: int
    column: int
    start: int
    end: int
    role: str
    certainty: str
    unit: Node
    """The definition around it, or the document."""
    bare: bool = True
    """False after a dot."""


class Target(NamedTuple):
    """Definitions of one name, or fields, which have no units."""

    name: str
    kin: str
    units: frozenset[int]
    """The definition, with overloads and parts of the same qualified name."""
    family: frozenset[int]
    """Methods that override these, or are overridden by them."""
    kind: str
    holder: str
    """The last name of the type that has it; empty at the top level."""
    namesakes: int
    """Other definitions of that name in languages of its family."""


class PlaceFinder:
    """Finds the places of one target. `excluded` counts the tokens that mean something else, `unread` the files left out."""

    def __init__(self, view: GraphView, target: Target, with_text: bool = False) -> None:
        self._view, self.target, self._with_text = view, target, with_text
        self.excluded = Counter[str]()
        self.unread = 0
        self.partly = 0
        """Files that the grammar could not read as a whole."""
        self.steps = 0
        """Tokens read, and questions that the linker answered for them."""
        self.documents = set[DocumentId]()
        """Files that have the name."""
        self.declared: list[tuple[DocumentRow, str, int, int]] = []
        """(file, type, start, line) of each declaration, and certain use, of a field of that name without a unit."""

    def places(self) -> list[NamedPlace]:
        """The places, by path and position."""
        found = list[NamedPlace]()
        resolvers: dict[RepositoryId, Resolver] = {}
        documents = self._documents()
        self.unread += max(0, len(documents) - MOST_READ)
        for document in documents[:MOST_READ]:
            row = languages().get(document.language)
            kin = row.kin if row else document.language
            is_code = bool(row and row.grammar and not row.prose)
            if is_code and self.target.kin and kin != self.target.kin:
                continue
            if document.stamp.size > LARGEST:
                self.unread += 1
                continue
            text = self._text(document)
            tokens, complete = find_tokens(text.utf8, document.language, self.target.name)
            self.partly += not complete
            if tokens:
                self.documents.add(document.id)
            if not self._with_text:
                code = [one for one in tokens if one.role != TEXT]
                self.excluded[OUTSIDE_CODE] += len(tokens) - len(code)
                tokens = code
            if not tokens:
                continue
            if document.repository not in resolvers:
                catalog = Catalog(self._view.store, document.repository)
                resolvers[document.repository] = Resolver(Evaluator(catalog))
            resolver = resolvers[document.repository]
            before = resolver.values.steps
            found += self._in_document(document, text, tokens, resolver)
            self.steps += len(tokens) + resolver.values.steps - before
            if resolver.catalog.trim():
                resolver.values.forget()
        if not self.target.units:
            found = list(self._of_fields(found))
        meant = [place for place in found if place.certainty not in (ANOTHER, A_LOCAL)]
        self.excluded.update(place.certainty for place in found if place.certainty in (ANOTHER, A_LOCAL))
        return meant

    def _of_fields(self, places: Sequence[NamedPlace]) -> Iterator[NamedPlace]:
        """The places of a name without a unit: of a field, in the languages that declare it; else all, by name."""
        holders = {(_kin(document.language), holder) for document, holder, *_ in self.declared}
        kins = {kin for kin, _ in holders}
        for place in places:
            if not self.declared:
                yield place._replace(certainty=ONLY_BY_NAME)
            elif _kin(place.document.language) in kins or place.role == NAME:
                is_only = place.certainty == ONLY_BY_NAME and len(holders) == 1 and place.role not in (NAME, TEXT)
                yield place._replace(certainty=LIKELY) if is_only and not place.bare else place

    def summary(self, listed: Sequence[Relation]) -> str:
        """A sentence about how sure the listed places are, and what is not listed."""
        counts = Counter(relation.certainty for relation in listed)
        parts = [f"{counts[SURE]} resolved, {counts[LIKELY]} likely, {counts[ONLY_BY_NAME]} by name only"]
        if elsewhere := self.excluded[OUTSIDE_CODE]:
            parts.append(f"{elsewhere} in {OUTSIDE_CODE}; --text lists them too")
        if others := self.excluded[ANOTHER] + self.excluded[A_LOCAL]:
            parts.append(f"{others} mean something else of that name")
        if self.partly:
            parts.append(f"{self.partly} file{'s' * (self.partly != 1)} could be parsed only in part")
        if self.unread:
            parts.append(f"{self.unread} file{'s' * (self.unread != 1)} not read")
        return "; ".join(parts)

    def declared_field(self) -> Named:
        """The field at its first declaration."""
        document, holder, start, line = self.declared[0]
        whole = self._view.named(document_node(document.id))
        name = self.target.name
        qualified = f"{holder}.{name}" if holder else name
        end = start + len(name.encode())
        return replace(
            whole, kind="field", name=name, qualified_name=qualified, line=line, start_byte=start, end_byte=end
        )

    def _documents(self) -> list[DocumentRow]:
        """The files that may have the name: by trigrams, else all files of the language."""
        view, store, name = self._view, self._view.store, self.target.name
        allowed = None
        if store.features().fuzzy and (expression := all_trigrams(name)):
            allowed = set(store.postings.documents_matching(expression))
        names = {row.id: row.name for row in store.documents.repositories()}
        rows = store.documents.rows(None if allowed is None else sorted(allowed))
        return sorted((d for d in rows if view.includes(d.id)), key=lambda d: (names[d.repository], d.path))

    def _text(self, document: DocumentRow) -> TextMap:
        text = text_of(document, self._view.store)
        return TextMap(DecodedText(text.text, text.encoding, 1.0, text.bom))

    def _in_document(
        self, document: DocumentRow, text: TextMap, tokens: Sequence[NameToken], resolver: Resolver
    ) -> Iterator[NamedPlace]:
        facts = resolver.catalog.facts(document.id)
        own = {d.start: d for d in facts.definitions if d.name == self.target.name}
        heads = dict(self._heads(document, own.values()))
        symbols = [d for d in facts.definitions if d.kind not in CHUNK_KINDS]
        around = Enclosing([(d.start, d.end) for d in symbols])
        stored = {r.start: r for r in self._view.store.references.of_document(document.id)}
        roles = {text.to_original(one.start): one.role for one in tokens}
        decide = _Decision(self.target, facts, resolver, roles)
        for one in tokens:
            start = text.to_original(one.start)
            inside = around.at(start)
            unit = symbols[inside] if inside is not None else None
            line, column = text.line_column(one.start)
            if (definition := heads.get(start)) is not None:
                if definition.id in self.target.units:
                    continue
                certainty = ONLY_BY_NAME if definition.id in self.target.family else ANOTHER
                if definition.parent is not None and definition.parent.id in self.target.units:
                    certainty = SURE  # a constructor that has the name of its type
                one = one._replace(role=DECLARATION)
            else:
                reference = stored.get(start)
                certainty = decide.certainty(one, start, line, unit.place if unit else None, reference)
                if one.role == DECLARATION and not self.target.units and certainty == SURE:
                    self.declared.append((document, one.holder, start, line))
            if decide.field_of:
                self.declared.append((document, decide.field_of.name, start, line))
                decide.field_of = None
            source = Node(unit.id) if unit else document_node(document.id)
            end = text.to_original(one.end)
            yield NamedPlace(document, line, column, start, end, one.role, certainty, source, one.bare)

    def _heads(self, document: DocumentRow, definitions: Collection[Definition]) -> Iterator[tuple[int, Definition]]:
        """(start of the name, definition) of these definitions."""
        rows = self._view.store.units.rows([UnitId(d.id) for d in definitions]) if definitions else {}
        for definition in definitions:
            yield rows[UnitId(definition.id)].name_start, definition


class _Decision:
    """Decides about the tokens of one document."""

    def __init__(self, target: Target, facts: LinkFacts, resolver: Resolver, roles: Mapping[int, str]) -> None:
        """`roles`: start of each token of the name in the document → its role."""
        self._target, self._facts, self._resolver, self._values = target, facts, resolver, resolver.values
        declares = facts.file.language.name in ASSIGNMENT_DECLARES and "global" not in roles.values()
        self._assigned = frozenset() if declares else frozenset(at for at, role in roles.items() if role == WRITE)
        self.field_of: Definition | None = None
        """The type whose field the last token certainly means, if fields are looked for."""
        self._assigned |= {at for at, role in roles.items() if role == UNPACK}
        """Places that bind the name and do not declare another thing: assignments, and fields that are unpacked."""

    def certainty(self, one: NameToken, start: int, line: int, unit: int | None, stored: Reference | None) -> str:
        """SURE, LIKELY or ONLY_BY_NAME if the token may mean the target, else ANOTHER or A_LOCAL."""
        if one.role in (NAME, TEXT):
            return ONLY_BY_NAME
        if one.role == DECLARATION:
            return self._of_declaration(one)
        if one.role == UNPACK and self._target.holder:
            return self._unknown(one)
        if one.role == IMPORT:
            return self._of_import(one) or ONLY_BY_NAME
        if one.role == KEY and one.bare and not one.holder.startswith(("map[", "[")):  # whose keys are expressions
            return self._of_key(one, unit)
        kind = stored.kind if stored is not None and stored.kind in _REFERENCES else _KINDS.get(one.role, "use")
        receiver = stored.receiver if stored is not None else one.receiver
        if not one.bare and not receiver:
            return self._unknown(one)
        reference = Reference(kind, self._target.name, receiver, unit, start, line)
        value = self._resolver.value(self._facts, reference)
        found = self._of_value(value, one, reference)
        if value is not None and value.how == "field" and found == SURE and not self._target.units:
            self.field_of = value.definition
        return found

    def _of_value(self, value: Value | None, one: NameToken, reference: Reference) -> str:
        target = self._target
        if value is None:
            return self._unknown(one)
        if value.how == "definition" and value.definition is not None:
            return self._of_definition(value.definition, one)
        if value.how == "field" and value.definition is not None:
            if target.holder and target.holder != SEVERAL:
                return SURE if value.definition.name == target.holder else ANOTHER
            return SURE if target.holder or not target.units else ANOTHER
        if not one.bare:
            head = self._values.receiver(reference.receiver, self._facts, reference.unit, reference.start)
            is_outside = (
                head is not None and head.how in ("module", "external") and reference.receiver in self._facts.names
            )
            if value.how == "external":
                return ANOTHER if is_outside else ONLY_BY_NAME
            return self._unknown(one)
        if value.how == "external":
            imported = self._facts.names.get(target.name)
            return self._unknown(one) if imported is None or self._is_own(imported) else ANOTHER
        if self._is_bound(reference):
            return A_LOCAL
        own = self._facts.top.get(target.name, ())
        return SURE if any(d.id in target.units for d in own) else self._unknown(one)

    def _is_bound(self, reference: Reference) -> bool:
        """True if an enclosing function declares the name."""
        around = self._facts.definitions[reference.unit] if reference.unit is not None else None
        while around is not None:
            bound = self._facts.bound(around.place, reference.name, reference.start)
            if around.kind not in HOLDERS and any(one.start not in self._assigned for one in bound):
                return True
            around = around.parent
        return False

    def _of_definition(self, definition: Definition, one: NameToken) -> str:
        target = self._target
        if definition.id in target.units:
            return SURE
        if definition.id in target.family:
            return ONLY_BY_NAME  # one may run instead of the other
        if definition.name != target.name:
            holder = definition.parent
            return SURE if holder is not None and holder.id in target.units else self._unknown(one)
        parent = definition.parent  # a constructor bears the name of its type
        if parent is not None and parent.id in target.units:
            return SURE
        if definition.kind in TYPE_KINDS and target.kind in FUNCTIONS and target.holder == definition.name:
            return SURE
        return ANOTHER

    def _of_declaration(self, one: NameToken) -> str:
        """A declared name without a unit: the target itself if fields are looked for, or a prototype of the function."""
        target = self._target
        if not target.units:
            return SURE if not target.holder or one.holder == target.holder else ANOTHER
        if target.kind in FUNCTIONS and not one.holder:
            return LIKELY if not target.namesakes else ONLY_BY_NAME
        return ANOTHER if one.holder and one.holder != target.holder else self._unknown(one)

    def _of_import(self, one: NameToken) -> str:
        """The certainty of a name in an import; empty if the token is another part of it."""
        target = self._target
        for imported in self._facts.imports:
            if target.name not in (imported.name, imported.alias):
                continue
            module = find_import(self._values.catalog, self._facts, imported)
            if module is None:
                return self._unknown(one) if self._is_own(imported) else ANOTHER
            value = self._values.from_module(module, imported.name) if imported.name else None
            if value is not None and value.definition is not None:
                ids = {value.definition.id} | {d.id for d in value.definition.facts.top.get(target.name, ())}
                return SURE if ids & target.units else ANOTHER
        return ""

    def _is_own(self, imported: Import) -> bool:
        """True if an import whose module was not found may be of this repository: by a relative path or its package's name."""
        module = imported.module
        if module.startswith((".", "crate", "super", "self")):
            return True
        manifests = self._values.catalog.manifests
        parts = module.split("/")
        names = [module, parts[0], "/".join(parts[:2])]
        return any(manifests.declaring("npm", name) for name in names)

    def _of_key(self, one: NameToken, unit: int | None) -> str:
        """A key of a literal: a field of the literal's type, or a parameter of the call."""
        target = self._target
        value = self._values.type_named(one.holder, self._facts, unit) if one.holder else None
        owner = value.definition if value is not None else None
        if owner is not None and owner.kind in HOLDERS:
            if target.holder and owner.name == target.holder:
                return SURE
            if any(
                base.definition is not None and base.definition.id in target.units for base in self._values.bases(owner)
            ):
                return SURE  # an embedded struct of Go is a field with the name of its type
            declaring = self._values.declaring(owner, target.name)
            if declaring is not None:
                return SURE if declaring.name == target.holder or not target.units else ANOTHER
        return self._unknown(one)

    def _unknown(self, one: NameToken) -> str:
        """By the name alone: likely where nothing else in the repository has it, and where it may stand so."""
        target = self._target
        if target.namesakes or target.family or target.name in words().common:
            return ONLY_BY_NAME
        is_member = bool(target.holder)
        if one.role == KEY:
            return LIKELY if is_member and target.kind in _VALUES else ONLY_BY_NAME
        if is_member:
            fits = not one.bare or self._facts.file.language.implicit_self
        else:
            of_package = self._facts.file.language.package == "directory"  # Go: a bare name of it would have been found
            fits = not of_package if one.bare else one.receiver in self._facts.names
        return LIKELY if fits else ONLY_BY_NAME


_REFERENCES = frozenset(("call", "construct", "type", "extends", "implements", "decorate", "throw", "field", "use"))
_VALUES = ("variable", "constant", "property", "field")


def named_unit(view: GraphView, start: Start) -> UnitRow | None:
    """The row of a target that is one definition with a name."""
    unit = view.unit(start.nodes[0]) if len(start.nodes) == 1 else None
    return unit if unit is not None and unit.kind not in CHUNK_KINDS and unit.name.isprintable() else None


def target_of(view: GraphView, units: Sequence[UnitRow]) -> Target:
    """The target that definitions of one name are."""
    store, first = view.store, units[0]
    kins = {_kin(unit.language) for unit in units}
    named = store.units.rows([UnitId(u) for u, *_ in store.units.namesakes(first.name)]).values()
    code = [other for other in named if not is_prose(other.language) and _kin(other.language) in kins]
    same = {
        u.id for u in code for unit in units if u.qualified_name == unit.qualified_name and _belong_together(u, unit)
    }
    same |= {unit.id for unit in units}
    nodes = [Node(u) for u in same]
    above = {o for some in overridden(view, nodes).values() for o in some}
    family = above | {o for some in overriding(view, [*nodes, *above]).values() for o in some}
    others = [
        u
        for u in code
        if u.id not in same and Node(u.id) not in family and not any(_is_constructor(u, o) for o in units)
    ]
    holders = {unit.container.rpartition(".")[2] if unit.container and not unit.local else "" for unit in units}
    holder = holders.pop() if len(holders) == 1 else SEVERAL
    kin = kins.pop() if len(kins) == 1 else ""
    return Target(first.name, kin, frozenset(same), frozenset(family - same), first.kind, holder, len(others))


def target_of_name(name: str, holder: str) -> Target:
    """The target of a name without a unit: fields, or names from outside."""
    return Target(name, "", frozenset(), frozenset(), "field", holder, 0)


def _kin(language: str) -> str:
    row = languages().get(language)
    return row.kin if row else language


def _belong_together(first: UnitRow, second: UnitRow) -> bool:
    """True for what `are_one` says, for overloads in one file, and for types whose parts lie in several files."""
    if are_one(first, second) or are_one(second, first):
        return True
    if first.document == second.document:
        gap = max(first.start_line, second.start_line) - min(first.end_line, second.end_line)
        return bool(first.container) or _kin(first.language) != "ecmascript" or gap <= MOST_BETWEEN
    is_open = first.kind == second.kind and first.kind in (*TYPE_KINDS, "module")
    return is_open and bool(languages()[first.language].open_types)


MOST_BETWEEN = 2
"""Lines from an overload of a script's function to the next; tests define unrelated functions of one name in closures."""


def _is_constructor(unit: UnitRow, of: UnitRow) -> bool:
    return unit.container.rpartition(".")[2] == of.name == unit.name
