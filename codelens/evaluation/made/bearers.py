"""The definitions of a tree by name → those that a mention of a name means, and whether a question says a name.

A name that more definitions bear than MOST_BEARERS tells none of them, unless what stands before it, or where it is said,
tells them apart: a name alone is that of a member of the class that says it, else of what stands in no class.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from codelens.derived import Unit
from codelens.evaluation.judging import parts
from codelens.evaluation.made.trees import TreeText
from codelens.model import SYMBOL_KINDS
from codelens.nouns import dataclass
from codelens.text.identifiers import split_identifier
from codelens.worktree.roles import path_roles

MOST_BEARERS = 2
SHORTEST = 3
"""Characters of a name. Chosen, as for the names that are looked up."""
FEWEST_ANSWERS, MOST_ANSWERS = 2, 8
"""Of one question: fewer is what documentation asks, more is a list of all that there is. Chosen."""
LEFT_OUT = frozenset({"test", "docs", "example", "vendored", "generated"})
"""Roles of paths whose definitions prose does not mean."""
_ITSELF = frozenset({"self", "this", "cls", "Self"})
_TESTS = frozenset({"test", "tests"})
"""Modules inside a file that hold its tests."""
_TOKEN = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class Bearer:
    """A definition and where it stands."""

    path: str
    unit: Unit

    @property
    def place(self) -> tuple[str, str]:
        """(path, qualified name)"""
        return self.path, self.unit.qualified_name


class Bearers:
    """The definitions of a tree that prose may mean, by name."""

    def __init__(self, texts: Sequence[TreeText]) -> None:
        self._borne: dict[str, dict[tuple[str, str], Bearer]] = {}
        for text in texts:
            if LEFT_OUT & path_roles(text.path):
                continue
            for unit in text.answers:
                if len(unit.name) >= SHORTEST and is_meant(unit):
                    found = Bearer(text.path, unit)
                    self._borne.setdefault(unit.name, {}).setdefault(found.place, found)

    def meant(self, name: str, receiver: str = "", around: Bearer | None = None) -> tuple[Bearer, ...]:
        """Those that a name means; `receiver` is what stands before its last dot, `around` the definition that mentions it."""
        borne = tuple(self._borne.get(name, {}).values())
        before = parts(receiver)[-1:]
        if before and before[0] not in _ITSELF:
            folded = before[0].casefold()
            found = tuple(one for one in borne if _container(one) == folded)
            found = found or tuple(one for one in borne if folded in _modules(one.path))
        else:
            near = tuple(one for one in borne if around and _are_near(one, around))
            found = near or tuple(one for one in borne if not one.unit.container) or borne
        return found if len(found) <= MOST_BEARERS else ()


def is_meant(unit: Unit) -> bool:
    """Whether prose may mean a definition: a constructor is spoken of by its type's name, and a test by nobody."""
    around = parts(unit.container)
    return unit.kind in SYMBOL_KINDS and around[-1:] != (unit.name,) and _TESTS.isdisjoint(around)


def _container(one: Bearer) -> str:
    return "".join(parts(one.unit.container)[-1:]).casefold()


def _modules(path: str) -> set[str]:
    """The folders and the file that a definition may be said to be in."""
    return {part.partition(".")[0].casefold() for part in path.split("/")}


def _are_near(one: Bearer, other: Bearer) -> bool:
    """Whether one is a member of the other, or both are of the same type."""
    return one.path == other.path and one.unit.container in {other.unit.container, other.unit.qualified_name} - {""}


def entries(found: Iterable[Bearer]) -> list[dict[str, object]]:
    """The truth of a row: a name that is there twice, declared and defined, is one entry with two files."""
    files: dict[str, list[str]] = {}
    for one in found:
        files.setdefault(one.unit.qualified_name, []).append(one.path)
    return [{"symbol": symbol, "files": sorted(set(paths))} for symbol, paths in files.items()]


def says(query: str, found: Iterable[Bearer]) -> bool:
    """Whether a query says the name of one of them, in one word or in several: `json parsers` says JsonParser."""
    said = f" {_spoken(query)} "
    names = {" ".join(split_identifier(one.unit.name)) for one in found}
    return any(f" {name} " in said or f" {name}s " in said for name in names)


def _spoken(text: str) -> str:
    return " ".join(word for token in _TOKEN.findall(text) for word in split_identifier(token))
