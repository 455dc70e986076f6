"""The benchmark runs on a tiny tree and tells of it. What it measures is of no interest here."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from codelens.config import Settings
from codelens.index import Index
from tests.cli.lamps import FILES, write_lamps
from tools.speed.peers import FOUND_BY, INSTALL
from tools.speed.questions import draw
from tools.speed.tables import HEAD, comparison, draw_growth, table

ROOT = Path(__file__).parents[2]
SEARCHED = {f"{what}_{unit}" for what in ("name", "substring", "sentence") for unit in ("ms", "cpu_ms")}


def bench(*arguments: object, path: str = os.environ["PATH"]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "tools.speed", *map(str, arguments)],
        env=os.environ | {"PYTHONPATH": str(ROOT), "PATH": path},
        capture_output=True,
        text=True,
        cwd=ROOT,
    )


CLOCK = '''\
def count_hours(lamp):
    """Count the hours until the next lamp is lit."""
    return 3
'''


def write_tree(folder: Path) -> Path:
    """The lamps, and a sentence that somebody would ask."""
    (write_lamps(folder) / "clock.py").write_text(CLOCK)
    return folder


def cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip("|").split("|")]


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="wait4 is not there")
def test_a_tiny_tree(tmp_path: Path) -> None:
    """With the tools that this machine has; codelens and git are always there."""
    tree, out = write_tree(tmp_path / "tree"), tmp_path / "figures.json"
    ran = bench(tree, "--repeat", "1", "--out", out)
    assert (ran.returncode, ran.stderr) == (0, "")
    result = json.loads(out.read_text())
    assert {"commit", "date", "machine"} < set(result)
    (measured,) = result["trees"]
    assert (measured["name"], measured["files"]) == ("tree", 4)
    assert measured["questions"]["sentence"] == ["Count the hours until the next lamp is lit"]
    tools, missing = measured["tools"], measured["not_installed"]
    assert {*tools, *missing} == set(FOUND_BY)
    assert {"codelens", "git status"} <= set(tools)
    own = tools["codelens"]["figures"]
    assert {"index_s", "index_cpu_s", "peak_mb", "index_mb", "index_ratio", "no_op_s", "ten_files_s", *SEARCHED} < set(
        own
    )
    assert {"warm_name_ms", "warm_sentence_ms", "warm_p50_ms", "warm_p95_ms", "version_cpu_ms"} < set(own)
    assert all(value > 0 for value in own.values()), "every figure was taken"
    assert set(tools["git status"]["figures"]) == {"no_op_s", "no_op_cpu_s"}
    title, empty, head, _, *rows = ran.stdout.splitlines()
    assert (title, empty, cells(head)) == ("tree: 0.0 MB, of which 4 files of 0.0 MB are indexed", "", list(HEAD))
    assert [cells(row)[0].partition(" ")[0] for row in rows[: len(tools)]] == [name.partition(" ")[0] for name in tools]
    assert [line for line in rows if line.startswith("not installed")] == [
        f"not installed: {name} ({INSTALL[name]})" for name in missing
    ]
    files = {file.relative_to(tree).as_posix() for file in tree.rglob("*") if file.is_file()}
    assert files == {*FILES, "clock.py"}, "it works on a copy"
    assert all((tree / path).read_text() == text for path, text in FILES.items())

    compared = bench("--compare", out, out)
    assert compared.returncode == 0
    assert len(re.findall(r" 1\.00 ×$", compared.stdout, re.MULTILINE)) == sum(
        value > 0 for t in tools.values() for value in t["figures"].values()
    )


@pytest.mark.parametrize(("arguments", "told"), [(["nowhere"], "not a folder: nowhere"), ([], "name a folder")])
def test_a_missing_tree_is_refused(arguments: list[str], told: str) -> None:
    ran = bench(*arguments)
    assert (ran.returncode, ran.stdout) == (2, "")
    assert told in ran.stderr


def test_the_same_tree_asks_the_same(tmp_path: Path) -> None:
    """Whatever lies around it."""
    drawn = []
    for place in (tmp_path / "here", tmp_path / "there" / "below"):
        tree = write_tree(place)
        Index.build(place.with_suffix(".db"), [tree], Settings())
        drawn.append(draw(place.with_suffix(".db"), 2))
    assert drawn[0] == drawn[1]
    assert all(name.isidentifier() for name in drawn[0]["name"])
    text = "\n".join([*FILES.values(), CLOCK])
    assert all(part in text for shape in ("name", "substring") for part in drawn[0][shape])


def figures(**values: float) -> dict[str, object]:
    return {"version": "Tool 1.2.3, of today", "note": "", "figures": values}


def measured(megabytes: float, **tools: object) -> dict[str, object]:
    return {
        "name": "t",
        "files": 2,
        "tree_mb": megabytes,
        "source_mb": megabytes,
        "questions": {},
        "tools": tools,
        "not_installed": {"x": "get x"},
    }


def test_a_row_of_the_table() -> None:
    """A dash stands for a shape that a tool does not answer; what it does not do at all is empty."""
    own = figures(
        index_s=2.5,
        index_cpu_s=4.0,
        peak_mb=100.4,
        index_ratio=1.5,
        no_op_s=0.0625,
        no_op_cpu_s=0.05,
        name_ms=9,
        name_cpu_ms=8,
    )
    _, _, _, _, first, second, _, _, missing = table(measured(2.0, codelens=own, other=figures(warm_name_ms=1250.0)))
    assert cells(first)[:6] == ["codelens 1.2.3", "2.50 (4.00)", "100", "1.50", "0.062 (0.050)", ""]
    assert cells(first)[6] == "9 · – · – (8 · – · –)"
    assert cells(second)[1:] == ["", "", "", "", "", "", "1,250.0 · – · –", "– / –"[:0]]
    assert missing == "not installed: x (get x)"


def test_ratios_of_two_results() -> None:
    machine = {"processor": "p", "cores": 2, "loop_s": 0.2}
    results = [
        {"commit": "c" * 40, "date": "d", "machine": machine, "trees": [measured(2.0, codelens=figures(**values))]}
        for values in ({"index_s": 4.0, "peak_mb": 2.0}, {"index_s": 1.0, "no_op_s": 5.0})
    ]
    assert [line.split() for line in comparison(*results)][2:] == [
        ["t", "codelens", "index_s", "4.00", "1.00", "0.25", "×"]
    ]


@pytest.mark.slow
def test_growth_is_drawn(tmp_path: Path) -> None:
    """What only one tool has, and what none has, are no fault."""
    trees = [
        measured(size, codelens=figures(index_s=size, index_mb=size), other=figures(index_s=1.0)) for size in (1.0, 5.0)
    ]
    draw_growth(trees, tmp_path / "growth.svg")
    drawn = (tmp_path / "growth.svg").read_text()
    assert all(f"<!-- {label} -->" in drawn for label in ("codelens", "other", "index, s", "peak memory, MB"))
