"""Places: units in files and folders that the query's words name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from codelens.model.search import Match
from codelens.search.run import SearchRun

COMMON_ON_PATHS = 0.1
"""Share of all units. A word on the paths of more names the project, not a place in it. Chosen, not measured."""
COLUMNS: Mapping[str, float] = {"path": 1.0, "concepts": 1.0}
"""Column → weight in BM25: the folders above, and the file's name with its folder. Neither goes first. Chosen."""


class PathChannel:
    """All units of a file have its path, so this ranks files and folders more than units."""

    name = "path"

    def retrieve(self, run: SearchRun, limit: int) -> Sequence[Match]:
        """Units whose path holds any word of the query that tells places apart. The raw score is BM25, above 0."""
        query, store = run.terms, run.store
        most = COMMON_ON_PATHS * store.units.count()
        frequencies = {t.text: store.postings.document_frequency(t.text, tuple(COLUMNS)) for t in query.words}
        terms = [t for t, n in frequencies.items() if 0 < n <= most]
        if not terms:
            return []
        found = store.postings.bm25(terms, COLUMNS, run.within, limit, tuple(COLUMNS))
        return [Match(unit, score, f"path BM25 {score:.2f}") for unit, score in found]
