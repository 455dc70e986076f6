"""Measure the cost of a push and a walk on generated graphs of several sizes: `python -m tools.bench.walks`."""

from __future__ import annotations

import argparse
import random
import statistics
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from codelens.graph.walk import (
    ALPHA,
    EPSILON,
    WHOLE,
    Adjacency,
    Node,
    PushResult,
    WeightedEdge,
    build_adjacency,
    find_heaviest,
    push_mass,
    walk,
)

SIZES = (50_000, 500_000, 2_000_000)
MODULE = 40
MEAN_EDGES = 5
INSIDE = 0.7
"""Nodes of a module, edges of a node, share of them that stay in the module: chosen to look like code, not measured."""
BACK = 0.6  # Backward weight of an edge, like member_of
TOP = 50  # How many of the best are compared: more than there are seeds, which always come first
SEED = 20_261_122


@dataclass(frozen=True, slots=True)
class Measured:
    """One graph: sizes, and over all queries the medians unless a name says otherwise. Times are CPU ms."""

    nodes: int
    edges: int
    expanded: float
    most_expanded: int
    walked: float
    unspread: float
    push_ms: float
    walk_ms: float
    steps: float
    push_shares: float  # Mean share of the converged walk's first 50 that are among the push's first 50
    walk_shares: float  # The same of the walk that stops early


def make_edges(count: int, both_ways: bool = False, seed: int = SEED) -> Iterator[WeightedEdge]:
    """About `count` edges, half of them backwards if `both_ways`; their weights are 1, and BACK."""
    chance, wanted, popular = random.Random(seed), count // 2 if both_ways else count, [0]
    for source in range(wanted // MEAN_EDGES):
        first = source - source % MODULE
        for _ in range(chance.randint(0, 2 * MEAN_EDGES)):  # one node in eleven is a dead end
            if chance.random() < INSIDE:
                target = first + chance.randrange(MODULE)
            else:
                target = chance.choice(popular) if chance.random() < 0.8 else chance.randrange(source + 1)
                popular.append(target)
            yield WeightedEdge(source, target, 1.0, "calls")
            if both_ways:
                yield WeightedEdge(target, source, BACK, "called_by")


def make_seeds(nodes: int, seed: int) -> dict[Node, float]:
    """Fifteen nodes of three modules, their weights falling from 1 to .4, as knowing's fall by rank."""
    chance, found = random.Random(seed), list[Node]()
    for module in chance.sample(range(nodes // MODULE), 3):
        found += [module * MODULE + place for place in chance.sample(range(MODULE), 5)]
    return {node: 1.0 - 0.6 * rank / (len(found) - 1) for rank, node in enumerate(found)}


def measure(adjacency: Adjacency, nodes: int, queries: int, epsilon: float) -> Measured:
    """Asks every query of both, and of the walk once more until it has converged."""
    pushes, walks, spent_pushing, spent_walking = list[PushResult](), [], [], []
    shared: dict[str, list[float]] = {"push": [], "walk": []}
    for query in range(queries):
        seeds = make_seeds(nodes, query)
        started = time.process_time()
        pushes.append(push_mass(partial(_look_up, adjacency), seeds, epsilon=epsilon))
        pushed = time.process_time()
        walks.append(walk(adjacency, seeds))
        spent_pushing.append(1000 * (pushed - started))
        spent_walking.append(1000 * (time.process_time() - pushed))
        truth = walk(adjacency, seeds, max_steps=100, tolerance=1e-4, stable_steps=0).mass
        shared["push"].append(_shared(truth, pushes[-1].mass))
        shared["walk"].append(_shared(truth, walks[-1].mass))
    return Measured(
        nodes=nodes,
        edges=sum(map(len, adjacency.values())),
        expanded=statistics.median(len(done.rows) for done in pushes),
        most_expanded=max(len(done.rows) for done in pushes),
        walked=statistics.median(done.edges for done in pushes),
        unspread=statistics.median((1 - ALPHA) * sum(done.waiting.values()) / WHOLE for done in pushes),
        push_ms=statistics.median(spent_pushing),
        walk_ms=statistics.median(spent_walking),
        steps=statistics.median(done.steps for done in walks),
        push_shares=statistics.mean(shared["push"]),
        walk_shares=statistics.mean(shared["walk"]),
    )


def _look_up(adjacency: Adjacency, nodes: Sequence[Node]) -> Adjacency:
    return {node: adjacency[node] for node in nodes if node in adjacency}


def _shared(truth: Mapping[Node, float], mass: Mapping[Node, float]) -> float:
    return len(set(find_heaviest(truth, TOP)) & set(find_heaviest(mass, TOP))) / TOP


def main(arguments: Sequence[str] | None = None) -> None:
    """Prints a line for each graph."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--edges", type=int, nargs="+", default=SIZES)
    parser.add_argument("--queries", type=int, default=3)
    parser.add_argument("--epsilon", type=float, default=EPSILON)
    options = parser.parse_args(arguments)
    print(f"epsilon {options.epsilon}, {options.queries} queries of 15 seeds; medians, CPU ms")
    print(
        "  edges    nodes  both ways  expanded (most)  edges walked  unspread  top 50   push ms   walk ms  steps  top 50"
    )
    for both_ways in (False, True):
        for count in options.edges:
            adjacency = build_adjacency(make_edges(count, both_ways))
            nodes = (count // 2 if both_ways else count) // MEAN_EDGES
            found = measure(adjacency, nodes, options.queries, options.epsilon)
            print(
                f"{found.edges:>7}  {found.nodes:>7}  {'yes' if both_ways else 'no':>9}"
                f"  {found.expanded:>8.0f} ({found.most_expanded:>4})"
                f"  {found.walked:>12.0f}  {found.unspread:>8.4f}  {found.push_shares:>6.0%}  {found.push_ms:>8.1f}"
                f"  {found.walk_ms:>8.0f}  {found.steps:>5.0f}  {found.walk_shares:>6.0%}",
                flush=True,
            )


if __name__ == "__main__":
    main()
