"""Find the edges of one document from its references, imports and manifests, each with its line and the tier of its target."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from codelens.linking.evaluator import Evaluator
from codelens.linking.facts import FUNCTIONS, HOLDERS, Definition, LinkFacts, load_words
from codelens.linking.imports import find_import
from codelens.linking.values import EXTERNAL, HIDDEN, VALUES, Value
from codelens.model.code import CHUNK_KINDS, TYPE_KINDS
from codelens.model.extraction import Import, Reference
from codelens.model.graph import EDGE_OF
from codelens.text.expressions import split_steps

LITERALS: dict[str, tuple[str, str]] = {
    "env": ("reads_env", "env"),
    "process": ("executes_process", "process"),
    "route": ("handles_route", "route"),
    "endpoint": ("consumes_endpoint", "route"),
    "flag": ("gated_by_flag", "flag"),
}  # Kind of a reference to a literal's name → (kind of its edge, kind of the external at its end)
MOST_GUESSES = 4  # Limit of definitions that one ambiguous name may lead to; a guess among more is worth nothing
WRITTEN_OUT = ("extends", "implements", "throws", "decorates", "type_hint_of")
"""Kinds of edges whose targets outside of the repository are kept as externals: their names are informative, and two functions
that take the same external type belong together."""

_INTERFACES = ("interface", "trait")
_ACCESSES = ("field", "use")  # Kinds of references that may name a field


class FoundEdge(NamedTuple):
    """An edge before its ends have numbers. `unit` is the position of the source in its document; None is the document itself."""

    unit: int | None
    kind: str
    target: Definition | int | str  # A definition, the id of a document, or the name of an external
    line: int
    tier: str


class Meaning(NamedTuple):
    """The definitions that a name means according to a language server's index."""

    line: int
    definitions: list[Definition]


class Resolver:
    """Resolves references in the documents of one repository, and makes edges of the symbol graph from them."""

    def __init__(self, values: Evaluator) -> None:
        self.values = values
        self.catalog = values.catalog
        self.counts = Counter[str]()  # Outcome, as in LINK_COUNTS → number of references of the last document
        self.unresolved: list[int] = []  # Positions of the references without a target
        self._accessed: set[tuple[int | None, int, str]] = set()
        """(unit, type, field) of each access so far: only a unit's first access becomes an edge."""

    def find_document_edges(
        self, facts: LinkFacts, references: Sequence[Reference], meant: Mapping[int, Meaning]
    ) -> Iterator[FoundEdge]:
        """Find the edges of one document. Names at the places in `meant` are already known and are not resolved."""
        self.counts.clear()
        self.unresolved.clear()
        self._accessed.clear()
        for imported in facts.imports:
            yield from self._make_import_edges(facts, imported)
        for position, reference in enumerate(references):
            if reference.kind in EDGE_OF and reference.start in meant:
                for definition in _choose_fitting(reference.kind, meant[reference.start].definitions):
                    yield from self._make_edge(facts, reference, _find_constructed(reference, definition), "precise")
            elif reference.kind in EDGE_OF:
                if reference.kind in ("extends", "implements"):
                    reference = self._move_into_type(facts, reference)
                before = self.counts["unresolved"]
                yield from self.find_edges(facts, reference)
                if self.counts["unresolved"] > before:
                    self.unresolved.append(position)
            elif reference.kind in LITERALS:
                kind, prefix = LITERALS[reference.kind]
                yield FoundEdge(reference.unit, kind, f"{prefix}:{reference.name}", reference.line, "literal")
            elif reference.kind == "mention":
                yield from self._find_mentioned_definition(reference)
            elif reference.kind == "link":  # the file that prose names
                linked = self.catalog.find_linked_file(facts.file.path, reference.name)
                if linked and linked[0].id != facts.file.id:
                    yield FoundEdge(reference.unit, "documents", linked[0].id, reference.line, linked[1])
            elif reference.kind == "place":
                yield from self._find_link_target(facts, reference)
        for member in facts.definitions:  # members that stand outside of their type's definition
            is_outside = member.parent is None or member.parent.kind not in TYPE_KINDS
            if member.kind == "method" and member.container and is_outside:
                owner = self.values.find_owner(facts, member.place)
                if owner is not None and owner is not member and owner.name == member.container.rpartition(".")[2]:
                    yield FoundEdge(member.place, "member_of", owner, 0, "scope")
        yield from self._find_declared_edges(facts.file.path)

    def _find_declared_edges(self, path: str) -> Iterator[FoundEdge]:
        """Find the edges to the dependencies that a manifest declares, and to the document's owners."""
        manifests = self.catalog.manifests
        if manifest := manifests.find_manifest_at(path):
            for dependency in manifest.dependencies:
                here = manifests.find_manifest(manifest.ecosystem, dependency.name)
                target: int | str = f"package:{manifest.ecosystem}:{dependency.name}"
                if here and here != path and here in self.catalog.by_path:
                    target = self.catalog.by_path[here].id
                yield FoundEdge(None, "depends_on", target, dependency.line, "literal")
        for owner in manifests.list_owners(path):
            yield FoundEdge(None, "owned_by", f"owner:{owner}", 0, "literal")

    def _make_import_edges(self, facts: LinkFacts, one: Import) -> Iterator[FoundEdge]:
        module = find_import(self.catalog, facts, one)
        targets: list[Definition | int | str] = []
        if module is None:
            targets += [f"module:{one.module}"] if one.module else []
        else:
            targets += [document for document in module.documents[:MOST_GUESSES] if document != facts.file.id]
            value = self.values.resolve_in_module(module, one.name) if one.name not in ("", "*") else None
            if value and value.definition and value.definition.facts is not facts:
                targets.append(value.definition)
            elif value and value.module:
                targets += value.module.documents[:MOST_GUESSES]
        return (FoundEdge(None, "imports", target, one.line, "import") for target in targets)

    def _move_into_type(self, facts: LinkFacts, reference: Reference) -> Reference:
        """Make a type the source of the reference to its base that stands outside of it, as in Rust's `impl Base for Type`.

        Only if this file defines the type; other references are returned unchanged.
        """
        name = facts.adds_to.get(reference.start)
        value = self.values.resolve_type_name(name, facts, reference.unit) if name else None
        if value and value.definition and value.definition.facts is facts and value.definition.kind in TYPE_KINDS:
            return reference._replace(unit=value.definition.place)
        return reference

    def find_edges(self, facts: LinkFacts, reference: Reference) -> Iterator[FoundEdge]:
        """Find the edge of one reference; several if it is ambiguous, none if it cannot be resolved."""
        self.values.cut = False
        value = self.evaluate_reference(facts, reference)
        starved = value is None and self.values.cut
        self.counts["out_of_fuel"] += starved
        parts = split_steps(reference.receiver) if reference.receiver and facts.file.language.implicit_self else ()
        first = parts[0].text if parts and parts[0].how == "name" else ""  # may be a field: `names` of `names.add(one)`
        if first and (holder := self._find_declarer_around(facts, reference, first, marked=False)):
            yield from self._make_access(facts, reference._replace(name=first), holder, "scope")
        if value is not None and value.how in ("definition", "field") and (target := value.definition) is not None:
            self.counts["resolved"] += 1
            make = self._make_access if value.how == "field" else self._make_edge
            yield from make(facts, reference, target, value.tier or "receiver")
        elif value is not None:
            self.counts["external" if value.how == "external" else "local"] += 1
            kind = EDGE_OF[reference.kind]
            if kind in WRITTEN_OUT:
                name = f"{reference.receiver}.{reference.name}" if reference.receiver else reference.name
                yield FoundEdge(reference.unit, kind, f"symbol:{name}", reference.line, "import")
        else:
            guesses = self._guess(facts, reference, starved)
            kind, tier = EDGE_OF[reference.kind], "unique" if len(guesses) == 1 else "ambiguous"
            self.counts["guessed" if guesses else "unresolved"] += 1
            for definition in guesses:
                yield FoundEdge(reference.unit, _mark_test(kind, facts, definition), definition, reference.line, tier)

    def _make_access(self, facts: LinkFacts, use: Reference, holder: Definition, tier: str) -> Iterator[FoundEdge]:
        """Make the edge to the type that declares a field, since fields are not units."""
        access = (use.unit, holder.id, use.name)
        if access not in self._accessed and not (holder.facts is facts and holder.place == use.unit):
            self._accessed.add(access)
            yield FoundEdge(use.unit, "accesses_field", holder, use.line, tier)

    def _make_edge(self, facts: LinkFacts, use: Reference, target: Definition, tier: str) -> Iterator[FoundEdge]:
        """Make the edge to a definition; none if a unit refers to itself without calling itself."""
        kind = EDGE_OF[use.kind]
        if kind == "calls" and target.kind in ("variable", "constant"):  # which may hold a function or type
            content = self.values.read_value(target)
            called = content.as_definition if content else None
            target = called if called and called.kind in (*FUNCTIONS, *TYPE_KINDS) else target
        source = facts.definitions[use.unit] if use.unit is not None else None
        if kind == "extends" and target.kind in _INTERFACES and not (source and source.kind in _INTERFACES):
            kind = "implements"
        if kind == "accesses_field" and (target.kind not in VALUES or not target.container):
            kind = "references"
        if kind == "references" and facts.file.language.bare_calls and target.kind in FUNCTIONS:
            kind = "calls"
        if target is not source or kind == "calls":
            yield FoundEdge(use.unit, _mark_test(kind, facts, target), target, use.line, tier)

    def evaluate_reference(self, facts: LinkFacts, reference: Reference) -> Value | None:
        """Evaluate a reference to the value that it means; None if unknown."""
        inside = unit = reference.unit
        if reference.kind in ("extends", "implements", "decorate") and unit is not None:
            around = facts.definitions[unit]
            if around.kind in TYPE_KINDS or reference.kind == "decorate":  # a head stands outside of its body
                inside = around.parent.place if around.parent else None
        if not reference.receiver:
            return self._evaluate_bare_name(facts, reference, inside)
        owner = self.values.evaluate(reference.receiver, facts, inside, reference.start)
        if owner is None:  # `Type.member`, by the name of the type alone
            parts = split_steps(reference.receiver)
            is_type = parts and all(p.how in ("name", "member") for p in parts) and parts[-1].text[:1].isupper()
            type_ = self.values.find_visible_type(".".join(part.text for part in parts), facts) if is_type else None
            return self.values.resolve_member(Value("definition", type_), reference.name) if type_ else None
        of_self = reference.receiver in facts.file.language.self_names
        if reference.kind in _ACCESSES and (holder := self._find_declarer_in(owner, reference.name)):
            return Value("field", holder, tier="scope" if of_self else "receiver")
        member = self.values.resolve_member(owner, reference.name)
        if member is None and owner.how == "module":
            return EXTERNAL
        if of_self and member and member.definition is not None and member.definition.facts is facts:
            return member._replace(tier="scope")
        return member

    def _evaluate_bare_name(self, facts: LinkFacts, reference: Reference, unit: int | None) -> Value | None:
        value = self.values.resolve_name(reference.name, facts, unit, reference.start)
        if reference.kind in _ACCESSES:
            marked = reference.kind == "field"  # by a sigil: Ruby's @name never means a method
            definition = value.as_definition if value else None
            if not definition or (marked and definition.kind in FUNCTIONS and definition.kind != "property"):
                if holder := self._find_declarer_around(facts, reference, reference.name, marked):
                    return Value("field", holder, tier="scope")
                if definition:
                    return HIDDEN
        if value is None:
            return None
        if value.how == "object" and reference.kind in ("call", "construct"):
            if reference.name in facts.file.language.self_names:  # cls() makes an object of the class
                return Value("definition", value.definition, tier="scope")
            return HIDDEN
        if value.how in ("module", "holding") or (value.how == "object" and reference.kind == "use"):
            return HIDDEN
        return value

    def _find_declarer_in(self, value: Value, name: str) -> Definition | None:
        """Find the type that declares a field, among the type of a value and its bases."""
        definition = value.as_type or value.as_definition
        if (meant := value.as_definition) and meant.kind not in HOLDERS:
            content = self.values.read_value(meant) if meant.kind in VALUES else None
            definition = content.as_type if content else None
        return self.values.find_declarer(definition, name) if definition and definition.kind in HOLDERS else None

    def _find_declarer_around(self, facts: LinkFacts, use: Reference, name: str, marked: bool) -> Definition | None:
        """Find the enclosing type that declares the field which a bare name means at the place of a use."""
        if not (marked or facts.file.language.implicit_self):
            return None
        for around in facts.list_enclosing(use.unit):
            if not marked and around.kind not in HOLDERS and facts.find_bindings(around.place, name, use.start):
                return None
            owner = around if around.kind in TYPE_KINDS else None
            if owner is None and around.parent is None and around.container:
                owner = self.values.find_owner(facts, around.place)
            if owner is not None and (declarer := self.values.find_declarer(owner, name, marked)):
                return declarer
        return None

    def _guess(self, facts: LinkFacts, reference: Reference, starved: bool) -> Sequence[Definition]:
        """Guess, by name alone, the member of an unknown receiver, or a name for which fuel ran out."""
        language, name, is_call = facts.file.language, reference.name, EDGE_OF[reference.kind] == "calls"
        if not starved and not (is_call and reference.receiver):
            return ()
        if is_call and reference.receiver and (member := self._find_by_receiver_name(facts, reference)):
            return [member]
        is_of_package = language.modules == "package" and name[:1].islower()  # of Go: looked up however common it is
        if name in language.constructors or len(name) < 3 or (not is_of_package and name in load_words().common):
            return ()
        kinds, is_test = FUNCTIONS if is_call else HOLDERS, "test" in facts.file.roles
        guesses = self.values.list_guesses(name, language.kin, kinds, not reference.receiver, is_test) or ()
        if is_of_package:
            guesses = [d for d in guesses if d.facts.place == facts.place]
        return guesses if len(guesses) <= MOST_GUESSES else ()

    def _find_by_receiver_name(self, facts: LinkFacts, reference: Reference) -> Definition | None:
        """Find the only method of this name in types that are named like the receiver: `request.close()` for Request.close."""
        parts = split_steps(reference.receiver)
        if not parts or parts[-1].how not in ("name", "member"):
            return None
        word = parts[-1].text.strip("_$@")
        pascal = "".join(part[:1].upper() + part[1:] for part in word.split("_"))
        apart = {"test", "example"} - facts.file.roles
        holders = dict.fromkeys((word, pascal))
        named = [d for holder in holders for d in self.catalog.find_anywhere(reference.name, holder)]
        methods = [d for d in named if d.kind in FUNCTIONS and d.facts.file.roles.isdisjoint(apart)]
        methods = [d for d in methods if d.facts.file.language.kin == facts.file.language.kin]
        return methods[-1] if len({(d.facts.file.path, d.container) for d in methods}) == 1 else None

    def _find_link_target(self, facts: LinkFacts, reference: Reference) -> Iterator[FoundEdge]:
        """Find the target of a link in a note: the symbol in its file, else the only symbol of that name, else the file."""
        path, symbol = reference.name, reference.receiver
        self.catalog.record("p", path.rpartition("/")[2].partition(".")[0])
        file = self.catalog.by_path.get(path)
        target: Definition | int | None = file.id if file and file.id != facts.file.id else None
        if symbol:
            self.catalog.record("u", path, symbol)
            here = self.catalog.read_facts(file.id).definitions if file else ()
            holder, _, name = symbol.rpartition(".")
            if same := [d for d in here if d.qualified == symbol and d.kind not in CHUNK_KINDS]:
                target = same[0]
            elif len(others := self.catalog.find_anywhere(name, holder)) == 1:
                target = others[0]
        if target is not None:
            yield FoundEdge(reference.unit, "documents", target, reference.line, "literal")

    def _find_mentioned_definition(self, reference: Reference) -> Iterator[FoundEdge]:
        """Find the only definition that a name in prose can mean, in the repository or in the type or module named before it."""
        holder = reference.receiver.rpartition(".")[2]
        same = [d for d in self.catalog.find_anywhere(reference.name, holder) if "test" not in d.facts.file.roles]
        target = _choose_only(same)
        if target is None and holder:  # a member that the only type of that name inherits
            types = [d for d in self.catalog.find_anywhere(holder) if d.kind in TYPE_KINDS and _is_of_code(d)]
            if len(types) == 1:
                member = self.values.resolve_member(Value("definition", types[0]), reference.name)
                target = member.definition if member else None
        if target is None and holder:  # the only definition outside of types in such a file or folder: `flask.url_for`
            free = [d for d in self.catalog.find_anywhere(reference.name) if d.parent is None and _is_of_code(d)]
            target = _choose_only([d for d in free if holder in d.facts.file.path.rpartition(".")[0].split("/")])
        if target is not None:
            yield FoundEdge(reference.unit, "documents", target, reference.line, "unique")


def _is_of_code(definition: Definition) -> bool:
    """True for a definition outside of tests and examples."""
    return definition.facts.file.roles.isdisjoint(("test", "example"))


def _choose_only(definitions: Sequence[Definition]) -> Definition | None:
    """Choose the only definition; of several, the only type or module, else the only one outside of types, tests and examples."""
    types = [d for d in definitions if d.kind in HOLDERS]
    free = [d for d in definitions if d.parent is None and _is_of_code(d)]
    return next((some[0] for some in (definitions, types, free) if len(some) == 1), None)


def _choose_fitting(kind: str, definitions: Sequence[Definition]) -> Sequence[Definition]:
    """Choose the definitions that a reference of this kind can mean, since TypeScript merges a type and a value of one name."""
    if kind in ("call", "construct"):
        return [d for d in definitions if d.kind not in ("interface", "trait", "type")] or definitions
    is_type = kind in ("type", "extends", "implements")
    return [d for d in definitions if is_type and d.kind in TYPE_KINDS] or definitions


def _find_constructed(reference: Reference, definition: Definition) -> Definition:
    """Return the type instead of its constructor if the text has the type's name, as resolution by syntax does."""
    holder, language = definition.parent, definition.facts.file.language
    unnamed = {*language.constructors, *language.self_names, *language.super_names}
    is_constructor = holder and definition.name in (*language.constructors, holder.name)
    if holder and holder.kind in TYPE_KINDS and is_constructor and reference.name not in unnamed:
        return holder
    return definition


def _mark_test(kind: str, facts: LinkFacts, target: Definition) -> str:
    """Change the kind `calls` to `tests` for a call from a test file into other code."""
    is_test = kind == "calls" and "test" in facts.file.roles and "test" not in target.facts.file.roles
    return "tests" if is_test else kind
