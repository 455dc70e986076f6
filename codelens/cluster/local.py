"""Several open index files as one store."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from codelens.cluster.numbers import Home
from codelens.cluster.shards import Shard, Transport
from codelens.cluster.store import ShardedStore, Whole
from codelens.store.store import Store


def sharded(place: Path, stores: Sequence[Store], transport: Transport, order: Sequence[Path] = ()) -> ShardedStore:
    """The store that these shards, asked through a transport, are together.

    `order`: the roots as one index would have them, by default shard by shard. Raises UsageError if the shards differ in kind.
    """
    facts = {number: Shard(store).facts() for number, store in enumerate(stores)}
    homes = [Home(number, row) for number, of_shard in facts.items() for row in of_shard.repositories]
    homes.sort(key=lambda home: order.index(home.row.root) if order else 0)
    return ShardedStore(Whole(place), transport, facts, homes)
