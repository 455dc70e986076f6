"""Expands a parsed query into the terms that the channels look for, by tier.

    exact       names in back-ticks
    compounds   identifiers as written (getUser, get_user, Class.method), and pairs of neighbouring words joined
    components  the words of compounds, and single words
    prefix      beginnings of names and words, written with a star, which the term keeps (deploy*)

search/lexicon.py adds terms for related words. Each term records its origin for the trace.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping, Sequence
from functools import cache, lru_cache
from itertools import islice
from pathlib import Path

from codelens.model.fast_dataclass import dataclass
from codelens.model.search import ExpandedQuery, Term
from codelens.query.nodes import Phrase, Query
from codelens.store.store import Store
from codelens.store.units import UnitSet
from codelens.text.bm25 import compute_idf
from codelens.text.identifiers import fold_identifier, split_identifier, split_qualified
from codelens.text.terms import BEGINNING, find_prefix, split_prefix, split_token, tokens

MOST_TERMS, MOST_BEGINNINGS = 1000, 100
"""Most words, and most names, of a query that are searched, and most words with a star; the first ones are taken. On Redis 1,000
words take some 1.5 CPU s and 2,000 twice that; a page of a stack trace, 5,000 characters, has 300 to 500."""
SHORTEST_STEM = 3  # Fewest letters that remain when an ending is removed: `using` is not a form of `us`
MIN_COMPOUND_PART = 3
"""Fewest characters of a word that is joined with its neighbour; one of the two must have at least one more."""


@dataclass(frozen=True, slots=True)
class Words:
    """The word lists of words.toml."""

    stop: frozenset[str]
    action: frozenset[str]
    generic: frozenset[str]


@cache
def load_words() -> Words:
    """Read the word lists of words.toml, once for the process."""
    table = tomllib.loads(Path(__file__).with_name("words.toml").read_text(encoding="utf-8"))
    return Words(*(frozenset(table[name].split()) for name in ("stop", "action", "generic")))


def expand_query(texts: Sequence[str], identifiers: Sequence[str], whole: str) -> ExpandedQuery:
    """Expand a query into terms, from its plain `texts` in order, its `identifiers` in back-ticks, and the `whole` as written."""
    lists, names, words = load_words(), dict[str, Term](), dict[str, Term]()
    for identifier in identifiers:
        _add_identifier(identifier, "exact", f"`{identifier}`", names, words)
    beginnings = 0
    for text in texts:
        previous = ""
        for token in split_text(text):
            beginnings += token.endswith(BEGINNING)
            begun = token.endswith(BEGINNING) and beginnings <= MOST_BEGINNINGS
            token = token.removesuffix(BEGINNING)
            parts = split_identifier(token)
            if is_compound(token, parts):
                _add_identifier(token, "prefix" if begun else "compound", token, names, words)
                previous = ""
                continue
            word = token.casefold()
            if word in lists.stop and not begun:
                previous = ""
                continue
            if word in lists.action:
                previous = ""
            for term in split_prefix(token) if begun else split_token(token):
                words.setdefault(term, Term(term, "prefix" if term.endswith(BEGINNING) else "component", token))
            if previous and may_join(previous, word):
                pair = fold_identifier(previous + word)
                names.setdefault(pair, Term(pair, "pair", f"{previous} {token}"))
            previous = "" if word in lists.action else word
    if not words and not names:  # a question of stop words alone asks for just these
        for token in (token for text in texts for token in tokens(text)):
            for term in split_token(token):
                words.setdefault(term, Term(term, "component", token))
    left_out = []
    if beginnings > MOST_BEGINNINGS:
        left_out.append(f"only the first {MOST_BEGINNINGS} of {beginnings} words with a star stand for what begins so")
    for kind, terms in (("names", names), ("words", words)):
        if len(terms) > MOST_TERMS:
            left_out.append(f"only the first {MOST_TERMS} of the query's {len(terms)} {kind} rank")
    names, words = (dict(islice(terms.items(), MOST_TERMS)) for terms in (names, words))
    return ExpandedQuery(
        whole, tuple(names.values()), tuple(words.values()), texts=tuple(texts), left_out=tuple(left_out)
    )


def split_text(text: str) -> list[str]:
    """Split a text into tokens. Dotted and scoped names stay whole (Class.method, a::b, ptr->field, name()), and so do stars."""
    for mark in ("::", "->", "#", "()"):
        text = text.replace(mark, "." if mark != "()" else " ")
    pieces: list[str] = []
    for piece in text.split():
        piece = piece.strip(".,;:!?()[]{}<>\"'`")
        begun = find_prefix(piece)
        piece = begun or piece
        parts = piece.split(".")
        if len(parts) > 1 and all(p.isidentifier() for p in parts) and not (piece.islower() and len(parts[0]) < 3):
            pieces.append(piece)
        else:
            pieces += tokens(piece)
        if begun:
            pieces[-1] += BEGINNING
    return pieces


def is_compound(token: str, parts: Sequence[str]) -> bool:
    """Decide if a token is an identifier of several parts: get_user, getUser, Class.method."""
    return "." in token or ("_" in token.strip("_")) or (len(parts) > 1 and not token.islower())


def _add_identifier(identifier: str, tier: str, origin: str, names: dict[str, Term], words: dict[str, Term]) -> None:
    folded = fold_identifier(split_qualified(identifier)[1])
    if folded:
        names.setdefault(folded, Term(folded, tier, origin))
    parts = tokens(identifier)
    for token in parts:
        begun = tier == "prefix" and token is parts[-1]
        for term in split_prefix(token) if begun else split_token(token):
            whole = term.removesuffix(BEGINNING) == token.casefold()
            words.setdefault(term, Term(term, tier if whole and tier != "prefix" else "component", origin))


def may_join(left: str, right: str) -> bool:
    """Decide if two neighbouring words may form one name together."""
    return min(len(left), len(right)) >= MIN_COMPOUND_PART and max(len(left), len(right)) > MIN_COMPOUND_PART


def list_plain_texts(query: Query) -> list[str]:
    """List the texts of a query that rank: its words and phrases. A star in a phrase has no meaning and is removed."""
    return [p.text.replace("*", " ") if isinstance(p, Phrase) else p.text for p in query.ranking_texts]


def collect_words(terms: ExpandedQuery) -> frozenset[str]:
    """Collect the query's words, both as written (in lower case) and as terms of the index."""
    return frozenset(t.origin.casefold() for t in terms.words) | frozenset(t.text for t in terms.words)


@lru_cache(maxsize=10_000)
def strip_ending(word: str) -> str:
    """Strip a common English ending from a word, to compare single words; the index itself uses Porter stems."""
    for ending in ("ing", "ies", "ed", "es", "er", "s"):
        if word.endswith(ending) and len(word) - len(ending) >= SHORTEST_STEM:
            return word[: -len(ending)]
    return word[:-1] if len(word) > SHORTEST_STEM and word.endswith("e") else word


PROPOSED = 2000
"""Number of units with the rarest terms that suffices to find the best units. Of the best 300 for each of twenty queries on Django,
5,600 in all, one contained only commoner words; and scoring so few units takes half of the time."""


def choose_rarest(frequencies: Mapping[str, int]) -> list[str]:
    """Choose the rarest terms, until PROPOSED units contain one of them; empty if all terms are needed."""
    ordered = sorted((frequency, term) for term, frequency in frequencies.items())
    units = 0
    for place, (frequency, _) in enumerate(ordered, start=1):
        units += frequency
        if units >= PROPOSED and place < len(ordered):
            return [term for _, term in ordered[:place]]
    return []


LENGTH_SHARE, SATURATION = 0.6, 1.2
"""b of BM25, how much the length of a text counts (from a fitted prototype), and k1 with its usual value; for units and fields."""


def compute_idfs(store: Store, terms: Iterable[str]) -> dict[str, float]:
    """Compute the idf of each term in the index."""
    total, frequencies = store.units.count(), store.postings.count_units_by_term(terms)
    return {term: compute_idf(total, frequency) for term, frequency in frequencies.items()}


EXACT_CAP = 60
"""Most units that are taken for one name, because a more frequent name (get, init) says little. Chosen; knowing has no cap."""


def describe_name(term: Term) -> str:
    """Describe a name that the query contains: as written, or its letters with the part of the query that they come from."""
    letters, origin = term.text.removesuffix(BEGINNING), term.origin.removesuffix(BEGINNING).strip("`")
    last = split_qualified(origin)[1]
    if fold_identifier(last) == letters and last.isidentifier():
        return last
    return f"'{origin}' in one word" if term.tier == "pair" else f"'{letters}', a part of {origin}"


def make_name_lookup(term: Term, within: UnitSet | None) -> tuple[str, str, UnitSet | None, int]:
    """Make the arguments of the store's `units.find_likeliest` for a term: (name, holder, units allowed, most units)."""
    holder, name = split_qualified(term.origin.removesuffix(BEGINNING))
    if fold_identifier(name) != term.text:  # a word of a name, or two words joined
        holder, name = "", term.text.removesuffix(BEGINNING)
    return name, holder, within, EXACT_CAP
