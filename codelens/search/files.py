"""A query → files in order: BM25 over what files say of themselves, and the nearest of their units' vectors, joined by ranks.

A file's vector is that of its unit that lies nearest to the query, so none is stored for files. Who writes a file's name or the
end of its path means that file: a contribution of its own, so that ranks by meaning cannot outweigh it.
"""

from __future__ import annotations

import math
import time
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from codelens.budget import CHANNELS, TERMS
from codelens.config import Settings, load_weights
from codelens.errors import EmbedderFault, UsageError
from codelens.model import (
    Candidate,
    Contribution,
    DocumentId,
    Event,
    IndexInfo,
    Match,
    Notice,
    SearchOptions,
    SearchResult,
    Span,
    Trace,
    UnitId,
    UnitRow,
)
from codelens.relations import document_node
from codelens.search.channels.vector import VectorChannel
from codelens.search.expand import ExpandedQuery, expand
from codelens.search.file_words import rank_by_words
from codelens.search.fuse import fuse, normalised
from codelens.search.pipeline import (
    BELOW_MINIMUM,
    Ranking,
    answer,
    features_here,
    in_order,
    left_out,
    parse,
    plain_texts,
    strays,
)
from codelens.search.profiles import load_profile
from codelens.search.query import Query
from codelens.search.scope import Scope, build_scope, documents_in_scope, unknown_repositories
from codelens.search.signals import add_factors
from codelens.store.documents import DocumentRow
from codelens.store.store import Store
from codelens.texts import Texts

FILE = "file"
"""The kind of such hits."""
MODES: Mapping[str, tuple[str, ...]] = {
    "hybrid": ("keyword", "vector"),
    "keyword": ("keyword",),
    "vector": ("vector",),
}
OTHER_CASE = 0.9
"""Value of a name, of 1, that is the file's but for case. Chosen."""
MOST_OUTLINED = 12
"""Names that stand for what a file defines. Chosen: a line."""
UNSUITED = ("like", "intent", "expand", "depth", "decay", "rerank")
"""Options of a search for units that say nothing of files."""


def search_files(text: str, store: Store, info: IndexInfo, options: SearchOptions, settings: Settings) -> SearchResult:
    """Answer one query with files: hits of the kind `file`. Raises what a search raises."""
    with store.spending(settings.query_seconds):
        return answer(rank_files(text, store, options, settings), store, info, options)


def rank_files(text: str, store: Store, options: SearchOptions, settings: Settings) -> Ranking:
    """All files in the order of the answer, each with its contributions."""
    for name in UNSUITED:
        given = getattr(options, name)
        if given is not False and given not in ("", None):  # a depth of 0 equals False, and is given
            raise UsageError(f"--{name} has nothing to say of files", "leave it out, or --files-only")
    profile, weights = load_profile(SearchOptions(profile=options.profile), settings.weights), _weights(options)
    trace, texts, query = Trace(), Texts(store), parse(text, options, options.prefix)
    notices = [*query.notices, *strays(store)]
    scope = build_scope(store, query, options, texts, settings)
    notices += unknown_repositories(query, scope)
    documents = _documents(query, scope, store, options)
    expanded = _expanded(query, text, scope, features_here(store, settings, notices))
    trace.terms = [(t.tier, t.text, t.origin) for t in (*expanded.words, *expanded.extra)]
    rankings = _rankings(expanded, documents, store, options, settings, weights["cuts"], trace, notices)
    named = _named(query, documents, store)
    rows = _rows({m.unit for matches in rankings.values() for m in matches} | set(named), documents, store)
    k = options.rrf_k or profile.rrf_k
    candidates = fuse(rankings, normalised(weights["channels"], sorted(rankings)), k, rows, options.fusion)
    add_factors(candidates, expanded, weights["factors"])
    candidates = _with_names(candidates, named, rows, weights["named"] / (k + 1))
    literal = _literal(expanded, documents, scope, store)
    known = {c.unit.id for c in candidates}
    candidates += [Candidate(row) for unit, row in literal.items() if unit not in known]
    candidates = _enough(sorted(candidates, key=Candidate.order), options, weights["minimum"], literal, trace)
    candidates = in_order(candidates, options, scope)
    trace.candidates = candidates
    notices += left_out(store.budget)
    channels = tuple(sorted(rankings))
    return Ranking(query, expanded, scope, profile, candidates, channels, notices, trace, texts, {}, bool(literal))


def _weights(options: SearchOptions) -> dict[str, Any]:
    """The table [PROFILE.files] of weights.toml, the default profile's where a profile has none, with --weights."""
    profiles = load_weights()
    row = profiles.get(options.profile, {}).get("files") or profiles["codelens"]["files"]
    if unknown := sorted(set(options.weights) - set(row["channels"])):
        raise UsageError(f"files have no channel '{unknown[0]}'", f"channels: {', '.join(sorted(row['channels']))}")
    return {**row, "channels": {**row["channels"], **options.weights}}


def _documents(query: Query, scope: Scope, store: Store, options: SearchOptions) -> dict[DocumentId, DocumentRow]:
    """The files that may be found: by the options alone, or those with a unit that the query's conditions let through."""
    documents = {d.id: d for d in documents_in_scope(store, options)}
    if scope.units is None or (query.plain and not options.kinds):
        return documents
    held = store.files.in_scope()
    return {i: d for i, d in documents.items() if i in held}


def _expanded(query: Query, text: str, scope: Scope, features: frozenset[str]) -> ExpandedQuery:
    found = expand(plain_texts(query), query.identifiers, text)
    scope.texts.store.budget.limits += found.left_out
    return ExpandedQuery(
        found.text,
        found.names,
        found.words,
        found.extra,
        scoped=scope.units is not None,
        features=features,
        texts=found.texts,
    )


def _rankings(
    expanded: ExpandedQuery,
    documents: Mapping[DocumentId, DocumentRow],
    store: Store,
    options: SearchOptions,
    settings: Settings,
    cuts: Mapping[str, float],
    trace: Trace,
    notices: list[Notice],
) -> dict[str, Sequence[Match]]:
    """Each channel's files, best first, cut at its fixed length."""
    if options.mode not in MODES:
        raise UsageError(f"files have no mode '{options.mode}'", f"modes: {', '.join(MODES)}")
    rankings: dict[str, Sequence[Match]] = {}
    for place, name in enumerate(MODES[options.mode], start=1):
        if name == "vector" and name not in expanded.features:
            continue
        started, found = time.perf_counter(), None
        share = TERMS + (CHANNELS - TERMS) * place / len(MODES[options.mode])
        try:
            with store.budget.part(share, f"{name} was left out"), store.interrupting():
                if name == "keyword":
                    found = _by_words(expanded, documents, store)
                else:
                    found = _by_vectors(expanded, documents, store, settings, int(cuts["units"]))
        except EmbedderFault as fault:
            notices.append(Notice("no-embedding", f"no vector results: {fault}"))
        if found is None:
            continue
        rankings[name] = trace.rankings[name] = tuple(found[: int(cuts[name])])
        trace.cuts[name], trace.seconds[name] = int(cuts[name]), time.perf_counter() - started
    return rankings


def _by_words(expanded: ExpandedQuery, documents: Mapping[DocumentId, DocumentRow], store: Store) -> list[Match]:
    said = rank_by_words(expanded, store)
    order = sorted((d for d in said if d in documents), key=lambda d: (-said[d].score, _place(documents[d])))
    return [Match(_unit(d), said[d].score, said[d].reason) for d in order]


def _by_vectors(
    expanded: ExpandedQuery,
    documents: Mapping[DocumentId, DocumentRow],
    store: Store,
    settings: Settings,
    units: int,
) -> list[Match]:
    """Files by the nearest of their units; `units` are looked at."""
    near = VectorChannel(settings).retrieve(expanded, store, units)
    rows = store.units.rows([match.unit for match in near])
    best: dict[DocumentId, Match] = {}
    for match in near:
        row = rows[match.unit]
        if row.document in documents and row.document not in best:
            reason = f"{match.reason} of {row.qualified_name}"
            best[row.document] = Match(_unit(row.document), match.raw_score, reason)
    return list(best.values())


def _named(query: Query, documents: Mapping[DocumentId, DocumentRow], store: Store) -> dict[UnitId, tuple[float, str]]:
    """Files that the query names → (value, what it says): the whole of it, or a word with a dot or slash, ends their path."""
    words = [
        w for w in (*query.words, *query.identifiers, *query.phrases) if "." in w.strip(".") or "/" in w.strip("/")
    ]
    asked = [a.strip().removeprefix("./").strip("/") for a in dict.fromkeys([query.text.strip(' `"'), *words])]
    found: dict[UnitId, tuple[float, str]] = {}
    for name in filter(None, asked):
        folded = f"/{name}".casefold()
        for document in documents.values():
            path = f"/{document.path}"
            if path.casefold().endswith(folded):
                value = 1.0 if path.endswith(f"/{name}") else OTHER_CASE
                found[_unit(document.id)] = max(found.get(_unit(document.id), (0.0, "")), (value, name))
    return found


def _with_names(
    candidates: Sequence[Candidate],
    named: Mapping[UnitId, tuple[float, str]],
    rows: Mapping[UnitId, UnitRow],
    weight: float,
) -> list[Candidate]:
    by_unit = {c.unit.id: c for c in candidates}
    for unit, (value, name) in named.items() if weight else ():
        candidate = by_unit.setdefault(unit, Candidate(rows[unit]))
        operands = {"weight": weight, "value": value}
        candidate.told.append(Contribution("named", weight * value, f"its path ends in {name}", "bonus", operands))
    return list(by_unit.values())


def _literal(
    expanded: ExpandedQuery, documents: Mapping[DocumentId, DocumentRow], scope: Scope, store: Store
) -> dict[UnitId, UnitRow]:
    """Every file that satisfies the conditions, where they demand a text or nothing else is asked: found, whatever its words."""
    if (expanded.words or expanded.names) and not scope.demands_text:
        return {}
    return _rows({_unit(d) for d in documents}, documents, store)


def _enough(
    candidates: Sequence[Candidate], options: SearchOptions, minimum: float, literal: Collection[UnitId], trace: Trace
) -> list[Candidate]:
    """Those with at least this share of the best score, in order as they come. The profile's own minimum spares literal finds."""
    least = minimum if options.min_score is None else options.min_score
    best = candidates[0].score if candidates else 0.0
    kept = []
    for candidate in candidates:
        if candidate.score >= least * best or (options.min_score is None and candidate.unit.id in literal):
            kept.append(candidate)
        else:
            share = math.floor(candidate.score / best * 1000) / 1000  # down, so that it is a minimum that lets it pass
            trace.events.append(Event(BELOW_MINIMUM, candidate.unit, f"{share:.3f}"))
    return kept


def _unit(document: int) -> UnitId:
    """A file stands among units by the number of its node in the graph."""
    return UnitId(document_node(document))


def _place(document: DocumentRow) -> tuple[int, str]:
    return (document.repository, document.path)


def _rows(
    units: Collection[UnitId], documents: Mapping[DocumentId, DocumentRow], store: Store
) -> dict[UnitId, UnitRow]:
    """Files as hits show them: the whole of each, with the names of what it defines as its doc."""
    names = {r.id: r.name for r in store.documents.repositories()}
    found = {}
    for unit in sorted(units, reverse=True):
        document = documents[DocumentId(-unit)]
        size, lines = store.files.extent(document.id)
        outline = [name for _, name in store.files.outline(document.id, MOST_OUTLINED)]
        found[unit] = UnitRow(
            id=unit,
            document=document.id,
            kind=FILE,
            name=document.path.rpartition("/")[2],
            container="",
            parent=None,
            span=Span(0, size),
            name_span=Span(0, 0),
            body_start=size,
            start_line=1,
            end_line=max(lines, 1),
            name_line=0,
            name_column=0,
            signature="",
            doc=", ".join(outline),
            path=document.path,
            language=document.language,
            repository=names[document.repository],
            roles=document.roles,
        )
    return found
