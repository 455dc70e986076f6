"""Regular expressions: Python's syntax, run by the `regex` engine because it can be stopped.

`^` and `$` match at lines and `.` matches no line end (`(?s:.)` does), as grep users expect. A pattern that is dangerous to run is
refused when it is compiled; whatever else is slow ends when the query's time is spent. The engine's own extensions
(fuzzy matching, \\p{…}, set operations) are out, so that Python's parser can say what a match must contain.
"""

from __future__ import annotations

import math
import re
from functools import lru_cache
from importlib import import_module
from typing import Any

from codelens.budget import OutOfTime, TimeBudget
from codelens.errors import QueryError
from codelens.nouns import dataclass
from codelens.search.ambiguity import find_danger
from codelens.search.syntax import parse_tree

Ranges = tuple[tuple[int, int], ...]
"""Half-open ranges of characters."""
_DOTLESS = str.maketrans("İı", "ƻƻ")
"""The engine takes these for i when it ignores case, as no one else does. The stand-in is a letter without case."""
_NO_REPEAT = re.compile(r"\\.|\{(?![0-9]+(?:,[0-9]*)?\}|,[0-9]*\})", re.DOTALL)
"""A brace that repeats nothing is text to Python, and fuzzy matching to the engine; escaped pairs are stepped over."""


@dataclass(frozen=True, slots=True)
class Compiled:
    """A pattern ready to run."""

    source: str
    ignore_case: bool
    program: Any
    dotted: bool
    """Whether İ and ı are hidden from the engine, because the pattern cannot mean them (Tree.dotted)."""


@lru_cache(maxsize=256)
def check_pattern(source: str) -> None:
    """Raises QueryError, with its position in the source, for bad syntax and for a pattern that is dangerous to run."""
    if danger := find_danger(parse_tree(source)):
        raise QueryError(
            f"the regular expression could take forever: {danger}", source, 0, "make the parts exclude each other"
        )


@lru_cache(maxsize=256)
def compile_pattern(source: str, ignore_case: bool, whole_word: bool = False) -> Compiled:
    """`whole_word` lets a match begin and end only where a word does (-w). Raises QueryError as check_pattern does."""
    check_pattern(source)
    tree = parse_tree(source)
    text = _NO_REPEAT.sub(lambda m: m[0] if m[0][0] == "\\" else r"\{", source)
    if whole_word:
        end = "\n" if tree.verbose else ""  # or a comment would swallow the parenthesis
        text = rf"(?<!\w)(?:{text}{end})(?!\w)"
    engine: Any = import_module("regex")  # 30 ms: a query without a pattern does without
    flags = engine.MULTILINE | engine.VERSION0 | (engine.IGNORECASE if ignore_case else 0)
    try:
        program = engine.compile(text, flags)
    except (engine.error, RecursionError, OverflowError, ValueError, TypeError, KeyError, IndexError) as fault:
        raise QueryError(f"bad regular expression: {fault}", source, 0, "quote it to search for it as text") from None
    return Compiled(source, ignore_case, program, tree.dotted)


def find_all(compiled: Compiled, text: str, budget: TimeBudget, limit: int = 0) -> Ranges:
    """Half-open character ranges of the matches, in order, at most `limit` if that is not 0; some may be empty.

    Raises OutOfTime when the budget is spent.
    """
    left = budget.left
    if left <= 0:
        raise OutOfTime
    subject = text.translate(_DOTLESS) if compiled.dotted and ("ı" in text or "İ" in text) else text
    found: list[tuple[int, int]] = []
    try:
        for match in compiled.program.finditer(subject, timeout=None if left == math.inf else left):
            found.append(match.span())
            if len(found) == limit:
                break
    except TimeoutError:
        raise OutOfTime from None
    return tuple(found)


def has_upper(source: str) -> bool:
    r"""Whether smart case makes a pattern sensitive: it has an upper-case letter that is no escape like \S or \B."""
    return any(c.isupper() for c in re.sub(r"\\.|\(\?P[<=>]\w*", "", source, flags=re.DOTALL))
