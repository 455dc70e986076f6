"""Which terms of a query tell units apart: those that nearly every unit holds take no part, and the trace says so."""

from __future__ import annotations

from dataclasses import replace

from codelens.search.expand import ExpandedQuery
from codelens.store.store import Store

COMMON_IN_UNITS = 0.3
"""Of all units. A term that more of them hold moves no rank among the first (its idf is under .9) and costs the most time."""


def with_common(query: ExpandedQuery, store: Store) -> ExpandedQuery:
    """The query with its `common` terms marked; none is where there is no other term to search by."""
    most = COMMON_IN_UNITS * store.units.count()
    terms = dict.fromkeys(t.text for t in (*query.words, *query.extra))
    frequencies = {term: store.postings.document_frequency(term) for term in terms}
    common = tuple(term for term, units in frequencies.items() if units > most)
    telling = any(0 < units <= most for units in frequencies.values())
    return replace(query, common=common) if common and telling else query
