"""The list of a fleet as people write it, and the state of what it names."""

from __future__ import annotations

import itertools
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from codelens.errors import UsageError
from codelens.fleet.sources import FleetSource, check_source, provide_folder, read_fleet
from tests.fleet.clones import clone, git

TOML = """
[[repository]]
path = "clones/shop"
group = "payments"
stars = 5
since = 2020-01-02

[[repository]]
name = "tools/lint"
url = "https://example.org/lint.git"
ref = "v1"
"""
LINES = '{"path": "clones/shop", "team": {"lead": "a"}}\n\n{"url": "git@example.org:org/lint.git"}\n'


def test_a_toml_file_lists_repositories_with_metadata(tmp_path: Path) -> None:
    (tmp_path / "fleet.toml").write_text(TOML)
    assert read_fleet(tmp_path / "fleet.toml") == [
        FleetSource(
            "shop", str(tmp_path / "clones/shop"), group="payments", metadata={"stars": 5, "since": "2020-01-02"}
        ),
        FleetSource("tools/lint", url="https://example.org/lint.git", ref="v1"),
    ]


def test_lines_of_json_list_repositories(tmp_path: Path) -> None:
    (tmp_path / "fleet.jsonl").write_text(LINES)
    assert read_fleet(tmp_path / "fleet.jsonl") == [
        FleetSource("shop", str(tmp_path / "clones/shop"), metadata={"team": {"lead": "a"}}),
        FleetSource("lint", url="git@example.org:org/lint.git"),
    ]


def test_a_folder_of_clones_is_a_list(tmp_path: Path) -> None:
    for name in ("b", "a", ".git"):
        (tmp_path / name).mkdir()
    (tmp_path / "README").write_text("no repository")
    assert [source.name for source in read_fleet(tmp_path)] == ["a", "b"]


FAULTS: dict[str, tuple[str, bytes, str]] = {
    "neither": ("f.toml", b'[[repository]]\nname = "a"', "f.toml, repository 1: neither path nor url"),
    "both": ("f.jsonl", b'{"path": "a", "url": "https://h/a"}', "f.jsonl, line 1: both path and url"),
    "twice": ("f.jsonl", b'{"path": "a"}\n{"path": "./a/", "name": "b"}', "is listed twice"),
    "clash": ("f.jsonl", b'{"path": "x/a"}\n{"url": "https://h/a.git"}', "are both named 'a'"),
    "no text": ("f.toml", b"\xff\xfe", "byte 0: not UTF-8"),
    "no toml": ("f.toml", b"[[repository", "is not TOML"),
    "no json": ("f.jsonl", b'{"path": "a"}\nb', "line 2 is not JSON"),
    "no table": ("f.jsonl", b'["a"]', "line 1: not a table"),
    "other table": ("f.toml", b'[repositories]\npath = "a"', "unexpected 'repositories'"),
    "one table": ("f.toml", b'[repository]\npath = "a"', "unexpected 'repository'"),
    "number": ("f.jsonl", b'{"path": 3}', "path must be a string"),
    "empty": ("f.jsonl", b'{"path": ""}', "path must be a string"),
    "no rows": ("f.toml", b"", "lists no repositories"),
    "program": ("f.jsonl", b'{"url": "ext::sh -c id"}', "is not a URL that git may use"),
    "git": ("f.jsonl", b'{"url": "git://h/a"}', "is not a URL that git may use"),
    "option": ("f.jsonl", b'{"url": "--upload-pack=id"}', "is not a URL that git may use"),
    "ref": ("f.jsonl", b'{"path": "a", "ref": "--output=x"}', "'--output=x' is not a branch"),
    "password": ("f.jsonl", b'{"url": "https://me:secret@h/a"}', "the URL contains a password"),
    "name": ("f.jsonl", b'{"path": "a", "name": "../b"}', "'../b' cannot be a name"),
    "control": ("f.jsonl", b'{"path": "a", "name": "b\\u001b[2J"}', "cannot be a name"),
    "root": ("f.jsonl", b'{"path": "/"}', "'' cannot be a name"),
    "missing": ("other.toml", b"", "no such file or folder"),
}


@pytest.mark.parametrize("case", FAULTS)
def test_a_fault_in_a_list_is_named_with_its_place_and_a_hint(case: str, tmp_path: Path) -> None:
    name, content, expected = FAULTS[case]
    (tmp_path / name.replace("other", "f")).write_bytes(content)
    with pytest.raises(UsageError) as told:
        read_fleet(tmp_path / name)
    assert expected in str(told.value)
    assert "secret" not in str(told.value)
    assert "\n" not in str(told.value)


@pytest.mark.parametrize("kind", ["plain", "git"])
def test_each_change_of_a_tree_gives_another_state(kind: str, tmp_path: Path) -> None:
    clone(tmp_path / "a", is_git=kind == "git")
    source = FleetSource("a", str(tmp_path / "a"))

    def touch() -> None:
        os.utime(tmp_path / "a/a.py", ns=(1, 1))

    changes: list[Callable[[], object]] = [
        lambda: (tmp_path / "a/new.py").write_text("x = 1"),
        lambda: (tmp_path / "a/new.py").rename(tmp_path / "a/newer.py"),
        lambda: (tmp_path / "a/newer.py").unlink(),
        lambda: (tmp_path / "a/a.py").write_text("def other_text(): pass"),
        touch,
    ]
    if kind == "git":
        changes.append(lambda: git(tmp_path / "a", "commit", "--allow-empty", "-m", "again"))
    states = [check_source(source).state]
    for change in changes:
        assert check_source(source).state == states[-1]
        change()
        states.append(check_source(source).state)
    assert len(set(states) - {states[0]}) >= len(changes) - 1  # the file that came and went leaves no trace
    assert all(one != other for one, other in itertools.pairwise(states))


def test_the_files_of_codelens_and_git_are_no_part_of_a_state(tmp_path: Path) -> None:
    clone(tmp_path / "a")
    source = FleetSource("a", str(tmp_path / "a"))
    before = check_source(source)
    (tmp_path / "a/.codelens").mkdir()
    (tmp_path / "a/.codelens/index.db").write_text("")
    (tmp_path / "a/.git/note").write_text("")
    assert check_source(source) == before
    assert before.commit == git(tmp_path / "a", "rev-parse", "HEAD")


def test_a_ref_names_the_files_of_a_commit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    clone(tmp_path / "a")
    git(tmp_path / "a", "tag", "v1")
    (tmp_path / "a/later.py").write_text("later = 1\n")
    git(tmp_path / "a", "add", "--all")
    git(tmp_path / "a", "commit", "--quiet", "-m", "later")
    git(tmp_path, "clone", "--quiet", "--bare", str(tmp_path / "a"), str(tmp_path / "bare.git"))
    for place, ref, files in (("a", "v1", 1), ("bare.git", "v1", 1), ("bare.git", "", 2)):
        source = FleetSource("a", str(tmp_path / place), ref=ref)
        seen = check_source(source)
        assert (seen.state, seen.fault) == (git(tmp_path / "a", "rev-parse", ref or "HEAD"), "")
        with provide_folder(seen, 2_000_000) as (folder, _):
            assert len(list(folder.glob("*.py"))) == files
        assert not folder.exists()
    assert "no commit 'v9'" in check_source(FleetSource("a", str(tmp_path / "a"), ref="v9")).fault


def test_git_runs_nothing_that_the_other_side_configures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Hooks, filters, aliases, submodules and a template: none of them leaves its mark."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("GIT_TEMPLATE_DIR", str(tmp_path / "template"))
    mark = tmp_path / "mark"
    clone(tmp_path / "a")
    for folder in (tmp_path / "a/.git/hooks", tmp_path / "template/hooks"):
        folder.mkdir(parents=True, exist_ok=True)
        for hook in ("post-checkout", "post-index-change", "pre-auto-gc", "reference-transaction", "pre-receive"):
            (folder / hook).write_text(f"#!/bin/sh\ntouch {mark}-{hook}\n")
            (folder / hook).chmod(0o755)
    (tmp_path / "a/.gitattributes").write_text("* filter=evil\n")
    (tmp_path / "a/.gitmodules").write_text(f'[submodule "s"]\npath = s\nurl = {tmp_path}/a\n')
    git(tmp_path / "a", "add", "--all")
    git(tmp_path / "a", "-c", "core.hooksPath=/dev/null", "commit", "--quiet", "-m", "evil")
    for key in ("filter.evil.smudge", "filter.evil.clean", "uploadpack.packObjectsHook", "core.fsmonitor"):
        git(tmp_path / "a", "config", key, f"touch {mark}-{key}; cat")
    for path in tmp_path.glob("mark*"):
        path.unlink()
    source = FleetSource("a", url=f"file://{tmp_path}/a")
    with provide_folder(check_source(source), 2_000_000) as (folder, seen):
        assert (folder / "a.py").read_text() == (tmp_path / "a/a.py").read_text()
        assert seen.commit == git(folder, "rev-parse", "HEAD")
        found = subprocess.run(["git", "-C", str(folder), "ls-files"], capture_output=True, text=True, check=True)
        assert "a.py" in found.stdout.split()
    assert not list(tmp_path.glob("mark*"))


def test_a_server_that_does_not_answer_is_a_fault_of_that_repository(tmp_path: Path) -> None:
    assert "fatal" in check_source(FleetSource("a", url=f"file://{tmp_path}/missing")).fault
    assert "no such folder" in check_source(FleetSource("a", str(tmp_path / "missing"))).fault
