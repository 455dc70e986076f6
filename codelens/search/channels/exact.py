"""Words: BM25 over the weighted fields of units."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from codelens.model import Match
from codelens.search.expand import COMMON_SHARE, ExpandedQuery
from codelens.store.store import Store


class ExactChannel:
    name = "exact"

    def __init__(self, fields: Mapping[str, float]) -> None:
        self._fields = fields

    def retrieve(self, query: ExpandedQuery, store: Store, limit: int) -> Sequence[Match]:
        terms = telling_terms([t.text for t in (*query.words, *query.extra)], store)
        if not terms:
            return []
        found = store.postings.bm25(terms, self._fields, query.scoped, limit)
        return [Match(unit, score, f"BM25 {score:.2f}") for unit, score in found]


def telling_terms(terms: Sequence[str], store: Store) -> list[str]:
    """The terms that tell units apart: not those that nearly every unit holds, unless there is no other."""
    most = COMMON_SHARE * store.units.count()
    frequencies = {t: store.postings.document_frequency(t) for t in dict.fromkeys(terms)}
    kept = [t for t, n in frequencies.items() if 0 < n <= most]
    return kept or [t for t, n in frequencies.items() if n]
