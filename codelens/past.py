"""What an index knows of the past of its files and of its own: nouns of worktree, store, search and snapshots."""

from __future__ import annotations

from typing import NamedTuple

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


class SymbolFact(NamedTuple):
    """A symbol as a snapshot remembers it."""

    kind: str
    name: str
    """Qualified."""
    line: int
    signature: str


class EdgeFact(NamedTuple):
    """An edge by the names of its ends."""

    source: str
    """Qualified name of the symbol it begins in; empty: the file."""
    kind: str
    path: str
    """Of the file that it ends in; empty: an external."""
    target: str
    """Qualified name, or name of an external; empty: the file."""


@dataclass(frozen=True, slots=True)
class DocumentFacts:
    """What a snapshot remembers of one document."""

    repository: str
    path: str
    sha256: str
    symbols: tuple[SymbolFact, ...]
    edges: tuple[EdgeFact, ...]


class SymbolPlace(NamedTuple):
    """A symbol with where it stands."""

    repository: str
    path: str
    symbol: SymbolFact


class EdgePlace(NamedTuple):
    """An edge with the file that it stands in."""

    repository: str
    path: str
    edge: EdgeFact


@dataclass(frozen=True, slots=True)
class SymbolChange:
    """A symbol that is there before and after, as another."""

    old: SymbolPlace
    new: SymbolPlace


@dataclass(frozen=True, slots=True)
class Difference:
    """Between two states, each list in the order of contents."""

    added: tuple[SymbolPlace, ...]
    removed: tuple[SymbolPlace, ...]
    moved: tuple[SymbolChange, ...]
    """To another file, or into another symbol; their signature may have changed too."""
    changed: tuple[SymbolChange, ...]
    """Another signature."""
    edges_added: tuple[EdgePlace, ...]
    edges_removed: tuple[EdgePlace, ...]

    @property
    def empty(self) -> bool:
        """Whether both states have the same symbols and edges."""
        return not (self.added or self.removed or self.moved or self.changed or self.edges_added or self.edges_removed)


class Run(NamedTuple):
    """Lines that follow each other and were last written by one commit."""

    lines: int
    commit: int
    """Its number; 0 for one that was not read."""


@dataclass(frozen=True, slots=True)
class LineCommit:
    """A commit as far as lines are told by it."""

    time: int
    """When it was committed, unix seconds."""
    author: str
    """Name <address>; of a merge, who made the last commit of what was merged."""


@dataclass(frozen=True, slots=True)
class WrittenLines:
    """Who wrote the lines of a file. Lines after the last run are older than what was read."""

    blob: bytes
    """git's name of the content that has these lines."""
    last: int
    """The last commit that changed the file."""
    runs: tuple[Run, ...]


@dataclass(frozen=True, slots=True)
class LastChange:
    """When something last changed, and by whom."""

    time: int
    """Unix seconds; where it is older than what was read, the latest that it can be."""
    author: str = ""
    """Name <address>; empty where it is not known."""
    commits: int = 0
    """How many commits wrote lines that still stand in it; 0 where it is not known."""
    exact: bool = True
    """False: it was no later."""
    whole_file: bool = False
    """It is that of a file whose parts can be told apart."""
