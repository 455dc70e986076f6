"""The one place where a pack asks the symbol graph: who calls, who is called, how sure that is, how far a walk comes.

Where the index holds no edges, nobody calls anybody; `has_edges` lets the answer say so.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from codelens.model import Candidate, SearchOptions, UnitId, UnitRow
from codelens.nouns import dataclass
from codelens.relations import EXTERNAL, is_unit
from codelens.search.profiles import load_profile
from codelens.search.spread import Spreading, nearness, spread
from codelens.store.store import Store

CALLS = frozenset({"calls", "tests"})
"""A call from a test to what is no test is `tests`."""
FAINT = 0.02
"""Share of the walk's most below which a unit is not reached: knowing's."""
MOST_EDGES = 20_000
"""Edges read at once: a name that everything calls must not make a pack of a small change wait. Chosen, not measured."""


@dataclass(frozen=True, slots=True)
class Neighbours:
    """Units at distance 1, each with the seeds that it touches."""

    callers: Mapping[UnitId, frozenset[UnitId]]
    called: Mapping[UnitId, frozenset[UnitId]]
    phantoms: int
    """Nodes outside of the repository that the seeds call."""


def has_edges(store: Store) -> bool:
    """Whether the index holds a graph."""
    return store.edges.count() > 0


def neighbours(store: Store, seeds: Collection[UnitId], outgoing: bool) -> Neighbours:
    """Who calls the seeds, and with `outgoing` whom they call; the seeds themselves are none of them."""
    known = frozenset[int](seeds)
    callers, called = dict[UnitId, set[UnitId]](), dict[UnitId, set[UnitId]]()
    phantoms: set[int] = set()
    for edge in store.edges.incoming(known, CALLS, MOST_EDGES):
        if is_unit(edge.source) and edge.source not in known:
            callers.setdefault(UnitId(edge.source), set()).add(UnitId(edge.target))
    for edge in store.edges.outgoing(known, CALLS, MOST_EDGES) if outgoing else ():
        if edge.target >= EXTERNAL:
            phantoms.add(edge.target)
        elif is_unit(edge.target) and edge.target not in known:
            called.setdefault(UnitId(edge.target), set()).add(UnitId(edge.source))
    return Neighbours(_frozen(callers), _frozen(called), len(phantoms))


def walk_from(store: Store, seeds: Sequence[UnitRow], options: SearchOptions) -> dict[UnitId, float] | None:
    """Unit → its share of the walk's most, of those that are no seeds; None where the profile does not walk."""
    if not (graph := load_profile(options).graph):
        return None
    every_seed = replace(Spreading(**graph), seeds=len(seeds))
    found = spread([(Candidate(row), 1.0) for row in seeds], every_seed, store)
    known = {row.id for row in seeds}
    shares = nearness(found) if found else {}
    return {unit: share for unit, share in shares.items() if share >= FAINT and unit not in known}


def call_counts(store: Store, units: Iterable[UnitId]) -> Mapping[int, int]:
    """Unit → how many places call it, each caller once; without those that nobody calls."""
    return store.edges.degree(units, CALLS)


def confidences(store: Store, units: Collection[UnitId]) -> Mapping[int, float]:
    """Unit → the highest confidence of all edges that end there."""
    best: dict[int, float] = {}
    for edge in store.edges.incoming(units, limit=MOST_EDGES):
        best[edge.target] = max(best.get(edge.target, 0.0), edge.confidence)
    return best


def _frozen(found: Mapping[UnitId, set[UnitId]]) -> Mapping[UnitId, frozenset[UnitId]]:
    return {unit: frozenset(seeds) for unit, seeds in found.items()}
