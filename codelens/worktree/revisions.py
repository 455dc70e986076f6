"""Two revisions → the diff between them, by git's plumbing. Nothing that a repository configures is executed: no external
diff, no textconv, no filter, no hook."""

from __future__ import annotations

import re
from pathlib import Path

from codelens.errors import UsageError
from codelens.worktree.plumbing import GitError, run_git
from codelens.worktree.repository import Repository, enclosing_repository

CONTEXT_LINES = 3
"""Context lines of a hunk: they tell where it stands in a file that has moved on."""
HINT = "as in main..HEAD; `git log --oneline` lists commits"
_AS_PATCH = (
    *("-p", "--find-renames", f"--unified={CONTEXT_LINES}", "--no-color", "--no-ext-diff", "--no-textconv"),
    *("--no-relative", "--src-prefix=a/", "--dst-prefix=b/", "--submodule=short", "--ignore-submodules=all"),
)
_RANGE = re.compile(r"(?P<base>.*?)(?P<dots>\.\.\.?)(?P<head>.*)")


def diff_between(repository: Repository, revisions: str) -> bytes:
    """The unified diff of BASE..HEAD (from BASE itself) or BASE...HEAD (from where the two parted); an end that is left
    out is HEAD. Raises UsageError where git cannot name them, or is not there."""
    found = _RANGE.fullmatch(revisions)
    if not found:
        raise UsageError(f"'{revisions}' is no range of revisions", "as in main..HEAD or main...HEAD")
    try:
        base, head = (commit_id(repository, found[side] or "HEAD") for side in ("base", "head"))
        if found["dots"] == "...":
            base = run_git(repository, "merge-base", base, head).decode().strip()
        return run_git(repository, "diff-tree", "-r", *_AS_PATCH, base, head, "--")
    except GitError as fault:
        raise UsageError(f"{revisions}: {fault}", HINT) from None


def staged_diff(repository: Repository) -> bytes:
    """The unified diff from HEAD to git's index. Files of the work tree are not read: reading them may run a filter.

    Raises UsageError where there is no commit yet, or no git.
    """
    try:
        return run_git(repository, "diff-index", "--cached", *_AS_PATCH, commit_id(repository, "HEAD"), "--")
    except GitError as fault:
        raise UsageError(f"--staged: {fault}") from None


def commit_id(repository: Repository, name: str) -> str:
    """The full id of a revision, so that what a person writes is never an option or a path. Raises GitError."""
    try:
        found = run_git(repository, "rev-parse", "--verify", "--end-of-options", f"{name}^{{commit}}")
    except GitError as fault:
        said = f"no commit '{name}'" if "Needed a single revision" in str(fault) else str(fault)
        raise GitError(said) from None
    return found.decode().strip()


def repository_of(start: Path) -> Repository | None:
    """The git repository that holds a folder."""
    return enclosing_repository(start.resolve())
