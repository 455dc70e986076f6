"""codelens eval make-tasks: what it says, what it takes, and that a wrong word is one line and a hint."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from codelens.evaluation.make_tasks import KINDS
from tests.cli.goldens import GOLDEN
from tests.commands import Run
from tests.evaluation.histories import History


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    history = History(tmp_path / "port")
    history.commit("Begin with the boats", {"boat.py": "def sail():\n    return 1\n"})
    history.commit("Let boats sail twice as far", {"boat.py": "def sail():\n    return 2\n"})
    history.commit("Fix it", {"boat.py": "def sail():\n    return 3\n"})
    return history.top


def test_help(run: Run, golden: Callable[[Path, str], None]) -> None:
    ran = run("eval", "make-tasks", "--help")
    assert ran.code == 0
    golden(GOLDEN / "help" / "eval-make-tasks.txt", ran.out)


def test_make_tasks_reports_what_it_made_and_left_out(run: Run, clone: Path, tmp_path: Path) -> None:
    ran = run("eval", "make-tasks", "--out", "../tasks", cwd=clone)
    assert ran.code == 0
    assert ran.out == ""
    assert "codelens: port: 1 commits, 0 tasks, 0 docs, 1 names, 0 topics, 0 messages, " in ran.err
    assert "codelens: port: 2 commits looked at, 1 kept; left out: 1 too few words\n" in ran.err
    (row,) = map(json.loads, (tmp_path / "tasks/port-commits.jsonl").read_text().splitlines())
    assert row["relevant"] == [{"symbol": "sail", "files": ["boat.py"]}]
    assert run("eval", "make-tasks", str(clone / ".git"), "--out", str(tmp_path / "tasks"), "-q").err == ""


def test_make_tasks_reports_in_json(run: Run, clone: Path, tmp_path: Path) -> None:
    ran = run("eval", "make-tasks", str(clone), "--out", str(tmp_path / "tasks"), "--name", "boats", "--json")
    told = json.loads(ran.out)
    assert told["tasks"] == {**dict.fromkeys(KINDS, 0), "commits": 1, "names": 1}
    assert (told["name"], told["commits"], told["commits_left_out"]) == ("boats", 2, {"too few words": 1})


def test_queries_limits_the_short_queries_of_each_kind(run: Run, tmp_path: Path) -> None:
    history = History(tmp_path / "quay")
    literals = "".join(f'def gate_{n}():\n    return "--option-{n}"\n\n\n' for n in range(30))
    history.commit("Begin with the quay", {"gate.py": literals})
    for asked, made in (([], 15), (["--queries", "7"], 7), (["--queries", "0"], 0)):
        ran = run("eval", "make-tasks", str(history.top), "--out", str(tmp_path / "tasks"), "--json", *asked)
        assert json.loads(ran.out)["tasks"]["literals"] == made


def test_no_tasks_exit_with_1(run: Run, tmp_path: Path) -> None:
    history = History(tmp_path / "notes")
    history.commit("Begin with the notes", {"a.txt": "words\n"})
    ran = run("eval", "make-tasks", str(history.top), "--out", str(tmp_path / "tasks"))
    assert ran.code == 1
    assert ran.err.splitlines()[-1].startswith("hint: ")


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["."], "--out is missing"),
        (["../none", "--out", "../new"], "no such folder"),
        (["..", "--out", "../new"], "is not in a git repository"),
        (["--out", "../new", "--head", "nope"], "no commit 'nope'"),
        (["--out", "../new", "--head=--all"], "no commit '--all'"),
        (["--out", "../new", "--name", "a/b"], "'a/b' cannot be part of a file name"),
        (["--out", "../new", "--commits", "-1"], "at least 0"),
        (["--out", "../new", "--topics", "-1"], "at least 0"),
        (["--out", "../new", "--queries", "-1"], "at least 0"),
        (["--out", "../new", "--max-files", "0"], "at least 1"),
        (["--out", "../full"], "did not write: mine.txt"),
        (["--out", "tasks"], "lies in a git repository"),
        (["../empty", "--out", "../new"], "no commit 'HEAD'"),
    ],
)
def test_invalid_options_are_a_line_and_a_hint(run: Run, clone: Path, arguments: list[str], told: str) -> None:
    (clone.parent / "full").mkdir()
    (clone.parent / "full/mine.txt").write_text("mine")
    History(clone.parent / "empty")
    ran = run("eval", "make-tasks", *arguments, cwd=clone)
    assert ran.code == 2
    error, hint = ran.err.splitlines()
    assert error.startswith("codelens: error: ")
    assert told in error
    assert hint.startswith("hint: ")
    assert not (clone.parent / "new").exists()


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write anywhere")
def test_an_unwritable_folder_is_one_error(run: Run, clone: Path, tmp_path: Path) -> None:
    (tmp_path / "closed").mkdir(mode=0o500)
    ran = run("eval", "make-tasks", "--out", str(tmp_path / "closed"), cwd=clone)
    assert ran.code == 2
    assert "Permission denied" in ran.err
