"""Reads commits, their trees and the diffs between them with git's plumbing, which checks nothing out and runs no filter, hook,
textconv or external diff that a repository configures. Commits of a repository elsewhere are fetched without history into
an empty repository made for the purpose; nothing of the other side is executed, either."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from codelens.errors import UsageError
from codelens.files import write_new
from codelens.model.fast_dataclass import dataclass
from codelens.worktree.diffs import FileChange, read_diff
from codelens.worktree.repository import GitError, Repository, run_git

_COMMIT = b"\0codelens commit\0"
_COMMIT_LINE = re.compile(rb"^([0-9a-f]{40,64})\n", re.MULTILINE)
"""Separates the diffs of commits; lines of a diff itself always start with another character or word."""


@dataclass(frozen=True, slots=True)
class Commit:
    """A commit's subject, and the paths that it changed, each with the changed lines in their new state."""

    id: str
    subject: str
    files: tuple[tuple[str, tuple[int, ...]], ...]


def read_commits(repository: Repository, most: int) -> Iterator[Commit]:
    """Read the last commits that are not merges, without paths that are not UTF-8. Raises GitError."""
    shape = ("-p", "--unified=0", "--no-renames", "--diff-filter=AM", "--format=%x00codelens commit%x00%H %s")
    output = run_git(repository, "log", "--no-merges", f"--max-count={most}", *shape)
    for part in output.split(_COMMIT)[1:]:
        head, _, diff = part.partition(b"\n")
        identity, _, subject = head.decode("utf-8", "replace").partition(" ")
        files = []
        for change in read_diff(diff):
            path = _decode_path(change.new)
            lines = tuple(n for h in change.hunks for n in range(h.new_start, h.new_start + max(1, len(h.new))))
            if path and lines:
                files.append((path, lines))
        yield Commit(identity, subject, tuple(files))


def _decode_path(path: bytes | None) -> str:
    """Decode a path; empty for no path, or if it is not UTF-8."""
    try:
        return path.decode("utf-8") if path else ""
    except UnicodeDecodeError:
        return ""


def read_texts(repository: Repository, wanted: Sequence[tuple[str, str]]) -> Iterator[bytes | None]:
    """Read the contents of (commit, path) pairs by one git process; None for a file that git lacks. Raises GitError."""
    names = [f"{commit}:{path}".encode("utf-8", "surrogateescape") for commit, path in wanted]
    askable = [name for name in names if b"\n" not in name]
    output = run_git(repository, "cat-file", "--batch", given=b"".join(name + b"\n" for name in askable))
    at = 0
    for name in names:
        if b"\n" in name:
            yield None
            continue
        end = output.index(b"\n", at)
        head, at = output[at:end].split(b" "), end + 1
        size = int(head[2]) if len(head) == 3 and head[2].isdigit() else -1  # else it is missing
        yield output[at : at + size] if size >= 0 and head[1] == b"blob" else None  # not a folder or a submodule
        at += size + 1


@dataclass(frozen=True, slots=True)
class CommitRecord:
    """A commit's message, and the paths of the files that it changed; both paths of a renamed file."""

    id: str
    parents: tuple[str, ...]
    author: str  # Name <address>
    subject: str
    body: str
    paths: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TreeFile:
    path: str
    size: int


def list_first_parents(repository: Repository, head: str) -> list[str]:
    """List the commits on the first-parent line from `head`, newest first. Raises GitError."""
    return run_git(repository, "rev-list", "--first-parent", "--end-of-options", head).decode().split()


def list_commits_between(repository: Repository, after: str, head: str) -> list[str]:
    """List the commits of `head` that are not merges and not ancestors of `after`, newest first. Raises GitError."""
    return run_git(repository, "rev-list", "--no-merges", "--topo-order", head, f"^{after}").decode().split()


def read_commits_between(repository: Repository, after: str, head: str) -> list[CommitRecord]:
    """Read the commits of `list_commits_between`, without reading any file. Raises GitError."""
    output = run_git(
        repository,
        *("log", "--no-merges", "--topo-order", "--raw", "--no-abbrev", "-z", "--no-renames"),
        "--format=tformat:%H%x00%P%x00%an <%ae>%x00%s%x00%b",
        *(head, f"^{after}"),
    )
    fields, at = output.split(b"\0"), 0
    read: list[CommitRecord] = []
    while at + 5 <= len(fields):  # five fields for each commit, then kind and path of each changed file
        identity, parents, author, subject, body = (f.decode("utf-8", "replace") for f in fields[at : at + 5])
        at += 5
        paths: list[str] = []
        while at < len(fields) and (kind := fields[at].lstrip(b"\n"))[:1] in (b":", b""):
            paths += [_decode_path(fields[at + 1])] if kind else []
            at += 2 if kind else 1
        read.append(CommitRecord(identity, tuple(parents.split()), author, subject, body, tuple(paths)))
    return read


def diff_commits(repository: Repository, wanted: Sequence[str]) -> list[list[FileChange] | None]:
    """Diff commits with one parent, without context lines; None where a partial clone lacks objects."""
    if not wanted:
        return []
    shape = ("-r", "-p", "--unified=0", "--find-renames")
    given = "".join(f"{identity}\n" for identity in wanted).encode()
    try:
        output = run_git(repository, "diff-tree", "--stdin", *shape, given=given)
    except GitError:
        if len(wanted) == 1:
            return [None]
        middle = len(wanted) // 2
        return [*diff_commits(repository, wanted[:middle]), *diff_commits(repository, wanted[middle:])]
    parts = _COMMIT_LINE.split(output)
    diffs = dict(zip((identity.decode() for identity in parts[1::2]), parts[2::2], strict=True))
    return [read_diff(diffs.get(identity, b"")) for identity in wanted]


def list_tree_files(repository: Repository, commit: str) -> list[TreeFile]:
    """List the regular files of a commit's tree in git's order, without links and submodules. Leaves out paths that are not
    UTF-8, and paths that on any system could lead out of the folder or into its `.git`. Raises GitError."""
    output = run_git(repository, "ls-tree", "-r", "-z", "-l", "--end-of-options", commit)
    files = []
    for entry in output.split(b"\0"):
        head, _, name = entry.partition(b"\t")
        path = _decode_path(name)
        parts = path.replace("\\", "/").split("/")
        if any(part in ("", ".", "..") or part.casefold() == ".git" or ":" in part for part in parts):
            continue
        fields = head.split()
        if fields[0] in (b"100644", b"100755") and fields[3].isdigit():  # the size is "BAD" if git lacks the object
            files.append(TreeFile(path, int(fields[3])))
    return files


FILES_A_CALL = 200  # Files per git process, so that its output fits into memory


def write_tree(repository: Repository, commit: str, folder: Path, below: str = "", largest: int = 2_000_000) -> None:
    """Write a commit's regular files below this path, up to `largest` bytes each, into `folder`, except those that it already
    has with the same content; delete its other files. Raises GitError."""
    prefix = f"{below}/" if below else ""
    wanted = [f for f in list_tree_files(repository, commit) if f.path.startswith(prefix) and f.size <= largest]
    paths = {f.path.removeprefix(prefix) for f in wanted}
    for place in sorted(folder.rglob("*"), reverse=True):
        if place.is_file() and place.relative_to(folder).as_posix() not in paths:
            place.unlink()
        elif place.is_dir() and not any(place.iterdir()):
            place.rmdir()
    for start in range(0, len(wanted), FILES_A_CALL):
        batch = wanted[start : start + FILES_A_CALL]
        for file, raw in zip(batch, read_texts(repository, [(commit, f.path) for f in batch]), strict=True):
            place = folder / file.path.removeprefix(prefix)
            if raw is None or (place.is_file() and place.read_bytes() == raw):
                continue
            if place.parent.is_file():  # on a case-insensitive system two of git's names may be one
                continue
            if not place.is_dir():
                place.unlink(missing_ok=True)
                write_new(place, raw)


CONTEXT_LINES = 3  # Context lines of a hunk, which locate it in a file that has changed since
HINT = "for example main..HEAD; `git log --oneline` lists commits"
_AS_PATCH = ("-p", "--find-renames", f"--unified={CONTEXT_LINES}", "--ignore-submodules=all")
_RANGE = re.compile(r"(?P<base>.*?)(?P<dots>\.\.\.?)(?P<head>.*)")


def diff_range(repository: Repository, revisions: str) -> bytes:
    """Diff BASE..HEAD, or BASE...HEAD from their merge base, as unified text; a missing end means HEAD. Raises UsageError."""
    ends = _RANGE.fullmatch(revisions)
    if not ends:
        raise UsageError(f"'{revisions}' is not a revision range", "for example main..HEAD or main...HEAD")
    try:
        base, head = (resolve_commit(repository, ends[side] or "HEAD") for side in ("base", "head"))
        if ends["dots"] == "...":
            base = run_git(repository, "merge-base", base, head).decode().strip()
        return run_git(repository, "diff-tree", "-r", *_AS_PATCH, base, head, "--")
    except GitError as fault:
        raise UsageError(f"{revisions}: {fault}", HINT) from None


def diff_staged(repository: Repository) -> bytes:
    """Diff HEAD and git's index as unified text, without reading the work tree, which may run a filter. Raises UsageError."""
    try:
        return run_git(repository, "diff-index", "--cached", *_AS_PATCH, resolve_commit(repository, "HEAD"), "--")
    except GitError as fault:
        raise UsageError(f"--staged: {fault}") from None


def resolve_commit(repository: Repository, name: str) -> str:
    """Find the full id of a revision, so that user input is never taken for an option or a path. Raises GitError."""
    try:
        return run_git(repository, "rev-parse", "--verify", "--end-of-options", f"{name}^{{commit}}").decode().strip()
    except GitError as fault:
        message = f"no commit '{name}'" if "Needed a single revision" in str(fault) else str(fault)
        raise GitError(message) from None


FETCH_SECONDS = 1800.0  # Time limit for fetching one commit. A Linux kernel takes a few minutes on a slow line.
LOOK_SECONDS = 60.0  # Time limit for asking which commit a name means
_COMMIT_ID = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")


def resolve_remote_commit(url: str, ref: str) -> str:
    """Find the commit of a branch, tag or commit id at a URL; without a name, that of its HEAD. Raises GitError."""
    import tempfile  # few commands fetch

    with tempfile.TemporaryDirectory(prefix="codelens-") as folder:
        return _resolve_ref(_create_repository(Path(folder)), url, ref)[1]


def fetch_tree(url: str, ref: str, folder: Path, largest: int) -> str:
    """Replace a folder by the files of a remote commit, up to `largest` bytes each, with a git folder that holds only this
    commit. Returns its id. Raises GitError and OSError."""
    import shutil
    import tempfile

    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    with tempfile.TemporaryDirectory(prefix=".git-", dir=folder.parent) as beside:
        repository = _create_repository(Path(beside))
        name, _ = _resolve_ref(repository, url, ref)
        run_git(repository, "fetch", "--depth=1", "--", url, name, seconds=FETCH_SECONDS, network=True)
        commit = run_git(repository, "rev-parse", "--verify", "FETCH_HEAD^{commit}").decode().strip()
        write_tree(repository, commit, folder, largest=largest)
        run_git(repository, "update-ref", "--no-deref", "HEAD", commit)
        run_git(repository, "read-tree", commit)  # so that tracked files are known to be tracked
        run_git(repository, "config", "core.bare", "false")
        repository.git_folder.rename(folder / ".git")
    return commit


def _create_repository(folder: Path) -> Repository:
    made = folder / "repository"
    made.mkdir()
    repository = Repository(made, made, made)
    run_git(repository, "init", "--bare", str(made))
    return repository


def _resolve_ref(repository: Repository, url: str, ref: str) -> tuple[str, str]:
    """Resolve a name. Returns (what to fetch, its commit if the other side tells it)."""
    names = [f"refs/tags/{ref}", f"refs/heads/{ref}", ref] if ref else ["HEAD"]
    asked = [*names, *(f"{name}^{{}}" for name in names if name.startswith("refs/tags/"))]
    output = run_git(repository, "ls-remote", "--", url, *asked, seconds=LOOK_SECONDS, network=True)
    lines = (line.partition("\t") for line in output.decode("utf-8", "replace").splitlines())
    listed = {name: commit for commit, _, name in lines}
    for name in names:
        if name in listed:
            return name, listed.get(f"{name}^{{}}", listed[name])
    if _COMMIT_ID.fullmatch(ref):
        return ref, ref
    raise GitError(f"{url} has no branch, tag or commit '{ref}'" if ref else f"{url} has no commit yet")
