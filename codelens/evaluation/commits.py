"""Turn commits into tasks: the message is the query, the changed definitions are the answers.

The searched tree is that of a base commit before all of them, so that it does not reveal the answers. The base is the nearest
first-parent ancestor with the wanted number of usable commits after it.
"""

from __future__ import annotations

import os
import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Container, Iterator, Sequence

from codelens.evaluation.tasks import Place
from codelens.evaluation.trees import GitReader, find_changed_units, has_definitions
from codelens.model.fast_dataclass import frozen_dataclass
from codelens.model.runs import Progress, ProgressSink
from codelens.training.histories import strip_subject
from codelens.worktree.commits import (
    CommitRecord,
    diff_commits,
    list_commits_between,
    list_first_parents,
    read_commits_between,
)

FEWEST_WORDS, MOST_WORDS = 8, 60
"""Minimum and maximum number of words used from a commit's explanation. Chosen: a sentence and a paragraph."""
_NUMBER = re.compile(r"(?:\s*\((?:#|GH-)\d+\)|\s+#\d+)+\s*$")
_BOT = re.compile(
    r"\[bot\]|\bbot\b|dependabot|renovate|greenkeeper|github-actions|pre-commit-ci|weblate|transifex|mergify|crowdin|snyk-",
    re.IGNORECASE,
)
_RELEASE = (
    r"v?\d+(?:\.\d+)+\S*$",
    r".*\bbump(?:s|ed|ing)?\b",
    r".*\b(?:up|down)grade[sd]?\b.*\d\.\d",
    r".*\bupdates? (?:dependency|dependencies|deps)\b",
    r".*\b(?:chore|build|fix)\(deps[^)]*\)",
    r".*\bnext (?:development|dev|snapshot) (?:version|iteration)",
    r"prepar(?:e|ing)\b.*\brelease$",
    r"(?:\[?\w[\w-]*\]?:? )?(?:prepare|cut|tag|start|begin|post|pre|finali[sz]e)?[- ]?(?:for |the |a |next |new )*"
    r"release[sd]?(?:\b.*\d\.\d|$)",
    r".*\b(?:version|release) v?\d+\.\d",
    r".*\bupdate (?:the )?(?:version|changelog|change log)\b",
    r"deploy(?:ing|ed)? to \S+ from @",
    r".*\bfrom v?\d+\.\d\S* to v?\d",
)
_MERGED = (
    r"(?:remote-tracking |the )?(?:pull|branch|tag|commit|pr\b)|[#'\"]|\S+ (?:in)?to \S+$|(?:\S+ )?from \S+$"
    r"|[\w./-]*[/_.-]\S*$|\w+$"
)  # Words after "merge" in git's own messages for merges. "Merge the two overloads" is a change
_KINDS = (
    ("a merge", re.compile(rf"merge[sd]?:? (?:{_MERGED})", re.IGNORECASE)),
    ("a revert", re.compile(r"(?:\w+(?:\([^)]*\))?:\s*)?(?:revert|this reverts|reapply|back out)\b", re.IGNORECASE)),
    ("a release or a version", re.compile("|".join(_RELEASE), re.IGNORECASE)),
)
_TRAILER = re.compile(
    r"(?:[A-Z][\w]*(?:-[\w]+)+|fix\w*|close[sd]?|refs?|see|resolve[sd]?|issue|bug|cc|pr|link|related(?: to)?|part of)"
    r"\s*:?\s*(?:(?:[\w./-]*#|GH-)\d+|https?:|:|\S+@)|[A-Z][\w]*(?:-[\w]+)+:\s|\(cherry picked",
    re.IGNORECASE,
)
_URL = re.compile(r"<?\bhttps?://\S+")
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_FENCE = re.compile(r"\s*(?:```|~~~)")
_FORM = re.compile(r"#+ |[-+] \[[ xX]\]|\* ")
"""Start of a line from a pull request template (heading, check box), or of a squashed commit's subject."""


def find_refusal(message: CommitRecord) -> str:
    """Find the reason why a commit makes no task, from its message and paths; empty if it may make a task."""
    if _BOT.search(message.author):
        return "by a bot"
    for why, shape in _KINDS:
        if shape.match(message.subject):
            return why
    if not message.parents:
        return "the first commit"
    if not strip_subject(message.subject):
        return "too few words"
    files = sum(bool(path) and has_definitions(path) for path in message.paths)
    if not files:
        return "no source file"
    return "" if files <= MOST_FILES else f"more than {MOST_FILES} source files"


def make_subject_query(message: CommitRecord) -> str:
    """Make a query of a commit's subject, without its pull request number."""
    return _NUMBER.sub("", message.subject).strip()


def make_explained_query(message: CommitRecord) -> str:
    """Make a query of the subject and the body's first paragraph; empty if that paragraph adds too little."""
    subject = make_subject_query(message)
    words = _find_first_paragraph(message.body).removeprefix(subject).lstrip(".… ").split()
    if len(words) < FEWEST_WORDS or set(words) <= set(subject.split()):
        return ""
    return f"{subject.rstrip('.… ')}. {' '.join(words[:MOST_WORDS])}"


def _find_first_paragraph(body: str) -> str:
    """Find the body's first paragraph of prose, without trailers and URLs; empty if code comes first."""
    texts: list[str] = []
    for line in map(str.strip, _COMMENT.sub("", body).splitlines()):
        if _FENCE.match(line) or (not line and texts):
            break
        text = _URL.sub("", line).strip()
        if text.strip("-=*_ ") and not _TRAILER.match(line) and not _FORM.match(line):
            texts.append(text.removeprefix("- "))
    return " ".join(texts)


LOOKED_AT = 10  # Maximum number of commits examined per wanted task
MOST_FILES = MOST_DEFINITIONS = 8  # Limits on one commit. The message of a larger change says little about each part.
STEP = 1.25  # Growth factor of the search window. At most a quarter of the commits are read needlessly.
AT_ONCE = 40  # Number of commits whose files are read from git at once


@frozen_dataclass
class ChangingCommit:
    """A usable commit, and those definitions of the base that it changed."""

    message: CommitRecord
    places: tuple[Place, ...]


@frozen_dataclass
class ChosenCommits:
    """A base commit and the usable commits after it, nearest first."""

    base: str
    head: str
    tasks: tuple[ChangingCommit, ...]
    looked_at: int  # Number of commits after the base, without merges
    left_out: Counter[str]  # Reason → number of commits


def choose_commits(reader: GitReader, head: str, wanted: int, progress: ProgressSink | None = None) -> ChosenCommits:
    """Choose the base and the commits; if the history has too few usable commits, the base with most of them after it.

    `head` is a commit id. Raises GitError.
    """
    line = _FirstParents(reader, head)
    farthest = line.find_nearest(wanted * LOOKED_AT, None)
    search = _CommitSearch(reader, read_commits_between(reader.repository, line.commits[farthest], head), progress)
    tried: list[tuple[int, int]] = []
    window, at = float(wanted), -1
    while at < farthest and (not tried or tried[-1][0] < wanted):
        window *= STEP
        at = min(farthest, line.find_nearest(window, search.accepted))
        tried.append((len(search.select_usable(line.commits[at], line.list_commits_after(at))), -at))
    at = -max(tried)[1] if tried[-1][0] < wanted else at
    base, after = line.commits[at], line.list_commits_after(at)
    usable = search.select_usable(base, after)[::-1]
    left_out = search.count_left_out(base, after)
    if len(usable) > wanted:
        left_out["more than were wanted"] += len(usable) - wanted
    return ChosenCommits(base, head, tuple(usable[:wanted]), len(after), left_out)


class _FirstParents:
    """The first-parent history of a commit, newest first."""

    def __init__(self, reader: GitReader, head: str) -> None:
        self._reader, self._head = reader, head
        self.commits = list_first_parents(reader.repository, head)
        self._after: dict[int, list[str]] = {}

    def list_commits_after(self, at: int) -> list[str]:
        """List the commits after the commit at index `at`, newest first."""
        if at not in self._after:
            self._after[at] = list_commits_between(self._reader.repository, self.commits[at], self._head)
        return self._after[at]

    def find_nearest(self, wanted: float, among: Container[str] | None) -> int:
        """Find the index of the nearest commit with at least `wanted` commits, of those in `among`, after it; else the last."""
        index = bisect_left(
            range(len(self.commits)),
            wanted,
            key=lambda at: sum(among is None or commit in among for commit in self.list_commits_after(at)),
        )
        return min(index, len(self.commits) - 1)


class _CommitSearch:
    """A search for the definitions that commits changed. It reads only as many commits as needed."""

    def __init__(self, reader: GitReader, history: Sequence[CommitRecord], progress: ProgressSink | None) -> None:
        self._reader, self._progress = reader, progress
        self.accepted: dict[str, CommitRecord] = {}
        self._refused: dict[str, str] = {}
        self._places: dict[str, tuple[Place, ...] | None] = {}
        subjects: set[str] = set()
        for message in history:
            subject = make_subject_query(message).casefold()
            why = find_refusal(message) or ("a subject again" if subject in subjects else "")
            subjects.add(subject)
            if why:
                self._refused[message.id] = why
            else:
                self.accepted[message.id] = message

    def select_usable(self, base: str, commits: Sequence[str]) -> list[ChangingCommit]:
        """Select the commits, in order, that changed a suitable number of the base's definitions."""
        return [
            ChangingCommit(self.accepted[commit], places)
            for commit, places in self._find_base_places(base, commits)
            if not _explain_unusable(places)
        ]

    def count_left_out(self, base: str, commits: Sequence[str]) -> Counter[str]:
        """Count the commits that make no task, by reason."""
        counts = Counter(self._refused[commit] for commit in commits if commit in self._refused)
        for commit, places in self._find_base_places(base, commits):
            if self._places[commit] is None:
                counts["git lacks its files"] += 1
            elif why := _explain_unusable(places):
                counts[why if self._places[commit] else "changes no definition"] += 1
        return counts

    def _find_base_places(self, base: str, commits: Sequence[str]) -> Iterator[tuple[str, tuple[Place, ...]]]:
        accepted = [commit for commit in commits if commit in self.accepted]
        self._read_places([commit for commit in accepted if commit not in self._places])
        paths = sorted({path for commit in accepted for path, _ in self._places[commit] or ()})
        names = self._reader.find_names(base, paths)
        for commit in accepted:
            yield commit, tuple(p for p in self._places[commit] or () if p[1] in names.get(p[0], ()))

    def _read_places(self, commits: Sequence[str]) -> None:
        for start in range(0, len(commits), AT_ONCE):
            batch = commits[start : start + AT_ONCE]
            if self._progress:
                self._progress(Progress("history", len(self._places), 0, self.accepted[batch[0]].subject))
            self._places |= dict(zip(batch, self._find_changed_places(batch), strict=True))

    def _find_changed_places(self, commits: Sequence[str]) -> Iterator[tuple[Place, ...] | None]:
        """Yield the definitions of its parent that each commit changed; None if git lacks the files."""
        parents = [self.accepted[commit].parents[0] for commit in commits]
        changes = diff_commits(self._reader.repository, commits)
        files_of_commits = [
            [
                (path, change.hunks)
                for change in changes_of_commit or ()
                if change.old is not None and change.hunks and has_definitions(path := os.fsdecode(change.old))
            ]
            for changes_of_commit in changes
        ]
        wanted = [(parent, path) for parent, files in zip(parents, files_of_commits, strict=True) for path, _ in files]
        texts = iter(self._reader.read_texts(wanted))
        for changes_of_commit, files in zip(changes, files_of_commits, strict=True):
            places: dict[Place, None] = {}
            for path, hunks in files:
                file = self._reader.parse(path, next(texts))
                units = find_changed_units(file, hunks) if file else ()
                places |= {(path, unit.qualified_name): None for unit in units}
            yield tuple(places) if changes_of_commit is not None else None


def _explain_unusable(places: Sequence[Place]) -> str:
    """Explain why these definitions make no task; empty if they can make a task."""
    if not places:
        return "changes only what the base does not have"
    return f"more than {MOST_DEFINITIONS} definitions" if len(places) > MOST_DEFINITIONS else ""
