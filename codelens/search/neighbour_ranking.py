"""The best names of a query → a further ranking by what surrounds them: classes made of callers' and callees' names.

knowing's fourth layer of equivalence classes. The classes live for one query; nothing is stored.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from codelens.model import CHUNK_KINDS, Match, UnitId
from codelens.relations import is_unit
from codelens.search.equivalence import match_classes, stems_of, usable_targets
from codelens.search.expand import ExpandedQuery
from codelens.search.neighbours import derived_classes
from codelens.store.store import Store

AROUND = 10
"""Of the names' matches, those whose neighbours are read; knowing's figure."""
NAMED_CAP = 20
"""Units of one name that are taken, as in the equivalence channel."""
MOST_EDGES = 2000
"""Calls that are read around them. Chosen: what all code calls says little of any one."""


def neighbour_ranking(query: ExpandedQuery, named: Sequence[Match], store: Store) -> list[Match]:
    """Units that bear the name of one of `named` whose callers or callees are named as the query speaks.

    The raw score is the class's weight. Every phrase is of two words, so every match is a strong one.
    """
    best = list(dict.fromkeys(match.unit for match in named))[:AROUND]
    rows = store.units.rows(best)
    seeds = {unit: rows[unit].name for unit in best if rows[unit].kind not in CHUNK_KINDS}
    classes = derived_classes(seeds, _names_around(seeds, store))
    found: dict[UnitId, Match] = {}
    for match in match_classes(stems_of(query.texts), classes):
        for target in usable_targets(match.concept):
            for unit in store.units.named(target, query.scoped, NAMED_CAP):
                reason = f'"{match.phrases[0]}" is said {match.concept.name}'
                found.setdefault(unit, Match(unit, match.concept.weight, reason))
    return list(found.values())


def _names_around(seeds: Mapping[UnitId, str], store: Store) -> dict[UnitId, list[str]]:
    """Unit → the names of its callers and callees, by name."""
    around: dict[UnitId, set[UnitId]] = {unit: set() for unit in seeds}
    for edge in store.edges.outgoing(seeds, {"calls"}, MOST_EDGES):
        if is_unit(edge.target):
            around[UnitId(edge.source)].add(UnitId(edge.target))
    for edge in store.edges.incoming(seeds, {"calls"}, MOST_EDGES):
        if is_unit(edge.source):
            around[UnitId(edge.target)].add(UnitId(edge.source))
    rows = store.units.rows({unit for units in around.values() for unit in units})
    return {
        unit: sorted({rows[other].name for other in others if rows[other].kind not in CHUNK_KINDS})
        for unit, others in around.items()
    }
