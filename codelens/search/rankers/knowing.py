"""knowing's ranker: rankings → seeds → walk → HITS → composite score.

.35 blast radius + .20 confidence + .15 recency + .15 distance + authority and hub    with HITS
.40 blast radius + .25 confidence + .20 recency + .15 distance                        without

Both add a little for a recent commit, if git's history is known: knowing names that part without its weight.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from functools import partial

from codelens.graph.hits import ADJUSTMENTS, POOL, HitsScores, compute_hits
from codelens.graph.surroundings import ByContent, WholeGraph
from codelens.graph.walk import Adjacency, Neighbour, Neighbours, Node, Trails, find_heaviest, walk
from codelens.model.budget import WALK as WALK_SHARE
from codelens.model.code import CHUNK_KINDS, UnitId, UnitRow
from codelens.model.fast_dataclass import dataclass
from codelens.model.graph import is_unit
from codelens.model.search import Candidate, Event, Trace
from codelens.search.channels import Findings
from codelens.search.evidence import Evidence
from codelens.search.features import CERTAIN_CLASS, measure
from codelens.search.fuse import fuse_matches
from codelens.search.rankers import Ranker, Ranking
from codelens.search.recency import Aged, Running, recency_of_units, running_by
from codelens.search.run import SearchRun
from codelens.search.seeds import NO_SEED, Seeding, Seeds, choose_seeds
from codelens.search.walk import in_words
from codelens.store.store import Store

WALK = "walk"  # Stage in the trace's events
TOLD = 500  # Units under the walk's threshold that get an event in the trace. Beyond them mass says nothing.


@dataclass(frozen=True, slots=True)
class Walking:
    """A profile's settings for the walk, from weights.toml."""

    restart: float
    hops: int
    steps: int
    nodes: int  # Most nodes whose edges are read
    faint: float  # Share of the most mass under which a unit is dropped
    backward: float  # Weight of an edge against its direction, as a share of its weight along it
    precise: float  # The same of an edge from a language server's index
    kinds: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Walked:
    """The result of the walk. Nodes are numbered by content (`nodes`): ids would let an index's history decide ties."""

    mass: Mapping[int, float]
    rows: Adjacency
    restarts: Mapping[int, float]
    around: WholeGraph
    nodes: ByContent

    def held(self) -> dict[UnitId, float]:
        """Unit → its mass."""
        return {self.nodes.unit[node]: held for node, held in self.mass.items()}


class WalkRanker:
    """The channels' ranks only choose where the walk begins; the score says what the walk and the graph know of a unit.

    Units that the walk does not reach are not candidates, however well their words fit; the trace has an event for each.
    """

    def rank(self, run: SearchRun, findings: Findings) -> Ranking:
        """If there is no time to walk, the ranks of the channels decide."""
        evidence = Evidence(run, findings)
        with run.budget.part(WALK_SHARE, "the walk was left out, so that ranks of channels alone decide"):
            candidates = _rank_by_walk(run, findings, evidence)
            measure(candidates, evidence, run.weights, run.budget)
            run.trace.lap("walk")
            return Ranking(run, findings, candidates)
        return Ranking(run, findings, fuse_matches(run, findings.matches))


def _rank_by_walk(run: SearchRun, findings: Findings, evidence: Evidence) -> list[Candidate]:
    """Seeds → walk → HITS → candidates with the parts of their scores.

    Matches of a user's own class, and literal matches, are candidates wherever the walk went.
    """
    sections, store, trace = run.profile.composite, run.store, run.trace
    walking, weights = Walking(**sections["walk"]), Composite(**sections["composite"])
    own = [unit for unit, match in evidence.concepts.items() if match.raw_score >= CERTAIN_CLASS]
    certain = findings.literal.union(own)
    seeds = choose_seeds(run, findings.matches, Seeding(**sections["seeds"]))
    walked = walk_from({unit: seed.weight for unit, seed in seeds.seeds.items()}, walking, store)
    pool = _pool(run, walked, walking, seeds, certain)
    found, ways, surest, changed = store.at_once(
        partial(_hits, walked, walking, store) if weights.hits else no_hits,
        partial(_ways, pool, walked, walking, store),
        partial(_surest_edges, pool, store),
        partial(recency_of_units, run, pool.values()),
    )
    held = walked.held()
    most = max((held.get(unit, 0.0) for unit in pool), default=0.0) or 1.0
    running = running_by(store, run.options.now, run.notices)(pool.values())
    candidates = []
    for unit, row in pool.items():
        fused, seed = seeds.fused.get(unit), seeds.seeds.get(unit)
        candidate = Candidate(row, dict(fused.channels) if fused else {})
        share, reason = held.get(unit, 0.0) / most, seed.reason if seed and seed.direct else ""
        standing = GraphStanding(share, ways[unit], surest.get(int(unit)), reason, running.get(unit), changed.get(unit))
        add_composite(candidate, standing, weights, found)
        candidates.append(candidate)
    trace.fused = {unit: candidate.score for unit, candidate in seeds.fused.items()}
    trace.nearness = {unit: 1.0 if unit in seeds.seeds else held.get(unit, 0.0) / most for unit in pool}
    _note_lost(pool, seeds, trace)
    return candidates


def walk_from(seeds: Mapping[UnitId, float], walking: Walking, store: Store) -> Walked:
    """The walk with restart over what lies within some hops of the seeds, given with their weights. Without seeds it is nowhere."""
    around = WholeGraph(store, walking.kinds, walking.backward, walking.precise)
    nodes = ByContent(around, store)
    numbers = nodes.numbers(seeds)
    restarts = {numbers[unit]: weight for unit, weight in seeds.items()}
    rows = read_around(nodes, restarts, walking.hops, walking.nodes)
    mass = walk(rows, restarts, walking.restart, walking.steps).mass if restarts else {}
    return Walked(mass, rows, restarts, around, nodes)


def _pool(
    run: SearchRun, walked: Walked, walking: Walking, seeds: Seeds, certain: Collection[UnitId]
) -> dict[UnitId, UnitRow]:
    """The units that hold enough mass and may take part, and those that are certain, in order of content."""
    least = walking.faint * max(walked.mass.values(), default=0.0)
    unit, may_be_found = walked.nodes.unit, run.allows()
    held_by_units = {n: held for n, held in walked.mass.items() if held > 0 and is_unit(unit[n])}
    reached = {n: held for n, held in held_by_units.items() if may_be_found(unit[n])}
    faint = {n: held for n, held in reached.items() if held < least and unit[n] not in certain}
    rows = run.store.units.rows({*(unit[n] for n in reached.keys() - faint.keys()), *certain})
    shares = {unit[n]: faint[n] * walking.faint / least for n in find_heaviest(faint, TOLD)}
    for row in sorted(run.store.units.rows(shares).values(), key=UnitRow.content_order):
        text = f"it holds {shares[row.id]:.2%} of the walk's most, under {walking.faint:.0%}"
        run.trace.events.append(Event(WALK, row, text))
    seeding = {*seeds.seeds, *certain}
    kept = [row for row in rows.values() if row.kind not in CHUNK_KINDS or row.id in seeding]
    return {row.id: row for row in sorted(kept, key=UnitRow.content_order)}


def _surest_edges(units: Collection[UnitId], store: Store) -> dict[int, float]:
    """Unit → confidence of the surest edge that leads to it, those between a container and its members included."""
    members = ("edges.outgoing", (units, {"member_of"}))
    store.foresee(("edges.surest_into", (units,)), ("edges.nested", (units,)), members)
    surest = store.edges.surest_into(units)
    held = [node for node, _, _ in store.edges.nested(units)]
    held += [edge.source for edge in store.edges.outgoing(*members[1])]
    for node in held:
        surest[node] = max(CONTAINED, surest.get(node, 0.0))
    return surest


def _hits(walked: Walked, walking: Walking, store: Store) -> HitsScores:
    """Authorities and hubs among the units with most mass, by the edges as they point."""
    units = {node: held for node, held in walked.mass.items() if is_unit(walked.nodes.unit[node])}
    among = [walked.nodes.unit[node] for node in find_heaviest(units, POOL)]
    return compute_hits(directed(among, [kind for kind, weight in walking.kinds.items() if weight], store))


def _ways(pool: Mapping[UnitId, UnitRow], walked: Walked, walking: Walking, store: Store) -> dict[UnitId, str]:
    """How the walk came to each unit, in words."""
    unit, numbers = walked.nodes.unit, walked.nodes.numbers(pool)
    trails = Trails(walked.rows, walked.restarts, walking.restart, walking.hops)
    ways = {unit[node]: [unit[station] for station in trails.find_trail(node)] for node in numbers.values()}
    others = {station for way in ways.values() for station in way} - pool.keys()
    rows = store.units.rows(one for one in others if is_unit(one))
    names = {row.id: row.qualified_name for row in (*pool.values(), *rows.values())}
    walked.around.read_kinds({station for way in ways.values() for station in way[:-1]})
    names |= {UnitId(node): name for node, name in store.edges.names(others - rows.keys()).items()}
    return {one: _in_words(ways.get(one, ()), names, walked) for one in pool}


def _in_words(way: Sequence[UnitId], names: Mapping[UnitId, str], walked: Walked) -> str:
    if len(way) > 1:
        return in_words(way, names, walked.around)
    return "a seed of the walk" if way else "not reached"


def _note_lost(pool: Collection[UnitId], seeds: Seeds, trace: Trace) -> None:
    """An event for each match that became no candidate, unless an earlier stage has added one."""
    noted = {event.unit.id for event in trace.events}
    for place, (unit, candidate) in enumerate(seeds.fused.items(), start=1):
        if unit not in pool and unit not in noted:
            stage, text = seeds.losses.get(unit) or (
                NO_SEED,
                f"match {place} of the channels is too far down for a seed",
            )
            trace.events.append(Event(stage, candidate.unit, f"{text}; and the walk does not reach it"))


def read_around(neighbours: Neighbours, seeds: Collection[Node], hops: int, most: int) -> dict[Node, list[Neighbour]]:
    """The rows of all nodes up to `hops` - 1 steps from a seed, so that a walker can take `hops`; of at most `most` nodes.

    A node at the border has no row: a walker turns back there. Where a round has too many, those go first to which the
    rounds before give most weight.
    """
    found: dict[Node, list[Neighbour]] = {}
    arriving = dict.fromkeys(sorted(seeds), 1.0)
    for _ in range(hops):
        ring = sorted((n for n in arriving if n not in found), key=lambda node: (-arriving[node], node))
        nodes = ring[: most - len(found)]
        if not nodes:
            break
        rows = neighbours(nodes)
        for node in nodes:
            found[node] = list(rows.get(node, ()))
            for other, weight in found[node]:
                arriving[other] = arriving.get(other, 0.0) + weight
    return found


def directed(nodes: Sequence[Node], kinds: Collection[str], store: Store) -> Adjacency:
    """The edges of these kinds among these nodes as they point, stored ones and the nesting of units, each of weight 1."""
    among, stored = frozenset(nodes), [kind for kind in kinds if kind not in ("contains", "member_of")]
    store.foresee(("edges.outgoing", (among, stored)), ("edges.nested", (among,)))
    targets: dict[Node, set[Node]] = {node: set() for node in sorted(among)}
    for edge in store.edges.outgoing(among, stored):
        if edge.target in among and edge.target != edge.source:
            targets[edge.source].add(edge.target)
    for node, other, down in store.edges.nested(among):
        if other in among and ("contains" if down else "member_of") in kinds:
            targets[node].add(UnitId(other))
    return {node: [(target, 1.0) for target in sorted(others)] for node, others in targets.items()}


STATIC = 0.3  # Recency of what no run-time trace has seen; knowing's figure
LEAST_SURE = 0.5  # Confidence of a unit that no edge or only a weaker one leads to; knowing's figure
CONTAINED = 0.7  # Confidence of the edges between a container and its members: found by syntax; knowing's figure
STEPS = 100  # knowing keeps the walk's mass as a whole number from 0 to 100


@dataclass(frozen=True, slots=True)
class Composite:
    """A profile's weights of the parts, from weights.toml."""

    blast_radius: float
    confidence: float
    recency: float
    distance: float
    commits: float  # Weight of how recent the last commit of its lines is, if a history is known
    hits: bool  # True if authority and hub take part


@dataclass(frozen=True, slots=True)
class GraphStanding:
    """Signals of one candidate."""

    share: float  # Its mass, as a share of the most that a candidate holds
    way: str
    confidence: float | None  # Confidence of the surest edge that leads to it; None without edges
    seed: str  # Why it is a seed; empty for what only the walk found
    running: Running | None = None  # Observations in run-time traces; None without any
    changed: Aged | None = None  # How recent the last commit of its lines is; None where no history says it


def add_composite(candidate: Candidate, standing: GraphStanding, weights: Composite, hits: HitsScores) -> None:
    """Write the parts of one candidate's score, in place."""
    radius = math.floor(standing.share * STEPS + 1e-9) / STEPS
    reason = f"{radius:.0%} as close as the closest: {standing.way}"
    if (node := int(candidate.unit.id)) in hits.authority:
        reason += f" (authority {hits.authority[node]:.3f}, hub {hits.hub[node]:.3f})"
    candidate.add_bonus("blast_radius", weights.blast_radius, radius, reason)
    sure, why_sure = LEAST_SURE, "no sure edge leads to it"
    if standing.confidence is not None and standing.confidence > LEAST_SURE:
        sure, why_sure = (
            standing.confidence,
            f"the most certain edge to it has a confidence of {standing.confidence:.0%}",
        )
    recent, why_recent = STATIC, "no trace shows it running"
    if standing.running:
        recent, why_recent = standing.running.recency
        sure, why_sure = max((sure, why_sure), standing.running.confidence, key=lambda known: known[0])
    candidate.add_bonus("confidence", weights.confidence, sure, why_sure)
    candidate.add_bonus("recency", weights.recency, recent, why_recent)
    if standing.seed:
        candidate.add_bonus("distance", weights.distance, 1.0, f"0 hops: {standing.seed}")
    else:
        candidate.add_bonus("distance", weights.distance, 1 / 2, "1 hop: the walk found it")
    if standing.changed and weights.commits:
        candidate.add_bonus("commits", weights.commits, *standing.changed)
    node = int(candidate.unit.id)
    scores = {"authority": hits.authority.get(node, 0.0), "hub": hits.hub.get(node, 0.0)}
    for name, side, is_for_seeds, threshold, factor in ADJUSTMENTS:
        if is_for_seeds == bool(standing.seed) and scores[side] > threshold:
            reason = f"{side} {scores[side]:.3f} among the walk's best"
            candidate.add_bonus(name, factor, scores[side], reason)


def no_hits() -> HitsScores:
    """For a score without them."""
    nothing: Mapping[int, float] = {}
    return HitsScores(dict(nothing), dict(nothing))


RANKER: Ranker = WalkRanker()
