"""knowing's ranker: rankings → seeds → walk → HITS → composite score.

.35 blast radius + .20 confidence + .15 recency + .15 distance + authority and hub    with HITS
.40 blast radius + .25 confidence + .20 recency + .15 distance                        without

Both add a small part for a recent commit, if git's history is known; knowing mentions this part but not its weight.

The seeds are the best units of the channels' fused rankings, without noise; their number depends on the size of the graph. A walk
from few units that belong together finds more than a walk from many scattered ones, so the largest folder goes first. Figures
and lists are those of the system `knowing`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping, Sequence
from functools import partial
from itertools import chain, pairwise
from pathlib import PurePosixPath

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
from codelens.model.code import CHUNK_KINDS, TYPE_KINDS, UnitId, UnitRow
from codelens.model.fast_dataclass import dataclass, replace
from codelens.model.graph import is_unit
from codelens.model.search import Candidate, Event, Match, rank_candidates
from codelens.search.channels import Findings
from codelens.search.channels.equivalence import EquivalenceClass, match_classes, select_targets, split_into_stems
from codelens.search.channels.keywords import select_path_terms
from codelens.search.evidence import Evidence
from codelens.search.features import CERTAIN_CLASS, ROLE_WORDS, measure
from codelens.search.fuse import find_rows, fuse_matches, fuse_rankings, normalise_weights
from codelens.search.rankers import Ranking
from codelens.search.recency import ExplainedValue, RuntimeSignals, measure_recency_of_units, read_runtime_signals
from codelens.search.run import SearchRun
from codelens.search.terms import collect_words, load_words
from codelens.search.walk import describe_walk
from codelens.store.store import Store
from codelens.text.identifiers import fold_identifier, split_identifier

WALK = "walk"  # Stage of the trace's events for units with too little mass
TOLD = 500  # Most units under the walk's threshold that get an event in the trace, those with most mass


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


@dataclass(frozen=True, slots=True)
class NumberedWalk:
    """The result of the walk. Nodes are numbered by content (`nodes`), so that ties do not depend on how the index was built."""

    mass: Mapping[int, float]
    rows: Adjacency
    restarts: Mapping[int, float]
    around: WholeGraph
    nodes: ContentNumbering

    def sum_mass_by_unit(self) -> dict[UnitId, float]:
        """Map each node's id, of a unit or other node, to its mass."""
        return {self.nodes.unit[node]: held for node, held in self.mass.items()}


def rank(run: SearchRun, findings: Findings) -> Ranking:
    """Rank by seeds → walk → HITS → composite score. If there is no time to walk, the ranks of the channels decide. Units that
    the walk does not reach are not candidates, even if their words match; the trace has an event for each. But matches of a
    user's own class and literal matches always are candidates.
    """
    evidence, sections, store, trace = Evidence(run, findings), run.profile.composite, run.store, run.trace
    with run.budget.part(WALK_SHARE, "the walk was left out, so that ranks of channels alone decide"):
        walking, weights = WalkSettings(**sections["walk"]), Composite(**sections["composite"])
        own_targets = [unit for unit, match in evidence.concepts.items() if match.raw_score >= CERTAIN_CLASS]
        certain = findings.literal.union(own_targets)
        seeds = choose_seeds(run, findings.matches, SeedSettings(**sections["seeds"]))
        walked = walk_with_restart({unit: seed.weight for unit, seed in seeds.seeds.items()}, walking, store)
        pool = _collect_pool(run, walked, walking, seeds, certain)
        hits, ways, surest, changed = store.at_once(
            partial(_compute_hits, walked, walking, store) if weights.hits else partial(HitsScores, {}, {}),
            partial(_describe_ways, pool, walked, walking, store),
            partial(_read_confidences, pool, store),
            partial(measure_recency_of_units, run, pool.values()),
        )
        mass = walked.sum_mass_by_unit()
        most = max((mass.get(unit, 0.0) for unit in pool), default=0.0) or 1.0
        running = read_runtime_signals(pool.values(), store, run.options.now, run.notices)
        candidates = []
        for unit, row in pool.items():
            fused, seed, share = seeds.fused.get(unit), seeds.seeds.get(unit), mass.get(unit, 0.0) / most
            candidate = Candidate(row, dict(fused.channels) if fused else {})
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
        measure(candidates, evidence, run.weights, run.budget)
        trace.count_lap("walk")
        return Ranking(run, findings, candidates)
    return Ranking(run, findings, fuse_matches(run, findings.matches))


def walk_with_restart(seeds: Mapping[UnitId, float], walking: WalkSettings, store: Store) -> NumberedWalk:
    """Walk with restart over all nodes within `walking.hops` of the seeds (unit → weight). Without seeds no node has mass."""
    around = WholeGraph(store, walking.kinds, walking.backward, walking.precise)
    nodes = ContentNumbering(around, store)
    numbers = nodes.number_nodes(seeds)
    restarts = {numbers[unit]: weight for unit, weight in seeds.items()}
    rows = read_around(nodes, restarts, walking.hops, walking.nodes)
    mass = walk(rows, restarts, walking.restart, walking.steps).mass if restarts else {}
    return NumberedWalk(mass, rows, restarts, around, nodes)


def _collect_pool(
    run: SearchRun, walked: NumberedWalk, walking: WalkSettings, seeds: Seeds, certain: Collection[UnitId]
) -> dict[UnitId, UnitRow]:
    """Collect the units with enough mass that may be found, and the `certain` ones, in order of content."""
    least = walking.faint * max(walked.mass.values(), default=0.0)
    unit, may_be_found = walked.nodes.unit, run.make_scope_test()
    held_by_units = {n: held for n, held in walked.mass.items() if held > 0 and is_unit(unit[n])}
    reached = {n: held for n, held in held_by_units.items() if may_be_found(unit[n])}
    faint = {n: held for n, held in reached.items() if held < least and unit[n] not in certain}
    rows = run.store.units.read_rows({*(unit[n] for n in reached.keys() - faint.keys()), *certain})
    shares = {unit[n]: faint[n] * walking.faint / least for n in find_heaviest(faint, TOLD)}
    for row in sorted(run.store.units.read_rows(shares).values(), key=UnitRow.content_order):
        text = f"it holds {shares[row.id]:.2%} of the walk's most, under {walking.faint:.0%}"
        run.trace.events.append(Event(WALK, row, text))
    seeding = {*seeds.seeds, *certain}
    pool = [row for row in rows.values() if row.kind not in CHUNK_KINDS or row.id in seeding]
    return {row.id: row for row in sorted(pool, key=UnitRow.content_order)}


def _read_confidences(units: Collection[UnitId], store: Store) -> dict[int, float]:
    """Map each unit to the confidence of the surest edge that leads to it, including edges to containers and members."""
    surest: dict[int, float]
    surest, nested, members = store.at_once(
        partial(store.edges.find_best_confidences, units),
        partial(store.edges.find_nested, units),
        partial(store.edges.find_outgoing, units, {"member_of"}),
    )
    for node in (*(node for node, _, _ in nested), *(edge.source for edge in members)):
        surest[node] = max(CONTAINED, surest.get(node, 0.0))
    return surest


def _compute_hits(walked: NumberedWalk, walking: WalkSettings, store: Store) -> HitsScores:
    """Compute authorities and hubs among the units with most mass, over directed edges."""
    units = {node: held for node, held in walked.mass.items() if is_unit(walked.nodes.unit[node])}
    among = [walked.nodes.unit[node] for node in find_heaviest(units, POOL)]
    return compute_hits(read_directed_edges(among, [kind for kind, weight in walking.kinds.items() if weight], store))


def _describe_ways(
    pool: Mapping[UnitId, UnitRow], walked: NumberedWalk, walking: WalkSettings, store: Store
) -> dict[UnitId, str]:
    """Describe in words how the walk came to each unit."""
    unit, numbers = walked.nodes.unit, walked.nodes.number_nodes(pool)
    trails = Trails(walked.rows, walked.restarts, walking.restart, walking.hops)
    ways = {unit[node]: [unit[station] for station in trails.find_trail(node)] for node in numbers.values()}
    others = {station for way in ways.values() for station in way} - pool.keys()
    rows = store.units.read_rows(one for one in others if is_unit(one))
    names = {row.id: row.qualified_name for row in (*pool.values(), *rows.values())}
    walked.around.read_kinds({station for way in ways.values() for station in way[:-1]})
    names |= {UnitId(node): name for node, _, name in store.edges.read_content_keys(others - rows.keys())}
    told = dict.fromkeys(pool, "not reached") | {one: "a seed of the walk" for one, way in ways.items() if way}
    return told | {one: describe_walk(way, names, walked.around) for one, way in ways.items() if len(way) > 1}


def read_around(neighbours: Neighbours, seeds: Collection[Node], hops: int, most: int) -> dict[Node, list[Neighbour]]:
    """Read the neighbours of all nodes up to `hops` - 1 steps from a seed, so that a walk can take `hops`; of `most` nodes at most.

    Nodes at the border have no neighbours, and the walk turns back there. If a round has too many nodes, those with the most
    weight from earlier rounds go first.
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
    outgoing, nested = store.at_once(
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


STATIC = 0.3  # Recency of a unit that no run-time trace has seen
LEAST_SURE = 0.5  # Least confidence of a unit, even if no edge leads to it
CONTAINED = 0.7  # Confidence of the edges between a container and its members, which are found by syntax
STEPS = 100  # Steps that mass is rounded down to; knowing stores it as a whole number from 0 to 100


@dataclass(frozen=True, slots=True)
class Composite:
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


def add_composite(candidate: Candidate, standing: GraphSignals, weights: Composite, hits: HitsScores) -> None:
    """Add the parts of the composite score to a candidate, in place."""
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


# Seeds

AROUND = 10  # Most matches by name whose neighbours are read
NAMED_CAP = 20  # Most units that are taken for one name, as in the equivalence channel
MOST_EDGES = 2000  # Most calls that are read around these matches; functions that all code calls say little


def rank_by_neighbours(run: SearchRun, named: Sequence[Match]) -> list[Match]:
    """Rank units with the names of those of `named` whose callers or callees have words of the query in their names.

    The raw score is the weight of the derived class. Every phrase has two words, so every match is strong.
    """
    query, store = run.terms, run.store
    best = list(dict.fromkeys(match.unit for match in named))[:AROUND]
    rows = store.units.read_rows(best)
    seeds = {unit: rows[unit].name for unit in best if rows[unit].kind not in CHUNK_KINDS}
    around: dict[UnitId, set[UnitId]] = {unit: set() for unit in seeds}
    finders = store.edges.find_outgoing, store.edges.find_incoming
    outgoing, incoming = store.at_once(*(partial(find, [*seeds], {"calls"}, MOST_EDGES) for find in finders))
    for unit, other in chain(((e.source, e.target) for e in outgoing), ((e.target, e.source) for e in incoming)):
        if is_unit(other):
            around[UnitId(unit)].add(UnitId(other))
    names = {
        u: r.name for u, r in store.units.read_rows(set().union(*around.values())).items() if r.kind not in CHUNK_KINDS
    }
    neighbours = {unit: sorted({names[one] for one in others if one in names}) for unit, others in around.items()}
    matched = match_classes(split_into_stems(query.texts), derive_classes(seeds, neighbours))
    targets = [(match, target) for match in matched for target in select_targets(match.concept)]
    found = store.at_once(*(partial(store.units.find_by_name, target, run.within, NAMED_CAP) for _, target in targets))
    matches: dict[UnitId, Match] = {}
    for (match, _), units in zip(targets, found, strict=True):
        for unit in units:
            reason = f'"{match.phrases[0]}" means {match.concept.name}'
            matches.setdefault(unit, Match(unit, match.concept.weight, reason))
    return list(matches.values())


DOUBLES = frozenset(("mock", "mocks", "mocked", "fake", "fakes", "stub", "stubs"))
"""Words in the names of test doubles; knowing looks for `mock`, `fake` and `stub` in the name of the type."""
SHORT_NAMES = frozenset(("id", "ok", "db", "ip", "io", "go", "do"))  # Names of two letters that do not count as noise
SHORTEST_NAME = 3  # Fewest letters of other names that do not count as noise
PATHS: Mapping[str, re.Pattern[str]] = {
    "build": re.compile(r"(?:^|/)(?:dist|build|node_modules)/"),
    "vendor": re.compile(r"(?:^|/)(?:vendor|third_party)/"),
    "minified": re.compile(r"\.(?:min|bundle)\.[a-z]+$"),
    "fixture": re.compile(r"(?:^|/)(?:conftest|fixtures?)\.[a-z]+$|(?:^|/)(?:testutil|testhelper)|test_?helper", re.I),
}  # Kind of path → its pattern
ROLES = ("vendored", "generated")


def find_noise(unit: UnitRow, words: Collection[str]) -> str:
    """Return the reason why a unit is noise; empty if it is not. `words` are the query's words and folded names."""

    def is_asked(word: str) -> bool:
        """Decide if the query asks for a word: it contains the word, its plural, or its form without -ed ('vendor')."""
        return bool({word, f"{word}s", word.removesuffix("ed")} & set(words))

    for role in ROLES:
        if role in unit.roles and not is_asked(role):
            return f"{role} code"
    if unit.is_quoted and not ROLE_WORDS["docs"] & set(words):
        return "code that a document quotes"
    for what, pattern in PATHS.items():
        if pattern.search(unit.path) and not is_asked(what):
            return f"a {what} path"
    name_words = {*split_identifier(unit.container), *(split_identifier(unit.name))}
    if (double := sorted(name_words & DOUBLES)) and not any(word in words for word in DOUBLES):
        return f"its name says {double[0]}"
    name = fold_identifier(unit.name)
    if len(name) < SHORTEST_NAME and name not in SHORT_NAMES and name not in words:
        return f"a name of {len(name)} letters"
    return ""


NOISE = "noise filter"
NO_SEED = "seeds"
FOCUS = "focus"  # The last of three stages of the trace's events
AROUND_NAMES = "neighbours"  # Name of the ranking by classes derived from neighbours in the graph


@dataclass(frozen=True, slots=True)
class SeedSettings:
    """A profile's settings for the seeds, from weights.toml."""

    candidates: int  # Most candidates of the fusion that may become seeds
    fewest: int  # Number of candidates below which others are added
    filled: int  # Most candidates after others are added
    neighbours: float  # Weight of the ranking by classes derived from neighbours' names; 0 for no such ranking
    implementors: bool  # True to add all implementations of the types among the candidates
    focus: bool  # True if the largest folder goes first
    seeds: Mapping[str, int]  # Fewest units of an index (as text, as keys of TOML are) → number of seeds
    dense: int  # Indexes with more units have types first among the seeds
    first_weight: float
    last_weight: float  # Restart weights of the first and last seed; weights between are linear
    paths: int  # Most symbols that are added because the query names their path
    path_weight: float


@dataclass(frozen=True, slots=True)
class Seed:
    """A unit at which the walk starts and restarts."""

    unit: UnitRow
    weight: float
    reason: str
    direct: bool  # True if a match of the query; False for symbols added by their path, which only help the walk


@dataclass(frozen=True, slots=True)
class Seeds:
    """The seeds of the walk, and all other matches of the channels."""

    seeds: Mapping[UnitId, Seed]
    fused: Mapping[UnitId, Candidate]  # All units of the fusion, in the fusion's order
    losses: Mapping[UnitId, tuple[str, str]]
    """Unit of the fusion that did not become a seed → (stage that lost it, explanation); other units are too far down."""


def choose_seeds(run: SearchRun, rankings: Mapping[str, Sequence[Match]], seeding: SeedSettings) -> Seeds:
    """Choose the seeds: fuse the rankings, add units if there are few, drop noise, order, cut, add implementations and paths."""
    query, store, trace = run.terms, run.store, run.trace
    fused = _fuse_rankings(run, rankings, seeding)
    symbols = [c.unit for c in fused if c.unit.kind not in CHUNK_KINDS]
    unquoted = [unit for unit in symbols if not unit.is_quoted] or symbols
    chosen = unquoted[: seeding.candidates]
    if len(chosen) < seeding.fewest:  # names and words gave few: near units, then chunks of text, then resembling names
        near, slips = ([m.unit for m in rankings.get(name, ())][: seeding.filled] for name in ("vector", "fuzzy"))
        rows = store.units.read_rows({*near, *slips})
        further = [*(rows[unit] for unit in near), *(c.unit for c in fused), *(rows[unit] for unit in slips)]
        chosen = list({unit.id: unit for unit in (*chosen, *further)}.values())[: seeding.filled]
    words = frozenset({*collect_words(query), *(term.text for term in query.names)})
    noise = {unit.id: find_noise(unit, words) for unit in chosen}
    if not all(noise.values()):  # else the query means them
        trace.events += [Event(NOISE, unit, noise[unit.id]) for unit in chosen if noise[unit.id]]
        chosen = [unit for unit in chosen if not noise[unit.id]]
    size = store.units.count()
    ordered = put_largest_folder_first(chosen) if seeding.focus else chosen
    if size > seeding.dense:
        ordered = sorted(ordered, key=lambda unit: unit.kind not in TYPE_KINDS)
    most = max((n for least, n in seeding.seeds.items() if int(least) <= size), default=0)
    losses = {c.unit.id: (NO_SEED, "text outside of definitions never becomes a seed") for c in fused}
    losses |= {unit.id: (NO_SEED, "code that a document quotes gives way to other code") for unit in symbols}
    for place, unit in enumerate(unquoted, start=1):
        losses[unit.id] = (NO_SEED, f"definition {place} of the matches; the first {seeding.candidates} may be seeds")
    first = "types" if size > seeding.dense else "those in the folder with the most matches"
    before = {unit.id: place for place, unit in enumerate(chosen, start=1)}
    for place, unit in enumerate(ordered[most:], start=most + 1):
        stage = FOCUS if before[unit.id] <= most else NO_SEED
        but = f", and number {place} once {first} go first" if stage == FOCUS else ""
        losses[unit.id] = (stage, f"number {before[unit.id]} of the matches{but}; {most} are seeds")
    fall = (seeding.first_weight - seeding.last_weight) / max(1, min(most, len(ordered)) - 1)
    seeds = {
        unit.id: Seed(unit, seeding.first_weight - fall * place, f"seed {place + 1}", True)
        for place, unit in enumerate(ordered[:most])
    }
    for unit in _find_implementors(chosen, store) if seeding.implementors else ():
        if unit.id not in seeds and not find_noise(unit, words):
            seeds[unit.id] = Seed(unit, seeding.last_weight, "implements a type among the matches", True)
    for unit, reason in find_on_paths(run, seeding.paths):
        if unit.id not in seeds and not find_noise(unit, words):
            seeds[unit.id] = Seed(unit, seeding.path_weight, reason, False)
    return Seeds(seeds, {c.unit.id: c for c in fused}, losses)


def _fuse_rankings(run: SearchRun, rankings: Mapping[str, Sequence[Match]], seeding: SeedSettings) -> list[Candidate]:
    """Fuse by rank all channels with a weight, and the ranking by the neighbours of the best matches by name."""
    weighing = {**run.profile.channels, AROUND_NAMES: seeding.neighbours}
    taking_part = {name: matches for name, matches in rankings.items() if weighing.get(name)}
    if seeding.neighbours and "symbol" in taking_part:
        taking_part[AROUND_NAMES] = rank_by_neighbours(run, taking_part["symbol"])
        run.trace.rankings[AROUND_NAMES] = tuple(taking_part[AROUND_NAMES])
    weights = normalise_weights(weighing, sorted(taking_part))
    candidates = fuse_rankings(taking_part, weights, run.profile.rrf_k, find_rows(run, taking_part))
    for candidate in candidates:  # the rank of a unit that learned words led to counts by the number of its uses
        learned = next((match for match in run.terms.learned if match.unit == candidate.unit.id), None)
        for place, part in enumerate(candidate.recorded if learned else ()):
            if learned and part.source == "equivalence" and part.reason.endswith(learned.reason):
                operands = {**part.operands, "weight": part.operands["weight"] * learned.raw_score}
                candidate.recorded[place] = replace(part, amount=part.amount * learned.raw_score, operands=operands)
    return rank_candidates(candidates)


def put_largest_folder_first(units: Sequence[UnitRow]) -> list[UnitRow]:
    """Put the units of the folder with most of them first; of several such folders, the one with the best unit."""
    folders: dict[tuple[str, str], list[UnitRow]] = {}
    for unit in units:
        folders.setdefault((unit.repository, str(PurePosixPath(unit.path).parent)), []).append(unit)
    largest = max(folders.values(), key=len, default=[])
    first = {unit.id for unit in largest}
    return [*largest, *(unit for unit in units if unit.id not in first)]


def _find_implementors(units: Sequence[UnitRow], store: Store) -> list[UnitRow]:
    """Find the implementations of the types among these units, type by type, each by path and place."""
    interfaces = {unit.id: place for place, unit in enumerate(units) if unit.kind in TYPE_KINDS}
    edges = [e for e in store.edges.find_incoming(interfaces, {"implements"}) if is_unit(e.source)]
    rows = store.units.read_rows({UnitId(e.source) for e in edges})
    first: dict[UnitId, int] = {}
    for edge in edges:
        place, source = interfaces[UnitId(edge.target)], UnitId(edge.source)
        first[source] = min(place, first.get(source, place))
    return sorted(rows.values(), key=lambda row: (first[row.id], row.content_order()))


RICH, LEAN, OTHER = 5, 10, 15  # Most types with members, types without, and other symbols that one word adds
CAPS = {1: RICH, 2: LEAN, 3: OTHER}  # Group of `Units.grouped` → most of it for one word
MOST_FILES = 300  # Most files that are searched for one word; a word on more paths names the project, not a place in it


def _read_groups(word: str, words: Sequence[str], store: Store) -> Sequence[tuple[UnitId, int]]:
    files = store.documents.find_first_on_paths(word, MOST_FILES)
    return store.units.group_by_members(files, [other for other in words if other != word])


def find_on_paths(run: SearchRun, most: int) -> list[tuple[UnitRow, str]]:
    """Find at most `most` symbols in folders and files whose names begin with a word of the query, each with the reason. Types with
    a method that the query names come first, then types with members, types without members, and other symbols."""
    words, groups = select_path_terms(run) if most else [], dict[UnitId, tuple[int, int, str]]()
    may_be_found = run.make_scope_test()
    grouped = run.store.at_once(*(partial(_read_groups, word, words, run.store) for word in words))
    for place, (word, units) in enumerate(zip(words, grouped, strict=True)):
        taken: dict[int, int] = {}
        for unit, group in units:
            if taken.get(group, 0) < CAPS.get(group, most) and may_be_found(unit):
                taken[group] = taken.get(group, 0) + 1
                groups.setdefault(unit, (group, place, word))
    best = sorted(groups, key=lambda unit: groups[unit][:2])[:most]  # stable: equal ones stay in order of content
    rows = run.store.units.read_rows(best)
    return [(rows[unit], f"where the path says {groups[unit][2]}") for unit in best]


DERIVED_WEIGHT = 0.7  # Weight of derived classes, below that of shipped classes, which were written by hand
SHORTEST_PAIRED = 3  # Fewest letters of a word in a pair


def derive_classes(
    seed_names: Mapping[UnitId, str], neighbours: Mapping[UnitId, Sequence[str]]
) -> list[EquivalenceClass]:
    """Derive a class from each seed: its target is the seed's name, its phrases are pairs of words in the neighbours' names.

    `neighbours` are the names of a unit's callers and callees. Pairs in the seed's own name are left out, because they are found
    without a class; seeds without pairs have no class. Classes are in the order of the seeds, phrases in that of the neighbours.
    """
    classes = []
    for unit, name in seed_names.items():
        own_pairs = _pair_words(name)
        pairs = dict.fromkeys(
            pair for other in neighbours.get(unit, ()) for pair in _pair_words(other) if pair not in own_pairs
        )
        if pairs:
            phrases = tuple(" ".join(pair) for pair in pairs)
            classes.append(EquivalenceClass(f"around {name}", phrases, (name,), DERIVED_WEIGHT))
    return classes


def _pair_words(name: str) -> list[tuple[str, str]]:
    """List pairs of neighbouring words of a name, without stop words and generic words: handle_the_blast_radius → blast radius."""
    nothing = load_words().generic | load_words().stop
    words = [word for word in split_identifier(name) if word not in nothing]
    return list(pairwise(word for word in words if len(word) >= SHORTEST_PAIRED and not word.isdigit()))
