"""Turns text into the terms of the full-text index, the same for documents and queries.

An identifier gives itself, folded, and its words: getHTTPResponse → gethttpresponse get http response. SQLite's porter
tokenizer then stems them, for documents and queries alike.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache

from codelens.text.identifiers import cjk_terms, is_cjk, split_identifier
from codelens.text.lazily import lazy_pattern

MAX_TOKEN = 80
"""Longest token in characters. Longer ones are encoded data, not names; the trigram index still finds them."""
CACHE_TOKENS = 25_000
"""Tokens whose terms are kept, about 250 bytes each. On Django 200,000 save 1 % of a worker's time and cost it 20 MB. Chosen."""
MAX_KEPT = 4096
"""Longest text whose tokens are kept, in characters: terms and vectors both need them."""
MOST_REPEATS = 3
"""BM25 with k1 = 1.2 gives three occurrences of a word .71 of the most that any number can give."""

BEGINNING = "*"
"""Ends a term that is a prefix. No token contains it."""
SHORTEST_BEGINNING = 2
"""Fewest letters of a prefix. Chosen: one letter matches too much."""

_TOKEN = lazy_pattern(r"\w+")
_BEGUN = lazy_pattern(r"[^*]*\w\w\*")
_BLANKED = "".join(c if _TOKEN.match(c) else " " for c in map(chr, range(128)))
"""Translation table for ASCII text that blanks all characters outside of tokens. Three times as fast as the expression."""


class _TermCache(dict[str, str]):
    """Token → its terms, joined by spaces. Source code repeats its tokens, so nearly every lookup is a hit."""

    def __missing__(self, token: str) -> str:
        if len(self) >= CACHE_TOKENS:
            self.clear()
        terms = " ".join(token_terms(token))
        self[token] = terms
        return terms


_cache = _TermCache()


def kept_terms(token: str) -> str:
    """The terms of one token, separated by spaces; postings and vectors both need them."""
    return _cache[token]


def token_terms(token: str) -> list[str]:
    """The terms of one token: the whole token first, then its words if they differ from it."""
    if len(token) > MAX_TOKEN:
        return []
    if token.islower() and token.isalpha() and token.isascii():
        return [token]
    words = split_identifier(token)
    whole = token.casefold().strip("_")
    terms = [whole] if whole and not is_cjk(whole) else []
    if len(words) > 1 or words != terms:
        for word in words:
            terms += cjk_terms(word) if is_cjk(word) else [word]
    return list(dict.fromkeys(terms)) if len(words) < 2 else terms


def index_terms(text: str) -> str:
    """All terms of a text in order, separated by spaces, with repeats."""
    return " ".join(map(_cache.__getitem__, tokens(text)))


def body_terms(text: str) -> str:
    """The terms of a body, each at most MOST_REPEATS times: more gain BM25 little and make the index a third larger."""
    counts = token_counts(text)
    found, repeated = list(counts), list(counts.items())
    for repeat in range(1, MOST_REPEATS):
        repeated = [entry for entry in repeated if entry[1] > repeat]
        found += [token for token, _ in repeated]
    return " ".join(map(_cache.__getitem__, found))


def place_words(path: str) -> tuple[str, str]:
    """(the file's name without its endings and that of its folder, the folders above)."""
    folder, _, name = path.rpartition("/")
    above, _, last = folder.rpartition("/")
    return f"{name.partition('.')[0] or name} {last}", above


def token_counts(text: str) -> Mapping[str, int]:
    """Token → its count in a text, in order of first occurrence."""
    return Counter(kept_tokens(text))


def kept_tokens(text: str) -> Sequence[str]:
    """The tokens of a text, kept for the next call with it."""
    return _kept_tokens(text) if len(text) <= MAX_KEPT else tokens(text)


@lru_cache(maxsize=512)
def _kept_tokens(text: str) -> Sequence[str]:
    return tokens(text)


def tokens(text: str) -> list[str]:
    """The raw tokens of a text: runs of letters, digits and underscores."""
    return text.translate(_BLANKED).split() if text.isascii() else _TOKEN.findall(text)


def beginning_of(word: str) -> str:
    """`deploy` for `deploy*`; empty unless the word ends in its only star, after at least two letters."""
    return word[:-1] if word.endswith(BEGINNING) and _BEGUN.fullmatch(word) else ""


def beginning_terms(token: str) -> list[str]:
    """The terms of a token that is a prefix: the whole token and its last word are prefixes (getus*, get, us*)."""
    terms = token_terms(token)
    open_ended = {terms[0], terms[-1]} if terms else set()
    return [
        term + BEGINNING if term in open_ended and len(term) >= SHORTEST_BEGINNING and not is_cjk(term[-1]) else term
        for term in terms
    ]


class _Folding(dict[int, str]):
    """Simple case folding, one character for one, filled as characters are seen."""

    def __missing__(self, code: int) -> str:
        character = chr(code)
        forms = (character.casefold(), character.lower(), character)
        self[code] = next(form for form in forms if len(form) == 1)
        return self[code]


_FOLDING = _Folding()


def fold(text: str) -> str:
    """The text without case, of the same length, so that offsets stay: ſ becomes s, the Kelvin sign k; İ and ı do not become
    i."""
    return text.lower() if text.isascii() else text.translate(_FOLDING)
