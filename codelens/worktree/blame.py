"""Finds the commit that wrote each line of a folder's files, in one pass over the diffs of the first-parent line.

New commits extend an earlier result. Each diff applies to the one before it, so the result is exact. Lines that a merge brought
belong to the merge, with the author of the last commit merged. git blame would follow every branch, one file at a time, and be
many times slower."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from codelens.model.fast_dataclass import dataclass
from codelens.model.history import MOST_LINE_COMMITS, LineCommit, LineRun, WrittenLines
from codelens.worktree.diffs import FileChange, read_diff
from codelens.worktree.files import escape_path, unescape_path
from codelens.worktree.history import LATEST, SECONDS, Head, hash_terms, run_git_within

COMMITS_A_CALL = 50  # Commits per git process, so that their diffs fit into memory
RULES = "lines 2"  # Change the number whenever what is read changes
_COMMIT_LINE = re.compile(rb"\n([0-9a-f]{40,64})(?=\n)")
_FILE_LINE = re.compile(rb"\ndiff --git ")
_HUNK_LINE = re.compile(rb"\n@@ -(\d+)(?:,(\d+))? \+\d+(?:,(\d+))? @@")
"""Lines of git's diffs; those of files begin with another character. With ^ instead of \\n a search takes five times as long."""
_DIGITS = 15  # Hexadecimal digits of a commit's id in its number: 60 bits, so that a thousand commits do not collide

_DIFF_TREE = (
    *("diff-tree", "--stdin", "-r", "--root", "-p", "--unified=0", "--find-renames", "--no-indent-heuristic"),
    "--ignore-submodules=all",
)
Files = dict[bytes, tuple[int, list[LineRun]]]  # git's path → (last commit, runs)


class LineChange(NamedTuple):
    """A hunk: its first old line, counted from 1, and how many old and new lines it has. Without old lines, the line above."""

    start: int
    old: int
    new: int


@dataclass(frozen=True, slots=True)
class LinesRead:
    commits: Mapping[int, LineCommit]
    files: Mapping[str, WrittenLines]


@dataclass(frozen=True, slots=True)
class _LineageCommit:
    name: str
    parents: tuple[str, ...]
    commit: LineCommit

    @property
    def number(self) -> int:
        return int(self.name[:_DIGITS], 16) or 1


def hash_line_terms(head: Head) -> str:
    return hash_terms(RULES, str(MOST_LINE_COMMITS), head.terms)


def read_lines(head: Head, before: str = "", known: Mapping[str, WrittenLines] | None = None) -> LinesRead:
    """Find the commits that wrote the lines of the head's files. `known` is the result up to the commit `before`; it saves time
    and does not change the result. Raises GitError, and TooSlow after SECONDS."""
    until = time.monotonic() + SECONDS
    lineage = _read_lineage(head, until)
    names = [commit.name for commit in lineage]
    new = lineage[: names.index(before)] if known is not None and before in names else lineage
    files: Files = {}
    above = f"{head.below}/" if head.below else ""
    if known and len(new) < len(lineage):
        for path, lines in known.items():
            files[os.fsencode(above + unescape_path(path))] = (lines.last, list(lines.runs))
    for start in range(len(new), 0, -COMMITS_A_CALL):
        _apply_diffs(files, head, new[max(0, start - COMMITS_A_CALL) : start][::-1], until)
    commits = {commit.number: commit.commit for commit in lineage}
    written: dict[str, WrittenLines] = {}  # Without references to other commits
    records = run_git_within(head, until, "ls-tree", "-r", "-z", "--end-of-options", head.commit)
    for entry in records.split(b"\0"):
        fields, _, raw = entry.partition(b"\t")
        last, runs = files.get(raw, (0, []))
        if last in commits and fields.split()[1:2] == [b"blob"]:
            known_runs = join_runs(run if run.commit in commits else LineRun(run.lines, 0) for run in runs)
            path = escape_path(os.fsdecode(raw[len(os.fsencode(above)) :]))
            written[path] = WrittenLines(bytes.fromhex(fields.split()[2].decode()), last, tuple(known_runs))
    return LinesRead(commits, written)


def _read_lineage(head: Head, until: float) -> list[_LineageCommit]:
    """Read the last commits on the first-parent line, newest first, except those at which a shallow clone ends."""

    def read_log(*options: str, given: bytes = b"") -> Iterator[Sequence[str]]:
        """Read (commit, parents, time, author) of each commit."""
        output = run_git_within(
            head,
            until,
            "log",
            "--format=%H%x00%P%x00%ct%x00%an <%ae>%x00",
            *options,
            given=given,
        )
        fields = output.decode("utf-8", "replace").split("\0")
        return ((fields[at].strip(), *fields[at + 1 : at + 4]) for at in range(0, len(fields) - 4, 4))

    last = read_log("--first-parent", f"--max-count={MOST_LINE_COMMITS}", head.commit, "--")
    rows = [row for row in last if row[0] not in head.cut]
    merged = {row[0]: row[1].split()[1] for row in rows if len(row[1].split()) > 1}
    given = "".join(f"{name}\n" for name in dict.fromkeys(merged.values())).encode()
    authors = {row[0]: row[3] for row in read_log("--no-walk", "--stdin", given=given)} if given else {}
    lineage = []
    for name, parents, at, author in rows:
        commit = LineCommit(min(int(at or LATEST), LATEST), authors.get(merged.get(name, ""), author))
        lineage.append(_LineageCommit(name, tuple(parents.split()), commit))
    return lineage


def _apply_diffs(files: Files, head: Head, lineage: Sequence[_LineageCommit], until: float) -> None:
    """Apply the diffs of these commits, oldest first, each against its first parent. Renamed files keep their lines; binary
    files have none."""
    given = "".join(f"{' '.join((commit.name, *commit.parents[:1]))}\n" for commit in lineage).encode()
    raw = run_git_within(head, until, *_DIFF_TREE, "--", *head.pathspecs, given=given)
    names = [(0, max(raw.find(b"\n"), 0)), *(match.span(1) for match in _COMMIT_LINE.finditer(raw))]
    ends = [*(start for start, _ in names[1:]), len(raw)]
    places = {raw[start:stop].decode(): (stop, end) for (start, stop), end in zip(names, ends, strict=True)}
    for commit in lineage:
        changes = list(_read_changes(raw, *places.get(commit.name, (0, 0))))
        before = {c.old: files.pop(c.old, (0, [])) for c, _ in changes if c.old is not None}
        for change, hunks in changes:
            if change.new is not None:
                _, runs = before.get(change.old or b"", (0, []))
                files[change.new] = (commit.number, [] if change.binary else rewrite_runs(runs, hunks, commit.number))


def _read_changes(raw: bytes, start: int, end: int) -> Iterator[tuple[FileChange, list[LineChange]]]:
    """Yield the files of the diff in raw[start:end] with their hunks. Skips the text, which may be that of a whole tree."""
    starts = [match.start() for match in _FILE_LINE.finditer(raw, start, end)]
    for place, following in pairwise([*starts, end]):
        hunks = list(_HUNK_LINE.finditer(raw, place, following))
        header = raw[place : hunks[0].start() if hunks else following]
        for change in read_diff(header):
            yield change, [LineChange(int(h[1]), int(h[2] or 1), int(h[3] or 1)) for h in hunks]


def rewrite_runs(runs: Sequence[LineRun], hunks: Sequence[LineChange], commit: int) -> list[LineRun]:
    """Apply a commit's hunks, in order, to runs of lines. Lines beyond the runs are older: commit 0."""
    new_runs: list[LineRun] = []
    rest = list(runs)[::-1]
    place = 0  # lines of the old side already copied

    def move_lines(lines: int, keep: bool) -> None:
        """Copy or drop this number of old lines."""
        while lines > 0:
            run = rest.pop() if rest else LineRun(lines, 0)
            taken = min(lines, run.lines)
            if run.lines > taken:
                rest.append(LineRun(run.lines - taken, run.commit))
            if keep:
                new_runs.append(LineRun(taken, run.commit))
            lines -= taken

    for hunk in hunks:
        first = hunk.start - 1 if hunk.old else hunk.start
        move_lines(first - place, keep=True)
        move_lines(hunk.old, keep=False)
        if hunk.new:
            new_runs.append(LineRun(hunk.new, commit))
        place = first + hunk.old
    return join_runs([*new_runs, *reversed(rest)])


def join_runs(runs: Iterable[LineRun]) -> list[LineRun]:
    """Join the lines into the fewest runs, and drop a last run of commit 0."""
    joined: list[LineRun] = []
    for run in runs:
        if joined and joined[-1].commit == run.commit:
            joined[-1] = LineRun(joined[-1].lines + run.lines, run.commit)
        elif run.lines:
            joined.append(run)
    return joined[:-1] if joined and not joined[-1].commit else joined
