"""The response of a marketplace's search API, made of an answer."""

from __future__ import annotations

from dataclasses import replace

import pytest

from codelens.model.search import Contribution
from codelens.render.records import build_search_record
from codelens.server.http.answers import build_market_fields, build_response_record
from tests.render import results


def test_a_response_has_our_fields_and_the_marketplaces() -> None:
    result = results.result()
    record, ours = build_response_record(result, 0), build_search_record(result, 0)
    assert record["count"] == len(record["results"]) == 2
    assert {name: record[name] for name in ours if name != "results"} == {
        name: value for name, value in ours.items() if name != "results"
    }
    for mine, theirs, hit in zip(ours["results"], record["results"], result.hits, strict=True):
        assert mine.items() <= theirs.items()
        assert theirs["final_score"] == hit.score
        assert theirs["rrf_score"] == pytest.approx(1 / (60 + hit.rank))
        assert (theirs["keyword_rank"], theirs["semantic_rank"]) == (hit.rank, None)
        assert theirs["description"] == "Says what it does."
    assert record["results"][0]["slug"] == "Loader.parse_config"
    assert len({theirs["id"] for theirs in record["results"]}) == 2


def test_a_response_without_hits_has_count_zero() -> None:
    record = build_response_record(results.result(0), 1)
    assert (record["results"], record["count"], record["exit_code"]) == ([], 0, 1)


def operands(rank: int, best: float) -> dict[str, float]:
    return {"weight": 0.5, "of_channel": 1.0, "k": 60, "rank": rank, "best": best}


def test_the_fused_score_sums_shares_of_ranks() -> None:
    """The marketplace's own example: rank 1 by meaning and 3 by words."""
    best = 1 / 61 + 1 / 62
    parts = [
        Contribution(name, 0.5 / (60 + rank) / best, "", "rrf_share", operands(rank, best))
        for name, rank in (("vector", 1), ("exact", 3))
    ]
    hit = replace(results.hit(0), channels={"vector": 1, "exact": 3}, contributions=tuple(parts))
    fields = build_market_fields(hit)
    assert fields["rrf_score"] == pytest.approx(0.01639 + 0.01587, abs=1e-5)
    assert (fields["semantic_rank"], fields["keyword_rank"]) == (1, 3)
