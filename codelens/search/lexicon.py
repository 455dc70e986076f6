"""Finds words that code may use instead of the query's words, as terms with a strength. They come from these sources:

    alias          the user's own short forms, which replace the lexicon's entry for the same word or phrase
    abbreviation   short and long forms in the lexicon, marked ~
    lexicon        words that programmers use for it: synonyms, narrower words (marked >) or mechanisms (marked @)
    spelling       words of the index that differ from an unknown word by a few letters

Each line of lexicon.tsv is an entry: the stems of a phrase, the phrase, and its related words, best first. Lines are sorted.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache, partial
from pathlib import Path

from codelens.errors import SettingsError
from codelens.model.fast_dataclass import dataclass, replace
from codelens.model.search import ExpandedQuery, Term
from codelens.store.postings import build_plain_phrases
from codelens.store.store import Store
from codelens.store.texts import Texts
from codelens.text.notation import parse_toml, read_own_file
from codelens.text.terms import BEGINNING, index_terms, split_prefix, split_token, tokens

ALIAS, ABBREVIATION, LEXICON = "alias", "abbreviation", "lexicon"  # Sources, also used as the tiers of their terms
SAME, NARROWER, MECHANISM = "same", "narrower", "mechanism"
RELATIONS = {"~": ABBREVIATION, ">": NARROWER, "@": MECHANISM}
"""Mark before a word in the lexicon → its relation; a word without a mark is a synonym."""
SHIPPED = Path(__file__).with_name("lexicon.tsv")
FEW_UNITS = 10  # Units that may contain a word of the lexicon in any index, even if that is a large share of it
LONGEST_PHRASE = 4  # Most words of a phrase
_SKIPPED = "a an the of its it to my our your their his her this that these those is are be was were am been being"
SKIPPED = frozenset(_SKIPPED.split())  # Words that the phrases of the lexicon leave out

Aliases = Mapping[str, tuple[str, ...]]
"""Word or phrase, case folded → words that it stands for, as written; empty to remove the lexicon's entry."""


@dataclass(frozen=True, slots=True)
class LexiconEntry:
    """A word or phrase of the query with its related words, best first."""

    phrase: str
    words: tuple[str, ...]  # The terms of the query that it consists of
    related: tuple[tuple[str, str], ...]  # Pairs (word, relation)


class Lexicon:
    """A lexicon file whose entries are found by the stems of their phrases."""

    def __init__(self, path: Path) -> None:
        self._lines = path.read_bytes().split(b"\n")
        self.stem = build_plain_phrases().stem

    def look_up(self, words: Iterable[str]) -> tuple[tuple[str, str], ...]:
        """Find the related words of a phrase as pairs (word, relation), best first; empty for an unknown phrase."""
        key = " ".join(map(self.stem, words)).encode() + b"\t"
        at = bisect_left(self._lines, key)
        if at == len(self._lines) or not self._lines[at].startswith(key):
            return ()
        marked = self._lines[at].decode().split("\t")[2].split()
        return tuple((word.lstrip("~>@"), RELATIONS.get(word[0], SAME)) for word in marked)


def read_entries() -> Iterator[tuple[str, list[str]]]:
    """Read the shipped lexicon as pairs (phrase, its related words without marks), for training and checks."""
    for line in SHIPPED.read_text("utf-8").splitlines():
        _, phrase, related = line.split("\t")
        yield phrase, [word.lstrip("~>@") for word in related.split()]


@cache
def load_lexicon() -> Lexicon:
    """Read lexicon.tsv, once for the process."""
    return Lexicon(SHIPPED)


def add_related_words(
    query: ExpandedQuery, store: Store, aliases: Aliases, weights: Mapping[str, float]
) -> ExpandedQuery:
    """Add related words to the query. `weights` is a profile's table `related`; if empty, only short and long forms are added."""
    entries = list(find_entries(query, aliases, load_lexicon()))
    known = {word.text for word in query.words}
    extra = {term.text: term for term in query.extra}
    for entry in entries:
        for word, relation in entry.related:
            if relation in (ALIAS, ABBREVIATION):
                begun = entry.phrase.endswith(BEGINNING)
                mark = "→" if relation == ALIAS else "~"
                for term in split_prefix(word) if begun else split_token(word):
                    if term not in known:
                        origin = f"{entry.phrase.removesuffix(BEGINNING)} {mark} {word}"
                        extra.setdefault(term, Term(term, relation, origin, stands_for=entry.words))
    query = replace(query, extra=tuple(extra.values()))
    return replace(query, related=select_related_terms(entries, query, store, weights)) if weights else query


def find_entries(query: ExpandedQuery, aliases: Aliases, lexicon: Lexicon) -> Iterator[LexiconEntry]:
    """Find the entries for phrases of the query, longest first, then for words outside of these phrases."""
    terms, taken, stems = {term.text for term in query.words}, set[str](), set[str]()

    def look_up(words: Sequence[str]) -> tuple[tuple[str, str], ...]:
        words_of_alias = aliases.get(" ".join(words))
        return lexicon.look_up(words) if words_of_alias is None else tuple((word, ALIAS) for word in words_of_alias)

    for text in query.texts:
        words = [word for word in map(str.casefold, tokens(text)) if word not in SKIPPED]
        for length in range(LONGEST_PHRASE, 1, -1):
            for start in range(len(words) - length + 1):
                phrase = words[start : start + length]
                if taken.isdisjoint(phrase) and (related := look_up(phrase)):
                    asked = tuple(word for word in phrase if word in terms)
                    taken.update(asked)
                    yield LexiconEntry(" ".join(phrase), asked, related)
    for term in query.words:
        word = term.text.removesuffix(BEGINNING)
        if word in taken or (stem := lexicon.stem(word)) in stems:
            continue
        if (related := look_up([word])) or word in aliases:
            stems.add(stem)
            yield LexiconEntry(term.text, (term.text,), related)


def select_related_terms(
    entries: Iterable[LexiconEntry], query: ExpandedQuery, store: Store, weights: Mapping[str, float]
) -> tuple[Term, ...]:
    """Select as terms the related words that are likeliest to help, at most `weights["most"]`.

    The strength of a term depends on its relation and its place in the entry, and grows with the number of entries that contain
    it. Terms that occur in too many units, or in none, are left out."""
    asked = {term.text for term in (*query.words, *query.extra)}
    doubts, origins, stands_for = dict[str, float](), dict[str, list[str]](), dict[str, list[str]]()
    for entry in entries:
        for place, (word, relation) in enumerate(entry.related):
            if word not in asked and (strength := weights.get(relation, 0.0) * weights["decay"] ** place):
                doubts[word] = doubts.get(word, 1.0) * (1.0 - strength)
                origins.setdefault(word, []).append(f"{entry.phrase} → {word}")
                stands_for.setdefault(word, []).extend(entry.words)
    likely = sorted(doubts, key=lambda word: (doubts[word], word))[: int(weights["considered"])]
    # Those of extra terms are counted with them, for later stages
    frequencies = store.postings.count_units_by_term((*likely, *(term.text for term in query.extra)))
    total, ordered = store.units.count(), list[tuple[float, Term]]()
    for word, units in frequencies.items():
        if word in doubts and 0 < units <= max(weights["common"] * total, FEW_UNITS):
            strength, share = 1.0 - doubts[word], units / total
            worth = strength * math.sqrt(share) * math.log(1.0 / share)
            origin, words = "; ".join(origins[word]), tuple(dict.fromkeys(stands_for[word]))
            ordered.append((-worth, Term(word, LEXICON, origin, strength, words)))
    ordered.sort(key=lambda pair: (pair[0], pair[1].text))
    return tuple(term for _, term in ordered[: int(weights["most"])])


MIN_WORD_LETTERS = 5  # Fewest letters of a word that is corrected; shorter words have too many neighbours
MOST_UNKNOWN = 200
"""Most unknown words, and names, that are compared with the index, .7 ms each on Redis; a page with more has no typing mistakes."""
LETTERS_PER_SLIP = 4  # One typing mistake is allowed for this many letters of a word, or of a name in the fuzzy channel
MOST_SLIPS_IN_A_WORD = 2
"""Most typing mistakes in a word, one fewer than in a name, because more words of prose resemble each other."""
LONGEST_ENDING = 3  # Most letters of a mistyped ending that the stem of the right word does not have
MOST_READ = 5  # Most units that are searched for the whole word of a stem
MOST_CORRECTIONS = 3  # Most corrections of one unknown word


def add_corrections(query: ExpandedQuery, store: Store) -> ExpandedQuery:
    """Add likely corrections of unknown words to the query; they help to find units but do not count as coverage."""
    unknown = [t.text for t in query.words if len(t.text) >= MIN_WORD_LETTERS and t.text.isalpha()]
    unknown = [word for word in unknown if not store.postings.count_units(word)]
    if len(unknown) > MOST_UNKNOWN:
        checked = f"only the first {MOST_UNKNOWN} of {len(unknown)} unknown words"
        store.budget.limits.append(f"{checked} were checked for typing mistakes")
    alike = store.run_tasks(*(partial(_find_stems_like, word, store) for word in unknown[:MOST_UNKNOWN]))
    stems = [(word, stem) for word, stems in zip(unknown, alike, strict=False) for stem in stems]
    found = store.run_tasks(*(partial(_find_whole_word, stem, word, store) for word, stem in stems))
    corrections = [Term(one, "spelling", f"{word} ~ {one}") for (word, _), one in zip(stems, found, strict=True)]
    return replace(query, extra=(*query.extra, *corrections))


def _find_stems_like(word: str, store: Store) -> list[str]:
    """Find stems of the index like an unknown word, with fewest typing mistakes first, then the commonest first.

    The stem of the word is compared, and the word itself in case its ending is mistyped.
    """
    from rapidfuzz import process  # 27 ms, and most queries have no mistake
    from rapidfuzz.distance import OSA

    store.budget.check()
    forms = tuple(dict.fromkeys((store.postings.stem(word), word)))
    shortest = min(len(word) - LONGEST_ENDING, *(len(form) - MOST_SLIPS_IN_A_WORD for form in forms))
    longest = max(len(form) + MOST_SLIPS_IN_A_WORD for form in forms)
    units_of = dict(store.postings.list_vocabulary(word[0], shortest, longest))
    likely = partial(process.extract, choices=units_of.keys(), scorer=OSA.distance, score_cutoff=MOST_SLIPS_IN_A_WORD)
    near = {
        term: slips
        for form in reversed(forms)
        for term, slips, _ in likely(form, limit=None)
        if slips <= min(len(form), len(term)) // LETTERS_PER_SLIP
    }
    ends = range(max(2 * LONGEST_ENDING, len(word) - LONGEST_ENDING), len(word) + 1)
    # The stem of a word has lost its ending, in which the mistake may be.
    near |= {word[:end]: 1 for end in ends if word[:end] in units_of}
    return sorted(near, key=lambda term: (near[term], -units_of[term], term))[:MOST_CORRECTIONS]


def _find_whole_word(stem: str, typed: str, store: Store) -> str:
    """Find in the names and texts of the best units the word with this stem whose length is nearest to the typed word's."""
    rows = store.units.read_rows(
        [unit for unit, _ in store.postings.rank_by_bm25([stem + BEGINNING], {}, None, MOST_READ)]
    )
    documents = {d.id: d for d in store.documents.read_rows({row.document for row in rows.values()})}
    texts, words = Texts(store), set[str]()
    for row in rows.values():
        text = f"{row.qualified_name} {row.path} {texts.read(documents[row.document]).read_span(row.span)}"
        words.update(word for word in index_terms(text).split() if store.postings.stem(word) == stem)
    return min(words, key=lambda word: (abs(len(word) - len(typed)), word), default=stem)


LARGEST = 1_000_000  # Most bytes of a file of aliases
HINT = "a line for each alias: k8s = 'kubernetes', auth = 'authentication authorization'"


def load_aliases(path: str) -> Aliases:
    """Load the aliases of a user's file. Raises SettingsError if it cannot be read or is not a file of aliases."""
    return _parse_aliases(read_own_file(path, "aliases", HINT, LARGEST), path)


@lru_cache(maxsize=4)
def _parse_aliases(text: str, path: str) -> Aliases:
    """Parse a file of aliases; an alias for an empty string removes the lexicon's entry for its word."""
    aliases = {}
    try:
        for phrase, meant in parse_toml(text).items():
            words = tokens(phrase)
            if not 0 < len(words) <= LONGEST_PHRASE or " ".join(words) != phrase:
                raise ValueError(f"alias '{phrase}' must be one to {LONGEST_PHRASE} words of letters and digits")
            if not isinstance(meant, str):
                kind = type(meant).__name__
                raise ValueError(f"alias '{phrase}' must map to a string with spaces between the words, not a {kind}")
            aliases[phrase.casefold()] = tuple(tokens(meant))
    except ValueError as fault:
        raise SettingsError(f"{path}: {fault}", HINT) from None
    return aliases
