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


def test_hits_of_a_history_say_how_recent_and_how_often_changed(tmp_path: Path, run: Run) -> None:
    code = "def pour(tea):\n    return tea\n"
    past = Past(tmp_path / "kitchen")
    past.commit({"cup.py": code, "jug.py": code.replace("pour", "pour_out")})
    for sip in range(3):
        past.commit({"cup.py": f"{code}SIPS = {sip}\n"})
    command = ("search", "fix the pouring of tea", "--intent", "change", "--json", "--contributions")

    def told() -> dict[str, set[str]]:
        hits = json.loads(run(*command, cwd=past.root).out)["results"]
        return {hit["path"]: {part["source"] for part in hit["contributions"]} for hit in hits}

    run("index", cwd=past.root)
    assert {"recency", "churn"} <= told()["cup.py"]
    churned = json.loads(run(*command, cwd=past.root).out)["results"]
    most = {h["path"]: c["amount"] for h in churned for c in h["contributions"] if c["source"] == "churn"}
    assert most["cup.py"] > most.get("jug.py", 0.0)
    later = str(START + 1000 * DAY)
    named = json.loads(run(*command, "--now", later, cwd=past.root).out)["results"]
    ages = [
        {h["path"]: c for h in hits for c in h["contributions"] if c["source"] == "recency"}["cup.py"]
        for hits in (churned, named)
    ]
    assert ages[1]["amount"] < ages[0]["amount"] / 100
    assert ages[1]["reason"] == "changed 996 days before the present as named"
    (past.root / ".git").rename(tmp_path / "gone")
    run("index", "--rebuild", cwd=past.root)
    assert all(not {"recency", "churn"} & sources for sources in told().values())


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
