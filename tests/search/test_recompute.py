"""Every score of many searches of the samples, computed again from the JSON of `why`, and what the check must notice."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from codelens.index import Index
from codelens.model.request import SearchOptions
from codelens.render.why_json import recompute_scores
from tests.commands import SAMPLES
from tests.search.trees import QUICK, checked
from tools.bench.recheck import main, make_queries, recheck

pytestmark = pytest.mark.slow

SAMPLE_QUERIES = [SAMPLES / name / "queries.jsonl" for name in ("notes", "shop")]
QUERIES = [json.loads(line)["query"] for file in SAMPLE_QUERIES for line in file.read_text().splitlines()]
QUERIES += [
    "verify_password", "verify_pasword", "`hash_password`", "SessionTable.user_of", "config", "the", "get", "parse form",
    '"def "', '"return nil"', "/func [A-Z]/", "lang:go", "lang:go cart", "-is:test password", "is:test password",
    "kind:class OR kind:struct", "path:docs", "file:*.ts cart", "sym:user", "content:password lock", "repo:shop price",
    "cart OR basket", "(cart OR basket) lang:ts", "retry NOT test", 'password "hash"', "qqqq",
]  # fmt: skip


@pytest.fixture(scope="module")
def db(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("samples") / "index.db"
    Index.build(path, [SAMPLES / "notes/repo", SAMPLES / "shop/repo"], QUICK)
    return path


@pytest.fixture(scope="module")
def index(db: Path) -> Iterator[Index]:
    with Index.open(db, QUICK) as opened:
        yield opened


@pytest.mark.parametrize(
    "options",
    [{}, {"limit": 1000}, {"offset": 4, "limit": 3}, {"mode": "keyword"}, {"mode": "vector"}, {"profile": "rrf"},
     {"profile": "knowing"}, {"profile": "graph-memory"}, {"expand": "bfs"}, {"profile": "codexlens"},
     {"profile": "codexlens", "fusion": "weighted"}, {"mode": "exact"}, {"mode": "fuzzy"},
     {"weights": {"exact": 0.1, "vector": 7.3}, "rrf_k": 7}, {"min_score": 0.08}, {"sort": "path"}, {"reverse": True}],
)  # fmt: skip
def test_every_score_is_recomputed_from_json(index: Index, options: dict[str, Any]) -> None:
    queries = QUERIES if not options else QUERIES[::4]
    found = recheck(index, queries, SearchOptions(**options))
    assert found.differences == found.refused == []
    assert found.largest == 0.0, "floats go through JSON unchanged"
    assert found.hits == sum(expected_hits(index, query, **options) for query in queries) > 2 * found.queries


def expected_hits(index: Index, query: str, limit: int = 20, offset: int = 0, min_score: float = 0, **more: Any) -> int:
    """The number of hits in the whole order with at least this confidence, from the offset up to the limit."""
    hits = index.search(query, SearchOptions(limit=10_000, **more)).hits
    kept = [hit for hit in hits if not min_score or (hit.confidence or 0.0) >= min_score]
    return len(kept[offset : offset + limit])


def test_as_a_command(db: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "queries").write_text("\n".join(QUERIES[:5]) + "\n\n")
    assert main([str(db), str(tmp_path / "queries")]) == 0
    assert capsys.readouterr().out.startswith("5 queries, 0 of them without hits, 0 refused; ")
    assert main([]) == 2


def test_queries_of_every_shape_made_from_the_index(index: Index) -> None:
    """`make recheck` asks 200 of any tree."""
    queries = make_queries(index, 80)
    assert len(queries) == len(set(queries)) == 80
    assert queries == make_queries(index, 80)
    found = recheck(index, queries, SearchOptions())
    assert found.differences == found.refused == []
    assert found.largest == 0.0
    assert found.without_hits < 8 < found.hits / 80


def test_the_check_finds_any_changed_number(index: Index) -> None:
    """Any number that is changed by more than the tolerance, and any two hits that are exchanged."""
    why = checked(index, "verify password")
    clean = recompute_scores(why)
    assert clean[1] == []
    assert clean[0] >= 10
    for change in (
        lambda c: c.update(score=c["score"] + 1e-11),
        lambda c: c["contributions"].pop(),
        lambda c: c["contributions"][0].update(amount=c["contributions"][0]["amount"] * 1.001),
        lambda c: c["contributions"][0]["operands"].update(rank=c["contributions"][0]["operands"]["rank"] + 1),
        lambda c: c["contributions"][0].update(rule="magic"),
        lambda c: c["contributions"][0].update(operands={}),
        lambda c: c.update(score=float("nan")),
        lambda c: c.update(rank=1000),
    ):
        changed = copy.deepcopy(why)
        change(changed["explanations"][0]["candidate"])
        assert recompute_scores(changed)[1], change
