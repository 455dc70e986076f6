"""--rerank: the best candidates by embedding alone, with every sum accounted for."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from codelens.index import Index
from codelens.search.order import POOL
from tests.search.trees import QUICK, Tree, ask, checked, find, functions, names

FILES = {
    "ledger.py": "def write_entry(entry):\n    '''Write one journal entry.'''\n\n\ndef read_pages():\n    return []\n",
    "many.py": functions(POOL + 20),
}


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Index]:
    with Tree(tmp_path_factory.mktemp("rerank"), FILES).index() as made:
        yield made


@pytest.mark.parametrize("profile", ["codelens", "knowing", "rrf"])
def test_the_best_come_by_cosine_and_all_others_behind_them(profile: str, index: Index) -> None:
    query, every = "widget_0007 return", 1000
    assert POOL == 50
    before = find(index, query, profile=profile, limit=every)
    after = find(index, query, profile=profile, limit=every, rerank=True)
    assert sorted(names(after)) == sorted(names(before))
    assert set(names(after)[:POOL]) == set(names(before)[:POOL])
    assert names(after)[POOL:] == names(before)[POOL:]
    told = [next((c.reason for c in hit.contributions if c.source == "rerank"), "") for hit in after.hits]
    assert all(told[:POOL]) and not any(told[POOL:])
    assert told[:POOL] == sorted(told[:POOL], reverse=True), "nearest first"


@pytest.mark.parametrize("profile", ["codelens", "knowing"])
@pytest.mark.parametrize("query", ["write a journal entry", "`read_pages`", "kind:function", "zzzz"])
def test_every_sum_is_recomputed(query: str, profile: str, index: Index) -> None:
    checked(index, query, profile=profile, rerank=True)


def test_a_limit_changes_neither_score_nor_order(index: Index) -> None:
    few, many = (find(index, "widget return", limit=limit, rerank=True).hits for limit in (3, 60))
    assert [(hit.unit.id, hit.score) for hit in few] == [(hit.unit.id, hit.score) for hit in many[:3]]


def test_without_vectors_the_order_stays_and_a_notice_says_so(tmp_path: Path) -> None:
    with Tree(tmp_path, FILES, replace(QUICK, vector=False)).index() as index:
        plain, asked = find(index, "journal entry"), find(index, "journal entry", rerank=True)
        assert [(hit.unit.id, hit.score) for hit in asked.hits] == [(hit.unit.id, hit.score) for hit in plain.hits]
        assert "no-rerank" in [notice.code for notice in asked.notices]


def test_the_options_of_a_remedy_include_rerank(index: Index) -> None:
    from codelens.render.why import list_option_flags

    assert "--rerank" in list(list_option_flags(ask(index, "entry", rerank=True).search.options))
