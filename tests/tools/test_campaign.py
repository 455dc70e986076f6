"""The runner of campaigns, and a few attempts of each kind."""

from __future__ import annotations

import json
import random
import sys
from pathlib import Path

import pytest

from tools.campaign import Campaign, Report, expect, main
from tools.faults import beside, disk, gitconfig, gitfolder, trees
from tools.fuzz import mcp, readers


def odd(count: int, seed: int, folder: Path, report: Report) -> None:
    for number in range(seed, seed + count):
        with report.attempt(number):
            expect(number % 5, f"{number} is a multiple of five")
            (folder / str(random.Random(number).random())).write_text("")


ODD = (Campaign("odd", odd, 7, "numbers"),)


def test_a_failure_comes_with_the_command_that_repeats_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main("tools.odd", ODD, ["--out", str(tmp_path / "r.json")]) == 1
    told = json.loads((tmp_path / "r.json").read_text(encoding="utf-8"))
    assert {"python", "sqlite", "codelens"} <= set(told["versions"])
    assert len(told["commit"]) >= 40
    (row,) = told["campaigns"]
    assert (row["tried"], row["failed"]) == (7, 1)
    repeat = "python -m tools.odd --only odd --count 1 --seed 5"
    assert row["failures"] == [{"seed": 5, "text": "5 is a multiple of five", "command": repeat}]
    assert repeat in capsys.readouterr().out
    assert main("tools.odd", ODD, repeat.split()[3:]) == 1
    assert main("tools.odd", ODD, ["--count", "1"]) == 0


def test_a_campaign_that_breaks_off_is_a_failure() -> None:
    broken = Campaign("broken", lambda count, seed, folder, report: int("x"), 1, "")
    assert main("tools.odd", (broken,), []) == 1


GIT_FOLDERS = ("pipe .git/config", "pipe blob", "diff.x.textconv of a submodule", "link .git/packed-refs")


@pytest.mark.skipif(sys.platform == "win32", reason="makes pipes")
@pytest.mark.parametrize(("effect", "way"), [(e, w) for e, w in gitfolder.WAYS if w.name in GIT_FOLDERS])
def test_a_few_git_folders(effect: str, way: gitconfig.Way, tmp_path: Path) -> None:
    commands = [("index",), ("model", "train", "--steps", "1")]
    report = Report("git-folder")
    gitfolder.try_way(tmp_path / "1", effect, way, report, commands)
    assert report.counts["not proven"] == 0


def test_git_folders_have_names_of_their_own() -> None:
    names = [way.name for _, way in gitfolder.WAYS]
    assert len(names) == len(set(names))
    assert set(GIT_FOLDERS) <= set(names)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="forks, preloads, makes files of Unix")
@pytest.mark.parametrize(
    ("campaign", "count"),
    [
        (beside.CAMPAIGNS[1], 1),
        (disk.CAMPAIGNS[1], 1),
        (disk.CAMPAIGNS[3], 2),
        *((c, 30) for c in trees.CAMPAIGNS),
        *((c, 60) for c in readers.CAMPAIGNS),
        (mcp.CAMPAIGNS[0], 30),
        (mcp.CAMPAIGNS[1], 3),
    ],
    ids=lambda value: value.name if isinstance(value, Campaign) else "",
)
def test_a_few_of_each(campaign: Campaign, count: int, tmp_path: Path) -> None:
    report = Report(campaign.name)
    campaign.run(count, 1, tmp_path, report)
    assert report.failures == []
    assert report.tried >= count or report.notes
