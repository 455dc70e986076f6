"""The channel for names: finds names that equal a name of the query, then names that begin with one, then names that contain one.

The tiers and limits are those of the system `knowing`: compounds come first, and single words only if those find few.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from codelens.model.code import UnitId
from codelens.model.search import Match, Term
from codelens.search.channels import ChannelResult
from codelens.search.run import SearchRun
from codelens.search.terms import EXACT_CAP, describe_name, name_lookup
from codelens.text.identifiers import fold_identifier
from codelens.text.terms import BEGINNING

FEW_PRIMARY = 5  # Single words are looked up as names only if the names of the query have fewer matches than this
PREFIX_BELOW, PREFIX_CAP = (
    15,
    30,
)  # Beginnings are looked up if there are fewer matches than the first, up to the second
SUBSTRING_BELOW, SUBSTRING_CAP, SUBSTRING_LETTERS = (
    5,
    20,
    4,
)  # The same for parts of names, with the fewest letters of a word that is looked up as a part
IS_NAMED, BEGINS, HOLDS = 3.0, 2.0, 1.0
"""Raw scores of the tiers. Only their order counts, except with --fusion weighted or minmax."""


def find_by_name(run: SearchRun, limit: int) -> ChannelResult:
    """Find units by name, each in the first tier that it fits; a tier runs only if those before it found few. The raw score is
    the tier's. Units with the same folded name are ordered by spelling: the query's first.
    """
    matches: dict[UnitId, Match] = {}
    query, units, within = run.terms, run.store.units, run.within
    primary = [t for t in query.names if t.tier != "pair"]
    pairs = [t for t in query.names if t.tier == "pair"]
    words = sorted((t for t in query.words if t.tier == "component"), key=lambda t: -len(t.text))
    begun = [(t, fold_identifier(t.text.removesuffix(BEGINNING))) for t in (*query.names, *query.words)]
    begun = [(term, beginning) for term, beginning in begun if term.tier == "prefix"]
    run.store.foresee(
        *(("units.find_likeliest", name_lookup(term, within)) for term in (*primary, *pairs, *words)),
        *(
            (way, (text, within, EXACT_CAP))
            for _, text in begun
            for way in ("units.find_by_name", "units.find_by_prefix")
        ),
    )

    def add(units: Sequence[UnitId], score: float, relation: str, term: Term, most: int = sys.maxsize) -> None:
        for unit in units[: max(0, most - len(matches))]:
            matches.setdefault(unit, Match(unit, score, f"its name {relation} {describe_name(term)}"))

    for terms in (primary, pairs, words):
        if len(matches) < FEW_PRIMARY or terms is pairs:
            for term in terms:
                add(units.find_likeliest(*name_lookup(term, within)), IS_NAMED, "is", term)
    for term, text in begun:  # however many others were found
        add(units.find_by_name(text, within, EXACT_CAP), IS_NAMED, "is", term)
        add(units.find_by_prefix(text, within, EXACT_CAP), BEGINS, "begins with", term)
    parts = [t for t in (*primary, *words) if len(t.text) >= SUBSTRING_LETTERS and "fuzzy" in run.abilities]
    if len(matches) < PREFIX_BELOW:
        few = len(matches) < SUBSTRING_BELOW
        run.store.foresee(
            *(("units.find_by_prefix", (t.text, within, PREFIX_CAP)) for t in (*primary, *pairs, *words)),
            *(("postings.find_names_containing", (t.text, within, SUBSTRING_CAP)) for t in parts if few),
        )
    for terms in (primary, pairs, words):
        if len(matches) < PREFIX_BELOW:
            for term in terms:
                add(units.find_by_prefix(term.text, within, PREFIX_CAP), BEGINS, "begins with", term, PREFIX_CAP)
    for term in parts if len(matches) < SUBSTRING_BELOW else ():
        named = run.store.postings.find_names_containing(term.text, within, SUBSTRING_CAP)
        add(named, HOLDS, "has", term, SUBSTRING_CAP)
    return ChannelResult(list(matches.values())[:limit])
