"""Commits after a base → tasks: what each asks, and the definitions it changed that the base already has.

The base is the nearest commit of the first line of descent that has the wanted number of usable commits after it: so the
tree that is asked is as near as can be to what the commits saw, and nothing of an answer is in it.
"""

from __future__ import annotations

import os
from bisect import bisect_left
from collections import Counter
from collections.abc import Container, Iterator, Sequence

from codelens.evaluation.made.definitions import changed, defines
from codelens.evaluation.made.reading import Reader
from codelens.evaluation.made.subjects import query_of, refused
from codelens.nouns import dataclass
from codelens.runs import Progress, ProgressSink
from codelens.worktree.history import Message, changes_of, commits_between, first_parents, messages

LOOKED_AT = 10
"""Commits looked at for each that is wanted, at most."""
MOST_FILES = MOST_DEFINITIONS = 8
"""Of one commit: one that changes more says little of each. Chosen."""
STEP = 1.25
"""How much further each next base is tried. Chosen: so up to a quarter of the commits is read in vain."""
AT_ONCE = 40
"""Commits whose files are asked of git together."""

Place = tuple[str, str]
"""(path, qualified name)"""


@dataclass(frozen=True, slots=True)
class Changing:
    """A commit that can be asked for, and the definitions that it changed, as they are in the base."""

    message: Message
    places: tuple[Place, ...]


@dataclass(frozen=True, slots=True)
class Chosen:
    """A base and the usable commits after it, the nearest to it first."""

    base: str
    head: str
    tasks: tuple[Changing, ...]
    looked_at: int
    """Commits after the base, merges aside."""
    left_out: Counter[str]
    """Reason → commits."""


def choose(reader: Reader, head: str, wanted: int, progress: ProgressSink | None = None) -> Chosen:
    """The base and its commits; where the history has fewer than are wanted, the base that has most of them.

    `head` is a commit's id. Raises GitError.
    """
    line = _Line(reader, head)
    farthest = line.nearest(wanted * LOOKED_AT, None)
    search = _Search(reader, messages(reader.repository, line.commits[farthest], head), progress)
    tried: list[tuple[int, int]] = []
    window, at = float(wanted), -1
    while at < farthest and (not tried or tried[-1][0] < wanted):
        window *= STEP
        at = min(farthest, line.nearest(window, search.asked))
        tried.append((len(search.usable(line.commits[at], line.after(at))), -at))
    at = -max(tried)[1] if tried[-1][0] < wanted else at
    base, after = line.commits[at], line.after(at)
    usable = search.usable(base, after)[::-1]
    left_out = search.left_out(base, after)
    if len(usable) > wanted:
        left_out["more than were wanted"] += len(usable) - wanted
    return Chosen(base, head, tuple(usable[:wanted]), len(after), left_out)


class _Line:
    """The first line of descent, newest first, and what lies after each of its commits."""

    def __init__(self, reader: Reader, head: str) -> None:
        self._reader, self._head = reader, head
        self.commits = first_parents(reader.repository, head)
        self._after: dict[int, list[str]] = {}

    def after(self, at: int) -> list[str]:
        """The commits after one of the line, newest first."""
        if at not in self._after:
            self._after[at] = commits_between(self._reader.repository, self.commits[at], self._head)
        return self._after[at]

    def nearest(self, wanted: float, among: Container[str] | None) -> int:
        """The nearest one of the line that has so many commits after it (of those `among`); else the last."""
        found = bisect_left(
            range(len(self.commits)),
            wanted,
            key=lambda at: sum(among is None or one in among for one in self.after(at)),
        )
        return min(found, len(self.commits) - 1)


class _Search:
    """What commits changed, read as far as it is asked for."""

    def __init__(self, reader: Reader, told: Sequence[Message], progress: ProgressSink | None) -> None:
        self._reader, self._progress = reader, progress
        self.asked: dict[str, Message] = {}
        self._refused: dict[str, str] = {}
        self._places: dict[str, tuple[Place, ...] | None] = {}
        subjects: set[str] = set()
        for message in told:
            subject = query_of(message).casefold()
            why = _refused(message) or ("a subject again" if subject in subjects else "")
            subjects.add(subject)
            if why:
                self._refused[message.id] = why
            else:
                self.asked[message.id] = message

    def usable(self, base: str, commits: Sequence[str]) -> list[Changing]:
        """Those of the commits, in their order, that changed definitions which the base has."""
        return [Changing(self.asked[one], kept) for one, kept in self._kept(base, commits) if not _misses(kept)]

    def left_out(self, base: str, commits: Sequence[str]) -> Counter[str]:
        """Reason → how many of the commits make no task."""
        counts = Counter(self._refused[one] for one in commits if one in self._refused)
        for one, kept in self._kept(base, commits):
            if self._places[one] is None:
                counts["git lacks its files"] += 1
            elif why := _misses(kept):
                counts[why if self._places[one] else "changes no definition"] += 1
        return counts

    def _kept(self, base: str, commits: Sequence[str]) -> Iterator[tuple[str, tuple[Place, ...]]]:
        asked = [one for one in commits if one in self.asked]
        self._read([one for one in asked if one not in self._places])
        paths = sorted({path for one in asked for path, _ in self._places[one] or ()})
        names = self._reader.names(base, paths)
        for one in asked:
            yield one, tuple(p for p in self._places[one] or () if p[1] in names.get(p[0], ()))

    def _read(self, commits: Sequence[str]) -> None:
        for start in range(0, len(commits), AT_ONCE):
            together = commits[start : start + AT_ONCE]
            if self._progress:
                self._progress(Progress("history", len(self._places), 0, self.asked[together[0]].subject))
            self._places |= dict(zip(together, self._changed(together), strict=True))

    def _changed(self, commits: Sequence[str]) -> Iterator[tuple[Place, ...] | None]:
        """The definitions that each commit changed, in order of files and places, as they were in its parent."""
        parents = [self.asked[one].parents[0] for one in commits]
        found = changes_of(self._reader.repository, commits)
        changes = [
            [
                (path, c.hunks)
                for c in one or ()
                if c.old is not None and c.hunks and defines(path := os.fsdecode(c.old))
            ]
            for one in found
        ]
        wanted = [(parent, path) for parent, files in zip(parents, changes, strict=True) for path, _ in files]
        texts = iter(self._reader.texts(wanted))
        for one, files in zip(found, changes, strict=True):
            places: dict[Place, None] = {}
            for path, hunks in files:
                file = self._reader.parsed(path, next(texts))
                places |= {(path, unit.qualified_name): None for unit in (changed(file, hunks) if file else ())}
            yield tuple(places) if one is not None else None


def _refused(message: Message) -> str:
    """Why a commit makes no task, as far as its message and its list of files tell."""
    files = sum(bool(path) and defines(path) for path in message.paths)
    if why := refused(message):
        return why
    return "" if 0 < files <= MOST_FILES else f"more than {MOST_FILES} source files" if files else "no source file"


def _misses(kept: Sequence[Place]) -> str:
    """Why these definitions make no task."""
    if not kept:
        return "changes only what the base does not have"
    return f"more than {MOST_DEFINITIONS} definitions" if len(kept) > MOST_DEFINITIONS else ""
