"""git runs so that a hostile repository cannot execute anything, and always for the intended repository."""

from __future__ import annotations

from pathlib import Path

import pytest

from codelens.config import Settings
from codelens.model.code import SeenFile
from codelens.worktree.commits import read_commits
from codelens.worktree.repository import GitError, open_repository, read_configuration, run_git
from codelens.worktree.walk import walk_tree
from tests.worktree.conftest import git, git_tree, write_tree


def test_nothing_that_a_repository_configures_is_executed(tmp_path: Path) -> None:
    root = git_tree(
        tmp_path / "r",
        {".gitignore": "*.o\n", "a.o": "", "b.o": "", "c.py": "", ".gitattributes": "* filter=x diff=x\n"},
    )
    git(root, "add", "--force", "a.o", "c.py")
    trap = tmp_path / "trap"
    script = f"/bin/sh -c 'touch {trap}'"
    for key in ("core.fsmonitor", "core.pager", "core.editor", "core.sshCommand", "core.askPass", "filter.x.clean"):
        git(root, "config", key, script)
    for key in (
        "filter.x.smudge",
        "filter.x.process",
        "diff.x.textconv",
        "diff.external",
        "alias.ls-files",
        "credential.helper",
    ):
        git(root, "config", key, "!" + script)
    git(root, "config", "core.hooksPath", ".hooks")
    for hook in ("post-index-change", "fsmonitor-watchman", "post-checkout", "reference-transaction"):
        write_tree(root, {f".hooks/{hook}": f"#!/bin/sh\ntouch {trap}\n"})
        (root / ".hooks" / hook).chmod(0o755)
    before = sorted(path.name for path in (root / ".git").iterdir())
    assert [step.path for step in walk_tree(root, Settings()) if isinstance(step, SeenFile)] == ["a.o", "c.py"]
    assert not trap.exists()
    assert sorted(path.name for path in (root / ".git").iterdir()) == before


def test_refusal_of_a_foreign_repository_degrades_to_patterns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = git_tree(tmp_path, {".gitignore": "*.o\n", "a.o": "", "c.py": ""})
    git(root, "add", "--force", "a.o", "c.py")
    git(root, "update-index", "--index-version", "4")  # which only git reads
    monkeypatch.setenv("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1")
    repository = open_repository(root)
    assert repository
    with pytest.raises(GitError, match="dubious ownership"):
        run_git(repository, "ls-files")
    assert [step.path for step in walk_tree(root, Settings()) if isinstance(step, SeenFile)] == ["c.py"]


def test_variables_of_a_hook_do_not_mislead(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one, two = git_tree(tmp_path / "one", {"1.py": ""}), git_tree(tmp_path / "two", {"2.py": ""})
    git(one, "add", "1.py")
    git(two, "add", "2.py")
    monkeypatch.setenv("GIT_DIR", str(one / ".git"))
    monkeypatch.setenv("GIT_INDEX_FILE", str(one / ".git/index"))
    repository = open_repository(two)
    assert repository and run_git(repository, "ls-files") == b"2.py\n"


def test_failure_is_one_line(tmp_path: Path) -> None:
    repository = open_repository(git_tree(tmp_path, {}))
    assert repository
    with pytest.raises(GitError) as caught:
        run_git(repository, "cat-file", "-p", "nothing")
    assert str(caught.value) == "fatal: Not a valid object name nothing"


def test_configuration_is_read_as_git_reads_it(tmp_path: Path, quiet_git: Path) -> None:
    root = git_tree(tmp_path / "r", {})
    write_tree(
        tmp_path,
        {
            "more": '[core]\n\texcludesFile = "a b\\"c" # comment\n[Core "sub"]\n\tignoreCase = true\n',
            "other": "[core] ignoreCase\n",
            "not": "[core]\n\texcludesFile = wrong\n",
        },
    )
    with (root / ".git/config").open("a") as config:
        config.write(f"[include]\n\tpath = {tmp_path}/more\n")
        config.write(f'[includeIf "gitdir:{tmp_path}/"]\n\tpath = {tmp_path}/other\n')
        config.write(f'[includeIf "gitdir:/elsewhere/"]\n\tpath = {tmp_path}/not\n[core]\n\tlong = a\\\n  b ; c\n')
    found = read_configuration(open_repository(root))
    assert found["core.ignorecase"] == git(root, "config", "--type=bool", "--get", "core.ignorecase").decode().strip()
    for key in ("core.excludesfile", "core.long", "core.bare"):
        assert found[key] == git(root, "config", "--get", key).decode().removesuffix("\n"), key


def test_broken_git_folder_makes_no_repository(tmp_path: Path) -> None:
    write_tree(tmp_path, {"a/.git/": "", "b/.git": "gitdir: nowhere\n", "c/.git": "nonsense"})
    assert [open_repository(tmp_path / name) for name in "abc"] == [None] * 3


def test_a_signed_commit_runs_no_program_that_its_repository_names(tmp_path: Path) -> None:
    root = git_tree(tmp_path / "r", {"a.py": "x = 1\n"})
    git(root, "add", "a.py")
    tree = git(root, "write-tree").decode().strip()
    signature = "gpgsig -----BEGIN PGP SIGNATURE-----\n \n a\n -----END PGP SIGNATURE-----\n"
    text = f"tree {tree}\nauthor a <a> 1 +0000\ncommitter a <a> 1 +0000\n{signature}\nsubject\n"
    made = git(root, "hash-object", "-t", "commit", "-w", "--stdin", given=text.encode()).decode().strip()
    git(root, "update-ref", "HEAD", made)
    trap = tmp_path / "trap"
    write_tree(tmp_path, {"script": f"#!/bin/sh\ntouch {trap}\n"})
    (tmp_path / "script").chmod(0o755)
    git(root, "config", "log.showSignature", "true")
    git(root, "config", "gpg.program", str(tmp_path / "script"))
    git(root, "log")
    assert trap.exists(), "git itself runs it"
    trap.unlink()
    repository = open_repository(root)
    assert repository
    assert [commit.subject for commit in read_commits(repository, 9)] == ["subject"]
    assert not trap.exists()
