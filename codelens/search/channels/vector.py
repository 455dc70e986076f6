"""The channel for meaning: finds units whose vectors are near the query's."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from codelens.errors import EmbedderFault
from codelens.model.code import UnitId
from codelens.model.search import Match
from codelens.search.channels import ChannelResult
from codelens.search.run import SearchRun
from codelens.store.vectors import compute_cosine, select_first_with_ties

OVERFETCH = (1.25, 3.0)
"""Numbers of vectors to fetch, as multiples of the limit. Long units have several vectors, so the second number is fetched if
the first gives too few units. The second is the marketplace's figure, the first is chosen."""


def find_by_meaning(run: SearchRun, limit: int) -> ChannelResult:
    """Find units by their nearest vector, with the index's embedder. The raw score is the cosine, at least the embedder's least."""
    vector, least = compute_query_vector(run)
    if not vector:
        return ChannelResult([])
    best: dict[UnitId, float] = {}
    for times in OVERFETCH:
        pieces = run.store.vectors.find_nearest(vector, run.within, int(limit * times))
        best, enough = _drop_far(pieces, int(limit * times), least)
        if enough or len(best) >= limit:
            break
    first = select_first_with_ties(best, limit)
    run.prefetch(first)
    count = Counter(first.values())  # content, which breaks ties, is read only for units that tie
    rows = run.store.units.read_rows([unit for unit, distance in first.items() if count[distance] > 1])
    ranked = sorted(first, key=lambda u: (first[u], rows[u].content_order() if u in rows else ()))[:limit]
    return ChannelResult([Match(u, compute_cosine(best[u]), f"cosine {compute_cosine(best[u]):.3f}") for u in ranked])


def compute_query_vector(run: SearchRun) -> tuple[bytes, float]:
    """Compute (the query's vector, the least cosine of a match). The vector is empty if neither embedder nor index knows a word
    of the query, because a vector of unknown words would find something, too. Raises EmbedderFault."""
    embedder, terms = run.find_embedder(), run.terms
    if embedder is None:
        return b"", 1.0
    frequency = run.store.postings.count_units
    if not (
        terms.vector
        or embedder.knows_any_word(terms.text)
        or any(frequency(t.text) for t in (*terms.words, *terms.extra))
    ):
        return b"", embedder.least_cosine
    vector = run.embed_query()
    if vector and len(vector) != (width := run.store.vectors.read_width() or len(vector)):
        raise EmbedderFault(f"{embedder.name} gives {len(vector)} dimensions now, and the index has {width}")
    return vector, embedder.least_cosine


def _drop_far(pieces: Sequence[tuple[UnitId, float]], wanted: int, least: float) -> tuple[dict[UnitId, float], bool]:
    """Drop pieces whose cosine is below `least`: (unit → its least distance, True if no further pieces are near enough).

    If the list is full, more pieces may tie with its last; all with that distance are dropped, so that no chance decides.
    """
    near = [(unit, distance) for unit, distance in pieces if compute_cosine(distance) >= least]
    cut = near[-1][1] if len(near) == wanted and near[0][1] < near[-1][1] else math.inf
    best: dict[UnitId, float] = {}
    for unit, distance in near:
        if distance < cut:
            best.setdefault(unit, distance)
    return best, len(near) < wanted
