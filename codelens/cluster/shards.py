"""The seam to where shards lie: one message to each shard, all at once, one answer from each."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from codelens.model.budget import OutOfTime, TimeBudget
from codelens.model.code import RepositoryId
from codelens.store.documents import Documents, Parts, RepositoryRow
from codelens.store.edges import EdgeTable, References
from codelens.store.history import Histories, LineHistories, Messages
from codelens.store.postings import FileStatistics, OccurrenceCounter, Postings
from codelens.store.store import INDEXED_AT, Store
from codelens.store.units import Units, UnitSet
from codelens.store.vectors import Vectors

GATEWAYS: Mapping[str, type] = {
    "documents": Documents,
    "units": Units,
    "references": References,
    "postings": Postings,
    "occurrences": OccurrenceCounter,
    "vectors": Vectors,
    "edges": EdgeTable,
    "history": Histories,
    "messages": Messages,
    "files": FileStatistics,
    "parts": Parts,
    "lines": LineHistories,
}
IN_PARTS, REHEARSE = "in_parts", "rehearse"  # Requests for work that the shard does on its store, by no method


def order_arguments(gateway: str, method: str, given: tuple[Any, ...], named: Mapping[str, Any]) -> tuple[Any, ...]:
    """The arguments of a method in order, with defaults, with lists for iterators, and without functions."""
    known = getattr(GATEWAYS[gateway], method, None)
    if known is None:
        return ()
    bound = inspect.signature(known).bind(None, *given, **named)
    bound.apply_defaults()
    return tuple(list_iterator(value) for value in bound.args[1:] if not callable(value))


def list_iterator(value: Any) -> Any:
    """A list of what an iterator gives; other values stay."""
    return list(value) if isinstance(value, Iterator) else value


class Gateway:
    """One gateway of shards, each of whose methods is asked for by name."""

    def __init__(self, name: str, ask: Callable[..., Any]) -> None:
        self._name, self._ask = name, ask

    def __getattr__(self, method: str) -> Callable[..., Any]:
        return lambda *given, **named: self._ask(*self._name_call(method, given, named))

    def _name_call(self, method: str, given: tuple[Any, ...], named: Mapping[str, Any]) -> tuple[Any, ...]:
        return f"{self._name}.{method}", *order_arguments(self._name, method, given, named)


SHARED = ("embedder_fingerprint", "embedder_setting", "embedder", "fuzzy", "vector", "state")
"""Keys of `meta` that shards must agree on."""
MOST_SETS = 8  # Sets of units that a shard remembers; a search has a scope and a pool of candidates


class SetReference(NamedTuple):
    """A set of units by its number. The units come with it the first time only."""

    number: int
    units: UnitSet | None


class Request(NamedTuple):
    """A method of a gateway with its arguments."""

    method: str
    arguments: tuple[Any, ...]


class ShardFacts(NamedTuple):
    """Facts about a shard that hold for as long as it is open."""

    repositories: Sequence[RepositoryRow]  # In order of their ids
    totals: Mapping[RepositoryId, tuple[int, int]]  # (number of documents, bytes of source) of each
    meta: Mapping[str, str]  # Values that all shards must agree on
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
        """Its facts."""
        meta = {key: value for key in SHARED if (value := self.store.meta(key))}
        rows = sorted(self.store.documents.list_repositories(), key=lambda row: row.id)
        totals = {row.id: self.store.documents.read_totals(row.id) for row in rows}
        return ShardFacts(rows, totals, {**meta, "schema": str(self.store.schema())}, self.store.meta(INDEXED_AT))

    def answers(self, message: Sequence[Request]) -> list[Any]:
        """The results of several requests."""
        return list(map(self._answer, message))

    def _answer(self, request: Request) -> Any:
        arguments = tuple(map(self._resolve_set, request.arguments))
        if request.method == IN_PARTS:
            return self._do_work(self.store, *arguments)
        if request.method == REHEARSE:
            rehearsal = Rehearsal(self.store)
            self._do_work(rehearsal, *arguments)
            return rehearsal.record
        return call_method(self.store, request.method, arguments)

    def _do_work(
        self, store: Any, work: Callable[..., Any], numbers: Any, seconds: float, further: Sequence[int] | None = None
    ) -> Any:
        """The result of work; None if there was no time for it."""
        before, self.store.budget = self.store.budget, TimeBudget(seconds)
        try:
            return work(store, numbers) if further is None else work(store, numbers, further)
        except OutOfTime:
            return None
        finally:
            self.store.budget = before

    def _resolve_set(self, argument: Any) -> Any:
        if not isinstance(argument, SetReference):
            return argument
        if argument.units is not None:
            self._sets[argument.number] = argument.units
            while len(self._sets) > 2 * MOST_SETS:  # they may come in another order than who asks made them
                del self._sets[next(iter(self._sets))]
        return self._sets[argument.number]


def call_method(store: Store, method: str, arguments: Sequence[Any]) -> Any:
    """The result of a method of a store's gateway; iterators as lists."""
    gateway, _, name = method.partition(".")
    return list_iterator(getattr(getattr(store, gateway), name)(*arguments))


class RecordedCall(NamedTuple):
    """A call of a rehearsal with its answer: of a shard, or as the whole names things."""

    method: str
    arguments: tuple[Any, ...]
    answer: Any


class Rehearsal:
    """A shard's store that records what is read."""

    walked = filters = None  # What is known from earlier searches would not be recorded

    def __init__(self, store: Store) -> None:
        self._store = store
        self.record: list[RecordedCall] = []

    def __getattr__(self, name: str) -> Any:
        return Gateway(name, self._read) if name in GATEWAYS else getattr(self._store, name)

    def foresee(self, *calls: object) -> None:
        """Nothing lies elsewhere here."""

    def _read(self, method: str, *arguments: Any) -> Any:
        self._store.budget.check()
        self.record.append(RecordedCall(method, arguments, call_method(self._store, method, arguments)))
        return self.record[-1].answer
