"""Features that raise a candidate's score if other good hits are in its file, are used by it, or use it.

A question often has several answers that lie close together. The best SEEDS candidates by their scores so far lift others.
Each has a standing from 0, the score of the first candidate that is not a seed, to 1, the best score.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence

from codelens.graph.surroundings import WIDEST
from codelens.model.code import UnitId, UnitRow
from codelens.model.graph import KINDS
from codelens.model.search import Candidate, add_features, rank_with_scores
from codelens.store.store import Store

IN_FILE, USES, USED_BY = "file_hits", "uses_hits", "used_by_hits"
COMPANY = (IN_FILE, USES, USED_BY)  # The features that this module measures
SEEDS = 50  # Most candidates that lift others, the same number as for the walk
LEAST_REST = 0.05  # Least value of the divisor: the share of all votes that are not the candidate's own
# Kinds of edges that count
_USES = "calls references type_hint_of accesses_field decorates extends implements overrides"


class CompanyFeatures:
    """The values of the company features, each with the best hit that caused it."""

    def __init__(self, candidates: Sequence[Candidate], store: Store | None) -> None:
        """Measure the features; without a store, only hits in the same file count, because edges are unknown."""
        ranked = rank_with_scores(candidates)
        self._rows = {candidate.unit.id: candidate.unit for _, candidate in ranked[:SEEDS]}
        self._best: dict[tuple[str, UnitId], UnitId] = {}
        best, low = ranked[0][0], ranked[min(SEEDS, len(ranked) - 1)][0]
        reach = best - low
        self._standing = {c.unit.id: (score - low) / reach for score, c in ranked[:SEEDS] if reach > 0 and score > low}
        """Unit → its standing, above 0 and at most 1."""
        self.values: dict[str, dict[UnitId, float]] = {name: {} for name in COMPANY}
        """Feature → unit → value, from 0 to 1."""
        units = {candidate.unit.id: candidate.unit for _, candidate in ranked}
        seeds_of_file: dict[int, list[UnitId]] = {}
        for seed in self._standing:
            seeds_of_file.setdefault(units[seed].document, []).append(seed)
        for unit in units.values():
            other = next((one for one in seeds_of_file.get(unit.document, ()) if one != unit.id), None)
            if other is not None:
                self.values[IN_FILE][unit.id], self._best[IN_FILE, unit.id] = self._standing[other], other
        if store and self._standing:
            self._measure_edges(units, store)

    def _measure_edges(self, units: Collection[UnitId], store: Store) -> None:
        kinds = {KINDS[kind] for kind in _USES.split()}
        whole = math.fsum(standing**2 for standing in self._standing.values())
        votes = {unit: standing**2 / whole for unit, standing in self._standing.items()}
        lifted: dict[tuple[str, UnitId], set[UnitId]] = {}
        for node, other, kind, _, goes_out in store.edges.find_neighbours(list(votes), WIDEST, False):
            if other in units and kind in kinds and node != other:
                lifted.setdefault((USED_BY if goes_out else USES, UnitId(other)), set()).add(UnitId(node))
        places = {unit: place for place, unit in enumerate(votes)}
        for (feature, unit), seeds in lifted.items():
            rest = max(LEAST_REST, 1.0 - votes.get(unit, 0.0))
            self.values[feature][unit] = math.fsum(votes[seed] for seed in seeds) / rest
            self._best[feature, unit] = min(seeds, key=lambda seed: places[seed])

    def describe(self, feature: str, unit: UnitRow) -> str:
        """Describe in words why a unit has a value for a feature."""
        best = self._best[feature, unit.id]
        name = f"{self._rows[best].qualified_name}, {'the best hit' if self._standing[best] == 1.0 else 'a good hit'}"
        return {IN_FILE: f"its file has {name}", USES: f"uses {name}", USED_BY: f"is used by {name}"}[feature]


def add_company_features(
    candidates: Sequence[Candidate], weights: Mapping[str, float], store: Store | None
) -> CompanyFeatures | None:
    """Add the company features to all candidates, in place; None if they have no weight. Without a store, ignore edges."""
    if not candidates or not any(weights.get(name) for name in COMPANY):
        return None
    company = CompanyFeatures(candidates, store)
    units = [candidate.unit.id for candidate in candidates]
    weighing = [(name, weight, company.values[name]) for name in COMPANY if (weight := weights.get(name))]
    add_features(candidates, [(n, weight, [of.get(unit, 0.0) for unit in units]) for n, weight, of in weighing])
    return company
