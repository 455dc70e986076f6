"""Spreading relevance over the symbol graph: from the best candidates to what hangs together with them.

The walk asks the store for edges around the nodes that hold mass, in rounds, so its work grows with the neighbourhood of the
seeds. What it finds beside the channels' candidates joins them; each candidate it reached has a contribution for it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from codelens.graph.push import Pushed, push
from codelens.graph.trails import Trail, trails
from codelens.model import CHUNK_KINDS, Candidate, UnitId, UnitRow
from codelens.nouns import dataclass
from codelens.relations import NAME_OF_KIND, RESOLVED, TIER_OF_NUMBER, TIERS
from codelens.search.signals import add_bonus
from codelens.store.store import Store

WIDEST = 300
"""Edges that end at one node, above which they are not followed back: every tenth file uses such a thing. Chosen."""

PRECISE = TIERS["precise"].number


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
    uses_from: int
    uses_full: int
    """Words of a query up to which its candidates' uses count nothing, and from which they count in full."""
    kinds: Mapping[str, float]
    """Kind of edge → weight."""


@dataclass(frozen=True, slots=True)
class Spread:
    """Where the walk went."""

    seeds: Mapping[int, float]
    """Seed → its share of the restarts."""
    mass: Mapping[int, float]
    """Unit → the mass that came to it from others."""
    pushed: Pushed
    kinds: Mapping[tuple[int, int], str]
    """(node, neighbour) → the kind of edge that joins them most, '←' before it where it points back."""


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

        def join(node: int, other: int, kind: str, weight: float) -> None:
            if weight > found[node].get(other, 0.0):
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
            if tier == PRECISE:
                weight *= self._precise
            join(node, other, name if outgoing else f"←{name}", weight if outgoing else weight * backward)
        for node, other, down in self._store.edges.nested(nodes):
            join(
                node, other, "contains" if down else "member_of", weights.get("contains" if down else "member_of", 0.0)
            )
        return {node: sorted((o, w) for o, w in others.items() if w > 0) for node, others in found.items()}


def spread(ranked: Sequence[tuple[Candidate, float]], spreading: Spreading, store: Store) -> Spread | None:
    """Walk from the best candidates, given best first with their scores so far; None where there is nothing to start from.

    A seed's part is the square of its share of the best score, so that the first few lead (ranking.md's recipe).
    """
    symbols = [(c, score) for c, score in ranked if c.unit.kind not in CHUNK_KINDS and score > 0][: spreading.seeds]
    if not symbols:
        return None
    best = symbols[0][1]
    seeds = {int(c.unit.id): (score / best) ** 2 for c, score in symbols}
    around = Surroundings(store, spreading.kinds, spreading.backward)
    pushed = push(around, seeds, spreading.restart, spreading.epsilon, spreading.nodes)
    return Spread(seeds, _arrived(pushed, seeds, spreading.restart), pushed, around.kinds)


def _arrived(pushed: Pushed, seeds: Mapping[int, float], restart: float) -> dict[int, float]:
    """What came to each unit from others: a seed's own restarts say nothing that its score has not said."""
    total = math.fsum(seeds.values())
    return {
        node: held - restart * seeds.get(node, 0.0) / total
        for node, held in pushed.mass.items()
        if node > 0 and held - restart * seeds.get(node, 0.0) / total > 0
    }


def nearness(found: Spread) -> dict[UnitId, float]:
    """Unit → its share of the walk's most, 1 for the seeds."""
    most = max(found.mass.values(), default=1.0)
    return {UnitId(node): held / most for node, held in found.mass.items()} | {UnitId(n): 1.0 for n in found.seeds}


def joining(
    found: Spread,
    candidates: Sequence[Candidate],
    spreading: Spreading,
    store: Store,
    allowed: Sequence[UnitId] | None,
) -> list[Candidate]:
    """New candidates for the symbols with most mass that no channel found, of those that take part, in order of content."""
    known = {c.unit.id for c in candidates}
    new = sorted((UnitId(n) for n in found.mass if n not in known), key=lambda n: (-found.mass[n], n))
    if allowed is not None:
        taking_part = frozenset(allowed)
        new = [unit for unit in new if unit in taking_part]
    rows = store.units.rows(new[: spreading.joining]).values()
    return [Candidate(row) for row in sorted(rows, key=UnitRow.content_order) if row.kind not in CHUNK_KINDS]


def add_walk(candidates: Sequence[Candidate], found: Spread, spreading: Spreading, weight: float, store: Store) -> None:
    """Write a contribution for each candidate that the walk reached, with the way it took.

    The value is the square root of the share of the walk's most: of log, square root and the share itself it measured best.
    """
    most = max(found.mass.values(), default=0.0)
    reached = [c for c in candidates if found.mass.get(c.unit.id)]
    ways = trails([c.unit.id for c in reached], found.pushed.mass, found.pushed.rows, found.seeds, spreading.restart)
    names = {c.unit.id: c.unit.qualified_name for c in candidates}
    stations = {UnitId(hop.source) for way in ways.values() for hop in way.hops} - set(names)
    names |= {unit: row.qualified_name for unit, row in store.units.rows(stations).items()}
    for candidate in reached:
        share = found.mass[candidate.unit.id] / most
        way = in_words(ways.get(candidate.unit.id), names, found.kinds)
        add_bonus(candidate, "walk", weight, math.sqrt(share), f"{share:.1%} of the walk's most: {way}")


def in_words(trail: Trail | None, names: Mapping[UnitId, str], kinds: Mapping[tuple[int, int], str]) -> str:
    """How a walk came to a unit: 'Flask.run ─calls→ make_server'. `kinds` is as in Spread."""
    if trail is None or not trail.hops:
        return "a seed of the walk"
    parts = [names.get(UnitId(trail.seed), "?")]
    for hop in trail.hops:
        kind = kinds.get((hop.source, hop.target), "")
        arrow = f" ←{kind[1:]}─ " if kind.startswith("←") else f" ─{kind}→ "
        parts.append(arrow + names.get(UnitId(hop.target), "?"))
    return "".join(parts)


def add_uses(candidates: Sequence[Candidate], query: str, spreading: Spreading, weight: float, store: Store) -> None:
    """Write a contribution for each candidate that other files use: ln(1 + files) / 4, at most 1 (ranking.md).

    What many use is what a long description of a task is about; a short query asks for what is changed, seldom that.
    """
    words = len(query.split())
    reach = spreading.uses_full - spreading.uses_from
    long = min(1.0, max(0.0, (words - spreading.uses_from) / reach))
    files = store.edges.files_using([c.unit.id for c in candidates]) if long else {}
    for candidate in candidates:
        if number := files.get(candidate.unit.id):
            value = long * min(1.0, math.log1p(number) / 4)
            reason = f"{number} other files use it" + (f"; {long:.0%} for a query of {words} words" if long < 1 else "")
            add_bonus(candidate, "uses", weight, value, reason)
