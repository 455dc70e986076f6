"""All calls of git get their options from one table, share their time, and leave no process behind."""

from __future__ import annotations

import ast
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import codelens
from codelens.worktree import git_calls
from codelens.worktree.commits import read_commits
from codelens.worktree.git_calls import OPTIONS, build_command, renew_times
from codelens.worktree.ignore import find_git_fault
from codelens.worktree.repository import GitError, Repository, open_repository, run_git
from tests.worktree.conftest import git, git_tree
from tests.worktree.git_history import Past

PACKAGE = Path(codelens.__file__).parent
TOOLS = PACKAGE.parent / "tools"
RUNNERS = {"run_git": 1, "run_git_within": 2}  # Function → place of git's command among its arguments


@pytest.fixture
def past(tmp_path: Path) -> Past:
    return Past(tmp_path / "past")


def parse_modules() -> Iterator[tuple[str, ast.Module]]:
    for folder in (PACKAGE, TOOLS):
        for path in sorted(folder.rglob("*.py")):
            yield path.relative_to(PACKAGE.parent).as_posix(), ast.parse(path.read_bytes())


def list_commands(tree: ast.Module) -> Iterator[str]:
    """List the commands that a module gives to git, as literals; other expressions as their source."""
    constants = {
        node.targets[0].id: node.value
        for node in tree.body
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in RUNNERS:
            command: ast.expr = node.args[RUNNERS[node.func.id]]
            while not isinstance(command, ast.Constant):
                if isinstance(command, ast.Starred):
                    command = command.value
                elif isinstance(command, ast.Tuple):
                    command = command.elts[0]
                elif isinstance(command, ast.Name) and command.id in constants:
                    command = constants[command.id]
                else:
                    break
            yield str(command.value) if isinstance(command, ast.Constant) else ast.unparse(command)


def test_every_call_of_git_has_a_row_in_the_table() -> None:
    called = {
        command
        for _, tree in parse_modules()
        for command in list_commands(tree)
        if command != "command"  # the parameter of run_git_within, which passes it on
    }
    assert called == set(OPTIONS)


def test_git_runs_at_one_place_only() -> None:
    importing = set()
    for name, tree in parse_modules():
        for node in ast.walk(tree):
            modules = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            modules += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            if any(module.partition(".")[0] == "git" for module in modules):
                importing.add(name)
    assert importing == {"codelens/worktree/repository.py"}


def test_no_list_of_a_program_and_its_arguments_begins_with_git() -> None:
    lists = [
        name
        for name, tree in parse_modules()
        if name.startswith("codelens/")
        for node in ast.walk(tree)
        if isinstance(node, (ast.List, ast.Tuple)) and node.elts
        if isinstance(node.elts[0], ast.Constant) and node.elts[0].value == "git"
    ]
    assert lists == ["codelens/worktree/git_calls.py"]


@pytest.mark.parametrize("command", ["diff-index", "diff-tree", "log"])
def test_commands_that_compare_files_run_no_driver(command: str) -> None:
    line = build_command(command, ["HEAD"], network=False)
    needed = {"--no-ext-diff", "--no-textconv", "--submodule=short", "core.attributesFile=/dev/null"}
    assert needed <= set(line)
    assert line[-1] == "HEAD"


def test_a_diff_driver_of_a_submodule_does_not_run(tmp_path: Path) -> None:
    trap = tmp_path / "trap"
    inner = Past(tmp_path / "inner")
    inner.commit({"a.py": "1\n", ".gitattributes": "*.py diff=x\n"})
    inner.commit({"a.py": "2\n"})
    root = Past(tmp_path / "root")
    root.commit({"b.py": "1\n"})
    root.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(inner.root), "sub")
    root.git("-C", "sub", "config", "diff.x.command", f"touch {trap}; true")
    root.git("-C", "sub", "checkout", "--quiet", "HEAD~1")
    root.git("commit", "--quiet", "-am", "Add a submodule")
    root.git("-C", "sub", "checkout", "--quiet", "-")
    root.git("commit", "--quiet", "-am", "Move the submodule")
    root.git("config", "diff.submodule", "diff")
    root.git("log", "-p")
    assert trap.exists(), "git itself runs it"
    trap.unlink()

    repository = open_repository(root.root)
    assert repository
    subjects = [commit.subject for commit in read_commits(repository, 9)]
    assert subjects[0] == "Move the submodule"
    assert not trap.exists()


PIPES = (
    *(".git/HEAD", ".git/config", ".git/index", ".git/packed-refs", ".git/shallow", ".git/info/exclude"),
    *(".git/info/attributes", ".git/objects/info/alternates", ".git/objects/info/commit-graph"),
    *(".git/refs/heads/main", ".git/config.worktree", ".gitattributes", ".git/extra"),
)


@pytest.mark.skipif(os.name == "nt", reason="makes pipes")
@pytest.mark.parametrize("place", PIPES)
def test_git_is_not_asked_where_a_pipe_is_in_the_place_of_a_file(past: Past, place: str) -> None:
    past.commit({"a.py": "1\n"})
    past.git("config", "include.path", "extra")
    pipe = past.root / place
    pipe.unlink(missing_ok=True)
    os.mkfifo(pipe)
    repository = open_repository(past.root)
    assert repository
    with pytest.raises(GitError, match="is not a regular file, so git was not run") as caught:
        run_git(repository, "log", "-p")
    assert str(pipe) in str(caught.value)
    assert find_git_fault(past.root) == str(caught.value)
    pipe.unlink()
    with pytest.raises(GitError, match="git was not run"):
        run_git(repository, "log")
    renew_times()
    assert find_git_fault(past.root) == ""


def waiting_git(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Put a git first in PATH that waits with a child. Returns the file of their numbers, one per line and call."""
    started = folder / "started"
    (folder / "bin").mkdir()
    script = folder / "bin/git"
    script.write_text(f"#!/bin/sh\nsleep 600 &\necho $$ $! >> {started}\nwait\n")
    script.chmod(0o755)
    monkeypatch.setenv("PATH", f"{script.parent}:{os.environ['PATH']}")
    return started


def wait_until_ended(started: Path) -> None:
    """Wait until the pretended git and its child are gone, or wait to be reaped; fail after a minute."""
    for pid in map(int, started.read_text().split()):
        for _ in range(600):
            try:
                os.kill(pid, 0)
                if Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[0] == b"Z":
                    break
            except OSError:
                break
            time.sleep(0.1)
        else:
            pytest.fail(f"process {pid} was left behind")


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="needs /proc")  # noqa: PTH112
def test_git_that_waits_is_ended_with_its_children_and_not_asked_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = git_tree(tmp_path / "r", {"a.py": ""})
    repository = open_repository(root)
    assert repository
    with monkeypatch.context() as patched:
        started = waiting_git(tmp_path, patched)
        patched.setattr(git_calls, "MAX_IDLE_SECONDS", 1.0)
        with pytest.raises(GitError, match="git was stopped after 1 seconds without activity"):
            run_git(repository, "log")
    wait_until_ended(started)
    with pytest.raises(GitError, match="git was stopped"):  # although git would answer now
        run_git(repository, "ls-files")


@pytest.mark.skipif(os.name == "nt", reason="needs a shell script as git")
def test_all_calls_share_one_time_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = git_tree(tmp_path / "r", {"a.py": ""})
    repository = open_repository(root)
    assert repository
    with monkeypatch.context() as patched:
        waiting_git(tmp_path, patched)
        patched.setattr(git_calls, "MAX_SECONDS", 0.5)
        with pytest.raises(GitError, match="git took longer than"):
            run_git(repository, "log")
    with pytest.raises(GitError, match="git took longer than"):  # although git would answer now
        run_git(repository, "ls-files")


@pytest.mark.skipif(os.name == "nt", reason="needs a shell script as git")
def test_a_call_with_a_limit_of_its_own_leaves_the_rest_to_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = git_tree(tmp_path / "r", {"a.py": ""})
    repository = open_repository(root)
    assert repository
    with monkeypatch.context() as patched:
        waiting_git(tmp_path, patched)
        with pytest.raises(GitError, match="git took longer than"):
            run_git(repository, "log", seconds=0.5)
    git(root, "add", "a.py")
    assert run_git(repository, "ls-files") == b"a.py\n"


@pytest.mark.skipif(os.name == "nt", reason="needs a shell script as git")
def test_an_interrupt_ends_git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = git_tree(tmp_path / "r", {"a.py": ""})
    started = waiting_git(tmp_path, monkeypatch)
    monkeypatch.setattr(git_calls, "MAX_IDLE_SECONDS", 60.0)
    handler = signal.signal(signal.SIGALRM, signal.default_int_handler)
    repository = open_repository(root)
    assert repository
    try:
        # The child of the pretended git exists only once it has written its number.
        watcher = f"while [ ! -s {started} ]; do sleep 0.1; done; kill -ALRM {os.getpid()}"
        with subprocess.Popen(["sh", "-c", watcher]), pytest.raises(KeyboardInterrupt):
            run_git(repository, "log")
    finally:
        signal.signal(signal.SIGALRM, handler)
    wait_until_ended(started)


def test_a_repository_of_its_own_has_time_of_its_own(tmp_path: Path) -> None:
    one = git_tree(tmp_path / "one", {})
    two = git_tree(tmp_path / "two", {"2.py": ""})
    git(two, "add", "2.py")
    broken = open_repository(one)
    sound = open_repository(two)
    assert isinstance(broken, Repository)
    assert isinstance(sound, Repository)
    git_calls.share_time(broken).fault = "git waited"
    git_calls.share_time(broken).left = 0.0
    with pytest.raises(GitError, match="git waited"):
        run_git(broken, "ls-files")
    assert run_git(sound, "ls-files") == b"2.py\n"
