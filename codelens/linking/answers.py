"""The nouns of evaluation, and what its parts share: remembered answers, and guards against circles.

Names, modules, types and members ask each other; each is a class of its own file, and `Values` is all of them. What one part
asks of another is declared here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, TypeVar

from codelens.derived import Binding
from codelens.linking.catalog import Catalog
from codelens.linking.facts import FUNCTIONS, HOLDERS, Definition, DocumentFacts
from codelens.linking.modules import Module
from codelens.model import TYPE_KINDS

DEEPEST = 24
"""Steps of one question into the next. Chosen: chains of calls and aliases that people write are shorter."""
T = TypeVar("T")


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


class Answers:
    """What a question is answered from, and which questions are open."""

    def __init__(self, catalog: Catalog) -> None:
        self.catalog = catalog
        self._depth = 0
        self._busy: set[tuple[object, ...]] = set()

    def guarded(self, key: tuple[object, ...], answer: Callable[[], T | None]) -> T | None:
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

    def name(self, name: str, facts: DocumentFacts, unit: int | None, before: int = 1 << 62) -> Value | None:
        """What a bare name is at a place: in the functions and types around, the file, its imports, its package."""
        raise NotImplementedError

    def bound_value(self, bound: Sequence[Binding], facts: DocumentFacts, before: int) -> Value | None:
        """The value of a name by what is bound to it: a declared type first, else the last value before the place."""
        raise NotImplementedError

    def holder(self, facts: DocumentFacts, unit: int | None) -> Definition | None:
        """The type that a unit belongs to: around it, or the one that its container names."""
        raise NotImplementedError

    def named_type(self, qualified: str, facts: DocumentFacts) -> Definition | None:
        """The type of that qualified name that a file sees."""
        raise NotImplementedError

    def super_object(self, facts: DocumentFacts, unit: int | None) -> Value | None:
        """The object as its first base."""
        raise NotImplementedError

    def from_module(self, module: Module | None, name: str, facts: DocumentFacts) -> Value | None:
        """What a name of a module is."""
        raise NotImplementedError

    def exported(self, module: Module, name: str) -> Value | None:
        """What a module knows by a name: defined there, imported there, or a module inside it."""
        raise NotImplementedError

    def expression(self, text: str, facts: DocumentFacts, unit: int | None, before: int = 1 << 62) -> Value | None:
        """What an expression is where it stands; None where that cannot be said."""
        raise NotImplementedError

    def of_type(self, text: str, facts: DocumentFacts, unit: int | None) -> Value | None:
        """An object of a declared type; external where the repository does not define it."""
        raise NotImplementedError

    def type_named(self, head: str, facts: DocumentFacts, unit: int | None) -> Value | None:
        """What the dotted name of a type is."""
        raise NotImplementedError

    def result_of(self, function: Definition, of: Value, hows: Sequence[str] = ("return", "result")) -> Value | None:
        """What calling a function gives."""
        raise NotImplementedError

    def held_by(self, value: Value) -> Value | None:
        """An element of something."""
        raise NotImplementedError

    def member(self, value: Value, name: str, bare: bool = False) -> Value | None:
        """A member by name; external where the owner, or a base of it, lies outside of the repository."""
        raise NotImplementedError

    def field(self, owner: Definition, name: str) -> Value | None:
        """A field by what its type declares of it, or what a member sets it to."""
        raise NotImplementedError

    def value_of(self, definition: Definition) -> Value | None:
        """What a variable, constant or property holds."""
        raise NotImplementedError

    def bases(self, owner: Definition) -> Iterator[Value]:
        """The bases and interfaces that a type names, in order; one that is not known has no definition."""
        raise NotImplementedError


def is_function(value: Value) -> bool:
    return value.how == "definition" and value.definition is not None and value.definition.kind in FUNCTIONS


def is_type(value: Value) -> bool:
    return value.how == "definition" and value.definition is not None and value.definition.kind in HOLDERS


def twin_type(definition: Definition) -> Definition | None:
    """The type that bears the name of a value in the same file (TypeScript's `interface X` beside `const X`)."""
    if definition.kind in HOLDERS:
        return None
    return next((d for d in definition.facts.top.get(definition.name, ()) if d.kind in TYPE_KINDS), None)


def twin_value(definition: Definition) -> Definition | None:
    """The value that bears the name of an interface or type in the same file."""
    if definition.kind not in ("interface", "type"):
        return None
    return next((d for d in definition.facts.top.get(definition.name, ()) if d.kind in ("variable", "constant")), None)
