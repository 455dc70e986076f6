"""Reads a folder's recent commits with their messages, and which of them changed each file, from git's history.

Merges do not count. Commits at which a shallow clone ends are left out, because git reports every file as changed by them. If a
part of the history is known, only new commits are read."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from codelens.model.fast_dataclass import dataclass
from codelens.model.history import FileHistory, HistoryRead, PastCommit
from codelens.worktree.files import escape_path
from codelens.worktree.repository import (
    GitError,
    Repository,
    TooSlow,
    find_enclosing_repository,
    read_configuration,
    read_regular,
    run_git,
)

MOST_LOG_COMMITS = 5000  # Commits that are read. Years of most projects, and a third of a second for those of pandoc.
SECONDS = 30.0  # Time limit for reading a history
COMMITS_A_CALL = 500  # Commits per git process, so that its output fits into memory
LATEST = 1 << 52  # Latest commit time in seconds. Larger values are invalid, and some databases cannot hold them.
RULES = "changes 2"  # Change the number whenever what is read changes, so that histories are read again
LONGEST_SUBJECT, LONGEST_BODY = 200, 500  # Characters of a message that are kept
_TRAILER = re.compile(r"(?im)^(?:signed-off-by|co-authored-by|reviewed-by|change-id|cc|closes|fixes):.*$\n?")
_COMMIT = re.compile(rb"(?:[0-9a-f]{40}|[0-9a-f]{64})")
_MOST_LINKS = 5  # Limit on symbolic refs that lead to symbolic refs, as in git


@dataclass(frozen=True, slots=True)
class Head:
    """The commit at which a history starts, and what limits the history."""

    repository: Repository
    commit: str
    below: str  # The indexed folder within the repository, as a path of the operating system; empty for the whole repository
    cut: frozenset[str]  # Commits at which a shallow clone ends

    @property
    def pathspecs(self) -> list[str]:
        """The arguments that limit git's output to the indexed folder."""
        if not self.below:
            return []
        return [f":(literal){self.below}"]

    @property
    def terms(self) -> str:
        """A hash of what limits this history; see `HistoryRead.terms`."""
        return hash_terms(RULES, str(MOST_LOG_COMMITS), self.below, *sorted(self.cut))


def hash_terms(*parts: str) -> str:
    """Hash to 16 hex digits everything, apart from the head, that decides what is read."""
    import hashlib  # loads OpenSSL

    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogateescape")).hexdigest()[:16]


def find_head(root: Path) -> Head:
    """Find the head of a folder's history, without running git if the refs are files. Raises GitError."""
    repository = find_enclosing_repository(root)
    if repository is None:
        raise GitError("not a git repository")
    below = root.resolve().relative_to(repository.top).as_posix()
    cut = (read_regular(repository.common / "shallow") or b"").decode("ascii", "replace").split()
    commit = _read_ref(repository)
    try:
        commit = commit or run_git(repository, "rev-parse", "--verify", "HEAD^{commit}").decode().strip()
    except GitError as fault:
        raise GitError("no commit yet" if "Needed a single revision" in str(fault) else str(fault)) from None
    return Head(repository, commit, "" if below == "." else below, frozenset(cut))


def read_head_commit(root: Path) -> str:
    """Read HEAD's commit in a folder's repository from files alone; empty if they do not have it."""
    repository = find_enclosing_repository(root)
    return _read_ref(repository) if repository else ""


def read_remote_and_commit(repository: Repository) -> tuple[str, str]:
    """Read (URL of the remote, a commit that it has) from files alone; each is empty if they lack it. The remote is `origin`,
    or the first by name; its current branch comes before its HEAD. A detached HEAD is taken to be published."""
    settings = read_configuration(repository).items()
    urls = {key[7:-4]: value for key, value in settings if key.startswith("remote.") and key.endswith(".url")}
    name = "origin" if "origin" in urls else min(urls, default="")
    head = (read_regular(repository.git_folder / "HEAD") or b"").strip()
    branch = os.fsdecode(head.removeprefix(b"ref: refs/heads/")) if head.startswith(b"ref: ") else ""
    refs = [f"refs/remotes/{name}/{branch}", f"refs/remotes/{name}/HEAD"] if branch else []
    known = (_read_ref(repository, ref) for ref in (*refs, "HEAD") if ".." not in ref)
    return urls.get(name, ""), next(filter(None, known), "")


def _read_ref(repository: Repository, name: str = "HEAD") -> str:
    """Read the commit of a ref from loose and packed refs; empty if they lack it."""
    folder = repository.git_folder if name == "HEAD" else repository.common
    for _ in range(_MOST_LINKS):
        message = (read_regular(folder / os.fsdecode(name)) or b"").strip()
        if not message:
            packed = read_regular(repository.common / "packed-refs") or b""
            ref = re.search(rb"^([0-9a-f]+) " + re.escape(os.fsencode(name)) + rb"$", packed, re.MULTILINE)
            message = ref[1] if ref else b""
        if _COMMIT.fullmatch(message):
            return message.decode()
        if not message.startswith(b"ref: refs/") or b".." in message:
            return ""
        folder, name = repository.common, os.fsdecode(message.removeprefix(b"ref: "))
    return ""


def list_first_commits(repository: Repository) -> frozenset[str]:
    """List the commits without a parent in HEAD's history, with which the repository began. Raises GitError."""
    return frozenset(run_git(repository, "rev-list", "--max-parents=0", "HEAD", "--").decode("ascii").split())


def count_differences(repository: Repository, before: str, after: str) -> int:
    """Count the files that differ between two commits. Raises GitError."""
    options = ("-r", "--name-only", "-z", "--no-renames", "--ignore-submodules=all")
    return run_git(repository, "diff-tree", *options, before, after, "--").count(b"\0")


def read_changes(
    head: Head, known: Mapping[str, PastCommit] | None = None
) -> tuple[HistoryRead, tuple[PastCommit, ...]]:
    """Read the commits of a history, newest first. Returns the extent of what was read, and the commits. `known` maps names to
    commits read before; it saves time and does not change the result. Raises GitError."""
    until = time.monotonic() + SECONDS
    found_times = _read_commit_times(head, until, "--no-merges", f"--max-count={MOST_LOG_COMMITS + 1}")
    is_whole = len(found_times) <= MOST_LOG_COMMITS and not head.cut
    times = {name: at for name, at in list(found_times.items())[:MOST_LOG_COMMITS] if name not in head.cut}
    if not times and head.cut:
        raise GitError("a shallow clone without any commit whose parent is known")
    commits = {name: commit for name, commit in (known or {}).items() if name in times}
    new = [name for name in times if name not in commits]
    for start in range(0, len(new), COMMITS_A_CALL):
        batch = new[start : start + COMMITS_A_CALL]
        commits |= {commit.name: commit for commit in _read_commits(head, batch, times, until)}
    head_time = _read_commit_times(head, until, "--max-count=1")[head.commit]
    read = HistoryRead(head.commit, head.terms, head_time, len(times), is_whole)
    return read, tuple(commits[name] for name in times if name in commits)


def _read_commit_times(head: Head, until: float, *options: str) -> dict[str, int]:
    """Map each commit to its time, newest first."""
    output = run_git_within(head, until, "rev-list", "--timestamp", *options, head.commit, "--")
    rows = (line.split() for line in output.decode("ascii").splitlines())
    return {commit: min(int(at), LATEST) for at, commit in rows}


def _read_commits(head: Head, names: Sequence[str], times: Mapping[str, int], until: float) -> Iterator[PastCommit]:
    """Yield commits with their messages and the paths that they changed, in order.

    git prints `mark name NUL subject NUL body NUL LF :modes… status NUL path NUL …`, and a second path after the status of a
    rename. Only files that moved unchanged count as renamed, because that is known without reading any content. No message can
    contain the mark, which is random."""
    mark = os.urandom(16).hex().encode()
    output = run_git_within(
        head,
        until,
        "diff-tree",
        *("--stdin", "-r", "--root", "--raw", "--abbrev=4", "-z", "--always"),
        *("--find-renames=100%", "--no-rename-empty", "--ignore-submodules=all", "--no-notes"),
        *(f"--format=format:{mark.decode()}%H%x00%s%x00%b%x00", "--", *head.pathspecs),
        given="".join(f"{name}\n" for name in names).encode(),
    )
    above = len(os.fsencode(head.below)) + 1 if head.below else 0
    for part in output.split(mark)[1:]:
        name, subject, body, *fields = part.split(b"\0")
        paths, renames, rest = list[str](), list[tuple[str, str]](), iter(fields)
        for field in rest:
            if not (modes := field.lstrip(b"\n")).startswith(b":"):
                continue
            moved = modes.rpartition(b" ")[2].startswith(b"R")
            changed = [escape_path(os.fsdecode(next(rest)[above:])) for _ in range(1 + moved)]
            paths += changed
            renames += [(changed[0], changed[1])] if moved else []
        title = subject.decode("utf-8", "replace")[:LONGEST_SUBJECT]
        text = _TRAILER.sub("", body.decode("utf-8", "replace"))[:LONGEST_BODY].strip()
        commit = name.decode("ascii")
        yield PastCommit(commit, times[commit], title, text, tuple(paths), tuple(renames))


def collect_histories(commits: Sequence[PastCommit]) -> dict[str, FileHistory]:
    """Map each path of these commits, also a deleted one, to its history. A renamed file keeps its earlier history."""
    now: dict[str, str] = {}  # path at the time of a commit → its present path
    by_path: dict[str, list[PastCommit]] = {}
    for commit in commits:
        for old, new in commit.renames:
            now[old] = now.get(new, new)
        for path in dict.fromkeys(now.get(path, path) for path in commit.paths):
            by_path.setdefault(path, []).append(commit)
    return {
        path: FileHistory(len(commits), max(c.time for c in commits), tuple(c.name for c in commits if c.weight))
        for path, commits in by_path.items()
    }


def run_git_within(head: Head, until: float, command: str, *arguments: str, given: bytes = b"") -> bytes:
    """Run git within the time limit, and read its output. Raises GitError, and TooSlow if no time is left."""
    left = max(0.0, until - time.monotonic())
    try:
        return run_git(head.repository, command, *arguments, seconds=left, given=given)
    except TooSlow:
        raise TooSlow(f"git took longer than {SECONDS:.0f} seconds") from None
