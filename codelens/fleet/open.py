"""Open a fleet's store as one index, with its shards in this process or in workers. Answers leave out shards that are lost."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import xxhash

from codelens.cluster.numbers import Home
from codelens.cluster.sketch import Sketch
from codelens.cluster.store import ShardedStore
from codelens.config import Settings
from codelens.errors import FleetIncomplete, NoIndex, TargetError
from codelens.fleet.holding import OpenShards, ShardLostError, ShardsOfWorkers
from codelens.fleet.manifest import FleetManifest
from codelens.fleet.stores import StoreFault, open_store
from codelens.fleet.workers import connect, name_sketch
from codelens.index import Index
from codelens.model.code import IndexInfo
from codelens.model.fast_dataclass import replace
from codelens.model.runs import Status
from codelens.store.documents import RepositoryRow

T = TypeVar("T")

RETRY_SECONDS = 20.0  # How long to wait before a lost shard is opened again
SECONDS = 30.0  # Default timeout for a shard's answer
USES_BEFORE = 3  # Queries after which a process reads the shards' sketches, since it is likely to be a server
MOST_RESTING = (
    8  # Limit on connections kept for later queries: each thread needs one for each set of visible repositories
)
MOST_NAMED = 3  # Limit on repositories that a notice about a missing shard names
EVERY = ("*",)


class FleetPlace(NamedTuple):
    """How to open a fleet: its store, the scheduler of its workers, and the repositories that the user may see."""

    store: str  # A folder, or a URL
    scheduler: str = ""  # The address of Dask's scheduler; empty to open the shards in this process
    seconds: float = SECONDS
    require_complete: bool = False
    visible: tuple[str, ...] = EVERY  # Globs that match the names of the repositories that the user may see

    def open(self, settings: Settings) -> FleetIndex:
        """Open the fleet as an index, for one caller at a time. Raises NoIndex and FleetIncomplete."""
        return FleetIndex(self._take_resting() or FleetConnection(self, settings), self, settings)

    def compute_stamp(self) -> str:
        """Compute a value that changes whenever the manifest is replaced. Raises NoIndex."""
        return FleetManifest.compute_stamp(open_store(self.store))

    def compute_snapshot(self) -> str:
        """Compute the hash of the shards' contents that answers report as the snapshot. Raises NoIndex."""
        return FleetManifest.read(open_store(self.store)).snapshot

    @property
    def shards_of(self) -> FleetPlace:
        """The part that decides which connection is used: all but whether an answer must be complete."""
        return self._replace(require_complete=False)

    def _take_resting(self) -> FleetConnection | None:
        """Take a kept connection that is still current; None if there is no such connection."""
        for connection in list(_RESTING):
            if connection.shards_of != self.shards_of:
                continue
            try:
                _RESTING.remove(connection)
            except ValueError:  # another thread has taken it
                continue
            is_young = time.monotonic() - connection.opened_at <= RETRY_SECONDS
            if connection.stamp == self.compute_stamp() and (is_young or not connection.shards.lost):
                return connection
            connection.shards.close()
        return None


class FleetConnection:
    """An open connection to the shards that a manifest lists."""

    def __init__(self, place: FleetPlace, settings: Settings) -> None:
        self.shards_of = place.shards_of
        self.stamp = place.compute_stamp()
        whole = FleetManifest.read(open_store(place.store))
        self._snapshot, self.manifest = whole.snapshot, whole.limit_to(place.visible)
        self.opened_at = time.monotonic()
        source = place.store, self.manifest.shards, settings.shard_cache
        if place.scheduler:  # answers come directly from the workers
            client = connect(place.scheduler, "--scheduler", timeout=place.seconds, direct_to_workers=True)
            self.shards: OpenShards = ShardsOfWorkers(client, place.seconds, *source)
        else:
            self.shards = OpenShards(*source)
        self._stores: dict[tuple[str, ...], ShardedStore] = {}
        """Notices about missing shards → the store of the others."""
        self._uses = 0
        self._sketches: dict[int, Sketch] = {}

    def store(self, place: FleetPlace) -> ShardedStore:
        """Find or make the store of the shards that answer. Raises NoIndex and FleetIncomplete."""
        lost = self.shards.lost
        shards = map(self._describe_shard, lost)
        absent = [
            f"{s} did not answer: {why}; the answer is without it" for s, why in zip(shards, lost.values(), strict=True)
        ]
        if not self.manifest.shards:
            hint = "`codelens cluster status` lists what it holds"
            raise NoIndex("no repository of this store can be searched", hint)
        if absent and (place.require_complete or len(lost) == len(self.manifest.shards)):
            raise FleetIncomplete(absent[0].partition(";")[0] + (f", and {len(absent) - 1} more" if absent[1:] else ""))
        key = tuple(absent)
        if key not in self._stores:
            facts = {number: of_shard for number, of_shard in self.shards.facts.items() if number not in lost}
            whole = Path(place.store), self.shards, facts, self._list_homes(facts)
            self._stores[key] = ShardedStore(*whole, snapshot=self._snapshot, release=self._keep_for_next)
            self._stores[key].missing = key
        self._uses += 1
        if self._uses == USES_BEFORE:
            store = open_store(place.store)
            for number, entry in enumerate(self.manifest.shards):
                with suppress(StoreFault, ValueError):  # without its sketch, a shard is asked for every word
                    packed = store.read(name_sketch(entry.file)) or b""
                    if entry.sketch in ("", xxhash.xxh3_128_hexdigest(packed)):
                        self._sketches[number] = Sketch.from_bytes(packed)
        self._stores[key].set_sketches(self._sketches)
        return self._stores[key]

    def _describe_shard(self, number: int) -> str:
        """Describe a shard in a notice, as one of those that the user may see."""
        names = self.manifest.shards[number].repositories
        more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
        return f"shard {number + 1} of {len(self.manifest.shards)} ({', '.join(names[:MOST_NAMED])}{more})"

    def _list_homes(self, shards: Iterable[int]) -> list[Home]:
        rows: dict[str, tuple[int, RepositoryRow]] = {}
        for number in shards:
            names, rows_of_shard = self.manifest.shards[number].repositories, self.shards.facts[number].repositories
            rows |= {name: (number, row) for name, row in zip(names, rows_of_shard, strict=True)}
        repositories = (r for r in self.manifest.repositories if r.name in rows)
        # The root is the repository's folder; or its name, if no folder has the files in their indexed state.
        return [Home(*rows[r.name], r.name, Path(r.name if r.url or r.ref else r.path)) for r in repositories]

    def _keep_for_next(self) -> None:
        """Keep the connection for the next query; close the oldest if there are too many."""
        if self not in _RESTING:
            _RESTING.append(self)
        while len(_RESTING) > MOST_RESTING:
            _RESTING.pop(0).shards.close()


_RESTING: list[FleetConnection] = []


def _retry_without_lost(method: Callable[..., T]) -> Callable[..., T]:
    """Make a method of `FleetIndex` that calls a method, and repeats the call without shards that are lost."""

    def ask(self: FleetIndex, *arguments: Any, **options: Any) -> T:
        while True:
            try:
                return method(self, *arguments, **options)
            except ShardLostError:
                self.drop_lost_shards()

    return ask


class FleetIndex(Index):
    """The shards of a fleet as one index. If a shard is lost during a query, the query is repeated without it."""

    def __init__(self, connection: FleetConnection, place: FleetPlace, settings: Settings) -> None:
        super().__init__(connection.store(place), settings)
        self._connection, self._place = connection, place

    def _read_info(self) -> IndexInfo:
        return replace(super()._read_info(), path=self._place.store)

    def __exit__(self, kind: object, fault: object, trace: object) -> None:
        """Close the fleet. What was not found may be in a shard that does not answer, so the error names it."""
        if isinstance(fault, TargetError) and self.missing_parts:
            fault.hint = "; ".join(self.missing_parts)
        super().__exit__(kind, fault, trace)

    def drop_lost_shards(self) -> None:
        """Drop lost shards and go on without them. Raises FleetIncomplete."""
        self._store, self._info = self._connection.store(self._place), None

    @_retry_without_lost
    def status(self, check: bool = False) -> Status:
        """Read the status of the shards. Ignores `check`, since the source trees may be on other machines."""
        connection = self._connection
        answering = connection.shards.facts.keys() - connection.shards.lost.keys()
        statuses = connection.shards.read_statuses(sorted(answering), self._settings)
        repositories = [repository for number in sorted(statuses) for repository in statuses[number].repositories]
        size = sum(status.file_bytes for status in statuses.values())
        return Status(self.info(), tuple(repositories), size, {}, "", "")

    search, search_lines = _retry_without_lost(Index.search), _retry_without_lost(Index.search_lines)
    why, files = _retry_without_lost(Index.why), _retry_without_lost(Index.files)
    symbols = _retry_without_lost(Index.symbols)
