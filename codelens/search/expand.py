"""A parsed query → the terms that the channels look for, in three tiers.

    exact       names in back-ticks
    compounds   identifiers as written (getUser, get_user, Class.method), and pairs of neighbouring words joined
    components  their words, and single words
    prefix      what names and words begin with that a star ends; such a term keeps its star (deploy*)

Each term knows where it comes from, and the trace shows it.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from itertools import islice
from pathlib import Path

from codelens.model import Match
from codelens.nouns import dataclass
from codelens.text.identifiers import fold_identifier, split_identifier
from codelens.text.terms import BEGINNING, beginning_of, beginning_terms, token_terms, tokens

MOST_TERMS, MOST_BEGINNINGS = 1000, 100
"""Words of the index, and as many names, that a query asks for, and those of them that end in a star: the first ones. On Redis
1,000 words take some 1.5 CPU s and 2,000 twice that; a page of a stack trace, 5,000 characters, has 300 to 500."""
MIN_COMPOUND_PART = 3
"""Characters of a word that may be joined with its neighbour, and one of the two has a character more (knowing's figures)."""


@dataclass(frozen=True, slots=True)
class Words:
    """words.toml."""

    stop: frozenset[str]
    action: frozenset[str]
    generic: frozenset[str]
    abbreviations: Mapping[str, tuple[str, ...]]
    """Both ways: ctx → context, context → ctx."""


@cache
def load_words() -> Words:
    """The word lists of words.toml, read once; abbreviations in both directions."""
    table = tomllib.loads(Path(__file__).with_name("words.toml").read_text(encoding="utf-8"))
    both: dict[str, list[str]] = {}
    for short, long in table["abbreviations"].items():
        both.setdefault(short, []).append(long)
        both.setdefault(long, []).append(short)
    stop, action, generic = (frozenset(table[name].split()) for name in ("stop", "action", "generic"))
    return Words(stop, action, generic, {k: tuple(v) for k, v in both.items()})


@dataclass(frozen=True, slots=True)
class Term:
    """A normalised key and where it comes from."""

    text: str
    tier: str
    origin: str


@dataclass(frozen=True, slots=True)
class ExpandedQuery:
    """What a channel is given."""

    text: str
    names: tuple[Term, ...]
    """Folded names (letters and digits only) of the tiers exact and compounds, most specific first."""
    words: tuple[Term, ...]
    """Terms of the full-text index, in the order of the query."""
    extra: tuple[Term, ...]
    """Further terms from abbreviations and corrected spellings; they help to find and do not count as coverage."""
    common: tuple[str, ...] = ()
    """Terms of the full-text index that too many units hold: they take no part in the exact channel (telling.py)."""
    scoped: bool = False
    """Whether filters restrict the units that may be found."""
    features: frozenset[str] = frozenset()
    """What the index and this machine can do: fuzzy, vector."""
    texts: tuple[str, ...] = ()
    """The plain parts of the query as written, in order: what phrases are looked for in."""
    learned: tuple[Match, ...] = ()
    """Units that were used for the query's words before, heaviest first (recollection.py)."""
    left_out: tuple[str, ...] = ()
    """What limits left out of it, as sentences."""
    vector: bytes = b""
    """The embedding of what is asked about, where that is code; else it is made of `text`."""


def expand(texts: Sequence[str], identifiers: Sequence[str], whole: str) -> ExpandedQuery:
    """`texts`: the plain parts of the query in order; `identifiers`: those in back-ticks; `whole`: all of it as written."""
    lists = load_words()
    names: dict[str, Term] = {}
    words: dict[str, Term] = {}
    for identifier in identifiers:
        _add_identifier(identifier, "exact", f"`{identifier}`", names, words)
    beginnings = 0
    for text in texts:
        previous = ""
        for token in _split_text(text):
            beginnings += token.endswith(BEGINNING)
            begun = token.endswith(BEGINNING) and beginnings <= MOST_BEGINNINGS
            token = token.removesuffix(BEGINNING)
            parts = split_identifier(token)
            if _is_compound(token, parts):
                _add_identifier(token, "prefix" if begun else "compound", token, names, words)
                previous = ""
                continue
            word = token.casefold()
            if word in lists.stop and not begun:
                previous = ""
                continue
            if word in lists.action:
                previous = ""
            for term in beginning_terms(token) if begun else token_terms(token):
                words.setdefault(term, Term(term, "prefix" if term.endswith(BEGINNING) else "component", token))
            if previous and _may_join(previous, word):
                pair = fold_identifier(previous + word)
                names.setdefault(pair, Term(pair, "pair", f"{previous} {token}"))
            previous = "" if word in lists.action else word
    if not words and not names:  # a question of stop words alone asks for just these
        for text in texts:
            for token in tokens(text):
                for term in token_terms(token):
                    words.setdefault(term, Term(term, "component", token))
    left_out = []
    if beginnings > MOST_BEGINNINGS:
        left_out.append(f"only the first {MOST_BEGINNINGS} of {beginnings} words with a star stand for what begins so")
    for kind, terms in (("names", names), ("words", words)):
        if len(terms) > MOST_TERMS:
            left_out.append(f"only the first {MOST_TERMS} of the query's {len(terms)} {kind} rank")
    names, words = (dict(islice(terms.items(), MOST_TERMS)) for terms in (names, words))
    return ExpandedQuery(
        whole,
        tuple(names.values()),
        tuple(words.values()),
        _abbreviated(words, lists),
        texts=tuple(texts),
        left_out=tuple(left_out),
    )


def _split_text(text: str) -> list[str]:
    """Tokens, with dotted and scoped names kept whole: Class.method, a::b, ptr->field, name(); the star of a beginning stays."""
    for mark in ("::", "->", "#", "()"):
        text = text.replace(mark, "." if mark != "()" else " ")
    kept: list[str] = []
    for piece in text.split():
        piece = piece.strip(".,;:!?()[]{}<>\"'`")
        begun = beginning_of(piece)
        piece = begun or piece
        parts = piece.split(".")
        if len(parts) > 1 and all(p.isidentifier() for p in parts) and not (piece.islower() and len(parts[0]) < 3):
            kept.append(piece)
        else:
            kept += tokens(piece)
        if begun:
            kept[-1] += BEGINNING
    return kept


def _is_compound(token: str, parts: Sequence[str]) -> bool:
    return "." in token or ("_" in token.strip("_")) or (len(parts) > 1 and not token.islower())


def _add_identifier(identifier: str, tier: str, origin: str, names: dict[str, Term], words: dict[str, Term]) -> None:
    last = identifier.replace("::", ".").replace("#", ".").rsplit(".", 1)[-1]
    folded = fold_identifier(last)
    if folded:
        names.setdefault(folded, Term(folded, tier, origin))
    found = tokens(identifier)
    for token in found:
        begun = tier == "prefix" and token is found[-1]
        for term in beginning_terms(token) if begun else token_terms(token):
            whole = term.removesuffix(BEGINNING) == token.casefold()
            words.setdefault(term, Term(term, tier if whole and tier != "prefix" else "component", origin))


def _may_join(left: str, right: str) -> bool:
    return min(len(left), len(right)) >= MIN_COMPOUND_PART and max(len(left), len(right)) > MIN_COMPOUND_PART


def _abbreviated(words: Mapping[str, Term], lists: Words) -> tuple[Term, ...]:
    return tuple(
        Term(other, "abbreviation", f"{word} ~ {other}")
        for word in words
        for other in lists.abbreviations.get(word, ())
        if other not in words
    )
