"""The scorer against figures reckoned by hand, and the table of leave-one-outs over a small index."""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path

import pytest

from codelens.evaluation import ablate
from codelens.evaluation.scoring import Answer, Relevant, Task, loose, parts_of, read_tasks, same_file, score, strict
from codelens.index import Index
from tests.search.trees import QUICK, Tree


@pytest.mark.parametrize(
    ("hit", "truth", "is_loose", "is_strict"),
    [
        (("Flask.run", "src/app.py"), "Flask.run", True, True),
        (("Flask.run", "src/app.py"), "run", True, True),
        (("run", "src/app.py"), "Flask.run", True, False),
        (("Scaffold.run", "src/app.py"), "Flask.run", False, False),
        (("app.Flask.run", "src/app.py"), "Flask.run", True, True),
        (("flask.RUN", "src/x.py"), "Flask.run", True, False),
        (("Flask", "src/app.py"), "Flask.run", True, False),
        (("a.b.Flask.run", "src/x.py"), "b.Flask", True, False),
        (("Flask::run<T>", "src/app.rs"), "Flask#run", True, True),
    ],
)
def test_when_a_hit_is_right(hit: tuple[str, str], truth: str, is_loose: bool, is_strict: bool) -> None:
    assert loose(Answer(*hit), Relevant(truth, ())) is is_loose
    assert strict(Answer(*hit), Relevant(truth, ())) is is_strict


def test_the_rule_for_commits_wants_the_file() -> None:
    truth = Relevant("Flask.run", ("src/app.py",))
    assert same_file(Answer("Other.run", "src/app.py"), truth)
    assert not same_file(Answer("Flask.run", "src/cli.py"), truth)


def test_package_parts_that_repeat_the_path_are_left_out() -> None:
    assert parts_of(Answer("crate.fs.walk.Walker.next", "fs/walk.rs")) == ["Walker", "next"]
    assert parts_of(Answer("Walker.next", "fs/Walker.java")) == ["Walker", "next"]


def test_figures() -> None:
    """The entry `b` is credited once, though two hits match it; the loose precision counts both."""
    task = Task("t", "r", "q", (Relevant("a", ()), Relevant("b", ()), Relevant("c", ())))
    found = score(task, [Answer(name, f"{name}.py") for name in ("x", "b", "b", "a")], strict)
    ideal = 1 + 1 / math.log2(3) + 1 / math.log2(4)
    assert found == pytest.approx(
        {
            "P@10": 0.3,
            "sP@10": 0.2,
            "snDCG@10": (1 / math.log2(3) + 1 / math.log2(5)) / ideal,
            "shit@10": 1.0,
        }
    )
    assert not any(score(task, [], strict).values())


def test_only_the_first_ten_count() -> None:
    task = Task("t", "r", "q", (Relevant("a", ()),))
    assert score(task, [*([Answer("x", "")] * 10), Answer("a", "")], strict)["P@10"] == 0.0


def test_as_a_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    tree = Tree(
        tmp_path / "shop",
        {"cart.py": "def add_item(cart):\n    return total(cart)\n\n\ndef total(cart):\n    return 1\n"},
    )
    Index.build(tmp_path / "shop.db", [tree.root], QUICK)
    rows = [
        {"id": f"t{n}", "repo": repo, "query": "add an item", "relevant": [{"symbol": "add_item", "files": []}]}
        for n, repo in enumerate(["shop", "shop", "elsewhere"])
    ]
    (tmp_path / "tasks.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert len(read_tasks(tmp_path / "tasks.jsonl")) == 3
    arguments = [str(tmp_path), "--tasks", str(tmp_path / "tasks.jsonl"), "--rows", "codelens,knowing,- the walk"]
    monkeypatch.setattr(sys, "argv", ["ablate", *arguments])
    ablate.main()
    out, said = capsys.readouterr()
    lines = out.splitlines()
    assert lines[0].startswith("| tasks, 2 | P@10 |")
    assert [line.split(" | ")[0] for line in lines[2:5]] == ["| codelens", "| - the walk", "| knowing"]
    assert "no elsewhere.db: 1 tasks are not asked" in said


def test_a_row_that_there_is_not_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(sys, "argv", ["ablate", str(tmp_path), "--rows", "magic"])
    with pytest.raises(SystemExit):
        ablate.main()


def test_rows_can_be_named_on_the_command_line() -> None:
    """They are parted by commas there."""
    assert not [row.name for row in ablate.ROWS if "," in row.name]
    assert len({row.name for row in ablate.ROWS}) == len(ablate.ROWS)


def test_a_part_left_out_is_compared_with_its_profile() -> None:
    """Against `knowing` the last row is no difference, against the first row it is one."""
    values = {"codelens": 0.9, "knowing": 0.5, "knowing - focus": 0.5}
    runs = {n: ablate.Run({m: {"a": v, "b": v} for m in ablate.SHOWN}) for n, v in values.items()}
    cells = [line.split(" | ") for line in ablate.table("tasks", runs)][2:]
    assert [row[5].strip() for row in cells] == ["", "-0.4000", "+0.0000"]


@pytest.mark.parametrize("row", ablate.ROWS, ids=lambda row: row.name)
def test_every_row_changes_something(row: ablate.Row) -> None:
    """A row that leaves out what the profile no longer has would measure the profile twice."""
    from codelens.model import SearchOptions
    from codelens.search.profiles import load_profile

    profile = load_profile(SearchOptions(profile=row.profile))
    changed = row.change(profile) != profile or row.fusion != "rrf"
    assert changed == (row.name != row.profile)
