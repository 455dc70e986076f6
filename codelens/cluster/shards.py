"""The seam to where shards lie: one message to each shard, all at once, one answer from each."""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from codelens.model.code import RepositoryId
from codelens.model.fast_dataclass import dataclass
from codelens.store.documents import RepositoryRow
from codelens.store.store import INDEXED_AT, Store
from codelens.store.units import UnitSet

SHARED = ("embedder_fingerprint", "embedder_setting", "embedder", "fuzzy", "vector", "state")
"""Keys of `meta` that shards must agree on."""
SETS_HELD = 8
"""Sets of units that a shard remembers; a search has a scope and a pool of candidates. Chosen."""


class HeldSet(NamedTuple):
    """A set of units by its number. The units come with it the first time only."""

    number: int
    units: UnitSet | None


class Request(NamedTuple):
    """A method of a gateway with its arguments."""

    method: str
    arguments: tuple[Any, ...]


class ShardFacts(NamedTuple):
    """What is known of a shard before it is asked."""

    repositories: Sequence[RepositoryRow]
    """In order of their ids."""
    totals: Mapping[RepositoryId, tuple[int, int]]
    """(number of documents, bytes of source) of each."""
    meta: Mapping[str, str]
    """What all shards must agree on."""
    indexed_at: str


class Transport(Protocol):
    """Asks shards."""

    def ask(self, messages: Mapping[int, Sequence[Request]]) -> dict[int, list[Any]]:
        """Shard → its answers, from all at once."""
        ...


class Shard:
    """An open index that answers requests."""

    def __init__(self, store: Store) -> None:
        store.load_vectors()
        self.store = store
        self._sets: dict[int, UnitSet] = {}

    def facts(self) -> ShardFacts:
        """What is known of it before it is asked."""
        meta = {key: value for key in SHARED if (value := self.store.meta(key))}
        rows = sorted(self.store.documents.repositories(), key=lambda row: row.id)
        totals = {row.id: self.store.documents.totals(row.id) for row in rows}
        return ShardFacts(rows, totals, {**meta, "schema": str(self.store.schema())}, self.store.meta(INDEXED_AT))

    def answers(self, message: Sequence[Request]) -> list[Any]:
        """The results of several requests."""
        return list(map(self.answer, message))

    def answer(self, request: Request) -> Any:
        """The result of a method of the store; iterators as lists."""
        target: Any = self.store
        for name in request.method.split("."):
            target = getattr(target, name)
        found = target(*map(self._opened, request.arguments))
        return list(found) if isinstance(found, Iterator) else found

    def _opened(self, argument: Any) -> Any:
        if not isinstance(argument, HeldSet):
            return argument
        if argument.units is not None:
            self._sets[argument.number] = argument.units
            while len(self._sets) > SETS_HELD:
                del self._sets[next(iter(self._sets))]
        return self._sets[argument.number]


@dataclass(slots=True)
class Traffic:
    """The cost of searches in messages."""

    rounds: int = 0
    messages: int = 0
    bytes: int = 0
    """Bytes there and back, pickled; counted only if measured."""


class LocalShards:
    """Shards in this process."""

    def __init__(self, shards: Sequence[Shard]) -> None:
        self._shards = shards

    def ask(self, messages: Mapping[int, Sequence[Request]]) -> dict[int, list[Any]]:
        """One after the other."""
        return {number: self._shards[number].answers(message) for number, message in messages.items()}


class Measured:
    """Counts what goes through another transport, and proves that all of it can be sent."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self.traffic = Traffic()
        self.log: list[tuple[str, int, int]] = []
        """(method, number of shards, bytes) of each round."""

    def ask(self, messages: Mapping[int, Sequence[Request]]) -> dict[int, list[Any]]:
        """The answers of the other transport, after all was packed and unpacked."""
        sent = {number: pickle.dumps(message) for number, message in messages.items()}
        answers = self._transport.ask({number: pickle.loads(packed) for number, packed in sent.items()})
        packed = {number: pickle.dumps(answer) for number, answer in answers.items()}
        size = sum(map(len, sent.values())) + sum(map(len, packed.values()))
        self.traffic.rounds += 1
        self.traffic.messages += len(sent)
        self.traffic.bytes += size
        methods = dict.fromkeys(request.method for message in messages.values() for request in message)
        self.log.append((" + ".join(methods), len(sent), size))
        return {number: pickle.loads(answer) for number, answer in packed.items()}
