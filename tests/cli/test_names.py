"""File names that would break a line or speak to a terminal: quoted as git does in lines, as they are before a NUL byte."""

from __future__ import annotations

import csv
import io
import json
import os
import subprocess
from pathlib import Path

import pytest

from codelens.render.paths import quote_path
from tests.commands import Run

pytestmark = pytest.mark.skipif(os.name == "nt", reason="no such names")

NAMES = (
    *("esc\x1b[31mred.py", "two\nlines.py", "a\ttab.py", 'a "quote".py', "back\\slash.py", "bell\x07\x7f.py"),
    *("plain name.py", "größe.py", "日本.py"),
)


@pytest.fixture
def names(tmp_path: Path, run: Run) -> Path:
    for name in NAMES:
        (tmp_path / name).write_text("def wanted():\n    pass\n\n\ndef other():\n    return wanted()\n")
    (tmp_path / os.fsdecode(b"n\xff.py")).write_text("def wanted():\n    pass\n")
    (tmp_path / "left\x1b[31m\tout.bin").write_bytes(b"\0")
    assert run("index", "-q", "--no-vector", cwd=tmp_path).code == 0
    return tmp_path


def test_names_are_quoted_as_git_quotes_them(names: Path) -> None:
    subprocess.run(["git", "init", "-q"], cwd=names, check=True)
    command = ["git", "-c", "core.quotePath=false", "ls-files", "--others", "--exclude=.codelens"]
    told = os.fsdecode(subprocess.run(command, cwd=names, check=True, capture_output=True).stdout)
    assert {quote_path(name) for name in (p.name for p in names.iterdir()) if name[0] != "."} == set(told.splitlines())


@pytest.mark.slow
@pytest.mark.parametrize(
    "command",
    [
        "search -l wanted",
        "search -c wanted",
        "search -L nothing-here",
        "search --vimgrep wanted",
        "search wanted",
        "search -C1 wanted",
        "search -o wanted",
        "search --color always wanted",
        "search --format {path} wanted",
        "search --tsv wanted",
        "search --markdown wanted",
        "search --path-style absolute -l wanted",
        "files -l py",
        "why wanted",
        "refs wanted",
        "map",
        "index --dry-run",
        "status --skipped",
        "test-scope --format paths wanted",
    ],
)
def test_no_name_breaks_a_line_or_speaks_to_a_terminal(command: str, names: Path, run: Run) -> None:
    ran = run(*command.split(), cwd=names)
    text = ran.out.replace("\x1b[0m", "").replace("\x1b[35m", "").replace("\x1b[32m", "").replace("\x1b[1;31m", "")
    assert set(text) & {chr(n) for n in (*range(9), *range(11, 32), 127)} == set()
    assert "\nlines.py" not in text


@pytest.mark.slow
@pytest.mark.parametrize("command", ["-l wanted", "-c wanted", "-L nothing-here", "--vimgrep wanted"])
def test_ordinary_names_stay_as_they_are(command: str, names: Path, run: Run) -> None:
    paths = {line.partition(":")[0] for line in run("search", *command.split(), cwd=names).out.splitlines()}
    assert {"plain name.py", "größe.py", "日本.py", os.fsdecode(b"n\xff.py")} <= paths
    assert r'"esc\033[31mred.py"' in paths
    assert r'"two\nlines.py"' in paths


@pytest.mark.slow
@pytest.mark.parametrize("command", ["-l -0 wanted", "-L -0 nothing-here", r"--format {path}\0 wanted"])
def test_before_a_nul_byte_names_are_raw(command: str, names: Path, run: Run) -> None:
    found = set(run("search", "-m", "100", *command.split(), cwd=names).out.split("\0")) - {""}
    assert {os.fsdecode(b"n\xff.py"), *NAMES} == found


def test_csv_parts_its_rows(names: Path, run: Run) -> None:
    rows = list(csv.reader(io.StringIO(run("search", "-m", "100", "--csv", "wanted", cwd=names).out)))
    assert {len(row) for row in rows} == {len(rows[0])}
    at = rows[0].index("path")
    assert {quote_path(name) for name in NAMES} <= {row[at] for row in rows}


def test_json_needs_no_quotes(names: Path, run: Run) -> None:
    told = json.loads(run("search", "-m", "100", "--json", "wanted", cwd=names).out)
    assert set(NAMES) <= {hit["path"] for hit in told["results"]}
