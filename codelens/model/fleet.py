"""The state of a fleet's store: its repositories and shards, what failed, and what is stale."""

from __future__ import annotations

from codelens.model.fast_dataclass import dataclass, field


@dataclass(frozen=True, slots=True)
class FleetRepositoryStatus:
    """A repository of the store."""

    name: str
    place: str  # Path or URL
    ref: str
    commit: str
    files: int
    bytes: int
    shard: str  # Empty if it cannot be searched
    indexed: str  # Time in UTC
    failure: str
    stale: str
    """Why the next run will read it: `changed`, `gone`, `failed`, `new`; empty if it is fresh, or only the network would tell."""


@dataclass(frozen=True, slots=True)
class ShardStatus:
    """A shard of the store."""

    file: str
    repositories: int
    bytes: int  # Bytes of the index
    source_bytes: int
    missing: bool  # True if the store does not have it as it was stored


@dataclass(frozen=True, slots=True)
class FleetStatus:
    """A store with its totals."""

    store: str
    generation: int
    repositories: tuple[FleetRepositoryStatus, ...]
    shards: tuple[ShardStatus, ...]
    recipe_is_current: bool  # False if this codelens, with these settings, would build every shard again
    searched: int  # Repositories in a shard
    failed: int
    stale: int
    files: int
    bytes: int  # Bytes of the indexes
    source_bytes: int
    superseded_bytes: int = 0  # Bytes of the store that no search needs any more
    not_looked_at: tuple[str, ...] = field(default=())
    """Names of the repositories that only the network could tell about."""
