"""What a run of indexing says of itself, and what an index says of the trees it holds."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field
from enum import StrEnum

from codelens.model import IndexInfo, Notice
from codelens.nouns import dataclass
from codelens.past import HistoryRead


@dataclass(frozen=True, slots=True)
class IndexReport:
    """What an index run did. seen = indexed + skipped, always."""

    index: str
    root: str
    seen: int
    indexed: int
    """Documents in the index after the run."""
    added: int
    changed: int
    renamed: int
    removed: int
    unchanged: int
    symbols: int
    chunks: int
    skipped: Mapping[str, int]
    """Reason → number."""
    encodings: Mapping[str, int]
    languages: Mapping[str, int]
    faults: Mapping[str, str]
    """Path → what the grammar could not do; its text is indexed all the same."""
    source_bytes: int
    index_bytes: int
    seconds: float
    wrote: bool
    """False where nothing had changed and the file was not touched."""
    resumed: bool
    references: Mapping[str, int] = field(default_factory=dict)
    """What became of the uses of names in all documents: name of `relations.LINK_COUNTS` → number."""
    cpu_seconds: Mapping[str, float] = field(default_factory=dict)
    """Phase (read, link, history, finish) → seconds of processor time of all processes."""
    notices: tuple[Notice, ...] = ()


@dataclass(frozen=True, slots=True)
class Progress:
    """How far an index run is. `total` is 0 while it is not known; `path` is the file last finished."""

    phase: str
    """index, link, history, embed, verify: a word for people."""
    done: int
    total: int
    path: str = ""


ProgressSink = Callable[[Progress], None]

WRITTEN, UNFINISHED = "the index is up to date", "`codelens index` goes on where it was"
"""What the KeyboardInterrupt of an interrupted run carries: whether it came after the work was written."""


@dataclass(frozen=True, slots=True)
class Changes:
    """What the tree says against the index: paths relative to the repository's root, sorted."""

    new: tuple[str, ...]
    changed: tuple[str, ...]
    deleted: tuple[str, ...]

    def __bool__(self) -> bool:
        return bool(self.new or self.changed or self.deleted)


@dataclass(frozen=True, slots=True)
class RepositoryStatus:
    """What the index holds of one repository. Mappings are name → number, largest first."""

    name: str
    root: str
    documents: int
    units: Mapping[str, int]
    """Kind → number."""
    languages: Mapping[str, int]
    encodings: Mapping[str, int]
    skipped: Mapping[str, int]
    """Reason → number."""
    faults: Mapping[str, str]
    """Path → what its grammar could not do."""
    source_bytes: int
    references: Mapping[str, int]
    """What became of the uses of names: name of `relations.LINK_COUNTS` → number."""
    stale: int
    """Documents that another recipe made: the next index run derives them anew."""
    changes: Changes | None
    """None where the tree was not walked, or is not there."""

    history: HistoryRead | None = None
    """None where no run has read it."""

    gone: bool = False
    """The root is no folder any more."""

    @property
    def is_stale(self) -> bool:
        """Whether the tree is known to be another than the one indexed; one that is gone is."""
        return bool(self.changes) or self.gone


@dataclass(frozen=True, slots=True)
class Status:
    """The state of an index file."""

    index: IndexInfo
    repositories: tuple[RepositoryStatus, ...]
    file_bytes: int
    tables: Mapping[str, int]
    """Table → bytes with its indexes, largest first."""
    journal_mode: str
    unfinished: str
    """Path of a build that was begun and not finished; empty if there is none."""
    notices: tuple[Notice, ...] = ()


class WatchStep(StrEnum):
    """What a watch may say."""

    WATCHING = "watching"
    UPDATED = "updated"
    LOOKED = "looked"
    """The trees were walked and nothing had changed: of no interest to people."""
    WAITING = "waiting"
    """Another process writes the index."""
    FAULT = "fault"
    """An update failed; it is tried again."""
    GONE = "gone"
    """A root is no folder any more; what the index has of it stays."""
    BACK = "back"
    POLLING = "polling"
    """Events cannot be had here: the trees are walked now and then."""
    ENDED = "ended"


@dataclass(frozen=True, slots=True)
class WatchEvent:
    """One thing that happened to a watch; `text` is for people."""

    step: WatchStep
    text: str
    reports: tuple[IndexReport, ...] = ()
    """Of an update: one for each root."""


WatchSink = Callable[[WatchEvent], None]
