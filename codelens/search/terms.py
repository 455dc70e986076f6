"""A parsed query → the terms that the channels look for, by tier.

    exact       names in back-ticks
    compounds   identifiers as written (getUser, get_user, Class.method), and pairs of neighbouring words joined
    components  the words of compounds, and single words
    prefix      beginnings of names and words, written with a star, which the term keeps (deploy*)

Related words (search/lexicon.py) add further terms. Each term knows its origin, for the trace.
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
"""Words of the index, and as many names, that a query asks for, and those of them that end in a star: the first ones. On Redis
1,000 words take some 1.5 CPU s and 2,000 twice that; a page of a stack trace, 5,000 characters, has 300 to 500."""
SHORTEST_STEM = 3  # Letters that remain at least when an ending is removed: `using` is not a form of `us`
MIN_COMPOUND_PART = 3
"""Characters of a word that may be joined with its neighbour, and one of the two has a character more."""


@dataclass(frozen=True, slots=True)
class Words:
    """words.toml."""

    stop: frozenset[str]
    action: frozenset[str]
    generic: frozenset[str]


@cache
def load_words() -> Words:
    """The word lists of words.toml, read once."""
    table = tomllib.loads(Path(__file__).with_name("words.toml").read_text(encoding="utf-8"))
    return Words(*(frozenset(table[name].split()) for name in ("stop", "action", "generic")))


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
        for text in texts:
            for token in tokens(text):
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
    """Tokens, with dotted and scoped names kept whole: Class.method, a::b, ptr->field, name(); the star of a beginning stays."""
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
    """True for an identifier of several parts: get_user, getUser, Class.method."""
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
    """True if two neighbouring words may be one name."""
    return min(len(left), len(right)) >= MIN_COMPOUND_PART and max(len(left), len(right)) > MIN_COMPOUND_PART


def list_plain_texts(query: Query) -> list[str]:
    """The texts of a query that rank: its words, and the words of its phrases, in which a star is only a star."""
    return [p.text.replace("*", " ") if isinstance(p, Phrase) else p.text for p in query.ranking_texts]


def collect_words(terms: ExpandedQuery) -> frozenset[str]:
    """The query's words as written, in lower case, and as terms of the index."""
    return frozenset(t.origin.casefold() for t in terms.words) | frozenset(t.text for t in terms.words)


@lru_cache(maxsize=10_000)
def strip_ending(word: str) -> str:
    """A word without its commonest English ending, for comparing single words; the index itself stems by Porter."""
    for ending in ("ing", "ies", "ed", "es", "er", "s"):
        if word.endswith(ending) and len(word) - len(ending) >= SHORTEST_STEM:
            return word[: -len(ending)]
    return word[:-1] if len(word) > SHORTEST_STEM and word.endswith("e") else word


PROPOSED = 2000
"""Units with one of the rarest terms are enough to find the best among: of the best 300 of each of twenty queries on Django, 5,600
in all, one unit held only commoner words; and scoring so few takes half of the time."""


def choose_rarest(frequencies: Mapping[str, int]) -> list[str]:
    """The terms that propose units: the rarest ones, until units enough have one of them; empty if all terms are needed."""
    ordered = sorted((frequency, term) for term, frequency in frequencies.items())
    units = 0
    for place, (frequency, _) in enumerate(ordered, start=1):
        units += frequency
        if units >= PROPOSED and place < len(ordered):
            return [term for _, term in ordered[:place]]
    return []


LENGTH_SHARE, SATURATION = 0.6, 1.2
"""b of BM25, how much the length of a text counts (from a fitted prototype), and k1, the usual one; for units and their fields."""


def compute_idfs(store: Store, terms: Iterable[str]) -> dict[str, float]:
    """Term → its rarity in the index."""
    total, frequencies = store.units.count(), store.postings.count_units_by_term(terms)
    return {term: compute_idf(total, frequency) for term, frequency in frequencies.items()}


EXACT_CAP = 60
"""Units of one name that are taken: one that more bear (get, init) ranks nothing by itself. Chosen; knowing has no cap."""


def describe_name(term: Term) -> str:
    """The letters of a term as the query has them, or with the part of the query that they are from."""
    letters, origin = term.text.removesuffix(BEGINNING), term.origin.removesuffix(BEGINNING).strip("`")
    last = split_qualified(origin)[1]
    if fold_identifier(last) == letters and last.isidentifier():
        return last
    return f"'{origin}' in one word" if term.tier == "pair" else f"'{letters}', a part of {origin}"


def name_lookup(term: Term, within: UnitSet | None) -> tuple[str, str, UnitSet | None, int]:
    """The arguments of `named_as`."""
    holder, name = split_qualified(term.origin.removesuffix(BEGINNING))
    if fold_identifier(name) != term.text:  # a word of a name, or two words joined
        holder, name = "", term.text.removesuffix(BEGINNING)
    return name, holder, within, EXACT_CAP
