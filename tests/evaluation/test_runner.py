"""Running tasks on small indexes: the index for each task, the stored results, and their groups."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from codelens.errors import NoIndex, UsageError
from codelens.evaluation.ablate import GONE, Ablation
from codelens.evaluation.metrics import Judgement, compute_metrics, strict
from codelens.evaluation.report import HEADLINES, compute_percentiles, detect_shape, hash_tasks, summarise_results
from codelens.evaluation.runner import (
    Setup,
    TaskBatch,
    TaskResult,
    batch_folder,
    batch_one_index,
    open_workers,
    run_tasks,
)
from codelens.evaluation.tasks import Relevant, Task
from codelens.index import Index
from codelens.model.request import SearchOptions
from codelens.model.runs import Progress
from tests.search.trees import QUICK, Tree

SETUP = Setup(SearchOptions(), QUICK, strict)


def task(repository: str, name: str, query: str, *symbols: str, tier: str = "", kind: str = "") -> Task:
    return Task(name, repository, query, tuple(Relevant(symbol, ()) for symbol in symbols), tier, kind)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """shop.db and post.db, and both.db with the two in one; each has a `send`."""
    made = tmp_path_factory.mktemp("indexes")
    shop = Tree(
        made / "a" / "shop",
        {"cart.py": "def add_item(cart):\n    return total(cart)\n\n\ndef send(cart):\n    return 1\n"},
    )
    post = Tree(made / "a" / "post", {"mail.py": "def send(letter):\n    return letter\n"})
    for tree, name in ((shop, "shop"), (post, "post")):
        root = tree.root.rename(made / name)
        Index.build(made / f"{name}.db", [root], QUICK)
    Index.build(made / "both.db", [made / "shop", made / "post"], QUICK)
    yield made


@pytest.mark.slow
def test_each_repository_has_an_index_of_its_name(folder: Path) -> None:
    tasks = [
        task("shop", "1", "x", "y"),
        task("nowhere", "2", "x", "y"),
        task("post", "3", "x", "y"),
        task("shop", "4", "x", "y"),
    ]
    batches, missing = batch_folder(tasks, folder, "")
    assert [(batch.index.name, [t.id for t in batch.tasks]) for batch in batches] == [
        ("post.db", ["3"]),
        ("shop.db", ["1", "4"]),
    ]
    assert missing == {"nowhere": 1}
    with pytest.raises(NoIndex, match=r"no post-commits\.db"):
        batch_folder(tasks[2:3], folder, "-commits")


def test_in_one_index_of_several_a_task_is_about_its_own(folder: Path) -> None:
    tasks = [task("post", "1", "send", "send"), task("", "2", "send", "send"), task("elsewhere", "3", "send", "send")]
    with Index.open(folder / "both.db", QUICK) as index:
        batches = batch_one_index(tasks, folder / "both.db", index.info())
    assert [(batch.repositories, [t.id for t in batch.tasks]) for batch in batches] == [
        ((), ["2", "3"]),
        (("post",), ["1"]),
    ]
    whole, _, own = run_tasks(batches, SETUP, None)
    assert {path for _, path, _ in whole.top} == {"cart.py", "mail.py"}
    assert {path for _, path, _ in own.top} == {"mail.py"}


def test_an_answer(folder: Path) -> None:
    asked = task("shop", "1", "add an item", "add_item", "missing")
    told: list[Progress] = []
    [answer] = run_tasks([TaskBatch(folder / "shop.db", (asked,))], SETUP, None, told.append)
    assert answer.task == asked
    assert answer.top[0] == ("add_item", "cart.py", 1)
    assert answer.judged.credited[0] == 0
    assert answer.judged.among_candidates == (0,)
    assert answer.candidates >= len(answer.top)
    assert (answer.fault, answer.cpu_ms > 0, answer.wall_ms > 0) == ("", True, True)
    assert [(step.done, step.total, step.path) for step in told] == [(1, 1, "shop.db")]


def test_processes_find_the_same_in_the_same_order(folder: Path) -> None:
    batches = [
        TaskBatch(folder / f"{name}.db", (task(name, "1", "send", "send"), task(name, "2", "add item", "add_item")))
        for name in ("post", "shop")
    ]
    row = Ablation("- feature coverage", ((("features", "coverage"), GONE),))
    setup = Setup(SearchOptions(), QUICK, strict, row)
    with open_workers(1) as none, open_workers(2) as pool:
        assert none is None
        alone, together = run_tasks(batches, setup, none), run_tasks(batches, setup, pool)
    assert [(a.task, a.judged, a.top) for a in together] == [(a.task, a.judged, a.top) for a in alone]


def test_a_query_that_fails_is_judged_as_without_hits(folder: Path) -> None:
    """A strict query with a fault is one; what is wrong with the options is not a task's fault."""
    broken = task("shop", "1", "(add", "add_item")
    setup = Setup(SearchOptions(strict_query=True), QUICK, strict)
    [answer] = run_tasks([TaskBatch(folder / "shop.db", (broken,))], setup, None)
    assert answer.fault.startswith("QueryError: ")
    assert (answer.top, answer.judged.credited) == ((), ())
    with pytest.raises(UsageError, match="no mode"):
        run_tasks([TaskBatch(folder / "shop.db", (broken,))], Setup(SearchOptions(mode="magic"), QUICK, strict), None)


def made(repository: str, name: str, query: str, right: bool, ms: float, tier: str = "") -> TaskResult:
    judged = Judgement(1, (0,) if right else (None,), (right,), (0,) if right else (), None, (0,) if right else ())
    return TaskResult(task(repository, name, query, "x", tier=tier), judged, (), 1, ms, 2 * ms)


@pytest.mark.slow
def test_means_over_tasks_and_over_repositories() -> None:
    asked = [
        made("a", "1", "one", True, 10, "hard"),
        made("a", "2", "one two three", False, 20, "easy"),
        made("a", "3", "one", False, 30),
        made("b", "1", "one", True, 40, "easy"),
    ]
    groups = summarise_results(asked, compute_metrics({answer.task.key: answer.judged for answer in asked}))
    means = {(group["by"], group["name"]): group["metrics"]["strict_ndcg@10"]["mean"] for group in groups}
    assert means == pytest.approx(
        {
            ("all", "ALL"): 0.5,
            ("macro", "MACRO"): (1 / 3 + 1) / 2,
            ("tier", "easy"): 0.5,
            ("tier", "hard"): 1.0,
            ("repo", "a"): 1 / 3,
            ("repo", "b"): 1.0,
            ("shape", "change"): 0.0,
            ("shape", "identifier"): 2 / 3,
        }
    )
    assert [group["n"] for group in groups] == [4, 4, 2, 1, 3, 1, 1, 3]
    assert "file@10" not in groups[0]["metrics"]
    assert (groups[0]["cpu_ms"], groups[0]["wall_ms"]["p50"]) == ({"p50": 30, "p95": 40}, 60)


@pytest.mark.slow
def test_intervals_hold_the_mean() -> None:
    asked = [made("a", str(n), "one", n % 2 == 0, 1) for n in range(100)]
    whole = summarise_results(asked, compute_metrics({answer.task.key: answer.judged for answer in asked}))[0]
    ndcg = whole["metrics"]["strict_ndcg@10"]
    assert (ndcg["low"], ndcg["high"]) == (
        pytest.approx(0.5 - 1.96 * 0.05, abs=0.02),
        pytest.approx(0.5 + 1.96 * 0.05, abs=0.02),
    )
    assert [name for name, mean in whole["metrics"].items() if "low" in mean] == [
        n for n in HEADLINES if n != "file@10"
    ]


def test_percentiles_are_values_that_were_measured() -> None:
    assert compute_percentiles([5.0]) == {"p50": 5.0, "p95": 5.0}
    assert compute_percentiles([float(n) for n in range(100, 0, -1)]) == {"p50": 51.0, "p95": 96.0}


@pytest.mark.parametrize(
    ("query", "name"),
    [("parse_config", "identifier"), ("src/app.py", "path"), ("/ab+c/", "regex"), ("Fix crash on empty input", "change"),
     ("Returns the number of the items in a list", "question"), ("how is it closed", "task"),
     ("Add a filter that truncates the text of a post to a word and not to a letter", "task"), ("lang:go", "conditions")],
)  # fmt: skip
def test_the_shape_of_a_query_is_what_the_ranking_takes_it_for(query: str, name: str) -> None:
    assert detect_shape(query) == name


def test_the_digest_covers_the_tasks() -> None:
    first, second = task("a", "1", "x", "y"), task("b", "1", "x", "y")
    assert hash_tasks([first, second]) == hash_tasks([second, first])
    assert hash_tasks([first]) != hash_tasks([second])
