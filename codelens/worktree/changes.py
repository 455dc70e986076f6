"""A folder's git history → for each of its files, how many of the last commits changed it, and when the last of these was made.

Merges do not count, renames are not followed, and the commits at which a shallow clone was cut off are left out: git would
call every file changed by them. A history that was read before is carried on by the commits that have come and gone since, and
where that could give something else than reading it anew, it is read anew.
"""

from __future__ import annotations

import hashlib
import os
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from codelens.nouns import dataclass
from codelens.past import History, HistoryRead
from codelens.worktree.paths import shown_path
from codelens.worktree.plumbing import GitError, run_git
from codelens.worktree.repository import Repository, enclosing_repository, read_regular

MOST_COMMITS = 5000
"""Commits that are read. Chosen: years of most projects, and a third of a second for those of pandoc."""
SECONDS = 30.0
"""After which a history is given up. Chosen, not measured."""
AT_ONCE = 500
"""Commits that one git process tells of, so that what it tells fits into memory. Chosen."""
LATEST = 1 << 52
"""Seconds above this are nonsense that somebody wrote into a commit, and no database takes them all."""
RULES = "changes 1"
"""Change the number with anything that changes what is read, so that histories are read anew."""
_COMMIT = re.compile(rb"(?:[0-9a-f]{40}|[0-9a-f]{64})")
_MOST_LINKS = 5
"""Symbolic refs that lead to symbolic refs; as in git."""


@dataclass(frozen=True, slots=True)
class Head:
    """Where a history begins, and what bounds it."""

    repository: Repository
    commit: str
    below: str
    """The indexed folder within the repository, as bytes that were decoded for the operating system; empty for all of it."""
    cut: frozenset[str]
    """The commits at which a shallow clone ends."""

    @property
    def terms(self) -> str:
        """See `HistoryRead.terms`."""
        parts = (RULES, str(MOST_COMMITS), self.below, *sorted(self.cut))
        return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogateescape")).hexdigest()[:16]


class TooSlow(GitError):
    """git took longer than SECONDS: trying again would take as long."""


def head_of(root: Path) -> Head:
    """Where the history of a folder begins, found without git where its refs are files. Raises GitError."""
    repository = enclosing_repository(root)
    if repository is None:
        raise GitError("no git repository")
    below = root.relative_to(repository.top).as_posix()
    cut = (read_regular(repository.common / "shallow") or b"").decode("ascii", "replace").split()
    commit = _commit_in_files(repository) or _commit_by_git(repository)
    return Head(repository, commit, "" if below == "." else below, frozenset(cut))


def _commit_in_files(repository: Repository) -> str:
    """HEAD's commit as git's loose and packed refs have it; empty where they do not say."""
    folder, name = repository.git_folder, "HEAD"
    for _ in range(_MOST_LINKS):
        said = (read_regular(folder / os.fsdecode(name)) or b"").strip()
        if not said:
            packed = read_regular(repository.common / "packed-refs") or b""
            found = re.search(rb"^([0-9a-f]+) " + re.escape(os.fsencode(name)) + rb"$", packed, re.MULTILINE)
            said = found[1] if found else b""
        if _COMMIT.fullmatch(said):
            return said.decode()
        if not said.startswith(b"ref: refs/") or b".." in said:
            return ""
        folder, name = repository.common, os.fsdecode(said.removeprefix(b"ref: "))
    return ""


def _commit_by_git(repository: Repository) -> str:
    try:
        return run_git(repository, "rev-parse", "--verify", "--end-of-options", "HEAD^{commit}").decode().strip()
    except GitError as fault:
        raise GitError("no commit yet" if "Needed a single revision" in str(fault) else str(fault)) from None


def read_changes(
    head: Head, before: HistoryRead | None = None, known: Mapping[str, History] | None = None
) -> tuple[HistoryRead, dict[str, History]]:
    """What was read, and path → history for all paths that it speaks of, also of files that are gone. Raises GitError.

    `known` is what was read `before`: the answer is the same without, later.
    """
    until = time.monotonic() + SECONDS
    commits, whole = _window(head, head.commit, until)
    if not commits and head.cut:
        raise GitError("a shallow clone that holds no commit with its parent")
    files = None
    if before and known is not None and before.head and not before.fault and before.terms == head.terms:
        files = _carried_on(head, before.head, commits, known, until)
    if files is None:
        files = _counted(head, commits, until)
    told = _timed(git_within(head, until, "rev-list", "--timestamp", "--max-count=1", head.commit, "--"))
    return HistoryRead(head.commit, head.terms, told[head.commit], len(commits), whole), files


def _window(head: Head, commit: str, until: float) -> tuple[dict[str, int], bool]:
    """(commit → its time, newest first; whether these are all) of the last commits that are no merges."""
    most = f"--max-count={MOST_COMMITS + 1}"
    found = _timed(git_within(head, until, "rev-list", "--timestamp", "--no-merges", most, commit, "--"))
    last = dict(list(found.items())[:MOST_COMMITS])
    return {name: at for name, at in last.items() if name not in head.cut}, len(found) <= MOST_COMMITS and not head.cut


def _timed(told: bytes) -> dict[str, int]:
    rows = (line.split() for line in told.decode("ascii").splitlines())
    return {commit: min(int(at), LATEST) for at, commit in rows}


def _carried_on(
    head: Head, before: str, commits: Mapping[str, int], known: Mapping[str, History], until: float
) -> dict[str, History] | None:
    """The known histories with the commits that came and without those that went; None where that is not certain, or no less."""
    try:
        old, _ = _window(head, before, until)
    except TooSlow:
        raise
    except GitError:  # nobody keeps a commit that a rebase left behind
        return None
    come = {name: at for name, at in commits.items() if name not in old}
    gone = {name: at for name, at in old.items() if name not in commits}
    if len(come) + len(gone) >= len(commits):
        return None
    files = dict(known)
    for path, lost in _counted(head, gone, until).items():
        had = files.pop(path, None)
        if had is None or had.commits < lost.commits:
            return None
        if had.commits > lost.commits:
            if had.changed <= lost.changed:  # the last change went: which is the last now?
                return None
            files[path] = History(had.commits - lost.commits, had.changed)
    for path, more in _counted(head, come, until).items():
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
    """(commit, path) of all that these changed. git tells `commit NUL :modes… NUL path NUL :modes… NUL path NUL commit…`."""
    told = git_within(
        head,
        until,
        *("--literal-pathspecs", "diff-tree", "--stdin", "-r", "--root", "--raw", "--abbrev=4", "-z", "--no-renames"),
        *("--no-ext-diff", "--no-textconv", "--no-relative", "--ignore-submodules=all", "--"),
        *([head.below] if head.below else []),
        given="".join(f"{commit}\n" for commit in commits).encode(),
    )
    fields, commit = iter(told.split(b"\0")), ""
    for field in fields:
        if field.startswith(b":"):
            yield commit, next(fields)
        else:
            commit = field.decode("ascii")


def git_within(head: Head, until: float, *arguments: str, given: bytes = b"") -> bytes:
    """What git prints, as long as there is time. Raises GitError, and TooSlow where there is none left."""
    left = until - time.monotonic()
    try:
        if left > 0:
            return run_git(head.repository, *arguments, seconds=left, given=given)
    except GitError:
        if time.monotonic() < until:
            raise
    raise TooSlow(f"git took longer than {SECONDS:.0f} seconds")
