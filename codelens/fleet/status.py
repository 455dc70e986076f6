"""The state of a fleet's store: its repositories and shards, what failed, and what is stale."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from codelens.config import Settings
from codelens.fleet.manifest import FleetManifest, FleetRepository
from codelens.fleet.sources import look
from codelens.fleet.stores import open_store
from codelens.fleet.workers import SHARDS, fleet_recipe
from codelens.model.fast_dataclass import dataclass, field

LOOKS_AT_ONCE = 16
"""Repositories that are looked at together. Chosen."""


@dataclass(frozen=True, slots=True)
class FleetRepositoryStatus:
    """A repository of the store."""

    name: str
    place: str
    """Path or URL."""
    ref: str
    commit: str
    files: int
    bytes: int
    shard: str
    """Empty if it cannot be searched."""
    indexed: str
    """Time in UTC."""
    failure: str
    stale: str
    """Why the next run will read it: `changed`, `gone`, `failed`; empty if it is fresh, or only the network would tell."""


@dataclass(frozen=True, slots=True)
class ShardStatus:
    """A shard of the store."""

    file: str
    repositories: int
    bytes: int
    """Bytes of the index."""
    source_bytes: int
    missing: bool
    """True if the store does not have it as it was stored."""


@dataclass(frozen=True, slots=True)
class FleetStatus:
    """A store with its totals."""

    store: str
    generation: int
    repositories: tuple[FleetRepositoryStatus, ...]
    shards: tuple[ShardStatus, ...]
    recipe_is_current: bool
    """False if this codelens, with these settings, would build every shard again."""
    searched: int
    """Repositories in a shard."""
    failed: int
    stale: int
    files: int
    bytes: int
    """Bytes of the indexes."""
    source_bytes: int
    superseded_bytes: int = 0
    """Bytes of the store that no search needs any more."""
    not_looked_at: tuple[str, ...] = field(default=())
    """Names of the repositories that only the network could tell about."""


def fleet_status(store_url: str, settings: Settings, *, looking: bool = True) -> FleetStatus:
    """The state of a store. With `looking`, folders are compared with what was indexed; no URL is asked. Raises NoIndex."""
    store = open_store(store_url)
    manifest = FleetManifest.read(store)
    there = {file.name: file.bytes for file in store.files(SHARDS)}
    shown = tuple(_shown(manifest.repositories, looking))
    sizes = {r.name: r.bytes for r in manifest.repositories}
    shards = tuple(
        ShardStatus(
            shard.file,
            len(shard.repositories),
            shard.bytes,
            sum(sizes.get(name, 0) for name in shard.repositories),
            there.get(shard.file) != shard.bytes,
        )
        for shard in manifest.shards
    )
    named = {shard.file for shard in manifest.shards}
    return FleetStatus(
        store=store.url,
        generation=manifest.generation,
        repositories=shown,
        shards=shards,
        recipe_is_current=fleet_recipe(settings) == manifest.recipe,
        searched=sum(bool(r.shard) for r in shown),
        failed=sum(bool(r.failure) for r in shown),
        stale=sum(bool(r.stale) for r in shown),
        files=sum(r.files for r in shown),
        bytes=sum(shard.bytes for shard in shards),
        source_bytes=sum(shard.source_bytes for shard in shards),
        superseded_bytes=sum(size for name, size in there.items() if name.endswith(".db") and name not in named),
        not_looked_at=tuple(r.name for r in manifest.repositories if looking and r.url),
    )


def _shown(repositories: Sequence[FleetRepository], looking: bool) -> Iterator[FleetRepositoryStatus]:
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(LOOKS_AT_ONCE) as threads:
        stale = threads.map(lambda r: _stale(r, looking), repositories)
        for r, reason in zip(repositories, stale, strict=True):
            yield FleetRepositoryStatus(
                r.name, r.path or r.url, r.ref, r.commit, r.files, r.bytes, r.shard, r.indexed, r.failure, reason
            )


def _stale(repository: FleetRepository, looking: bool) -> str:
    if looking and repository.path:
        seen = look(repository.source)
        if seen.fault:
            return "gone"
        if seen.state != repository.state:
            return "changed" if repository.shard else "failed"
        return ""
    return "failed" if repository.failure else ""
