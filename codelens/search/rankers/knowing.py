"""knowing's ranker: rankings → seeds → walk → HITS → composite score.

.35 blast radius + .20 confidence + .15 recency + .15 distance + authority and hub    with HITS
.40 blast radius + .25 confidence + .20 recency + .15 distance                        without

Both add a small part for a recent commit, if git's history is known; knowing mentions this part but not its weight.
Other figures are those of the system `knowing`, too.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from functools import partial

from codelens.graph.surroundings import ContentNumbering, WholeGraph
from codelens.graph.walk import (
    ADJUSTMENTS,
    POOL,
    Adjacency,
    HitsScores,
    Neighbour,
    Neighbours,
    Node,
    Trails,
    compute_hits,
    find_heaviest,
    walk,
)
from codelens.model.budget import WALK as WALK_SHARE
from codelens.model.code import CHUNK_KINDS, UnitId, UnitRow
from codelens.model.fast_dataclass import dataclass
from codelens.model.graph import is_unit
from codelens.model.search import Candidate, Event
from codelens.search.channels import Findings
from codelens.search.evidence import Evidence
from codelens.search.features import CERTAIN_CLASS, measure_features
from codelens.search.fuse import fuse_matches
from codelens.search.rankers import Ranking
from codelens.search.recency import ExplainedValue, RuntimeSignals, measure_recency_of_units, read_runtime_signals
from codelens.search.run import SearchRun
from codelens.search.seeds import NO_SEED, SeedSettings, choose_seeds
from codelens.search.walk import describe_walk
from codelens.store.store import Store

WALK = "walk"  # Stage of the trace's events for units with too little mass
MOST_EVENTS = 500  # Most units under the walk's threshold that get an event in the trace, those with most mass


@dataclass(frozen=True, slots=True)
class WalkSettings:
    """A profile's settings for the walk, from weights.toml."""

    restart: float
    hops: int
    steps: int
    nodes: int  # Most nodes whose edges are read
    faint: float  # Least mass of a unit that is kept, as a share of the largest mass
    backward: float  # Weight of an edge against its direction, as a share of its weight along it
    precise: float  # Weight of an edge from a language server's index, as a share of that of other edges of its kind
    kinds: Mapping[str, float]


class WholeWalk:
    """A walk with restart over all nodes within `walking.hops` of the seeds (unit → weight). Without seeds no node has mass.

    Nodes are numbered by content, so that ties do not depend on how the index was built."""

    def __init__(self, store: Store, seeds: Mapping[UnitId, float], walking: WalkSettings) -> None:
        self._store, self._walking = store, walking
        self._around = WholeGraph(store, walking.kinds, walking.backward, walking.precise)
        self._nodes = ContentNumbering(self._around, store)
        numbers = self._nodes.number_nodes(seeds)
        self._restarts = {numbers[unit]: weight for unit, weight in seeds.items()}
        self._rows = read_around(self._nodes, self._restarts, walking.hops, walking.nodes)
        self.unit = self._nodes.unit  # Number of a node → unit, document or external
        self.mass: Mapping[int, float] = {}  # Number of a node → its mass
        if self._restarts:
            self.mass = walk(self._rows, self._restarts, walking.restart, walking.steps).mass

    def sum_mass_by_unit(self) -> dict[UnitId, float]:
        """Map each node's id, of a unit or other node, to its mass."""
        return {self.unit[node]: held for node, held in self.mass.items()}

    def compute_hits(self) -> HitsScores:
        """Compute authorities and hubs among the units with most mass, over directed edges."""
        units = {node: held for node, held in self.mass.items() if is_unit(self.unit[node])}
        among, kinds = [self.unit[node] for node in find_heaviest(units, POOL)], self._walking.kinds
        return compute_hits(read_directed_edges(among, [kind for kind, w in kinds.items() if w], self._store))

    def describe_paths(self, pool: Mapping[UnitId, UnitRow]) -> dict[UnitId, str]:
        """Describe in words how the walk came to each unit."""
        store, numbers = self._store, self._nodes.number_nodes(pool)
        trails = Trails(self._rows, self._restarts, self._walking.restart, self._walking.hops)
        ways = {self.unit[n]: [self.unit[station] for station in trails.find_trail(n)] for n in numbers.values()}
        others = {station for way in ways.values() for station in way} - pool.keys()
        rows = store.units.read_rows(node for node in others if is_unit(node))
        names = {row.id: row.qualified_name for row in (*pool.values(), *rows.values())}
        self._around.read_kinds({station for way in ways.values() for station in way[:-1]})
        names |= {UnitId(node): name for node, _, name in store.edges.read_content_keys(others - rows.keys())}
        reasons = dict.fromkeys(pool, "not reached") | {unit: "a seed of the walk" for unit, way in ways.items() if way}
        return reasons | {u: describe_walk(way, names, self._around) for u, way in ways.items() if len(way) > 1}


def rank(run: SearchRun, findings: Findings) -> Ranking:
    """Rank by seeds → walk → HITS → composite score. If there is no time to walk, the ranks of the channels decide. Units that
    the walk does not reach are not candidates, even if their words match; the trace has an event for each. But matches of a
    user's own class and literal matches always are candidates."""
    evidence, sections, store, trace = Evidence(run, findings), run.profile.composite, run.store, run.trace
    with run.budget.part(WALK_SHARE, "the walk was left out, so that ranks of channels alone decide"):
        walking, weights = WalkSettings(**sections["walk"]), CompositeWeights(**sections["composite"])
        own_targets = [unit for unit, match in evidence.concepts.items() if match.raw_score >= CERTAIN_CLASS]
        certain = findings.literal.union(own_targets)
        seeds = choose_seeds(run, findings.matches, SeedSettings(**sections["seeds"]))
        walked = WholeWalk(store, {unit: seed.weight for unit, seed in seeds.seeds.items()}, walking)
        pool = _collect_pool(run, walked, walking.faint, certain, {*seeds.seeds, *certain})
        hits, ways, surest, changed = store.run_tasks(
            walked.compute_hits if weights.hits else partial(HitsScores, {}, {}),
            partial(walked.describe_paths, pool),
            partial(_read_confidences, pool, store),
            partial(measure_recency_of_units, run, pool.values()),
        )
        mass = walked.sum_mass_by_unit()
        most = max((mass.get(unit, 0.0) for unit in pool), default=0.0) or 1.0
        running = read_runtime_signals(pool.values(), store, run.options.now, run.notices)
        candidates = []
        for unit, row in pool.items():
            seed, share = seeds.seeds.get(unit), mass.get(unit, 0.0) / most
            candidate = Candidate(row, dict(seeds.fused[unit].channels) if unit in seeds.fused else {})
            reason = seed.reason if seed and seed.direct else ""
            read = ways[unit], surest.get(int(unit)), reason, running.get(unit), changed.get(unit)
            add_composite(candidate, GraphSignals(share, *read), weights, hits)
            candidates.append(candidate)
        trace.fused = {unit: candidate.score for unit, candidate in seeds.fused.items()}
        trace.nearness = {unit: 1.0 if unit in seeds.seeds else mass.get(unit, 0.0) / most for unit in pool}
        noted = {event.unit.id for event in trace.events}
        for place, (unit, candidate) in enumerate(seeds.fused.items(), start=1):
            if unit not in pool and unit not in noted:
                too_far = NO_SEED, f"match {place} of the channels is too far down for a seed"
                stage, text = seeds.losses.get(unit) or too_far
                trace.events.append(Event(stage, candidate.unit, f"{text}; and the walk does not reach it"))
        measure_features(candidates, evidence, run.weights, run.budget)
        trace.count_lap("walk")
        return Ranking(run, findings, candidates)
    return Ranking(run, findings, fuse_matches(run, findings.matches))


def _collect_pool(
    run: SearchRun, walked: WholeWalk, faint_share: float, certain: Collection[UnitId], texts: Collection[UnitId]
) -> dict[UnitId, UnitRow]:
    """Collect the units with enough mass that may be found, and the `certain` ones, by content; of pieces of text only `texts`."""
    least = faint_share * max(walked.mass.values(), default=0.0)
    unit, may_be_found = walked.unit, run.make_scope_test()
    mass = {n: held for n, held in walked.mass.items() if held > 0 and is_unit(unit[n])}
    reached = {n: held for n, held in mass.items() if may_be_found(unit[n])}
    faint = {n: held for n, held in reached.items() if held < least and unit[n] not in certain}
    rows = run.store.units.read_rows({*(unit[n] for n in reached.keys() - faint.keys()), *certain})
    shares = {unit[n]: faint[n] * faint_share / least for n in find_heaviest(faint, MOST_EVENTS)}
    for row in sorted(run.store.units.read_rows(shares).values(), key=UnitRow.content_order):
        text = f"it holds {shares[row.id]:.2%} of the walk's most, under {faint_share:.0%}"
        run.trace.events.append(Event(WALK, row, text))
    ordered = sorted(rows.values(), key=UnitRow.content_order)
    return {row.id: row for row in ordered if row.kind not in CHUNK_KINDS or row.id in texts}


def _read_confidences(units: Collection[UnitId], store: Store) -> dict[int, float]:
    """Map each unit to the confidence of the surest edge that leads to it, including edges to containers and members."""
    surest: dict[int, float]
    surest, nested, members = store.run_tasks(
        partial(store.edges.find_best_confidences, units),
        partial(store.edges.find_nested, units),
        partial(store.edges.find_outgoing, units, {"member_of"}),
    )
    for node in (*(node for node, _, _ in nested), *(edge.source for edge in members)):
        surest[node] = max(CONTAINED, surest.get(node, 0.0))
    return surest


def read_around(neighbours: Neighbours, seeds: Collection[Node], hops: int, most: int) -> dict[Node, list[Neighbour]]:
    """Read the neighbours of all nodes up to `hops` - 1 steps from a seed, so that a walk can take `hops`; of `most` nodes at most.

    Nodes at the border have no neighbours. If a round has too many nodes, those with the most weight from earlier rounds go first.
    """
    rows_of: dict[Node, list[Neighbour]] = {}
    arriving = dict.fromkeys(sorted(seeds), 1.0)
    for _ in range(hops):
        ring = sorted((n for n in arriving if n not in rows_of), key=lambda node: (-arriving[node], node))
        nodes = ring[: most - len(rows_of)]
        if not nodes:
            break
        rows = neighbours(nodes)
        for node in nodes:
            rows_of[node] = list(rows.get(node, ()))
            for other, weight in rows_of[node]:
                arriving[other] = arriving.get(other, 0.0) + weight
    return rows_of


def read_directed_edges(nodes: Sequence[Node], kinds: Collection[str], store: Store) -> Adjacency:
    """Read the directed edges of these kinds among these nodes, including the nesting of units; each has weight 1."""
    among, stored = frozenset(nodes), [kind for kind in kinds if kind not in ("contains", "member_of")]
    outgoing, nested = store.run_tasks(
        partial(store.edges.find_outgoing, among, stored), partial(store.edges.find_nested, among)
    )
    targets: dict[Node, set[Node]] = {node: set() for node in sorted(among)}
    for edge in outgoing:
        if edge.target in among and edge.target != edge.source:
            targets[edge.source].add(edge.target)
    for node, other, down in nested:
        if other in among and ("contains" if down else "member_of") in kinds:
            targets[node].add(UnitId(other))
    return {node: [(target, 1.0) for target in sorted(others)] for node, others in targets.items()}


STATIC = ExplainedValue(0.3, "no trace shows it running")  # Recency of a unit that no run-time trace has seen
LEAST_SURE = 0.5  # Least confidence of a unit, even if no edge leads to it
CONTAINED = 0.7  # Confidence of the edges between a container and its members, which are found by syntax
STEPS = 100  # Steps that mass is rounded down to; knowing stores it as a whole number from 0 to 100


@dataclass(frozen=True, slots=True)
class CompositeWeights:
    """A profile's weights of the parts of the composite score, from weights.toml."""

    blast_radius: float
    confidence: float
    recency: float
    distance: float
    commits: float  # Weight of the recency of the last commit that changed its lines, if the history is known
    hits: bool  # True if authority and hub count


@dataclass(frozen=True, slots=True)
class GraphSignals:
    """The signals of one candidate for its composite score."""

    share: float  # Its mass, as a share of the largest mass of a candidate
    way: str  # Description of the walk's path to it
    confidence: float | None  # Confidence of the surest edge that leads to it; None without edges
    seed: str  # Why it is a seed; empty for a unit that only the walk found
    running: RuntimeSignals | None = None  # Observations in run-time traces; None without any
    changed: ExplainedValue | None = None  # Recency of the last commit that changed its lines; None if unknown


def add_composite(candidate: Candidate, standing: GraphSignals, weights: CompositeWeights, hits: HitsScores) -> None:
    """Add the parts of the composite score to a candidate, in place."""
    node, radius = int(candidate.unit.id), math.floor(standing.share * STEPS + 1e-9) / STEPS
    scores = {"authority": hits.authority.get(node, 0.0), "hub": hits.hub.get(node, 0.0)}
    reason = f"{radius:.0%} as close as the closest: {standing.way}"
    if node in hits.authority:
        reason += f" (authority {scores['authority']:.3f}, hub {scores['hub']:.3f})"
    candidate.add_bonus("blast_radius", weights.blast_radius, radius, reason)
    sure, recency = ExplainedValue(LEAST_SURE, "no sure edge leads to it"), STATIC
    if standing.confidence is not None and standing.confidence > LEAST_SURE:
        reason = f"the most certain edge to it has a confidence of {standing.confidence:.0%}"
        sure = ExplainedValue(standing.confidence, reason)
    if standing.running:
        recency, sure = standing.running.recency, max(sure, standing.running.confidence, key=lambda one: one.value)
    candidate.add_bonus("confidence", weights.confidence, *sure)
    candidate.add_bonus("recency", weights.recency, *recency)
    distance = (1.0, f"0 hops: {standing.seed}") if standing.seed else (1 / 2, "1 hop: the walk found it")
    candidate.add_bonus("distance", weights.distance, *distance)
    if standing.changed and weights.commits:
        candidate.add_bonus("commits", weights.commits, *standing.changed)
    for name, side, is_for_seeds, threshold, factor in ADJUSTMENTS:
        if is_for_seeds == bool(standing.seed) and scores[side] > threshold:
            candidate.add_bonus(name, factor, scores[side], f"{side} {scores[side]:.3f} among the walk's best")
