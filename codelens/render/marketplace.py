"""An answer → the object of a marketplace's search API: our own fields, and beside them those that its clients know.

`final_score` is our score; `rrf_score` is the fused score before anything is reckoned on it, in whatever profile it was made.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from codelens.model import NOTHING_ASKED, Contribution, Hit, SearchResult
from codelens.render.records import Record, hit_record, search_record


def response_record(result: SearchResult, exit_code: int, stats: Mapping[str, float] | None = None) -> Record:
    """The object of `search --json` with `count`, and with `market_fields` in each of its results."""
    record = search_record(result, exit_code, stats)
    known = result.trace.metadata
    results = [hit_record(hit) | market_fields(hit, known.get(hit.unit.document, {})) for hit in result.hits]
    said = [notice.text for notice in result.notices if notice.code == NOTHING_ASKED]
    return record | {"results": results, "count": len(results)} | ({"error": said[0]} if said else {})


def market_fields(hit: Hit, metadata: Mapping[str, Any] = {}) -> Record:
    """What the marketplace says of a result. A rank is null where that channel did not find it, and what nobody has said is too.

    `id` tells units of one index apart; `description` is the documentation; `metadata` is what a person's table says of the file.
    """
    unit, rating = hit.unit, next((part.operands for part in hit.contributions if part.rule == "scaled"), {})
    return {
        "id": f"{unit.repository}:{unit.path}:{unit.span.start}",
        "slug": unit.qualified_name,
        "description": unit.doc,
        "category": metadata.get("category"),
        "avg_rating": rating.get("value", metadata.get("rating")),
        "install_count": metadata.get("installs"),
        "final_score": hit.score,
        "rrf_score": math.fsum(_of_rank(part) for part in hit.contributions),
        "semantic_rank": hit.channels.get("vector"),
        "keyword_rank": hit.channels.get("exact"),
    }


def _of_rank(part: Contribution) -> float:
    """What a contribution has of the fused score; 0 for one that is no rank's."""
    if part.rule == "rrf_share":
        return part.operands["of_channel"] / (part.operands["k"] + part.operands["rank"])
    return part.amount if part.rule in ("rrf", "share") else 0.0
