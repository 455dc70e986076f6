"""parse query → scope → expand → channels → fuse → signals → order → hits: the one path that `search` and `why` run.

All that happens is written into the trace as it happens; explaining is printing it. Pools have fixed sizes, so what is
shown never depends on how much is shown.
"""

from __future__ import annotations

import math
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from codelens.budget import FEATURES, ORDER, SHOWN, TERMS, WALK, TimeBudget
from codelens.config import Settings
from codelens.embed.base import Embedder
from codelens.errors import EmbedderFault, UsageError
from codelens.lang.registry import accepted_names
from codelens.model import (
    NOTE_KINDS,
    NOTHING_ASKED,
    TODO,
    Candidate,
    DocumentId,
    Event,
    Hit,
    IndexInfo,
    Match,
    Notice,
    SearchOptions,
    SearchResult,
    Trace,
    UnitId,
    UnitRow,
)
from codelens.nouns import dataclass
from codelens.search.embedding import embedder_of_index, vector_of, why_no_embedder
from codelens.search.evidence import Evidence
from codelens.search.expand import ExpandedQuery, expand, load_words
from codelens.search.expansion import Expanding, add_expansion
from codelens.search.features import CERTAIN_CLASS, measure
from codelens.search.filters import BadValueError, kinds_filter, make_filter
from codelens.search.fuse import fuse, normalised
from codelens.search.intent import intent_of
from codelens.search.knowing import rank_by_walk
from codelens.search.metadata import Scalar
from codelens.search.nodes import And, Node, Phrase, also, asks_todos, going_on
from codelens.search.present import present, present_briefly
from codelens.search.profiles import Profile, load_profile
from codelens.search.query import Query, parse_query
from codelens.search.retrieve import add_literal, retrieve
from codelens.search.scope import Scope, build_scope, unknown_repositories, without_metadata
from codelens.search.signals import add_factors, spread_files
from codelens.search.spelling import with_corrections
from codelens.search.spread import WALK as WALKED
from codelens.search.spread import Spreading, add_walk, joining, nearness, spread
from codelens.search.telling import with_common
from codelens.store.store import Store
from codelens.texts import Texts

if TYPE_CHECKING:
    from codelens.search.likeness import Likeness
    from codelens.search.recollection import Recollection

PROSE = ("section", "text", *NOTE_KINDS, TODO)
"""Kinds of units that are no code: Graph Memory's profile has a minimum of its own for them."""
BELOW_MINIMUM = "below minimum"
"""A stage in the trace's events: what --min-score left out."""
LONGEST = 50_000
"""Characters of a query that are read: ten pages of a stack trace. Chosen; they take .3 CPU s."""
OUT_OF_TIME = "out-of-time"
"""The code of a notice that says what there was no time for."""


@dataclass(slots=True)
class Ranking:
    """All candidates in final order, with all that is needed to show or explain them."""

    query: Query
    expanded: ExpandedQuery
    scope: Scope
    profile: Profile
    candidates: list[Candidate]
    channels: tuple[str, ...]
    notices: list[Notice]
    trace: Trace
    texts: Texts
    itself: Mapping[UnitId, UnitRow]
    """What the hits are to resemble, with what lies in it and around it; empty for a search by a query alone."""
    literal: bool = False
    """Whether what satisfies the conditions is found for that alone."""


def search(text: str, store: Store, info: IndexInfo, options: SearchOptions, settings: Settings) -> SearchResult:
    """Answer one query. Raises QueryError (strict queries, broken patterns) and UsageError (options)."""
    with store.spending(settings.query_seconds):
        return answer(rank(text, store, options, settings), store, info, options)


def answer(ranking: Ranking, store: Store, info: IndexInfo, options: SearchOptions) -> SearchResult:
    """The part of an order that is shown."""
    shown = ranking.candidates[options.offset : options.offset + options.limit]
    hits = _hits(shown, ranking, store, options)
    return SearchResult(
        query=ranking.query.text,
        hits=hits,
        total=len(ranking.candidates),
        channels=ranking.channels,
        notices=(*ranking.notices, *_of_notes(shown, ranking, store), *left_out(store.budget)),
        index=info,
        options=options,
        trace=ranking.trace,
        trigram_available="fuzzy" in ranking.expanded.features,
        every_hit_matches=ranking.literal,
    )


def _of_notes(shown: Sequence[Candidate], ranking: Ranking, store: Store) -> Sequence[Notice]:
    notes = [c.unit for c in shown if c.unit.kind in NOTE_KINDS]
    if not notes:
        return ()
    from codelens.search.linked import place_notices

    return place_notices(notes, store, ranking.texts)


def rank(
    text: str, store: Store, options: SearchOptions, settings: Settings, profile: Profile | None = None
) -> Ranking:
    """The whole order of the answer, by the profile that the options name, or by another."""
    with store.spending(settings.query_seconds):
        return _rank(text, store, options, settings, profile)


def _rank(text: str, store: Store, options: SearchOptions, settings: Settings, profile: Profile | None) -> Ranking:
    profile, trace, texts = profile or load_profile(options, settings.weights), Trace(), Texts(store)
    trace.weights = profile.own
    query = parse(text, options, options.prefix or profile.prefix)
    notices = [*query.notices, *strays(store)]
    scope = build_scope(store, query, options, texts, settings)
    notices += [*unknown_repositories(query, scope), *without_metadata(query, scope)]
    if profile.asks_graph and store.edges.is_empty():
        notices.append(Notice("no-edges", "the index has no edges to follow: run `codelens index`"))
    features = features_here(store, settings, notices)
    embedder = embedder_of_index(store, settings) if options.like and "vector" in features else None
    likeness = _likeness(query, store, options, embedder, trace, notices) if options.like else None
    itself = likeness.itself if likeness else {}
    asked = likeness.query if likeness else expand(plain_texts(query), query.identifiers, text)
    store.budget.limits += asked.left_out
    expanded = replace(asked, scoped=scope.units is not None, features=features)
    if not likeness and (profile.aliases or settings.aliases):
        from codelens.search.aliases import with_aliases

        expanded = with_aliases(expanded, settings.aliases, shipped=profile.aliases)
    if "fuzzy" in features and not likeness and not profile.aliases:
        with store.budget.part(TERMS, "unknown words were not corrected"):
            expanded = with_corrections(expanded, store)
    expanded = with_common(expanded, store)
    recollection = _recollection(store, options, profile, notices) if profile.memory else None
    if recollection and not likeness:
        expanded = replace(expanded, learned=recollection.learned(expanded.texts, scope.units))
    trace.common = expanded.common
    trace.terms = [(t.tier, t.text, t.origin) for t in (*expanded.names, *expanded.words, *expanded.extra)]
    if profile.by_intent:
        trace.intent = intent_of(query, options.intent)
    rankings = retrieve(expanded, store, profile, options, settings, trace, notices, itself)
    if "exact" in rankings and asks_todos(query.node):
        _add_todos(rankings, expanded, scope, store, trace)
    literal = add_literal(rankings, expanded, scope, options, trace, notices) if not likeness else ()
    if profile.composite:
        candidates = _by_walk(rankings, literal, expanded, profile, store, scope, options, trace, notices)
    elif profile.quality:
        candidates = _by_quality(rankings, profile, store, options, settings, trace, notices)
    else:
        candidates = _by_ranks(rankings, expanded, profile, store, scope, options, settings, trace)
    if recollection:
        recollection.add(candidates, expanded.learned, profile.of_memory)
    add_factors(candidates, expanded, profile.factors)
    candidates = spread_files(candidates, profile.weights(trace.intent).get("further", 0.0))
    candidates = _expanded(candidates, profile, store, scope, trace)
    if options.rerank:
        from codelens.search.rerank import rerank

        with store.budget.part(ORDER, "hits were not ranked again"):
            store.budget.check()
            candidates = rerank(candidates, expanded, store, settings, notices)
    candidates = _minimum(candidates, profile, options, {match.unit for match in literal}, trace)
    candidates = in_order(candidates, options, scope)
    trace.candidates = candidates
    trace.metadata = _metadata(candidates, settings)
    notices += left_out(store.budget)
    return Ranking(
        query=query,
        expanded=expanded,
        scope=scope,
        profile=profile,
        candidates=candidates,
        channels=tuple(sorted(rankings)),
        notices=notices,
        trace=trace,
        texts=texts,
        itself=itself,
        literal=bool(literal),
    )


def _metadata(candidates: Sequence[Candidate], settings: Settings) -> dict[DocumentId, Mapping[str, Scalar]]:
    """What a person's table says of the candidates' files."""
    if not settings.metadata:
        return {}
    from codelens.search.metadata import load_metadata

    table = load_metadata(settings.metadata)
    places = {c.unit.document: (c.unit.repository, c.unit.path) for c in candidates}
    return {document: table.of(*place) for document, place in places.items()}


def _add_todos(
    rankings: dict[str, Sequence[Match]], query: ExpandedQuery, scope: Scope, store: Store, trace: Trace
) -> None:
    from codelens.search.todos import with_todos

    rankings["exact"] = with_todos(rankings["exact"], query, scope, store, trace.cuts["exact"])
    trace.rankings["exact"] = tuple(rankings["exact"])


def _by_ranks(
    rankings: Mapping[str, Sequence[Match]],
    query: ExpandedQuery,
    profile: Profile,
    store: Store,
    scope: Scope,
    options: SearchOptions,
    settings: Settings,
    trace: Trace,
) -> list[Candidate]:
    """Candidates with what their ranks, the features and the walk give them."""
    units = store.units.rows({m.unit for matches in rankings.values() for m in matches})
    candidates = fuse(rankings, normalised(profile.channels, sorted(rankings)), profile.rrf_k, units, options.fusion)
    if not candidates:
        return candidates
    evidence = Evidence(
        query,
        rankings,
        store,
        profile.bm25f,
        vector_of(query, store, settings) if rankings.get("vector") else b"",
        options.now,
    )
    weights = profile.weights(trace.intent)
    with store.budget.part(FEATURES, "features were left out, so that ranks of channels alone decide"):
        if weights:
            evidence.gather(units.values())
        measure(candidates, evidence, weights, store.budget)
        return _with_walk(candidates, evidence, weights, profile, store, scope, trace)
    for candidate in candidates:
        candidate.measured.clear()
    return candidates


def _by_walk(
    rankings: Mapping[str, Sequence[Match]],
    literal: Sequence[Match],
    query: ExpandedQuery,
    profile: Profile,
    store: Store,
    scope: Scope,
    options: SearchOptions,
    trace: Trace,
    notices: list[Notice],
) -> list[Candidate]:
    """Candidates of a profile whose channels only choose where a walk begins, with what its score is made of."""
    from codelens.search.runtime import running_by

    started = time.perf_counter()
    evidence = Evidence(query, rankings, store, profile.bm25f, now=options.now)
    own = [unit for unit, match in evidence.concepts.items() if match.raw_score >= CERTAIN_CLASS]
    certain = {*own, *(match.unit for match in literal)}
    running_of = running_by(store, options.now, notices)
    with store.budget.part(WALK, "the walk was left out, so that ranks of channels alone decide"):
        candidates = rank_by_walk(
            query,
            rankings,
            certain,
            profile.channels,
            profile.rrf_k,
            profile.composite,
            scope.units,
            store,
            trace,
            running_of,
            evidence.changed,
        )
        measure(candidates, evidence, profile.weights(trace.intent), store.budget)
        trace.seconds["graph"] = time.perf_counter() - started
        return candidates
    units = store.units.rows({m.unit for matches in rankings.values() for m in matches})
    return fuse(rankings, normalised(profile.channels, sorted(rankings)), profile.rrf_k, units, options.fusion)


def _by_quality(
    rankings: Mapping[str, Sequence[Match]],
    profile: Profile,
    store: Store,
    options: SearchOptions,
    settings: Settings,
    trace: Trace,
    notices: list[Notice],
) -> list[Candidate]:
    """Candidates of the profile that weighs ratings and the like; none where nothing could be asked, which is an error."""
    from codelens.search.metadata import load_metadata
    from codelens.search.quality import MEANING, WORDS, rank_by_quality
    from codelens.search.standings import Standings

    if not {MEANING, WORDS} & rankings.keys():
        notices.append(Notice(NOTHING_ASKED, "neither words nor vectors could be asked: the result is empty"))
        return []
    if MEANING not in rankings:
        text = "no vector results: ranked by words alone, without ratings, stars and the like"
        notices.append(Notice("words-alone", text))
    units = store.units.rows({m.unit for matches in rankings.values() for m in matches})
    recollection = _recollection(store, options, profile, notices)
    recorded = recollection.of(units.values()) if recollection else {}
    standings = Standings(store, load_metadata(settings.metadata), recorded, options.now)
    return rank_by_quality(rankings, units, profile.channels, profile.rrf_k, profile.quality, standings.of, trace)


def _with_walk(
    candidates: list[Candidate],
    evidence: Evidence,
    weights: Mapping[str, float],
    profile: Profile,
    store: Store,
    scope: Scope,
    trace: Trace,
) -> list[Candidate]:
    """What the walk over the symbol graph adds: to the candidates that it reached, and candidates that only it found."""
    if not profile.graph or not weights.get(WALKED):
        return candidates
    started = time.perf_counter()
    spreading = Spreading(**profile.graph)
    preliminary = [(c, c.score) for c in candidates]
    with store.budget.part(WALK, "the walk was left out"):
        found = spread(sorted(preliminary, key=lambda p: (-p[1], p[0].unit.content_order())), spreading, store)
        if found is not None:
            joined = joining(found, candidates, spreading, store, scope.units)
            evidence.gather(candidate.unit for candidate in joined)
            measure(joined, evidence, weights, store.budget)
            candidates = [*candidates, *joined]
            add_walk(candidates, found, spreading, weights[WALKED], store)
            trace.nearness = nearness(found)
    trace.seconds["graph"] = time.perf_counter() - started
    return candidates


def parse(text: str, options: SearchOptions, prefix: bool) -> Query:
    """The query as the options have it read, with what --meta and --kind demand; with `prefix` each word may go on.

    The first LONGEST characters of it are read, unless it is one literal text or one pattern.
    """
    read = text if options.literal or options.regex else text[:LONGEST]
    query = parse_query(
        read,
        strict=options.strict_query,
        literal=options.literal,
        regex=options.regex,
        case=options.case,
        known_languages=accepted_names() if "lang:" in text else (),
    )
    if len(read) < len(text):
        notice = Notice("limit", f"only the first {LONGEST} of the query's {len(text)} characters are read")
        query = replace(query, text=text, notices=(*query.notices, notice))
    if prefix:
        query = replace(query, node=going_on(query.node, load_words().stop))
    query = replace(query, node=_demanding(query.node, options.meta)) if options.meta else query
    return also(query, kinds_filter(options.kinds))


def _demanding(node: Node | None, comparisons: Sequence[str]) -> Node:
    """The tree with `--meta` demanded too. Raises UsageError for what compares nothing."""
    parts: tuple[Node, ...] = node.parts if isinstance(node, And) else (node,) if node else ()
    try:
        demanded = [make_filter("meta", text.split(","), (), outside=True) for text in comparisons]
    except BadValueError as fault:
        raise UsageError(f"--meta: {fault}".rstrip(";"), "as in --meta category=cli --meta 'stars>=100'") from None
    parts = (*parts, *demanded)
    return And(parts) if len(parts) > 1 else parts[0]


def _likeness(
    query: Query,
    store: Store,
    options: SearchOptions,
    embedder: Embedder | None,
    trace: Trace,
    notices: list[Notice],
) -> Likeness:
    """What is to be resembled, in the place of the query's words: what is left of it are conditions."""
    from codelens.search.likeness import find_likeness

    try:
        found = find_likeness(options, store, embedder)
    except EmbedderFault as fault:
        notices.append(Notice("no-embedding", f"no vector results: {fault}"))
        found = find_likeness(options, store, None)
    trace.original = found.original
    notices += found.notices
    if words := query.loose_words:
        text = f"beside --like words rank nothing: {', '.join(words)}"
        notices.append(Notice("loose-words", f'{text}; put them in "quotes" to demand them'))
    return found


def _recollection(store: Store, options: SearchOptions, profile: Profile, notices: list[Notice]) -> Recollection | None:
    """What was recorded, where it is switched on and the profile weighs it."""
    if not options.memory or not (profile.memory or profile.quality):
        return None
    from codelens.search.recollection import Recollection

    return Recollection(store, options, notices)


def strays(store: Store) -> list[Notice]:
    """A notice for each tree that was moved away from its index."""
    text = "{}: nothing of what was indexed is there; the index was moved without its tree"
    return [Notice("moved", text.format(row.root)) for row in store.strays()]


def plain_texts(query: Query) -> list[str]:
    """What of a query ranks: its words, and the words of its phrases, where a star is a star."""
    return [p.text.replace("*", " ") if isinstance(p, Phrase) else p.text for p in query.ranking_texts]


def features_here(store: Store, settings: Settings, notices: list[Notice]) -> frozenset[str]:
    """What this index can do here; a notice for each thing it cannot."""
    held, found = store.features(), set[str]()
    if held.fuzzy:
        found.add("fuzzy")
    else:
        notices.append(Notice("no-fuzzy", "the index was built without trigrams: no substrings, no typing mistakes"))
    if not held.vector:
        notices.append(Notice("no-vector", "the index was built without vectors"))
    elif embedder_of_index(store, settings) is None:
        notices.append(why_no_embedder(store, settings))
    elif not store.load_vectors():
        notices.append(Notice("no-vec0", "sqlite-vec cannot be loaded here: no vector results"))
    else:
        found.add("vector")
    return frozenset(found)


def in_order(candidates: list[Candidate], options: SearchOptions, scope: Scope) -> list[Candidate]:
    """Candidates, which are in the order of their scores, as --sort and --reverse want them. Raises UsageError."""
    if options.sort == "path":
        candidates = sorted(candidates, key=lambda c: c.unit.content_order())
    elif options.sort == "modified":
        candidates = sorted(candidates, key=lambda c: (-scope.modified(c.unit.document), c.unit.content_order()))
    elif options.sort != "score":
        raise UsageError(f"cannot sort by '{options.sort}'", "sort by score, path or modified")
    return candidates[::-1] if options.reverse else candidates


def _expanded(
    candidates: list[Candidate], profile: Profile, store: Store, scope: Scope, trace: Trace
) -> list[Candidate]:
    """What the breadth-first expansion adds, where the profile or the options ask for it."""
    if not profile.expansion:
        return candidates
    started = time.perf_counter()
    with store.budget.part(ORDER, "the expansion was left out"):
        candidates = add_expansion(candidates, Expanding(**profile.expansion), store, scope.units)
    trace.seconds["graph"] = trace.seconds.get("graph", 0.0) + time.perf_counter() - started
    return candidates


def _minimum(
    candidates: list[Candidate], profile: Profile, options: SearchOptions, literal: Collection[UnitId], trace: Trace
) -> list[Candidate]:
    """Drop what is under --min-score, a share of the best score; or under the profile's own minimum, but for literal finds."""
    least = {"text": options.min_score, "code": options.min_score} if options.min_score is not None else profile.minimum
    best = max((c.score for c in candidates), default=0.0)
    if not least or (best <= 0 and options.min_score is None):
        return candidates
    kept = []
    for candidate in candidates:
        share = candidate.score / best if best > 0 else 0.0
        spared = options.min_score is None and candidate.unit.id in literal
        if spared or share >= least["text" if candidate.unit.kind in PROSE else "code"]:
            kept.append(candidate)
        else:
            rounded = math.floor(share * 1000) / 1000  # down, so that it is a minimum that lets it pass
            trace.events.append(Event(BELOW_MINIMUM, candidate.unit, f"{rounded:.3f}"))
    return kept


def _hits(shown: Sequence[Candidate], ranking: Ranking, store: Store, options: SearchOptions) -> tuple[Hit, ...]:
    documents = {d.id: d for d in store.documents.rows({c.unit.document for c in shown})}
    roots = {r.id: r.root for r in store.documents.repositories()}
    hits: list[Hit] = []
    brief = 0
    for rank, candidate in enumerate(shown, start=options.offset + 1):
        document = documents[candidate.unit.document]
        root = roots[document.repository]
        with store.budget.part(SHOWN):
            store.budget.check()
            places = ranking.scope.places(candidate.unit, document)
            hits.append(present(candidate, rank, document, root, ranking.expanded, places, ranking.texts, options))
        if len(hits) < rank - options.offset:
            hits.append(present_briefly(candidate, rank, document, root))
            brief += 1
    if brief:
        store.budget.cut.append(f"{brief} of {len(shown)} hits have no lines")
    return tuple(hits)


def left_out(budget: TimeBudget) -> list[Notice]:
    """What limits left out, and what there was no time for; each is told once."""
    told = [Notice("limit", text) for text in dict.fromkeys(budget.limits)]
    if budget.cut:
        spent = f"the query's {budget.seconds:g} s of CPU were spent (setting query_seconds)"
        told.append(Notice(OUT_OF_TIME, f"{spent}: {'; '.join(budget.cut)}"))
    budget.limits, budget.cut = [], []
    return told


def rank_of(ranking: Ranking, unit: UnitId) -> int | None:
    """The place of a unit in the whole order, from 1."""
    return next((i for i, c in enumerate(ranking.candidates, start=1) if c.unit.id == unit), None)
