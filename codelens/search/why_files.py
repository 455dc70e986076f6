"""Why a file has its rank among files, or what lost it: read off the trace of the same search, as `why` does for units."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from codelens.config import Settings
from codelens.errors import TargetError
from codelens.explained import Explanation, Loss, WhyResult
from codelens.model import DocumentId, IndexInfo, SearchOptions
from codelens.search.files import rank_files
from codelens.search.pipeline import BELOW_MINIMUM, Ranking, answer
from codelens.search.scope import documents_in_scope
from codelens.search.why import not_indexed, ranked
from codelens.store.store import Store
from codelens.targets import resolve_target


def explain_files(
    text: str, targets: Sequence[str], store: Store, info: IndexInfo, options: SearchOptions, settings: Settings
) -> WhyResult:
    """The search for files, and for each target (or each file shown) its place in it. A symbol stands for its file.

    Raises TargetError for names that fit nothing.
    """
    with store.spending(settings.query_seconds):
        return _explained(text, targets, store, info, options, settings)


def _explained(
    text: str, targets: Sequence[str], store: Store, info: IndexInfo, options: SearchOptions, settings: Settings
) -> WhyResult:
    resolved = [resolve_target(target, store) for target in targets]
    ranking = rank_files(text, store, options, settings)
    result, order = answer(ranking, store, info, options), ranking.candidates
    if not targets:
        shown = range(options.offset, min(len(order), options.offset + options.limit))
        return WhyResult(result, tuple(ranked(order[i].unit.path, order, i) for i in shown))
    explanations = []
    for target in resolved:
        document = target.unit.document if target.unit else target.document.id if target.document else None
        if document is None:
            loss = not_indexed(target, store, settings)
            explanations.append(Explanation(target.text, None, None, None, None, loss))
        else:
            explanations.append(_explain(target.text, document, ranking, store, options))
    return WhyResult(result, tuple(explanations))


def _explain(text: str, document: DocumentId, ranking: Ranking, store: Store, options: SearchOptions) -> Explanation:
    order = ranking.candidates
    place = next((i for i, c in enumerate(order) if c.unit.document == document), None)
    if place is None:
        return Explanation(text, None, None, None, None, _lost(document, ranking, store, options))
    found = ranked(text, order, place)
    if options.offset <= place < options.offset + options.limit:
        return found
    if place < options.offset:
        loss = Loss("offset", f"rank {place + 1} lies before --offset {options.offset}", f"--offset {place} or less")
    else:
        loss = Loss("beaten", f"rank {place + 1} of {len(order)}", f"-m {place + 1 - options.offset}")
    return replace(found, loss=loss)


def _lost(document: DocumentId, ranking: Ranking, store: Store, options: SearchOptions) -> Loss:
    event = next((e for e in ranking.trace.events if e.unit.document == document), None)
    if event is not None and event.stage == BELOW_MINIMUM:
        return Loss(event.stage, f"its share of the best score is {event.text}", f"--min-score {event.text} or less")
    path = next((d.path for d in store.documents.rows([document])), "")
    if not path:
        raise TargetError("it is not in the index")
    if document not in {d.id for d in documents_in_scope(store, options)}:
        return Loss("filtered", f"an option keeps {path} out", "--root-scope, or without -t, -g, PATH and the like")
    if ranking.scope.units is not None and document not in store.files.in_scope():
        return Loss("filtered", f"nothing in {path} satisfies the conditions of the query", "leave a condition out")
    said = ", ".join(term for _, term, _ in ranking.trace.terms) or "nothing"
    return Loss("no channel", f"the query says {said}; no word of it is {path}'s, and none of its units lies near", "")
