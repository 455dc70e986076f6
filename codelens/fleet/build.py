"""Build the shards of a fleet on Dask workers, write the manifest that lists them, and report the state of the store."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

import xxhash

from codelens.config import Settings
from codelens.errors import CodelensError, NoIndex, UsageError
from codelens.fleet.manifest import FleetManifest, FleetRepository, Member, ShardEntry, group_into_shards, map_fields
from codelens.fleet.sources import LOOKS_AT_ONCE, FleetSource, SourceLook, check_sources
from codelens.fleet.stores import FleetStore, open_store
from codelens.fleet.workers import (
    SHARDS,
    ShardBuilt,
    ShardJob,
    build_shard,
    compute_fleet_recipe,
    find_damaged_files,
    name_record,
    name_sketch,
)
from codelens.model.fast_dataclass import dataclass, field, replace
from codelens.model.runs import FleetRepositoryStatus, FleetStatus, ShardStatus
from codelens.text.counts import quantity

SHARD_BYTES = 500_000_000  # Limit on bytes of source in a shard that several repositories share
LEAST_SHARD_BYTES = 8_000_000
SHARDS_PER_WORKER = 4  # In a small fleet: enough shards to keep all workers busy until nearly the end
GO_ON = "run the command again: it goes on where it was"
RETRIES = 2  # How often a failed shard is tried again, each time on another worker if possible
LOOK_SECONDS = 5.0  # How often to check which workers are alive while no shard is finished
WRITING_SHARE = 0.05  # Limit on the share of time spent writing the manifest, which lists all repositories
GRACE_SECONDS = 3600  # How long a superseded shard is kept, because a search with an older manifest may open it


def index_fleet(
    client: Any,
    fleet: Sequence[FleetSource],
    store_url: str,
    settings: Settings,
    *,
    allow_network: bool = False,
    most: int | None = None,
    verify: bool = False,
    report: Callable[[str], None] = lambda line: None,
) -> FleetManifest:
    """Build the shards that are damaged or whose repositories changed, and update the manifest as they are finished. The
    manifest also lists failures; the other shards are still built.

    `most`: limit on bytes of source per shared shard [default: by number of workers]. `verify`: read all stored shards to
    find damage; those in a folder always are.

    `report` is called with a line for each step. Raises UsageError for URLs without `allow_network`, IndexBusy if another
    coordinator writes to the store, CannotWrite, and KeyboardInterrupt with a message; the next run continues the build.
    """
    if not allow_network and (urls := [source for source in fleet if source.url]):
        text = f"{urls[0].name} is fetched from {urls[0].url}, which nobody has allowed"
        raise UsageError(text, "--allow-network lets git fetch the repositories that have a URL")
    store = open_store(store_url)
    with store.lock_for_writing():
        run = _FleetRun(client, store, settings, report)
        run.find_damage(verify)
        try:
            return run.finish(fleet, most)
        except KeyboardInterrupt as ending:
            done = f"{run.stored} of {quantity(run.planned, 'shard')} stored"
            raise type(ending)(f"{done}; `codelens cluster index` goes on from there") from None
        finally:
            if run.futures:  # a worker still finishes its current shard, and the next run finds that shard
                client.cancel(list(run.futures), force=True)


def find_next_writing(begun: float, ended: float) -> float:
    """Find the earliest time to write again, so that writing takes WRITING_SHARE of the time at most."""
    return ended + (ended - begun) / WRITING_SHARE


@dataclass(slots=True)
class _Group:
    """The repositories of a shard to build: in one chunk, or in several after a failure of the whole."""

    old: ShardEntry | None  # The shard that holds the repositories now
    base: ShardEntry | None  # The shard to update: the old one, then the result of the previous chunk
    names: list[str]
    chunks: list[list[str]]  # Names of repositories to index, in the chunks that remain
    tries: int = 0
    tried: set[str] = field(default_factory=set)  # Addresses of the workers that failed to build the first chunk
    place: set[str] = field(default_factory=set)  # Workers that may build the first chunk; empty for any worker
    records: dict[str, FleetRepository] = field(default_factory=dict)
    failures: dict[str, str] = field(default_factory=dict)


class _FleetRun:
    """One run of a coordinator, which plans the shards and has workers build them."""

    def __init__(self, client: Any, store: FleetStore, settings: Settings, report: Callable[[str], None]) -> None:
        self._client, self._store, self._settings, self._report = client, store, settings, report
        self.planned = self.stored = 0
        self._recipe = compute_fleet_recipe(settings)
        self.futures: dict[Any, _Group] = {}
        self._before = FleetManifest()
        with suppress(NoIndex):
            self._before = FleetManifest.read(store)
        self._manifest = self._before
        self._looks: dict[str, SourceLook] = {}
        self._damaged = set[str]()  # See `list_damaged_files`

    def find_damage(self, verify: bool) -> None:
        """Find the shards that must be built again although their repositories are unchanged; see `index_fleet`."""
        is_folder = self._store.local is not None
        self._damaged = list_damaged_files(self._store, self._before.shards, verify or is_folder)
        for file in sorted(self._damaged):
            self._report(f"{file} is damaged or missing: it is built again")

    def finish(self, fleet: Sequence[FleetSource], most: int | None) -> FleetManifest:
        """Check all repositories, build the shards that changed, and remove files that are no longer needed."""
        self._looks = {seen.source.name: seen for seen in check_sources(fleet)}
        groups = self._plan_groups(most)
        waiting = [group for group in groups if group.chunks]
        self.planned = len(waiting)
        repositories = quantity(len(fleet), "repository", "repositories")
        self._report(f"{repositories}: {len(waiting)} of {quantity(len(groups), 'shard')} to build")
        # Shards of different recipes cannot be searched together: until all are built, the manifest lists the old ones.
        shown = self._before.recipe in ("", self._recipe)
        due = 0.0  # Earliest time of the next update of the manifest
        for group in self._build_groups(waiting):
            if shown and (begun := time.monotonic()) >= due:
                self._replace_manifest(groups)
                due = find_next_writing(begun, time.monotonic())
            self.stored += 1
            size = f"{group.base.bytes / 1e6:.1f} MB" if group.base else "nothing stored"
            names = quantity(len(group.names), "repository", "repositories")
            self._report(f"shard {self.stored} of {self.planned}: {names}, {size}")
            for name, reason in group.failures.items():
                self._report(f"{name}: {reason}")
        self._replace_manifest(groups)
        self._remove_unnamed()
        return self._manifest

    def _plan_groups(self, most: int | None) -> list[_Group]:
        """Plan which repositories each shard will hold, and which of them must be indexed; `most` as in `index_fleet`."""
        whole = (shard for shard in self._before.shards if shard.file not in self._damaged)
        old = {name: shard for shard in whole for name in shard.repositories}
        known = {r.name: r for r in self._before.repositories}
        members = {}
        for name in dict.fromkeys((*known, *self._looks)):
            if (seen := self._looks.get(name)) and (name in old or not seen.fault):
                members[name] = Member(known[name].bytes if name in old else seen.bytes, seen.source.group)
        if most is None:
            workers = len(self._client.scheduler_info(n_workers=-1)["workers"]) or 1
            share = sum(member.bytes for member in members.values()) // (SHARDS_PER_WORKER * workers)
            most = min(SHARD_BYTES, max(LEAST_SHARD_BYTES, share))
        groups, used = [], set()
        for names in group_into_shards(members, most, self._before.planned):
            shard = next((old[name] for name in names if name in old), None)
            shard = None if shard is None or shard.file in used else shard  # after a change of group, build a new shard
            used |= {shard.file} if shard else set()
            in_shard = shard.repositories if shard else ()
            has_sketch = shard is not None and name_sketch(shard.file) not in self._damaged
            is_current = self._before.recipe == self._recipe
            base = shard if has_sketch and is_current and tuple(names[: len(in_shard)]) == in_shard else None
            unchanged = {n for n in in_shard if base and n in known and known[n].is_indexed_as(self._looks[n])}
            wanted = [name for name in names if name not in unchanged]
            readable = [name for name in wanted if not self._looks[name].fault]
            group = _Group(shard, base, names, [readable] if readable else [])
            group.records = {name: known[name] for name in in_shard if name in known}
            group.failures = {name: self._looks[name].fault for name in wanted if self._looks[name].fault}
            if group.failures and not base:  # only the old shard holds the repositories that cannot be read now
                group.chunks = group.chunks if self._before.recipe != self._recipe else []
            groups.append(group)
        return groups

    def _build_groups(self, waiting: Sequence[_Group]) -> Iterator[_Group]:
        """Have the groups built, with two per worker thread in progress; yield each group when it is done."""
        if waiting and not self._count_threads():
            self._report("no worker has joined the scheduler yet: waiting for the first")
        queue = list(reversed(waiting))
        while queue or self.futures:
            while queue and len(self.futures) < 2 * max(1, sum(self._count_threads().values())):
                self._submit_chunk(queue.pop())
            for future in self._wait_for_shards():
                group = self.futures.pop(future)
                if future.status == "finished":
                    built = future.result()
                elif type(fault := future.exception()).__name__ == "KilledWorker":
                    built = ShardBuilt(fault="each worker that tried it died, perhaps for lack of memory")
                else:
                    built = ShardBuilt(fault=f"{type(fault).__name__}: {fault}")
                self._note_result(group, built)
                if group.chunks:
                    self._submit_chunk(group)
                else:
                    yield group

    def _wait_for_shards(self) -> list[Any]:
        """Wait until shards are done. Shards assigned to workers that are gone are reassigned to any worker."""
        from distributed import CancelledError, wait

        while True:
            try:
                return list(wait(list(self.futures), timeout=LOOK_SECONDS, return_when="FIRST_COMPLETED").done)
            except CancelledError:
                raise CodelensError("the scheduler is gone, or has given up this run", GO_ON) from None
            except TimeoutError:
                there = self._count_threads().keys()
                # Dask gives up a local worker that dies while it is started again.
                if cluster := self._client.cluster:
                    cluster.scale(len(cluster.worker_spec))
            for future, group in list(self.futures.items()):
                if group.place and not there & group.place:
                    del self.futures[future]
                    self._client.cancel([future], force=True)
                    self._submit_chunk(group)

    def _count_threads(self) -> Mapping[str, int]:
        """Count the threads of each worker: address → number. Raises CodelensError if the scheduler does not answer."""
        try:
            threads: Mapping[str, int] = self._client.nthreads()
        except OSError as fault:
            raise CodelensError(f"the scheduler does not answer ({type(fault).__name__})", GO_ON) from None
        return threads

    def _submit_chunk(self, group: _Group) -> None:
        """Have a worker build the first chunk of a group; prefer a worker that has not tried it yet."""
        from distributed import fire_and_forget

        chunk = group.chunks[0]
        staying = tuple(group.records[name] for name in group.base.repositories) if group.base else ()
        wanted = tuple(self._looks[name] for name in chunk)
        rest = tuple(self._looks[r.name] for r in staying if r.name not in chunk)
        place, is_last = (self._store.url, self._recipe, self._settings), group.tries == RETRIES
        job = ShardJob(*place, wanted, group.base, staying, rest, is_last)
        group.place = self._count_threads().keys() - group.tried if group.tried else set()
        # If this coordinator is killed, the next one that submits the same job gets the same task by this key. The key
        # includes damaged files, since the scheduler may still know the result of a task whose shard is damaged.
        task = repr((job, group.tries, sorted(self._damaged))).encode("utf-8", "surrogateescape")
        key = f"codelens-{xxhash.xxh3_128_hexdigest(task)}"
        future = self._client.submit(build_shard, job, key=key, workers=sorted(group.place) or None)
        fire_and_forget(future)
        self.futures[future] = group

    def _note_result(self, group: _Group, built: ShardBuilt) -> None:
        """Process the result of a group's first chunk: try it again, split it, or record it and go on."""
        chunk = group.chunks[0]
        failed = bool(built.fault) or bool(built.failures)
        # Dask itself gives a shard to another worker when one dies.
        if failed and built.worker and group.tries < RETRIES and not (built.entry and not built.fault):
            group.tries += 1
            group.tried.add(built.worker)
            return
        group.tries, group.tried = 0, set()
        del group.chunks[0]
        if built.fault and len(chunk) > 1 and not built.is_hopeless:
            middle = len(chunk) // 2
            group.chunks[:0] = [chunk[:middle], chunk[middle:]]
            return
        group.failures |= dict.fromkeys(chunk, built.fault) if built.fault else built.failures
        if built.is_hopeless:
            group.failures |= {name: built.fault for rest in group.chunks for name in rest}
            group.chunks.clear()
        if built.entry:
            group.base = built.entry
            group.records |= {r.name: r for r in built.indexed}

    def _replace_manifest(self, groups: Sequence[_Group]) -> None:
        """Write the manifest for the current state, unless it is unchanged."""
        made = self._make_manifest(groups)
        if made != self._manifest:
            self._manifest = made.write(self._store)

    def _make_manifest(self, groups: Sequence[_Group]) -> FleetManifest:
        shards: list[ShardEntry] = []
        planned: list[tuple[str, ...]] = []
        indexed: dict[str, FleetRepository] = {}
        failures = {name: seen.fault for name, seen in self._looks.items() if seen.fault}
        for group in groups:
            failures |= group.failures
            if group.old is None or self._before.recipe != self._recipe:
                shard = group.base if not group.chunks else None
            else:  # use the new shard only if it holds all repositories of the old one
                missing = set(group.old.repositories) - set(group.base.repositories if group.base else ())
                is_whole = group.base and not group.chunks and not group.failures.keys() & missing
                shard = group.base if is_whole else group.old
            names = tuple(group.names) if group.chunks else shard.repositories if shard else ()
            planned += [names] if names else []
            if shard is not None:
                shards.append(shard)
                indexed |= {name: replace(group.records[name], shard=shard.file) for name in shard.repositories}
        names_in_order = dict.fromkeys((*(r.name for r in self._before.repositories), *self._looks))
        present = [name for name in names_in_order if name in indexed or name in self._looks]
        repositories = [self._describe_repository(indexed.get(n), n, failures.get(n, "")) for n in present]
        repositories.sort(key=lambda r: bool(r.failure) and not r.shard)  # they come last when they are mended, too
        named = {shard.file for shard in shards}
        superseded = {file: at for file, at in self._manifest.superseded.items() if file not in named}
        gone = {shard.file: int(time.time()) for shard in self._manifest.shards if shard.file not in named}
        content = tuple(repositories), tuple(shards), tuple(planned), self._recipe
        return FleetManifest(*content, gone | superseded, self._manifest.generation)

    def _describe_repository(self, held: FleetRepository | None, name: str, failure: str) -> FleetRepository:
        """Make the entry of a repository, which a shard may hold, with its latest failure."""
        if held is None:
            return FleetRepository(**map_fields(self._looks[name].source), failure=failure)
        if name not in self._looks:
            return replace(held, failure="not in the fleet any more; its shard must yet be built without it")
        source = self._looks[name].source
        return replace(held, group=source.group, metadata=source.metadata, failure=failure)

    def _remove_unnamed(self) -> None:
        """Remove files that no manifest has listed for GRACE_SECONDS: superseded shards, and leftovers of killed workers."""
        named = {shard.file for shard in self._manifest.shards}
        needed = {beside for file in named for beside in _list_shard_files(file)}
        left = {beside: at for file, at in self._manifest.superseded.items() for beside in _list_shard_files(file)}
        until = time.time() - GRACE_SECONDS
        removed = set()
        for file in sorted(self._store.list_files(SHARDS), key=lambda file: file.name.endswith(".db")):  # records first
            if file.name not in needed and max(file.modified, left.get(file.name, 0)) < until:
                self._store.remove(file.name)
                removed.add(file.name)
        if gone := removed & self._manifest.superseded.keys():
            rest = {file: at for file, at in self._manifest.superseded.items() if file not in gone}
            self._manifest = replace(self._manifest, superseded=rest).write(self._store)


def _list_shard_files(file: str) -> tuple[str, str, str]:
    """List the files of a shard: the shard itself, its record and its sketch."""
    return file, name_record(file), name_sketch(file)


def list_damaged_files(store: FleetStore, shards: Sequence[ShardEntry], verify: bool) -> set[str]:
    """List missing sketches, and shards that are missing or have the wrong length; with `verify`, all whose bytes differ."""
    from concurrent.futures import ThreadPoolExecutor

    lengths = {file.name: file.bytes for file in store.list_files(SHARDS)}
    damaged = {shard.file for shard in shards if lengths.get(shard.file) != shard.bytes}
    damaged |= {name_sketch(shard.file) for shard in shards} - lengths.keys()
    if verify:
        with ThreadPoolExecutor(LOOKS_AT_ONCE) as threads:
            damaged.update(*threads.map(partial(find_damaged_files, store), shards))
    return damaged


def read_fleet_status(store_url: str, settings: Settings, *, looking: bool = True, verify: bool = False) -> FleetStatus:
    """Report the state of a store. With `looking`, compare folders with their indexed state; never fetches. With `verify`,
    read all shards. Raises NoIndex."""
    store = open_store(store_url)
    manifest = FleetManifest.read(store)
    damaged = list_damaged_files(store, manifest.shards, verify)
    in_folders = (r for r in manifest.repositories if looking and r.path)
    looks = {seen.source.name: seen for seen in check_sources(in_folders)}
    shown = []
    for r in manifest.repositories:
        fields = r.name, r.place, r.ref, r.commit, r.files, r.bytes, r.shard, r.indexed, r.failure
        shown.append(FleetRepositoryStatus(*fields, _find_staleness(r, looks.get(r.name))))
    sizes = {r.name: r.bytes for r in manifest.repositories}
    source_bytes = {shard.file: sum(sizes.get(name, 0) for name in shard.repositories) for shard in manifest.shards}
    shards = tuple(
        ShardStatus(
            s.file,
            len(s.repositories),
            s.bytes,
            source_bytes[s.file],
            not damaged.isdisjoint(_list_shard_files(s.file)),
        )
        for s in manifest.shards
    )
    named = {shard.file for shard in manifest.shards}
    superseded = (file for file in store.list_files(SHARDS) if file.name.endswith(".db") and file.name not in named)
    return FleetStatus(
        store=store.url,
        generation=manifest.generation,
        repositories=tuple(shown),
        shards=shards,
        recipe_is_current=compute_fleet_recipe(settings) == manifest.recipe,
        searched=sum(bool(r.shard) for r in shown),
        failed=sum(bool(r.failure) for r in shown),
        stale=sum(bool(r.stale) for r in shown),
        files=sum(r.files for r in shown),
        bytes=sum(shard.bytes for shard in shards),
        source_bytes=sum(source_bytes.values()),
        superseded_bytes=sum(file.bytes for file in superseded),
        not_looked_at=tuple(r.name for r in manifest.repositories if looking and r.url),
        verified=verify,
    )


def _find_staleness(repository: FleetRepository, seen: SourceLook | None) -> str:
    """Compare a repository with its source: "failed", "gone", "changed", "new", or empty if it is up to date."""
    if seen is None:
        return "failed" if repository.failure else ""
    if seen.fault:
        return "gone"
    if seen.state != repository.state:
        return "changed" if repository.shard else "failed" if repository.failure else "new"
    return ""
