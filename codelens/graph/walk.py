"""Run algorithms on a weighted graph: random walks with restart (power iteration, forward push, the likeliest trail to a node),
expansion of seeds, and authorities and hubs. This module does not read the store.

A walker at a node returns with probability alpha to a seed, chosen by the seeds' weights, and otherwise follows an edge, chosen by
weight; from a dead end it returns to a seed. `walk` is knowing's power iteration with its stopping rules; each step touches every
edge within reach. `push_mass` finds nearly the same masses in a graph of any size, and reads only nodes where much mass
waits. Parallel edges add up, as in knowing: a class that both calls and imports another sends it 1.5.

`expand` follows Graph Memory: each hop multiplies the score by a factor of the edge's kind. A node gets the best score of all paths
within the depth, and keeps that path. Edges are followed in both directions, except imports: a popular file would bring in all
its importers.

`compute_hits` is Kleinberg's HITS: a node is an authority if good hubs point to it, and a hub if it points to good authorities.
Weights have no effect, as in knowing, which runs HITS on the 200 best nodes of the walk.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from codelens.model.fast_dataclass import frozen_dataclass

Node = int
Neighbour = tuple[Node, float]
Amounts = Mapping[Node, float]  # Node → its weight as a seed, or its mass
Adjacency = Mapping[Node, Sequence[Neighbour]]
"""Node → (neighbour, weight) pairs, each neighbour once, sorted by number. A node without neighbours may be missing."""
Neighbours = Callable[[Sequence[Node]], Adjacency]
"""A function from nodes to their neighbours, with one query to the store for a whole round."""


class WeightedEdge(NamedTuple):
    """A directed edge of a kind, with its weight in a walk."""

    source: Node
    target: Node
    weight: float
    kind: str


def build_adjacency(edges: Iterable[WeightedEdge]) -> dict[Node, list[Neighbour]]:
    """Add up the weights of parallel edges. Sums are exact, so the result is the same to the last bit for any order of the edges.

    Edges of weight 0 (knowing's owned_by) are left out; an edge from a node to itself stays, as in knowing.
    Raises ValueError for a weight that is negative or not finite.
    """
    weights: dict[Node, dict[Node, list[float]]] = {}
    for source, target, weight, kind in edges:
        if not 0 <= weight < math.inf:
            raise ValueError(f"an edge of kind {kind} weighs {weight}")
        if weight:
            weights.setdefault(source, {}).setdefault(target, []).append(weight)
    rows = ((source, sorted(row.items())) for source, row in sorted(weights.items()))
    return {source: [(target, math.fsum(several)) for target, several in row] for source, row in rows}


def normalize_weights(row: Iterable[Neighbour]) -> list[Neighbour]:
    """Divide weights by their sum; empty if it is 0, as at a dead end. Raises ValueError if one is negative or not finite."""
    pairs = list(row)
    total = math.fsum(weights := [weight for _, weight in pairs])
    if not total < math.inf or min(weights, default=0.0) < 0:
        raise ValueError("a weight is negative or not finite")
    return [(node, weight / total) for node, weight in pairs if weight] if total else []


ALPHA = 0.2  # knowing, experiments 13 to 16: every other value and scheme lost more than it won
MAX_STEPS = 20
TOLERANCE = 1e-3
STABLE_TOP = 10
STABLE_STEPS = 2  # These last four values are from knowing, section 4, parameters


@frozen_dataclass
class WalkResult:
    """The masses after the last step, which sum to 1, and why the walk stopped: `converged`, `stable` or `steps`."""

    mass: dict[Node, float]
    steps: int
    stopped: str


def walk(
    adjacency: Adjacency,
    seeds: Amounts,
    alpha: float = ALPHA,
    max_steps: int = MAX_STEPS,
    tolerance: float = TOLERANCE,
    stable_steps: int = STABLE_STEPS,
) -> WalkResult:
    """Walk from the seeds until a step moves less than `tolerance` (L1), or the first STABLE_TOP nodes keep their order for
    `stable_steps` steps (0: no such check), or there were `max_steps`.

    Seeds start in proportion to their weights; without any weight there is no mass. Raises ValueError for a weight or alpha
    out of range.
    """
    restart = spread_over_seeds(seeds, alpha)
    mass = dict(restart)
    rows: dict[Node, list[Neighbour]] = {}
    top: list[Node] | None = None  # the first step is not compared: seeds alone always come first
    stable = 0
    for step in range(1, max_steps + 1):
        # Nodes keep the order in which they were reached, so sums do not depend on the order of the input.
        before, mass = mass, dict.fromkeys(mass, 0.0)
        stuck = []
        for node, here in before.items():
            row = rows.get(node)
            if row is None:
                row = rows[node] = normalize_weights(sorted(adjacency.get(node, ())))
            if not row:
                stuck.append(here)
            going = (1 - alpha) * here
            for target, part in row:
                mass[target] = mass.get(target, 0.0) + going * part
        back = alpha + (1 - alpha) * math.fsum(stuck)
        for seed, part in restart:
            mass[seed] += back * part
        moved = math.fsum(abs(here - before.get(node, 0.0)) for node, here in mass.items())
        if moved < tolerance:
            return WalkResult(mass, step, "converged")
        last, top = top, find_heaviest(mass, STABLE_TOP)
        stable = stable + 1 if top == last else 0
        if 0 < stable_steps <= stable:
            return WalkResult(mass, step, "stable")
    return WalkResult(mass, max_steps, "steps")


def spread_over_seeds(seeds: Amounts, alpha: float) -> list[Neighbour]:
    """Compute the shares of a restart: seeds with their parts of 1, by number. Raises ValueError for an alpha outside (0, 1]."""
    if not 0 < alpha <= 1:
        raise ValueError(f"alpha must be above 0 and at most 1, not {alpha}")
    return normalize_weights(sorted(seeds.items()))


def find_heaviest(mass: Amounts, count: int) -> list[Node]:
    """Find the `count` nodes with the most mass, in descending order; of equals, the smaller number first."""
    least = sorted(mass.values())[-count] if len(mass) > count > 0 else 0.0
    return sorted((node for node, here in mass.items() if here >= least), key=lambda n: (-mass[n], n))[:count]


EPSILON = 3e-4
"""Least waiting mass to push. On generated graphs of 200 000 edges (tools.bench.walks) with 15 seeds, the push finds .988 to 1.000
of the mass of nodes with at least .02 of the walk's largest; with 1e-3, .982 to 1.000. Without backward edges, 1e-4 finds .996
to 1.000 for twice the nodes."""
MAX_NODES = 5000  # A safety limit: with EPSILON, graphs of up to 2 000 000 edges needed at most 543 nodes
WIDE = 16
"""Neighbours that one `epsilon` of waiting mass is enough for. On such graphs of 500 000 edges with backward edges, 16, 64 and 256
find equally many of the 50 best nodes; 64 follows three times as many edges as 16, 256 nearly eight times as many."""
WHOLE = 1 << 60
"""All mass as a whole number: sums of whole numbers are exact, so the order of nodes changes no bit of the result."""


@frozen_dataclass
class PushResult:
    """The result of a push: settled mass, waiting mass, and the work done."""

    mass: dict[Node, float]  # Settled mass, in no order; the true mass is at least this
    waiting: Mapping[Node, int]
    """Node → mass that arrived there and waits, in units of 1 / `WHOLE`. All but alpha of it is missing in the settled mass; the
    sum of what is missing is the error."""
    rows: dict[Node, Sequence[Neighbour]]
    """The neighbours read, unchanged: the sub-graph in which trails can be followed."""
    pushes: int
    edges: int  # Edges walked, counted each time


def push_mass(
    neighbours: Neighbours,
    seeds: Amounts,
    alpha: float = ALPHA,
    epsilon: float = EPSILON,
    max_nodes: int = MAX_NODES,
    wide: int = WIDE,
) -> PushResult:
    """Push mass in rounds, with one query each, until less than `epsilon` waits at every node. The order of nodes has no effect: in
    a round, each node sends the mass that waited when the round began.

    Forward push (Andersen, Chung, Lang, Local Graph Partitioning using PageRank Vectors, 2006). Of the mass that arrives at a
    node, alpha settles and the rest waits; a push sends all waiting mass to the neighbours. Each push settles alpha · epsilon or
    more. So there are at most (1 - alpha) / (alpha · epsilon) pushes, and no more nodes are read, in a graph of any size.

    From a node with more than `wide` neighbours, mass is sent only when `epsilon` waits for each `wide` of them. So the edges
    walked are at most `wide` times the pushes (or the number of seeds times the pushes, where dead ends return to more seeds than
    that). The paper's threshold has `wide` = 1; but a node's degree is known only after its neighbours are read, and a query
    costs more than an edge.

    At most `max_nodes` are read, first those where most mass waits, and of equals all or none; then the known nodes are settled.
    Raises ValueError as `walk` does.
    """
    if not epsilon > 0 or wide < 1:
        raise ValueError(f"epsilon must be above 0 and wide at least 1, not {epsilon} and {wide}")
    restart = spread_over_seeds(seeds, alpha)
    waiting = defaultdict(int, {node: int(part * WHOLE) for node, part in restart})
    sent: dict[Node, int] = {}  # Node → how much it has sent on or settled
    least = epsilon * WHOLE / (1 - alpha) if alpha < 1 else math.inf
    read: dict[Node, Sequence[Neighbour]] = {}
    rows: dict[Node, list[Neighbour]] = {}
    touched = set(waiting)
    pushes = edges = 0
    while full := {node: here for node in touched if (here := waiting[node]) >= least}:
        new, room = [node for node in full if node not in read], max_nodes - len(read)
        if len(new) > room:
            enough = sorted((full[node] for node in new), reverse=True)[room] if room > 0 else math.inf
            new = [node for node in new if full[node] > enough]
        adjacency = neighbours(new) if new else {}
        read.update((node, adjacency.get(node, ())) for node in new)
        touched = set()
        for node, here in full.items():
            if node not in read or here < least * max(1.0, len(read[node]) / wide):
                continue
            row = rows.get(node)
            if row is None:
                row = rows[node] = normalize_weights(read[node]) or restart
            going = (1 - alpha) * here
            sent[node] = sent.get(node, 0) + here
            waiting[node] -= here
            pushes, edges = pushes + 1, edges + len(row)
            for target, part in row:
                waiting[target] += int(going * part)
            touched.update([target for target, _ in row])
    mass = {node: alpha * (here + sent.get(node, 0)) / WHOLE for node, here in waiting.items()}
    return PushResult(mass, waiting, read, pushes, edges)


HOPS = 4  # Radius of knowing's walk around its seeds


class Trails:
    """The likeliest trails of at most `hops` hops from the seeds to each node.

    A trail's likelihood is the chance to start at its seed and to follow exactly these edges without a restart. Following the
    strongest neighbours backward would run in circles between two nodes that call each other, so the best trail of each length is
    computed forward, from all seeds at once. Of equally likely trails the one with fewer hops wins, then the one with smaller
    numbers. Raises ValueError as `walk` does.
    """

    def __init__(self, adjacency: Adjacency, seeds: Amounts, alpha: float, hops: int = HOPS) -> None:
        restart = spread_over_seeds(seeds, alpha)
        self._rings: list[dict[Node, Node]] = [{node: node for node, _ in restart}]
        """For each number of hops: node → previous node, for nodes that are reached more likely in so many hops than in fewer."""
        rows: dict[Node, list[Neighbour]] = {}
        likeliest, ring_chances = dict(restart), dict(restart)
        for _ in range(hops):
            ring, chances = dict[Node, Node](), dict[Node, float]()
            for node, chance_here in sorted(ring_chances.items()):
                if node not in rows:
                    rows[node] = normalize_weights(adjacency.get(node, ()))
                for target, part in rows[node]:
                    chance = chance_here * (1 - alpha) * part
                    if chance > likeliest.get(target, 0.0):
                        likeliest[target] = chances[target] = chance
                        ring[target] = node
            self._rings.append(ring)
            ring_chances = chances
        self._hops = {node: number for number, ring in enumerate(self._rings) for node in ring}
        """Node → hops of its likeliest trail, which is the longest one kept."""

    def find_trail(self, node: Node) -> list[Node]:
        """Find the nodes of the trail from a seed to a node, both included; for a seed just itself. Empty if there is no trail."""
        if node not in self._hops:
            return []
        stations = [node]
        for hops in range(self._hops[node], 0, -1):
            stations.append(self._rings[hops][stations[-1]])
        return stations[::-1]


class GraphStep(NamedTuple):
    """An edge as seen from one of its nodes. `outgoing` is False if the edge points to that node."""

    target: Node
    kind: str
    outgoing: bool = True


Steps = Callable[[Sequence[Node]], Mapping[Node, Sequence[GraphStep]]]
"""A function from nodes to the steps from each, in any order."""


class Hop(NamedTuple):
    """An edge of a path, in the path's direction. `outgoing` is False if the edge itself points backward."""

    source: Node
    target: Node
    kind: str
    outgoing: bool = True


KEEPS: Mapping[str, float] = {"contains": 0.95, "extends": 0.85, "implements": 0.85, "imports": 0.70}
KEEPS_ELSE = 0.8
ONLY_OUTGOING = frozenset({"imports"})  # From Graph Memory: Search Algorithms, step 4
DEPTH = 1
MINIMUM = 0.5  # From Graph Memory, for scores divided by the best; .3 for files


@frozen_dataclass
class ExpandedNode:
    """A node with its best score and, unless it is a seed, the node and edge before it on the best path."""

    node: Node
    score: float
    depth: int
    before: ExpandedNode | None = None
    kind: str = ""
    outgoing: bool = True

    def list_hops(self) -> tuple[Hop, ...]:
        """List the hops from the seed to this node; none for a seed."""
        hops, at = [], self
        while at.before is not None:
            hops.append(Hop(at.before.node, at.node, at.kind, at.outgoing))
            at = at.before
        return tuple(reversed(hops))


def expand(
    edges_of: Steps,
    seeds: Amounts,
    depth: int = DEPTH,
    minimum: float = MINIMUM,
    decay: float | None = None,
) -> dict[Node, ExpandedNode]:
    """Find all nodes with a score of at least `minimum` within `depth` hops of a seed, best first, including seeds.

    KEEPS maps a kind of edge to the factor of the score, KEEPS_ELSE is the factor of other kinds; `decay` replaces all factors.
    Each hop calls `edges_of` once, for the nodes whose score improved and whose neighbours can still reach the minimum. Of
    equal paths the shorter wins, then the smaller previous node, then the first kind by name. Raises ValueError for
    a decay outside [0, 1].
    """
    most = max(*KEEPS.values(), KEEPS_ELSE) if decay is None else decay
    if not 0 <= most <= 1:
        raise ValueError("a factor of an edge must be between 0 and 1")
    reached = {node: ExpandedNode(node, score, 0) for node, score in sorted(seeds.items()) if score >= minimum}
    front = list(reached)
    for hop in range(1, depth + 1):
        leaving = {node: reached[node] for node in sorted(front) if reached[node].score * most >= minimum}
        if not leaving:
            break
        steps = edges_of(list(leaving))
        better: dict[Node, ExpandedNode] = {}
        for node, before in leaving.items():
            for step in sorted(steps.get(node, ()), key=lambda step: (step.target, step.kind, not step.outgoing)):
                if not step.outgoing and step.kind in ONLY_OUTGOING:
                    continue
                score = before.score * (KEEPS.get(step.kind, KEEPS_ELSE) if decay is None else decay)
                known = better.get(step.target) or reached.get(step.target)
                if score >= minimum and (known is None or score > known.score):
                    better[step.target] = ExpandedNode(step.target, score, hop, before, step.kind, step.outgoing)
        reached |= better
        front = list(better)
    return {end.node: end for end in sorted(reached.values(), key=lambda end: (-end.score, end.node))}


ITERATIONS = 10
POOL = 200  # Number of the walk's best nodes that take part. Both numbers are from knowing, section 5.


class HitsScores(NamedTuple):
    """The authority and hub scores of nodes; each mapping has length 1 (L2), or is all 0 if there is no edge."""

    authority: dict[Node, float]
    hub: dict[Node, float]


class Adjustment(NamedTuple):
    """A rule for HITS: the score above `threshold`, times `factor`, is added to seeds or to other nodes."""

    name: str
    side: str  # The score that counts: authority or hub
    is_for_seeds: bool
    threshold: float
    factor: float


ADJUSTMENTS = (
    Adjustment("seed_authority", "authority", True, 0.05, 0.25),
    Adjustment("common_authority", "authority", False, 0.2, -0.15),
    Adjustment("seed_hub", "hub", True, 0.1, 0.10),
)  # The table of knowing, section 5: seeds gain as authorities and hubs, others lose as common authorities


def compute_hits(adjacency: Adjacency, iterations: int = ITERATIONS) -> HitsScores:
    """Compute HITS scores. All nodes start as equal hubs; each step computes authorities, then hubs, each scaled to length 1."""
    targets = {node: sorted({target for target, _ in row}) for node, row in sorted(adjacency.items())}
    nodes = sorted(targets.keys() | {target for row in targets.values() for target in row})
    sources: dict[Node, list[Node]] = {node: [] for node in nodes}
    for node, row in targets.items():
        for target in row:
            sources[target].append(node)
    authority, hub = dict.fromkeys(nodes, 0.0), _scale_to_unit_length(dict.fromkeys(nodes, 1.0))
    for _ in range(iterations):
        authority = _scale_to_unit_length({n: math.fsum(hub[source] for source in sources[n]) for n in nodes})
        hub = _scale_to_unit_length({n: math.fsum(authority[target] for target in targets.get(n, ())) for n in nodes})
    return HitsScores(authority, hub)


def _scale_to_unit_length(scores: dict[Node, float]) -> dict[Node, float]:
    length = math.sqrt(math.fsum(score * score for score in scores.values()))
    return {node: score / length for node, score in scores.items()} if length else scores
