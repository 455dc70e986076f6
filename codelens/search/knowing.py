"""rankings → seeds → walk → HITS → composite score: knowing's pipeline, where the channels' ranks only choose the seeds.

What no seed's walk reaches is no candidate, however well its words fit; the trace has an event for each such match.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from codelens.graph.adjacency import Adjacency
from codelens.graph.hits import POOL, Hits, hits
from codelens.graph.rwr import best, walk
from codelens.graph.trails import trails
from codelens.model import CHUNK_KINDS, Candidate, DocumentId, Event, Match, Trace, UnitId, UnitRow
from codelens.nouns import dataclass
from codelens.search.composite import Composite, Standing, add_composite, no_hits
from codelens.search.expand import ExpandedQuery
from codelens.search.seeds import NO_SEED, Seeding, Seeds, choose_seeds
from codelens.search.spread import ByContent, Surroundings, in_words
from codelens.search.subgraph import directed, read_around
from codelens.store.store import Store

if TYPE_CHECKING:
    from codelens.search.age import Aged
    from codelens.search.runtime import RunningOf

    ChangedOf = Callable[[Collection[UnitRow]], Mapping[DocumentId, Aged]]

WALK = "walk"
"""Stage in the trace's events."""
TOLD = 500
"""Units under the walk's threshold that the trace tells of. Chosen: beyond them mass says nothing."""


@dataclass(frozen=True, slots=True)
class Walking:
    """A profile's settings for the walk, from weights.toml."""

    restart: float
    hops: int
    steps: int
    nodes: int
    """Most nodes whose edges are read."""
    faint: float
    """Share of the most mass under which a unit is dropped."""
    backward: float
    """What an edge weighs against its direction, as a share of what it weighs along it."""
    precise: float
    """The same of an edge from a language server's index."""
    kinds: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Walked:
    """Where the walk went, and how. Nodes are numbered by what they are (`nodes`): ids would decide ties by an index's history."""

    mass: Mapping[int, float]
    rows: Adjacency
    restarts: Mapping[int, float]
    kinds: Mapping[tuple[int, int], str]
    """As in Spread, by unit."""
    nodes: ByContent

    def held(self) -> dict[UnitId, float]:
        """Unit → its mass."""
        return {self.nodes.unit[node]: held for node, held in self.mass.items()}


def rank_by_walk(
    query: ExpandedQuery,
    rankings: Mapping[str, Sequence[Match]],
    certain: Collection[UnitId],
    weights: Mapping[str, float],
    k: int,
    sections: Mapping[str, Mapping[str, Any]],
    allowed: Collection[UnitId] | None,
    store: Store,
    trace: Trace,
    running_of: RunningOf,
    changed_of: ChangedOf,
) -> list[Candidate]:
    """Candidates with the parts of their scores. `certain` take part in any case; `allowed` says who may, None for all.

    `running_of` tells what traces saw of units, `changed_of` how recent the last commits of their documents are.
    """
    walking, weighing = Walking(**sections["walk"]), Composite(**sections["composite"])
    seeds = choose_seeds(query, rankings, weights, k, Seeding(**sections["seeds"]), store, trace)
    walked = walk_from(seeds, walking, store)
    pool = _pool(walked, walking, seeds, certain, allowed, store, trace)
    found, held = _hits(walked, walking, store) if weighing.hits else no_hits(), walked.held()
    most = max((held.get(unit, 0.0) for unit in pool), default=0.0) or 1.0
    ways, surest = _ways(pool, walked, walking, store), store.edges.surest_into(pool)
    running, changed = running_of(pool.values()), changed_of(pool.values())
    candidates = []
    for unit, row in pool.items():
        known, seed = seeds.fused.get(unit), seeds.seeds.get(unit)
        candidate = Candidate(row, dict(known.channels) if known else {})
        share, reason = held.get(unit, 0.0) / most, seed.reason if seed and seed.direct else ""
        standing = Standing(
            share, ways[unit], surest.get(int(unit)), reason, running.get(unit), changed.get(row.document)
        )
        add_composite(candidate, standing, weighing, found)
        candidates.append(candidate)
    trace.nearness = {unit: 1.0 if unit in seeds.seeds else held.get(unit, 0.0) / most for unit in pool}
    _tell_lost(pool, seeds, trace)
    return candidates


def walk_from(seeds: Seeds, walking: Walking, store: Store) -> Walked:
    """The walk with restart over what lies within some hops of the seeds. Without seeds it is nowhere."""
    around = Surroundings(store, walking.kinds, walking.backward, walking.precise)
    nodes = ByContent(around, store)
    numbers = nodes.numbers(seeds.seeds)
    restarts = {numbers[unit]: seed.weight for unit, seed in seeds.seeds.items()}
    rows = read_around(nodes, restarts, walking.hops, walking.nodes)
    mass = walk(rows, restarts, walking.restart, walking.steps).mass if restarts else {}
    return Walked(mass, rows, restarts, around.kinds, nodes)


def _pool(
    walked: Walked,
    walking: Walking,
    seeds: Seeds,
    certain: Collection[UnitId],
    allowed: Collection[UnitId] | None,
    store: Store,
    trace: Trace,
) -> dict[UnitId, UnitRow]:
    """The units that hold enough mass and may take part, and those that are certain, in order of content."""
    least = walking.faint * max(walked.mass.values(), default=0.0)
    unit, may = walked.nodes.unit, None if allowed is None else frozenset(allowed)
    reached = {n: held for n, held in walked.mass.items() if held > 0 and (may is None or unit[n] in may)}
    faint = {n: held for n, held in reached.items() if held < least and unit[n] not in certain}
    rows = store.units.rows({*(unit[n] for n in reached.keys() - faint.keys()), *certain})
    shares = {unit[n]: faint[n] * walking.faint / least for n in best(faint, TOLD)}
    for row in sorted(store.units.rows(shares).values(), key=UnitRow.content_order):
        text = f"it holds {shares[row.id]:.2%} of the walk's most, under {walking.faint:.0%}"
        trace.events.append(Event(WALK, row, text))
    seeding = {*seeds.seeds, *certain}
    kept = [row for row in rows.values() if row.kind not in CHUNK_KINDS or row.id in seeding]
    return {row.id: row for row in sorted(kept, key=UnitRow.content_order)}


def _hits(walked: Walked, walking: Walking, store: Store) -> Hits:
    """Authorities and hubs among the units with most mass, by the edges as they point."""
    among = [walked.nodes.unit[node] for node in best(walked.mass, POOL)]
    return hits(directed(among, [kind for kind, weight in walking.kinds.items() if weight], store))


def _ways(pool: Mapping[UnitId, UnitRow], walked: Walked, walking: Walking, store: Store) -> dict[UnitId, str]:
    """How the walk came to each unit, in words."""
    unit, numbers = walked.nodes.unit, walked.nodes.numbers(pool)
    found = trails(numbers.values(), walked.mass, walked.rows, walked.restarts, walking.restart, walking.hops)
    ways = {unit[node]: [unit[trail.seed], *(unit[hop.target] for hop in trail.hops)] for node, trail in found.items()}
    others = {station for way in ways.values() for station in way} - pool.keys()
    names = {row.id: row.qualified_name for row in (*pool.values(), *store.units.rows(others).values())}
    return {one: _told(ways.get(one, ()), names, walked) for one in pool}


def _told(way: Sequence[UnitId], names: Mapping[UnitId, str], walked: Walked) -> str:
    if len(way) > 1:
        return in_words(way, names, walked.kinds)
    return "a seed of the walk" if way else "not reached"


def _tell_lost(pool: Collection[UnitId], seeds: Seeds, trace: Trace) -> None:
    """An event for each match that became no candidate, where no stage before told of it."""
    told = {event.unit.id for event in trace.events}
    for place, (unit, candidate) in enumerate(seeds.fused.items(), start=1):
        if unit not in pool and unit not in told:
            what = "text that is no symbol" if candidate.unit.kind in CHUNK_KINDS else f"match {place} of the fusion"
            trace.events.append(Event(NO_SEED, candidate.unit, f"{what}, so no seed; and no walk reaches it"))
