"""The neighbours of nodes in a walk over the symbol graph, by the store's edges and the nesting of units, weighted by kind.

`Surroundings` are the units alone: through its document, everything of a file would be next to all that it imports. knowing's
walk has the whole graph (`WholeGraph`): documents and what lies outside are stations of it, and implied edges join units.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain

import xxhash

from codelens.graph.view import co_tested_with, similar_to
from codelens.model.code import UnitId
from codelens.model.graph import NAME_OF_KIND, RESOLVED, TIER_OF_NUMBER, TIERS, is_unit
from codelens.store.store import Store

WIDEST = 300
"""Edges that end at one node, above which they are not followed back: every tenth file uses such a thing. Chosen."""
PRECISE = TIERS["precise"].number
UNKNOWN = "unknown"
"""The name, among the weights of kinds, of the weight of kinds that are not named."""
BACK: Mapping[str, str] = {"tests": "tested_by"}
"""Kind of edge → the kind that has its weight against its direction, where the weights name it."""


class Surroundings:
    """Neighbours among the units.

    `precise` multiplies the weight of an edge from a language server's index.
    """

    whole = False
    """True if documents and externals are stations."""

    def __init__(self, store: Store, weights: Mapping[str, float], backward: float, precise: float = 1.0) -> None:
        self._store = store
        self._weights, self._backward, self._precise = weights, backward, precise
        self.kinds: dict[tuple[int, int], str] = {}

    def __call__(self, nodes: Sequence[int]) -> dict[int, list[tuple[int, float]]]:
        """Node → (neighbour, weight), by number; parallel edges count once, by the heaviest, since calls are kept by line."""
        weights, whole, unknown = self._weights, self.whole, self._weights.get(UNKNOWN, 0.0)
        back = {kind: weights[turned] for kind, turned in BACK.items() if turned in weights}
        found: dict[int, dict[int, float]] = {node: {} for node in nodes}
        self._store.budget.check()

        def join(node: int, other: int, kind: str, weight: float) -> None:
            held = found[node].get(other, 0.0)
            if weight > held or (weight == held > 0 and kind < self.kinds[node, other]):
                found[node][other] = weight
                self.kinds[node, other] = kind

        for node, other, number, tier, outgoing in self._store.edges.around(nodes, WIDEST, whole):
            if other == node or not (whole or other > 0):
                continue
            kind = NAME_OF_KIND[number]
            weight = weights.get(kind, unknown)
            if not outgoing:
                weight = back.get(kind, weight * self._backward)
            confidence = TIER_OF_NUMBER[tier].confidence
            if confidence < RESOLVED:
                weight *= confidence
            elif tier == PRECISE:
                weight *= self._precise
            join(node, other, kind if outgoing else f"←{kind}", weight)
        for node, other, down in self._store.edges.nested(nodes):
            kind = "contains" if down else "member_of"
            join(node, other, kind, weights.get(kind, 0.0))
        for node, other, kind in self._implied(nodes):
            join(node, other, kind, weights.get(kind, unknown))
        return {node: sorted((o, w) for o, w in others.items() if w > 0) for node, others in found.items()}

    def _implied(self, nodes: Sequence[int]) -> Iterator[tuple[int, int, str]]:
        """Tuples (node, neighbour, kind) of further edges."""
        return iter(())


class WholeGraph(Surroundings):
    """Neighbours in the whole graph: two functions with one outside type are next to each other but one."""

    whole = True

    def _implied(self, nodes: Sequence[int]) -> Iterator[tuple[int, int, str]]:
        units = [node for node in nodes if is_unit(node)]
        for kind, make in (("co_tested_with", co_tested_with), ("similar_to", similar_to)):
            if self._weights.get(kind, self._weights.get(UNKNOWN)):
                for edge in make(self._store, units):
                    yield edge.source, edge.target, kind


class ByContent:
    """The same neighbours with nodes numbered by what they are: ids depend on an index's history, and the order of nodes decides
    ties and the last bits of sums."""

    def __init__(self, around: Surroundings, store: Store) -> None:
        self._around = around
        self._store = store
        self._number: dict[int, int] = {}
        self.unit: dict[int, UnitId] = {}
        """Number → unit, or a document or an external where these are stations."""

    def numbers(self, nodes: Iterable[int]) -> dict[UnitId, int]:
        """Node → its number, of 63 bits."""
        wanted = list(nodes)
        new = [node for node in wanted if node not in self._number]
        units = self._store.units.contents(UnitId(node) for node in new if is_unit(node))
        others = self._store.edges.contents(n for n in new if not is_unit(n)) if self._around.whole else ()
        for row in chain[tuple[int, *tuple[object, ...]]](units, others):
            number = xxhash.xxh3_64_intdigest(repr([*row[1:]]).encode()) >> 1
            self._number[row[0]], self.unit[number] = number, UnitId(row[0])
        return {UnitId(node): self._number[node] for node in wanted if node in self._number}

    def __call__(self, nodes: Sequence[int]) -> dict[int, list[tuple[int, float]]]:
        """Node → (neighbour, weight), by number."""
        found = self._around([self.unit[node] for node in nodes])
        numbers = self.numbers({o for others in found.values() for o, _ in others})
        return {
            self._number[node]: sorted((numbers[UnitId(o)], w) for o, w in others if UnitId(o) in numbers)
            for node, others in found.items()
        }
