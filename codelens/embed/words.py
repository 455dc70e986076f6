"""A token of source or of a question → the rows that a table of embeddings has for it.

A token is split as the full-text index splits it; a word without a row of its own is made of pieces: the longest known
beginning of what is left, again and again.
"""

from __future__ import annotations

from collections.abc import Callable

from codelens.text.identifiers import is_cjk
from codelens.text.terms import token_terms

PIECE = "\t"
"""Before the name of a row that stands for a part of a word."""
LONGEST_PIECE = 10
MOST_PIECES = 12
"""Of one word. Longer ones are no words."""


def words_of(token: str) -> list[str]:
    """The words of an identifier in lower case: 'getHTTPResponse' → get, http, response. Empty for encoded data."""
    terms = token_terms(token)
    return terms[1:] if len(terms) > 1 and not is_cjk(terms[0]) else terms


def rows_of(word: str, find: Callable[[str], int | None]) -> list[int]:
    """The row of a word, or those of its pieces; letters that no piece covers are passed over."""
    if (row := find(word)) is not None:
        return [row]
    found: list[int] = []
    at = 0
    while at < len(word) and len(found) < MOST_PIECES:
        for end in range(min(len(word), at + LONGEST_PIECE), at, -1):
            if (row := find(PIECE + word[at:end])) is not None:
                found.append(row)
                at = end
                break
        else:
            at += 1
    return found
