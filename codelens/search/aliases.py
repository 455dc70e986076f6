"""Short forms that people write → words that are asked for beside them: the shipped map, and a file of one's own.

An alias acts one way, may stand for several words, and ranks as a further term that the trace tells; a person's own row for a
word stands in the place of the shipped one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache, lru_cache
from pathlib import Path

from codelens.errors import SettingsError
from codelens.notation import parse_toml
from codelens.search.expand import ExpandedQuery, Term
from codelens.search.ownfiles import read_own_file
from codelens.text.terms import BEGINNING, beginning_terms, token_terms, tokens

LARGEST = 1_000_000
"""Bytes of a file of aliases; the shipped one has 1 300. Chosen."""
HINT = "a line for each alias: k8s = 'kubernetes', auth = 'authentication authorization'"
ALIAS = "alias"
"""Tier of the terms."""

Aliases = Mapping[str, tuple[str, ...]]
"""Word, case folded → the words it also stands for, as written."""


def with_aliases(query: ExpandedQuery, own: str, shipped: bool) -> ExpandedQuery:
    """The query with the words that its words are short for. `own` is a file's path, empty for none.

    What a beginning is short for is one too. With the `shipped` ones abbreviations are left out: both would ask for the same
    words twice. Raises SettingsError for a file that cannot be taken.
    """
    aliases = {**(shipped_aliases() if shipped else {}), **(own_aliases(own) if own else {})}
    known = {term.text for term in query.words}
    extra = {} if shipped else {term.text: term for term in query.extra}
    for word in query.words:
        short = word.text.removesuffix(BEGINNING)
        split = token_terms if short == word.text else beginning_terms
        for other in aliases.get(short, ()):
            for term in split(other):
                if term not in known:
                    extra.setdefault(term, Term(term, ALIAS, f"{short} → {other}"))
    return replace(query, extra=tuple(extra.values()))


@cache
def shipped_aliases() -> Aliases:
    """aliases.toml, read once."""
    path = Path(__file__).with_name("aliases.toml")
    return _parsed(path.read_text(encoding="utf-8"), str(path))


def own_aliases(path: str) -> Aliases:
    """The aliases of a person's own file. Raises SettingsError for one that cannot be read, or says something else."""
    return _parsed(read_own_file(path, "aliases", HINT, LARGEST), path)


@lru_cache(maxsize=4)
def _parsed(text: str, path: str) -> Aliases:
    try:
        return {_key(word): _words(word, meant) for word, meant in parse_toml(text).items()}
    except ValueError as fault:
        raise SettingsError(f"{path}: {fault}", HINT) from None


def _key(word: str) -> str:
    if tokens(word) != [word]:
        raise ValueError(f"alias '{word}' is not one word of letters and digits")
    return word.casefold()


def _words(word: str, meant: object) -> tuple[str, ...]:
    """An empty text switches a shipped alias off."""
    if not isinstance(meant, str):
        raise ValueError(
            f"alias '{word}' stands for one string with blanks between the words, not a {type(meant).__name__}"
        )
    return tuple(tokens(meant))
