"""A repository's history → what its commits said and which lines they changed, newest first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from codelens.nouns import dataclass
from codelens.worktree.diffs import read_diff
from codelens.worktree.plumbing import run_git
from codelens.worktree.repository import Repository

_COMMIT = b"\0codelens commit\0"


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


def texts_at(repository: Repository, wanted: Sequence[tuple[str, str]]) -> Iterator[bytes | None]:
    """(commit, path) → the file as that commit left it, one process for all; None where git has no such file. Raises GitError."""
    names = [f"{commit}:{path}".encode("utf-8", "surrogateescape") for commit, path in wanted]
    askable = [name for name in names if b"\n" not in name]
    told = run_git(repository, "cat-file", "--batch", given=b"".join(name + b"\n" for name in askable))
    at = 0
    for name in names:
        if b"\n" in name:
            yield None
            continue
        end = told.index(b"\n", at)
        head, at = told[at:end].split(b" "), end + 1
        if len(head) == 3 and head[1] == b"blob":
            size = int(head[2])
            yield told[at : at + size]
            at += size + 1
        elif head[-1] == b"missing":
            yield None
        else:  # a folder or a submodule's commit
            yield None
            at += int(head[2]) + 1 if len(head) == 3 and head[2].isdigit() else 0
