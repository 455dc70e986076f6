"""Scored candidates → their neighbours in the symbol graph, breadth first: Graph Memory's expansion.

A unit inherits of a better one's score what the edges between keep of it, where that is more than it has. So nothing falls,
and the scale of the scores does not matter: shares of the best are compared with the minimum.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence

from codelens.graph.adjacency import Step
from codelens.graph.bfs import KEEPS, KEEPS_ELSE, Reached, expand
from codelens.model import UNWALKED_KINDS, Candidate, Contribution, UnitId, UnitRow
from codelens.nouns import dataclass
from codelens.relations import NAME_OF_KIND, RESOLVED, TIER_OF_NUMBER, is_unit
from codelens.search.spread import WIDEST
from codelens.store.store import Store


@dataclass(frozen=True, slots=True)
class Expanding:
    """A profile's settings for the expansion, from weights.toml."""

    seeds: int
    depth: int
    minimum: float
    """Share of the best score that a seed, and whatever is reached, must have."""
    decay: float | None = None
    """What every edge keeps; None for each kind's own."""


def add_expansion(
    candidates: Sequence[Candidate], expanding: Expanding, store: Store, allowed: Collection[UnitId] | None
) -> list[Candidate]:
    """The candidates, best first, and those that joined them; each that inherited has a contribution that says from where.

    `allowed` says who may join, None for all.
    """
    best = candidates[0].score if candidates else 0.0
    if best <= 0:
        return list(candidates)
    scores = {int(c.unit.id): c.score for c in candidates[: expanding.seeds]}
    shares = {node: score / best for node, score in scores.items()}
    found = expand(_Edges(store), shares, expanding.depth, expanding.minimum, expanding.decay)
    reached = {UnitId(n): r for n, r in found.items() if r.before is not None and is_unit(n)}
    known = {c.unit.id: c for c in candidates}
    rows = store.units.rows(reached.keys() - known.keys())
    joined = [row for row in sorted(rows.values(), key=UnitRow.content_order) if row.kind not in UNWALKED_KINDS]
    may = None if allowed is None else frozenset(allowed)
    known |= {row.id: Candidate(row) for row in joined if may is None or row.id in may}
    names = _names(reached.values(), known, store)
    for unit, way in reached.items():
        if unit in known:
            _inherit(known[unit], way, scores, names, expanding)
    return sorted(known.values(), key=Candidate.order)


class _Edges:
    """The ways on from nodes, for `expand`: resolved edges both ways and nesting, files as stations between."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def __call__(self, nodes: Sequence[int]) -> Mapping[int, Sequence[Step]]:
        self._store.budget.check()
        found: dict[int, list[Step]] = {node: [] for node in nodes}
        for node, other, kind, tier, outgoing in self._store.edges.around(nodes, WIDEST):
            if other != node and TIER_OF_NUMBER[tier].confidence >= RESOLVED:
                found[node].append(Step(other, NAME_OF_KIND[kind], outgoing))
        for node, other, down in self._store.edges.nested(nodes):
            found[node].append(Step(other, "contains", down))
        for document, unit in self._store.units.top_level([-node for node in nodes if node < 0]):
            found[-document].append(Step(unit, "contains"))
        tops = [
            row for row in self._store.units.rows([UnitId(n) for n in nodes if n > 0]).values() if row.parent is None
        ]
        for row in tops:
            found[row.id].append(Step(-row.document, "contains", False))
        return found


def _inherit(
    candidate: Candidate, way: Reached, scores: Mapping[int, float], names: Mapping[int, str], expanding: Expanding
) -> None:
    """What the way's seed had, kept hop by hop, less what the candidate had; nothing where it had as much."""
    hops = way.path()
    of, had = scores[hops[0].source], candidate.score
    kept = math.prod(KEEPS.get(h.kind, KEEPS_ELSE) if expanding.decay is None else expanding.decay for h in hops)
    if of * kept <= had:
        return
    stations = "".join(
        f" {f'─{hop.kind}→' if hop.outgoing else f'←{hop.kind}─'} {names.get(hop.target, '?')}" for hop in hops[:-1]
    )
    last = hops[-1]
    direction = "" if last.outgoing else ", against it"
    reason = f"from {names[hops[0].source]}{stations} by {last.kind}{direction}, {kept:.4g} of its score"
    operands = {"of": of, "kept": kept, "had": had}
    candidate.told.append(Contribution("expansion", of * kept - had, reason, "inherit", operands))


def _names(ways: Collection[Reached], known: Mapping[UnitId, Candidate], store: Store) -> dict[int, str]:
    """What the stations of all ways are called."""
    nodes = {hop.source for way in ways for hop in way.path()}
    rows = store.units.rows({UnitId(n) for n in nodes if n > 0} - known.keys())
    names: dict[int, str] = {int(unit): c.unit.qualified_name for unit, c in known.items()}
    names |= {int(unit): row.qualified_name for unit, row in rows.items()}
    return names | dict(store.edges.names([n for n in nodes if n < 0]))
