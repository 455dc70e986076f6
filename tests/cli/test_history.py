"""What status and doctor say of git's history."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cli.conftest import Run
from tests.render.test_formats import check
from tests.worktree.pasts import DAY, START, Past


def test_status_and_doctor_say_how_much_is_known_and_why_no_more(own: Path, run: Run) -> None:
    run("index", cwd=own)
    assert "\nhistory     unknown: no git repository\n" in run("status", cwd=own).out
    assert "less    history of notes: unknown: no git repository\n" in run("doctor", cwd=own).out
    head = Past(own).commit({})
    run("index", cwd=own)
    said = f"1 commit read, up to {head[:12]}\n"
    assert f"\nhistory     {said}" in run("status", cwd=own).out
    assert f"ok      history of notes: {said}" in run("doctor", cwd=own).out
    record = json.loads(run("status", "--json", cwd=own).out)
    check(record, "status")
    history = {"head": head, "time": START + DAY, "commits": 1, "whole": True, "fault": ""}
    assert record["repositories"][0]["history"] == history
