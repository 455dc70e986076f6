"""Git history of files and lines, and the symbols and edges that snapshots of an index keep and compare."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Annotated, NamedTuple

from codelens.model.fast_dataclass import frozen_dataclass

MessageId = Annotated[int, "message"]  # The number of a commit's message
MOST_LINE_COMMITS = 1000
"""Number of recent first-parent commits whose lines are attributed to authors. This takes 1.4 s of CPU for kombu, and 9 s for
saleor with its large generated files."""
MASS_CHANGE = 50  # Files. If a commit changes more, its message says little about each.


class PastCommit(NamedTuple):
    """A commit that is not a merge, with the paths that it changed."""

    name: str  # Its full object id
    time: int  # Commit time in unix seconds
    subject: str
    body: str  # The beginning of the message after its subject
    paths: tuple[str, ...]
    renames: tuple[tuple[str, str], ...]  # (old path, new path) of each file that moved unchanged

    @property
    def weight(self) -> float:
        """How much the message says about each changed file: 1 / √(files); 0 for a mass change."""
        return 1.0 / math.sqrt(len(self.paths)) if 0 < len(self.paths) <= MASS_CHANGE else 0.0


@frozen_dataclass
class FileHistory:
    """The commits that changed a file: their number, and the time of the last in unix seconds (`changed`)."""

    commits: int
    changed: int
    names: tuple[str, ...] = ()  # Names of those commits, without mass changes, newest first


@frozen_dataclass
class FileMessages:
    """Weights of the messages of the commits that changed a file, by the terms of a query."""

    said: float  # Sum of the weights of all these messages
    terms: Mapping[str, float]  # Term → sum of the weights of the messages that have it
    best: MessageId  # The message with the greatest weight; the newest of equals


@frozen_dataclass
class HistoryRead:
    """How much of a repository's history was read, or why it was not."""

    head: str  # Last commit read; empty if the next run has to try again
    terms: str  # Fingerprint of all else that the history read depends on
    time: int = 0  # Commit time of the head in unix seconds; ages are computed relative to it
    commits: int = 0  # Number of commits read: the most recent, without merges
    whole: bool = False  # True if there are no older commits
    fault: str = ""  # Reason why the history is unknown, in one line; empty if it is known


class SymbolFact(NamedTuple):
    """A symbol as a snapshot keeps it."""

    kind: str
    name: str  # Qualified name
    line: int
    signature: str


class EdgeFact(NamedTuple):
    """An edge as a snapshot keeps it, with the names of its ends."""

    source: str  # Qualified name of the source symbol; empty for the file itself
    kind: str
    path: str  # Path of the target's file; empty for an external
    target: str  # Qualified name of the target, or name of an external; empty for the file itself


@frozen_dataclass
class SnapshotDocument:
    """The facts of one document in a snapshot."""

    repository: str
    path: str
    sha256: str
    symbols: tuple[SymbolFact, ...]
    edges: tuple[EdgeFact, ...]


class SymbolPlace(NamedTuple):
    """A symbol with its file."""

    repository: str
    path: str
    symbol: SymbolFact


class EdgePlace(NamedTuple):
    """An edge with the file of its source."""

    repository: str
    path: str
    edge: EdgeFact


@frozen_dataclass
class SymbolChange:
    """A symbol that both states have, with differences."""

    old: SymbolPlace
    new: SymbolPlace


@frozen_dataclass
class SnapshotDifference:
    """The difference between two states; lists are in order of repository, path and line."""

    added: tuple[SymbolPlace, ...]
    removed: tuple[SymbolPlace, ...]
    moved: tuple[SymbolChange, ...]  # Symbols that moved to another file or symbol; their signature may differ too
    changed: tuple[SymbolChange, ...]  # Symbols with another signature
    edges_added: tuple[EdgePlace, ...]
    edges_removed: tuple[EdgePlace, ...]

    @property
    def empty(self) -> bool:
        """True if both states have the same symbols and edges."""
        return not (self.added or self.removed or self.moved or self.changed or self.edges_added or self.edges_removed)


class LineRun(NamedTuple):
    """A run of consecutive lines that the same commit last wrote."""

    lines: int
    commit: int  # Number of the commit; 0 if it was not read


@frozen_dataclass
class LineCommit:
    """Time and author of a commit."""

    time: int  # Commit time in unix seconds
    author: str  # Name <address>; for a merge, the author of the last merged commit


@frozen_dataclass
class WrittenLines:
    """The commits that last wrote the lines of a file. Lines after the last run are older than the history read."""

    blob: bytes  # git's object id of the content
    last: int  # The last commit that changed the file
    runs: tuple[LineRun, ...]


@frozen_dataclass
class LastChange:
    """Time and author of the last change of a file or unit."""

    time: int  # Unix seconds; if the change is older than the history read, the latest possible time
    author: str = ""  # Name <address>; empty if unknown
    commits: int = 0  # Number of commits that wrote its present lines; 0 if unknown
    exact: bool = True  # False if `time` is only an upper bound
    whole_file: bool = False  # True if it is a whole file's change and the units have their own
