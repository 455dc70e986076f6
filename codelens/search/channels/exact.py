"""Words: BM25 over the weighted fields of units, and over to-do comments if the query asks for them."""

from __future__ import annotations

import math
from collections.abc import Sequence

from codelens.model.code import UnitId, UnitRow
from codelens.model.search import Match
from codelens.query.nodes import asks_todos
from codelens.search.evidence import LENGTH_SHARE, SATURATION
from codelens.search.run import SearchRun
from codelens.search.terms import ALIAS, ExpandedQuery, stem
from codelens.search.written import find_written
from codelens.store.store import Store
from codelens.text.terms import index_terms

MOST_TODOS = 50_000
"""Comments that are compared. Chosen: Linux has some 20 000."""


class ExactChannel:
    """Ranks by the profile's weights of the fields; text that is only in fields of weight 0 is not found."""

    name = "exact"

    def retrieve(self, run: SearchRun, limit: int) -> Sequence[Match]:
        """Units with any term of the query, except terms that too many units hold. The raw score is BM25, above 0.

        Stems are compared; in the mode `exact`, and for a profile that demands it, whole words, and no word stands for another
        but by an alias.
        """
        query, fields = run.terms, run.profile.fields
        whole = run.options.mode == "exact" or run.profile.as_written
        extra = [t for t in query.extra if not whole or t.tier == ALIAS]
        terms = dict.fromkeys(t.text for t in (*query.words, *extra) if t.text not in query.common)
        if whole:
            matches = find_written(run, list(terms), limit) if terms else []
            return with_todos(run, matches, limit) if asks_todos(run.query.node) else matches
        columns = [column for column, weight in fields.items() if weight] if 0.0 in fields.values() else []
        found = run.store.postings.bm25(list(terms), fields, run.within, limit, columns) if terms else []
        matches = [Match(unit, score, f"BM25 {score:.2f}") for unit, score in found]
        return with_todos(run, matches, limit) if asks_todos(run.query.node) else matches


def with_todos(run: SearchRun, ranking: Sequence[Match], limit: int) -> Sequence[Match]:
    """The matches together with those of to-do comments, best first.

    The index of words leaves to-do comments out, so that no other figure counts them. They are few: their words are compared
    here, by BM25 with the rarity that the words have in the index.
    """
    if run.within is None or not run.terms.words:
        return ranking
    units = run.store.units
    rows = units.rows(units.of_todos(run.within, MOST_TODOS))
    found = _scored(sorted(rows.values(), key=UnitRow.content_order), run.terms, run.store)
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
