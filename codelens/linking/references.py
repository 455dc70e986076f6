"""Edges of one document: from its references, imports and manifests, each with its line and the tier of its target."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from codelens.linking.evaluator import EXTERNAL, HIDDEN, VALUES, Evaluator, Value
from codelens.linking.facts import FUNCTIONS, HOLDERS, Definition, FileInfo, LinkFacts, load_words
from codelens.linking.imports import find_import
from codelens.model.code import CHUNK_KINDS, TYPE_KINDS
from codelens.model.extraction import Import, Reference
from codelens.model.graph import EDGE_OF
from codelens.text.expressions import steps

LITERALS: dict[str, tuple[str, str]] = {
    "env": ("reads_env", "env"),
    "process": ("executes_process", "process"),
    "route": ("handles_route", "route"),
    "endpoint": ("consumes_endpoint", "route"),
    "flag": ("gated_by_flag", "flag"),
}  # Kind of a reference to something that a literal names → (kind of its edge, kind of the external at its end)
MOST_GUESSES = 4  # Definitions that one ambiguous name may lead to. A guess among more of them is worth nothing.
WRITTEN_OUT = ("extends", "implements", "throws", "decorates", "type_hint_of")
"""Kinds of edges whose targets outside of the repository are kept as externals: they have telling names, and two functions that
take the same type from outside belong together."""

_INTERFACES = ("interface", "trait")
_ACCESSES = ("field", "use")  # Kinds of references that may name a field


class EdgeEnd(NamedTuple):
    """The target of an edge: a definition, a document, or the name of an external."""

    definition: Definition | None = None
    document: int | None = None
    external: str = ""


class FoundEdge(NamedTuple):
    """One edge before its ends have numbers. `unit` is the position of the source in its document; None is the document."""

    unit: int | None
    kind: str
    target: EdgeEnd
    line: int
    tier: str


class Meaning(NamedTuple):
    """The definitions that a name means, by the index of a language server."""

    line: int
    definitions: list[Definition]


NOTHING_MEANT: Mapping[int, Meaning] = {}


class Resolver:
    """Finds the edges of documents of one repository."""

    def __init__(self, values: Evaluator) -> None:
        self.values = values
        self.catalog = values.catalog
        self.fields = FieldFinder(values)
        self.counts = Counter[str]()
        """Outcomes of the references since they were last forgotten, by the names in LINK_COUNTS."""
        self.unresolved: list[int] = []  # Positions of those that lead nowhere
        self._accessed: set[tuple[int | None, int, str]] = set()
        """(unit, type, field) of each access so far: only the first of a unit becomes an edge."""

    def forget_outcomes(self) -> None:
        """Begin with the next document."""
        self.counts.clear()
        self.unresolved.clear()
        self._accessed.clear()

    def edges(
        self, facts: LinkFacts, references: Sequence[Reference], meant: Mapping[int, Meaning] = NOTHING_MEANT
    ) -> Iterator[FoundEdge]:
        """The edges of one document. Names at the places in `meant` are known and not resolved."""
        for one in facts.imports:
            yield from self._import(facts, one)
        for position, reference in enumerate(references):
            if reference.kind in EDGE_OF and reference.start in meant:
                for definition in _fitting(reference.kind, meant[reference.start].definitions):
                    yield from self._edge(facts, reference, self._constructed(reference, definition), "precise")
            elif reference.kind in EDGE_OF:
                if reference.kind in ("extends", "implements"):
                    reference = self._of_its_type(facts, reference)
                before = self.counts["unresolved"]
                yield from self.reference(facts, reference)
                if self.counts["unresolved"] > before:
                    self.unresolved.append(position)
            elif reference.kind in LITERALS:
                kind, prefix = LITERALS[reference.kind]
                external = EdgeEnd(external=f"{prefix}:{reference.name}")
                yield FoundEdge(reference.unit, kind, external, reference.line, "literal")
            elif reference.kind == "mention":
                yield from self._mention(reference)
            elif reference.kind == "link":  # the file that prose names
                found = self.catalog.linked_file(facts.file.path, reference.name)
                if found and found[0].id != facts.file.id:
                    end = EdgeEnd(document=found[0].id)
                    yield FoundEdge(reference.unit, "documents", end, reference.line, found[1])
            elif reference.kind == "place":
                yield from self._place(facts, reference)
        yield from self._holders(facts)
        yield from self._declarations(facts)

    def _declarations(self, facts: LinkFacts) -> Iterator[FoundEdge]:
        """Dependencies that the document declares as a manifest, and its owners."""
        manifests, path = self.catalog.manifests, facts.file.path
        manifest = manifests.of(path)
        for one in manifest.dependencies if manifest else ():
            assert manifest is not None
            here = manifests.declaring(manifest.ecosystem, one.name)
            if here and here != path and here in self.catalog.by_path:
                target = EdgeEnd(document=self.catalog.by_path[here].id)
            else:
                target = EdgeEnd(external=f"package:{manifest.ecosystem}:{one.name}")
            yield FoundEdge(None, "depends_on", target, one.line, "literal")
        for owner in manifests.owners(path):
            yield FoundEdge(None, "owned_by", EdgeEnd(external=f"owner:{owner}"), 0, "literal")

    def _import(self, facts: LinkFacts, one: Import) -> Iterator[FoundEdge]:
        module = find_import(self.catalog, facts, one)
        if module is None:
            if one.module:
                yield FoundEdge(None, "imports", EdgeEnd(external=f"module:{one.module}"), one.line, "import")
            return
        for document in module.documents[:MOST_GUESSES]:
            if document != facts.file.id:
                yield FoundEdge(None, "imports", EdgeEnd(document=document), one.line, "import")
        if one.name and one.name != "*":
            value = self.values.from_module(module, one.name)
            if value and value.definition and value.definition.facts is not facts:
                yield FoundEdge(None, "imports", EdgeEnd(value.definition), one.line, "import")
            elif value and value.module:
                for document in value.module.documents[:MOST_GUESSES]:
                    yield FoundEdge(None, "imports", EdgeEnd(document=document), one.line, "import")

    def _holders(self, facts: LinkFacts) -> Iterator[FoundEdge]:
        """Members that stand outside of their type's definition."""
        for unit in facts.definitions:
            if unit.kind == "method" and unit.container and (unit.parent is None or unit.parent.kind not in TYPE_KINDS):
                owner = self.values.holder(facts, unit.place)
                if owner is not None and owner is not unit and owner.name == unit.container.rpartition(".")[2]:
                    yield FoundEdge(unit.place, "member_of", EdgeEnd(owner), 0, "scope")

    def _of_its_type(self, facts: LinkFacts, reference: Reference) -> Reference:
        """The reference to a base that stands outside of its type (a Rust impl, a Swift extension), moved into that type.

        The type must be in the same file, because a document's edges start in that document.
        """
        name = facts.adds_to.get(reference.start)
        value = self.values.type_named(name, facts, reference.unit) if name else None
        if value and value.definition and value.definition.facts is facts and value.definition.kind in TYPE_KINDS:
            return reference._replace(unit=value.definition.place)
        return reference

    def reference(self, facts: LinkFacts, reference: Reference) -> Iterator[FoundEdge]:
        """The edge of one use of a name; several if it is ambiguous, none if its meaning is unknown."""
        kind = EDGE_OF[reference.kind]
        self.values.cut = False
        value = self.value(facts, reference)
        starved = value is None and self.values.cut
        self.counts["out_of_fuel"] += starved
        if through := self.fields.through(facts, reference):
            name, type_ = through
            yield from self._access(facts, reference._replace(name=name), type_, "scope")
        if value is not None and value.how == "definition" and value.definition is not None:
            self.counts["resolved"] += 1
            yield from self._edge(facts, reference, value.definition, value.tier or "receiver")
        elif value is not None and value.how == "field" and value.definition is not None:
            self.counts["resolved"] += 1
            yield from self._access(facts, reference, value.definition, value.tier)
        elif value is not None:
            self.counts["external" if value.how == "external" else "local"] += 1
            if kind in WRITTEN_OUT:
                name = f"{reference.receiver}.{reference.name}" if reference.receiver else reference.name
                yield FoundEdge(reference.unit, kind, EdgeEnd(external=f"symbol:{name}"), reference.line, "import")
        else:
            guesses = list(self._guess(facts, reference, starved))
            self.counts["guessed" if guesses else "unresolved"] += 1
            yield from guesses

    def _access(self, facts: LinkFacts, reference: Reference, holder: Definition, tier: str) -> Iterator[FoundEdge]:
        """The edge to the type that declares a field, since fields are not units."""
        unit, access = reference.unit, (reference.unit, holder.id, reference.name)
        if access not in self._accessed and not (holder.facts is facts and holder.place == unit):
            self._accessed.add(access)
            yield FoundEdge(unit, "accesses_field", EdgeEnd(holder), reference.line, tier)

    def _edge(self, facts: LinkFacts, reference: Reference, definition: Definition, tier: str) -> Iterator[FoundEdge]:
        """The edge to a definition; none if a unit names itself."""
        kind, unit = EDGE_OF[reference.kind], reference.unit
        definition = self._called(definition) if kind == "calls" else definition
        source = facts.definitions[unit] if unit is not None else None
        if kind == "extends" and definition.kind in _INTERFACES and not (source and source.kind in _INTERFACES):
            kind = "implements"
        if kind == "accesses_field" and (definition.kind not in VALUES or not definition.container):
            kind = "references"
        if kind == "references" and facts.file.language.bare_calls and definition.kind in FUNCTIONS:
            kind = "calls"
        if definition.place != unit or definition.facts is not facts or kind == "calls":
            yield FoundEdge(unit, self._as_test(kind, facts, definition), EdgeEnd(definition), reference.line, tier)

    def _called(self, definition: Definition) -> Definition:
        """The function or type that a variable holds; any other definition unchanged."""
        if definition.kind not in ("variable", "constant"):
            return definition
        held = self.values.value_of(definition)
        named = held.definition if held and held.how == "definition" else None
        return named if named and named.kind in (*FUNCTIONS, *TYPE_KINDS) else definition

    @staticmethod
    def _constructed(reference: Reference, definition: Definition) -> Definition:
        """The type of a constructor where the text has the type's name, as resolution by syntax finds it."""
        holder, language = definition.parent, definition.facts.file.language
        own = {*language.constructors, *language.self_names, *language.super_names}
        is_constructor = holder and definition.name in (*language.constructors, holder.name)
        if holder and holder.kind in TYPE_KINDS and is_constructor and reference.name not in own:
            return holder
        return definition

    def _as_test(self, kind: str, facts: LinkFacts, target: Definition) -> str:
        """`tests` for a call from a test file into other code, else the kind."""
        is_test = kind == "calls" and "test" in facts.file.roles and "test" not in target.facts.file.roles
        return "tests" if is_test else kind

    def value(self, facts: LinkFacts, reference: Reference) -> Value | None:
        """Evaluate a reference; None if it is unknown."""
        inside = unit = reference.unit
        if reference.kind in ("extends", "implements", "decorate") and unit is not None:
            around = facts.definitions[unit]
            if (
                around.kind in TYPE_KINDS or reference.kind == "decorate"
            ):  # the head of a definition stands outside of its body
                inside = around.parent.place if around.parent else None
        if not reference.receiver:
            return self._bare(facts, reference, inside)
        owner = self.values.receiver(reference.receiver, facts, inside, reference.start)
        if owner is None:
            return self._static(facts, reference)
        of_self = reference.receiver in facts.file.language.self_names
        if reference.kind in _ACCESSES and (holder := self.fields.of_value(owner, reference.name)):
            return Value("field", holder, tier="scope" if of_self else "receiver")
        found = self.values.member(owner, reference.name)
        if found is None and owner.how == "module":
            return EXTERNAL
        if of_self and found and found.definition is not None and found.definition.facts is facts:
            return found._replace(tier="scope")
        return found

    def _bare(self, facts: LinkFacts, reference: Reference, unit: int | None) -> Value | None:
        value = self.values.name(reference.name, facts, unit, reference.start)
        if reference.kind in _ACCESSES and (field := self.fields.bare(facts, reference, value)):
            return field
        if value is None:
            return None
        if value.how == "object" and reference.kind in ("call", "construct"):
            if reference.name in facts.file.language.self_names:  # cls() makes an object of the class
                return Value("definition", value.definition, tier="scope")
            return HIDDEN
        if value.how == "object" and reference.kind == "use":
            return HIDDEN
        if value.how in ("module", "holding"):
            return HIDDEN
        return value

    def _static(self, facts: LinkFacts, reference: Reference) -> Value | None:
        """Resolve `Type.member` by the name of the type alone."""
        parts = steps(reference.receiver)
        if not parts or any(part.how not in ("name", "member") for part in parts):
            return None
        name = ".".join(part.text for part in parts)
        if not parts[-1].text[:1].isupper():
            return None
        found = self.values.named_type(name, facts)
        return self.values.member(Value("definition", found), reference.name) if found else None

    def _guess(self, facts: LinkFacts, reference: Reference, starved: bool) -> Iterator[FoundEdge]:
        """Guess by the name alone a member of an unknown receiver, or a name for which fuel ran out."""
        language, kind = facts.file.language, EDGE_OF[reference.kind]
        if not starved and not (kind == "calls" and reference.receiver):
            return
        kinds = FUNCTIONS if kind == "calls" else HOLDERS
        is_test = "test" in facts.file.roles
        named = self._named_like_its_type(facts, reference) if kind == "calls" and reference.receiver else None
        if named:
            found: Sequence[Definition] = [named]
        elif reference.name in language.constructors or len(reference.name) < 3:
            return
        elif (
            language.modules == "package" and reference.name[0].islower()
        ):  # Go: a name of this package, however common
            guesses = self.values.guesses(reference.name, language.kin, kinds, not reference.receiver, is_test) or ()
            found = [d for d in guesses if d.facts.place == facts.place]
        elif reference.name in load_words().common:
            return
        else:
            found = self.values.guesses(reference.name, language.kin, kinds, not reference.receiver, is_test) or ()
        if len(found) > MOST_GUESSES:
            return
        tier = "unique" if len(found) == 1 else "ambiguous"
        for definition in found:
            yield FoundEdge(
                reference.unit, self._as_test(kind, facts, definition), EdgeEnd(definition), reference.line, tier
            )

    def _named_like_its_type(self, facts: LinkFacts, reference: Reference) -> Definition | None:
        """The only method of that name in types that are named like the receiver: `request.close()` for Request.close."""
        parts = steps(reference.receiver)
        if not parts or parts[-1].how not in ("name", "member"):
            return None
        word = parts[-1].text.strip("_$@")
        pascal = "".join(part[:1].upper() + part[1:] for part in word.split("_"))
        apart = {"test", "example"} - facts.file.roles
        found = [
            d
            for holder in dict.fromkeys((word, pascal))
            for d in self.catalog.anywhere(reference.name, holder)
            if d.kind in FUNCTIONS
            and d.facts.file.language.kin == facts.file.language.kin
            and d.facts.file.roles.isdisjoint(apart)
        ]
        return found[-1] if len({(d.facts.file.path, d.container) for d in found}) == 1 else None

    def _place(self, facts: LinkFacts, reference: Reference) -> Iterator[FoundEdge]:
        """The target of a note's link: the symbol in its file, else the only symbol of that name, else the file."""
        path, symbol = reference.name, reference.receiver
        self.catalog.record("p", path.rpartition("/")[2].partition(".")[0])
        file = self.catalog.by_path.get(path)
        if symbol and (definition := self._placed(file, path, symbol)):
            yield FoundEdge(reference.unit, "documents", EdgeEnd(definition), reference.line, "literal")
            return
        if file and file.id != facts.file.id:
            yield FoundEdge(reference.unit, "documents", EdgeEnd(document=file.id), reference.line, "literal")

    def _placed(self, file: FileInfo | None, path: str, symbol: str) -> Definition | None:
        self.catalog.record("u", path, symbol)
        here = self.catalog.facts(file.id).definitions if file else ()
        if found := [d for d in here if d.qualified == symbol and d.kind not in CHUNK_KINDS]:
            return found[0]
        holder, _, name = symbol.rpartition(".")
        others = self.catalog.anywhere(name, holder)
        return others[0] if len(others) == 1 else None

    def _mention(self, reference: Reference) -> Iterator[FoundEdge]:
        """The definition that a name in prose means, if the repository, or the type or module in the text, has only one."""
        holder = reference.receiver.rpartition(".")[2]
        found = _choose_only(
            [d for d in self.catalog.anywhere(reference.name, holder) if "test" not in d.facts.file.roles]
        )
        if found is None and holder:  # a member that the only type of that name inherits
            types = [d for d in self.catalog.anywhere(holder) if d.kind in TYPE_KINDS and _is_of_code(d)]
            member = self.values.member(Value("definition", types[0]), reference.name) if len(types) == 1 else None
            found = member.definition if member else None
        if (
            found is None and holder
        ):  # the only definition outside of types in a file or folder of that name: `flask.url_for`
            free = [d for d in self.catalog.anywhere(reference.name) if d.parent is None and _is_of_code(d)]
            found = _choose_only([d for d in free if holder in d.facts.file.path.rpartition(".")[0].split("/")])
        if found is not None:
            yield FoundEdge(reference.unit, "documents", EdgeEnd(found), reference.line, "unique")


def _is_of_code(definition: Definition) -> bool:
    """True for a definition outside of tests and examples."""
    return definition.facts.file.roles.isdisjoint(("test", "example"))


def _choose_only(found: Sequence[Definition]) -> Definition | None:
    """The only definition; of several, the only type or module, else the only one outside of types, tests and examples."""
    for kept in (
        found,
        [d for d in found if d.kind in HOLDERS],
        [d for d in found if d.parent is None and _is_of_code(d)],
    ):
        if len(kept) == 1:
            return kept[0]
    return None


def _fitting(kind: str, definitions: Sequence[Definition]) -> Sequence[Definition]:
    """The definitions that a reference of this kind can mean: TypeScript merges a type and a value of one name."""
    if kind in ("call", "construct"):
        kept = [d for d in definitions if d.kind not in ("interface", "trait", "type")]
    else:
        kept = [d for d in definitions if d.kind in TYPE_KINDS] if kind in ("type", "extends", "implements") else []
    return kept or definitions


class FieldFinder:
    """Finds the types whose fields a document uses: fields are not units, so an edge leads to the type that declares one."""

    def __init__(self, values: Evaluator) -> None:
        self._values = values

    def of_value(self, value: Value, name: str) -> Definition | None:
        """The type of a value, or a base of it, that has a field of that name."""
        definition = value.definition
        if value.how == "definition" and definition and definition.kind not in HOLDERS:
            held = self._values.value_of(definition) if definition.kind in VALUES else None
            definition = held.definition if held and held.how == "object" else None
        elif value.how not in ("object", "definition"):
            return None
        return self._values.declaring(definition, name) if definition and definition.kind in HOLDERS else None

    def bare(self, facts: LinkFacts, reference: Reference, named: Value | None) -> Value | None:
        """The field that a name alone means, where `named` is its value otherwise; None if it means no field."""
        marked = reference.kind == "field"  # by a sigil: Ruby's @name never means a method
        definition = named.definition if named and named.how == "definition" else None
        if definition and not (marked and definition.kind in FUNCTIONS and definition.kind != "property"):
            return None
        if holder := self._around(reference.name, facts, reference, marked):
            return Value("field", holder, tier="scope")
        return HIDDEN if definition else None

    def through(self, facts: LinkFacts, reference: Reference) -> tuple[str, Definition] | None:
        """The field that a receiver begins with, and its type: `names` of `names.add(one)`, in languages with an implicit self."""
        if not reference.receiver or not facts.file.language.implicit_self or not (parts := steps(reference.receiver)):
            return None
        name = parts[0].text
        holder = self._around(name, facts, reference) if parts[0].how == "name" else None
        return (name, holder) if holder else None

    def _around(self, name: str, facts: LinkFacts, reference: Reference, marked: bool = False) -> Definition | None:
        """The type around a reference that has the field which a bare name means there."""
        if reference.unit is None or not (marked or facts.file.language.implicit_self):
            return None
        around: Definition | None = facts.definitions[reference.unit]
        while around is not None:
            if not marked and around.kind not in HOLDERS and facts.bound(around.place, name, reference.start):
                return None
            owner = around if around.kind in TYPE_KINDS else None
            if owner is None and around.parent is None and around.container:
                owner = self._values.holder(facts, around.place)
            if owner is not None and (found := self._values.declaring(owner, name, marked)):
                return found
            around = around.parent
        return None
