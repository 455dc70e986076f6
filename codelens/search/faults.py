"""What a query got wrong: collected while it is read, told as notices, or raised where the query must be strict."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import field
from functools import lru_cache

from codelens.errors import QueryError
from codelens.model import Notice
from codelens.nouns import dataclass
from codelens.search.nodes import FIELDS

AS_TEXT = "; searched as text"
"""How a notice ends; a strict query is refused instead."""
MOST = 8
"""Faults of one kind that are told; a pasted page of text is no reason for a page of notices."""
_LONGEST = 24
"""Characters of a name for which a suggestion is looked for, and of a text that is quoted back."""
MISTAKEN = {
    "language": "lang",
    "ext": "lang",
    "type": "kind",
    "symbol": "sym",
    "name": "sym",
    "filename": "file",
    "dir": "path",
    "repository": "repo",
    "text": "content",
    "has": "is",
    "since": "after",
    "until": "before",
    "committer": "author",
}
"""Names that other searches give to our filters."""


@dataclass(slots=True)
class Faults:
    """The faults of one query, by code, each at most MOST times."""

    query: str
    found: list[tuple[int, Notice]] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)

    def add(self, code: str, position: int, say: Callable[[], str]) -> None:
        """Note a fault; its sentence is only made where it will be told."""
        self.counts[code] = self.counts.get(code, 0) + 1
        if self.counts[code] <= MOST:
            self.found.append((position, Notice(code, say())))

    def raise_first(self) -> None:
        """Raises a QueryError for the first fault in the text, if there is one."""
        if self.found:
            position, notice = min(self.found, key=lambda fault: fault[0])
            raise QueryError(notice.text.removesuffix(AS_TEXT), self.query, min(position, len(self.query)))

    def notices(self) -> tuple[Notice, ...]:
        """Each sentence once, in the order of the text."""
        told = [notice for _, notice in sorted(self.found, key=lambda fault: fault[0])]
        return tuple(dict.fromkeys(told))[:MOST]


def excerpt(text: str) -> str:
    """The text on one line, cut short."""
    shown = text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in shown)


@lru_cache(maxsize=64)
def suggest_field(name: str) -> str:
    """The filter that a name may be meant to be, or nothing."""
    lowered = name.lower()
    if len(name) > _LONGEST:
        return ""
    return MISTAKEN.get(lowered) or _nearest(lowered, FIELDS)


def suggest_value(value: str, known: tuple[str, ...]) -> str:
    """The known value nearest to one that is not known, or nothing."""
    return _nearest(value.lower(), known) if len(value) <= _LONGEST else ""


def _nearest(word: str, known: Iterable[str]) -> str:
    from difflib import get_close_matches  # only mistakes need it

    return next(iter(get_close_matches(word, list(known), 1)), "")
