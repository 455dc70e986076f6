"""Opens several index files as one store."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from codelens.cluster.numbers import Home
from codelens.cluster.shards import LocalShards, Shard, Transport
from codelens.cluster.store import ShardedStore
from codelens.errors import UsageError
from codelens.store.store import Store

SHARED = ("embedder_fingerprint", "embedder_setting", "embedder", "fuzzy", "vector", "state")
"""Keys of `meta` that shards must agree on."""


def open_shards(place: Path, files: Sequence[Path]) -> tuple[ShardedStore, LocalShards]:
    """Open index files as one store; repositories stand in the order of the files. Raises UsageError if they differ in kind."""
    stores = [Store.read(file) for file in files]
    return sharded(place, stores, transport := LocalShards([Shard(store) for store in stores])), transport


def sharded(place: Path, stores: Sequence[Store], transport: Transport) -> ShardedStore:
    """The store that these shards, asked through a transport, are together."""
    homes = [
        Home(number, row)
        for number, store in enumerate(stores)
        for row in sorted(store.documents.repositories(), key=lambda row: row.id)
    ]
    meta = {}
    for key in SHARED:
        values = {store.meta(key) for store in stores}
        if len(values) > 1:
            raise UsageError(f"the shards differ in {key}: {', '.join(sorted(values))}", "index them the same way")
        if value := values.pop():
            meta[key] = value
    meta["schema"] = str(stores[0].schema())
    for store in stores:
        store.load_vectors()
    return ShardedStore(place, transport, homes, meta)
