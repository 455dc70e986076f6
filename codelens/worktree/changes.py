"""How many recent commits changed each file of a folder, and when the last of them was made, from git's history.

Merges do not count and renames are not followed. Commits at which a shallow clone ends are left out, because git
reports every file as changed by them. A known history is updated by the commits that came and went since. Where that
might differ from reading everything, everything is read.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from codelens.model.fast_dataclass import dataclass
from codelens.model.history import History, HistoryRead
from codelens.text.lazily import lazy_pattern
from codelens.worktree.files import shown_path
from codelens.worktree.repository import (
    GitError,
    Repository,
    configured,
    enclosing_repository,
    read_regular,
    run_git,
)

MOST_COMMITS = 5000  # Commits that are read. Years of most projects, and a third of a second for those of pandoc.
SECONDS = 30.0  # Time limit for reading a history
AT_ONCE = 500  # Commits per git process, so that its output fits into memory
LATEST = 1 << 52  # Latest commit time in seconds. Larger values are invalid, and some databases cannot hold them.
RULES = "changes 1"  # Change the number whenever what is read changes, so that histories are read again
_COMMIT = lazy_pattern(rb"(?:[0-9a-f]{40}|[0-9a-f]{64})")
_MOST_LINKS = 5  # Limit on symbolic refs that lead to symbolic refs, as in git


@dataclass(frozen=True, slots=True)
class Head:
    """The commit at which a history starts, and what limits the history."""

    repository: Repository
    commit: str
    below: str
    """The indexed folder within the repository, as a path of the operating system; empty for the whole repository."""
    cut: frozenset[str]
    """Commits at which a shallow clone ends."""

    @property
    def terms(self) -> str:
        """See `HistoryRead.terms`."""
        import hashlib  # loads OpenSSL

        parts = (RULES, str(MOST_COMMITS), self.below, *sorted(self.cut))
        return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogateescape")).hexdigest()[:16]


class TooSlow(GitError):
    """git took longer than SECONDS; a second try would too."""


def head_of(root: Path) -> Head:
    """The head of a folder's history, found without running git where the refs are files. Raises GitError."""
    repository = enclosing_repository(root)
    if repository is None:
        raise GitError("not a git repository")
    below = root.relative_to(repository.top).as_posix()
    cut = (read_regular(repository.common / "shallow") or b"").decode("ascii", "replace").split()
    commit = _commit_in_files(repository) or _commit_by_git(repository)
    return Head(repository, commit, "" if below == "." else below, frozenset(cut))


def commit_in_files(root: Path) -> str:
    """HEAD's commit in the repository of a folder, read from files alone; empty if they do not tell."""
    repository = enclosing_repository(root)
    return _commit_in_files(repository) if repository else ""


def remote_and_commit(repository: Repository) -> tuple[str, str]:
    """(URL of the remote, a commit that it has), read from files alone; each is empty if they do not tell.

    The remote is `origin`, or the first by name. Its last known commit of the current branch comes before that of its own
    HEAD; a detached HEAD, as in a clone at a tag, is taken to be published.
    """
    urls = {k[7:-4]: v for k, v in configured(repository).items() if k.startswith("remote.") and k.endswith(".url")}
    name = "origin" if "origin" in urls else min(urls, default="")
    head = (read_regular(repository.git_folder / "HEAD") or b"").strip()
    branch = os.fsdecode(head.removeprefix(b"ref: refs/heads/")) if head.startswith(b"ref: ") else ""
    refs = [f"refs/remotes/{name}/{branch}", f"refs/remotes/{name}/HEAD"] if branch else []
    known = (_commit_in_files(repository, ref) for ref in (*refs, "HEAD") if ".." not in ref)
    return urls.get(name, ""), next(filter(None, known), "")


def _commit_in_files(repository: Repository, name: str = "HEAD") -> str:
    """The commit of a ref according to loose and packed refs; empty if they do not tell."""
    folder = repository.git_folder if name == "HEAD" else repository.common
    for _ in range(_MOST_LINKS):
        message = (read_regular(folder / os.fsdecode(name)) or b"").strip()
        if not message:
            packed = read_regular(repository.common / "packed-refs") or b""
            found = re.search(rb"^([0-9a-f]+) " + re.escape(os.fsencode(name)) + rb"$", packed, re.MULTILINE)
            message = found[1] if found else b""
        if _COMMIT.fullmatch(message):
            return message.decode()
        if not message.startswith(b"ref: refs/") or b".." in message:
            return ""
        folder, name = repository.common, os.fsdecode(message.removeprefix(b"ref: "))
    return ""


def _commit_by_git(repository: Repository) -> str:
    try:
        return run_git(repository, "rev-parse", "--verify", "--end-of-options", "HEAD^{commit}").decode().strip()
    except GitError as fault:
        raise GitError("no commit yet" if "Needed a single revision" in str(fault) else str(fault)) from None


def first_commits(repository: Repository) -> frozenset[str]:
    """The commits of HEAD's history that have no parent: those with which the repository began. Raises GitError."""
    return frozenset(run_git(repository, "rev-list", "--max-parents=0", "HEAD", "--").decode("ascii").split())


def count_differences(repository: Repository, before: str, after: str) -> int:
    """Number of files that differ between two commits. Raises GitError."""
    options = ("-r", "--name-only", "-z", "--no-renames", "--no-ext-diff", "--ignore-submodules=all")
    return run_git(repository, "diff-tree", *options, before, after, "--").count(b"\0")


def read_changes(
    head: Head, before: HistoryRead | None = None, known: Mapping[str, History] | None = None
) -> tuple[HistoryRead, dict[str, History]]:
    """The history that was read, and path → history for all its paths, including deleted files. Raises GitError.

    `known` is what was read `before`; it saves time and does not change the result.
    """
    until = time.monotonic() + SECONDS
    commits, whole = _window(head, head.commit, until)
    if not commits and head.cut:
        raise GitError("a shallow clone without any commit whose parent is known")
    files = None
    if before and known is not None and before.head and not before.fault and before.terms == head.terms:
        files = _carried_on(head, before.head, commits, known, until)
    if files is None:
        files = _counted(head, commits, until)
    output = _timed(git_within(head, until, "rev-list", "--timestamp", "--max-count=1", head.commit, "--"))
    return HistoryRead(head.commit, head.terms, output[head.commit], len(commits), whole), files


def _window(head: Head, commit: str, until: float) -> tuple[dict[str, int], bool]:
    """The last commits that are not merges (commit → time, newest first), and whether these are all."""
    most = f"--max-count={MOST_COMMITS + 1}"
    found = _timed(git_within(head, until, "rev-list", "--timestamp", "--no-merges", most, commit, "--"))
    last = dict(list(found.items())[:MOST_COMMITS])
    return {name: at for name, at in last.items() if name not in head.cut}, len(found) <= MOST_COMMITS and not head.cut


def _timed(output: bytes) -> dict[str, int]:
    rows = (line.split() for line in output.decode("ascii").splitlines())
    return {commit: min(int(at), LATEST) for at, commit in rows}


def _carried_on(
    head: Head, before: str, commits: Mapping[str, int], known: Mapping[str, History], until: float
) -> dict[str, History] | None:
    """The known histories plus new commits and minus those that went; None where that is uncertain or saves nothing."""
    try:
        old, _ = _window(head, before, until)
    except TooSlow:
        raise
    except GitError:  # a rebase may have left the commit behind and git removed it
        return None
    came = {name: at for name, at in commits.items() if name not in old}
    gone = {name: at for name, at in old.items() if name not in commits}
    if len(came) + len(gone) >= len(commits):
        return None
    files = dict(known)
    for path, lost in _counted(head, gone, until).items():
        had = files.pop(path, None)
        if had is None or had.commits < lost.commits:
            return None
        if had.commits > lost.commits:
            if had.changed <= lost.changed:  # the last change went, and the one before it is unknown
                return None
            files[path] = History(had.commits - lost.commits, had.changed)
    for path, more in _counted(head, came, until).items():
        had = files.get(path, History(0, 0))
        files[path] = History(had.commits + more.commits, max(had.changed, more.changed))
    return files


def _counted(head: Head, commits: Mapping[str, int], until: float) -> dict[str, History]:
    counts: dict[bytes, int] = {}
    last: dict[bytes, int] = {}
    names = list(commits)
    for start in range(0, len(names), AT_ONCE):
        for commit, path in _touched(head, names[start : start + AT_ONCE], until):
            counts[path] = counts.get(path, 0) + 1
            last[path] = max(last.get(path, 0), commits[commit])
    above = len(os.fsencode(head.below)) + 1 if head.below else 0
    return {shown_path(os.fsdecode(path[above:])): History(count, last[path]) for path, count in counts.items()}


def _touched(head: Head, commits: Sequence[str], until: float) -> Iterator[tuple[str, bytes]]:
    """Pairs (commit, path) of all changes. git prints `commit NUL :modes… NUL path NUL :modes… NUL path NUL commit…`."""
    output = git_within(
        head,
        until,
        *("--literal-pathspecs", "diff-tree", "--stdin", "-r", "--root", "--raw", "--abbrev=4", "-z", "--no-renames"),
        *("--no-ext-diff", "--no-textconv", "--no-relative", "--ignore-submodules=all", "--"),
        *([head.below] if head.below else []),
        given="".join(f"{commit}\n" for commit in commits).encode(),
    )
    fields, commit = iter(output.split(b"\0")), ""
    for field in fields:
        if field.startswith(b":"):
            yield commit, next(fields)
        else:
            commit = field.decode("ascii")


def git_within(head: Head, until: float, *arguments: str, given: bytes = b"") -> bytes:
    """git's output within the time limit. Raises GitError, and TooSlow if no time is left."""
    left = until - time.monotonic()
    try:
        if left > 0:
            return run_git(head.repository, *arguments, seconds=left, given=given)
    except GitError:
        if time.monotonic() < until:
            raise
    raise TooSlow(f"git took longer than {SECONDS:.0f} seconds")
