"""The status of a fleet's store: its repositories, its shards and their totals."""

from __future__ import annotations

from codelens.model.fast_dataclass import dataclass, field


@dataclass(frozen=True, slots=True)
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


@dataclass(frozen=True, slots=True)
class ShardStatus:
    """The status of one shard in the store."""

    file: str
    repositories: int
    bytes: int  # Bytes of the index
    source_bytes: int
    missing: bool  # True if the file is missing or differs from what was stored


@dataclass(frozen=True, slots=True)
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
