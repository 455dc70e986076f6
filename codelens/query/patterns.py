"""Regular expressions: parsing, matching within a time limit, and the substrings that every match contains.

The syntax is Python's; the `regex` package runs it, because it can be stopped: a slow pattern ends when the query's time is
spent, and a notice names it. `^` and `$` match at lines, and `.` does not match a line end (`(?s:.)` does), as grep users
expect. Extensions of `regex` (fuzzy matching, \\p{…}, set operations) are not available, so that Python's parser can find
the required substrings.

The trigram index looks up these substrings. A plan may admit too many texts but never too few. The index folds case
(`fold` in codelens/text/terms.py), so a plan only has characters whose case variants all fold to the same character.
"""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from enum import Enum
from functools import lru_cache
from importlib import import_module
from itertools import chain, islice
from typing import Any
from unicodedata import category

from codelens.errors import QueryError
from codelens.model.budget import OutOfTime, TimeBudget
from codelens.model.fast_dataclass import frozen_dataclass
from codelens.text.terms import fold

MAX_SOURCE = 10_000  # Most characters of a regular expression. A generated alternation of some hundred names fits
_parser: Any = import_module("re._parser")
Items = tuple[tuple[str, Any], ...]  # The (operator name, argument) pairs of a parsed sequence
_CODE_ESCAPE = re.compile(r"\\[xuUN0-9]")
_POSIX_CLASS = re.compile(r"\[:\^?\w+:\]")


@frozen_dataclass
class Tree:
    """The tree from Python's private parser `re._parser`: (operator name, argument) pairs. `read_items` reads nested
    sequences. Code that walks it must treat an unknown operator as "matches anything"."""

    items: Items
    verbose: bool
    exact: bool  # False if the `regex` engine reads the source differently ([[:alpha:]])
    dotted: bool
    """True if the source names no character beyond ASCII. Its i then means only i, so the engine need not see İ and ı."""
    dot_all: bool = False  # True if a dot matches line breaks too, by (?s) at the start


@lru_cache(maxsize=256)
def parse_tree(source: str) -> Tree:
    """Parse a source. Raises QueryError with the position for syntax that Python's `re` does not accept."""
    if len(source) > MAX_SOURCE:
        raise QueryError(f"the regular expression is over {MAX_SOURCE} characters", source, MAX_SOURCE, _HINT)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # "possible nested set": `exact` knows
            parsed = _parser.parse(source)
    except re.error as fault:
        raise QueryError(f"bad regular expression: {fault.msg}", source, fault.pos or 0, _HINT) from None
    except (RecursionError, OverflowError, MemoryError):
        raise QueryError("the regular expression is too deep or repeats too often", source, 0, _HINT) from None
    exact = not _POSIX_CLASS.search(source)
    dotted = source.isascii() and not _CODE_ESCAPE.search(source)
    flags = parsed.state.flags
    return Tree(read_items(parsed), bool(flags & re.VERBOSE), exact, dotted, bool(flags & re.DOTALL))


_HINT = "quote it to search for it as text"


def read_items(sequence: Any) -> Items:
    """Convert a parsed sequence to pairs (operator name, argument): 'LITERAL', 'MAX_REPEAT', …"""
    return tuple((str(operator), argument) for operator, argument in sequence)


def read_repetition(operator: str, argument: Any) -> tuple[int, int, Items] | None:
    """Read a repetition as (least, most, body); None for other operators. `most` is large if there is no limit."""
    if operator not in ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"):
        return None
    least, most, body = argument
    return int(least), int(most), read_items(body)


LONGEST_QUOTED = 60  # Characters of a pattern that a notice repeats
Ranges = tuple[tuple[int, int], ...]  # Half-open ranges of characters
_DOTLESS = str.maketrans("İı", "ƻƻ")
"""Replaces İ and ı by a letter without case: unlike Python, the engine matches them with i when it ignores case."""
_NO_REPEAT = re.compile(r"\\.|\{(?![0-9]+(?:,[0-9]*)?\}|,[0-9]*\})", re.DOTALL)
"""Matches braces that Python reads as text and the engine as fuzzy matching. Escaped pairs are skipped."""


@frozen_dataclass
class CompiledPattern:
    source: str
    program: Any
    dotted: bool  # True if İ and ı are replaced in the text, because the pattern cannot mean them (Tree.dotted)


@lru_cache(maxsize=256)
def compile_pattern(
    source: str, ignore_case: bool, whole_word: bool = False, whole_line: bool = False
) -> CompiledPattern:
    """Compile a pattern. With `whole_word` (-w) a match begins and ends at word borders, with `whole_line` (-x) at those of a
    line. Raises QueryError for bad syntax."""
    tree = parse_tree(source)
    text = _NO_REPEAT.sub(lambda m: m[0] if m[0][0] == "\\" else r"\{", source)
    end = "\n" if tree.verbose else ""  # or a comment would swallow the parenthesis
    if whole_word:
        text = rf"(?<!\w)(?:{text}{end})(?!\w)"
    if whole_line:
        text = rf"^(?:{text}{end})$"
    engine: Any = import_module("regex")  # takes 30 ms, which only queries with a pattern pay
    flags = engine.MULTILINE | engine.VERSION0 | (engine.IGNORECASE if ignore_case else 0)
    try:
        program = engine.compile(text, flags)
    except (engine.error, RecursionError, OverflowError, ValueError, TypeError, KeyError, IndexError) as fault:
        raise QueryError(f"bad regular expression: {fault}", source, 0, _HINT) from None
    return CompiledPattern(source, program, tree.dotted)


def find_matches(compiled: CompiledPattern, text: str, budget: TimeBudget, limit: int = 0) -> Ranges:
    """Find the half-open character ranges of the matches, in order, at most `limit` unless that is 0; some may be empty.

    Raises OutOfTime when the budget is spent; `budget.cut` then names the pattern.
    """
    if budget.left <= 0:
        raise OutOfTime
    with _prepare_subject(compiled, text, budget) as (subject, timeout):
        matches = compiled.program.finditer(subject, timeout=timeout)
        return tuple(match.span() for match in (islice(matches, limit) if limit else matches))


def find_in_lines(
    compiled: CompiledPattern, text: str, budget: TimeBudget, every: bool = True
) -> Iterator[tuple[int, int]]:
    """Find the character ranges of matches within each line, as if the line were the whole text: all of them with `every`,
    else the first of each line. Raises as `find_matches` does."""
    search, find = compiled.program.search, compiled.program.finditer
    begin = 0
    with _prepare_subject(compiled, text, budget) as (subject, timeout):
        while begin < len(text):
            budget.check_now_and_then()
            end = subject.find("\n", begin)
            end = end if end >= 0 else len(text)
            stop = end - 1 if end > begin and subject[end - 1] == "\r" else end
            if every:
                yield from (match.span() for match in find(subject, begin, stop, timeout=timeout))
            elif match := search(subject, begin, stop, timeout=timeout):
                yield match.span()
            begin = end + 1


def find_first_in_lines(compiled: CompiledPattern, text: str, budget: TimeBudget) -> Iterator[tuple[int, int]]:
    """Find the first match of each line, for a pattern whose matches stay within lines (`find_reach`), in one pass."""
    begin = 0
    with _prepare_subject(compiled, text, budget) as (subject, timeout):
        while match := compiled.program.search(subject, begin, timeout=timeout):
            yield match.span()
            budget.check_now_and_then()
            begin = subject.find("\n", match.start()) + 1
            if not begin:
                return


@contextmanager
def _prepare_subject(compiled: CompiledPattern, text: str, budget: TimeBudget) -> Iterator[tuple[str, float | None]]:
    """Prepare (text for the engine, of the same length; seconds that it has). Raises OutOfTime for a slow pattern, which
    `budget.cut` then names."""
    subject = text.translate(_DOTLESS) if compiled.dotted and ("ı" in text or "İ" in text) else text
    try:
        yield subject, None if budget.left == math.inf else max(budget.left, 0.001)
    except TimeoutError:
        slow = f"the regular expression /{compiled.source[:LONGEST_QUOTED]}/ took too long on one text and was stopped"
        if slow not in budget.cut:
            budget.cut.append(slow)
        raise OutOfTime from None


class LineReach(Enum):
    """Tells whether matches of a pattern may contain line breaks."""

    IN_LINE = 1  # No line break: searching the text finds the same as searching each line
    MAY_CROSS = 2
    r"""Line breaks match \s, [^a] or the like, but only matches within a line are meant."""
    OVER_LINES = 3
    r"""The pattern names line breaks: \n, or (?s) for the dot."""


@lru_cache(maxsize=256)
def find_reach(source: str) -> LineReach:
    tree = parse_tree(source)
    if tree.dot_all:
        return LineReach.OVER_LINES
    reach = _find_reach_of_items(tree.items)
    return LineReach.MAY_CROSS if reach is LineReach.IN_LINE and not tree.exact else reach


def _find_reach_of_items(items: Items) -> LineReach:
    return max((_find_reach_of_item(*item) for item in items), key=lambda reach: reach.value, default=LineReach.IN_LINE)


def _find_reach_of_item(operator: str, argument: Any) -> LineReach:
    match operator:
        case "LITERAL":
            return LineReach.OVER_LINES if argument == _BREAK else LineReach.IN_LINE
        case "NOT_LITERAL":
            return LineReach.IN_LINE if argument == _BREAK else LineReach.MAY_CROSS
        case "ANY" | "AT" | "GROUPREF" | "FAILURE":
            return LineReach.IN_LINE
        case "IN":
            return _find_reach_of_set(read_items(argument))
        case "BRANCH":
            return _find_reach_of_items(tuple(item for branch in argument[1] for item in read_items(branch)))
        case "SUBPATTERN":
            return LineReach.OVER_LINES if argument[1] & re.DOTALL else _find_reach_of_items(read_items(argument[-1]))
        case "ASSERT" | "ASSERT_NOT":
            return _find_reach_of_items(read_items(argument[1]))
        case "ATOMIC_GROUP":
            return _find_reach_of_items(read_items(argument))
    return _find_reach_of_items(repeat[2]) if (repeat := read_repetition(operator, argument)) else LineReach.MAY_CROSS


_BREAK = ord("\n")
_WITH_BREAK = ("CATEGORY_SPACE", "CATEGORY_NOT_WORD", "CATEGORY_NOT_DIGIT")


def _find_reach_of_set(members: Items) -> LineReach:
    named = ("LITERAL", _BREAK) in members
    holds = named or any(
        (operator == "RANGE" and argument[0] <= _BREAK <= argument[1])
        or (operator == "CATEGORY" and str(argument) in _WITH_BREAK)
        for operator, argument in members
    )
    if members and members[0][0] == "NEGATE":
        return LineReach.IN_LINE if holds else LineReach.MAY_CROSS
    return LineReach.OVER_LINES if named else LineReach.MAY_CROSS if holds else LineReach.IN_LINE


def has_upper(source: str) -> bool:
    r"""True if the pattern has an upper-case letter outside of escapes like \S, so that smart case respects case."""
    return any(c.isupper() for c in re.sub(r"\\.|\(\?P[<=>]\w*", "", source, flags=re.DOTALL))


SHORTEST = 3  # Length of a trigram
MOST_ALTERNATIVES = 64  # Most literals of an alternation in a plan. More cost more time than they save.


@frozen_dataclass
class Anything:
    """A plan that every text fulfils."""


@frozen_dataclass
class Substring:
    """A plan that requires a substring: a case-folded text of at least SHORTEST characters."""

    text: str


@frozen_dataclass
class AllOf:
    """A plan whose parts must all hold; made by `require_all`, which keeps it flat."""

    parts: tuple[Plan, ...]


@frozen_dataclass
class AnyOf:
    """A plan of whose parts one must hold; made by `require_any`, which keeps it flat."""

    parts: tuple[Plan, ...]


Plan = Anything | Substring | AllOf | AnyOf
ANY = Anything()


def require_all(plans: Iterable[Plan]) -> Plan:
    """Make the plan that requires all of these plans."""
    nested = (plan.parts if isinstance(plan, AllOf) else (plan,) for plan in plans)
    parts = tuple(part for part in dict.fromkeys(chain.from_iterable(nested)) if part != ANY)
    return AllOf(parts) if len(parts) > 1 else next(iter(parts), ANY)


def require_any(plans: Iterable[Plan]) -> Plan:
    """Make the plan that requires one of these plans; ANY if one of them requires nothing."""
    nested = (plan.parts if isinstance(plan, AnyOf) else (plan,) for plan in plans)
    parts = tuple(dict.fromkeys(chain.from_iterable(nested)))
    if ANY in parts or len(parts) > MOST_ALTERNATIVES:
        return ANY
    return AnyOf(parts) if len(parts) > 1 else next(iter(parts), ANY)


def require_text(text: str) -> Plan:
    """Make the plan of a text that must occur, in upper or lower case."""
    run = _LiteralRun()
    for character in text:
        run.add(character)
    return run.plan()


def require_literals(source: str) -> Plan:
    """Make the plan of a regular expression; ANY if it does not parse or uses an unknown operator."""
    try:
        tree = parse_tree(source)
        plan = _LiteralRun().walk(tree.items).plan() if tree.exact else ANY
    except (QueryError, _UnknownOperatorError):
        return ANY
    return plan if tree.dotted else _cut_at_i(plan)


def _cut_at_i(plan: Plan) -> Plan:
    """Cut a plan's literals at every i. Ignoring case, i may match İ and ı, which the index does not fold."""
    match plan:
        case Substring(text):
            return require_all(Substring(part) for part in text.split("i") if len(part) >= SHORTEST)
        case AllOf(parts):
            return require_all(map(_cut_at_i, parts))
        case AnyOf(parts):
            return require_any(map(_cut_at_i, parts))
    return ANY


def is_safe(character: str) -> bool:
    """True if every character that equals this one when case is ignored folds to the same: ASCII, or without case."""
    if character.isascii():
        return character != "\0"
    alone = character == character.lower() == character.upper() == character.casefold()
    return alone and category(character) not in _CASED


_CASED = frozenset(("Lu", "Ll", "Lt", "Cn", "Cs"))
"""Unicode categories of letters with case, of unassigned code points, which may get case, and of surrogates."""


class _UnknownOperatorError(Exception):
    """An operator of a newer `re` that this module does not know."""


class _LiteralRun:
    """Collects adjacent literals of a sequence. Any other item ends a run."""

    __slots__ = ("characters", "plans")

    def __init__(self) -> None:
        self.characters: list[str] = []
        self.plans: list[Plan] = []

    def add(self, character: str) -> None:
        if is_safe(character):
            self.characters.append(fold(character))
        else:
            self.end()

    def end(self) -> None:
        if len(self.characters) >= SHORTEST:
            self.plans.append(Substring("".join(self.characters)))
        self.characters = []

    def plan(self) -> Plan:
        self.end()
        return require_all(self.plans)

    def walk(self, items: Items) -> _LiteralRun:
        for operator, argument in items:
            if operator == "LITERAL":
                self.add(chr(argument))
            elif operator == "IN" and (letter := _find_single_letter(argument)):
                self.add(letter)
            elif operator in ("SUBPATTERN", "ATOMIC_GROUP"):
                self.walk(read_items(argument[-1] if operator == "SUBPATTERN" else argument))
            elif operator != "AT":  # which has no width: the literals before and after are adjacent
                self.end()
                self.plans.append(_plan_item(operator, argument))
        return self


def _plan_item(operator: str, argument: Any) -> Plan:
    """Plan which literals a branch, repetition or class of a pattern needs; ANY if none. Raises _UnknownOperatorError."""
    if operator == "BRANCH":
        return require_any(_LiteralRun().walk(read_items(branch)).plan() for branch in argument[1])
    if repeat := read_repetition(operator, argument):
        return _LiteralRun().walk(repeat[2]).plan() if repeat[0] > 0 else ANY
    if operator in _OPAQUE:
        return ANY
    raise _UnknownOperatorError(operator)


_OPAQUE = frozenset(("IN", "NOT_LITERAL", "ANY", "ASSERT", "ASSERT_NOT", "GROUPREF", "GROUPREF_EXISTS", "FAILURE"))


def _find_single_letter(members: Any) -> str | None:
    """Find the letter of a set like [Ff], which holds both cases of one letter; None for other sets."""
    folded = {fold(chr(argument)) if str(operator) == "LITERAL" else "" for operator, argument in members}
    letter = folded.pop() if len(folded) == 1 else ""
    return letter if letter and is_safe(letter) else None
