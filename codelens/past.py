"""What an index knows of the past of its files: nouns of worktree, store and search."""

from __future__ import annotations

from codelens.nouns import dataclass


@dataclass(frozen=True, slots=True)
class History:
    """How often the commits that were read changed a file, and when the last of them did (unix seconds)."""

    commits: int
    changed: int


@dataclass(frozen=True, slots=True)
class HistoryRead:
    """What was read of a repository's history, or why it is not known."""

    head: str
    """The commit up to which it was read; empty where the next run has to try again."""
    terms: str
    """All else that decides what is read: the same head under the same terms gives the same."""
    time: int = 0
    """When the head was committed, unix seconds: the present, for all that counts days."""
    commits: int = 0
    """How many were read: no merges, and only the last ones."""
    whole: bool = False
    """Whether there are no older ones."""
    fault: str = ""
    """Why the history is not known, in one line; empty if it is."""
