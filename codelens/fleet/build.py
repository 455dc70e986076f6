"""A folder of clones → shards in a store, each built by a worker, and the manifest that names them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import xxhash

from codelens.config import Settings
from codelens.errors import NoIndex, UsageError
from codelens.fleet.manifest import FleetManifest, FleetRepository, ShardEntry, grouped
from codelens.fleet.workers import RETRIES, build_shard
from codelens.text.notation import parse_json

SHARD_BYTES = 500_000_000
"""Bytes of source that small repositories share a shard for. Chosen."""


def read_fleet(fleet: Path) -> list[Path]:
    """Roots, from a folder of clones or from JSON Lines with a `path` in each. Raises UsageError."""
    if fleet.is_dir():
        return sorted(folder.resolve() for folder in fleet.iterdir() if folder.is_dir())
    try:
        rows = [parse_json(line) for line in fleet.read_text(encoding="utf-8").splitlines() if line.strip()]
        return [(fleet.parent / row["path"]).resolve() for row in rows]
    except (OSError, ValueError, KeyError, TypeError) as fault:
        raise UsageError(f"{fleet} does not list repositories: {fault}", "a folder of clones, or JSON Lines") from None


def index_fleet(
    client: Any, roots: Sequence[Path], store: Path, settings: Settings, most: int = SHARD_BYTES
) -> FleetManifest:
    """Build the shards that changed, and replace the manifest after each. What cannot be built is listed; the rest goes on."""
    from distributed import as_completed

    try:
        before = FleetManifest.read(store)
    except NoIndex:
        before = FleetManifest()
    repositories = [described(root) for root in roots]
    groups = grouped(repositories, most, before)
    (store / "shards").mkdir(parents=True, exist_ok=True)
    waiting = {}
    for group in groups:
        file = store.resolve() / "shards" / f"{_digest(group)}.db"
        future = client.submit(build_shard, str(file), [r.root for r in group], settings, pure=False, retries=RETRIES)
        waiting[future] = file, group
    built: dict[str, tuple[ShardEntry, list[FleetRepository]]] = {}
    failures: dict[str, str] = {}
    manifest = before
    for future in as_completed(list(waiting)):
        file, group = waiting[future]
        if future.status == "finished":
            entry = ShardEntry(f"shards/{file.name}", tuple(r.root for r in group), future.result())
            built[entry.file] = entry, group
        else:
            failures |= {r.root: str(future.exception()) for r in group}
        manifest = _manifest(repositories, built, failures, groups)
        if len(built) == len(waiting):
            break
    manifest.write(store)
    _remove_others(store, manifest)
    return manifest


def described(root: Path) -> FleetRepository:
    """A repository as it is now."""
    from codelens.worktree.commits import commit_id, repository_of
    from codelens.worktree.repository import GitError

    state = ""
    if (found := repository_of(root)) is not None:
        try:
            state = commit_id(found, "HEAD")
        except GitError:
            state = ""
    size = sum(file.stat().st_size for file in _files(root))
    return FleetRepository(str(root), state, size)


def _files(root: Path) -> Iterable[Path]:
    return (file for file in root.rglob("*") if ".git" not in file.parts and file.is_file())


def _digest(group: Sequence[FleetRepository]) -> str:
    """The name of a shard's file: another one for other content, as far as commits and sizes tell."""
    text = json.dumps([[r.root, r.state, r.bytes] for r in group])
    return xxhash.xxh3_128_hexdigest(text.encode())


def _manifest(
    repositories: Sequence[FleetRepository],
    built: dict[str, tuple[ShardEntry, list[FleetRepository]]],
    failures: dict[str, str],
    groups: Sequence[Sequence[FleetRepository]],
) -> FleetManifest:
    order = {group[0].root: place for place, group in enumerate(groups)}
    shards = sorted((entry for entry, _ in built.values()), key=lambda entry: order[entry.repositories[0]])
    held = {root for entry in shards for root in entry.repositories}
    return FleetManifest(tuple(r for r in repositories if r.root in held), tuple(shards), failures)


def _remove_others(store: Path, manifest: FleetManifest) -> None:
    """Delete shards that the manifest does not name. A search that reads them has them open."""
    named = {store / shard.file for shard in manifest.shards}
    for file in (store / "shards").glob("*.db"):
        if file not in named:
            file.unlink(missing_ok=True)
