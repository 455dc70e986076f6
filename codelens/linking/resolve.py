"""One document's references and imports → its edges, each with the line it stems from and how its target was found."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from codelens.derived import Import, Reference
from codelens.linking.evaluate import EXTERNAL, HIDDEN, Evaluator, Value
from codelens.linking.facts import FUNCTIONS, HOLDERS, Definition, DocumentFacts, FileInfo
from codelens.linking.modules import find_import
from codelens.linking.words import words
from codelens.model import CHUNK_KINDS, TYPE_KINDS
from codelens.text.expressions import steps

EDGE_OF: dict[str, str] = {
    "call": "calls",
    "construct": "calls",
    "type": "type_hint_of",
    "extends": "extends",
    "implements": "implements",
    "decorate": "decorates",
    "throw": "throws",
    "field": "accesses_field",
    "use": "references",
}
"""Kind of a reference → kind of its edge."""
LITERALS: dict[str, tuple[str, str]] = {
    "env": ("reads_env", "env"),
    "process": ("executes_process", "process"),
    "route": ("handles_route", "route"),
    "endpoint": ("consumes_endpoint", "route"),
    "flag": ("gated_by_flag", "flag"),
}
"""Kind of a reference to something that a literal names → kind of its edge, and of the external at its end."""
MOST_GUESSES = 4
"""Definitions that one ambiguous name may lead to. Chosen: with more of them a guess says nothing."""
WRITTEN_OUT = ("extends", "implements", "throws", "decorates")
"""Kinds whose targets outside of the repository are kept as externals: there are few, and their names say much."""


class Target(NamedTuple):
    """Where an edge ends: a definition, a document, or the name of an external."""

    definition: Definition | None = None
    document: int | None = None
    external: str = ""


class Found(NamedTuple):
    """One edge before its ends have numbers. `unit` is the place of the source in its document, None for the document."""

    unit: int | None
    kind: str
    target: Target
    line: int
    tier: str


class Meaning(NamedTuple):
    """What a name means by an index of a language server."""

    line: int
    definitions: list[Definition]


NOTHING_MEANT: Mapping[int, Meaning] = {}


class Resolver:
    """Finds the edges of documents of one repository."""

    def __init__(self, values: Evaluator) -> None:
        self.values = values
        self.catalog = values.catalog
        self.counts = Counter[str]()
        """What became of the references since this was last cleared: the names are the fields of `LinkCounts`."""

    def document(
        self, facts: DocumentFacts, references: Sequence[Reference], meant: Mapping[int, Meaning] = NOTHING_MEANT
    ) -> Iterator[Found]:
        """The edges that stem from one document's text. `meant` are places whose names need not be resolved."""
        for one in facts.imports:
            yield from self._import(facts, one)
        for reference in references:
            if reference.kind in EDGE_OF and reference.start in meant:
                for definition in _fitting(reference.kind, meant[reference.start].definitions):
                    yield from self._edge(facts, reference, self._made(reference, definition), "precise")
            elif reference.kind in EDGE_OF:
                yield from self.reference(facts, reference)
            elif reference.kind in LITERALS:
                kind, prefix = LITERALS[reference.kind]
                external = Target(external=f"{prefix}:{reference.name}")
                yield Found(reference.unit, kind, external, reference.line, "literal")
            elif reference.kind == "mention":
                yield from self._mention(reference)
            elif reference.kind == "link":
                yield from self._link(facts, reference)
            elif reference.kind == "place":
                yield from self._place(facts, reference)
        yield from self._holders(facts)
        yield from self._declared(facts)

    def _declared(self, facts: DocumentFacts) -> Iterator[Found]:
        """What manifests say of a document: what it depends on, and who owns it."""
        manifests, path = self.catalog.manifests, facts.file.path
        manifest = manifests.of(path)
        for one in manifest.dependencies if manifest else ():
            assert manifest is not None
            here = manifests.declaring(manifest.ecosystem, one.name, self.catalog.ask)
            if here and here != path and here in self.catalog.by_path:
                target = Target(document=self.catalog.by_path[here].id)
            else:
                target = Target(external=f"package:{manifest.ecosystem}:{one.name}")
            yield Found(None, "depends_on", target, one.line, "literal")
        for owner in manifests.owners(path, self.catalog.ask):
            yield Found(None, "owned_by", Target(external=f"owner:{owner}"), 0, "literal")

    def _import(self, facts: DocumentFacts, one: Import) -> Iterator[Found]:
        module = find_import(self.catalog, facts, one)
        if module is None:
            if one.module:
                yield Found(None, "imports", Target(external=f"module:{one.module}"), one.line, "import")
            return
        for document in module.documents[:MOST_GUESSES]:
            if document != facts.file.id:
                yield Found(None, "imports", Target(document=document), one.line, "import")
        if one.name and one.name != "*":
            value = self.values.from_module(module, one.name)
            if value and value.definition and value.definition.facts is not facts:
                yield Found(None, "imports", Target(value.definition), one.line, "import")
            elif value and value.module:
                for document in value.module.documents[:MOST_GUESSES]:
                    yield Found(None, "imports", Target(document=document), one.line, "import")

    def _holders(self, facts: DocumentFacts) -> Iterator[Found]:
        """Members that stand outside of the type that they belong to."""
        for unit in facts.definitions:
            if unit.kind == "method" and unit.container and (unit.parent is None or unit.parent.kind not in TYPE_KINDS):
                owner = self.values.holder(facts, unit.place)
                if owner is not None and owner is not unit and owner.name == unit.container.rpartition(".")[2]:
                    yield Found(unit.place, "member_of", Target(owner), 0, "scope")

    def reference(self, facts: DocumentFacts, reference: Reference) -> Iterator[Found]:
        """The edge of one use of a name; several where it is ambiguous, none where it names nothing known."""
        kind = EDGE_OF[reference.kind]
        self.values.cut = False
        value = self._value(facts, reference, reference.unit)
        starved = value is None and self.values.cut
        self.counts["out_of_fuel"] += starved
        if value is not None and value.how == "definition" and value.definition is not None:
            self.counts["resolved"] += 1
            yield from self._edge(facts, reference, value.definition, value.tier or "receiver")
        elif value is not None:
            self.counts["external" if value.how == "external" else "local"] += 1
            if kind in WRITTEN_OUT:
                name = f"{reference.receiver}.{reference.name}" if reference.receiver else reference.name
                yield Found(reference.unit, kind, Target(external=f"symbol:{name}"), reference.line, "import")
        else:
            guesses = list(self._guess(facts, reference, starved))
            self.counts["guessed" if guesses else "unresolved"] += 1
            yield from guesses

    def _edge(self, facts: DocumentFacts, reference: Reference, definition: Definition, tier: str) -> Iterator[Found]:
        """The edge to a definition; none where a unit names itself."""
        kind, unit = EDGE_OF[reference.kind], reference.unit
        definition = self._called(definition) if kind == "calls" else definition
        if kind == "extends" and definition.kind in ("interface", "trait") and not self._is_interface(facts, unit):
            kind = "implements"
        if kind == "references" and facts.file.language.bare_calls and definition.kind in FUNCTIONS:
            kind = "calls"
        if definition.place != unit or definition.facts is not facts or kind == "calls":
            yield Found(unit, self._as_test(kind, facts, definition), Target(definition), reference.line, tier)

    def _called(self, definition: Definition) -> Definition:
        """A variable that holds a function or type → that."""
        if definition.kind not in ("variable", "constant"):
            return definition
        held = self.values.value_of(definition)
        named = held.definition if held and held.how == "definition" else None
        return named if named and named.kind in (*FUNCTIONS, *TYPE_KINDS) else definition

    @staticmethod
    def _made(reference: Reference, definition: Definition) -> Definition:
        """A constructor → the type that it makes, where the type's name stands: syntax leads there too."""
        holder, language = definition.parent, definition.facts.file.language
        own = {*language.constructors, *language.self_names, *language.super_names}
        is_constructor = holder and definition.name in (*language.constructors, holder.name)
        if holder and holder.kind in TYPE_KINDS and is_constructor and reference.name not in own:
            return holder
        return definition

    def _is_interface(self, facts: DocumentFacts, unit: int | None) -> bool:
        return unit is not None and facts.definitions[unit].kind in ("interface", "trait")

    def _as_test(self, kind: str, facts: DocumentFacts, target: Definition) -> str:
        """A call from a test to what is no test is a test of it."""
        is_test = kind == "calls" and "test" in facts.file.roles and "test" not in target.facts.file.roles
        return "tests" if is_test else kind

    def _value(self, facts: DocumentFacts, reference: Reference, unit: int | None) -> Value | None:
        """What a reference names, where that can be said."""
        inside = unit
        if reference.kind in ("extends", "implements", "decorate") and unit is not None:
            around = facts.definitions[unit]
            if around.kind in TYPE_KINDS or reference.kind == "decorate":  # a head stands outside of what it opens
                inside = around.parent.place if around.parent else None
        if not reference.receiver:
            return self._bare(facts, reference, inside)
        owner = self.values.receiver(reference.receiver, facts, inside, reference.start)
        if owner is None:
            return self._static(facts, reference)
        found = self.values.member(owner, reference.name)
        if found is None and owner.how == "module":
            return EXTERNAL
        if found and self._is_own(facts, reference, found):
            return found._replace(tier="scope")
        return found

    def _is_own(self, facts: DocumentFacts, reference: Reference, found: Value) -> bool:
        """Whether a member was asked of the object itself and its own type has it."""
        return (
            reference.receiver in facts.file.language.self_names
            and found.definition is not None
            and found.definition.facts is facts
        )

    def _bare(self, facts: DocumentFacts, reference: Reference, unit: int | None) -> Value | None:
        value = self.values.name(reference.name, facts, unit, reference.start)
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

    def _static(self, facts: DocumentFacts, reference: Reference) -> Value | None:
        """`Type.member` where the type is known by its name alone."""
        parts = steps(reference.receiver)
        if not parts or any(part.how not in ("name", "member") for part in parts):
            return None
        name = ".".join(part.text for part in parts)
        if not parts[-1].text[:1].isupper():
            return None
        found = self.values.named_type(name, facts)
        return self.values.member(Value("definition", found), reference.name) if found else None

    def _guess(self, facts: DocumentFacts, reference: Reference, starved: bool) -> Iterator[Found]:
        """By its name alone: what a member of something unknown, or a name that fuel ran out for, may be."""
        language, kind = facts.file.language, EDGE_OF[reference.kind]
        if not starved and not (kind == "calls" and reference.receiver):
            return
        if reference.name in words().common or reference.name in language.constructors or len(reference.name) < 3:
            return
        kinds = FUNCTIONS if kind == "calls" else HOLDERS
        is_test = "test" in facts.file.roles
        found = self.values.guesses(reference.name, language.kin, kinds, not reference.receiver, is_test)
        if len(found) > MOST_GUESSES:
            return
        tier = "unique" if len(found) == 1 else "ambiguous"
        for definition in found:
            yield Found(
                reference.unit, self._as_test(kind, facts, definition), Target(definition), reference.line, tier
            )

    def _link(self, facts: DocumentFacts, reference: Reference) -> Iterator[Found]:
        """A file that prose names: relative to the document or a folder above it, else the only one whose path ends so."""
        found = self.catalog.linked_file(facts.file.path, reference.name)
        if found and found[0].id != facts.file.id:
            yield Found(reference.unit, "documents", Target(document=found[0].id), reference.line, found[1])

    def _place(self, facts: DocumentFacts, reference: Reference) -> Iterator[Found]:
        """Where a note is linked to: the symbol in its file; elsewhere, if only one other has the name; else the file."""
        path, symbol = reference.name, reference.receiver
        self.catalog.ask("p", path.rpartition("/")[2].partition(".")[0])
        file = self.catalog.by_path.get(path)
        if symbol and (definition := self._placed(file, path, symbol)):
            yield Found(reference.unit, "documents", Target(definition), reference.line, "literal")
            return
        if file and file.id != facts.file.id:
            yield Found(reference.unit, "documents", Target(document=file.id), reference.line, "literal")

    def _placed(self, file: FileInfo | None, path: str, symbol: str) -> Definition | None:
        self.catalog.ask("u", path, symbol)
        here = self.catalog.facts(file.id).definitions if file else ()
        if found := [d for d in here if d.qualified == symbol and d.kind not in CHUNK_KINDS]:
            return found[0]
        holder, _, name = symbol.rpartition(".")
        others = self.catalog.anywhere(name, holder)
        return others[0] if len(others) == 1 else None

    def _mention(self, reference: Reference) -> Iterator[Found]:
        """A name in prose that only one definition of the repository has, or one of that type or module."""
        holder = reference.receiver.rpartition(".")[2]
        found = _alone([d for d in self.catalog.anywhere(reference.name, holder) if "test" not in d.facts.file.roles])
        if found is None and holder:
            found = self._inherited(holder, reference.name) or self._in_module(holder, reference.name)
        if found is not None:
            yield Found(reference.unit, "documents", Target(found), reference.line, "unique")

    def _inherited(self, holder: str, name: str) -> Definition | None:
        """A member that the only type of that name has from what it is built on."""
        types = [d for d in self.catalog.anywhere(holder) if d.kind in TYPE_KINDS and _is_own(d)]
        found = self.values.member(Value("definition", types[0]), name) if len(types) == 1 else None
        return found.definition if found else None

    def _in_module(self, holder: str, name: str) -> Definition | None:
        """The only definition outside of types that lies in a file or folder of that name: `flask.url_for`."""
        return _alone(
            [
                d
                for d in self.catalog.anywhere(name)
                if d.parent is None and _is_own(d) and holder in d.facts.file.path.rpartition(".")[0].split("/")
            ]
        )


def _is_own(definition: Definition) -> bool:
    """Neither a test's nor an example's."""
    return definition.facts.file.roles.isdisjoint(("test", "example"))


def _alone(found: Sequence[Definition]) -> Definition | None:
    """The only one; of several the only type or module, else the only one that is no member and no example's."""
    for kept in (found, [d for d in found if d.kind in HOLDERS], [d for d in found if d.parent is None and _is_own(d)]):
        if len(kept) == 1:
            return kept[0]
    return None


def _fitting(kind: str, definitions: Sequence[Definition]) -> Sequence[Definition]:
    """Of several definitions of one symbol those that can be used so: TypeScript merges a type and a value of one name."""
    if kind in ("call", "construct"):
        kept = [d for d in definitions if d.kind not in ("interface", "trait", "type")]
    else:
        kept = [d for d in definitions if d.kind in TYPE_KINDS] if kind in ("type", "extends", "implements") else []
    return kept or definitions
