r"""Refuses regular expressions that would take exponential time, by looking at them.

A repetition is dangerous when its body can match one text in several ways, for then n rounds have 2ⁿ ways to fail. Two
shapes make nearly all of these: two variable repetitions of overlapping characters with nothing between them that they
cannot match, counting round the loop, as in (a+)+, (.*,)*, (\w+\s*)+; and alternatives that match the same text, as in
(a|a)*. What separates is fine: (\w+\.)+. This checks habits, on what Python's parser makes of a pattern, and proves
nothing: matching is time-limited as well.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import combinations
from typing import Any

from codelens.search.syntax import Tree, bodies, items_of, repeat_of

MANY = 10
"""Repetitions that may go on this often are taken as unbounded: 2¹⁰ ways are quick, 2²⁰ are not."""

Items = tuple[tuple[str, Any], ...]
Characters = frozenset[str]
_SAMPLE: Characters = frozenset(map(chr, range(128))) | frozenset("éÉßſ²中\u00a0\u2028")
"""The characters on which sets are compared: all of ASCII, and one of each sort beyond."""
_CATEGORIES: Mapping[str, Callable[[str], bool]] = {
    "CATEGORY_DIGIT": str.isdecimal,
    "CATEGORY_SPACE": str.isspace,
    "CATEGORY_WORD": lambda c: c.isalnum() or c == "_",
}


def find_danger(tree: Tree) -> str:
    """Says in one line what is dangerous about a pattern; empty if nothing is seen."""
    try:
        return _danger(tree.items)
    except RecursionError:
        return "it is nested too deeply"


def _danger(items: Items) -> str:
    for operator, argument in items:
        repeat = repeat_of(operator, argument)
        if repeat and repeat[1] >= MANY and (found := _danger_in_loop(repeat[2])):
            return found
        for body in bodies(operator, argument):
            if found := _danger(body):
                return found
    return ""


def _danger_in_loop(body: Items) -> str:
    """What is wrong with a body that is repeated many times."""
    if _holds(body, "GROUPREF"):
        return "a backreference inside a repetition"
    for sequence in _sequences(body):
        if _loops_into_itself(sequence):
            return "a repetition inside a repetition, with nothing between the rounds that only fits once"
    branches = _alternatives(body)
    if any(_same_text(a, b) for a, b in combinations(branches[:_MOST_BRANCHES], 2)):
        return "alternatives inside a repetition that match the same text"
    return ""


_MOST_BRANCHES = 50
"""Pairs grow with the square."""


def _holds(items: Items, wanted: str) -> bool:
    return any(o == wanted or any(_holds(body, wanted) for body in bodies(o, a)) for o, a in items)


def _sequences(body: Items) -> list[Items]:
    """The ways through a body that one alternation at its top offers, with plain groups opened."""
    flat = _flat(body)
    if len(flat) == 1 and flat[0][0] == "BRANCH":
        return [way for branch in flat[0][1][1] for way in _sequences(items_of(branch))]
    return [flat]


def _flat(items: Items) -> Items:
    """Opens groups, and drops what has no width."""
    opened: list[tuple[str, Any]] = []
    for operator, argument in items:
        if operator == "SUBPATTERN":
            opened += _flat(items_of(argument[-1]))
        elif operator not in ("AT", "ASSERT", "ASSERT_NOT"):
            opened.append((operator, argument))
    return tuple(opened)


def _loops_into_itself(sequence: Items) -> bool:
    """Whether from one variable repetition on, round the loop, another begins before anything tells them apart."""
    for at, (operator, argument) in enumerate(sequence):
        repeat = _variable(operator, argument)
        if repeat is None:
            continue
        own = _all_characters(repeat)
        for other, what in (*sequence[at + 1 :], *sequence[: at + 1]):
            following = _variable(other, what)
            if following is not None and own & _all_characters(following):
                return True
            if _least_width(other, what) > 0 and not own & _all_characters(((other, what),)):
                break
    return False


def _variable(operator: str, argument: Any) -> Items | None:
    """The body of a repetition that can take more or less of the same text; a possessive one cannot give back."""
    repeat = None if operator == "POSSESSIVE_REPEAT" else repeat_of(operator, argument)
    return repeat[2] if repeat and repeat[1] >= MANY and repeat[1] > repeat[0] else None


def _least_width(operator: str, argument: Any) -> int:
    """0 if the item can match nothing, else 1."""
    if repeat := repeat_of(operator, argument):
        return int(repeat[0] > 0 and any(_least_width(*item) for item in repeat[2]))
    if operator in ("LITERAL", "NOT_LITERAL", "IN", "ANY"):
        return 1
    within = [any(_least_width(*item) for item in body) for body in bodies(operator, argument)]
    return int(operator in ("BRANCH", "SUBPATTERN", "ATOMIC_GROUP") and bool(within) and all(within))


def _all_characters(items: Items) -> Characters:
    """Every character that some part of the items may match; all of them where this is not known."""
    found: Characters = frozenset()
    for operator, argument in items:
        found |= _characters(operator, argument)
        for body in bodies(operator, argument):
            found |= _all_characters(body)
    return found


def _characters(operator: str, argument: Any) -> Characters:
    if operator == "LITERAL":
        return frozenset((chr(argument),))
    if operator == "NOT_LITERAL":
        return _SAMPLE - {chr(argument)}
    if operator == "IN":
        return _set_characters(items_of(argument))
    return _SAMPLE if operator in ("ANY", "GROUPREF") else frozenset()


def _set_characters(members: Items) -> Characters:
    found: Characters = frozenset()
    for operator, argument in members:
        if operator == "LITERAL":
            found |= {chr(argument)}
        elif operator == "RANGE":
            found |= {c for c in _SAMPLE if argument[0] <= ord(c) <= argument[1]}
        elif operator == "CATEGORY":
            found |= _category(str(argument))
    return _SAMPLE - found if members and members[0][0] == "NEGATE" else found


def _category(name: str) -> Characters:
    test = _CATEGORIES.get(name.replace("_NOT_", "_"))
    if test is None:
        return _SAMPLE
    return frozenset(c for c in _SAMPLE if test(c) != ("_NOT_" in name))


def _alternatives(body: Items) -> list[Items]:
    """All alternatives of one alternation that is the whole of a body, or follows what they have in common."""
    last = _flat(body)[-1:]
    return [_flat(items_of(branch)) for branch in last[0][1][1]] if last and last[0][0] == "BRANCH" else []


def _same_text(one: Items, other: Items) -> bool:
    """Whether two alternatives can match the same text, as far as they are single characters; then, that both go on."""
    for a, b in zip(one, other, strict=False):
        if not (_single(a) and _single(b)):
            return bool(_first(a) & _first(b))
        if not _characters(*a) & _characters(*b):
            return False
    return len(one) == len(other)


def _single(item: tuple[str, Any]) -> bool:
    return item[0] in ("LITERAL", "NOT_LITERAL", "IN", "ANY")


def _first(item: tuple[str, Any]) -> Characters:
    """The characters with which an item may begin."""
    if _single(item):
        return _characters(*item)
    found: Characters = frozenset()
    for body in bodies(*item):
        for inner in body:
            found |= _first(inner)
            if _least_width(*inner):
                break
    return found
