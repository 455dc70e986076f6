"""Text → the terms that the full-text index holds, the same for documents and for queries.

An identifier gives itself, folded, and its words: getHTTPResponse → gethttpresponse get http response. SQLite's
porter tokenizer then stems each of them, so stemming needs no second code path.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from functools import lru_cache
from itertools import chain

from codelens.text.identifiers import cjk_terms, is_cjk, split_identifier

MAX_TOKEN = 80
"""Characters. Longer tokens are encoded data, not names; the trigram index still finds them."""
CACHE_TOKENS = 200_000
MAX_KEPT = 4096
"""Characters. The counts of shorter texts are kept for a while: terms and vectors both ask for them."""
MOST_REPEATS = 3
"""BM25 with k1 = 1.2 gives a word that stands three times .71 of what any number of repeats could give."""

BEGINNING = "*"
"""Behind a term: all that begins so. No token holds it."""
SHORTEST_BEGINNING = 2
"""Letters: what begins with one of them says nothing. Chosen."""

_TOKEN = re.compile(r"\w+")
_BEGUN = re.compile(r"[^*]*\w\w\*")
_BLANKED = "".join(c if _TOKEN.match(c) else " " for c in map(chr, range(128)))
"""Translation table for ASCII text: all that is no token becomes a blank. Three times as fast as the expression."""


class _TermCache(dict[str, str]):
    """Token → its terms, joined by spaces. Source repeats its tokens, so nearly every look-up is a hit."""

    def __missing__(self, token: str) -> str:
        if len(self) >= CACHE_TOKENS:
            self.clear()
        terms = " ".join(token_terms(token))
        self[token] = terms
        return terms


_cache = _TermCache()


def token_terms(token: str) -> list[str]:
    """The terms of one token: the whole of it first, then its words where they differ from it."""
    if len(token) > MAX_TOKEN:
        return []
    words = split_identifier(token)
    whole = token.casefold().strip("_")
    terms = [whole] if whole and not is_cjk(whole) else []
    if len(words) > 1 or words != terms:
        for word in words:
            terms += cjk_terms(word) if is_cjk(word) else [word]
    return list(dict.fromkeys(terms)) if len(words) < 2 else terms


def index_terms(text: str) -> str:
    """All terms of a text in order, separated by spaces; words repeat as often as the text repeats them."""
    return " ".join(map(_cache.__getitem__, tokens(text)))


def body_terms(text: str) -> str:
    """The terms of a body, none more than a few times: BM25 gains little, and the index would be a third larger."""
    counts = token_counts(text)
    again = ([token for token, count in counts.items() if count > repeat] for repeat in range(1, MOST_REPEATS))
    return " ".join(map(_cache.__getitem__, chain(counts, *again)))


def token_counts(text: str) -> Mapping[str, int]:
    """How often a text has each token, in order of their first place."""
    return _kept_counts(text) if len(text) <= MAX_KEPT else Counter(tokens(text))


@lru_cache(maxsize=512)
def _kept_counts(text: str) -> Mapping[str, int]:
    return Counter(tokens(text))


def tokens(text: str) -> list[str]:
    """The raw tokens of a text: runs of letters, digits and underscores."""
    return text.translate(_BLANKED).split() if text.isascii() else _TOKEN.findall(text)


def beginning_of(word: str) -> str:
    """`deploy` for `deploy*`; empty where no star ends the word, another is in it, or under two letters stand before it."""
    return word[:-1] if word.endswith(BEGINNING) and _BEGUN.fullmatch(word) else ""


def beginning_terms(token: str) -> list[str]:
    """The terms of a token that goes on: the whole of it and its last word are beginnings (getus*, get, us*)."""
    terms = token_terms(token)
    open_ended = {terms[0], terms[-1]} if terms else set()
    return [
        term + BEGINNING if term in open_ended and len(term) >= SHORTEST_BEGINNING and not is_cjk(term[-1]) else term
        for term in terms
    ]
