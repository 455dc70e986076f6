"""Names: exact, then those that begin with the query's names, then those that hold them.

The tiers and their caps are knowing's: compounds come first, and single words only where compounds find little.
"""

from __future__ import annotations

from collections.abc import Sequence

from codelens.model.code import UnitId
from codelens.model.search import Match, Term
from codelens.search.run import SearchRun
from codelens.search.terms import EXACT_CAP, as_named, named_by
from codelens.store.units import UnitSet
from codelens.text.identifiers import fold_identifier
from codelens.text.terms import BEGINNING

FEW_PRIMARY = 5
"""Matches. Single words are looked up as whole names only where the names of the query gave fewer; knowing's figure."""
PREFIX_BELOW, PREFIX_CAP = 15, 30
"""Beginnings are looked for below the first number of matches, and fill up to the second; knowing's figures."""
SUBSTRING_BELOW, SUBSTRING_CAP, SUBSTRING_LETTERS = 5, 20, 4
"""The same for parts of names, of words with at least four letters; knowing's figures."""
IS_NAMED, BEGINS, HOLDS = 3.0, 2.0, 1.0
"""Raw scores of the tiers. Only their order is meant; with --fusion weighted or minmax they count as they stand."""


class SymbolChannel:
    """Finds each unit once, in the first tier that it fits. Of namesakes those go first that are spelled as the query has it."""

    name = "symbol"

    def retrieve(self, run: SearchRun, limit: int) -> Sequence[Match]:
        """Tier by tier, each only if those before found little. The raw score is the tier's."""
        found: dict[UnitId, Match] = {}
        query = run.terms
        primary = [t for t in query.names if t.tier != "pair"]
        pairs = [t for t in query.names if t.tier == "pair"]
        words = sorted((t for t in query.words if t.tier == "component"), key=lambda t: -len(t.text))
        begun = [t for t in (*query.names, *query.words) if t.tier == "prefix"]
        run.store.foresee(
            *(("units.named_as", as_named(term, run.within)) for term in (*primary, *pairs, *words)),
            *(
                (way, (_beginning(t), run.within, EXACT_CAP))
                for t in begun
                for way in ("units.named", "units.named_from")
            ),
        )
        for terms in (primary, pairs, words):
            if len(found) < FEW_PRIMARY or terms is pairs:
                self._exact(terms, run, found)
        self._begun(begun, run, found)
        parts = [t for t in (*primary, *words) if len(t.text) >= SUBSTRING_LETTERS and "fuzzy" in run.abilities]
        if len(found) < PREFIX_BELOW:
            run.store.foresee(
                *(("units.named_from", (t.text, run.within, PREFIX_CAP)) for t in (*primary, *pairs, *words)),
                *(("postings.names_containing", _as_part(t, run)) for t in parts if len(found) < SUBSTRING_BELOW),
            )
        for terms in (primary, pairs, words):
            if len(found) < PREFIX_BELOW:
                self._prefix(terms, run, found)
        if len(found) < SUBSTRING_BELOW:
            self._substring(parts, run, found)
        return list(found.values())[:limit]

    def _exact(self, terms: Sequence[Term], run: SearchRun, found: dict[UnitId, Match]) -> None:
        for term in terms:
            for unit in run.store.units.named_as(*as_named(term, run.within)):
                found.setdefault(unit, Match(unit, IS_NAMED, f"its name is {named_by(term)}"))

    def _begun(self, terms: Sequence[Term], run: SearchRun, found: dict[UnitId, Match]) -> None:
        """For each beginning in the query: names equal to it, then names that go on, however many others were found."""
        for term in terms:
            begun = _beginning(term)
            for unit in run.store.units.named(begun, run.within, EXACT_CAP):
                found.setdefault(unit, Match(unit, IS_NAMED, f"its name is {named_by(term)}"))
            for unit in run.store.units.named_from(begun, run.within, EXACT_CAP):
                found.setdefault(unit, Match(unit, BEGINS, f"its name begins with {named_by(term)}"))

    def _prefix(self, terms: Sequence[Term], run: SearchRun, found: dict[UnitId, Match]) -> None:
        for term in terms:
            room = PREFIX_CAP - len(found)
            if room <= 0:
                return
            for unit in run.store.units.named_from(term.text, run.within, PREFIX_CAP)[:room]:
                found.setdefault(unit, Match(unit, BEGINS, f"its name begins with {named_by(term)}"))

    def _substring(self, terms: Sequence[Term], run: SearchRun, found: dict[UnitId, Match]) -> None:
        for term in terms:
            room = SUBSTRING_CAP - len(found)
            if room <= 0:
                return
            for unit in run.store.postings.names_containing(*_as_part(term, run))[:room]:
                found.setdefault(unit, Match(unit, HOLDS, f"its name has {named_by(term)}"))


def _as_part(term: Term, run: SearchRun) -> tuple[str, UnitSet | None, int]:
    """The arguments of `names_containing`."""
    return term.text, run.within, SUBSTRING_CAP


def _beginning(term: Term) -> str:
    return fold_identifier(term.text.removesuffix(BEGINNING))
