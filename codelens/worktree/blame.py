"""Which commit wrote each line of a folder's files: one pass over diffs, extended by new commits.

Only the first-parent line counts. There each diff applies to the one before it, so the result is exact, and the same at
once or commit by commit. Lines that a merge brought belong to the merge, with the author of the last commit merged. git
blame would follow every branch, one file at a time, and be many times slower.
"""

from __future__ import annotations

import hashlib
import os
import re
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from codelens.model.fast_dataclass import dataclass
from codelens.model.history import MOST_COMMITS, LineCommit, LineRun, WrittenLines
from codelens.worktree.changes import LATEST, SECONDS, Head, git_within
from codelens.worktree.diffs import FileChange, read_diff
from codelens.worktree.files import shown_path

AT_ONCE = 50  # Commits per git process, so that their diffs fit into memory
MOST_DIFFED = 10_000_000
"""Bytes of the largest file whose lines are tracked. A diff is held in memory: that of a new file of 60 MB took 400 MB.
Chosen.
"""
RULES = "lines 2"  # Change the number whenever what is read changes
_COMMIT_LINE = re.compile(rb"\n([0-9a-f]{40,64})(?=\n)")
_FILE_LINE = re.compile(rb"\ndiff --git ")
_HUNK_LINE = re.compile(rb"\n@@ -(\d+)(?:,(\d+))? \+\d+(?:,(\d+))? @@")
"""Lines of git's diffs; those of files begin with another character. With ^ instead of \\n a search takes five times as long."""
_DIGITS = 15
"""Hexadecimal digits of a commit's id that make its number: 60 bits, so that two of a thousand commits do not collide."""

_DIFF_TREE = (
    *("--literal-pathspecs", "diff-tree", "--stdin", "-r", "--root", "-p", "--unified=0", "--find-renames", "-l400"),
    *("--no-color", "--no-ext-diff", "--no-textconv", "--no-relative", "--diff-algorithm=myers"),
    *("--no-indent-heuristic", "--inter-hunk-context=0", "--src-prefix=a/", "--dst-prefix=b/"),
    *("--submodule=short", "--ignore-submodules=all"),
)
Files = dict[bytes, tuple[int, list[LineRun]]]  # git's path → (last commit, runs)


class LineChange(NamedTuple):
    """A hunk: its first old line, from 1 (without any, the line above), and the number of old and of new lines."""

    start: int
    old: int
    new: int


@dataclass(frozen=True, slots=True)
class LinesRead:
    """All line histories of a repository, up to a head."""

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


def line_terms(head: Head) -> str:
    """A hash of everything except the head that decides what is read."""
    parts = (RULES, str(MOST_COMMITS), head.terms)
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]


def read_lines(head: Head, before: str = "", known: Mapping[str, WrittenLines] | None = None) -> LinesRead:
    """The commits that wrote the lines of the head's files. `known` is what was read up to the commit `before`; it
    saves time and does not change the result. Raises GitError, and TooSlow after SECONDS.
    """
    until = time.monotonic() + SECONDS
    records = _first_line(head, until)
    names = [one.name for one in records]
    new = records[: names.index(before)] if known is not None and before in names else records
    files = _loaded(head, known or {}) if len(new) < len(records) else {}
    for start in range(len(new), 0, -AT_ONCE):
        _carry_on(files, head, new[max(0, start - AT_ONCE) : start][::-1], until)
    commits = {one.number: one.commit for one in records}
    return LinesRead(commits, dict(_written(head, files, commits, until)))


def _first_line(head: Head, until: float) -> list[_LineageCommit]:
    """The last commits on the first-parent line, newest first, without those at which a shallow clone ends."""
    form = "--format=%H%x00%P%x00%ct%x00%an <%ae>%x00"
    shape = ("--no-show-signature", "--no-notes", "--no-color", form)
    raw = git_within(head, until, "log", "--first-parent", f"--max-count={MOST_COMMITS}", *shape, head.commit, "--")
    rows = [row for row in _rows(raw) if row[0] not in head.cut]
    merged = {row[0]: row[1].split()[1] for row in rows if len(row[1].split()) > 1}
    given = "".join(f"{name}\n" for name in dict.fromkeys(merged.values())).encode()
    authors = (
        {r[0]: r[3] for r in _rows(git_within(head, until, "log", "--no-walk", "--stdin", *shape, given=given))}
        if given
        else {}
    )
    return [
        _LineageCommit(
            name,
            tuple(parents.split()),
            LineCommit(min(int(at or LATEST), LATEST), authors.get(merged.get(name, ""), author)),
        )
        for name, parents, at, author in rows
    ]


def _rows(raw: bytes) -> Iterator[tuple[str, str, str, str]]:
    fields = raw.decode("utf-8", "replace").split("\0")
    for at in range(0, len(fields) - 4, 4):
        name, parents, seconds, author = fields[at : at + 4]
        yield name.strip(), parents, seconds, author


def _carry_on(files: Files, head: Head, records: Sequence[_LineageCommit], until: float) -> None:
    """Apply the diffs of these commits, oldest first, each against its first parent."""
    given = "".join(f"{' '.join((one.name, *one.parents[:1]))}\n" for one in records).encode()
    raw = git_within(
        head,
        until,
        *("-c", f"core.bigFileThreshold={MOST_DIFFED}"),
        *_DIFF_TREE,
        *("--", *([head.below] if head.below else [])),
        given=given,
    )
    names = [(0, max(raw.find(b"\n"), 0)), *(found.span(1) for found in _COMMIT_LINE.finditer(raw))]
    ends = [*(start for start, _ in names[1:]), len(raw)]
    places = {raw[start:stop].decode(): (stop, end) for (start, stop), end in zip(names, ends, strict=True)}
    for one in records:
        _apply(files, list(_changes(raw, *places.get(one.name, (0, 0)))), one.number)


def _changes(raw: bytes, start: int, end: int) -> Iterator[tuple[FileChange, list[LineChange]]]:
    """The files of the diff in raw[start:end], each with its hunks, of which only the first line is read: a first commit can have
    the text of a whole tree.
    """
    starts = [found.start() for found in _FILE_LINE.finditer(raw, start, end)]
    for place, following in pairwise([*starts, end]):
        hunks = list(_HUNK_LINE.finditer(raw, place, following))
        header = raw[place : hunks[0].start() if hunks else following]
        for change in read_diff(header):
            yield change, [LineChange(int(h[1]), int(h[2] or 1), int(h[3] or 1)) for h in hunks]


def _apply(files: Files, changes: Sequence[tuple[FileChange, list[LineChange]]], commit: int) -> None:
    """Update the state of all files to a commit. Renamed files keep their lines; binary files have none."""
    before = {c.old: files.pop(c.old, (0, [])) for c, _ in changes if c.old is not None}
    for change, hunks in changes:
        if change.new is None:
            continue
        _, runs = before.get(change.old, (0, [])) if change.old is not None else (0, [])
        files[change.new] = (commit, [] if change.binary else rewritten(runs, hunks, commit))


def rewritten(runs: Sequence[LineRun], hunks: Sequence[LineChange], commit: int) -> list[LineRun]:
    """The runs after a commit whose hunks have these line ranges, in order. Lines beyond the runs are older: commit 0."""
    found: list[LineRun] = []
    rest = list(runs)[::-1]
    place = 0  # lines of the old side already copied

    def take(lines: int, keep: bool) -> None:
        while lines > 0:
            run = rest.pop() if rest else LineRun(lines, 0)
            taken = min(lines, run.lines)
            if run.lines > taken:
                rest.append(LineRun(run.lines - taken, run.commit))
            if keep:
                found.append(LineRun(taken, run.commit))
            lines -= taken

    for hunk in hunks:
        old, new = hunk.old, hunk.new
        first = hunk.start - 1 if old else hunk.start
        take(first - place, keep=True)
        take(old, keep=False)
        if new:
            found.append(LineRun(new, commit))
        place = first + old
    return tidied([*found, *reversed(rest)])


def tidied(runs: Iterable[LineRun]) -> list[LineRun]:
    """The same lines in the fewest runs, without a last run of commit 0."""
    found: list[LineRun] = []
    for run in runs:
        if found and found[-1].commit == run.commit:
            found[-1] = LineRun(found[-1].lines + run.lines, run.commit)
        elif run.lines:
            found.append(run)
    return found[:-1] if found and not found[-1].commit else found


def _loaded(head: Head, known: Mapping[str, WrittenLines]) -> Files:
    above = f"{head.below}/" if head.below else ""
    return {_git_path(above, path): (lines.last, list(lines.runs)) for path, lines in known.items()}


def _git_path(above: str, path: str) -> bytes:
    """git's form of a document's path, in which \\xNN stands for a byte."""
    raw = re.sub(rb"\\x([0-9a-f]{2})", lambda found: bytes([int(found[1], 16)]), path.encode())
    return os.fsencode(above) + raw


def _written(
    head: Head, files: Files, commits: Mapping[int, LineCommit], until: float
) -> Iterator[tuple[str, WrittenLines]]:
    """Files of the head that these commits changed, in order of path, without references to other commits."""
    records = git_within(head, until, "ls-tree", "-r", "-z", "--full-tree", "--end-of-options", head.commit)
    above = len(os.fsencode(head.below)) + 1 if head.below else 0
    for entry in records.split(b"\0"):
        fields, _, path = entry.partition(b"\t")
        last, runs = files.get(path, (0, []))
        if last in commits and fields.split()[1:2] == [b"blob"]:
            own = tidied(run if run.commit in commits else LineRun(run.lines, 0) for run in runs)
            name = shown_path(os.fsdecode(path[above:]))
            yield name, WrittenLines(bytes.fromhex(fields.split()[2].decode()), last, tuple(own))
