"""The benchmark runs on a tiny tree and tells of it. What it measures is of no interest here."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.lamps import FILES, write_lamps
from tools.bench.speed import HEAD, Cost, Tool, table

ROOT = Path(__file__).parents[2]


def cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip("|").split("|")]


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="wait4 is not there")
def test_a_tiny_tree(tmp_path: Path) -> None:
    tree = write_lamps(tmp_path / "tree")
    (tree / "blob.bin").write_bytes(bytes(range(256)))
    (tmp_path / "queries").write_text("light a lamp\nno_such_name_anywhere\n")
    ran = subprocess.run(
        [sys.executable, "-m", "tools.bench.speed", str(tree), "--queries", str(tmp_path / "queries"), "--repeat", "1"],
        env=os.environ | {"PYTHONPATH": str(ROOT), "PATH": str(tmp_path)},  # no other tools: they are not what is tested
        capture_output=True,
        text=True,
        cwd=tmp_path,
    )  # fmt: skip
    assert (ran.returncode, ran.stderr) == (0, "")
    title, empty, head, rule, row, *rest = ran.stdout.splitlines()
    assert re.fullmatch(
        rf"tree: 3 files indexed, 1 skipped, 0\.0 MB, \d+ units; 2 queries, {os.cpu_count()} cores", title
    )
    assert (empty, cells(head)) == ("", list(HEAD))
    assert set(rule) == set("|-:")
    assert cells(row)[0] == "codelens"
    assert len(cells(row)) == len(HEAD)
    assert all(re.fullmatch(r"\d+(\.\d+)?", cell) for cell in cells(row)[1:]), "every figure was taken"
    assert rest == ["", "not installed here: universal-ctags, cindex, ripgrep"]
    files = {file.relative_to(tree).as_posix() for file in tree.rglob("*") if file.is_file()}
    assert files == {*FILES, "blob.bin"}, "it works on a copy"
    assert all((tree / path).read_text() == text for path, text in FILES.items())


def test_a_missing_tree_is_refused(tmp_path: Path) -> None:
    ran = subprocess.run(
        [sys.executable, "-m", "tools.bench.speed", str(tmp_path / "nowhere")],
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )
    assert (ran.returncode, ran.stdout) == (2, "")
    assert "not a folder" in ran.stderr


def test_a_row_of_the_table() -> None:
    """A dash stands for what a tool cannot do; the query time is the median of all queries."""
    codelens = Tool(
        "codelens", Cost(2.5, 4.0, 100_000_000, 200_000_000), 3_000_000, Cost(9, 0.25), Cost(9, 0.5),
        [Cost(9, seconds) for seconds in (0.125, 0.5, 0.25)],
    )  # fmt: skip
    *_, first, second = table([codelens, Tool("other", searches=[Cost(9, 0.001)])], source_bytes=2_000_000)
    assert cells(first) == ["codelens", "2.5", "4.0", "100", "200", "3.0", "1.50", "0.25", "0.50", "250"]
    assert cells(second) == ["other", *"--------", "1"]
