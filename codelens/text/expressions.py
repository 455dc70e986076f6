"""Expressions of any language as text: shortened to what names a definition when indexing, taken apart when linking.

One small reader serves all languages: what follows a name by `.`, `->`, `::` or `?.` is its member, parentheses call it,
brackets choose an element.
"""

from __future__ import annotations

import re

_OPEN, _CLOSE = "([{", ")]}"
_NAME_END = re.compile(r"[\w$\]>)?!]\s*$")


def without_arguments(text: str) -> str:
    """On one line, with nothing between the parentheses of calls and none of the braces: 'f(a, b).c' → 'f().c'.

    Parentheses that call nothing keep their content; a text cut off within its arguments ends with them.
    """
    parts: list[str] = []
    depth = 0
    kept = ""
    for character in text:
        if depth:
            depth += (character in _OPEN) - (character in _CLOSE)
            if not depth:
                parts.append(character)
            continue
        if (character == "(" and _NAME_END.search(kept)) or character == "{":
            depth = 1
        parts.append(character)
        if not character.isspace():
            kept = character
    if depth:
        parts.append(")" if parts[-1] == "(" else "}")
    return " ".join("".join(parts).split())
