"""git's hooks: an index that follows the work tree, and hooks of others that stay what they were."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path

import pytest

from codelens.worktree.hooks import BEGIN, NAMES
from tests.commands import Run
from tests.watching.watched import await_true, finds, is_fresh

pytestmark = pytest.mark.skipif(os.name == "nt", reason="looks at modes and links of POSIX")
OWN_HOOK = '#!/bin/sh\necho "$@" >> called\ncat >> given\nexit 3\n'


def git(folder: Path, *arguments: str) -> str:
    identity = ("-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "advice.detachedHead=false")
    ran = subprocess.run(["git", *identity, *arguments], cwd=folder, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


@pytest.fixture
def repository(own: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with two branches, its index made of the first."""
    for name in ("GIT_DIR", "GIT_INDEX_FILE", "GIT_WORK_TREE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(own.parent / "gitconfig"))
    git(own, "init", "-q", "-b", "main")
    (own / ".gitignore").write_text(".codelens/\n")
    git(own, "add", "-A")
    git(own, "commit", "-qm", "one")
    git(own, "checkout", "-qb", "other")
    write(own, "on_the_other")
    git(own, "add", "-A")
    git(own, "commit", "-qm", "two")
    git(own, "checkout", "-q", "main")
    return own


def write(folder: Path, name: str) -> None:
    (folder / f"{name}.py").write_text(f"def {name}():\n    pass\n")


def index_of(folder: Path) -> Path:
    return folder / ".codelens/index.db"


def commits(folder: Path) -> str:
    from codelens.index import Index

    with Index.open(index_of(folder)) as opened:
        return next(history.head for _, history in opened.list_histories() if history)


@pytest.fixture
def hooked(repository: Path, run: Run) -> Path:
    assert run("index", "-q", cwd=repository).code == 0
    assert run("hooks", "install", "-q").code == 0
    return repository


@pytest.mark.slow
def test_the_index_follows_each_kind_of_change(hooked: Path) -> None:
    index = index_of(hooked)
    git(hooked, "checkout", "-q", "other")
    await_true(lambda: finds(index, "on_the_other")[:1] == ["on_the_other.py"])
    git(hooked, "checkout", "-q", "main")
    await_true(lambda: finds(index, "on_the_other")[:1] != ["on_the_other.py"])
    write(hooked, "committed")
    git(hooked, "add", "-A")
    git(hooked, "commit", "-qm", "three")
    await_true(lambda: finds(index, "committed")[:1] == ["committed.py"])
    git(hooked, "merge", "-q", "other", "-m", "merged")
    await_true(lambda: finds(index, "on_the_other")[:1] == ["on_the_other.py"])
    git(hooked, "checkout", "-qb", "third", "HEAD~1")
    for number in range(5):
        write(hooked, f"step{number}")
        git(hooked, "add", "-A")
        git(hooked, "commit", "-qm", f"step {number}")
    git(hooked, "rebase", "-q", "other")
    git(hooked, "commit", "-q", "--amend", "-m", "amended")
    head = git(hooked, "rev-parse", "HEAD").strip()
    await_true(lambda: is_fresh(index) and commits(hooked) == head)
    await_true(lambda: not (hooked / ".git/codelens-soon").exists())


@pytest.mark.slow
def test_nothing_of_the_repository_is_imported(hooked: Path) -> None:
    for name in ("typer", "codelens", "json", "apsw"):
        (hooked / f"{name}.py").write_text("open('imported', 'w')\n")
    git(hooked, "add", "typer.py", "codelens.py", "json.py", "apsw.py")
    git(hooked, "commit", "-qm", "traps")
    await_true(lambda: is_fresh(index_of(hooked)))
    assert not (hooked / "imported").exists()


@pytest.mark.slow
def test_a_broken_index_fails_no_commit_and_says_nothing(hooked: Path) -> None:
    index_of(hooked).write_bytes(b"no index at all")
    write(hooked, "unhindered")
    git(hooked, "add", "-A")
    ran = subprocess.run(
        ["git", "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "x"], cwd=hooked, capture_output=True
    )
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, b"", b"")


def test_without_an_index_nothing_happens(repository: Path, run: Run) -> None:
    assert run("hooks", "install", cwd=repository).err.endswith(
        "there is no index here yet: `codelens index` creates it\n"
    )
    assert run("hooks", "run").code == 0
    assert not index_of(repository).parent.exists()


@pytest.mark.parametrize("text", [OWN_HOOK, OWN_HOOK.removeprefix("#!/bin/sh\n"), "#!/usr/bin/env bash\nexec true"])
def test_an_existing_hook_runs_as_before_and_is_left_as_it_was(text: str, repository: Path, run: Run) -> None:
    hook = repository / ".git/hooks/post-rewrite"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(text)
    hook.chmod(0o750)
    assert run("hooks", "install", "-q", cwd=repository).code == 0
    once = hook.read_text()
    assert run("hooks", "install", "-q").code == 0
    assert hook.read_text() == once
    assert once.count(BEGIN) == 1
    assert hook.stat().st_mode & 0o777 == 0o750
    if "called" in text:
        git(repository, "commit", "-q", "--amend", "-m", "again")
        assert (repository / "called").read_text() == "amend\n"
        assert len((repository / "given").read_text().split()) == 2
    assert run("hooks", "remove", "-q").code == 0
    assert hook.read_text() == text
    assert not (repository / ".git/hooks/post-commit").exists()


def test_hooks_status_lists_each_hook(repository: Path, run: Run) -> None:
    ran = run("hooks", "status", cwd=repository)
    assert (ran.code, ran.out.count("not installed")) == (1, len(NAMES))
    run("hooks", "install")
    ran = run("hooks", "status")
    assert (ran.code, ran.out.count("\tinstalled\t")) == (0, len(NAMES))
    (repository / ".git/hooks/post-merge").unlink()
    assert run("hooks", "status").code == 1
    assert "post-checkout, post-commit, post-rewrite removed" in run("hooks", "remove").err
    assert "no hooks of codelens" in run("hooks", "remove").err


@pytest.mark.parametrize(
    ("text", "mode", "said"),
    [("#!/usr/bin/python3\nprint()\n", 0o755, "not a shell script"), (OWN_HOOK, 0o644, "chmod +x")],
)
def test_what_cannot_hold_the_block_is_not_touched(text: str, mode: int, said: str, repository: Path, run: Run) -> None:
    hook = repository / ".git/hooks/post-rewrite"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(text)
    hook.chmod(mode)
    ran = run("hooks", "install", cwd=repository)
    assert (ran.code, said in ran.err) == (2, True)
    assert (hook.read_text(), hook.stat().st_mode & 0o777) == (text, mode)
    assert not (hook.parent / "post-commit").exists()


@pytest.mark.slow
def test_hooks_are_installed_where_core_hookspath_leads(repository: Path, run: Run) -> None:
    git(repository, "config", "core.hooksPath", ".githooks")
    assert "in the work tree" in run("hooks", "install", cwd=repository).err
    assert (repository / ".githooks/post-commit").exists()
    assert not (repository / ".git/hooks/post-commit").exists()
    assert run("index", "-q").code == 0
    write(repository, "by_the_hooks_path")
    git(repository, "add", "by_the_hooks_path.py")
    git(repository, "commit", "-qm", "three")
    await_true(lambda: finds(index_of(repository), "by_the_hooks_path")[:1] == ["by_the_hooks_path.py"])


def test_a_shared_core_hookspath_needs_the_shared_flag(repository: Path, run: Run) -> None:
    shared = repository.parent / "my hooks"
    git(repository, "config", "--global", "core.hooksPath", str(shared))
    ran = run("hooks", "install", cwd=repository)
    assert (ran.code, "--shared" in ran.err) == (2, True)
    assert not shared.exists()
    assert run("hooks", "install", "--shared").code == 0
    assert (shared / "post-commit").exists()
    assert (run("hooks", "remove").code, (shared / "post-commit").exists()) == (2, True)
    assert run("hooks", "remove", "--shared").code == 0
    assert list(shared.iterdir()) == []


@pytest.mark.slow
def test_a_worktree_has_an_index_of_its_own(hooked: Path, run: Run) -> None:
    other = hooked.parent / "worktree"
    git(hooked, "worktree", "add", "-q", str(other), "other")
    time.sleep(2)  # what the hooks began for it, if anything, would have begun
    assert not index_of(other).exists()
    assert run("index", "-q", cwd=other).code == 0
    write(other, "in_the_worktree")
    git(other, "add", "in_the_worktree.py")
    git(other, "commit", "-qm", "three")
    await_true(lambda: finds(index_of(other), "in_the_worktree")[:1] == ["in_the_worktree.py"])
    assert finds(index_of(hooked), "in_the_worktree")[:1] != ["in_the_worktree.py"]


@pytest.mark.slow
def test_hooks_update_an_index_named_with_db(repository: Path, run: Run) -> None:
    index = repository.parent / "my indexes/notes.db"
    assert run("index", "-q", "--db", str(index), cwd=repository).code == 0
    assert run("hooks", "install", "-q", "--db", str(index)).code == 0
    git(repository, "checkout", "-q", "other")
    await_true(lambda: finds(index, "on_the_other")[:1] == ["on_the_other.py"])


def test_a_hook_that_is_a_link_in_the_repository_stays_one(repository: Path, run: Run) -> None:
    mine = repository / "tools/mine.sh"
    mine.parent.mkdir()
    mine.write_text(OWN_HOOK)
    mine.chmod(0o755)
    hook = repository / ".git/hooks/post-merge"
    hook.parent.mkdir(exist_ok=True)
    hook.symlink_to(mine)
    assert run("hooks", "install", "-q", cwd=repository).code == 0
    assert hook.is_symlink()
    assert BEGIN in mine.read_text()
    assert run("hooks", "remove", "-q").code == 0
    assert mine.read_text() == OWN_HOOK


@pytest.mark.parametrize("place", [".git/hooks", ".git/hooks/post-commit", ".git"])
def test_a_link_out_of_the_repository_is_refused(place: str, repository: Path, run: Run) -> None:
    elsewhere = repository.parent / "elsewhere"
    (repository / place).parent.mkdir(exist_ok=True)
    if (repository / place).exists():
        (repository / place).rename(elsewhere)
    (repository / place).symlink_to(elsewhere)
    before = sorted(elsewhere.rglob("*"))
    for command in ("install", "status", "remove"):
        ran = run("hooks", command, cwd=repository)
        assert (ran.code, ": a link leads out of " in ran.err) == (
            2,
            True,
        )
    assert sorted(elsewhere.rglob("*")) == before


def test_hooks_of_a_submodule_and_a_worktree_are_its_own_and_others_need_the_flag(repository: Path, run: Run) -> None:
    outer = repository.parent / "outer"
    git(repository.parent, "init", "-q", str(outer))
    git(outer, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(repository), "sub")
    git(repository, "worktree", "add", "-q", "-b", "linked", str(repository.parent / "linked"))
    assert run("hooks", "install", cwd=outer / "sub").code == 0
    assert BEGIN in (outer / ".git/modules/sub/hooks/post-commit").read_text()
    assert run("hooks", "install", cwd=repository.parent / "linked").code == 0
    assert BEGIN in (repository / ".git/hooks/post-commit").read_text()

    planted = repository.parent / "planted"
    planted.mkdir()
    (planted / ".git").write_text(f"gitdir: {repository}/.git\n")
    for command in ("install", "remove"):
        ran = run("hooks", command, cwd=planted)
        assert (ran.code, "which may serve other repositories too" in ran.err) == (2, True)
    assert BEGIN in (repository / ".git/hooks/post-commit").read_text()


def test_hooks_outside_a_repository_are_one_error(tmp_path: Path, run: Run) -> None:
    for command in ("install", "remove", "status"):
        assert run("hooks", command, cwd=tmp_path).code == 2
    assert run("hooks", "run").code == 0


def test_a_hook_that_cannot_be_written_is_reported_and_leaves_nothing(repository: Path, run: Run) -> None:
    hooks = repository / ".git/hooks"
    hooks.mkdir(exist_ok=True)
    (hooks / NAMES[0]).symlink_to(repository / "gone/hook")
    ran = run("hooks", "install", cwd=repository)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.splitlines() == [
        f"codelens: error: {repository / 'gone/hook'}: No such file or directory",
        f"hint: check permissions and free space of {repository / 'gone'}",
    ]
    assert not list(hooks.glob("*.codelens-*"))
