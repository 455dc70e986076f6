"""Words: BM25 over the weighted fields of units."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from codelens.model import Match
from codelens.search.expand import ExpandedQuery
from codelens.store.store import Store


class ExactChannel:
    """`fields`: column → its weight in BM25; what stands only in columns of weight 0 is not found."""

    name = "exact"

    def __init__(self, fields: Mapping[str, float]) -> None:
        self._fields = fields
        self._columns = [column for column, weight in fields.items() if weight] if 0.0 in fields.values() else []

    def retrieve(self, query: ExpandedQuery, store: Store, limit: int) -> Sequence[Match]:
        """Units with any term of the query, without those that too many units hold. The raw score is BM25, above 0."""
        terms = dict.fromkeys(t.text for t in (*query.words, *query.extra) if t.text not in query.common)
        if not terms:
            return []
        found = store.postings.bm25(list(terms), self._fields, query.scoped, limit, self._columns)
        return [Match(unit, score, f"BM25 {score:.2f}") for unit, score in found]
