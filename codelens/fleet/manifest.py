"""The list of what a fleet's store holds. It is replaced as a whole, so that a reader sees one state; shards never change."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import xxhash

from codelens.errors import IndexBusy, NoIndex
from codelens.fleet.sources import FleetSource, SourceLook
from codelens.fleet.stores import FleetStore
from codelens.model.fast_dataclass import dataclass, field, list_field_names, replace
from codelens.text.notation import parse_json

MANIFEST = "manifest.json"
VERSION = 2


@dataclass(frozen=True, slots=True)
class FleetRepository:
    """A repository of the fleet, as it was indexed last."""

    name: str
    path: str = ""
    url: str = ""
    ref: str = ""
    root: str = ""  # The folder that it was indexed in, as its shard names it; empty if it never was
    commit: str = ""  # The commit that was indexed; empty outside of git
    state: str = ""  # See `SourceLook.state`
    bytes: int = 0  # Bytes of its indexed files
    files: int = 0
    group: str = ""
    metadata: Mapping[str, Any] = field(default_factory=dict)
    shard: str = ""  # The file that holds it
    indexed: str = ""  # Time in UTC
    failure: str = ""  # Why its present state could not be indexed; an earlier one may be in a shard

    @property
    def source(self) -> FleetSource:
        """The folder or URL that it comes from."""
        return FleetSource(self.name, self.path, self.url, self.ref, self.group, self.metadata)

    def is_at(self, source: FleetSource, seen: SourceLook) -> bool:
        """True if this state of this source is in a shard."""
        origin = (self.path, self.url, self.ref, self.state)
        return bool(self.shard) and origin == (source.path, source.url, source.ref, seen.state)


@dataclass(frozen=True, slots=True)
class ShardEntry:
    """A shard: an index file that is never written again."""

    file: str
    repositories: tuple[str, ...]  # Names, in the order in which the shard has them
    bytes: int
    digest: str  # xxh3-128 of the file, in hex digits


@dataclass(frozen=True, slots=True)
class FleetManifest:
    """The contents of a store. Repositories are in the order of one index, those never indexed last."""

    repositories: tuple[FleetRepository, ...] = ()
    shards: tuple[ShardEntry, ...] = ()
    planned: tuple[tuple[str, ...], ...] = ()
    """The names of each shard, of those that must yet be built, too: the next run of a killed coordinator has the same plan."""
    recipe: str = ""  # How all shards were built; see `compute_fleet_recipe`
    superseded: Mapping[str, int] = field(default_factory=dict)
    """Shard that readers of an earlier manifest may still open → time of its replacement, in seconds since 1970."""
    generation: int = 0  # Increases with each manifest of a store

    @property
    def searched(self) -> tuple[FleetRepository, ...]:
        """The repositories that are in a shard."""
        return tuple(r for r in self.repositories if r.shard)

    @property
    def snapshot(self) -> str:
        """A hash of what the shards hold."""
        return xxhash.xxh3_64_hexdigest(" ".join(shard.digest for shard in self.shards).encode())

    @property
    def failures(self) -> dict[str, str]:
        """Name → why its present state could not be indexed."""
        return {r.name: r.failure for r in self.repositories if r.failure}

    @classmethod
    def read(cls, store: FleetStore) -> FleetManifest:
        """The store's manifest. Raises NoIndex."""
        again = "`codelens cluster index` makes it again"
        content = store.read(MANIFEST)
        if content is None:
            raise NoIndex(f"no manifest in {store.url}", "`codelens cluster index` makes one")
        try:
            record = parse_json(content)
            if record["version"] != VERSION:
                raise NoIndex(f"{store.url}/{MANIFEST} is of another version of codelens", again)
            return cls(
                tuple(FleetRepository(**row) for row in record["repositories"]),
                tuple(to_shard(row) for row in record["shards"]),
                tuple(tuple(names) for names in record["planned"]),
                *(record[key] for key in ("recipe", "superseded", "generation")),
            )
        except (ValueError, KeyError, TypeError) as fault:
            raise NoIndex(f"{store.url}/{MANIFEST} is damaged: {fault}", again) from None

    @staticmethod
    def stamp(store: FleetStore) -> str:
        """Another value whenever the manifest is another one. Raises NoIndex."""
        file = store.find(MANIFEST)
        if file is None:
            raise NoIndex(f"no manifest in {store.url}", "`codelens cluster index` makes one")
        return xxhash.xxh3_128_hexdigest(file.stamp.encode())

    def write(self, store: FleetStore) -> FleetManifest:
        """Replace the store's manifest by this one as the next generation; return it. Call it after its shards were stored.

        Raises IndexBusy if the store holds another than the one that this was made from. In a bucket, a second coordinator
        that writes between this look and the end of the write is not noticed until the next one.
        """
        try:
            stored = FleetManifest.read(store).generation
        except NoIndex:
            stored = self.generation
        if stored != self.generation:
            hint = "wait for it, and run the command again: no shard is lost, and none is built twice"
            raise IndexBusy(f"another `codelens cluster index` has written to {store.url}", hint)
        made = replace(self, generation=stored + 1)
        record = {
            "version": VERSION,
            "generation": made.generation,
            "recipe": self.recipe,
            "superseded": dict(self.superseded),
            "planned": self.planned,
            "shards": [to_row(shard) for shard in self.shards],
            "repositories": [to_row(repository) for repository in self.repositories],
        }
        store.write(MANIFEST, to_json(record))
        return made


def to_json(record: object) -> bytes:
    """JSON of our own records."""
    return (json.dumps(record) + "\n").encode()


def to_row(noun: Any) -> dict[str, Any]:
    """The fields of a record."""
    return {name: getattr(noun, name) for name in list_field_names(type(noun))}


def to_shard(row: Mapping[str, Any]) -> ShardEntry:
    """The entry in a record."""
    return ShardEntry(row["file"], tuple(row["repositories"]), row["bytes"], row["digest"])


class Member(NamedTuple):
    """A repository that needs a place in a shard."""

    bytes: int
    group: str = ""  # Only repositories of one group share a shard


def group_into_shards(members: Mapping[str, Member], most: int, before: Sequence[Sequence[str]]) -> list[list[str]]:
    """Names by shard: together until a shard has `most` bytes. What was together stays together, and newcomers are put last,
    so that a new repository leaves other shards as they are.

    `members` are all repositories, in order; `before` the names of each shard.
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
