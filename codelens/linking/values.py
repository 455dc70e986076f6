"""The values that expressions have, as far as the linker knows them."""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

from codelens.linking.facts import Definition, LinkFacts
from codelens.linking.imports import Module

VALUES = ("variable", "constant", "property")  # Kinds of definitions that hold a value, like a field


class Value(NamedTuple):
    """The value of an expression, as far as it is known without running the code."""

    how: str
    """The kind of value: definition; object or field (of the type `definition`); module; holding (a container, with the type of its
    elements in `text`); external (outside of the repository); hidden (a name bound to something unknown); receiver (the object that
    a method is called on)."""
    definition: Definition | None = None
    module: Module | None = None
    text: str = ""
    facts: LinkFacts | None = None
    unit: int | None = None
    tier: str = ""

    def replace_tier(self, tier: str) -> Value:
        """Copy the value with another tier, which tells how it was found."""
        return self if self.tier == tier else Value(*self[:6], tier)

    @property
    def as_definition(self) -> Definition | None:
        """The definition that the value itself is; None if it is an object or a field of one, or something else."""
        return self.definition if self.how == "definition" else None

    @property
    def as_type(self) -> Definition | None:
        """The type of an object; None for other values."""
        return self.definition if self.how == "object" else None

    def is_definition(self, kinds: Collection[str]) -> bool:
        """True if the value is a definition of one of these kinds."""
        return (definition := self.as_definition) is not None and definition.kind in kinds


EXTERNAL = Value("external")
HIDDEN = Value("hidden")
RECEIVER = Value("receiver")
