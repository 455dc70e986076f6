"""A parsed query → the terms of the search: those of its words, related words, corrections, and units that were used for them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from codelens.model.budget import TERMS
from codelens.model.fast_dataclass import replace
from codelens.model.search import ExpandedQuery
from codelens.search.lexicon import add_corrections, add_related_words, load_aliases
from codelens.search.run import SearchRun
from codelens.search.terms import expand, plain_texts
from codelens.store.store import Store

LITERAL_MODES = frozenset({"exact", "fuzzy"})  # Modes in which no word stands for another unless the user says so
UNKNOWN_WORDS = "unknown-words"  # Code of the notice that lists words of the query that the index does not have
MOST_NAMED = 5  # Unknown words that the notice names; it counts the others
PATH_COLUMNS = ("path", "concepts")  # Columns of the words' index that say where a unit lies
COMMON_IN_UNITS = 0.3
"""Share of all units. A more frequent term moves no rank among the first (its idf is under .9) and costs the most time."""


def expand_query(run: SearchRun, prefetch_matches: Callable[[SearchRun], None]) -> SearchRun:
    """The run with the terms of its query or original, with related words and learned units; the trace lists them.

    `prefetch_matches` says what else will be asked about the query's own words. Raises SettingsError for a faulty file of aliases.
    """
    query, store, profile = run.query, run.store, run.profile
    if run.likeness:
        terms = run.likeness.query
    elif profile.keywords:
        from codelens.search.channels.keywords import find_keywords  # few profiles look for keywords

        terms = find_keywords(plain_texts(query), query.identifiers, query.text, profile.keywords["clusters"])
    else:
        terms = expand(plain_texts(query), query.identifiers, query.text)
    run = replace(run, terms=terms)
    prefetching = partial(prefetch_matches, run), partial(_prefetch_frequencies, run)
    if run.likeness:
        store.at_once(*prefetching)
    else:
        store.budget.limits += terms.left_out
        aliases = load_aliases(run.settings.aliases) if run.settings.aliases else {}
        by_lexicon = run.settings.lexicon and run.options.mode not in LITERAL_MODES
        related = partial(add_related_words, terms, store, aliases, profile.related if by_lexicon else {})
        terms, *_ = store.at_once(related, *prefetching)
        if "fuzzy" in run.abilities and not (profile.aliases or profile.keywords):
            with store.budget.part(TERMS, "unknown words were not corrected"):
                terms = add_corrections(terms, store)
        note_unknown_words(run, terms)
    terms = mark_common(terms, store)
    if profile.memory and profile.channels.get("equivalence") and run.recollection and not run.likeness:
        terms = replace(terms, learned=run.recollection.learned(terms.texts, run.within))
    run.trace.common = terms.common
    run.trace.terms = [(t.tier, t.text, t.origin) for t in (*terms.names, *terms.words, *terms.extra, *terms.related)]
    return replace(run, terms=terms)


def _prefetch_frequencies(run: SearchRun) -> None:
    terms, weighs_messages = run.terms, run.profile.features.get("messages")
    run.store.foresee(
        *(("postings.document_frequency", (t.text,)) for t in (*terms.words, *terms.extra)),
        *(("postings.document_frequency", (t.text, PATH_COLUMNS)) for t in terms.words),
        *(("units.named", (t.text, None, 1)) for t in terms.names),
        *(("messages.frequency", (t.text,)) for t in terms.words if weighs_messages),
        *([("messages.totals", ())] if weighs_messages else []),
    )


def mark_common(query: ExpandedQuery, store: Store) -> ExpandedQuery:
    """The query with its `common` terms marked, unless it has no other term to search by."""
    most = COMMON_IN_UNITS * store.units.count()
    terms = dict.fromkeys(t.text for t in (*query.words, *query.extra))
    frequencies = store.postings.document_frequencies(terms)
    common = tuple(term for term, units in frequencies.items() if units > most)
    has_rare = any(0 < units <= most for units in frequencies.values())
    return replace(query, common=common) if common and has_rare else query


def note_unknown_words(run: SearchRun, terms: ExpandedQuery) -> None:
    """Add a notice of the query's words that no unit has, if there are any, with what was looked for instead."""
    if run.places or run.options.literal or run.options.regex:  # the number of a line need not occur
        return
    corrections: dict[str, list[str]] = {}
    for term in terms.extra:
        if term.tier == "spelling":
            word, _, correction = term.origin.partition(" ~ ")
            corrections.setdefault(word, []).append(correction)
    names = {term.origin for term in terms.names if run.store.units.named(term.text, None, 1)}
    unknown = dict.fromkeys(
        term.origin
        for term in terms.words
        if term.tier != "prefix"
        and not term.origin.isdecimal()
        and term.origin not in names
        and not run.store.postings.document_frequency(term.text)
    )
    if not unknown:
        return
    shown = []
    for word in [*unknown][:MOST_NAMED]:
        read_as = corrections.get(word.casefold())
        shown.append(f"'{word}'" + (f" (read as {' or '.join(read_as)})" if read_as else ""))
    more = f" and {len(unknown) - MOST_NAMED} other words" if len(unknown) > MOST_NAMED else ""
    verb = "do" if len(unknown) > 1 else "does"
    run.notice(UNKNOWN_WORDS, f"{', '.join(shown)}{more} {verb} not occur in this index as a word")
