"""The learner sees the same numbers as a search, and tasks are split into older and newer ones."""

from __future__ import annotations

import math
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from codelens.config import Settings, load_weights
from codelens.evaluation.fitting import COLUMNS, RANKS, Sample, sample_tasks, score_candidates
from codelens.evaluation.tasks import Relevant, Task
from codelens.evaluation.tune import split_by_age
from codelens.index import Index
from codelens.model.request import SearchOptions
from tools.weights.folds import cross_validate, fold_repositories, mean_by_kind, ndcg_by_task
from tools.weights.repositories import read_measured, write_measured

SHOP = Path(__file__).parents[2] / "sample_repos/shop/repo"
ASKED = {
    "where is the shopping cart total computed": "Coupon.Apply",
    "fix(pricing): apply an expired coupon": "Coupon.Apply",
    "Coupon.Apply": "Coupon.Apply",
    "reserve the stock of several products atomically so that nobody buys what another has in the cart": "Coupon.Apply",
}
PLACE = "server/internal/pricing/pricing.go"


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("shop")
    shutil.copytree(SHOP, folder / "shop")
    Index.build(folder / "i.db", [folder / "shop"], replace(Settings(), jobs=1))
    return folder / "i.db"


def tasks(symbol: str | None = None) -> list[Task]:
    return [
        Task(str(at), "shop", query, (Relevant("none", (PLACE,)), Relevant(symbol or found, (PLACE,))), kind="commit")
        for at, (query, found) in enumerate(ASKED.items())
    ]


@pytest.fixture(scope="module")
def measured(index: Path) -> list[Sample]:
    return sample_tasks(tasks(), index, Settings())


def test_measured_values_are_what_a_search_adds_up(index: Path, measured: list[Sample]) -> None:
    features = load_weights()["codelens"]["features"]
    unit = load_weights()["codelens"]["rrf_k"] + 1
    with Index.open(index) as opened:
        for one, query in zip(measured, ASKED, strict=True):
            hits = opened.search(query, SearchOptions(limit=100_000)).hits
            again = score_candidates(one, features)
            alone = {h.unit.id: math.fsum(c.amount for c in h.contributions if c.source != "further") for h in hits}
            assert sorted(alone.values(), reverse=True) == pytest.approx(
                (np.sort(again)[::-1] / unit).tolist(), abs=1e-4
            )
            answers = [
                i for i, h in enumerate(hits) if h.unit.path == PLACE and h.unit.qualified_name.endswith("Apply")
            ]
            assert np.flatnonzero(one.credits == 1).tolist() == answers != []
            assert one.entries == 2
            assert one.values[:, COLUMNS.index(RANKS)].max() <= 1.0
            assert sum(one.shares) == pytest.approx(1.0)


def test_what_weighs_nothing_is_measured_too(index: Path, tmp_path: Path) -> None:
    own = tmp_path / "own.toml"
    own.write_text("[codelens.features]\nbm25 = 1.0\n")
    for one in sample_tasks(tasks()[:2], index, Settings(weights=str(own))):
        for name in ("bm25", "lines", "nearest", "function", "walk"):
            assert one.values[:, COLUMNS.index(name)].any(), name


@pytest.mark.slow
def test_a_task_without_an_answer_holds_no_candidates(index: Path) -> None:
    found = sample_tasks(tasks("nowhere"), index, Settings())
    assert [one.has_answer for one in found] == [False] * len(ASKED)
    assert {one.values.shape for one in found} == {(0, len(COLUMNS))}
    assert ndcg_by_task(found, {}) == dict.fromkeys((one.task for one in found), 0.0)


def test_what_is_kept_is_what_was_measured(index: Path, measured: list[Sample], tmp_path: Path) -> None:
    path = tmp_path / "measured.npz"
    everything = [*measured, *sample_tasks(tasks("nowhere")[:1], index, Settings())]
    write_measured(path, "these", everything)
    kept = read_measured(path, "these")
    assert kept is not None
    for one, other in zip(everything, kept, strict=True):
        assert (one.task, one.repository, one.kind, one.shares, one.entries) == (
            *(other.task, other.repository, other.kind, other.shares),
            other.entries,
        )
        assert np.array_equal(one.values, other.values)
        assert np.array_equal(one.credits, other.credits)
        assert np.array_equal(one.aside, other.aside)
    assert read_measured(path, "others") is None
    path.write_bytes(path.read_bytes()[:100])
    assert read_measured(path, "these") is None
    assert read_measured(tmp_path / "none.npz", "these") is None


@pytest.mark.slow
def test_folds_are_of_whole_repositories(measured: list[Sample]) -> None:
    many = [replace(one, repository=name, task=f"{name}/{one.task}") for name in ("a", "b", "c") for one in measured]
    assert list(fold_repositories(many, 2)) == [{"a", "c"}, {"b"}]
    assert len(list(fold_repositories(many, 9))) == 3
    values = cross_validate(many, 3)
    assert values.keys() == {one.task for one in many}
    assert 0 < mean_by_kind(many, values)["commit"] <= 1


def test_the_newest_fifth_has_a_commits_subject_and_its_explanation_on_one_side() -> None:
    def task(identity: str, kind: str) -> Task:
        return Task(identity, "a", "q", (Relevant("s", ("f",)),), kind=kind)

    commits = [task(f"a-task-b-{at:010x}", "commit") for at in range(10)]
    explained = [task(f"a-task-b-task-{at:010x}", "task") for at in (1, 8, 9)]
    docs = [task(f"a-doc-{at}", "documentation") for at in range(5)]
    older, newest = split_by_age([*commits, *explained, *docs])
    assert [t.id for t in newest] == [*(t.id for t in commits[8:]), *(t.id for t in explained[1:]), "a-doc-4"]
    assert sorted(t.id for t in older + newest) == sorted(t.id for t in (*commits, *explained, *docs))
