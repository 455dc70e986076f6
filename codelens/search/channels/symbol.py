"""The channel for names: finds names that equal a name of the query, then names that begin with one, then names that contain one.

The tiers and limits are those of the system `knowing`: compounds come first, and single words only if those find few.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import islice

from codelens.model.code import UnitId
from codelens.model.search import Match, Term
from codelens.search.channels import ChannelResult
from codelens.search.run import SearchRun
from codelens.search.terms import EXACT_CAP, describe_name, make_name_lookup
from codelens.text.identifiers import fold_identifier
from codelens.text.terms import BEGINNING

FEW_PRIMARY = 5  # Single words are looked up as names only if the names of the query have fewer matches than this
PREFIX_BELOW, PREFIX_CAP = 15, 30  # Beginnings are looked up if fewer matches than the first, up to the second
SUBSTRING_BELOW, SUBSTRING_CAP, SUBSTRING_LETTERS = 5, 20, 4
"""The same for parts of names, with the fewest letters of a word that is looked up as a part."""
IS_NAMED, BEGINS, HOLDS = 3.0, 2.0, 1.0
"""Raw scores of the tiers. Only their order counts, except with --fusion weighted or minmax."""


def find_by_name(run: SearchRun, limit: int) -> ChannelResult:
    """Find units by name, each in the first tier that it fits; a tier runs only if those before it found few. The raw score is
    the tier's. Units with the same folded name are ordered by spelling: the query's first."""
    matches: dict[UnitId, Match] = {}
    query, units, within = run.terms, run.store.units, run.within
    primary = [t for t in query.names if t.tier != "pair"]
    pairs = [t for t in query.names if t.tier == "pair"]
    words = sorted((t for t in query.words if t.tier == "component"), key=lambda t: -len(t.text))
    groups = primary, pairs, words
    begun = [term for term in (*query.names, *query.words) if term.tier == "prefix"]

    def find_all(find: Callable[..., Sequence[UnitId]], texts: Iterable[str], most: int) -> list[Sequence[UnitId]]:
        return run.store.run_tasks(*(partial(find, text, within, most) for text in texts))

    def add(
        terms: Sequence[Term], found: Iterable[Sequence[UnitId]], score: float, relation: str, most: int = sys.maxsize
    ) -> None:
        for term, named in zip(terms, found, strict=True):
            for unit in named[: max(0, most - len(matches))]:
                matches.setdefault(unit, Match(unit, score, f"its name {relation} {describe_name(term)}"))

    for terms in groups:
        if len(matches) < FEW_PRIMARY or terms is pairs:
            lookups = (partial(units.find_likeliest, *make_name_lookup(term, within)) for term in terms)
            add(terms, run.store.run_tasks(*lookups), IS_NAMED, "is")
    texts = [fold_identifier(term.text.removesuffix(BEGINNING)) for term in begun]
    ways = (find_all(find, texts, EXACT_CAP) for find in (units.find_by_name, units.find_by_prefix))
    for term, equal, longer in zip(begun, *ways, strict=True):  # however many others were found
        add([term], [equal], IS_NAMED, "is")
        add([term], [longer], BEGINS, "begins with")
    if len(matches) < PREFIX_BELOW:
        begins = iter(find_all(units.find_by_prefix, (term.text for terms in groups for term in terms), PREFIX_CAP))
        for terms in groups:
            most = PREFIX_CAP if len(matches) < PREFIX_BELOW else 0
            add(terms, islice(begins, len(terms)), BEGINS, "begins with", most)
    if len(matches) < SUBSTRING_BELOW and "fuzzy" in run.abilities:
        parts = [term for term in (*primary, *words) if len(term.text) >= SUBSTRING_LETTERS]
        holders = find_all(run.store.postings.find_names_containing, (term.text for term in parts), SUBSTRING_CAP)
        add(parts, holders, HOLDS, "has", SUBSTRING_CAP)
    return ChannelResult(list(matches.values())[:limit])
