"""Connect to Dask, and build a shard on one of its workers."""

from __future__ import annotations

import errno
import gc
import json
import logging
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import xxhash

from codelens.config import Settings
from codelens.errors import CannotWrite, CodelensError, MissingExtra, UsageError
from codelens.fleet.manifest import FleetRepository, ShardEntry, map_fields, parse_shard
from codelens.fleet.sources import SourceLook, find_folder, provide_folder
from codelens.fleet.stores import FleetStore, compute_file_digest, open_store
from codelens.model.fast_dataclass import field, frozen_dataclass, replace
from codelens.processes.python import guard_children
from codelens.text.notation import parse_sealed_json, seal_json
from codelens.worktree.repository import GitError

UNINTERRUPTED = "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)"
"""Code that a local worker runs at its start: it ignores Ctrl-C, which the coordinator handles."""
OBJECTS = 100_000  # Threshold for garbage collection; see `codelens/cli/warm.py`
SHARDS = "shards"  # Folder of a store
MAX_CLUSTER_STARTS = 3


@contextmanager
def open_client(scheduler: str, workers: int) -> Iterator[Any]:
    """Connect to a scheduler, or start `workers` local processes for the time of the block. Raises MissingExtra, UsageError."""
    distributed = _import_distributed("a cluster")
    for name in ("distributed", "distributed.client"):  # they log tracebacks of errors that codelens reports in a line
        logging.getLogger(name).setLevel(logging.CRITICAL)
    if scheduler:
        with connect(scheduler, "a cluster") as client:
            yield client
        return
    quiet = {"silence_logs": logging.CRITICAL, "preload": [UNINTERRUPTED]}  # errors are part of the results
    place = {"processes": True, "threads_per_worker": 1, "dashboard_address": "127.0.0.1:0"}
    guard_children()
    with _start_cluster(workers, **place, **quiet) as cluster, distributed.Client(cluster) as client:
        yield client


def _start_cluster(workers: int, **options: Any) -> Any:
    """Start local workers. If one of them dies as it starts, Dask ends all of them, so they are started again."""
    from distributed import LocalCluster

    for _ in range(MAX_CLUSTER_STARTS):
        try:
            return LocalCluster(n_workers=workers, **options)
        except (RuntimeError, OSError) as fault:
            text = f"no workers can be started on this machine: {fault}"
    raise CodelensError(text, "free memory, or start fewer with --workers N")


def connect(scheduler: str, purpose: str, **options: Any) -> Any:
    """Connect to a scheduler. Raises MissingExtra, which names the `purpose`, and UsageError if nothing answers."""
    distributed = _import_distributed(purpose)
    try:
        return distributed.Client(scheduler, **options)
    except (OSError, ValueError) as fault:
        raise UsageError(f"no scheduler at {scheduler}: {fault}", "`dask scheduler` starts one") from None


def _import_distributed(purpose: str) -> Any:
    try:
        import distributed
    except ImportError:
        raise MissingExtra(purpose, ["distributed"], "cluster") from None
    return distributed


def compute_fleet_recipe(settings: Settings) -> str:
    """Hash everything that affects a shard's content, except the repositories' files, to 16 hex digits.

    It covers the schema, the recipes of all languages, the rules for walks, links and histories, and the embedding model.
    """
    from codelens.indexing.embedding import open_chosen_embedder
    from codelens.indexing.run import compute_current_recipe, format_skip_rules
    from codelens.indexing.walk_rules import WALK_KEYS
    from codelens.lang.registry import languages
    from codelens.linking.linker import compute_recipe as link_recipe
    from codelens.store.migrate import list_migrations
    from codelens.worktree.history import RULES

    embedder = open_chosen_embedder(settings)
    parts = [
        len(list_migrations()),
        format_skip_rules(settings),
        [getattr(settings, key) for key in (*WALK_KEYS, "max_precise_size", "fuzzy", "vector")],
        sorted((language, compute_current_recipe(language, settings)) for language in ("", *languages())),
        link_recipe(),
        RULES,
        embedder.compute_fingerprint() if embedder else "",
    ]
    return xxhash.xxh3_64_hexdigest(repr(parts).encode())


@frozen_dataclass
class ShardJob:
    """A shard to build, from repositories to index and, with a base, from repositories that it already holds."""

    store: str
    recipe: str
    settings: Settings
    wanted: tuple[SourceLook, ...]
    base: ShardEntry | None = None  # The shard to start from: its repositories are updated, new ones are appended
    kept: tuple[FleetRepository, ...] = ()  # Repositories in the base
    rest: tuple[SourceLook, ...] = ()  # Other sources in the base, to index if it cannot be used
    last: bool = True  # True to go on without unreachable sources; False to leave the job to another worker


@frozen_dataclass
class ShardBuilt:
    """The result of a `ShardJob`."""

    entry: ShardEntry | None = None  # None if there is no shard
    indexed: tuple[FleetRepository, ...] = ()  # Repositories that were indexed
    failures: Mapping[str, str] = field(default_factory=dict)  # Name of a source that cannot be reached → reason
    fault: str = ""  # Why the shard as a whole could not be built
    is_hopeless: bool = False  # True if fewer repositories would not help: the disk is full, or the worker differs
    worker: str = ""  # Address of the worker; empty if it died


def build_shard(job: ShardJob) -> ShardBuilt:
    """Build one shard on this worker and store it. Errors are part of the result, not raised."""
    gc.set_threshold(OBJECTS)
    built = ShardBuilt()
    try:
        if compute_fleet_recipe(job.settings) == job.recipe:
            built = _build(job)
        else:
            text = "the worker has another version of codelens, of a grammar or of the model than the coordinator"
            built = ShardBuilt(fault=text, is_hopeless=True)
    except CannotWrite as fault:
        built = ShardBuilt(fault=str(fault), is_hopeless=True)
    except OSError as fault:
        full = fault.errno in (errno.ENOSPC, errno.EDQUOT)
        built = ShardBuilt(fault=f"{fault.filename or 'disk'}: {fault.strerror or fault}", is_hopeless=full)
    except CodelensError as fault:
        built = ShardBuilt(fault=str(fault))
    except Exception as fault:  # a defect must not stop the other shards
        built = ShardBuilt(fault=f"{type(fault).__name__}: {fault}")
    return replace(built, worker=_read_worker_fact("address"))


def _read_worker_fact(name: str) -> str:
    """Read an attribute of the Dask worker in which this runs; empty outside of workers."""
    from distributed import get_worker

    try:
        return str(getattr(get_worker(), name))
    except ValueError:
        return ""


def _build(job: ShardJob) -> ShardBuilt:
    store = open_store(job.store)
    if stored := _find_stored_shard(store, _name_record(job, job.wanted)):
        return stored
    with ExitStack() as stack:
        # Dask removes the worker's folder, even after a kill.
        disk = _read_worker_fact("local_directory") or None
        scratch = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="codelens-", dir=disk)))
        if not _take_base(store, job, scratch / "shard.db"):
            every = {seen.source.name: seen for seen in (*job.wanted, *job.rest)}
            order = dict.fromkeys((*(r.name for r in job.kept), *every))
            job = replace(job, wanted=tuple(every[name] for name in order), base=None, kept=(), rest=())
        trees: dict[str, tuple[Path, SourceLook]] = {}
        failures = {}
        for seen in job.wanted:
            try:
                trees[seen.source.name] = stack.enter_context(provide_folder(seen, job.settings.max_file_size))
            except (GitError, OSError, CodelensError) as fault:
                if getattr(fault, "errno", 0) in (errno.ENOSPC, errno.EDQUOT):
                    raise
                failures[seen.source.name] = str(fault)
        if not trees or (failures and not job.last):
            return ShardBuilt(failures=failures)
        record = _name_record(job, [seen for _, seen in trees.values()])
        if stored := _find_stored_shard(store, record):
            return replace(stored, failures=failures)
        return replace(_index_repositories(job, store, record, scratch / "shard.db", trees), failures=failures)


def _name_record(job: ShardJob, looks: Sequence[SourceLook]) -> str:
    """Make the name of a shard's record from the states of its repositories, so that an existing shard is not built again."""
    states = {r.name: (r.place, r.ref, r.state) for r in job.kept}
    states |= {seen.source.name: (seen.source.place, seen.source.ref, seen.state) for seen in looks}
    return f"{SHARDS}/{xxhash.xxh3_128_hexdigest(json.dumps([job.recipe, list(states.items())]).encode())}.json"


def name_record(file: str) -> str:
    """Make the name of a shard's record, which is stored after the shard and marks it as complete."""
    return f"{file.rpartition('-')[0]}.json"


def name_sketch(file: str) -> str:
    """Make the name of a shard's sketch."""
    return f"{file.removesuffix('.db')}.sketch"


def _find_stored_shard(store: FleetStore, name: str) -> ShardBuilt | None:
    """Find the shard of this record in the store; None if one of the two is missing or damaged."""
    content = store.read(name)
    if content is None:
        return None
    try:
        record = parse_sealed_json(content)
        entry = parse_shard(record["shard"])
        indexed = tuple(FleetRepository(**row) for row in record["indexed"])
    except (ValueError, KeyError, TypeError):
        return None

    is_stored = name_record(entry.file) == name and not find_damaged_files(store, entry)
    return ShardBuilt(entry, indexed) if is_stored else None


def find_damaged_files(store: FleetStore, shard: ShardEntry) -> list[str]:
    """Find the files of a shard, among itself and its sketch, whose bytes are not those that were stored. Reads both."""
    digests = {shard.file: shard.digest, name_sketch(shard.file): shard.sketch}
    return [file for file, digest in digests.items() if digest and store.compute_digest(file) != digest]


def _index_repositories(
    job: ShardJob, store: FleetStore, name: str, index: Path, trees: Mapping[str, tuple[Path, SourceLook]]
) -> ShardBuilt:
    """Index the source trees into the file `index`, then store it as a shard with its sketch and its record."""
    from codelens.cluster.sketch import build_sketch
    from codelens.index import Index
    from codelens.store.store import Store

    reports = Index.build(index, [root for root, _ in trees.values()], replace(job.settings, jobs=1))
    digest = compute_file_digest(index)
    # If two workers build the same shard, they store two files, so that no file is replaced while it is read.
    file = f"{name.removesuffix('.json')}-{digest[:8]}.db"
    now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    indexed = tuple(
        FleetRepository(
            **map_fields(seen.source),
            root=str(root),
            commit=seen.commit,
            state=seen.state,
            bytes=report.source_bytes,
            files=report.indexed,
            shard=file,
            indexed=now,
        )
        for (root, seen), report in zip(trees.values(), reports, strict=True)
    )
    names = tuple(dict.fromkeys((*(r.name for r in job.kept), *trees)))
    with Store.read(index, accepted=True) as opened:
        sketch = build_sketch(opened).to_bytes()
        content = opened.read_meta("snapshot")
    entry = ShardEntry(file, names, index.stat().st_size, digest, xxhash.xxh3_128_hexdigest(sketch), content)
    store.write(name_sketch(file), sketch)
    store.upload(index, file)
    store.write(name, seal_json({"shard": entry, "indexed": indexed}, default=map_fields))
    return ShardBuilt(entry, indexed)


def _take_base(store: FleetStore, job: ShardJob, index: Path) -> bool:
    """Copy the base and sign it for this user. Returns False if it is damaged, or if a repository's folder has changed."""
    from codelens.store.store import Store

    if job.base is None:
        return False
    before = {r.name: Path(r.root) for r in job.kept}
    folders = {seen.source.name: find_folder(seen) for seen in job.wanted}
    if any(before.get(name, folder) != folder for name, folder in folders.items()):
        return False
    store.download(job.base.file, index)
    if compute_file_digest(index) != job.base.digest:
        index.unlink()
        return False
    with Store.write(index, accepted=True) as opened:
        opened.sign_for_writing(index, list(before.values()))
    return True
