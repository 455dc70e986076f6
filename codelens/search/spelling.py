"""Words of the query that the index does not know → the words of the index that they may be slips of."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from codelens.search.expand import ExpandedQuery, Term
from codelens.store.store import Store

MIN_WORD_LETTERS = 5
"""Letters. Shorter words have too many neighbours in any vocabulary. Chosen, not measured."""
MOST_UNKNOWN = 200
"""Words, and as many names, that are compared with those of the index: .7 ms each on Redis. Who pastes a page that has more
looks for something else than slips."""
LETTERS_PER_SLIP = 4
"""One slip is forgiven for each four letters of a word, and of a name in the fuzzy channel. Chosen."""
MOST_SLIPS_IN_A_WORD = 2
"""One fewer than in a name: prose has more words that are nearly others. The first letter is taken to be right. Chosen."""
LONGEST_ENDING = 3
"""Letters that the stemmer may have taken off the end of the index's word (`ing`), and that are no slips for it."""
MOST_CORRECTIONS = 3
"""Words of the index that stand in for one unknown word. Chosen, not measured."""


def with_corrections(query: ExpandedQuery, store: Store) -> ExpandedQuery:
    """The query with likely words beside each unknown one; they help to find, and do not count as coverage."""
    unknown = [t.text for t in query.words if len(t.text) >= MIN_WORD_LETTERS and t.text.isalpha()]
    unknown = [word for word in unknown if not store.postings.document_frequency(word)]
    corrections: list[Term] = []
    if len(unknown) > MOST_UNKNOWN:
        store.budget.limits.append(
            f"only the first {MOST_UNKNOWN} of {len(unknown)} unknown words were checked for typing mistakes"
        )
    for word in unknown[:MOST_UNKNOWN]:
        store.budget.check()
        corrections += _corrections(word, store)
    return replace(query, extra=(*query.extra, *corrections)) if corrections else query


def _corrections(word: str, store: Store) -> Iterable[Term]:
    """Commonest first among those with the fewest slips. The index's words are stems, so a missing ending is no slip."""
    from rapidfuzz.distance import OSA  # 27 ms, and most queries have no mistake

    most = min(MOST_SLIPS_IN_A_WORD, len(word) // LETTERS_PER_SLIP)
    near = []
    for term, units in store.postings.vocabulary(word[0]):
        if len(term) >= MIN_WORD_LETTERS - 1 and abs(len(term) - len(word)) <= most + LONGEST_ENDING:
            slips = OSA.distance(word[: max(len(term), len(word) - LONGEST_ENDING)], term, score_cutoff=most)
            if slips <= most:
                near.append((slips, -units, term))
    return [Term(term, "spelling", f"{word} ~ {term}") for _, _, term in sorted(near)[:MOST_CORRECTIONS]]
