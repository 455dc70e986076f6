"""Related words: units with what programmers call the things that the query says in other words."""

from __future__ import annotations

from collections.abc import Sequence

from codelens.model.search import Match
from codelens.search.run import SearchRun
from codelens.search.terms import rarest


class LexiconChannel:
    """Ranks by BM25 of the terms from the lexicon alone; words that the query says are the channel `exact`'s."""

    name = "lexicon"

    def retrieve(self, run: SearchRun, limit: int) -> Sequence[Match]:
        """Units with any of the related terms. The raw score is BM25."""
        terms = [term.text for term in run.terms.related]
        if not terms:
            return []
        frequencies = {term: run.store.postings.document_frequency(term) for term in terms}
        found = run.store.postings.bm25(terms, run.profile.fields, run.within, limit, (), rarest(frequencies))
        return [Match(unit, score, f"BM25 {score:.2f} of related words") for unit, score in found]
