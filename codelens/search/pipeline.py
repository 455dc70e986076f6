"""Runs a search for `search` and `why`: query → scope → terms → channels → rank → order → hits.

Every step records what it does in the run's trace, which `why` explains. Pools have fixed sizes, so the limit of a search
never changes its order.
"""

from __future__ import annotations

from functools import partial

from codelens.config import Settings
from codelens.model.budget import TERMS
from codelens.model.fast_dataclass import replace
from codelens.model.request import SearchOptions
from codelens.model.search import ExpandedQuery
from codelens.query.facts import load_metadata
from codelens.query.nodes import Query
from codelens.search.ahead import make_candidate_prefetch, prefetch_frequencies, prefetch_matches
from codelens.search.channels.path import find_places
from codelens.search.intent import detect_intent
from codelens.search.lexicon import add_corrections, add_related_words, load_aliases
from codelens.search.order import adjust_scores, put_in_order
from codelens.search.profiles import load_profile
from codelens.search.rankers import Ranking, load_ranker
from codelens.search.retrieve import add_literal_matches, add_todos, choose_channels, limit_matches, retrieve
from codelens.search.run import Profile, SearchRun
from codelens.search.scope import note_missing_metadata
from codelens.search.terms import expand_query, list_plain_texts
from codelens.store.store import Store

LITERAL_MODES = frozenset({"exact", "fuzzy"})  # Modes that replace no word by a related one, except by aliases
UNKNOWN_WORDS = "unknown-words"  # Code of the notice that lists words of the query that the index does not have
MOST_NAMED = 5  # Most unknown words that the notice names; it counts the others
COMMON_IN_UNITS = 0.3
"""Share of all units above which a term is common: it does not change the first ranks (its idf is under .9) and is the slowest."""


def rank(
    query: str | Query, store: Store, options: SearchOptions, settings: Settings, profile: Profile | None = None
) -> Ranking:
    """Find and rank all candidates by the given profile, or else by the one that the options name.

    Raises QueryError (strict queries, broken patterns) and UsageError (options).
    """
    with store.limit_time(settings.query_seconds):
        profile = profile or load_profile(options, settings.weights)
        run = SearchRun.start(query, store, options, settings, profile)
        run.trace.weights = profile.own
        run.notices.extend(note_missing_metadata(run.query, run.scope))
        if (profile.composite or profile.expansion) and store.edges.is_empty():  # others lose only a bonus
            run.add_notice("no-edges", "the index has no edges to follow: run `codelens index`")
        run = replace(run, abilities=run.find_abilities())
        run.trace.count_lap("scope")

        run = find_terms(run)
        run.trace.count_lap("terms")

        findings = retrieve(run, choose_channels(run), partial(limit_matches, profile.cuts))
        findings = add_todos(run, add_literal_matches(run, findings))
        run.trace.count_lap("literal")

        ranking = load_ranker(profile.ranker)(run, findings)
        run.trace.count_lap("features")

        ranking = put_in_order(adjust_scores(ranking))
        if settings.metadata:
            table = load_metadata(settings.metadata)
            files = {c.unit.document: (c.unit.repository, c.unit.path) for c in ranking.candidates}
            run.trace.metadata = {document: table.find_values(*file) for document, file in files.items()}
        run.trace.count_lap("order")
    return ranking


def find_terms(run: SearchRun) -> SearchRun:
    """Find what the run looks for: the original of --like, the place that the query names, and the terms of its words with
    related words and learned units. The trace lists the terms. Raises SettingsError for a faulty file of aliases."""
    run = replace(run, likeness=run.find_likeness())
    run = replace(run, places=find_places(run) if run.profile.uses_channel("path") else {})
    query, store, profile, trace = run.query, run.store, run.profile, run.trace
    if run.likeness:
        terms = run.likeness.query
    elif profile.keywords:
        from codelens.search.channels.keywords import find_keywords  # few profiles look for keywords

        terms = find_keywords(list_plain_texts(query), query.identifiers, query.text, profile.keywords["clusters"])
    else:
        terms = expand_query(list_plain_texts(query), query.identifiers, query.text)
    run = replace(run, terms=terms)
    prefetching = partial(prefetch_matches, run), partial(prefetch_frequencies, run)
    if run.likeness:
        store.run_tasks(*prefetching)
    else:
        store.budget.limits += terms.left_out
        aliases = load_aliases(run.settings.aliases) if run.settings.aliases else {}
        by_lexicon = run.settings.lexicon and run.options.mode not in LITERAL_MODES
        related = partial(add_related_words, terms, store, aliases, profile.related if by_lexicon else {})
        terms, *_ = store.run_tasks(related, *prefetching)
        if "fuzzy" in run.abilities and not (profile.aliases or profile.keywords):
            with store.budget.part(TERMS, "unknown words were not corrected"):
                terms = add_corrections(terms, store)
        note_unknown_words(run, terms)
    terms = mark_common_terms(terms, store)
    if profile.memory and profile.channels.get("equivalence") and run.recollection and not run.likeness:
        terms = replace(terms, learned=run.recollection.find_learned(terms.texts, run.within))
    trace.common = terms.common
    trace.terms = [(t.tier, t.text, t.origin) for t in (*terms.names, *terms.words, *terms.extra, *terms.related)]
    text = query.text.strip()
    if not (terms.words or terms.names or run.likeness) and query.plain and text:
        run.add_notice("no-words", f"'{text}' has no word to look for; -F finds it as text, --regex as a pattern")
    if profile.depends_on_intent:
        trace.intent = detect_intent(query, run.options.intent)
    run = replace(run, terms=terms)
    return run if store.is_one else replace(run, prefetch=make_candidate_prefetch(run))


def mark_common_terms(query: ExpandedQuery, store: Store) -> ExpandedQuery:
    """Record the query's most frequent terms as `common`, unless it has no rarer term to search by."""
    most = COMMON_IN_UNITS * store.units.count()
    terms = dict.fromkeys(t.text for t in (*query.words, *query.extra))
    frequencies = store.postings.count_units_by_term(terms)
    common = tuple(term for term, units in frequencies.items() if units > most)
    has_rare = any(0 < units <= most for units in frequencies.values())
    return replace(query, common=common) if common and has_rare else query


def note_unknown_words(run: SearchRun, terms: ExpandedQuery) -> None:
    """Add a notice about the query's words that occur in no unit, if any, with their corrections."""
    if run.places or run.options.literal or run.options.regex:  # the number of a line need not occur
        return
    corrections: dict[str, list[str]] = {}
    for term in terms.extra:
        if term.tier == "spelling":
            word, _, correction = term.origin.partition(" ~ ")
            corrections.setdefault(word, []).append(correction)
    names = {term.origin for term in terms.names if run.store.units.find_by_name(term.text, None, 1)}
    words = [t for t in terms.words if t.tier != "prefix" and not t.origin.isdecimal() and t.origin not in names]
    unknown = dict.fromkeys(term.origin for term in words if not run.store.postings.count_units(term.text))
    if not unknown:
        return
    shown = []
    for word in [*unknown][:MOST_NAMED]:
        read_as = corrections.get(word.casefold())
        shown.append(f"'{word}'" + (f" (read as {' or '.join(read_as)})" if read_as else ""))
    more = f" and {len(unknown) - MOST_NAMED} other words" if len(unknown) > MOST_NAMED else ""
    verb = "do" if len(unknown) > 1 else "does"
    run.add_notice(UNKNOWN_WORDS, f"{', '.join(shown)}{more} {verb} not occur in this index as a word")
