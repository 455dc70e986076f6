"""A regular expression's source → the tree that Python's own parser makes of it.

The parser is private to `re`, so this is the one place that touches it. Whoever walks a tree must take an operator that
it does not know as "anything is possible".
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from functools import lru_cache
from importlib import import_module
from typing import Any

from codelens.errors import QueryError
from codelens.nouns import dataclass

MAX_SOURCE = 10_000
"""Characters of one regular expression; generated alternations of some hundred names stay below."""
_parser: Any = import_module("re._parser")
_CODE_ESCAPE = re.compile(r"\\[xuUN0-9]")
_POSIX_CLASS = re.compile(r"\[:\^?\w+:\]")


@dataclass(frozen=True, slots=True)
class Tree:
    """`items` are (operator name, argument) as `re` has them; nested sequences are walked by `items_of`."""

    items: tuple[tuple[str, Any], ...]
    verbose: bool
    exact: bool
    """False where the engine that matches reads the source another way than this tree does ([[:alpha:]])."""
    dotted: bool
    """Its i can only be i: it names no character beyond ASCII, so that the engine need not see İ and ı in a text."""


@lru_cache(maxsize=256)
def parse_tree(source: str) -> Tree:
    """Raises QueryError, at the place, for what Python's `re` does not read; so the engine's own extensions are out."""
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
    return Tree(items_of(parsed), bool(parsed.state.flags & re.VERBOSE), exact, dotted)


_HINT = "quote it to search for it as text"


def items_of(sequence: Any) -> tuple[tuple[str, Any], ...]:
    """A parsed sequence with operators as plain names: 'LITERAL', 'MAX_REPEAT', …"""
    return tuple((str(operator), argument) for operator, argument in sequence)


def repeat_of(operator: str, argument: Any) -> tuple[int, int, tuple[tuple[str, Any], ...]] | None:
    """(least, most, body) if this is a repetition of any kind; `most` is large where there is no bound."""
    if operator not in ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"):
        return None
    least, most, body = argument
    return int(least), int(most), items_of(body)


def bodies(operator: str, argument: Any) -> Iterator[tuple[tuple[str, Any], ...]]:
    """The sequences inside one item, whatever it does with them; none for a leaf or an unknown operator."""
    if repeat := repeat_of(operator, argument):
        yield repeat[2]
    elif operator in ("SUBPATTERN", "ASSERT", "ASSERT_NOT"):
        yield items_of(argument[-1])
    elif operator == "ATOMIC_GROUP":
        yield items_of(argument)
    elif operator == "BRANCH":
        yield from map(items_of, argument[1])
    elif operator == "GROUPREF_EXISTS":
        yield from (items_of(branch) for branch in argument[1:] if branch is not None)
