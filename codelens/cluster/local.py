"""Opens several index files as one store."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from codelens.cluster.numbers import Home
from codelens.cluster.shards import Transport
from codelens.cluster.store import ShardedStore
from codelens.errors import UsageError
from codelens.store.store import Store

SHARED = ("embedder_fingerprint", "embedder_setting", "embedder", "fuzzy", "vector", "state")
"""Keys of `meta` that shards must agree on."""


def sharded(place: Path, stores: Sequence[Store], transport: Transport, order: Sequence[Path] = ()) -> ShardedStore:
    """The store that these shards, asked through a transport, are together.

    `order`: the roots as one index would have them, by default shard by shard. Raises UsageError if the shards differ in kind.
    """
    homes = [
        Home(number, row)
        for number, store in enumerate(stores)
        for row in sorted(store.documents.repositories(), key=lambda row: row.id)
    ]
    homes.sort(key=lambda home: order.index(home.row.root) if order else 0)
    meta = {}
    for key in SHARED:
        values = {store.meta(key) for store in stores}
        if len(values) > 1:
            raise UsageError(f"the shards differ in {key}: {', '.join(sorted(values))}", "index them the same way")
        if value := values.pop():
            meta[key] = value
    meta["schema"] = str(stores[0].schema())
    return ShardedStore(place, transport, homes, meta)
