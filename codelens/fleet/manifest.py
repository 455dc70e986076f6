"""The list of shards of a fleet's store. It is replaced as a whole, so that a reader sees one state; shards never change."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import xxhash

from codelens.errors import NoIndex
from codelens.model.fast_dataclass import dataclass
from codelens.text.notation import parse_json

MANIFEST = "manifest.json"
VERSION = 1


@dataclass(frozen=True, slots=True)
class FleetRepository:
    """A repository of the fleet."""

    root: str
    state: str
    """Commit; empty if it has none, or is not clean. Such a repository is looked at in each run."""
    bytes: int
    """Bytes of its files."""


@dataclass(frozen=True, slots=True)
class ShardEntry:
    """A shard: an index file that is never written again."""

    file: str
    repositories: tuple[str, ...]
    """Roots."""
    bytes: int


@dataclass(frozen=True, slots=True)
class FleetManifest:
    """The contents of a store. Repositories stand in the order in which one index would have them."""

    repositories: tuple[FleetRepository, ...] = ()
    shards: tuple[ShardEntry, ...] = ()
    failures: Mapping[str, str] | None = None
    """Root → why its shard could not be built."""

    @classmethod
    def read(cls, store: Path) -> FleetManifest:
        """The store's manifest. Raises NoIndex."""
        file = store / MANIFEST
        if not file.is_file():
            raise NoIndex(f"no manifest in {store}", "`codelens cluster index` makes one")
        record = parse_json(file.read_text(encoding="utf-8"))
        if record.get("version") != VERSION:
            raise NoIndex(f"{file} is of another version of codelens", "`codelens cluster index` makes it again")
        shards = tuple(ShardEntry(row["file"], tuple(row["repositories"]), row["bytes"]) for row in record["shards"])
        return cls(tuple(FleetRepository(**row) for row in record["repositories"]), shards, record["failures"])

    @staticmethod
    def stamp(store: Path) -> str:
        """Another value whenever the manifest is another one. Raises NoIndex."""
        try:
            found = (store / MANIFEST).stat()
        except OSError:
            raise NoIndex(f"no manifest in {store}", "`codelens cluster index` makes one") from None
        return xxhash.xxh3_128_hexdigest(f"{found.st_ino} {found.st_size} {found.st_mtime_ns}".encode())

    def write(self, store: Path) -> None:
        """Replace the store's manifest, after all that it names was written."""
        record = {
            "version": VERSION,
            "repositories": [{"root": r.root, "state": r.state, "bytes": r.bytes} for r in self.repositories],
            "shards": [{"file": s.file, "repositories": list(s.repositories), "bytes": s.bytes} for s in self.shards],
            "failures": dict(self.failures or {}),
        }
        store.mkdir(parents=True, exist_ok=True)
        beside = store / f"{MANIFEST}.{os.getpid()}.new"
        with beside.open("w", encoding="utf-8") as file:
            file.write(json.dumps(record, indent=1, ensure_ascii=False) + "\n")
            file.flush()
            os.fsync(file.fileno())
        beside.replace(store / MANIFEST)


def grouped(repositories: Sequence[FleetRepository], most: int, before: FleetManifest) -> list[list[FleetRepository]]:
    """Repositories by shard, in their order: together until a shard has `most` bytes. What was together stays together, so
    that a new repository leaves other shards as they are."""
    by_root = {repository.root: repository for repository in repositories}
    groups = [[by_root[root] for root in shard.repositories if root in by_root] for shard in before.shards]
    known = {repository.root for group in groups for repository in group}
    groups = [group for group in groups if group]
    for repository in repositories:
        if repository.root in known:
            continue
        if not groups or sum(r.bytes for r in groups[-1]) + repository.bytes > most:
            groups.append([])
        groups[-1].append(repository)
    order = {repository.root: place for place, repository in enumerate(repositories)}
    return [sorted(group, key=lambda r: order[r.root]) for group in groups]
