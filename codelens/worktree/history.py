"""A repository's history → what its commits said, which lines they changed, and what files were at a commit."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from codelens.nouns import dataclass
from codelens.worktree.diffs import FileChange, read_diff
from codelens.worktree.plumbing import GitError, run_git
from codelens.worktree.repository import Repository

_COMMIT = b"\0codelens commit\0"
_COMMIT_LINE = re.compile(rb"^([0-9a-f]{40,64})\n", re.MULTILINE)
"""Before the diff of each commit; a diff's own lines all begin with a mark or a word."""


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


@dataclass(frozen=True, slots=True)
class Message:
    """What a commit says of itself, and the paths of the files that it changed; of a renamed one both."""

    id: str
    parents: tuple[str, ...]
    author: str
    """Name <address>."""
    subject: str
    body: str
    paths: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TreeFile:
    """A regular file of a commit's tree, with its size in bytes."""

    path: str
    size: int


def first_parents(repository: Repository, head: str) -> list[str]:
    """The commits of the first line of descent, newest first, `head` included. Raises GitError."""
    return run_git(repository, "rev-list", "--first-parent", "--end-of-options", head).decode().split()


def commits_between(repository: Repository, after: str, head: str) -> list[str]:
    """Those of `head`'s history that are no merges and not in the history of `after`, newest first. Raises GitError."""
    return run_git(repository, "rev-list", "--no-merges", "--topo-order", head, f"^{after}").decode().split()


def messages(repository: Repository, after: str, head: str) -> list[Message]:
    """The same commits with what they say. No file is read for it. Raises GitError."""
    told = run_git(
        repository,
        *("log", "--no-merges", "--topo-order", "--raw", "--no-abbrev", "-z", "--no-renames", "--no-color"),
        *("--no-ext-diff", "--no-show-signature", "--no-notes", "--format=tformat:%H%x00%P%x00%an <%ae>%x00%s%x00%b"),
        *(head, f"^{after}"),
    )
    return list(_messages(told.split(b"\0")))


def _messages(fields: Sequence[bytes]) -> Iterator[Message]:
    """Five fields of each commit, then for each changed file its kind of change and its path."""
    at = 0
    while at + 5 <= len(fields):
        identity, parents, author, subject, body = (f.decode("utf-8", "replace") for f in fields[at : at + 5])
        at += 5
        paths: list[str] = []
        while at < len(fields) and (kind := fields[at].lstrip(b"\n"))[:1] in (b":", b""):
            paths += [_path(fields[at + 1])] if kind else []
            at += 2 if kind else 1
        yield Message(identity, tuple(parents.split()), author, subject, body, tuple(paths))


def changes_of(repository: Repository, wanted: Sequence[str]) -> list[list[FileChange] | None]:
    """For each commit, which has one parent, what it changed in that one, without context lines; None where git lacks files of
    it, as in a partial clone."""
    if not wanted:
        return []
    try:
        told = run_git(
            repository,
            *("diff-tree", "--stdin", "-r", "-p", "--unified=0", "--find-renames", "--no-color", "--no-ext-diff"),
            *("--no-textconv", "--src-prefix=a/", "--dst-prefix=b/", "--submodule=short", "--ignore-submodules=none"),
            given="".join(f"{identity}\n" for identity in wanted).encode(),
        )
    except GitError:
        middle = len(wanted) // 2
        return (
            [None]
            if not middle
            else [*changes_of(repository, wanted[:middle]), *changes_of(repository, wanted[middle:])]
        )
    parts = _COMMIT_LINE.split(told)
    diffs = dict(zip((identity.decode() for identity in parts[1::2]), parts[2::2], strict=True))
    return [read_diff(diffs.get(identity, b"")) for identity in wanted]


def tree_files(repository: Repository, commit: str) -> list[TreeFile]:
    """The regular files of a commit's tree in git's order; no links, no submodules. Raises GitError.

    Paths that are not UTF-8, or that would on any system lead out of a folder or into its `.git`, are left out.
    """
    told = run_git(repository, "ls-tree", "-r", "-z", "-l", "--full-tree", "--end-of-options", commit)
    found = []
    for entry in told.split(b"\0"):
        head, _, name = entry.partition(b"\t")
        fields = head.split()
        is_file = len(fields) == 4 and fields[0] in (b"100644", b"100755") and fields[3].isdigit()  # BAD: git lacks it
        if is_file and (path := _path(name)) and _is_inside(path):
            found.append(TreeFile(path, int(fields[3])))
    return found


def _is_inside(path: str) -> bool:
    parts = path.replace("\\", "/").split("/")
    return not any(part in ("", ".", "..") or part.casefold() == ".git" or ":" in part for part in parts)
