"""The git history in the output of status and doctor."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from tests.commands import Run
from tests.render.schema import check
from tests.worktree.git_history import DAY, START, Past

pytestmark = pytest.mark.slow


def test_status_and_doctor_say_how_much_is_known_and_why_no_more(own: Path, run: Run) -> None:
    run("index", cwd=own)
    assert "\nhistory     unknown: not a git repository\n" in run("status", cwd=own).out
    assert "less    history of notes: unknown: not a git repository\n" in run("doctor", cwd=own).out
    head = Past(own).commit({})
    run("index", cwd=own)
    said = f"1 commit read, up to {head[:12]}\n"
    assert f"\nhistory     {said}" in run("status", cwd=own).out
    assert f"ok      history of notes: {said}" in run("doctor", cwd=own).out
    record = json.loads(run("status", "--json", cwd=own).out)
    check(record, "status")
    history = {"head": head, "time": START + DAY, "commits": 1, "whole": True, "fault": ""}
    assert record["repositories"][0]["history"] == history


@pytest.fixture
def kitchen(tmp_path: Path, run: Run) -> Past:
    code = "def pour(tea):\n    return tea\n"
    past = Past(tmp_path / "kitchen")
    past.commit({"cup.py": code, "jug.py": code.replace("pour", "pour_out")})
    past.commit({"cup.py": f"{code}SIPS = 3\n"})
    past.git("commit", "--quiet", "--amend", "--message=Stop scalding guests", "--message=Tea was too hot.")
    run("index", cwd=past.root)
    return past


def test_a_hit_says_which_commit_speaks_for_it(kitchen: Past, run: Run) -> None:
    command = ("search", "guests scalding by tea", "--intent", "change", "--json", "--contributions")

    def reasons() -> dict[str, dict[str, str]]:
        hits = json.loads(run(*command, cwd=kitchen.root).out)["results"]
        return {hit["path"]: {part["source"]: part["reason"] for part in hit["contributions"]} for hit in hits}

    name = kitchen.git("rev-parse", "--short=7", "HEAD")
    assert reasons()["cup.py"]["messages"] == f"its file was changed by {name} 'Stop scalding guests', 2020-09-15"
    assert "messages" not in reasons().get("jug.py", {})
    (kitchen.root / ".git").rename(kitchen.root.parent / "gone")
    run("index", "--rebuild", cwd=kitchen.root)
    assert all("messages" not in sources for sources in reasons().values())


def test_past_commits_are_searched_by_their_messages(kitchen: Past, run: Run) -> None:
    second, first = kitchen.git("log", "--format=%H").split()
    found = run("search", "--history", "scalding tea", cwd=kitchen.root)
    assert found.out == f"{second[:12]} 2020-09-15 Stop scalding guests\n"
    record = json.loads(run("search", "--history", "tea m", "--json", cwd=kitchen.root).out)
    check(record, "commits")
    assert [(one["commit"], one["paths"]) for one in record["commits"]] == [
        (first, ["cup.py", "jug.py"]),
        (second, ["cup.py"]),
    ]
    assert run("search", "--history", "sugar", cwd=kitchen.root).code == 1
    empty = run("search", "--history", " ", cwd=kitchen.root)
    assert (empty.code, empty.err) == (1, "codelens: note: the query is empty\n")


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        (["tea", "cup.py"], "cannot be combined with PATH"),
        (["tea", "-l"], "cannot be combined with --files"),
        (["tea", "--mode", "exact"], "cannot be combined with --mode"),
        (["tea lang:py"], "takes words alone"),
        (["tea -sugar"], "takes words alone"),
        (["/t.a/"], "takes words alone"),
        (["tea", "-m", "0"], "must be at least 1"),
        (["tea", "--offset", "-1"], "must be at least 0"),
    ],
)
def test_a_list_of_commits_refuses_what_it_does_not_do(kitchen: Past, run: Run, more: list[str], expected: str) -> None:
    refused = run("search", "--history", *more, cwd=kitchen.root)
    assert (refused.code, expected in refused.err, refused.out) == (2, True, "")


@pytest.mark.parametrize("command", [("search",), ("search", "--history"), ("search", "--contributions", "--json")])
def test_odd_words_and_dates_fail_nowhere(kitchen: Past, run: Run, command: tuple[str, ...]) -> None:
    """A word that Python takes as one and SQLite splits, and a time that no calendar reaches."""
    kitchen.commit({"cup.py": "def pour(tea):\n    return 2 * tea\n"})
    kitchen.recommit("Warm ab\u19b0cd guests", 99_999_999_999_999)
    run("index", cwd=kitchen.root)
    answer = run(*command, "warm ab\u19b0cd tea", cwd=kitchen.root)
    assert (answer.code, answer.err.count("error")) == (0, 0)
    if "--history" in command:
        assert "????-??-?? Warm ab\u19b0cd guests" in answer.out


def test_an_index_without_history_says_so(own: Path, run: Run) -> None:
    run("index", cwd=own)
    answer = run("search", "--history", "tea", cwd=own)
    assert (answer.code, "the index has no messages of commits" in answer.err) == (1, True)


def test_knowing_adds_a_little_for_recently_changed_lines(tmp_path: Path, run: Run) -> None:
    past = Past(tmp_path / "kitchen")
    past.commit({"cup.py": "def pour(tea):\n    return tea\n", "jug.py": "def pour_out(tea):\n    return tea\n"})
    old = "def pour(tea):\n    return tea\n"
    for sip in range(3):
        past.commit({"cup.py": f"{old}\n\ndef pour_twice(tea):\n    return tea * {sip}\n"})
    command = ("search", "pour tea", "--profile", "knowing", "--json", "--contributions")

    def told(*more: str) -> dict[str, list[tuple[float, str]]]:
        hits = json.loads(run(*command, *more, cwd=past.root).out)["results"]
        parts = {hit["name"]: hit["contributions"] for hit in hits}
        return {
            name: [(c["amount"], c["reason"]) for c in all if c["source"] == "commits"] for name, all in parts.items()
        }

    run("index", cwd=past.root)
    three = (pytest.approx(0.05 * math.exp(-0.005 * 3)), "its lines were changed 3 days before the indexed commit")
    assert told() == {
        "pour": [three],  # though its file was changed on the day
        "pour_twice": [(pytest.approx(0.05), "its lines were changed on the day of the indexed commit")],
        "pour_out": [three],
    }
    later = told("--now", str(START + 204 * DAY))
    assert later["pour_twice"] == [
        (pytest.approx(0.05 * math.exp(-0.005 * 200)), "its lines were changed 200 days before the present as named")
    ]
    (past.root / "cup.py").write_text(f"{old}\n\ndef pour_twice(tea):\n    return tea\n")
    run("index", cwd=past.root)
    edited = (pytest.approx(0.05), "its file was changed on the day of the indexed commit")
    assert (told()["pour"], told()["pour_out"]) == ([edited], [three])  # its lines are not those of the commit
    (past.root / ".git").rename(tmp_path / "gone")
    run("index", "--rebuild", cwd=past.root)
    assert told() == {"pour": [], "pour_twice": [], "pour_out": []}
