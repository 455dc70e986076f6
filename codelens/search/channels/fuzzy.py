"""Parts, texts as typed, and typing mistakes, by trigrams: names that hold a part, code that holds words of the query as they were
typed, and names that differ from one of the query by a few letters."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

from codelens.model.code import UnitId
from codelens.model.search import Match
from codelens.search.run import SearchRun
from codelens.search.terms import LETTERS_PER_SLIP, MOST_UNKNOWN, Term
from codelens.search.verbatim import find_verbatim
from codelens.text.identifiers import fold_identifier

MIN_NAME_LETTERS = 4
"""Letters. Shorter words resemble too much: they are parts of too many names, and one slip makes `get` of `set`. Chosen."""
LONGEST_NAME = 200
"""Letters. Longer ones are not names; SQLite takes 500 trigrams in one question. Chosen."""
RESEMBLING = 400
"""Names that trigram overlap proposes to the edit distance, four for each match that the channel may give. Chosen."""
OF_A_WORD = 0.1
"""Certainty, of 1. A word of prose that is not a name is seldom a mistyped name; one that is written like code, or stands
alone, is. Chosen: below any slip in a name of the query, the worst of which has 1 / (1 + MOST_SLIPS_IN_A_NAME)."""
HOLDS = 1.0
"""Raw score of a name that holds the query's; a resembling one has its certainty / (1 + slips), hence at most half."""
MOST_SLIPS_IN_A_NAME = 3
"""However long a name is: LETTERS_PER_SLIP reaches it at twelve letters. Chosen, not measured."""
TRIGRAM = 3
"""Letters of the shortest part that the trigram index finds; shorter ones are taken as beginnings."""


class FuzzyChannel:
    """In the mode `fuzzy` it also finds names that hold a plain word; next to the exact channel those would only be noise."""

    name = "fuzzy"

    def retrieve(self, run: SearchRun, limit: int) -> Sequence[Match]:
        """Names that hold a name of the query first, then those that are it but for slips. The raw score is 1 at most."""
        query = run.terms
        found: dict[UnitId, Match] = {}
        for term in query.names:
            if term.tier != "pair" and len(term.text) >= MIN_NAME_LETTERS:
                self._holding(term, run, limit, found)
        unknown = self._unknown(run)
        for term in query.words:
            if run.options.mode == "fuzzy" or fold_identifier(term.text) in unknown:
                self._holding(term, run, limit, found)
        if run.profile.channels.get(self.name):
            run.verbatim = find_verbatim(run)
            for unit, find in run.verbatim.items():
                if unit not in found or find.value > found[unit].raw_score:
                    found[unit] = Match(unit, find.value, f"holds '{find.text}'")
        resembling: dict[UnitId, float] = {}
        for word, certainty in unknown.items():
            for unit, name, slips in _resembling(word, run):
                mistakes = f"{slips} typing mistake{'s' * (slips > 1)}"
                resembling.setdefault(unit, certainty / (1 + slips))
                found.setdefault(unit, Match(unit, resembling[unit], f"{word} ~ {name}, {mistakes}"))
        run.resembling = resembling
        ranked = sorted(found.values(), key=lambda m: -m.raw_score)  # stable: within a score the order above holds
        return ranked[:limit]

    def _holding(self, term: Term, run: SearchRun, limit: int, found: dict[UnitId, Match]) -> None:
        store = run.store
        store.budget.check()
        part = fold_identifier(term.text)
        if len(part) >= TRIGRAM:
            for unit in store.postings.names_containing(part, run.within, limit):
                found.setdefault(unit, Match(unit, HOLDS, f"name holds {term.origin}"))
        elif part:
            for unit in store.units.named_from(part, run.within, limit):
                found.setdefault(unit, Match(unit, HOLDS, f"name begins with {term.origin}"))

    def _unknown(self, run: SearchRun) -> dict[str, float]:
        """Folded names and words of the query that nothing in the index bears → how likely each is a mistyped name."""
        query, store = run.terms, run.store
        names = [t.text for t in query.names if t.tier not in ("pair", "prefix")]
        words = [t.text for t in query.words if t.tier == "component"]
        alone = not names and len(words) == 1
        unknown = {
            fold_identifier(w): 1.0 if alone else OF_A_WORD for w in words if not store.postings.document_frequency(w)
        }
        unknown |= {name: 1.0 for name in names if not store.units.named(name, None, 1)}
        unknown = {w: certainty for w, certainty in unknown.items() if MIN_NAME_LETTERS <= len(w) <= LONGEST_NAME}
        if len(unknown) > MOST_UNKNOWN:
            store.budget.limits.append(
                f"only the first {MOST_UNKNOWN} of {len(unknown)} unknown names were checked for typing mistakes"
            )
        return dict(islice(unknown.items(), MOST_UNKNOWN))


def _resembling(word: str, run: SearchRun) -> list[tuple[UnitId, str, int]]:
    """(unit, name, slips), fewest slips first. A swap of neighbours is one slip."""
    store = run.store
    store.budget.check()
    proposed = store.postings.names_resembling(word, run.within, RESEMBLING)
    if not proposed:
        return []
    from rapidfuzz.distance import OSA  # 27 ms, and most queries have no mistake

    most = min(MOST_SLIPS_IN_A_NAME, len(word) // LETTERS_PER_SLIP)
    near = [(unit, name, OSA.distance(word, name, score_cutoff=most)) for unit, name in proposed]
    return sorted((n for n in near if n[2] <= most), key=lambda n: n[2])
