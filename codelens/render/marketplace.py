"""An answer → the object of a marketplace's search API: our own fields, and beside them those that its clients know.

`final_score` is our score; `rrf_score` is the fused score before anything is reckoned on it, in whatever profile it was made.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from codelens.model import Contribution, Hit, SearchResult
from codelens.render.records import Record, hit_record, search_record


def response_record(result: SearchResult, exit_code: int, stats: Mapping[str, float] | None = None) -> Record:
    """The object of `search --json` with `count`, and with `market_fields` in each of its results."""
    record = search_record(result, exit_code, stats)
    results = [hit_record(hit) | market_fields(hit) for hit in result.hits]
    return record | {"results": results, "count": len(results)}


def market_fields(hit: Hit) -> Record:
    """What the marketplace says of a result. A rank is null where that channel did not find it.

    `id` and `slug` tell units apart within one index; `description` is the documentation.
    """
    unit = hit.unit
    return {
        "id": f"{unit.repository}:{unit.path}:{unit.span.start}",
        "slug": unit.qualified_name,
        "description": unit.doc,
        "final_score": hit.score,
        "rrf_score": math.fsum(_of_rank(part) for part in hit.contributions),
        "semantic_rank": hit.channels.get("vector"),
        "keyword_rank": hit.channels.get("exact"),
    }


def _of_rank(part: Contribution) -> float:
    """What a contribution has of the fused score; 0 for one that is no rank's."""
    if part.rule == "rrf_share":
        return 1.0 / (part.operands["k"] + part.operands["rank"])
    return part.amount if part.rule in ("rrf", "share") else 0.0
