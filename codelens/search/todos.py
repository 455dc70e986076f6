"""Comments that say what is to be done, by the words of a query: matches beside those of the channel `exact`.

They stand aside from the index of words, so that no other figure counts them, and are few: their own words are compared here, by
BM25 with the rarity that the words have in the index.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from codelens.model import TODO, Match, UnitId, UnitRow
from codelens.search.evidence import LENGTH_SHARE, SATURATION, stem
from codelens.search.expand import ExpandedQuery
from codelens.search.scope import Scope
from codelens.store.store import Store
from codelens.text.terms import index_terms

MOST = 50_000
"""Comments that are compared. Chosen: Linux has some 20 000."""


def with_todos(
    ranking: Sequence[Match], query: ExpandedQuery, scope: Scope, store: Store, limit: int
) -> Sequence[Match]:
    """The matches and those of the comments in scope, best first; the ranking itself where no comment takes part."""
    if scope.units is None or not query.words:
        return ranking
    rows = store.units.rows(store.units.of_kind(scope.units, TODO, MOST))
    found = _scored(sorted(rows.values(), key=UnitRow.content_order), query, store)
    if not found:
        return ranking
    return sorted([*ranking, *found], key=lambda m: -m.raw_score)[:limit]  # stable: ties stay in order of content


def _scored(rows: Sequence[UnitRow], query: ExpandedQuery, store: Store) -> list[Match]:
    if not rows:
        return []
    total = store.units.count()
    rarity: dict[str, float] = {}
    for text in dict.fromkeys(t.text for t in query.words):
        frequency = store.postings.document_frequency(text)
        rarity[stem(text)] = math.log(1.0 + (total - frequency + 0.5) / (frequency + 0.5))
    words = {row.id: [stem(w) for w in index_terms(f"{row.name} {row.container}").split()] for row in rows}
    mean = math.fsum(map(len, words.values())) / len(words)
    scores = ((row.id, _bm25(words[row.id], rarity, mean or 1.0)) for row in rows)
    return [Match(UnitId(unit), score, f"its words, {score:.2f}") for unit, score in scores if score > 0]


def _bm25(words: Sequence[str], rarity: dict[str, float], mean: float) -> float:
    norm = SATURATION * (1 - LENGTH_SHARE + LENGTH_SHARE * len(words) / mean)
    counts = {term: words.count(term) for term in rarity}
    return math.fsum(rarity[t] * n * (SATURATION + 1) / (n + norm) for t, n in counts.items() if n)
