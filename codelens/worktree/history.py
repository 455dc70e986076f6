"""A repository's history → what its commits said and which lines they changed, newest first."""

from __future__ import annotations

from collections.abc import Iterator

from codelens.nouns import dataclass
from codelens.worktree.diffs import read_diff
from codelens.worktree.plumbing import run_git
from codelens.worktree.repository import Repository

_COMMIT = b"\0codelens commit\0"
BLOB_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Commit:
    """One commit: its subject, and its changed files' paths with the changed lines as they are after it."""

    id: str
    subject: str
    files: tuple[tuple[str, tuple[int, ...]], ...]


def commits(repository: Repository, most: int) -> Iterator[Commit]:
    """The last commits that are no merges. Raises GitError. Paths that are not UTF-8 are left out."""
    told = run_git(
        repository,
        *(
            "log",
            "--no-merges",
            f"--max-count={most}",
            "-p",
            "--unified=0",
            "--no-renames",
            "--no-color",
            "--no-ext-diff",
        ),
        *(
            "--no-textconv",
            "--diff-filter=AM",
            "--src-prefix=a/",
            "--dst-prefix=b/",
            "--format=%x00codelens commit%x00%H %s",
        ),
    )
    for part in told.split(_COMMIT)[1:]:
        head, _, diff = part.partition(b"\n")
        identity, _, subject = head.decode("utf-8", "replace").partition(" ")
        files = []
        for change in read_diff(diff):
            path = _path(change.new)
            lines = tuple(n for h in change.hunks for n in range(h.new_start, h.new_start + max(1, len(h.new))))
            if path and lines:
                files.append((path, lines))
        yield Commit(identity, subject, tuple(files))


def _path(path: bytes | None) -> str:
    try:
        return path.decode("utf-8") if path else ""
    except UnicodeDecodeError:
        return ""


def text_at(repository: Repository, commit: str, path: str) -> bytes:
    """A file as a commit left it. Raises GitError."""
    return run_git(repository, "cat-file", "blob", f"{commit}:{path}", seconds=BLOB_SECONDS)
