"""The state of a fleet's store: its repositories and shards, what failed, and what is stale."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from codelens.config import Settings
from codelens.fleet.manifest import FleetManifest, FleetRepository
from codelens.fleet.sources import SourceLook, look_at_all
from codelens.fleet.stores import open_store
from codelens.fleet.workers import SHARDS, fleet_recipe
from codelens.model.fleet import FleetRepositoryStatus, FleetStatus, ShardStatus


def fleet_status(store_url: str, settings: Settings, *, looking: bool = True) -> FleetStatus:
    """The state of a store. With `looking`, folders are compared with what was indexed; no URL is asked. Raises NoIndex."""
    store = open_store(store_url)
    manifest = FleetManifest.read(store)
    there = {file.name: file.bytes for file in store.files(SHARDS)}
    shown = tuple(_describe_repositories(manifest.repositories, looking))
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


def _describe_repositories(repositories: Sequence[FleetRepository], looking: bool) -> Iterator[FleetRepositoryStatus]:
    in_folders = [r for r in repositories if looking and r.path]
    looks = dict(zip((r.name for r in in_folders), look_at_all(r.source for r in in_folders), strict=True))
    for r in repositories:
        reason = _find_staleness(r, looks.get(r.name))
        yield FleetRepositoryStatus(
            r.name, r.path or r.url, r.ref, r.commit, r.files, r.bytes, r.shard, r.indexed, r.failure, reason
        )


def _find_staleness(repository: FleetRepository, seen: SourceLook | None) -> str:
    if seen is None:
        return "failed" if repository.failure else ""
    if seen.fault:
        return "gone"
    if seen.state != repository.state:
        return "changed" if repository.shard else "failed" if repository.failure else "new"
    return ""
