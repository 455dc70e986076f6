"""Spreading relevance over the symbol graph: from the best candidates to what hangs together with them.

The walk asks the store for edges around the nodes that hold mass, in rounds, so its work grows with the neighbourhood of the
seeds. What it finds beside the channels' candidates joins them; each candidate it reached has a contribution for it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

import xxhash

from codelens.graph.push import Pushed, push
from codelens.graph.trails import Trail, trails
from codelens.model import UNWALKED_KINDS, Candidate, UnitId, UnitRow
from codelens.nouns import dataclass
from codelens.relations import NAME_OF_KIND, RESOLVED, TIER_OF_NUMBER, TIERS
from codelens.search.signals import add_bonus
from codelens.store.store import Store

WIDEST = 300
"""Edges that end at one node, above which they are not followed back: every tenth file uses such a thing. Chosen."""
PRECISE = TIERS["precise"].number


LEAST, SPAN = 1e-4, 9.2
"""What is added to a share before its logarithm is taken, and minus the logarithm of that (ranking.md): a value from 0 to 1. Of
logarithm, square root and the share itself the first measured best beside the other features."""
WALK = "walk"
"""The feature that the walk gives."""


@dataclass(frozen=True, slots=True)
class Spreading:
    """A profile's settings for the walk, from weights.toml."""

    seeds: int
    restart: float
    epsilon: float
    nodes: int
    """Most nodes whose edges are asked for."""
    joining: int
    """Most units that join the candidates for their mass alone."""
    backward: float
    """What an edge weighs against its direction, as a share of what it weighs along it."""
    precise: float
    """What an edge by an index of a language server weighs, as a share of what another of its kind weighs."""
    kinds: Mapping[str, float]
    """Kind of edge → weight."""


@dataclass(frozen=True, slots=True)
class Spread:
    """Where the walk went."""

    seeds: Mapping[int, float]
    """Seed, by its number in `nodes` → its weight among the restarts."""
    mass: Mapping[UnitId, float]
    """Unit → the mass that came to it from others."""
    pushed: Pushed
    kinds: Mapping[tuple[int, int], str]
    """(unit, neighbour) → the kind of edge that joins them most, '←' before it where it points back."""
    nodes: ByContent


class Surroundings:
    """Neighbours by the store's edges and the nesting of units, weighted by kind.

    `precise` multiplies the weight of an edge from a language server's index.
    """

    def __init__(self, store: Store, weights: Mapping[str, float], backward: float, precise: float = 1.0) -> None:
        self._store = store
        self._weights, self._backward, self._precise = weights, backward, precise
        self.kinds: dict[tuple[int, int], str] = {}

    def __call__(self, nodes: Sequence[int]) -> dict[int, list[tuple[int, float]]]:
        """Node → (neighbour, weight), by number; parallel edges count once, by the heaviest, since calls are kept by line."""
        weights, backward = self._weights, self._backward
        found: dict[int, dict[int, float]] = {node: {} for node in nodes}
        self._store.budget.check()

        def join(node: int, other: int, kind: str, weight: float) -> None:
            held = found[node].get(other, 0.0)
            if weight > held or (weight == held > 0 and kind < self.kinds[node, other]):
                found[node][other] = weight
                self.kinds[node, other] = kind

        for node, other, kind, tier, outgoing in self._store.edges.around(nodes, WIDEST):
            if other <= 0 or other == node:
                continue  # documents are no stations: everything of a file would be next to all that it imports
            name = NAME_OF_KIND[kind]
            weight = weights.get(name, 0.0)
            confidence = TIER_OF_NUMBER[tier].confidence
            if confidence < RESOLVED:
                weight *= confidence
            elif tier == PRECISE:
                weight *= self._precise
            join(node, other, name if outgoing else f"←{name}", weight if outgoing else weight * backward)
        for node, other, down in self._store.edges.nested(nodes):
            join(
                node, other, "contains" if down else "member_of", weights.get("contains" if down else "member_of", 0.0)
            )
        return {node: sorted((o, w) for o, w in others.items() if w > 0) for node, others in found.items()}


class ByContent:
    """The same neighbours with nodes numbered by what they are: ids depend on an index's history, and the order of nodes decides
    ties and the last bits of sums."""

    def __init__(self, around: Surroundings, store: Store) -> None:
        self._around = around
        self._store = store
        self._number: dict[UnitId, int] = {}
        self.unit: dict[int, UnitId] = {}

    def numbers(self, units: Iterable[UnitId]) -> dict[UnitId, int]:
        """Unit → its number, of 63 bits."""
        asked = list(units)
        for unit, *content in self._store.units.contents(u for u in asked if u not in self._number):
            number = xxhash.xxh3_64_intdigest(repr(content).encode()) >> 1
            self._number[unit], self.unit[number] = number, unit
        return {unit: self._number[unit] for unit in asked if unit in self._number}

    def __call__(self, nodes: Sequence[int]) -> dict[int, list[tuple[int, float]]]:
        """Node → (neighbour, weight), by number."""
        found = self._around([self.unit[node] for node in nodes])
        numbers = self.numbers({UnitId(o) for others in found.values() for o, _ in others})
        return {
            self._number[UnitId(unit)]: sorted((numbers[UnitId(o)], w) for o, w in others if UnitId(o) in numbers)
            for unit, others in found.items()
        }


def spread(ranked: Sequence[tuple[Candidate, float]], spreading: Spreading, store: Store) -> Spread | None:
    """Walk from the best candidates, given best first with their scores so far; None where there is nothing to start from.

    A seed's part is the square of where its score stands between the first that is no seed any more and the best, so that the
    first few lead (ranking.md's recipe), whatever all of them have in common.
    """
    symbols = [(c, score) for c, score in ranked if c.unit.kind not in UNWALKED_KINDS][: spreading.seeds + 1]
    if not symbols:
        return None
    best, low = symbols[0][1], symbols[-1][1] if len(symbols) > 1 else 0.0
    reach = best - low
    symbols = [(c, score) for c, score in symbols[: spreading.seeds] if score > low] or symbols[:1]
    around = Surroundings(store, spreading.kinds, spreading.backward, spreading.precise)
    nodes = ByContent(around, store)
    numbers = nodes.numbers(c.unit.id for c, _ in symbols)
    seeds = {numbers[c.unit.id]: ((score - low) / reach) ** 2 if reach > 0 else 1.0 for c, score in symbols}
    pushed = push(nodes, seeds, spreading.restart, spreading.epsilon, spreading.nodes)
    arrived = _arrived(pushed, seeds, spreading.restart)
    return Spread(seeds, {nodes.unit[n]: held for n, held in arrived.items()}, pushed, around.kinds, nodes)


def _arrived(pushed: Pushed, seeds: Mapping[int, float], restart: float) -> dict[int, float]:
    """What came to each node from others: a seed's own restarts say nothing that its score has not said."""
    total = math.fsum(seeds.values())
    came = {node: held - restart * seeds.get(node, 0.0) / total for node, held in pushed.mass.items()}
    return {node: held for node, held in came.items() if held > 0}


def nearness(found: Spread) -> dict[UnitId, float]:
    """Unit → its share of the most that the walk holds anywhere, with what restarts bring; 1 for the seeds."""
    most = max(found.pushed.mass.values(), default=1.0)
    near = {found.nodes.unit[node]: held / most for node, held in found.pushed.mass.items()}
    return near | {found.nodes.unit[seed]: 1.0 for seed in found.seeds}


def joining(
    found: Spread,
    candidates: Sequence[Candidate],
    spreading: Spreading,
    store: Store,
    allowed: Sequence[UnitId] | None,
) -> list[Candidate]:
    """New candidates for the symbols with most mass that no channel found, of those that take part, in order of content."""
    known = {c.unit.id for c in candidates}
    numbers = found.nodes.numbers(found.mass)
    new = sorted((u for u in found.mass if u not in known), key=lambda u: (-found.mass[u], numbers[u]))
    if allowed is not None:
        taking_part = frozenset(allowed)
        new = [unit for unit in new if unit in taking_part]
    rows = store.units.rows(new[: spreading.joining]).values()
    return [Candidate(row) for row in sorted(rows, key=UnitRow.content_order) if row.kind not in UNWALKED_KINDS]


def add_walk(candidates: Sequence[Candidate], found: Spread, spreading: Spreading, weight: float, store: Store) -> None:
    """Write a contribution for each candidate that the walk reached, with the way it took.

    The value is the logarithm of its share of the walk's most, scaled to be 1 for all of it and about 0 for a ten thousandth.
    """
    most = max(found.mass.values(), default=0.0)
    reached = [c for c in candidates if found.mass.get(c.unit.id)]
    numbers, unit = found.nodes.numbers(c.unit.id for c in reached), found.nodes.unit
    ways = trails(numbers.values(), found.pushed.mass, found.pushed.rows, found.seeds, spreading.restart)
    senders = _senders(found)
    stations = {c.unit.id: _way(ways.get(numbers[c.unit.id]), numbers[c.unit.id], senders) for c in reached}
    names = {c.unit.id: c.unit.qualified_name for c in candidates}
    others = {unit[node] for way in stations.values() for node in way} - set(names)
    names |= {row.id: row.qualified_name for row in store.units.rows(others).values()}
    for candidate in reached:
        share = found.mass[candidate.unit.id] / most
        way = in_words([unit[node] for node in stations[candidate.unit.id]], names, found.kinds)
        value = math.log(share + LEAST) / SPAN + 1.0
        add_bonus(candidate, WALK, weight, value, f"{share:.1%} of the walk's most: {way}")


def _senders(found: Spread) -> dict[int, int]:
    """Node → the neighbour that sent it most of what arrived."""
    most: dict[int, tuple[float, int]] = {}
    for source, row in found.pushed.rows.items():
        total, held = math.fsum(w for _, w in row), found.pushed.mass.get(source, 0.0)
        for target, weight in row:
            if target != source and (sent := held * weight / total) > most.get(target, (0.0, 0))[0]:
                most[target] = sent, source
    return {target: source for target, (_, source) in most.items()}


def _way(trail: Trail | None, node: int, senders: Mapping[int, int]) -> list[int]:
    """The stations of the walk to a node: from a seed, or, to a seed itself, from who sent it most."""
    if trail is not None and trail.hops:
        return [trail.seed, *(hop.target for hop in trail.hops)]
    return [senders[node], node] if node in senders else [node]


def in_words(way: Sequence[UnitId], names: Mapping[UnitId, str], kinds: Mapping[tuple[int, int], str]) -> str:
    """How a walk came to a unit, by its stations: 'Flask.run ─calls→ make_server'. `kinds` as in `Spread`."""
    parts = [names.get(way[0], "?")]
    for source, target in pairwise(way):
        kind = kinds.get((source, target), "")
        arrow = f" ←{kind[1:]}─ " if kind.startswith("←") else f" ─{kind}→ "
        parts.append(arrow + names.get(target, "?"))
    return "".join(parts)
