"""Two hand-made runs whose comparison can be computed by hand."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from codelens.errors import UsageError
from codelens.evaluation.report import SavedRun, compare_runs, compare_values, load_run


def changed(*differences: float) -> tuple[dict[str, float], dict[str, float]]:
    """Two runs that differ by these values, task by task."""
    before = {f"t{number}": 0.5 for number in range(len(differences))}
    return before, {task: 0.5 + d for task, d in zip(before, differences, strict=True)}


def test_means_and_counts() -> None:
    found = compare_values(*changed(0.25, 0.25, -0.125, 0.0))
    assert (found.tasks, found.better, found.worse) == (4, 2, 1)
    assert (found.before, found.after) == (0.5, 0.59375)


def test_the_same_run_twice_is_no_difference() -> None:
    found = compare_values(*changed(0.0, 0.0, 0.0))
    assert (found.p_value, found.low, found.high, found.better, found.worse) == (1.0, 0.0, 0.0, 0, 0)


@pytest.mark.parametrize(
    ("differences", "p_value"),
    [
        ((0.25,), 1.0),  # either sign is as far from zero
        ((0.375, -0.125), 1.0),  # |±.375 ± .125| is never below .25
        ((0.3, 0.2, 0.1), 2 / 8),  # only all with one sign reach .6
        ((0.25, 0.25, 0.25, -0.25), 10 / 16),  # of 16 sums, 6 are 0
        ((0.1,) * 10, 2 / 1024),
        ((0.1,) * 10 + (0.0,) * 40, 2 / 1024),  # tasks that did not move tell nothing
        ((-0.1,) * 10, 2 / 1024),  # two-sided
    ],
)
def test_p_is_the_share_of_signs_that_reach_as_far(differences: tuple[float, ...], p_value: float) -> None:
    """10,000 sign flips are drawn, so p lies within four standard errors of the exact share; equal in each run."""
    before, after = changed(*differences)
    found = compare_values(before, after)
    assert found.p_value == pytest.approx(p_value, abs=4 * (p_value * (1 - p_value) / 10_000) ** 0.5 + 1e-4)
    assert found == compare_values(before, after)
    assert compare_values(after, before).p_value == pytest.approx(found.p_value)


def test_the_interval_is_that_of_the_mean() -> None:
    """All tasks alike leave no room; of a hundred halves, a mean of .25 has a standard error of .025."""
    alike = compare_values(*changed(*(0.25,) * 8))
    assert (alike.low, alike.high) == (0.25, 0.25)
    mixed = compare_values(*changed(*(0.5, 0.0) * 50))
    assert (mixed.low, mixed.high) == pytest.approx((0.25 - 1.96 * 0.025, 0.25 + 1.96 * 0.025), abs=0.01)


def test_only_tasks_of_both_runs_count() -> None:
    found = compare_values({"a": 0.0, "b": 0.5, "c": 1.0}, {"b": 0.75, "c": 1.0, "d": 0.0})
    assert (found.tasks, found.before, found.after) == (2, 0.75, 0.875)
    with pytest.raises(UsageError, match="no task in common"):
        compare_values({"a": 1.0}, {"b": 1.0})


def write_run(path: Path, rows: Mapping[tuple[str, str], float]) -> Path:
    """Write a run as score.py does: two repositories may share a task id; a failed task has no value."""
    values = [{"repo": repo, "id": name, "strict_ndcg@10": value, "other": 1} for (repo, name), value in rows.items()]
    path.write_text(json.dumps({"cmd": "x", "rows": [*values, {"repo": "x", "id": "failed", "strict_ndcg@10": None}]}))
    return path


def test_a_run_is_read(tmp_path: Path) -> None:
    run = load_run(write_run(tmp_path / "run.json", {("a", "1"): 0.5, ("b", "1"): 1}))
    assert run.values == {"strict_ndcg@10": {"a/1": 0.5, "b/1": 1.0}}
    assert run.about == {"cmd": "x"}


def test_the_mean_over_repositories(tmp_path: Path) -> None:
    run = load_run(write_run(tmp_path / "run.json", {("a", "1"): 0.5, ("b", "1"): 1, ("b", "2"): 0.5, ("b/c", "1"): 0}))
    assert run.compute_mean("strict_ndcg@10", ["a/1", "b/1", "b/2"]) == 0.625
    assert run.compute_mean("strict_ndcg@10", run.values["strict_ndcg@10"]) == pytest.approx(1.25 / 3)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"rows": [1]}', '{"rows": [{"repo": "a"}]}'])
def test_what_is_no_run_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "run.json").write_text(text)
    with pytest.raises(UsageError, match=r"run\.json is not a saved run"):
        load_run(tmp_path / "run.json")


def test_runs_are_compared_by_what_both_have() -> None:
    before = SavedRun({}, {}, {"MRR": {"a": 0.5, "b": 0.25}, "P@10": {"a": 0.5}})
    found = compare_runs(before, SavedRun({}, {}, {"MRR": {"a": 1.0, "b": 0.25}, "R@10": {"a": 0.0}}))
    assert list(found) == ["MRR"]
    assert (found["MRR"].after - found["MRR"].before, found["MRR"].better) == (0.25, 1)
    with pytest.raises(UsageError, match="no metric"):
        compare_runs(before, SavedRun({}, {}, {}))
    with pytest.raises(UsageError, match="no task"):
        compare_runs(before, SavedRun({}, {}, {"MRR": {"c": 1.0}}))
