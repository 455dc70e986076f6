"""`WalkFilter` decides about a path as the walk does."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from codelens.config import Settings
from codelens.errors import UsageError
from codelens.model.code import Skip, SkipReason
from codelens.watching.watch import Roots
from codelens.worktree.place import list_own_files
from codelens.worktree.walk import WalkFilter, explain_path

FILES = {
    ".gitignore": "*.log\n/out/\nbuild/*\n!build/keep.py\ntracked.gen\n",
    ".codelensignore": "secret/\n!.github/\n!*.wanted\n",
    "a.py": "a = 1\n",
    "a.log": "x\n",
    "src/b.py": "b = 1\n",
    "src/.hidden.py": "h = 1\n",
    "src/.gitignore": "local.py\n",
    "src/local.py": "l = 1\n",
    "src/deep/er/c.py": "c = 1\n",
    "src/deep/er/c.log": "x\n",
    "out/o.py": "o = 1\n",
    "build/keep.py": "k = 1\n",
    "build/gone.py": "g = 1\n",
    "secret/s.py": "s = 1\n",
    ".github/ci.py": "ci = 1\n",
    "node_modules/m/m.js": "m()\n",
    "env/pyvenv.cfg": "home\n",
    "env/lib/e.py": "e = 1\n",
    "own/index.db": "",
    ".codelens/index.db": "",
    "x.wanted": "w\n",
    "tracked.gen": "t\n",
}
RULES = {".gitignore", ".codelensignore", "src/.gitignore"}  # Hidden files that control the walk
LEFT_OUT = (SkipReason.IGNORED, SkipReason.HIDDEN, SkipReason.NESTED_INDEX, SkipReason.VENDORED)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    root = tmp_path / "tree"
    for path, text in FILES.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    subprocess.run(["git", "init", "-q", str(root)], check=True)
    subprocess.run(["git", "-C", str(root), "add", "-f", "tracked.gen"], check=True)
    return root


@pytest.mark.parametrize(
    "settings", [Settings(), Settings(hidden=True), Settings(no_ignore=True, include_vendored=True)]
)
def test_the_filter_agrees_with_the_walk(tree: Path, settings: Settings) -> None:
    own = list_own_files(tree / "own/index.db")
    walk_filter = WalkFilter(tree, settings, own)
    seen = {}
    for folder, names, files in os.walk(tree):
        names[:] = [name for name in names if name != ".git"]
        for name in [*names, *files]:
            path = os.path.relpath(Path(folder, name), tree).replace(os.sep, "/")
            found = explain_path(tree, path, settings, own)
            seen[path] = (walk_filter.accepts(path), not (isinstance(found, Skip) and found.reason in LEFT_OUT))
    # A folder left out for its entries, not its name.
    assert {path for path, both in seen.items() if both[0] != both[1]} - {*RULES, "env"} == set()
    assert all(walk_filter.accepts(path) for path in RULES)
    assert len(seen) > len(FILES)


def test_a_deleted_file_is_judged_by_its_name(tree: Path) -> None:
    walk_filter = WalkFilter(tree, Settings())
    assert walk_filter.accepts("src/was.py")
    assert walk_filter.accepts("was/here/before.py")
    assert not walk_filter.accepts("src/was.log")
    assert not walk_filter.accepts("out/was.py")
    assert not walk_filter.accepts("node_modules/x/was.py")
    assert not walk_filter.accepts(".git/index")
    assert not walk_filter.accepts("src/.git/HEAD")


def test_the_filter_reads_each_folder_of_a_deep_path_once(tree: Path) -> None:
    assert WalkFilter(tree, Settings()).accepts("d/" * 3000 + "x.py")


def test_a_missing_root_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError):
        WalkFilter(tmp_path / "nowhere", Settings())


def watched_roots(*roots: Path) -> Roots:
    return Roots(roots, frozenset(), lambda root: lambda path: True)


def test_locks_of_git_and_commits_are_noticed(tree: Path) -> None:
    source = watched_roots(tree / "src")
    assert not source.is_git_at_work()
    (tree / ".git/index.lock").touch()
    assert source.is_git_at_work()
    (tree / ".git/index.lock").unlink()
    assert not source.has_head_moved()
    identity = ["-c", "user.name=a", "-c", "user.email=a@b"]
    subprocess.run(["git", "-C", str(tree), *identity, "commit", "-qm", "one"], check=True)
    assert source.has_head_moved()
    subprocess.run(["git", "-C", str(tree), "worktree", "add", "-q", str(tree.parent / "other")], check=True)
    other = watched_roots(tree.parent / "other")
    subprocess.run(
        ["git", "-C", str(tree.parent / "other"), *identity, "commit", "-qm", "two", "--allow-empty"], check=True
    )
    assert other.has_head_moved()
    assert not source.has_head_moved()


def test_roots_outside_any_repository_have_no_head(tmp_path: Path) -> None:
    roots = watched_roots(tmp_path)
    assert (roots.is_git_at_work(), roots.has_head_moved()) == (False, False)
