"""parse query → scope → terms → channels → rank → order → hits: the one path that `search` and `why` run.

Every step writes what happens into the run's trace; explaining is printing it. Pools have fixed sizes, so what is shown
never depends on how much is shown.
"""

from __future__ import annotations

from codelens.config import Settings
from codelens.model.budget import without_collector
from codelens.model.code import IndexInfo
from codelens.model.request import SearchOptions
from codelens.model.search import SearchResult
from codelens.query.nodes import Query
from codelens.search.channels.path import find_place
from codelens.search.intent import intent_of
from codelens.search.order import adjust, final_order
from codelens.search.present import answer
from codelens.search.profiles import Profile, load_profile
from codelens.search.rankers import RANKERS
from codelens.search.retrieve import add_literal_matches, add_todos, foresee_matches, retrieve
from codelens.search.run import SearchRun
from codelens.search.scope import without_metadata
from codelens.search.terms import search_terms
from codelens.store.store import Store


def search(
    query: str | Query, store: Store, info: IndexInfo, options: SearchOptions, settings: Settings
) -> SearchResult:
    """Answer one query. Raises QueryError (strict queries, broken patterns) and UsageError (options)."""
    with store.spending(settings.query_seconds), without_collector():
        result = answer(rank(query, store, options, settings), info)
        result.trace.lap("present")
        return result


def rank(
    query: str | Query, store: Store, options: SearchOptions, settings: Settings, profile: Profile | None = None
) -> SearchRun:
    """Find and order all candidates, by the profile that the options name or by the given one. Raises as `search` does."""
    with store.spending(settings.query_seconds):
        profile = profile or load_profile(options, settings.weights)
        run = SearchRun.start(query, store, options, settings, profile)
        run.trace.weights = profile.own
        run.notices += without_metadata(run.query, run.scope)
        if profile.asks_graph and store.edges.is_empty():
            run.notice("no-edges", "the index has no edges to follow: run `codelens index`")
        run.abilities = run.find_abilities()
        run.trace.lap("scope")
        if options.like:
            run.find_likeness()
        run.targets = find_place(run) if profile.takes("path") else {}
        run.terms = search_terms(run, foresee_matches)
        if (
            not (run.terms.words or run.terms.names or run.likeness)
            and run.query.plain
            and (text := run.query.text.strip())
        ):
            run.notice("no-words", f"'{text}' has no word to look for; -F finds it as text, --regex as a pattern")
        if profile.by_intent:
            run.trace.intent = intent_of(run.query, options.intent)
        run.trace.lap("terms")

        matches = retrieve(run)
        add_literal_matches(run, matches)
        add_todos(run, matches)
        run.channels = tuple(sorted(matches))
        run.trace.lap("literal")

        candidates = RANKERS[profile.ranker].rank(run, matches)
        run.trace.lap("features")
        run.finish(final_order(run, adjust(run, candidates)))
        run.trace.metadata = run.metadata()
        run.trace.lap("order")
    return run
