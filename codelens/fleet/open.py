"""A fleet's store as one index: read its manifest, open its shards here or in workers, and answer without those that are lost."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from codelens.cluster.numbers import Home
from codelens.cluster.sketch import Sketch
from codelens.cluster.store import ShardedStore
from codelens.config import Settings
from codelens.errors import FleetIncomplete, NoIndex
from codelens.fleet.holding import OpenShards, ShardLostError, ShardsOfWorkers
from codelens.fleet.manifest import FleetManifest
from codelens.fleet.stores import StoreFault, open_store
from codelens.fleet.workers import connect, name_sketch
from codelens.index import Index
from codelens.model.code import IndexInfo
from codelens.model.fast_dataclass import replace
from codelens.model.runs import Status
from codelens.text.counts import quantity

T = TypeVar("T")

RETRY_SECONDS = 20.0  # How long a shard that was lost is left alone before it is opened again
SECONDS = 30.0  # How long a shard may take for an answer, by default
USES_BEFORE = 3  # Questions before a process reads the shards' sketches: by then it is a server
MOST_RESTING = 2  # Connections that a process keeps for the next question: a server asks in two threads at most
MOST_NAMED = 3  # Repositories of a missing shard that a notice names


EVERY = ("*",)


class FleetPlace(NamedTuple):
    """The place of a fleet: its store, who asks the shards, and which repositories may be seen."""

    store: str  # A folder, or a URL
    scheduler: str = ""  # The address of Dask's scheduler; empty to open the shards in this process
    seconds: float = SECONDS
    require_complete: bool = False
    visible: tuple[str, ...] = EVERY  # Globs of the names of repositories

    def open(self, settings: Settings) -> FleetIndex:
        """The fleet as an index, for one caller at a time. Raises NoIndex and FleetIncomplete."""
        return FleetIndex(self._take_resting() or FleetConnection(self, settings), self, settings)

    def stamp(self) -> str:
        """Another text whenever the manifest is another one. Raises NoIndex."""
        return FleetManifest.stamp(open_store(self.store))

    def snapshot(self) -> str:
        """A hash of what the shards hold, as answers name it. Raises NoIndex."""
        return FleetManifest.read(open_store(self.store)).snapshot

    def _take_resting(self) -> FleetConnection | None:
        for connection in list(_RESTING):
            if connection.shards_of != self[:3]:
                continue
            try:
                _RESTING.remove(connection)
            except ValueError:  # another thread was faster
                continue
            if connection.stamp == self.stamp() and (not connection.shards.lost or connection.age() <= RETRY_SECONDS):
                return connection
            connection.close()
        return None


class FleetConnection:
    """The open shards of one manifest."""

    def __init__(self, place: FleetPlace, settings: Settings) -> None:
        self.shards_of = place[:3]
        self.stamp = place.stamp()
        self.manifest = FleetManifest.read(open_store(place.store))
        self._opened_at = time.monotonic()
        self.shards: OpenShards
        if place.scheduler:  # answers need not pass it
            client = connect(place.scheduler, "--scheduler", timeout=place.seconds, direct_to_workers=True)
            self.shards = ShardsOfWorkers(
                client, place.store, self.manifest.shards, place.seconds, settings.shard_cache
            )
        else:
            self.shards = OpenShards(place.store, self.manifest.shards, settings.shard_cache)
        self._stores: dict[tuple[frozenset[int], tuple[str, ...]], ShardedStore] = {}
        """By the shards in it, and what its answers say of others."""
        self._uses = 0
        self._sketches: dict[int, Sketch] = {}

    def close(self) -> None:
        """Release the shards."""
        self.shards.close()

    def age(self) -> float:
        """Seconds since the shards were opened."""
        return time.monotonic() - self._opened_at

    def store(self, place: FleetPlace) -> ShardedStore:
        """The shards that answer and may be seen, as one store. Raises FleetIncomplete."""
        seen, missing = self._find_visible(place)
        lost = {number: why for number, why in self.shards.lost.items() if number in seen}
        counted = place.visible == EVERY
        absent = [
            f"{self._describe_shard(n, counted)} did not answer: {why}; the answer is without it"
            for n, why in lost.items()
        ]
        if not seen:
            raise NoIndex(
                "no repository of this store can be searched", "`codelens cluster status` lists what it holds"
            )
        if absent and (place.require_complete or len(lost) == len(seen)):
            raise FleetIncomplete(absent[0].partition(";")[0] + (f", and {len(absent) - 1} more" if absent[1:] else ""))
        answering = frozenset(seen - lost.keys())
        key = answering, (*absent, *missing)
        if key not in self._stores:
            facts = {number: of_shard for number, of_shard in self.shards.facts.items() if number in answering}
            whole = Path(place.store), self.shards, facts, self._list_homes(answering)
            self._stores[key] = ShardedStore(*whole, snapshot=self.manifest.snapshot, release=self._keep_for_next)
            self._stores[key].missing = key[1]
        self._uses += 1
        if self._uses == USES_BEFORE:
            store = open_store(place.store)
            for number, entry in enumerate(self.manifest.shards):
                with suppress(StoreFault, ValueError):  # such a shard is asked for every word
                    if packed := store.read(name_sketch(entry.file)):
                        self._sketches[number] = Sketch.from_bytes(packed)
        self._stores[key].route_by(self._sketches)
        return self._stores[key]

    def status(self, place: FleetPlace, settings: Settings, index: Index) -> Status:
        """The contents of the shards that may be seen."""
        seen, _ = self._find_visible(place)
        statuses = self.shards.statuses(sorted(seen - self.shards.lost.keys()), settings)
        repositories = [repository for number in sorted(statuses) for repository in statuses[number]]
        size = sum(self.manifest.shards[number].bytes for number in seen)
        return Status(index.info(), tuple(repositories), size, {}, "", "")

    def _find_visible(self, place: FleetPlace) -> tuple[set[int], list[str]]:
        """(shards that may be seen: all their repositories may, since counts decide scores; a sentence on others)."""
        seen, cut = set(), 0
        for number, entry in enumerate(self.manifest.shards):
            may = [any(fnmatchcase(name, glob) for glob in place.visible) for name in entry.repositories]
            if all(may):
                seen.add(number)
            cut += 0 if all(may) else sum(may)
        share = quantity(cut, "repository shares", "repositories share")
        text = f"{share} a shard with others that this key may not see, and that was not searched"
        return seen, [f"{text}; `group` in the fleet's file separates them"] if cut else []

    def _describe_shard(self, number: int, counted: bool) -> str:
        """A shard for people; `counted` tells how many there are."""
        names = self.manifest.shards[number].repositories
        more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
        shard = f"shard {number + 1} of {len(self.manifest.shards)}" if counted else "a shard"
        return f"{shard} ({', '.join(names[:MOST_NAMED])}{more})"

    def _list_homes(self, shards: frozenset[int]) -> list[Home]:
        """The repositories in the order of the manifest, as one index would have them."""
        rows = {
            name: (number, row)
            for number in shards
            for name, row in zip(
                self.manifest.shards[number].repositories, self.shards.facts[number].repositories, strict=True
            )
        }
        # The root is the folder of its files; its name, if they are in none as they were indexed.
        return [
            Home(*rows[r.name], r.name, Path(r.name if r.url or r.ref else r.path))
            for r in self.manifest.repositories
            if r.name in rows
        ]

    def _keep_for_next(self) -> None:
        """Keep it for the next question."""
        if self not in _RESTING:
            _RESTING.append(self)
        while len(_RESTING) > MOST_RESTING:
            _RESTING.pop(0).close()


_RESTING: list[FleetConnection] = []


def _make_retrying(name: str) -> Callable[..., Any]:
    """Make the method of this name for a fleet: each try is without one shard more."""

    def ask(self: FleetIndex, *arguments: Any, **options: Any) -> Any:
        return self._retry_without_lost(lambda: getattr(super(FleetIndex, self), name)(*arguments, **options))

    return ask


class FleetIndex(Index):
    """The shards of a fleet as one index. A shard that is lost on the way is left out, and the question asked again."""

    def __init__(self, connection: FleetConnection, place: FleetPlace, settings: Settings) -> None:
        super().__init__(connection.store(place), settings)
        self._connection, self._place = connection, place

    def _read_info(self) -> IndexInfo:
        return replace(super()._read_info(), path=self._place.store)

    def renew(self) -> None:
        """Go on without shards that were lost. Raises FleetIncomplete."""
        self._store, self._info = self._connection.store(self._place), None

    def status(self, check: bool = False) -> Status:
        """The contents of the shards. The trees may be elsewhere, so they are not compared."""
        return self._retry_without_lost(lambda: self._connection.status(self._place, self._settings, self))

    def _retry_without_lost(self, ask: Callable[[], T]) -> T:
        """Each try is without one shard more."""
        while True:
            try:
                return ask()
            except ShardLostError:
                self.renew()

    search, search_lines, why = _make_retrying("search"), _make_retrying("search_lines"), _make_retrying("why")
    files, symbols = _make_retrying("files"), _make_retrying("symbols")
