"""Places: units in files and folders that the query's words name."""

from __future__ import annotations

from collections.abc import Sequence

from codelens.model import Match
from codelens.search.expand import ExpandedQuery
from codelens.store.store import Store

COMMON_ON_PATHS = 0.1
"""A word in this share of all paths names the project, not a place in it."""


class PathChannel:
    name = "path"

    def retrieve(self, query: ExpandedQuery, store: Store, limit: int) -> Sequence[Match]:
        most = COMMON_ON_PATHS * store.units.count()
        frequencies = {t.text: store.postings.document_frequency(t.text, ("path", "concepts")) for t in query.words}
        terms = [t for t, n in frequencies.items() if 0 < n <= most]
        if not terms:
            return []
        weights = {"path": 1.0, "concepts": 1.0}
        found = store.postings.bm25(terms, weights, query.scoped, limit, ("path", "concepts"))
        return [Match(unit, score, f"path BM25 {score:.2f}") for unit, score in found]
