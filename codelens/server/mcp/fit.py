"""Answers that hold no more than a budget of tokens: the items that come first, and a word about the others.

A token is four characters, and both forms of an answer are measured, since nobody knows which of them a client hands on.
"""

from __future__ import annotations

import json
from collections.abc import Callable

from codelens.context.counters import count_chars
from codelens.errors import UsageError
from codelens.render.visible import for_line, for_terminal
from codelens.server.mcp.tool import Answer, Record

LONGEST_LINE = 240
"""Characters of a line of code in an answer. Chosen: two screens wide."""
LONGEST_NOTICE, MOST_NOTICES = 160, 4
"""What is said about an answer must not fill it. Chosen."""


def tokens(answer: Answer) -> int:
    """Of the larger one of its forms."""
    return max(count_chars(answer.text), count_json(answer.record))


def count_json(record: Record | str) -> int:
    """Tokens of an object as it is sent."""
    return count_chars(json.dumps(record, ensure_ascii=False))


def fitted(count: int, made: Callable[[int], Answer], budget: int) -> Answer:
    """The answer with as many of its `count` items as the budget holds; `made(n)` is the one with the first n.

    Raises UsageError where not even the one without items fits.
    """
    whole = made(count)
    if tokens(whole) <= budget:
        return whole
    least, most = 0, count  # the first `least` are known to fit, the first `most` are known not to
    while most - least > 1:
        middle = (least + most) // 2
        least, most = (middle, most) if tokens(made(middle)) <= budget else (least, middle)
    found = made(least)
    if tokens(found) > budget:
        raise UsageError(f"an answer needs {tokens(found)} tokens at least, not {budget}", "ask with a larger budget")
    return found


def code_line(text: str) -> str:
    """A line of code, without what a terminal would obey, and cut where it is very long."""
    shown = for_line(for_terminal(text.rstrip("\r\n")))
    return shown if len(shown) <= LONGEST_LINE else f"{shown[:LONGEST_LINE]}…"


def notices_told(texts: list[str]) -> list[str]:
    """The first few, each on one short line."""
    told = [one if len(one) <= LONGEST_NOTICE else f"{one[:LONGEST_NOTICE]}…" for one in map(for_line, texts)]
    more = len(told) - MOST_NOTICES
    return told if more <= 0 else [*told[:MOST_NOTICES], f"{more} more notices"]


def cut_line(cut: int, of: str, remedy: str) -> list[str]:
    """Says how many found no room; nothing where all did."""
    return [f"{cut} more {of} found no room: {remedy}"] if cut else []
