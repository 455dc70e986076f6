"""What a text must contain, before anyone reads it: a condition → a plan of substrings for the trigram index.

A plan may let through too much and never too little. The index folds case (SQLite's trigram tokenizer, simple folding),
so a literal keeps only characters for which every case variant that an engine may accept folds to the same one.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from unicodedata import category

from codelens.errors import QueryError
from codelens.nouns import dataclass
from codelens.search.syntax import items_of, parse_tree, repeat_of

SHORTEST = 3
"""Characters of a trigram."""
MOST_ALTERNATIVES = 64
"""An alternation of more literals than this is no filter, it is work."""


@dataclass(frozen=True, slots=True)
class Anything:
    """Nothing can be required."""


@dataclass(frozen=True, slots=True)
class Substring:
    """A folded text of at least SHORTEST characters."""

    text: str


@dataclass(frozen=True, slots=True)
class AllOf:
    """Every part must hold; made by `all_of`, which keeps it flat."""

    parts: tuple[Plan, ...]


@dataclass(frozen=True, slots=True)
class AnyOf:
    """One part must hold; made by `any_of`, which keeps it flat."""

    parts: tuple[Plan, ...]


Plan = Anything | Substring | AllOf | AnyOf
ANY = Anything()


class _Folding(dict[int, str]):
    """Simple case folding, one character for one, filled as characters are seen."""

    def __missing__(self, code: int) -> str:
        character = chr(code)
        forms = (character.casefold(), character.lower(), character)
        self[code] = next(form for form in forms if len(form) == 1)
        return self[code]


_FOLDING = _Folding()


def fold(text: str) -> str:
    """The text without case, as long as it was, so that offsets stay: ſ is s, the Kelvin sign k; İ and ı are no i."""
    return text.lower() if text.isascii() else text.translate(_FOLDING)


def admits(plan: Plan, text: str) -> bool:
    """Whether a text, already folded, satisfies a plan: what the index answers, decided on the text itself."""
    match plan:
        case Substring(literal):
            return literal in text
        case AllOf(parts):
            return all(admits(part, text) for part in parts)
        case AnyOf(parts):
            return any(admits(part, text) for part in parts)
    return True


def all_of(plans: Iterable[Plan]) -> Plan:
    """Everything at once."""
    parts: dict[Plan, None] = {}
    for plan in plans:
        for part in plan.parts if isinstance(plan, AllOf) else (plan,):
            parts.setdefault(part)
    parts.pop(ANY, None)
    if len(parts) < 2:
        return next(iter(parts), ANY)
    return AllOf(tuple(parts))


def any_of(plans: Iterable[Plan]) -> Plan:
    """One of these; ANY as soon as one of them demands nothing."""
    parts: dict[Plan, None] = {}
    for plan in plans:
        for part in plan.parts if isinstance(plan, AnyOf) else (plan,):
            parts.setdefault(part)
    if ANY in parts or len(parts) > MOST_ALTERNATIVES:
        return ANY
    return AnyOf(tuple(parts)) if len(parts) > 1 else next(iter(parts), ANY)


def required_text(text: str) -> Plan:
    """The plan of a text that must occur as it stands, in whatever case."""
    run = _Run()
    for character in text:
        run.add(character)
    return run.plan()


def required_literals(source: str) -> Plan:
    """The plan of a regular expression; ANY for one that does not parse, or says something unknown."""
    try:
        tree = parse_tree(source)
    except QueryError:
        return ANY
    if not tree.exact:
        return ANY
    run = _Run()
    try:
        run.walk(tree.items)
    except _UnknownOperatorError:
        return ANY
    return run.plan() if tree.dotted else _without_i(run.plan())


def _without_i(plan: Plan) -> Plan:
    """The plan cut at every i, for a pattern whose i may match İ and ı when case is ignored, which no index folds."""
    match plan:
        case Substring(text):
            return all_of(Substring(part) for part in text.split("i") if len(part) >= SHORTEST)
        case AllOf(parts):
            return all_of(map(_without_i, parts))
        case AnyOf(parts):
            return any_of(map(_without_i, parts))
    return ANY


def is_safe(character: str) -> bool:
    """Whether all that matches it when case is ignored folds to one and the same: ASCII, or what has no case."""
    if character.isascii():
        return character != "\0"
    alone = character == character.lower() == character.upper() == character.casefold()
    return alone and category(character) not in _CASED


_CASED = frozenset(("Lu", "Ll", "Lt", "Cn", "Cs"))
"""Letters with case, those that may get a partner in the engine's Unicode, newer than Python's, and surrogates."""


class _UnknownOperatorError(Exception):
    """A newer `re` has something that this module has never seen."""


class _Run:
    """Collects neighbouring literals of a sequence; whatever may put something between them ends a run."""

    __slots__ = ("characters", "found")

    def __init__(self) -> None:
        self.characters: list[str] = []
        self.found: list[Plan] = []

    def add(self, character: str) -> None:
        if is_safe(character):
            self.characters.append(fold(character))
        else:
            self.end()

    def end(self) -> None:
        if len(self.characters) >= SHORTEST:
            self.found.append(Substring("".join(self.characters)))
        self.characters = []

    def plan(self) -> Plan:
        self.end()
        return all_of(self.found)

    def walk(self, items: tuple[tuple[str, Any], ...]) -> None:
        for operator, argument in items:
            self._take(operator, argument)

    def _take(self, operator: str, argument: Any) -> None:
        if operator == "LITERAL":
            self.add(chr(argument))
        elif operator == "IN" and (one := _one_letter(argument)):
            self.add(one)
        elif operator == "SUBPATTERN":
            self.walk(items_of(argument[-1]))
        elif operator == "ATOMIC_GROUP":
            self.walk(items_of(argument))
        elif operator == "AT":
            pass  # no width: what stands before and after it are neighbours
        else:
            self.end()
            self.found.append(_apart(operator, argument))


def _apart(operator: str, argument: Any) -> Plan:
    """The plan of an item that ends the run of literals."""
    if operator == "BRANCH":
        return any_of(_sequence(items_of(branch)) for branch in argument[1])
    if repeat := repeat_of(operator, argument):
        return _sequence(repeat[2]) if repeat[0] > 0 else ANY
    if operator in _OPAQUE:
        return ANY
    raise _UnknownOperatorError(operator)


_OPAQUE = frozenset(("IN", "NOT_LITERAL", "ANY", "ASSERT", "ASSERT_NOT", "GROUPREF", "GROUPREF_EXISTS", "FAILURE"))


def _sequence(items: tuple[tuple[str, Any], ...]) -> Plan:
    run = _Run()
    run.walk(items)
    return run.plan()


def _one_letter(members: Any) -> str | None:
    """The letter of a set that holds one letter's cases, [Ff]; None for any other set."""
    folded = {fold(chr(argument)) if str(operator) == "LITERAL" else "" for operator, argument in members}
    one = folded.pop() if len(folded) == 1 else ""
    return one if one and is_safe(one) else None
