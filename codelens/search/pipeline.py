"""query → scope → terms → channels → rank → order → hits: the one path that `search` and `why` run.

Every step writes what happens into the run's trace; explaining is printing it. Pools have fixed sizes, so what is shown
never depends on how much is shown.
"""

from __future__ import annotations

from collections.abc import Mapping

from codelens.config import Settings
from codelens.model.budget import without_collector
from codelens.model.code import DocumentId, IndexInfo
from codelens.model.fast_dataclass import replace
from codelens.model.request import SearchOptions
from codelens.model.search import SearchResult
from codelens.query.facts import Scalar, load_metadata
from codelens.query.nodes import Query
from codelens.search.channels.path import find_places
from codelens.search.expansion import expand_query
from codelens.search.intent import detect_intent
from codelens.search.order import adjust_scores, put_in_order
from codelens.search.present import answer
from codelens.search.profile import Profile
from codelens.search.profiles import load_profile
from codelens.search.rankers import RANKERS, Ranking
from codelens.search.retrieve import CandidatePrefetch, prefetch_matches, retrieve
from codelens.search.run import SearchRun
from codelens.search.scope import note_missing_metadata
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
) -> Ranking:
    """Find and order all candidates, by the profile that the options name or by the given one. Raises as `search` does."""
    with store.spending(settings.query_seconds):
        profile = profile or load_profile(options, settings.weights)
        run = find_terms(decide_scope(SearchRun.start(query, store, options, settings, profile)))

        findings = retrieve(run)
        run.trace.lap("literal")

        ranking = RANKERS[profile.ranker].rank(run, findings)
        run.trace.lap("features")

        ranking = put_in_order(adjust_scores(ranking))
        run.trace.metadata = find_metadata(ranking)
        run.trace.lap("order")
    return ranking


def decide_scope(run: SearchRun) -> SearchRun:
    """The run with the abilities of the index; notices say what its conditions and its ranker lack."""
    run.trace.weights = run.profile.own
    run.notices.extend(note_missing_metadata(run.query, run.scope))
    if run.profile.asks_graph and run.store.edges.is_empty():
        run.notice("no-edges", "the index has no edges to follow: run `codelens index`")
    run = replace(run, abilities=run.find_abilities())
    run.trace.lap("scope")
    return run


def find_terms(run: SearchRun) -> SearchRun:
    """The run with what it looks for: the original of --like, the place that the query is, and its terms."""
    run = replace(run, likeness=run.find_likeness())
    run = replace(run, places=find_places(run) if run.profile.takes("path") else {})
    run = expand_query(run, prefetch_matches)
    text = run.query.text.strip()
    if not (run.terms.words or run.terms.names or run.likeness) and run.query.plain and text:
        run.notice("no-words", f"'{text}' has no word to look for; -F finds it as text, --regex as a pattern")
    if run.profile.by_intent:
        run.trace.intent = detect_intent(run.query, run.options.intent)
    run.trace.lap("terms")
    return run if run.store.is_one else replace(run, prefetch=CandidatePrefetch(run))


def find_metadata(ranking: Ranking) -> dict[DocumentId, Mapping[str, Scalar]]:
    """The rows of the user's table of metadata for the files of the candidates."""
    if not ranking.run.settings.metadata:
        return {}
    table = load_metadata(ranking.run.settings.metadata)
    files = {c.unit.document: (c.unit.repository, c.unit.path) for c in ranking.candidates}
    return {document: table.of(*file) for document, file in files.items()}
