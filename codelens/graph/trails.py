"""Seeds → the likeliest way that a walker takes from one of them to a node, so that `why` can say how a node came by its mass.

The way's probability is that of starting at its seed and then taking just these edges, without a restart between. Only
following, from the node back, whichever neighbour sent most would go round in circles between two nodes that call each
other; so the best way of each length is found forwards, from all seeds at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from codelens.graph.adjacency import Adjacency, Neighbour, Node, shares
from codelens.graph.rwr import ALPHA, spread_over_seeds
from codelens.nouns import dataclass

HOPS = 4
"""knowing's walk reads four hops around its seeds."""


class Sent(NamedTuple):
    """One hop of a trail; `part` is how much of the target's mass comes over it (0 where the target has none)."""

    source: Node
    target: Node
    part: float


@dataclass(frozen=True, slots=True)
class Trail:
    """From a seed to a node; a seed's own trail may have no hops."""

    seed: Node
    probability: float
    hops: tuple[Sent, ...]


def trails(
    nodes: Iterable[Node],
    mass: Mapping[Node, float],
    adjacency: Adjacency,
    seeds: Mapping[Node, float],
    alpha: float = ALPHA,
    hops: int = HOPS,
) -> dict[Node, Trail]:
    """The likeliest trail of at most `hops` to each of the nodes that has one; `mass` only tells the hops' parts.

    Of trails as likely the one with fewer hops, then, from its end, over smaller numbers. Raises ValueError as `walk` does.
    """
    rows: dict[Node, list[Neighbour]] = {}
    rings = _rings(rows, adjacency, spread_over_seeds(seeds, alpha), alpha, hops)
    last = {
        node: length for length, ring in enumerate(rings) for node in ring
    }  # the longest is the likeliest: see _rings
    found = {}
    for node in sorted(set(nodes) & last.keys()):
        way, at = list[Sent](), node
        for length in range(last[node], 0, -1):
            before = rings[length][at][1]
            sent = mass.get(before, 0.0) * (1 - alpha) * dict(rows[before])[at]
            way.append(Sent(before, at, sent / mass[at] if mass.get(at) else 0.0))
            at = before
        found[node] = Trail(at, rings[last[node]][node][0], tuple(reversed(way)))
    return found


def _rings(
    rows: dict[Node, list[Neighbour]], adjacency: Adjacency, restart: list[Neighbour], alpha: float, hops: int
) -> list[dict[Node, tuple[float, Node]]]:
    """For each number of hops the nodes that it reaches more likely than fewer hops do: how likely, and from where."""
    rings = [{node: (part, node) for node, part in restart}]
    likeliest = dict(restart)
    for _ in range(hops):
        ring: dict[Node, tuple[float, Node]] = {}
        for node, (likely, _before) in sorted(rings[-1].items()):
            if node not in rows:
                rows[node] = shares(adjacency.get(node, ()))
            for target, part in rows[node]:
                chance = likely * (1 - alpha) * part
                if chance > likeliest.get(target, 0.0):
                    likeliest[target] = chance
                    ring[target] = (chance, node)
        rings.append(ring)
    return rings
