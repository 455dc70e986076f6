"""Seeds → nearly the masses of a walk with restart, from below, asking only for nodes where much mass waits.

Forward push (Andersen, Chung, Lang, Local Graph Partitioning using PageRank Vectors, 2006). Of the mass that arrives at a
node, alpha settles there for good and the rest waits; a push sends all that waits to the neighbours. What has settled
never exceeds the mass of the true walk, and what still waits is exactly the sum of what the nodes are short of.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from codelens.graph.adjacency import Neighbour, Neighbours, Node, shares
from codelens.graph.rwr import ALPHA, spread_over_seeds
from codelens.nouns import dataclass

EPSILON = 3e-4
"""On made graphs of 200 000 edges (evaluation.walks) with 15 seeds: of what the walk gives its nodes above FAINT, the push's
nodes above it hold .988 to 1.000; with 1e-3 .982 to 1.000. Without ways back, 1e-4 gives .996 to 1.000 for twice the nodes."""
MAX_NODES = 5000
"""Chosen, not measured: a fuse. The most that EPSILON took on graphs of up to 2 000 000 edges were 543."""
WIDE = 16
"""On such graphs of 500 000 edges both ways 16, 64 and 256 find as many of the 50 best; 64 walks three times the edges of 16,
256 nearly eight times."""


@dataclass(frozen=True, slots=True)
class Pushed:
    """What settled, what waits, and what it took."""

    mass: dict[Node, float]
    """By number. The true mass is at least this."""
    residual: dict[Node, float]
    """What waits at each node, by number; together with the masses it sums to 1."""
    rows: dict[Node, Sequence[Neighbour]]
    """The neighbours as they were told: the sub-graph in which trails can be followed."""
    rounds: int
    pushes: int
    edges: int
    """Edges walked, each as often as it was."""

    @property
    def expanded(self) -> int:
        """The nodes whose neighbours were asked for, each once."""
        return len(self.rows)

    @property
    def unspread(self) -> float:
        """How far the masses are from the true walk's in L1; no node is short of more."""
        return math.fsum(self.residual.values())


def push(
    neighbours: Neighbours,
    seeds: Mapping[Node, float],
    alpha: float = ALPHA,
    epsilon: float = EPSILON,
    max_nodes: int = MAX_NODES,
    wide: int = WIDE,
) -> Pushed:
    """Pushes in rounds, one question for each, until less than `epsilon` waits at every node.

    Each push settles alpha · epsilon or more. So there are at most (1 - alpha) / (alpha · epsilon) of them, and no more
    nodes are asked for, in a graph of any size. From a node with more than `wide` neighbours mass is sent only when
    `epsilon` waits for each `wide` of them, so that the edges walked are at most `wide` times as many (or, where dead ends
    send back to more seeds than that, as many times as there are seeds). The paper's threshold is that with `wide` = 1;
    but who knows a node's degree has asked for it already, and a question costs more than an edge.

    At most `max_nodes` are asked for, those first where most waits; then the known ones are settled. `unspread` tells the
    error, whatever ended it. Raises ValueError as `walk` does.
    """
    if not epsilon > 0 or wide < 1:
        raise ValueError(f"a push needs an epsilon above 0 and a width of 1 or more, not {epsilon} and {wide}")
    restart = spread_over_seeds(seeds, alpha)
    mass = {node: alpha * part for node, part in restart}
    waiting = {node: (1 - alpha) * part for node, part in restart}
    told: dict[Node, Sequence[Neighbour]] = {}
    rows: dict[Node, list[Neighbour]] = {}
    touched = set(mass)
    rounds = pushes = edges = 0
    while full := sorted(node for node in touched if waiting[node] >= epsilon):
        asked = _chosen([node for node in full if node not in told], waiting, max_nodes - len(told))
        found = neighbours(asked) if asked else {}
        for node in asked:
            told[node] = found.get(node, ())
        touched = set()
        for node in full:
            if node not in told or waiting[node] < epsilon * max(1.0, len(told[node]) / wide):
                continue
            row = rows.get(node)
            if row is None:
                row = rows[node] = shares(told[node]) or restart
            going, waiting[node] = waiting[node], 0.0
            pushes, edges = pushes + 1, edges + len(row)
            for target, part in row:
                arrived = going * part
                mass[target] = mass.get(target, 0.0) + alpha * arrived
                waiting[target] = waiting.get(target, 0.0) + (1 - alpha) * arrived
            touched.update(target for target, _ in row)
        rounds += 1
    return Pushed(dict(sorted(mass.items())), dict(sorted(waiting.items())), told, rounds, pushes, edges)


def _chosen(new: list[Node], waiting: Mapping[Node, float], room: int) -> list[Node]:
    """Those that may be asked for, by number; if there is no room for all, those where most waits."""
    if len(new) <= room:
        return new
    return sorted(sorted(new, key=lambda node: (-waiting[node], node))[: max(0, room)])
