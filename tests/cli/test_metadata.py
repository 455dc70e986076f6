"""--metadata and --meta on the command line, and the message when no channel can run."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.commands import Run

TABLE = "path,category,stars\nnotes/auth.py,login,12\nnotes/markup.py,text,\n"


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "table.csv"
    path.write_text(TABLE)
    return path


def test_metadata_applies_to_one_search(table: Path, indexed: Path, run: Run) -> None:
    asked = ("search", "password", "--metadata", str(table), "--format", "{path}", "--root-scope")
    found = set(run(*asked, "--meta", "category=login", cwd=indexed).out.split())
    assert {Path(path).name for path in found} == {"auth.py"}
    assert set(run(*asked, "--meta", "stars>=12", cwd=indexed).out.split()) == found
    assert run(*asked, "--meta", "stars>12", cwd=indexed).code == 1
    why = run("why", "password meta:category=login", "--metadata", str(table), "--check", cwd=indexed)
    assert why.out.endswith("all equal\n")


def test_why_suggests_a_remedy_with_the_metadata_file(table: Path, indexed: Path, run: Run) -> None:
    ran = run("why", "password", "read_form", "--metadata", str(table), "--meta", "category=login", cwd=indexed)
    assert (ran.code, f"--metadata '{table}'" in ran.out) == (1, "try:" in ran.out)


def test_a_bad_row_is_one_line(table: Path, indexed: Path, run: Run) -> None:
    table.write_text(TABLE + "x.py,cli,lots\n")
    ran = run("search", "password meta:stars>1", "--metadata", str(table), cwd=indexed)
    assert (ran.code, ran.out) == (2, "")
    error, hint = ran.err.splitlines()
    assert error == f"codelens: error: {table}: line 4: stars must be a number from 0 on, not 'lots'"
    assert hint.startswith("hint: a row for each path or repository")


def test_metadata_may_be_set_in_the_environment(
    table: Path, indexed: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CODELENS_METADATA", str(table))
    ran = run("search", "password meta:category=login", "-l", cwd=indexed)
    assert [Path(line).name for line in ran.out.splitlines()] == ["auth.py"]


def test_a_query_that_no_channel_can_run_is_an_error(large: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CODELENS_QUERY_SECONDS", "1e-9")
    asked = ("widget", "--profile", "marketplace", "--mode", "exact")
    ran = run("search", *asked, "--json", cwd=large)
    record = json.loads(ran.out)
    assert (ran.code, record["exit_code"], record["results"]) == (2, 2, [])
    assert [notice["code"] for notice in record["notices"]] == ["nothing-asked", "out-of-time"]
    assert ran.err.startswith("codelens: error: neither words nor vectors could be searched: the result is empty\n")
    assert run("why", *asked, cwd=large).code == 2
