"""Resolves and fetches commits of a repository elsewhere, without history, into an empty repository made for the purpose.
Nothing of the other side is executed: no hooks, filters, submodules or configuration."""

from __future__ import annotations

import re
import shutil
import tempfile
from pathlib import Path

from codelens.worktree.commits import lay_tree
from codelens.worktree.repository import GitError, Repository, run_git

SECONDS = 1800.0  # Time limit for fetching one commit. A Linux kernel takes a few minutes on a slow line.
LOOK_SECONDS = 60.0  # Time limit for asking which commit a name means
_COMMIT = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")


def resolve_remote_commit(url: str, ref: str) -> str:
    """Find the commit of a branch, tag or commit id at a URL; without a name, that of its HEAD. Raises GitError."""
    with tempfile.TemporaryDirectory(prefix="codelens-") as folder:
        return _resolve_ref(_create_repository(Path(folder)), url, ref)[1]


def fetch_tree(url: str, ref: str, folder: Path, largest: int) -> str:
    """Replace a folder by the files of a remote commit, up to `largest` bytes each, with a git folder that holds only this
    commit. Returns its id. Raises GitError and OSError."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    with tempfile.TemporaryDirectory(prefix=".git-", dir=folder.parent) as beside:
        repository = _create_repository(Path(beside))
        name, _ = _resolve_ref(repository, url, ref)
        options = ("--quiet", "--depth=1", "--no-tags", "--no-recurse-submodules", "--no-auto-maintenance")
        run_git(repository, "fetch", *options, "--", url, name, seconds=SECONDS, network=True)
        commit = run_git(repository, "rev-parse", "--verify", "FETCH_HEAD^{commit}").decode().strip()
        lay_tree(repository, commit, folder, largest=largest)
        run_git(repository, "update-ref", "--no-deref", "HEAD", commit)
        run_git(repository, "read-tree", commit)  # so that tracked files are known to be tracked
        run_git(repository, "config", "core.bare", "false")
        repository.git_folder.rename(folder / ".git")
    return commit


def _create_repository(folder: Path) -> Repository:
    made = folder / "repository"
    made.mkdir()
    repository = Repository(made, made, made)
    run_git(repository, "init", "--quiet", "--bare", "--template=", str(made))
    return repository


def _resolve_ref(repository: Repository, url: str, ref: str) -> tuple[str, str]:
    """Resolve a name. Returns (what to fetch, its commit if the other side tells it)."""
    names = [f"refs/tags/{ref}", f"refs/heads/{ref}", ref] if ref else ["HEAD"]
    asked = [*names, *(f"{name}^{{}}" for name in names if name.startswith("refs/tags/"))]
    output = run_git(repository, "ls-remote", "--quiet", "--", url, *asked, seconds=LOOK_SECONDS, network=True)
    lines = (line.partition("\t") for line in output.decode("utf-8", "replace").splitlines())
    listed = {name: commit for commit, _, name in lines}
    for name in names:
        if name in listed:
            return name, listed.get(f"{name}^{{}}", listed[name])
    if _COMMIT.fullmatch(ref):
        return ref, ref
    raise GitError(f"{url} has no branch, tag or commit '{ref}'" if ref else f"{url} has no commit yet")
