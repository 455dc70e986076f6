"""The manifest, which lists the contents of a fleet's store. It is replaced as a whole, and shard files never change."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from fnmatch import fnmatchcase
from typing import Any, NamedTuple

import xxhash

from codelens.errors import IndexBusy, NoIndex
from codelens.fleet.sources import FleetSource, SourceLook
from codelens.fleet.stores import FleetStore
from codelens.model.fast_dataclass import field, frozen_dataclass, list_field_names, replace
from codelens.text.notation import parse_sealed_json, seal_json

MANIFEST = "manifest.json"
VERSION = 2


@frozen_dataclass
class FleetRepository(FleetSource):
    """A repository of the fleet, in the state in which it was last indexed."""

    root: str = ""  # The folder in which it was indexed, which is its root in the shard; empty if it never was
    commit: str = ""  # The commit that was indexed; empty outside of git
    state: str = ""  # See `SourceLook.state`
    bytes: int = 0  # Bytes of its indexed files
    files: int = 0
    shard: str = ""  # The file of the shard that holds it; empty if it is in no shard
    indexed: str = ""  # Time in UTC
    failure: str = ""  # Why its current state could not be indexed; a shard may hold an earlier state

    def is_indexed_as(self, seen: SourceLook) -> bool:
        """True if a shard holds this source in this state."""
        origin = (seen.source.path, seen.source.url, seen.source.ref, seen.state)
        return bool(self.shard) and origin == (self.path, self.url, self.ref, self.state)


@frozen_dataclass
class ShardEntry:
    """A shard: an index file that never changes."""

    file: str
    repositories: tuple[str, ...]  # Names of its repositories, in the shard's order
    bytes: int
    digest: str  # xxh3-128 of the file, in hex digits
    sketch: str = ""  # xxh3-128 of its sketch
    content: str = ""  # The index's own hash of what it holds, which tells one shard from another as soon as it is open
    places: tuple[int, ...] = ()  # Positions in the shard of the repositories to search; empty for all

    def limit_to(self, globs: Sequence[str]) -> ShardEntry:
        """Limit the shard to the repositories whose names match a glob."""
        kept = {place: name for place, name in enumerate(self.repositories) if match_any_glob(name, globs)}
        if len(kept) == len(self.repositories):
            return self

        names = tuple(kept.values())
        return replace(self, repositories=names, places=tuple(kept))


@frozen_dataclass
class FleetManifest:
    """The contents of a store. Repositories are in the order of a single index; those that were never indexed come last."""

    repositories: tuple[FleetRepository, ...] = ()
    shards: tuple[ShardEntry, ...] = ()
    planned: tuple[tuple[str, ...], ...] = ()
    """Names of the repositories of each shard, built or not, so that the run after a killed coordinator has the same plan."""
    recipe: str = ""  # The recipe with which all shards were built; see `compute_fleet_recipe`
    superseded: Mapping[str, int] = field(default_factory=dict)
    """Superseded shard, which readers of an earlier manifest may still open → time of its replacement, in Unix seconds."""
    generation: int = 0  # Increases with each manifest of a store

    @property
    def searched(self) -> tuple[FleetRepository, ...]:
        """Repositories that are in a shard."""
        return tuple(r for r in self.repositories if r.shard)

    @property
    def snapshot(self) -> str:
        """A hash of the shards' contents."""
        return xxhash.xxh3_64_hexdigest(" ".join(shard.digest for shard in self.shards).encode())

    @property
    def failures(self) -> dict[str, str]:
        """Repository whose current state could not be indexed → reason."""
        return {r.name: r.failure for r in self.repositories if r.failure}

    def limit_to(self, globs: Sequence[str]) -> FleetManifest:
        """Limit the manifest to the repositories whose names match a glob, and to the shards that hold any of them."""
        repositories = [r for r in self.repositories if match_any_glob(r.name, globs)]
        limited = [shard.limit_to(globs) for shard in self.shards]
        shards = [shard for shard in limited if shard.repositories]
        return replace(self, repositories=tuple(repositories), shards=tuple(shards))

    @classmethod
    def read(cls, store: FleetStore) -> FleetManifest:
        """Read the store's manifest. Raises NoIndex."""
        again = "`codelens cluster index` makes it again"
        content = store.read(MANIFEST)
        if content is None:
            raise NoIndex(f"no manifest in {store.url}", "`codelens cluster index` makes one")
        try:
            record = parse_sealed_json(content)
            if record["version"] != VERSION:
                raise NoIndex(f"{store.url}/{MANIFEST} is of another version of codelens", again)
            return cls(
                tuple(FleetRepository(**row) for row in record["repositories"]),
                tuple(parse_shard(row) for row in record["shards"]),
                tuple(tuple(names) for names in record["planned"]),
                *(record[key] for key in ("recipe", "superseded", "generation")),
            )
        except (ValueError, KeyError, TypeError) as fault:
            raise NoIndex(f"{store.url}/{MANIFEST} is damaged: {fault}", again) from None

    @staticmethod
    def compute_stamp(store: FleetStore) -> str:
        """Compute a value that changes whenever the manifest is replaced. Raises NoIndex."""
        file = store.find(MANIFEST)
        if file is None:
            raise NoIndex(f"no manifest in {store.url}", "`codelens cluster index` makes one")
        return xxhash.xxh3_128_hexdigest(file.stamp.encode())

    def write(self, store: FleetStore) -> FleetManifest:
        """Write this manifest to the store as the next generation, and return it. Its shards must be stored already.

        Raises IndexBusy if another coordinator has written a manifest since this one was read. In a bucket, a write between
        this check and the end of the write is noticed only by the next call.
        """
        stored = self.generation
        with suppress(NoIndex):
            stored = FleetManifest.read(store).generation
        if stored != self.generation:
            hint = "wait for it, and run the command again: no shard is lost, and none is built twice"
            raise IndexBusy(f"another `codelens cluster index` has written to {store.url}", hint)
        made = replace(self, generation=stored + 1)
        record = {"version": VERSION, **map_fields(made)}
        store.write(MANIFEST, seal_json(record, default=map_fields))
        return made


def match_any_glob(name: str, globs: Sequence[str]) -> bool:
    """True if a repository's name matches one of these globs."""
    return any(fnmatchcase(name, glob) for glob in globs)


def map_fields(record: Any) -> dict[str, Any]:
    """Map the names of a data class's fields to their values."""
    return {name: getattr(record, name) for name in list_field_names(type(record))}


def parse_shard(row: Mapping[str, Any]) -> ShardEntry:
    """Parse the entry of a shard, which JSON has turned into a dictionary."""
    names = tuple(row["repositories"])
    return ShardEntry(**{**row, "repositories": names, "places": ()})


class Member(NamedTuple):
    """A repository to assign to a shard."""

    bytes: int
    group: str = ""  # Repositories share a shard only with others of the same group


def group_into_shards(members: Mapping[str, Member], most: int, before: Sequence[Sequence[str]]) -> list[list[str]]:
    """Assign repositories to shards of up to `most` bytes; returns the names for each shard. Repositories that shared a shard
    still share it, and new ones come last, so that a new repository changes only one shard.

    `members`: all repositories, in order. `before`: the names for each shard so far.
    """
    shards: list[list[str]] = []
    open_ones: dict[str, int] = {}  # Group → the number of its last shard
    left, filled = dict(members), list[int]()
    for names in before:
        present = [name for name in names if name in left]
        stay = [name for name in present if members[name].group == members[present[0]].group]
        if stay:
            open_ones[members[stay[0]].group] = len(shards)
            shards.append(stay)
            filled.append(sum(members[name].bytes for name in stay))
            for name in stay:
                del left[name]
    for name, member in left.items():
        last = open_ones.get(member.group)
        if last is None or filled[last] + member.bytes > most:
            last = open_ones[member.group] = len(shards)
            shards.append([])
            filled.append(0)
        shards[last].append(name)
        filled[last] += member.bytes
    return shards
