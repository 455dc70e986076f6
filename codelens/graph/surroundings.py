"""Find the neighbours of nodes for a walk over the symbol graph, from stored edges and the nesting of units, weighted by kind.

`WeightedNeighbours` has units only: through its document, everything in a file would be next to all that it imports. knowing's
walk uses the `WholeGraph`: it also visits documents and externals, and implied edges join units.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from itertools import chain

import xxhash

from codelens.model.code import UnitId
from codelens.model.graph import NAME_OF_KIND, RESOLVED, TIER_OF_NUMBER, TIERS, is_unit
from codelens.store.store import Store

WIDEST = 300  # Limit of incoming edges to follow back from a node; every tenth file uses a node with more
MOST_NODES = 10_000
"""Limit of nodes whose neighbours an open index keeps, enough for a hundred searches. At 27 neighbours each, about 30 MB."""
PRECISE = TIERS["precise"].number
UNKNOWN = "unknown"  # Key of the weight for kinds that the weights do not name
BACK: Mapping[str, str] = {"tests": "tested_by"}
"""Kind of edge → kind whose weight it has when followed backward, if the weights name that kind."""
Stored = Iterable[tuple[int, int, int, int, int]]
Further = Iterable[tuple[int, int, str]]
WeightedRows = dict[int, list[tuple[int, float]]]  # Node → (neighbour, weight) pairs


class WeightedNeighbours:
    """The weighted neighbours of units among the units. `precise` is a factor for edges from a language server's index."""

    whole = False  # True if walks visit documents and externals

    def __init__(self, store: Store, weights: Mapping[str, float], backward: float, precise: float = 1.0) -> None:
        self._store = store
        self._weights, self._backward, self._precise = weights, backward, precise
        self._unknown = weights.get(UNKNOWN, 0.0)
        self._weight_of: dict[tuple[int, int, int], float] = {}
        """(kind, tier, 1 if outgoing else 0) → weight of such an edge."""
        self._kinds_at: dict[int, Mapping[int, str]] = {}
        key = (*weights.items(), backward, precise, self.whole)
        walked = {} if store.walked is None else store.walked
        self._kept: WeightedRows = walked.setdefault(key, {})

    def __call__(self, nodes: Sequence[int]) -> WeightedRows:
        """Find (neighbour, weight) pairs of each node, in no order. Of parallel edges, one for each line, the heaviest counts."""
        kept, new = self._kept, [node for node in nodes if node not in self._kept]
        if new:
            if len(kept) + len(new) > MOST_NODES:
                kept.clear()
                new = [*nodes]
            kept |= self._read_rows(new)
        return {node: kept[node] for node in nodes}

    def _read_rows(self, nodes: Sequence[int]) -> WeightedRows:
        rows: dict[int, dict[int, float]] = {node: {} for node in nodes}
        self._store.budget.check()
        stored, further = self._read(nodes)
        weight_of = self._weight_of
        for node, other, number, tier, out in stored:
            weight = weight_of.get((number, tier, out))
            if weight is None:
                weight = weight_of[number, tier, out] = self._weigh(number, tier, out)
            others = rows[node]
            if weight > others.get(other, 0.0):
                others[other] = weight
        for node, other, kind in further:
            others, weight = rows[node], self._weights.get(kind, self._unknown)
            if weight > others.get(other, 0.0):
                others[other] = weight
        for node, others in rows.items():
            others.pop(node, None)
        return {n: [row for row in others.items() if self.whole or row[0] > 0] for n, others in rows.items()}

    def find_main_kind(self, node: int, neighbour: int) -> str:
        """Find the heaviest kind of edge between two nodes, with '←' before it if it points back; of equals, the first by name."""
        self.read_kinds([node])
        return self._kinds_at[node].get(neighbour, "")

    def read_kinds(self, nodes: Iterable[int]) -> None:
        """Read the kinds of edges of these nodes, so that `find_main_kind` needs no query for each."""
        best: dict[int, dict[int, tuple[float, str]]] = {node: {} for node in nodes if node not in self._kinds_at}
        if not best:
            return
        edges = [
            (node, other, f"{'' if out else '←'}{NAME_OF_KIND[number]}", self._weigh(number, tier, out))
            for node, other, number, tier, out in self._store.edges.find_neighbours([*best], WIDEST, self.whole)
        ]
        unstored = self._list_unstored_edges([*best])
        edges += [(node, other, kind, self._weights.get(kind, self._unknown)) for node, other, kind in unstored]
        for node, other, kind, weight in edges:
            if weight > 0:
                best[node][other] = min(best[node].get(other, (0.0, "")), (-weight, kind))
        for node, kinds in best.items():
            self._kinds_at[node] = {other: kind for other, (_, kind) in kinds.items()}

    def _weigh(self, number: int, tier: int, out: int) -> float:
        kind = NAME_OF_KIND[number]
        weight = self._weights.get(kind, self._unknown)
        if not out:
            turned = BACK.get(kind, "")
            weight = self._weights[turned] if turned in self._weights else weight * self._backward
        confidence = TIER_OF_NUMBER[tier].confidence
        if confidence < RESOLVED:
            weight *= confidence
        elif tier == PRECISE:
            weight *= self._precise
        return weight

    def _read(self, nodes: Sequence[int]) -> tuple[Stored, Further]:
        self._store.prefetch_answers(
            ("edges.find_neighbours", (nodes, WIDEST, self.whole)), ("edges.find_nested", (nodes,))
        )
        return self._store.edges.find_neighbours(nodes, WIDEST, self.whole), self._list_unstored_edges(nodes)

    def _list_unstored_edges(self, nodes: Sequence[int]) -> Further:
        """List (node, neighbour, kind) of the edges that are derived instead of stored."""
        nested = self._store.edges.find_nested(nodes)
        return ((node, other, "contains" if down else "member_of") for node, other, down in nested)


class WholeGraph(WeightedNeighbours):
    """The neighbours in the whole graph. Two functions that use the same external type are two steps apart."""

    whole = True

    def _read(self, nodes: Sequence[int]) -> tuple[Stored, Further]:
        around = partial(self._store.edges.find_neighbours, nodes, WIDEST, self.whole)
        stored, further = self._store.run_tasks(around, partial(self._list_unstored_edges, nodes))
        return stored, further

    def _list_unstored_edges(self, nodes: Sequence[int]) -> Further:
        from codelens.graph.view import derive_co_tested, derive_similar

        units = [node for node in nodes if is_unit(node)]
        makers = {"co_tested_with": derive_co_tested, "similar_to": derive_similar}
        weighty = {kind: make for kind, make in makers.items() if self._weights.get(kind, self._weights.get(UNKNOWN))}
        nested, *made = self._store.run_tasks(
            partial(super()._list_unstored_edges, nodes),
            *(partial(make, self._store, units) for make in weighty.values()),
        )
        implied = zip(weighty, made, strict=True)
        return chain(nested, ((edge.source, edge.target, kind) for kind, edges in implied for edge in edges))


class ContentNumbering:
    """Neighbours whose nodes are numbered by content: ids depend on an index's history, and the order of nodes decides ties and the
    last bits of sums."""

    def __init__(self, around: WeightedNeighbours, store: Store) -> None:
        self._around = around
        self._store = store
        self.number: dict[int, int] = {}  # Node → number, for nodes passed to `number_nodes`
        self.unit: dict[int, UnitId] = {}  # Number → unit, or document or external in a whole graph

    def number_nodes(self, nodes: Iterable[int]) -> dict[int, int]:
        """Number nodes by a 63-bit hash of their contents: node → number. Nodes that no longer exist are left out."""
        wanted = list(nodes)
        new = [node for node in wanted if node not in self.number]
        inside, outside = [UnitId(node) for node in new if is_unit(node)], [node for node in new if not is_unit(node)]
        further = [("edges.read_content_keys", (outside,))] if self._around.whole and outside else []
        self._store.prefetch_answers(("units.read_content_keys", (inside,)), *further)
        units = self._store.units.read_content_keys(inside)
        others = self._store.edges.read_content_keys(outside) if self._around.whole else ()
        for row in chain[tuple[int, *tuple[object, ...]]](units, others):
            number = xxhash.xxh3_64_intdigest(repr([*row[1:]]).encode()) >> 1
            self.number[row[0]], self.unit[number] = number, UnitId(row[0])
        return {node: self.number[node] for node in wanted if node in self.number}

    def __call__(self, nodes: Sequence[int]) -> WeightedRows:
        """Find (neighbour, weight) pairs of each node, sorted by the neighbour's number."""
        rows = self._around([self.unit[node] for node in nodes])
        numbers = self.number_nodes({o for others in rows.values() for o, _ in others})
        known = {node: [(o, weight) for o, weight in others if o in numbers] for node, others in rows.items()}
        return {self.number[n]: sorted((numbers[o], weight) for o, weight in row) for n, row in known.items()}
