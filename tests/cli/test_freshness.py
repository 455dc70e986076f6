"""Answers from an index that is behind its trees: what is said, and when the index is brought up to date first."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.commands import Run
from tests.writable import writable

BEHIND = "codelens: warning: files differ from the index: 1 changed (notes/auth.py); `codelens index` updates it\n"


@pytest.fixture
def stale(own: Path, run: Run) -> Path:
    """An indexed tree in which a file was edited in place since."""
    assert run("index", "-q", cwd=own).code == 0
    with (own / "notes/auth.py").open("a") as file:
        file.write("\n\ndef totally_new_fn():\n    pass\n")
    return own


def set_pace(tree: Path, pace: str) -> None:
    """What runs are said to take, so that no test depends on how fast this machine is."""
    with writable(tree / ".codelens/index.db") as connection:
        connection.execute("UPDATE meta SET value = ? WHERE key = 'pace'", (pace,)).fetchall()


@pytest.mark.parametrize(
    "command",
    [
        ["search", "totally_new_fn"],
        ["files", "totally_new_fn"],
        ["why", "password"],
        ["symbols", "notes/__main__.py"],
        ["refs", "hash_password"],
        ["callers", "hash_password"],
        ["map"],
        ["context", "lock an account"],
        ["test-scope", "hash_password"],
        ["graph", "export"],
    ],
    ids=lambda command: command[0],
)
def test_every_answer_says_once_that_the_index_is_behind(command: list[str], stale: Path, run: Run) -> None:
    assert run(*command, cwd=stale).err.count(BEHIND) == 1
    assert "differ" not in run(*command, "-q", cwd=stale).err
    run("index", "-q", cwd=stale)
    assert "differ" not in run(*command, cwd=stale).err


def test_an_unknown_name_comes_with_the_warning_that_files_changed(stale: Path, run: Run) -> None:
    ran = run("callers", "totally_new_fn", cwd=stale)
    assert ran.code == 2
    assert BEHIND in ran.err


def test_the_warning_counts_and_names_a_few(stale: Path, run: Run) -> None:
    for name in ("a", "b", "c"):
        (stale / f"notes/new_{name}.py").write_text("pass\n")
    (stale / "notes/store.py").unlink()
    shutil.copytree(stale / "tests", stale / "more")
    said = "1 changed, 4 new, 1 deleted (notes/auth.py, more/, notes/new_a.py, …); `codelens index` updates it\n"
    assert said in run("search", "password", cwd=stale).err


def test_json_always_has_the_state_of_the_tree(own: Path, run: Run) -> None:
    run("index", "-q", cwd=own)

    def tree(*command: str) -> dict[str, object]:
        found = json.loads(run(*command, cwd=own).out)["index"]
        assert found["indexed_at"].endswith("Z")
        return dict(found["repositories"][0]["tree"])

    before = tree("search", "password", "--json")
    assert before["state"] == "fresh"
    assert before["checked"] == before["files"] == 15
    (own / "notes/auth.py").unlink()
    for command in (["search", "password", "--json", "-q"], ["why", "password", "--json"], ["map", "--json"]):
        if "-q" not in command:
            assert tree(*command)["deleted"] == ["notes/auth.py"], command
    assert tree("search", "nothing_of_the_sort_here", "--json")["state"] == "changed"


def test_an_answer_is_the_same_twice(stale: Path, run: Run) -> None:
    once = run("search", "password", "--json", cwd=stale)
    assert run("search", "password", "--json", cwd=stale) == once


def finds_it(tree: Path, run: Run) -> bool:
    return "def totally_new_fn" in run("search", "totally_new_fn", cwd=tree).out


@pytest.mark.parametrize(
    ("setting", "pace", "found"),
    [
        ("auto", "0.2 0.01", True),
        ("auto", "1.5 0.01", False),
        ("auto", "0.2 0.9", False),
        ("auto", "", False),
        ("never", "0.2 0.01", False),
    ],
)
def test_refresh_auto_updates_the_index_first(
    setting: str, pace: str, found: bool, stale: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CODELENS_REFRESH", setting)
    set_pace(stale, pace)
    index = (stale / ".codelens/index.db").read_bytes()
    assert finds_it(stale, run) is found
    assert ((stale / ".codelens/index.db").read_bytes() != index) is found


def test_a_project_may_not_set_refresh(stale: Path, run: Run) -> None:
    set_pace(stale, "0.2 0.01")
    (stale / ".codelens.toml").write_text('refresh = "auto"\n')
    assert not finds_it(stale, run)
    assert "a project may not set 'refresh'" in run("search", "password", cwd=stale).err


def test_a_fresh_index_is_not_written(own: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    run("index", "-q", cwd=own)
    set_pace(own, "0.0 0.0")
    monkeypatch.setenv("CODELENS_REFRESH", "auto")
    index = (own / ".codelens/index.db").read_bytes()
    run("search", "password", cwd=own)
    assert (own / ".codelens/index.db").read_bytes() == index


def test_a_failed_update_is_noted_and_the_search_answers(
    stale: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_pace(stale, "0.2 0.01")
    monkeypatch.setenv("CODELENS_REFRESH", "auto")
    (stale / ".codelens/index.db.lock").write_text("somebody's own words, which are no number of a process\n")
    ran = run("search", "hash_password", cwd=stale)
    assert ran.code == 0
    assert "note: the index was not refreshed: " in ran.err
    assert BEHIND in ran.err


def test_a_missing_tree_is_a_warning(own: Path, run: Run, tmp_path: Path) -> None:
    index = str(tmp_path / "elsewhere.db")
    run("index", "-q", "--db", index, cwd=own)
    own.rename(own.with_name("moved"))
    err = run("search", "hash_password", "--db", index, cwd=tmp_path).err
    assert err == f"codelens: warning: {own} is gone; the answer is from its index\n"


def test_people_are_told_that_not_everything_was_checked(own: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    run("index", "-q", cwd=own)
    with writable(own / ".codelens/index.db") as connection:
        connection.execute("UPDATE meta SET value = substr(value, 1, 200) WHERE key LIKE 'times:%'").fetchall()
    assert run("search", "password", cwd=own).err == ""
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    told = run("search", "password", cwd=own).err
    assert " files, and none has changed; the index was updated " in told
