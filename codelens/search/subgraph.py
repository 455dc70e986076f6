"""Seeds → the part of the symbol graph around them, read in rounds: what knowing's walk needs in memory before it begins."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from codelens.graph.adjacency import Adjacency, Neighbour, Neighbours, Node
from codelens.model import UnitId
from codelens.store.store import Store


def read_around(neighbours: Neighbours, seeds: Collection[Node], hops: int, most: int) -> dict[Node, list[Neighbour]]:
    """The rows of all nodes up to `hops` - 1 steps from a seed, so that a walker can take `hops`; of at most `most` nodes.

    A node at the border has no row: a walker turns back there. Where a round has too many, those go first to which the
    rounds before give most weight.
    """
    found: dict[Node, list[Neighbour]] = {}
    arriving = dict.fromkeys(sorted(seeds), 1.0)
    for _ in range(hops):
        ring = sorted((n for n in arriving if n not in found), key=lambda node: (-arriving[node], node))
        asked = ring[: most - len(found)]
        if not asked:
            break
        rows = neighbours(asked)
        for node in asked:
            found[node] = list(rows.get(node, ()))
            for other, weight in found[node]:
                arriving[other] = arriving.get(other, 0.0) + weight
    return found


def directed(nodes: Sequence[Node], kinds: Collection[str], store: Store) -> Adjacency:
    """The edges of these kinds among these nodes as they point, stored ones and the nesting of units, each of weight 1."""
    among = frozenset(nodes)
    targets: dict[Node, set[Node]] = {node: set() for node in sorted(among)}
    for edge in store.edges.outgoing(among, [kind for kind in kinds if kind not in ("contains", "member_of")]):
        if edge.target in among and edge.target != edge.source:
            targets[edge.source].add(edge.target)
    for node, other, down in store.edges.nested(among):
        if other in among and ("contains" if down else "member_of") in kinds:
            targets[node].add(UnitId(other))
    return {node: [(target, 1.0) for target in sorted(others)] for node, others in targets.items()}
