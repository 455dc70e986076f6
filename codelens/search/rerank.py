"""The best candidates → the same ones in order of their nearness to the query: knowing's optional second look by embedding.

Their scores become best · (1 + cosine), so that they stay before all others and a score is still the sum of its contributions.
How many are looked at is fixed, so that what is shown never depends on how much is shown.
"""

from __future__ import annotations

from collections.abc import Sequence

from codelens.config import Settings
from codelens.errors import EmbedderFault
from codelens.model import Candidate, Contribution, Notice
from codelens.search.embedding import cosine, vector_of
from codelens.search.expand import ExpandedQuery
from codelens.store.store import Store

POOL = 50
"""Candidates that are looked at again; knowing's figure."""


def rerank(
    candidates: Sequence[Candidate], query: ExpandedQuery, store: Store, settings: Settings, notices: list[Notice]
) -> list[Candidate]:
    """All candidates, best first. Where there are no vectors the order stays, and a notice says so."""
    ordered = sorted(candidates, key=Candidate.order)
    best = ordered[:POOL]
    try:
        vector = vector_of(query, store, settings) if "vector" in query.features and best else b""
    except EmbedderFault as fault:
        notices.append(Notice("no-rerank", f"not ranked again: {fault}"))
        return ordered
    if not vector:
        notices.append(Notice("no-rerank", "not ranked again: there is no vector of the query to compare with"))
        return ordered
    store.units.set_pool(sorted(candidate.unit.id for candidate in best))
    near = {unit: max(0.0, cosine(distance)) for unit, distance in store.vectors.of_pool(vector).items()}
    most = best[0].score
    for candidate in best:
        share, had = near.get(candidate.unit.id, 0.0), candidate.score
        # A sum that is not positive has no multiples above it: there the cosine itself is.
        of, kept = (most, 1.0 + share) if most > 0 else (1.0, share)
        told = f"cosine {share:.3f}" if candidate.unit.id in near else "no vector of it"
        operands = {"of": of, "kept": kept, "had": had}
        candidate.told.append(
            Contribution("rerank", of * kept - had, f"{told}, in the place of its score", "inherit", operands)
        )
    return sorted(ordered, key=Candidate.order)
