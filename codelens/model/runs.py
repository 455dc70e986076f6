"""Reports, progress and events of index runs, and the status of an index or of a fleet's store."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import StrEnum

from codelens.model.code import IndexInfo
from codelens.model.fast_dataclass import field, frozen_dataclass
from codelens.model.history import HistoryRead
from codelens.model.search import Notice

Counts = Mapping[str, int]


@frozen_dataclass
class IndexReport:
    """The result of an index run. Always: seen = indexed + skipped."""

    index: str
    root: str
    seen: int
    indexed: int  # Documents in the index after the run
    added: int
    changed: int
    renamed: int
    removed: int
    unchanged: int
    symbols: int
    chunks: int
    skipped: Counts  # Reason → number
    encodings: Counts
    encoding_errors: int
    """Number of documents whose encoding is less certain than `encoding_threshold`. None of their bytes are lost."""
    languages: Counts
    faults: Mapping[str, str]  # Path → fault in parsing it. The text is indexed anyway.
    source_bytes: int
    index_bytes: int
    seconds: float
    wrote: bool  # False if nothing had changed, so that the index file was not written
    resumed: bool
    references: Counts = field(default_factory=dict)
    """Outcome of linking, a name of LINK_COUNTS → number of references, over all documents."""
    cpu_seconds: Mapping[str, float] = field(default_factory=dict)
    """Phase (read, link, history, finish) → seconds of processor time of all processes."""
    notices: tuple[Notice, ...] = ()


@frozen_dataclass
class Progress:
    """Progress of an index run. `total` is 0 while unknown; `path` is the file finished last."""

    phase: str  # index, link, history, embed or verify; shown to people
    done: int
    total: int
    path: str = ""


ProgressSink = Callable[[Progress], None]

WRITTEN, UNFINISHED = "the index is up to date", "`codelens index` goes on where it was"
"""Messages after a KeyboardInterrupt during a run, if it came after or before the index was written."""


@frozen_dataclass
class Changes:
    """Files that differ between the tree and the index, as sorted paths relative to the repository's root."""

    new: tuple[str, ...]
    changed: tuple[str, ...]
    deleted: tuple[str, ...]

    def __bool__(self) -> bool:
        return bool(self.new or self.changed or self.deleted)


@frozen_dataclass
class RepositoryStatus:
    """The indexed content of one repository. Mappings are name → number, largest first."""

    name: str
    root: str
    documents: int
    units: Counts  # Kind → number
    languages: Counts
    encodings: Counts
    skipped: Counts  # Reason → number
    faults: Mapping[str, str]  # Path → fault in parsing it
    source_bytes: int
    references: Counts  # Outcome of linking, a name of LINK_COUNTS → number of references
    stale: int  # Number of documents that the next index run derives again, because the recipe changed
    changes: Changes | None  # None if the tree was not walked or does not exist

    history: HistoryRead | None = None  # None if no run has read it

    gone: bool = False  # True if the root is not a directory any more

    @property
    def is_stale(self) -> bool:
        """True if the tree is known to differ from the index, or is gone."""
        return bool(self.changes) or self.gone


@frozen_dataclass
class Status:
    """The state of an index file."""

    index: IndexInfo
    repositories: tuple[RepositoryStatus, ...]
    file_bytes: int
    tables: Counts  # Table → bytes, including its indexes; largest first
    journal_mode: str
    unfinished: str  # Path of an unfinished build; empty if no build is unfinished
    notices: tuple[Notice, ...] = ()


class WatchStep(StrEnum):
    """Kinds of events of a watch."""

    WATCHING = "watching"
    UPDATED = "updated"
    LOOKED = "looked"  # The trees were walked and nothing had changed; not shown to people
    WAITING = "waiting"  # Another process is writing the index
    FAULT = "fault"  # An update failed and will be tried again
    GONE = "gone"  # A root is not a directory any more; its indexed content stays
    BACK = "back"
    POLLING = "polling"  # File events are not available here, so the trees are walked at intervals


@frozen_dataclass
class WatchEvent:
    """One event of a watch; `text` is for people."""

    step: WatchStep
    text: str
    reports: tuple[IndexReport, ...] = ()  # For an update, one report per root


WatchSink = Callable[[WatchEvent], None]


@frozen_dataclass
class FleetRepositoryStatus:
    """The status of one repository in the store."""

    name: str
    place: str  # Path or URL
    ref: str
    commit: str
    files: int
    bytes: int
    shard: str  # File of its shard; empty if it cannot be searched
    indexed: str  # Time in UTC
    failure: str
    stale: str
    """Why the next run will read it: `changed`, `gone`, `failed` or `new`; empty if it is fresh, or only the network can tell."""


@frozen_dataclass
class ShardStatus:
    """The status of one shard in the store."""

    file: str
    repositories: int
    bytes: int  # Bytes of the index
    source_bytes: int
    missing: bool  # True if the file or its sketch is missing or differs from what was stored


@frozen_dataclass
class FleetStatus:
    """The status of a store, with totals."""

    store: str
    generation: int
    repositories: tuple[FleetRepositoryStatus, ...]
    shards: tuple[ShardStatus, ...]
    recipe_is_current: bool  # False if this version and these settings would rebuild every shard
    searched: int  # Number of repositories in a shard
    failed: int
    stale: int
    files: int
    bytes: int  # Bytes of the indexes
    source_bytes: int
    superseded_bytes: int = 0  # Bytes of the store that no search needs any more
    not_looked_at: tuple[str, ...] = field(default=())
    """Names of repositories that were not checked because that needs the network."""
    verified: bool = False  # True if the shards' contents were compared, not only their sizes
