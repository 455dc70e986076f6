"""Several open index files as one store, in this process: what tests and measurements ask in place of a cluster."""

from __future__ import annotations

import pickle
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from codelens.cluster.numbers import Home
from codelens.cluster.shards import MethodCall, Shard, Transport
from codelens.cluster.store import ShardedStore
from codelens.model.fast_dataclass import dataclass
from codelens.store.store import Store


@dataclass(slots=True)
class Traffic:
    """The cost of searches in messages."""

    rounds: int = 0
    messages: int = 0
    bytes: int = 0  # Bytes there and back, pickled; counted only if measured


class LocalShards:
    """Shards in this process."""

    def __init__(self, shards: Sequence[Shard]) -> None:
        self._shards = shards

    def ask(self, messages: Mapping[int, Sequence[MethodCall]]) -> dict[int, list[Any]]:
        """One after the other."""
        return {number: self._shards[number].answer(message) for number, message in messages.items()}


class Measured:
    """Counts what goes through another transport, and proves that all of it can be sent."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self.traffic = Traffic()
        self.log: list[tuple[str, int, int]] = []
        """(method, number of shards, bytes) of each round."""

    def ask(self, messages: Mapping[int, Sequence[MethodCall]]) -> dict[int, list[Any]]:
        """The answers of the other transport, after all was packed and unpacked."""
        sent = {number: pickle.dumps(message) for number, message in messages.items()}
        answers = self._transport.ask({number: pickle.loads(packed) for number, packed in sent.items()})
        packed = {number: pickle.dumps(answer) for number, answer in answers.items()}
        size = sum(map(len, sent.values())) + sum(map(len, packed.values()))
        self.traffic.rounds += 1
        self.traffic.messages += len(sent)
        self.traffic.bytes += size
        methods = dict.fromkeys(method for message in messages.values() for method, _ in message)
        self.log.append((" + ".join(methods), len(sent), size))
        return {number: pickle.loads(answer) for number, answer in packed.items()}


def sharded(place: Path, stores: Sequence[Store], transport: Transport, order: Sequence[Path] = ()) -> ShardedStore:
    """The store that these shards, asked through a transport, are together.

    `order`: the roots as one index would have them, by default shard by shard. Raises UsageError if the shards differ in kind.
    """
    facts = {number: Shard(store).read_facts() for number, store in enumerate(stores)}
    homes = [Home(number, row) for number, of_shard in facts.items() for row in of_shard.repositories]
    homes.sort(key=lambda home: order.index(home.row.root) if order else 0)
    return ShardedStore(place, transport, facts, homes)
