"""A parsed query → the terms that the channels look for, by tier.

    exact       names in back-ticks
    compounds   identifiers as written (getUser, get_user, Class.method), and pairs of neighbouring words joined
    components  the words of compounds, and single words
    prefix      beginnings of names and words, written with a star, which the term keeps (deploy*)

Abbreviations, aliases and corrections of typing mistakes add further terms. Each term knows its origin, for the trace.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, lru_cache, partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from codelens.errors import SettingsError
from codelens.model.budget import TERMS
from codelens.model.fast_dataclass import dataclass, replace
from codelens.model.search import Match
from codelens.query.nodes import Phrase, Query
from codelens.store.store import Store
from codelens.text.identifiers import fold_identifier, split_identifier, split_qualified
from codelens.text.notation import parse_toml, read_own_file
from codelens.text.terms import BEGINNING, beginning_of, beginning_terms, token_terms, tokens

if TYPE_CHECKING:
    from codelens.search.profiles import Profile
    from codelens.search.run import SearchRun

MOST_TERMS, MOST_BEGINNINGS = 1000, 100
"""Words of the index, and as many names, that a query asks for, and those of them that end in a star: the first ones. On Redis
1,000 words take some 1.5 CPU s and 2,000 twice that; a page of a stack trace, 5,000 characters, has 300 to 500."""
PATH_COLUMNS = ("path", "concepts")
"""Columns of the words' index that say where a unit lies."""
SHORTEST_STEM = 3
"""Letters that remain at least when an ending is removed: `using` is not a form of `us`. Chosen."""
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
    """The terms of a query, as the channels use them."""

    text: str = ""
    names: tuple[Term, ...] = ()
    """Folded names (letters and digits only) of the tiers exact and compounds, most specific first."""
    words: tuple[Term, ...] = ()
    """Terms of the full-text index, in the order of the query."""
    extra: tuple[Term, ...] = ()
    """Further terms from abbreviations and corrected spellings; they help to find and do not count as coverage."""
    common: tuple[str, ...] = ()
    """Terms of the full-text index that too many units hold to tell them apart: the exact channel leaves them out."""
    texts: tuple[str, ...] = ()
    """The plain parts of the query as written, in order: what phrases are looked for in."""
    learned: tuple[Match, ...] = ()
    """Units that were used for the query's words before, heaviest first."""
    left_out: tuple[str, ...] = ()
    """Sentences about terms that limits left out."""
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
            for term in beginning_terms(token) if begun else token_terms(token):
                words.setdefault(term, Term(term, "prefix" if term.endswith(BEGINNING) else "component", token))
            if previous and may_join(previous, word):
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
        abbreviated(words, lists),
        texts=tuple(texts),
        left_out=tuple(left_out),
    )


def split_text(text: str) -> list[str]:
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


def is_compound(token: str, parts: Sequence[str]) -> bool:
    """True for an identifier of several parts: get_user, getUser, Class.method."""
    return "." in token or ("_" in token.strip("_")) or (len(parts) > 1 and not token.islower())


def _add_identifier(identifier: str, tier: str, origin: str, names: dict[str, Term], words: dict[str, Term]) -> None:
    folded = fold_identifier(split_qualified(identifier)[1])
    if folded:
        names.setdefault(folded, Term(folded, tier, origin))
    found = tokens(identifier)
    for token in found:
        begun = tier == "prefix" and token is found[-1]
        for term in beginning_terms(token) if begun else token_terms(token):
            whole = term.removesuffix(BEGINNING) == token.casefold()
            words.setdefault(term, Term(term, tier if whole and tier != "prefix" else "component", origin))


def may_join(left: str, right: str) -> bool:
    """True if two neighbouring words may be one name."""
    return min(len(left), len(right)) >= MIN_COMPOUND_PART and max(len(left), len(right)) > MIN_COMPOUND_PART


def abbreviated(words: Mapping[str, Term], lists: Words) -> tuple[Term, ...]:
    """The long forms of short words, and the short forms of long ones."""
    return tuple(
        Term(other, "abbreviation", f"{word} ~ {other}")
        for word in words
        for other in lists.abbreviations.get(word, ())
        if other not in words
    )


def search_terms(run: SearchRun) -> ExpandedQuery:
    """The terms of the run's query or original, with aliases, corrections and learned units; written into its trace.

    Raises SettingsError for a file of aliases with faults.
    """
    query, store, profile = run.query, run.store, run.profile
    own = run.settings.aliases
    if run.likeness:
        terms = run.likeness.query
    else:
        terms = _reader(profile)(plain_texts(query), query.identifiers, query.text)
        store.budget.limits += terms.left_out
    store.foresee(
        *(("postings.document_frequency", (t.text,)) for t in (*terms.words, *terms.extra)),
        *(("postings.document_frequency", (t.text, PATH_COLUMNS)) for t in terms.words),
        *(("units.named", (t.text, None, 1)) for t in terms.names),
    )
    if not run.likeness:
        if profile.aliases or own:
            terms = with_aliases(terms, own, shipped=profile.aliases)
        if "fuzzy" in run.abilities and not (profile.aliases or profile.keywords):
            with store.budget.part(TERMS, "unknown words were not corrected"):
                terms = with_corrections(terms, store)
    note_unknown(run, terms)
    terms = with_common(terms, store)
    if profile.memory and run.recollection and not run.likeness:
        terms = replace(terms, learned=run.recollection.learned(terms.texts, run.within))
    run.trace.common = terms.common
    run.trace.terms = [(t.tier, t.text, t.origin) for t in (*terms.names, *terms.words, *terms.extra)]
    return terms


def _reader(profile: Profile) -> Callable[[Sequence[str], Sequence[str], str], ExpandedQuery]:
    from codelens.search.keywords import keywords  # which needs this module

    return partial(keywords, clusters=profile.keywords["clusters"]) if profile.keywords else expand


def plain_texts(query: Query) -> list[str]:
    """The texts of a query that rank: its words, and the words of its phrases, in which a star is only a star."""
    return [p.text.replace("*", " ") if isinstance(p, Phrase) else p.text for p in query.ranking_texts]


def words_said(terms: ExpandedQuery) -> frozenset[str]:
    """The query's words as written, in lower case, and as terms of the index."""
    return frozenset(t.origin.casefold() for t in terms.words) | frozenset(t.text for t in terms.words)


@lru_cache(maxsize=10_000)
def stem(word: str) -> str:
    """A word without its commonest English ending, for comparing single words; the index itself stems by Porter."""
    for ending in ("ing", "ies", "ed", "es", "er", "s"):
        if word.endswith(ending) and len(word) - len(ending) >= SHORTEST_STEM:
            return word[: -len(ending)]
    return word[:-1] if len(word) > SHORTEST_STEM and word.endswith("e") else word


COMMON_IN_UNITS = 0.3
"""Share of all units. A more frequent term moves no rank among the first (its idf is under .9) and costs the most time."""


def with_common(query: ExpandedQuery, store: Store) -> ExpandedQuery:
    """The query with its `common` terms marked, unless it has no other term to search by."""
    most = COMMON_IN_UNITS * store.units.count()
    terms = dict.fromkeys(t.text for t in (*query.words, *query.extra))
    store.foresee(*(("postings.document_frequency", (term,)) for term in terms))
    frequencies = {term: store.postings.document_frequency(term) for term in terms}
    common = tuple(term for term, units in frequencies.items() if units > most)
    telling = any(0 < units <= most for units in frequencies.values())
    return replace(query, common=common) if common and telling else query


PROPOSED = 2000
"""Units with one of the rarest terms are enough to find the best among: of the best 300 of each of twenty queries on Django, 5,600
in all, one unit held only commoner words; and scoring so few takes half of the time."""


def rarest(frequencies: Mapping[str, int]) -> list[str]:
    """The terms that propose units: the rarest ones, until units enough have one of them; empty if all terms are needed."""
    ordered = sorted((frequency, term) for term, frequency in frequencies.items())
    held = 0
    for place, (frequency, _) in enumerate(ordered, start=1):
        held += frequency
        if held >= PROPOSED and place < len(ordered):
            return [term for _, term in ordered[:place]]
    return []


UNKNOWN_WORDS = "unknown-words"
"""Code of the notice that lists words of the query that the index does not have."""
MOST_NAMED = 5
"""Unknown words that the notice names; it counts the others. Chosen."""


def note_unknown(run: SearchRun, terms: ExpandedQuery) -> None:
    """A notice of the query's words that no unit has, if there are any, with what was looked for instead."""
    if run.likeness or run.targets or run.options.literal or run.options.regex:
        return
    instead: dict[str, list[str]] = {}
    for term in terms.extra:
        if term.tier == "spelling":
            instead.setdefault(term.origin.partition(" ~ ")[0], []).append(term.text)
    names = {term.origin for term in terms.names if run.store.units.named(term.text, None, 1)}
    unknown = [
        term.origin
        for term in terms.words
        if term.tier != "prefix"
        and not term.origin.isdecimal()
        and term.origin not in names
        and not run.store.postings.document_frequency(term.text)
    ]
    if (unknown := list(dict.fromkeys(unknown))) and not run.targets:  # a line's number need not occur
        said = [
            f"'{word}'" + (f" (read as {' or '.join(instead[word.casefold()])})" if word.casefold() in instead else "")
            for word in unknown[:MOST_NAMED]
        ]
        more = f" and {len(unknown) - MOST_NAMED} other words" if len(unknown) > MOST_NAMED else ""
        verb = "do" if len(unknown) > 1 else "does"
        run.notice(UNKNOWN_WORDS, f"{', '.join(said)}{more} {verb} not occur in this index as a word")


MIN_WORD_LETTERS = 5
"""Letters. Shorter words have too many neighbours in any vocabulary. Chosen, not measured."""
MOST_UNKNOWN = 200
"""Words, and as many names, that are compared with those of the index: .7 ms each on Redis. Who pastes a page that has more
looks for something else than slips."""
LETTERS_PER_SLIP = 4
"""One slip is forgiven for each four letters of a word, and of a name in the fuzzy channel. Chosen."""
MOST_SLIPS_IN_A_WORD = 2
"""One fewer than in a name: prose has more words that are nearly others. The first letter is taken to be right. Chosen."""
LONGEST_ENDING = 3
"""Letters of a mistyped ending that the stem of the right word does not have."""
MOST_CORRECTIONS = 3
"""Words of the index that stand in for one unknown word. Chosen, not measured."""


def with_corrections(query: ExpandedQuery, store: Store) -> ExpandedQuery:
    """The query with likely words for each unknown one; they help to find, and do not count as coverage."""
    unknown = [t.text for t in query.words if len(t.text) >= MIN_WORD_LETTERS and t.text.isalpha()]
    unknown = [word for word in unknown if not store.postings.document_frequency(word)]
    corrections: list[Term] = []
    if len(unknown) > MOST_UNKNOWN:
        store.budget.limits.append(
            f"only the first {MOST_UNKNOWN} of {len(unknown)} unknown words were checked for typing mistakes"
        )
    for word in unknown[:MOST_UNKNOWN]:
        store.budget.check()
        corrections += _corrections(word, store)
    return replace(query, extra=(*query.extra, *corrections)) if corrections else query


def _corrections(word: str, store: Store) -> Iterable[Term]:
    """Commonest first among those with the fewest slips. Stems are compared, or the word itself if its ending is mistyped."""
    from rapidfuzz.distance import OSA  # 27 ms, and most queries have no mistake

    near = []
    forms = tuple(dict.fromkeys((store.postings.stem(word), word)))
    shortest = min(len(word) - LONGEST_ENDING, *(len(form) - MOST_SLIPS_IN_A_WORD for form in forms))
    longest = max(len(form) + MOST_SLIPS_IN_A_WORD for form in forms)
    for term, units in store.postings.vocabulary(word[0], shortest, longest):
        if len(term) >= 2 * LONGEST_ENDING and word.startswith(term) and len(word) - len(term) <= LONGEST_ENDING:
            near.append((1, -units, term))  # a mistake in the ending, which the stem has lost
            continue
        for form in forms:
            most = min(MOST_SLIPS_IN_A_WORD, min(len(form), len(term)) // LETTERS_PER_SLIP)
            if abs(len(term) - len(form)) <= most and (slips := OSA.distance(form, term, score_cutoff=most)) <= most:
                near.append((slips, -units, term))
                break
    return [Term(term, "spelling", f"{word} ~ {term}") for _, _, term in sorted(near)[:MOST_CORRECTIONS]]


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
        raise ValueError(f"alias '{word}' must be one word of letters and digits")
    return word.casefold()


def _words(word: str, meant: object) -> tuple[str, ...]:
    """An empty text switches a shipped alias off."""
    if not isinstance(meant, str):
        raise ValueError(
            f"alias '{word}' must map to a string with spaces between the words, not a {type(meant).__name__}"
        )
    return tuple(tokens(meant))
